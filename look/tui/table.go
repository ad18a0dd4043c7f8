package tui

import (
	"slices"
	"strings"

	"github.com/winnowhq/winnow/look/display"
	"github.com/winnowhq/winnow/text/quantity"
)

func padLeft(text string, width int) string {
	return strings.Repeat(" ", max(0, width-Columns(text))) + text
}

func padRight(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-Columns(text)))
}

// leaders is a table of what takes most: name, bar, tokens, percent of whole. Where costs are known
// it is of what costs most: name, bar, tokens, dollars, percent of the bill. What comes after the
// first few is one row.
type leaders struct {
	title  string
	by     map[string]int
	whole  int
	costs  map[string]float64
	bill   float64
	most   int  // rows, without the rest
	isPath bool // names are cut at their beginning
	style  style
	styles func(name string) style // of bars; nil: all have the same
}

func (t leaders) lines(width int) []line {
	all, rest := display.Dearest(t.by, t.costs, t.most)
	if len(all) == 0 {
		return nil
	}
	rows := append(all[:len(all):len(all)], rest)
	if rest.Name == "" {
		rows = all
	}
	figures := make([]string, len(rows))
	heads, longest := "", 0
	for i := range rows {
		rows[i].Name = Clean(rows[i].Name)
		longest = max(longest, Columns(rows[i].Name))
	}
	if t.costs == nil {
		t.tokens(rows, figures)
	} else {
		heads = t.dollars(rows, figures, width)
	}
	number := Columns(figures[0])
	// Two spaces before the name, the bar and the figures.
	name := max(len("tool output"), (width-number-6)*6/10)
	if t.isPath {
		name = max(8, width-number-6-6) // a path says more than a long bar
	}
	if t.costs != nil {
		name = max(len("system, tools"), (width-number-6)*6/10)
	}
	name = min(name, longest)
	bars := min(mostBar, max(3, width-number-name-6))
	title := line{say(strong, t.title)}
	if heads != "" {
		title = append(title.pad(2+name+2+bars+2), say(faint, heads))
	}
	out := []line{title}
	for i, p := range rows {
		shorten, s := Cut, normal
		if t.isPath {
			shorten = CutFront
		}
		l := line{}.pad(bars)
		if i < len(all) {
			l = t.bar(p, all[0], bars)
		} else {
			s = faint
		}
		l = append(line{span{text: "  " + padRight(shorten(p.Name, name), name) + "  ", style: s}}, l...)
		amount, share := figures[i][:len(figures[i])-4], figures[i][len(figures[i])-4:]
		out = append(out, append(l, say(s, "  "+amount), say(faint, share)))
	}
	return out
}

// mostBar is the longest bar of a table.
const mostBar = 32

// bar of one of the leaders.
func (t leaders) bar(p, most display.Leader, width int) line {
	s := t.style
	if t.styles != nil {
		s = t.styles(p.Name)
	}
	if t.costs == nil {
		return bar(p.Tokens, most.Tokens, width, s)
	}
	return bar(int(1e6*p.Cost/t.bill), int(1e6*most.Cost/t.bill), width, s)
}

// tokens writes the figures of rows without dollars: the tokens, and in the last four columns their
// share.
func (t leaders) tokens(rows []display.Leader, figures []string) {
	number := 0
	for _, p := range rows {
		number = max(number, Columns(quantity.Number(p.Tokens)))
	}
	for i, p := range rows {
		figures[i] = padLeft(quantity.Number(p.Tokens), number) + " " + padLeft(quantity.Percent(p.Tokens, t.whole), 4)
	}
}

// dollars writes the figures of rows with dollars: tokens where there is room, dollars, and in the
// last four columns the share of the bill; heads stand above them.
func (t leaders) dollars(rows []display.Leader, figures []string, width int) (heads string) {
	tokens, dollars := len("tokens"), len("cost")
	count := func(p display.Leader) string {
		if p.Tokens == 0 {
			return "–"
		}
		return quantity.Number(p.Tokens)
	}
	for _, p := range rows {
		tokens, dollars = max(tokens, Columns(count(p))), max(dollars, Columns(quantity.Dollars(p.Cost)))
	}
	for i, p := range rows {
		figures[i] = padLeft(quantity.Dollars(p.Cost), dollars) + " " + padLeft(quantity.Share(p.Cost/t.bill), 4)
		if width >= leastCosts {
			figures[i] = padLeft(count(p), tokens) + "  " + figures[i]
		}
	}
	if heads = padLeft("cost", dollars); width >= leastCosts {
		heads = padLeft("tokens", tokens) + "  " + heads
	}
	return heads
}

// least is the narrowest that a table may be beside another one; mostTable keeps bars near their
// numbers on a wide page.
const (
	leastTable, leastPaths = 36, 42
	leastCosts, leastDear  = 56, 76 // the same with dollars
	mostTable              = 84
	tableGap               = 3
)

func (t leaders) least() int {
	if t.costs != nil && t.isPath {
		return leastDear
	}
	if t.costs != nil {
		return leastCosts
	}
	if t.isPath {
		return leastPaths
	}
	return leastTable
}

// tables puts tables next to each other as far as the page is wide enough, the rest below. The last
// of a row takes what is left of the width.
func (pg *page) tables(all ...leaders) {
	all = slices.DeleteFunc(all, func(t leaders) bool { return len(t.lines(pg.width)) == 0 })
	for first := 0; first < len(all); {
		used, next := all[first].least(), first+1
		for next < len(all) && used+tableGap+all[next].least() <= pg.width {
			used += tableGap + all[next].least()
			next++
		}
		if first > 0 {
			pg.gap()
		}
		pg.beside(all[first:next])
		first = next
	}
}

func (pg *page) beside(all []leaders) {
	var rows []line
	at := 0
	for i, t := range all {
		width := t.least()
		if i == len(all)-1 {
			width = min(mostTable, pg.width-at)
		}
		for r, l := range t.lines(width) {
			if r == len(rows) {
				rows = append(rows, nil)
			}
			rows[r] = append(rows[r].pad(at), l.clip(width)...)
		}
		at += width + tableGap
	}
	pg.addAll(rows)
}
