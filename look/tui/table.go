package tui

import (
	"slices"
	"strings"

	"github.com/winnowhq/winnow/look/display"
)

func padLeft(text string, width int) string {
	return strings.Repeat(" ", max(0, width-Columns(text))) + text
}

func padRight(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-Columns(text)))
}

// leaders is a ranking as it is drawn: name, bar, tokens, dollars where they are known, share.
type leaders struct {
	display.Ranking
	style style // of bars; those of tools have the tones of tools
}

func (t leaders) lines(width int) []line {
	if len(t.Rows) == 0 {
		return nil
	}
	rows := slices.Clone(t.Rows)
	longest, tokens, dollars := 0, 0, 0
	if t.Priced {
		tokens, dollars = len("tokens"), len("cost")
	}
	for i := range rows {
		rows[i].Name = Clean(rows[i].Name)
		longest = max(longest, Columns(rows[i].Name))
		tokens, dollars = max(tokens, Columns(rows[i].Tokens)), max(dollars, Columns(rows[i].Cost))
	}
	// Tokens and dollars, tokens only where there is room for both.
	figures := func(count, cost string) string {
		switch {
		case !t.Priced:
			return padLeft(count, tokens)
		case width < leastCosts:
			return padLeft(cost, dollars)
		}
		return padLeft(count, tokens) + "  " + padLeft(cost, dollars)
	}
	// Two spaces before the name, the bar and the figures, which end with five columns of share.
	number := Columns(figures("", "")) + 5
	name := max(len("tool output"), (width-number-6)*6/10)
	switch {
	case t.Priced:
		name = max(len("system, tools"), (width-number-6)*6/10)
	case t.Paths, t.Titles:
		name = max(8, width-number-6-6) // they say more than a long bar
	}
	name = min(name, longest)
	bars := min(mostBar, max(3, width-number-name-6))
	title := line{say(strong, t.Title)}
	if t.Priced {
		title = append(title.pad(2+name+2+bars+2), say(faint, figures("tokens", "cost")))
	}
	out := []line{title}
	for _, r := range rows {
		shorten, s, tone := Cut, normal, t.style
		if t.Paths {
			shorten = CutFront
		}
		if r.Rest {
			s = faint
		}
		if t.Tools {
			tone = toned(display.ToolTone(r.Name))
		}
		l := line{span{text: "  " + padRight(shorten(r.Name, name), name) + "  ", style: s}}
		l = append(l, bar(r.Part, bars, tone)...)
		out = append(out, append(l, say(s, "  "+figures(r.Tokens, r.Cost)+" "), say(faint, padLeft(r.Share, 4))))
	}
	return out
}

// mostBar is the longest bar of a table.
const mostBar = 32

// least is the narrowest that a table may be beside another one; mostTable keeps bars near their
// numbers on a wide page.
const (
	leastTable, leastPaths = 36, 42
	leastCosts, leastDear  = 56, 76 // the same with dollars
	mostTable              = 84
	tableGap               = 3
)

func (t leaders) least() int {
	if t.Priced && t.Paths {
		return leastDear
	}
	if t.Priced {
		return leastCosts
	}
	if t.Paths {
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
