package tui

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/store/report"
)

// Parts below 1 % of the session share a line. Pinned parts and the largest have lines of their own.
func TestParts_smallOnesShareALine(t *testing.T) {
	list := func(sizes ...int) string {
		var parts []report.Part
		whole := 0
		for i, n := range sizes {
			x := report.Explanation{Part: fmt.Sprintf("part%02d", i), Type: "tool", Tokens: n, Zone: report.Prunable}
			x.Pinned = i == 0
			parts, whole = append(parts, report.Part{Explanation: x}), whole+n
		}
		var out bytes.Buffer
		Painter{W: &out}.Parts(parts, []report.ZoneTotal{{Zone: report.Prunable, Tokens: whole}}, nil, 0, true)
		if n := strings.Count(out.String(), "part0") + strings.Count(out.String(), "part1"); n == len(sizes) {
			return "all"
		}
		return out.String()
	}
	got := list(5, 900, 900, 900, 900, 900, 900, 900, 900, 900, 900, 7, 8)
	for _, want := range []string{"part00", "part10", "2 smaller: 15 tokens, --all shows them"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "part11") {
		t.Errorf("a small part has a line:\n%s", got)
	}
	for name, sizes := range map[string][]int{"one small part": {900, 900, 900, 900, 900, 900, 900, 900, 900, 900, 900, 7},
		"few parts": {9000, 1, 1, 1, 1}, "equal parts": {5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5}} {
		if got := list(sizes...); got != "all" {
			t.Errorf("%s: not all have a line:\n%s", name, got)
		}
	}
}
