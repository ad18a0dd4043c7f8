package tui

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/winnowhq/winnow/report"
	"github.com/winnowhq/winnow/token"
)

// zoneOf is how a zone is drawn; one that is not known is the last.
func zoneOf(z report.Zone) zone {
	at := slices.IndexFunc(zones[:], func(one zone) bool { return one.Zone == z })
	if at < 0 {
		at = len(zones) - 1
	}
	return zones[at]
}

// Parts draws a line for each part, in the order given, and sums them up below. left is how many parts of the log have no line.
func (p Painter) Parts(parts []report.Part, zones []report.ZoneTotal, rules []report.RuleTotal, left int) {
	pg := p.page()
	pg.partLines(parts)
	pg.zoneTotals(zones)
	pg.ruleTotals(rules)
	if left > 0 {
		pg.gap()
		pg.add(say(faint, count(left, "part")+" that no rule looked at have no line; --all lists them"))
	}
	p.draw(pg)
}

// columns of the table, besides what a part is and why it stands as it does.
type widths struct{ name, step, what, tokens, zone, rule int }

const (
	leastWhat = 18
	mostWhat  = 52
)

func (pg *page) partLines(parts []report.Part) {
	if len(parts) == 0 {
		pg.add(say(strong, "No part of this session is such."))
		return
	}
	w := widths{name: len("part"), step: len("step"), tokens: len("tokens"), zone: len("zone"), rule: len("rule")}
	for i := range parts {
		x := &parts[i]
		w.name = max(w.name, min(12, columns(clean(nameOf(x)))))
		w.step = max(w.step, len(strconv.Itoa(x.Step)))
		w.tokens = max(w.tokens, columns(token.Grouped(x.Tokens)))
		w.zone = max(w.zone, 2+columns(string(x.Zone)))
		w.rule = max(w.rule, min(14, columns(clean(x.Rule))))
	}
	room := pg.width - w.name - w.step - w.tokens - w.zone - w.rule - 10 // two spaces between
	w.what = min(mostWhat, max(leastWhat, room*45/100))
	row := func(s style, name, step, what, tokens, zone, rule string, zoneStyle style, because string) {
		pg.add(say(s, padRight(cut(clean(name), w.name), w.name)+"  "+padLeft(step, w.step)+"  "), say(s, padRight(what, w.what)+"  "+padLeft(tokens, w.tokens)+"  "),
			say(zoneStyle, padRight(zone, w.zone)+"  "), say(s, padRight(cut(clean(rule), w.rule), w.rule)+"  "), say(faint, because))
	}
	row(strong, "part", "step", "what", "tokens", "zone", "rule", strong, "because")
	for i := range parts {
		x := &parts[i]
		z := zoneOf(x.Zone)
		step := ""
		if x.Step > 0 {
			step = strconv.Itoa(x.Step)
		}
		row(normal, nameOf(x), step, cut(clean(what(x.Explanation)), w.what), token.Grouped(x.Tokens), z.glyph+" "+string(x.Zone), x.Rule, z.style, shortly(x))
	}
}

func nameOf(x *report.Part) string { return cmp.Or(x.Handle, x.Part) }

// shortly is the reason without what other columns say already.
func shortly(x *report.Part) string {
	text := token.GroupDigitsIn(x.Because)
	for _, said := range []string{x.Rule + " would elide it: ", x.Rule + " would elide it, but "} {
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
	name, parts, number := 0, 0, 0
	for _, t := range totals {
		name, parts, number = max(name, columns(string(t.Zone))), max(parts, columns(count(t.Parts, "part"))), max(number, columns(token.Grouped(t.Tokens)))
	}
	for _, t := range totals {
		z := zoneOf(t.Zone)
		l := line{say(z.style, "  "+z.glyph), say(normal, " "+padRight(string(t.Zone), name)+"  "+padLeft(count(t.Parts, "part"), parts)+"  "+padLeft(token.Grouped(t.Tokens), number))}
		if t.Shown != t.Tokens {
			l = append(l, say(fine, " → "+token.Grouped(t.Shown)))
		}
		pg.add(append(l, say(faint, "  "+z.meaning))...)
	}
}

func (pg *page) ruleTotals(totals []report.RuleTotal) {
	if len(totals) == 0 {
		return
	}
	pg.heading("By rule", "tokens are net: what is shown instead is counted")
	cells := [][4]string{{"", "elided", "could go", "stay"}}
	figure := func(parts, tokens int) string {
		if parts == 0 {
			return "–"
		}
		return count(parts, "part") + ", " + token.Grouped(tokens)
	}
	for _, t := range totals {
		stay := "–"
		if t.Refused > 0 {
			stay = count(t.Refused, "part")
		}
		cells = append(cells, [4]string{clean(t.Rule), figure(t.Elided, t.Saved), figure(t.Could, t.Saves), stay})
	}
	var wide [4]int
	for _, c := range cells {
		for i := range c {
			wide[i] = max(wide[i], columns(c[i]))
		}
	}
	for i, c := range cells {
		s := normal
		if i == 0 {
			s = faint
		}
		pg.add(say(s, "  "+padRight(c[0], wide[0])+"  "+padLeft(c[1], wide[1])+"  "+padLeft(c[2], wide[2])+"  "+padLeft(c[3], wide[3])))
	}
}
