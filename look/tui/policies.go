package tui

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/lab"
	"github.com/winnowhq/winnow/look/display"
	"github.com/winnowhq/winnow/text/quantity"
)

// Replay draws what a replay showed: two rows, without winnow and with it, and the advice; with
// statistics also the table of policies, the frontier, who would gain and lose. Where there is
// nothing to compare it draws the statistics.
func (p Painter) Replay(r lab.Report, statistics bool) {
	pg := p.page()
	statistics = pg.compared(&r) == 0 || statistics
	pg.advice(&r)
	if statistics {
		pg.policies(&r)
		pg.holdout(&r)
		pg.frontier(&r, false)
		pg.changes(&r)
		pg.base(&r)
	} else {
		pg.gap()
		pg.recorded(&r, false)
		pg.words(span{}, faint, display.Capital(unit(&r))+".", 3)
		pg.words(span{}, faint, "--stats shows all policies, the frontier, and who would gain and lose.", 2)
	}
	pg.skipped(&r)
	p.draw(pg)
}

// compared draws what the replay showed: in a sentence, and as two bars. It returns how many.
func (pg *page) compared(r *lab.Report) int {
	rows := display.Comparison(r)
	if len(rows) == 0 {
		return 0
	}
	pg.words(span{}, strong, display.Capital(display.Headline(r))+".", 5)
	pg.gap()
	name, bill := 0, 0
	for _, one := range rows {
		name, bill = max(name, Columns(Clean(one.Name))), max(bill, Columns(one.Bill))
	}
	name = min(name, pg.width/3)
	bars := min(60, max(6, pg.width-name-bill-10))
	for i, one := range rows {
		l := line{say(normal, padRight(Cut(Clean(one.Name), name), name)+"  ")}
		l = append(l, bar(one.Part, bars, []style{foldedTone, fine}[i])...)
		pg.add(append(l, say(strong, "  "+padLeft(one.Bill, bill)), say(faint, "  "+one.Change))...)
		text := one.Missed
		if one.How != "" {
			text = one.How + "; " + text
		}
		pg.words(span{text: strings.Repeat(" ", name+2)}, faint, text, 3)
	}
	if text := display.Whole(r); text != "" {
		pg.words(span{text: strings.Repeat(" ", name+2)}, faint, text, 2)
	}
	pg.gap()
	return len(rows)
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

// leastName is how many columns the names of policies keep while there are figures to leave out.
const leastName, mostName = 18, 44

func (pg *page) policies(r *lab.Report) {
	if len(r.Policies) == 0 {
		pg.add(say(strong, "Nothing was replayed."))
		return
	}
	steps := 0
	for i := range r.Sessions {
		steps += r.Sessions[i].Steps
	}
	extent := quantity.Count(len(r.Sessions), "session")
	if r.Sources > 1 {
		extent += " of " + quantity.Count(r.Sources, "source")
	}
	pg.heading("Policies", extent+", "+quantity.Count(cmp.Or(steps, max(0, r.Policies[0].Steps)), "step"))
	policies, _ := policiesOf(r)
	longest := len(display.AsRecorded)
	for _, p := range policies {
		if !p.Replaced {
			longest = max(longest, Columns(p.Name))
		}
	}
	shown, left := pg.standings(r, policies, longest, display.Columns(r), true)
	pg.gap()
	pg.recorded(r, true)
	pg.explain(r, shown, left)
	pg.heading("In detail", "")
	shown, left = pg.standings(r, policies, longest, display.Details(r), false)
	pg.gap()
	pg.meanings(nil, shown, left)
}

// standings is a table of policies. It returns the columns that are shown, and the heads of those
// that have no room.
func (pg *page) standings(r *lab.Report, policies []marked, longest int, all []display.Column, paid bool) (
	shown []column, left []string) {
	standings := display.Standings(r)
	recorded := paid && r.Paid.Total().Requests > 0
	columns := make([]column, len(all))
	for i, c := range all {
		columns[i] = column{c, Columns(c.Head)}
		if recorded {
			columns[i].width = max(columns[i].width, Columns(c.Recorded(r)))
		}
		for k, s := range standings {
			if !policies[k].Replaced {
				columns[i].width = max(columns[i].width, Columns(c.Cell(s).Text))
			}
		}
	}
	shown, left, name := fitColumns(columns, min(longest, leastName), pg.width)
	name = min(name, longest)
	row := func(key, title line, cell func(c *column) span) {
		l := append(key, title...)
		for i := range shown {
			one := cell(&shown[i])
			one.text = "  " + padLeft(one.text, shown[i].width)
			l = append(l, one)
		}
		pg.add(l...)
	}
	row(line{say(faint, "    ")}, line{say(faint, padRight("policy", name))},
		func(c *column) span { return say(faint, c.Head) })
	if recorded {
		title := line{say(normal, padRight(Cut(display.AsRecorded, name), name))}
		row(line{say(faint, "  · ")}, title, func(c *column) span { return say(normal, c.Recorded(r)) })
	}
	for k, p := range policies {
		s, tone, shorten := standings[k], normal, Cut
		if p.Replaced {
			continue
		}
		if r.Advice != nil && s.Name == r.Advice.Policy {
			tone = strong
		}
		if p.Sweep >= 0 { // what its policies differ in is at the end
			shorten = cutChoice
		}
		key := line{say(fine, p.sign()), say(p.style, string(p.glyph)+" ")}
		row(key, line{say(tone, padRight(shorten(p.Name, name), name))}, func(c *column) span {
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
	return shown, left
}

// leftOut begins the name of what was chosen with sessions left out.
const leftOut = "left out: "

// cutChoice shortens the name of a policy of a sweep at its front, but for the words that say that
// it is not of the sweep itself.
func cutChoice(name string, width int) string {
	if rest, chosen := strings.CutPrefix(name, leftOut); chosen && Columns(name) > width && width > 2*len(leftOut) {
		return leftOut + CutFront(rest, width-len(leftOut))
	}
	return CutFront(name, width)
}

// column is one of a table, with the width that it needs.
type column struct {
	display.Column
	width int
}

// fitColumns leaves out columns of a table that is too wide, and says how wide the first one may
// be.
func fitColumns(shown []column, name, width int) (_ []column, left []string, _ int) {
	for {
		free, worst := width-4-name, 0
		for i, c := range shown {
			free -= 2 + c.width
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

// recorded says what the sessions really cost, and why the baseline differs from it.
func (pg *page) recorded(r *lab.Report, differs bool) {
	words := r.Paid.Words(quantity.Dollars)
	if len(words) == 0 {
		return
	}
	pg.words(span{}, normal, display.AsRecorded+": "+strings.Join(words,
		", ")+", by the reports in the log at list prices.", 2)
	if !differs {
		return
	}
	if len(r.Differs) > 0 {
		pg.words(span{}, faint, "Why “"+r.Baseline+"” differs from it:", 2)
	}
	for _, why := range r.Differs {
		pg.words(say(faint, "  · "), faint, why, 4)
	}
	pg.gap()
}

// unit says what bills are in.
func unit(r *lab.Report) string {
	text := "bills are in US dollars"
	if r.Relative {
		text = "bills are in millions of input tokens"
	}
	if r.Prices != "" {
		text += " (" + r.Prices + ")"
	}
	return text
}

// explain says what was billed, and what the columns mean.
func (pg *page) explain(r *lab.Report, shown []column, left []string) {
	pg.meanings([]string{unit(r), `the baseline is "` + cmp.Or(r.Baseline, "the first") + `"`}, shown, left)
}

// meanings says what the columns mean that are shown, and names the others.
func (pg *page) meanings(parts []string, shown []column, left []string) {
	for _, c := range shown {
		if c.Meaning != "" {
			parts = append(parts, c.Head+": "+c.Meaning)
		}
		left = slices.DeleteFunc(left, func(head string) bool { return head == c.Head })
	}
	pg.words(span{}, faint, strings.Join(parts, "; "), 10)
	if len(left) > 0 {
		slices.Sort(left)
		pg.words(span{}, faint, "A wider terminal shows also "+strings.Join(slices.Compact(left), ", ")+".", 2)
	}
}

// advice is the conclusion, with its reason and what to write into the configuration.
func (pg *page) advice(r *lab.Report) {
	a := r.Advice
	if a == nil {
		if len(r.Policies) > 0 {
			why := cmp.Or(quantity.Sentence(r.Unadvised), "there is too little to go by")
			pg.words(span{}, faint, "No recommendation: "+why+".", 6)
		}
		pg.products(r)
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
	pg.products(r)
}

// products says how what was found reaches products that read no configuration of winnow.
func (pg *page) products(r *lab.Report) {
	for _, text := range display.Products(r) {
		pg.words(say(faint, "  · "), normal, text, 8)
	}
}
