package tui

import (
	"slices"
	"strings"

	"github.com/winnowhq/winnow/display"
	"github.com/winnowhq/winnow/quantity"
)

func padLeft(text string, width int) string {
	return strings.Repeat(" ", max(0, width-Columns(text))) + text
}

func padRight(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-Columns(text)))
}

// leaders is a table of what takes most: name, bar, tokens, percent of whole. What comes after the
// first few is one row.
type leaders struct {
	title  string
	by     map[string]int
	whole  int
	most   int  // rows, without the rest
	isPath bool // names are cut at their beginning
	style  style
}

func (t leaders) lines(width int) []line {
	all, rest := display.Leaders(t.by, t.most)
	if len(all) == 0 {
		return nil
	}
	number, longest := Columns(quantity.Number(max(all[0].Tokens, rest.Tokens))), Columns(rest.Name)
	for i := range all {
		all[i].Name = Clean(all[i].Name)
		longest = max(longest, Columns(all[i].Name))
	}
	// Two spaces before the name, the bar and the number, one before the percentage, which takes up
	// to four.
	name := max(len("tool output"), (width-number-11)*6/10)
	if t.isPath {
		name = max(8, width-number-11-6) // a path says more than a long bar
	}
	name = min(name, longest)
	bars := min(24, max(3, width-number-name-11))
	out := []line{{say(strong, t.title)}}
	row := func(s style, p display.Leader, b line) {
		shorten := Cut
		if t.isPath {
			shorten = CutFront
		}
		l := append(line{span{text: "  " + padRight(shorten(p.Name, name), name) + "  ", style: s}}, b.pad(bars)...)
		figures := padLeft(quantity.Number(p.Tokens), number)
		out = append(out, append(l, say(s, "  "+figures),
			say(faint, " "+padLeft(quantity.Percent(p.Tokens, t.whole), 4))))
	}
	for _, p := range all {
		row(normal, p, bar(p.Tokens, all[0].Tokens, bars, t.style))
	}
	if rest.Tokens > 0 {
		row(faint, rest, nil)
	}
	return out
}

// least is the narrowest that a table may be beside another one; mostTable keeps bars near their
// numbers on a wide page.
const (
	leastTable, leastPaths = 36, 42
	mostTable              = 84
	tableGap               = 3
)

func (t leaders) least() int {
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
