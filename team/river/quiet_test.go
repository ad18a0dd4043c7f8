package river

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// What River repeats is heard once a minute, and only if it warns.
func TestQuietly(t *testing.T) {
	var text bytes.Buffer
	now := time.Unix(0, 0)
	log := quietly(slog.New(slog.NewTextHandler(&text, nil)), func() time.Time { return now })
	for range 120 {
		log.Info("it works")
		log.With("a", 1).Error("no connection")
		log.WithGroup("g").Warn("slow")
		now = now.Add(time.Second)
	}
	got := text.String()
	if strings.Contains(got, "it works") || strings.Count(got, "no connection") != 2 || strings.Count(got, "slow") != 2 {
		t.Errorf("it says\n%s", got)
	}
}
