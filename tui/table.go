package tui

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/quantity"
)

func padLeft(text string, width int) string {
	return strings.Repeat(" ", max(0, width-Columns(text))) + text
}

func padRight(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-Columns(text)))
}

// share of a whole that something takes.
type portion struct {
	name   string
	tokens int
}

// largest are the portions by size, the smallest of equal names first, those without tokens left out.
func largest(by map[string]int) []portion {
	var all []portion
	for _, name := range slices.Sorted(maps.Keys(by)) {
		if by[name] > 0 {
			all = append(all, portion{name, by[name]})
		}
	}
	slices.SortStableFunc(all, func(a, b portion) int { return cmp.Compare(b.tokens, a.tokens) })
	return all
}

// leaders is a table of what takes most: name, bar, tokens, percent of whole. What comes after the first few is one row.
type leaders struct {
	title  string
	by     map[string]int
	whole  int
	most   int  // rows, without the rest
	isPath bool // names are cut at their beginning
	style  style
}

func (t leaders) lines(width int) []line {
	all := largest(t.by)
	if len(all) == 0 {
		return nil
	}
	rest := portion{}
	if len(all) > t.most+1 { // a rest of one is a row as well
		for _, p := range all[t.most:] {
			rest.tokens = plus(rest.tokens, p.tokens)
		}
		rest.name = quantity.Number(len(all)-t.most) + " more"
		all = all[:t.most]
	}
	number := Columns(quantity.Number(all[0].tokens))
	longest := Columns(rest.name)
	for i := range all {
		all[i].name = Clean(all[i].name)
		longest = max(longest, Columns(all[i].name))
	}
	if rest.tokens > 0 {
		number = max(number, Columns(quantity.Number(rest.tokens)))
	}
	// Two spaces before the name, the bar and the number, one before the percentage, which takes up to four.
	name := max(len("tool output"), (width-number-11)*6/10)
	if t.isPath {
		name = max(8, width-number-11-6) // a path says more than a long bar
	}
	name = min(name, longest)
	bars := min(24, max(3, width-number-name-11))
	out := []line{{say(strong, t.title)}}
	for i, p := range append(all, rest) {
		if p.tokens <= 0 {
			continue
		}
		shown := Cut(p.name, name)
		if t.isPath {
			shown = CutFront(p.name, name)
		}
		l := line{span{text: "  " + padRight(shown, name) + "  "}}
		if i == len(all) {
			l = line{span{text: "  " + padRight(shown, name) + "  ", style: faint}}
			l = append(l.pad(name+bars+4), say(faint, "  "+padLeft(quantity.Number(p.tokens), number)+" "+padLeft(quantity.Percent(p.tokens, t.whole), 4)))
			out = append(out, l)
			continue
		}
		l = append(l, bar(p.tokens, all[0].tokens, bars, t.style)...)
		l = append(l, say(normal, "  "+padLeft(quantity.Number(p.tokens), number)), say(faint, " "+padLeft(quantity.Percent(p.tokens, t.whole), 4)))
		out = append(out, l)
	}
	return out
}

// least is the narrowest that a table may be beside another one; mostTable keeps bars near their numbers on a wide page.
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

// tables puts tables next to each other as far as the page is wide enough, the rest below. The last of a row takes what is left of the width.
func (pg *page) tables(all ...leaders) {
	all = slices.DeleteFunc(all, func(t leaders) bool { return len(largest(t.by)) == 0 })
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
