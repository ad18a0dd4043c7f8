package chat

import (
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/winnowhq/winnow/bill"
	"github.com/winnowhq/winnow/report"
	"github.com/winnowhq/winnow/tui"
)

// legendWidth is the width from which on the bar says what its glyphs mean: with less, it would be shorter than what explains it.
const legendWidth = 132

// stratum is one piece of the bar. Every stratum has a glyph of its own, so that they differ without colour.
type stratum struct {
	name, glyph string
	tokens      int
	look        lipgloss.Style
}

// strata are what fills a window, as they are sent.
func strata(g report.Gauge, s style) []stratum {
	first := stratum{"system", "▓", g.System, s.dim}
	if !g.Split {
		first.name = "system, tools"
	}
	return []stratum{first, {"tools", "▒", g.Tools, s.dim}, {"pinned", "▪", g.Pinned, s.accent}, {"summary", "◆", g.Summary, s.warn}, {"live", "█", g.Live, s.good}}
}

const (
	freeGlyph = "─"
	markGlyph = "┃" // where the window is folded
)

// drawBar draws what fills the window and what the session has cost, in two lines that are no wider than width.
func drawBar(g report.Gauge, width int, s style) []string {
	look := s.dim
	switch {
	case g.Full():
		look = s.bad
	case g.Warns():
		look = s.warn
	}
	legend, columns := "", 0
	if width >= legendWidth {
		legend, columns = drawLegend(g, s)
		if columns > width*2/3 {
			legend, columns = "", 0
		}
	}
	return []string{drawStrata(g, max(4, width-columns), s) + legend, paint(look, tui.Cut(barText(g, width), width))}
}

// drawStrata draws the bar over so many cells. All of it is the context of the model, where that is known.
func drawStrata(g report.Gauge, cells int, s style) string {
	whole := max(g.Context, g.Usable)
	if whole <= 0 {
		whole = g.Total
	}
	pieces := append(strata(g, s), stratum{glyph: freeGlyph, tokens: max(0, whole-g.Total), look: s.dim})
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
			b.WriteString(paint(look, strings.Repeat(pieces[i].glyph, before)) + paint(s.bold, markGlyph))
			at, n, mark = at+before, n-before, -1
		}
		b.WriteString(paint(look, strings.Repeat(pieces[i].glyph, n)))
		at += n
	}
	if at == 0 { // nothing is known, nothing is there
		return paint(s.dim, strings.Repeat(freeGlyph, cells))
	}
	return b.String()
}

// drawLegend names the strata that are there, with their sizes.
func drawLegend(g report.Gauge, s style) (drawn string, columns int) {
	for _, p := range strata(g, s) {
		if p.tokens > 0 {
			text := p.name + " " + grouped(p.tokens)
			drawn += "  " + paint(p.look, p.glyph) + " " + paint(s.dim, text)
			columns += 4 + tui.Columns(text)
		}
	}
	return drawn, columns
}

// barText says it in words: the longest of several texts that fits.
func barText(g report.Gauge, width int) string {
	size := barSize(g)
	all, last := barCost(g)
	var elided, cost, spent, cache, both string
	if g.Elided > 0 {
		elided = " · elided " + grouped(g.Elided)
	}
	if all != "" {
		spent = " · " + all
		cost = spent
		if last != "" {
			cost += ", last " + last
		}
		if g.Last.Usage.Prompt() > 0 {
			cache = " · cache " + cacheShare(g.Last)
			both = cache + ", session " + cacheShare(g.All())
		}
	}
	for _, text := range []string{
		size[0] + elided + cost + both, size[1] + elided + cost + both, size[1] + elided + cost + cache, size[2] + elided + cost + cache, size[2] + cost + cache,
		size[2] + spent + cache, size[3] + spent + cache, size[3] + spent, size[4] + spent, size[4],
	} {
		if tui.Columns(text) <= width {
			return text
		}
	}
	return size[4]
}

// barSize says how full the window is, the longest text first.
func barSize(g report.Gauge) [5]string {
	about, remark, longer := "≈", "", ""
	if g.Reported {
		about = ""
	}
	switch {
	case g.Full():
		remark = " · full"
	case g.Warns():
		remark = " · nearly full"
	}
	if g.System+g.Tools == 0 && g.Total > 0 {
		longer = " without system and tools"
	}
	total := about + grouped(g.Total)
	if g.Usable <= 0 {
		short := total + " tokens"
		return [5]string{short + longer + ", the limit is not known", short + ", no known limit", short, short, short}
	}
	percent := tui.Percent(g.Total, g.Usable)
	usable := total + " of " + grouped(g.Usable)
	return [5]string{
		usable + " usable, " + percent + longer + remark, usable + " usable, " + percent + remark, usable + ", " + percent + remark,
		about + shortly(g.Total) + " of " + shortly(g.Usable) + ", " + percent, about + percent,
	}
}

// shortly is a count in a few letters: "61k", "1.2M".
func shortly(n int) string {
	switch {
	case n < 1_000:
		return grouped(n)
	case n < 999_500:
		return grouped((n+500)/1_000) + "k"
	}
	tenths := (n + 50_000) / 100_000
	return grouped(tenths/10) + "." + string(rune('0'+tenths%10)) + "M"
}

// barCost is what the session and its newest step have cost, "" before the first.
func barCost(g report.Gauge) (all, last string) {
	bill := g.All()
	if bill.Requests == 0 {
		return "", ""
	}
	switch all = cost(bill); {
	case g.Last.Requests == 0 || bill.Cost == 0 && bill.Unknown() > 0:
	case g.Last.Unknown() > 0:
		last = "?"
	default:
		last = cost(g.Last)
	}
	return all, last
}

// cost is what requests have cost: "?" where nobody knows a price, and "≥" where some are known.
func cost(b bill.Bill) string {
	switch {
	case b.Unknown() == 0:
		return tui.Dollars(b.Cost)
	case b.Cost > 0:
		return "≥ " + tui.Dollars(b.Cost)
	}
	return "cost ?"
}

// cacheShare is how much of the prompts came from the provider's cache.
func cacheShare(b bill.Bill) string { return tui.Percent(b.Usage.Cache.Read, b.Usage.Prompt()) }
