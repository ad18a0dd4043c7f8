package tui

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/display"
	"github.com/winnowhq/winnow/lab"
	"github.com/winnowhq/winnow/quantity"
)

// Replay draws all that a replay showed: the advice, the table of policies, the frontier, who would
// gain and lose.
func (p Painter) Replay(r lab.Report) {
	pg := p.page()
	pg.advice(&r)
	pg.policies(&r)
	pg.frontier(&r, false)
	pg.changes(&r)
	pg.base(&r)
	pg.skipped(&r)
	p.draw(pg)
}

// base draws what every request carries.
func (pg *page) base(r *lab.Report) {
	lines := display.Base(r)
	if len(lines) == 0 {
		return
	}
	pg.heading("System prompt and tools", "")
	for _, text := range lines {
		pg.words(span{text: "  "}, faint, text, mostNotes)
	}
}

// Policies draws what [Painter.Replay] draws except the frontier: the table of policies, the
// sessions that would gain and lose most, and the advice.
func (p Painter) Policies(r lab.Report) {
	pg := p.page()
	pg.policies(&r)
	pg.changes(&r)
	pg.gap()
	pg.advice(&r)
	pg.skipped(&r)
	p.draw(pg)
}

// leastName is how many columns the names of policies keep while there are figures to leave out.
const leastName, mostName = 20, 44

func (pg *page) policies(r *lab.Report) {
	if len(r.Policies) == 0 {
		pg.add(say(strong, "Nothing was replayed."))
		return
	}
	steps := 0
	for i := range r.Sessions {
		steps += r.Sessions[i].Steps
	}
	pg.heading("Policies", quantity.Count(len(r.Sessions), "session")+", "+
		quantity.Count(cmp.Or(steps, max(0, r.Policies[0].Steps)), "step"))
	policies, _ := policiesOf(r)
	longest := len(display.AsRecorded)
	for _, p := range policies {
		longest = max(longest, Columns(p.Name))
	}
	all := display.Columns(r)
	widths := map[string]int{}
	for _, c := range all {
		widths[c.Head] = len(c.Head)
		if r.Paid.Total().Requests > 0 {
			widths[c.Head] = max(widths[c.Head], Columns(c.Recorded(r)))
		}
		for k := range r.Policies {
			widths[c.Head] = max(widths[c.Head], Columns(c.Cell(&r.Policies[k]).Text))
		}
	}
	shown, left, name := fitColumns(all, widths, min(longest, leastName), pg.width)
	name = min(name, longest)
	row := func(key, title line, cell func(c *display.Column) span) {
		l := append(key, title...)
		for i := range shown {
			one := cell(&shown[i])
			one.text = "  " + padLeft(one.text, widths[shown[i].Head])
			l = append(l, one)
		}
		pg.add(l...)
	}
	row(line{say(faint, "    ")}, line{say(faint, padRight("policy", name))},
		func(c *display.Column) span { return say(faint, c.Head) })
	if r.Paid.Total().Requests > 0 {
		title := line{say(normal, padRight(Cut(display.AsRecorded, name), name))}
		row(line{say(faint, "  · ")}, title, func(c *display.Column) span { return say(normal, c.Recorded(r)) })
	}
	for k, p := range policies {
		s, tone, shorten := &r.Policies[k], normal, Cut
		if r.Advice != nil && s.Name == r.Advice.Policy {
			tone = strong
		}
		if p.Sweep >= 0 { // what its policies differ in is at the end
			shorten = CutFront
		}
		key := line{say(fine, p.sign()), say(p.style, string(p.glyph)+" ")}
		row(key, line{say(tone, padRight(shorten(p.Name, name), name))}, func(c *display.Column) span {
			switch cell := c.Cell(s); {
			case cell.Bad:
				return say(alarm, cell.Text)
			case c.Strong:
				return say(strong, cell.Text)
			default:
				return say(normal, cell.Text)
			}
		})
	}
	pg.gap()
	pg.recorded(r)
	pg.explain(r, shown, left)
}

// fitColumns leaves out columns of a table that is too wide, and says how wide the first one may
// be.
func fitColumns(shown []display.Column, widths map[string]int, name, width int) (_ []display.Column, left []string,
	_ int) {
	for {
		free, worst := width-4-name, 0
		for i, c := range shown {
			free -= 2 + widths[c.Head]
			if c.Rank > shown[worst].Rank {
				worst = i
			}
		}
		switch {
		case free >= 0:
			return shown, left, min(mostName, name+free)
		case shown[worst].Rank == 0:
			return shown, left, max(6, name+free)
		}
		left = append(left, shown[worst].Head)
		shown = slices.Delete(shown, worst, worst+1)
	}
}

// recorded says what the first row is, and why the baseline differs from it.
func (pg *page) recorded(r *lab.Report) {
	words := r.Paid.Words(quantity.Dollars)
	if len(words) == 0 {
		return
	}
	pg.words(span{}, normal, display.AsRecorded+": "+strings.Join(words,
		", ")+", by the reports in the log at list prices.", 2)
	if len(r.Differs) > 0 {
		pg.words(span{}, faint, "Why “"+r.Baseline+"” differs from it:", 2)
	}
	for _, why := range r.Differs {
		pg.words(say(faint, "  · "), faint, why, 4)
	}
	pg.gap()
}

// explain says what the columns mean that are shown.
func (pg *page) explain(r *lab.Report, shown []display.Column, left []string) {
	unit := "bills are in US dollars"
	if r.Relative {
		unit = "bills are in millions of input tokens"
	}
	if r.Prices != "" {
		unit += " (" + r.Prices + ")"
	}
	parts := []string{unit, `the baseline is "` + cmp.Or(r.Baseline, "the first") + `"`}
	for _, c := range shown {
		parts = append(parts, c.Head+": "+c.Meaning)
	}
	pg.words(span{}, faint, strings.Join(parts, "; "), 10)
	if len(left) > 0 {
		slices.Sort(left)
		pg.words(span{}, faint, "A wider terminal shows also "+strings.Join(left, ", ")+".", 2)
	}
}

// advice is the conclusion, with its reason and what to write into the configuration.
func (pg *page) advice(r *lab.Report) {
	a := r.Advice
	if a == nil {
		if len(r.Policies) > 0 {
			why := cmp.Or(quantity.Sentence(r.Unadvised), "there is too little to go by")
			pg.words(span{}, faint, "No recommendation: "+why+".", 4)
		}
		return
	}
	pg.words(span{}, strong, "Recommended: "+a.Policy, 2)
	pg.words(span{}, normal, display.Capital(quantity.Sentence(a.Reason)), 8)
	widest := 0
	for key := range a.Settings {
		widest = max(widest, Columns(Clean(key)))
	}
	widest = min(widest, pg.width/2)
	for _, key := range slices.Sorted(maps.Keys(a.Settings)) {
		pg.words(say(faint, "  "+padRight(Cut(Clean(key), widest), widest)+"  "), normal, a.Settings[key], 2)
	}
}
