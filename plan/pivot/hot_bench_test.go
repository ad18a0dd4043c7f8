package pivot

import (
	"fmt"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/session"
)

func BenchmarkCarry(b *testing.B) {
	c := longTurn()
	one := c.Log
	var log []session.Message
	for n := 0; c.Facts.Count(strings.Repeat("x", 10)) > 0 && n < 40; n++ {
		for _, m := range one {
			m.ID = fmt.Sprintf("%s_%d", m.ID, n)
			m.Parts = append([]session.Part(nil), m.Parts...)
			m.Parts[0].ID = m.ID + ":0"
			log = append(log, m)
		}
	}
	c.Log, c.Cut = log, Cut{Fold: log[:len(log)-10], Tail: log[len(log)-10:]}
	tokens := 0
	for i := range log {
		tokens += messageTokens(&log[i], c.Facts)
	}
	Carry(c)
	for b.Loop() {
		Carry(c)
	}
	b.ReportMetric(float64(tokens), "tokens")
}
