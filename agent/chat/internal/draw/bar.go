package draw

import (
	"strings"

	"github.com/winnowhq/winnow/look/display"
	"github.com/winnowhq/winnow/look/tui"
	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/quantity"
)

// legendWidth is the width from which on the bar says what its glyphs mean: with less, it would be
// shorter than what explains it.
const legendWidth = 132

// stratum is one piece of the bar. Every stratum has a glyph of its own, so that they differ
// without colour.
type stratum struct {
	name, glyph string
	tokens      int
	look        Look
}

// strata are what fills a window, as they are sent.
func strata(g report.Gauge, s Style) []stratum {
	first := stratum{"system", "▓", g.System, s.Dim}
	if !g.Split {
		first.name = "system, tools"
	}
	return []stratum{first, {"tools", "▒", g.Tools, s.Dim}, {"pinned", "▪", g.Pinned, s.Accent},
		{"summary", "◆", g.Summary, s.Warn}, {"live", "█", g.Live, s.Good}}
}

const (
	freeGlyph = "─"
	markGlyph = "┃" // where the window is folded
)

// Bar draws what fills the window and what the session has cost, in two lines that are no wider
// than width.
func Bar(g report.Gauge, width int, s Style) []string {
	look := s.Dim
	switch {
	case g.Full():
		look = s.Bad
	case g.Warns():
		look = s.Warn
	}
	legend, columns := "", 0
	if width >= legendWidth {
		legend, columns = drawLegend(g, s)
		if columns > width*2/3 {
			legend, columns = "", 0
		}
	}
	return []string{drawStrata(g, max(4, width-columns), s) + legend, Paint(look, tui.Cut(barText(g, width), width))}
}

// drawStrata draws the bar over a number of cells. All of it is the context of the model, where
// that is known.
func drawStrata(g report.Gauge, cells int, s Style) string {
	whole := max(g.Context, g.Usable)
	if whole <= 0 {
		whole = g.Total
	}
	pieces := append(strata(g, s), stratum{glyph: freeGlyph, tokens: max(0, whole-g.Total), look: s.Dim})
	whole = max(whole, g.Total)
	mark := -1
	if g.Usable > 0 && g.Usable < whole {
		cells--
		mark = min(cells-1, max(1, int(float64(g.Usable)/float64(whole)*float64(cells)+0.5)))
	}
	sizes := make([]int, len(pieces))
	for i, p := range pieces {
		sizes[i] = p.tokens
	}
	var b strings.Builder
	at := 0
	for i, n := range tui.Divide(sizes, cells) {
		look := pieces[i].look
		if before := mark - at; before >= 0 && before <= n && mark >= 0 {
			b.WriteString(Paint(look, strings.Repeat(pieces[i].glyph, before)) + Paint(s.Bold, markGlyph))
			at, n, mark = at+before, n-before, -1
		}
		b.WriteString(Paint(look, strings.Repeat(pieces[i].glyph, n)))
		at += n
	}
	if at == 0 { // nothing is known, nothing is there
		return Paint(s.Dim, strings.Repeat(freeGlyph, cells))
	}
	return b.String()
}

// drawLegend names the strata that are there, with their sizes.
func drawLegend(g report.Gauge, s Style) (drawn string, columns int) {
	for _, p := range strata(g, s) {
		if p.tokens > 0 {
			text := p.name + " " + quantity.Number(p.tokens)
			drawn += "  " + Paint(p.look, p.glyph) + " " + Paint(s.Dim, text)
			columns += 4 + tui.Columns(text)
		}
	}
	return drawn, columns
}

// barText says it in words: the longest of several texts that fits.
func barText(g report.Gauge, width int) string {
	size := BarSize(g)
	all, last := BarCost(g)
	var elided, cost, spent, cache, both string
	if g.Elided > 0 {
		elided = " · pruned " + quantity.Number(g.Elided)
	}
	if all != "" {
		spent = " · " + all
		cost = spent
		if last != "" {
			cost += ", last " + last
		}
		if g.Last.Usage.Prompt() > 0 {
			cache = " · cache " + CacheShare(g.Last)
			both = cache + ", session " + CacheShare(g.All())
		}
	}
	for _, text := range []string{
		size[0] + elided + cost + both, size[1] + elided + cost + both, size[1] + elided + cost + cache,
		size[1] + cost + cache, size[1] + spent + cache, size[2] + spent + cache, size[2] + spent, size[3] + spent,
		size[3],
	} {
		if tui.Columns(text) <= width {
			return text
		}
	}
	return size[3]
}

// BarSize says how full the window is, as inspect does, the longest text first.
func BarSize(g report.Gauge) [4]string {
	about, longer := "≈", ""
	if g.Reported {
		about = ""
	}
	if g.System+g.Tools == 0 && g.Total > 0 {
		longer = ", without system and tools"
	}
	w := display.State{Used: g.Total, Usable: g.Usable}
	size := about + w.Size()
	if g.Usable <= 0 {
		return [4]string{size + longer + ", the limit is not known", size + ", no known limit", size, size}
	}
	return [4]string{size + longer, size,
		about + quantity.Short(g.Total) + " of " + quantity.Short(g.Usable) + ", " + w.Full(), about + w.Full()}
}

// BarCost is what the session and its newest step have cost, "" before the first.
func BarCost(g report.Gauge) (all, last string) {
	bill := g.All()
	if bill.Requests == 0 {
		return "", ""
	}
	switch all = Cost(bill); {
	case g.Last.Requests == 0 || bill.Cost == 0 && bill.Unknown() > 0:
	case g.Last.Unknown() > 0:
		last = "?"
	default:
		last = Cost(g.Last)
	}
	return all, last
}

// Cost is what requests have cost: "?" where nobody knows a price, and "≥" where some are known.
func Cost(b bill.Bill) string {
	switch {
	case b.Unknown() == 0:
		return quantity.Dollars(b.Cost)
	case b.Cost > 0:
		return "≥ " + quantity.Dollars(b.Cost)
	}
	return "cost ?"
}

// CacheShare is how much of the prompts came from the provider's cache.
func CacheShare(b bill.Bill) string { return quantity.Percent(b.Usage.Cache.Read, b.Usage.Prompt()) }
