package draw

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/agent/chat/internal/drawtest"
	"github.com/winnowhq/winnow/look/tui"
	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/report"
)

// gauges are windows in different states.
func gauges() map[string]report.Gauge {
	step := bill.Bill{Requests: 1, Usage: session.Usage{Input: 2_300, Output: 500,
		Cache: session.CacheUsage{Read: 56_000}}, Cost: 0.0214}
	all := bill.Bill{Requests: 40, Usage: session.Usage{Input: 90_000, Output: 20_000,
		Cache: session.CacheUsage{Read: 900_000}}, Cost: 0.8314}
	half := report.Gauge{
		System: 8_200, Tools: 4_100, Pinned: 900, Summary: 3_100, Live: 45_000, Split: true, Learned: true,
		Elided: 22_400, ElidedParts: 31,
		Total: 61_300, Reported: true, Usable: 148_000, Warn: 125_800, Context: 200_000,
		Bills: report.Bills{Last: step, Steps: all},
	}
	full := half
	full.Live, full.Total = 140_000, 156_300
	nearly := half
	nearly.Live, nearly.Total = 112_000, 128_300
	free := half
	free.Last, free.Steps = bill.Bill{Requests: 1, Usage: step.Usage, Unpriced: 1},
		bill.Bill{Requests: 40, Usage: all.Usage, Unpriced: 40}
	partly := half
	partly.Last = free.Last
	partly.Steps.Unpriced = 3
	unlimited := half
	unlimited.Usable, unlimited.Warn, unlimited.Context = 0, 0, 0
	return map[string]report.Gauge{
		"half full": half, "nearly full": nearly, "full": full, "nobody knows the prices": free,
		"some prices are known": partly, "the limit is not known": unlimited,
		"nothing yet":             {Usable: 148_000, Warn: 125_800, Context: 200_000},
		"before the first answer": {Live: 120, Total: 120, Usable: 148_000, Warn: 125_800, Context: 200_000},
		"over the context": {System: 9_000, Live: 221_000, Total: 230_000, Usable: 148_000, Warn: 125_800,
			Context: 200_000, Learned: true, Reported: true},
	}
}

func TestBar_look(t *testing.T) {
	var b strings.Builder
	all := gauges()
	for _, name := range []string{"half full", "nearly full", "full", "over the context", "nobody knows the prices",
		"some prices are known", "the limit is not known", "before the first answer", "nothing yet"} {
		for _, width := range []int{140, 80, 40} {
			fmt.Fprintf(&b, "%s, %d columns\n%s\n\n", name, width,
				strings.Join(drawtest.Fits(t, Bar(all[name], width, NewStyle(false)), width, 2), "\n"))
		}
	}
	drawtest.Golden(t, "bar", b.String())
}

func TestBarText_saysLessWhereThereIsLessRoom(t *testing.T) {
	for _, c := range []struct {
		gauge string
		width int
		want  string
	}{
		{"half full", 100, "61,300 of 148,000, 41% full · pruned 22,400 · $0.83, last $0.0214 · cache 96%, session " +
			"91%"},
		{"half full", 80, "61,300 of 148,000, 41% full · pruned 22,400 · $0.83, last $0.0214 · cache 96%"},
		{"half full", 61, "61,300 of 148,000, 41% full · $0.83, last $0.0214 · cache 96%"},
		{"half full", 41, "61k of 148k, 41% full · $0.83 · cache 96%"},
		{"half full", 20, "41% full · $0.83"},
		{"half full", 8, "41% full"},
		{"nobody knows the prices", 80, "61,300 of 148,000, 41% full · pruned 22,400 · cost ? · cache 96%, session " +
			"91%"},
		{"some prices are known", 80, "61,300 of 148,000, 41% full · pruned 22,400 · ≥ $0.83, last ? · cache 96%"},
		{"full", 60, "156,300 of 148,000, 106% full · $0.83 · cache 96%"},
		{"before the first answer", 80, "≈120 of 148,000, <1% full, without system and tools"},
		{"the limit is not known", 80, "61,300 tokens, no known limit · pruned 22,400 · $0.83, last $0.0214 · cache " +
			"96%"},
	} {
		if got := barText(gauges()[c.gauge], c.width); got != c.want {
			t.Errorf("%s, %d columns: %q, want %q", c.gauge, c.width, got, c.want)
		}
	}
}

// Without colour the strata differ by their glyphs, and the mark stands where the window is folded.
func TestDrawStrata_isReadWithoutColour(t *testing.T) {
	got := ansi.Strip(drawStrata(gauges()["half full"], 80, NewStyle(false)))
	for glyph, least := range map[string]int{"▓": 3, "▒": 1, "▪": 1, "◆": 1, "█": 16, freeGlyph: 50, markGlyph: 1} {
		if n := strings.Count(got, glyph); n < least {
			t.Errorf("%s stands %d times in %s, want %d at least", glyph, n, got, least)
		}
	}
	if at := tui.Columns(got[:strings.Index(got, markGlyph)]); at != 58 { // 148,000 of 200,000, of 79 cells
		t.Errorf("the mark stands at %d of %s, want 58", at, got)
	}
}

func TestBar_fitsEveryWidth(t *testing.T) {
	size := rapid.OneOf(rapid.IntRange(0, 300_000), rapid.SampledFrom([]int{0, 1, math.MaxInt32}))
	bill := rapid.Custom(func(r *rapid.T) bill.Bill {
		return bill.Bill{
			Requests: rapid.IntRange(0, 100).Draw(r, "requests"), Unpriced: rapid.IntRange(0, 2).Draw(r, "unpriced"),
			Cost:  rapid.Float64Range(0, 1e9).Draw(r, "cost"),
			Usage: session.Usage{Input: size.Draw(r, "input"), Cache: session.CacheUsage{Read: size.Draw(r, "read")}},
		}
	})
	rapid.Check(t, func(r *rapid.T) {
		g := report.Gauge{
			System: size.Draw(r, "system"), Tools: size.Draw(r, "tools"), Pinned: size.Draw(r, "pinned"),
			Summary: size.Draw(r, "summary"), Live: size.Draw(r, "live"),
			Split: rapid.Bool().Draw(r, "split"), Elided: size.Draw(r, "elided"), Usable: size.Draw(r, "usable"),
			Context: size.Draw(r, "context"),
			Bills:   report.Bills{Last: bill.Draw(r, "last"), Steps: bill.Draw(r, "steps")}, Reported: rapid.Bool().Draw(r, "reported"),
		}
		g.Total = g.System + g.Tools + g.Pinned + g.Summary + g.Live
		g.Warn = g.Usable * 85 / 100
		width := rapid.IntRange(4, 220).Draw(r, "width")
		for _, color := range []bool{false, true} {
			lines := drawtest.Fits(t, Bar(g, width, NewStyle(color)), width, 2)
			if strata, _, _ := strings.Cut(lines[0], "  "); width < legendWidth && tui.Columns(strata) != width {
				r.Fatalf("the bar has %d of %d columns: %s", tui.Columns(strata), width, strata)
			}
		}
	})
}
