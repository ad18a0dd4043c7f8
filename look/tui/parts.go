package tui

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/winnowhq/winnow/look/display"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/quantity"
)

// Parts draws a line for each part, in the order given, and sums them up below. left is how many
// parts of the log have no line. brief draws one line for all parts that are small change.
func (p Painter) Parts(parts []report.Part, zones []report.ZoneTotal, rules []report.RuleTotal, left int, brief bool) {
	pg := p.page()
	var small []report.Part
	if brief {
		parts, small = smaller(parts, zones)
	}
	pg.partLines(parts)
	if len(small) > 0 {
		tokens := 0
		for i := range small {
			tokens += small[i].Tokens
		}
		pg.words(span{}, faint, quantity.Number(len(small))+" smaller: "+quantity.Count(tokens, "token")+
			", --all shows them", 2)
	}
	pg.zoneTotals(zones)
	pg.ruleTotals(rules)
	if left > 0 {
		pg.gap()
		pg.add(say(faint, quantity.Count(left, "part")+" that no rule looked at have no line; --all lists them"))
	}
	p.draw(pg)
}

const (
	leastWhat = 18
	mostWhat  = 52
)

// fewestParts have a line of their own, the largest, however small they are.
const fewestParts = 10

// smaller divides parts into those that have a line each, and small change. Pinned parts have one.
func smaller(parts []report.Part, zones []report.ZoneTotal) (large, small []report.Part) {
	whole := 0
	for _, z := range zones {
		whole += z.Tokens
	}
	var sizes []int
	for i := range parts {
		sizes = append(sizes, parts[i].Tokens)
	}
	slices.SortFunc(sizes, func(a, b int) int { return b - a })
	for i := range parts {
		x := &parts[i]
		if !x.Pinned && len(sizes) > fewestParts && x.Tokens < sizes[fewestParts-1] &&
			display.Small(float64(x.Tokens), float64(whole)) {
			small = append(small, *x)
		} else {
			large = append(large, *x)
		}
	}
	if len(small) < 2 {
		return parts, nil
	}
	return large, small
}

func (pg *page) partLines(parts []report.Part) {
	if len(parts) == 0 {
		pg.add(say(strong, "There is no such part in this session."))
		return
	}
	var rows [][]span
	for _, head := range []string{"part", "step", "what", "tokens", "zone", "rule", "because"} {
		rows = append(rows, []span{say(strong, head)})
	}
	rows = [][]span{slices.Concat(rows...)}
	widest := 0
	for i := range parts {
		x := &parts[i]
		z := zoneOf(x.Zone)
		step := ""
		if x.Step > 0 {
			step = strconv.Itoa(x.Step)
		}
		row := []span{
			say(normal, Cut(Clean(nameOf(x)), 12)), say(normal, step), say(normal, what(x.Explanation)),
			figure(normal, x.Tokens),
			say(z.style, z.glyph+" "+string(x.Zone)), say(normal, Cut(Clean(x.Rule), 14)), say(faint, shortly(x)),
		}
		rows = append(rows, row)
	}
	others := [6]int{}
	for _, row := range rows {
		for i := range others {
			others[i] = max(others[i], Columns(row[i].text))
		}
	}
	for i, n := range others {
		if i != whatColumn {
			widest += n + 2
		}
	}
	room := min(mostWhat, max(leastWhat, (pg.width-widest)*45/100))
	for _, row := range rows {
		row[whatColumn].text = padRight(Cut(row[whatColumn].text, room), room)
	}
	pg.grid(0, "<><><<<", rows...)
}

// whatColumn of the table says what a part is.
const whatColumn = 2

func nameOf(x *report.Part) string { return cmp.Or(x.Handle, x.Part) }

// shortly is the reason without what other columns say already.
func shortly(x *report.Part) string {
	text := quantity.Sentence(x.Because)
	for _, said := range []string{x.Rule + " would leave it out: ", x.Rule + " would leave it out, but "} {
		text = strings.TrimPrefix(text, said)
	}
	if r := first(x.Elisions, x.Candidates); r != nil && len(r.Covering) > 0 {
		by := "by " + r.Covering[0].Name()
		if n := len(r.Covering) - 1; n > 0 {
			by += " +" + strconv.Itoa(n)
		}
		return by + ": " + text
	}
	return text
}

func first(lists ...[]report.Reason) *report.Reason {
	for _, l := range lists {
		if len(l) > 0 {
			return &l[0]
		}
	}
	return nil
}

func (pg *page) zoneTotals(totals []report.ZoneTotal) {
	if len(totals) == 0 {
		return
	}
	pg.heading("By zone", "whole calls; inspect counts their arguments as conversation")
	var rows [][]span
	for _, t := range totals {
		z := zoneOf(t.Zone)
		meaning := z.meaning
		if t.Shown != t.Tokens {
			meaning = "→ " + quantity.Number(t.Shown) + "  " + meaning
		}
		rows = append(rows, []span{say(z.style, z.glyph), say(normal, string(t.Zone)),
			say(normal, quantity.Count(t.Parts, "part")), figure(normal, t.Tokens), say(faint, meaning)})
	}
	pg.grid(2, ".<>><", rows...)
}

func (pg *page) ruleTotals(totals []report.RuleTotal) {
	if len(totals) == 0 {
		return
	}
	pg.heading("By rule", "tokens saved, less the placeholders")
	rows := [][]span{{span{}, say(faint, "left out"), say(faint, "could go"), say(faint, "stay")}}
	cell := func(parts int, tokens ...int) span {
		if parts == 0 {
			return say(normal, "–")
		}
		text := quantity.Count(parts, "part")
		for _, n := range tokens {
			text += ", " + quantity.Number(n)
		}
		return say(normal, text)
	}
	for _, t := range totals {
		rows = append(rows, []span{say(normal, t.Rule), cell(t.Elided, t.Saved), cell(t.Could, t.Saves),
			cell(t.Refused)})
	}
	pg.grid(2, "<>>>", rows...)
}
