package tui

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/winnowhq/winnow/bill"
	"github.com/winnowhq/winnow/quantity"
	"github.com/winnowhq/winnow/replay"
)

// Replay draws all that a replay showed: the advice, the table of policies, the frontier, who would gain and lose.
func (p Painter) Replay(r replay.Report) {
	pg := p.page()
	pg.advice(r)
	pg.policies(r)
	pg.frontier(r, false)
	pg.changes(r)
	pg.skipped(r)
	p.draw(pg)
}

// Policies draws the table of policies, the sessions that would gain and lose most, and the advice: what [Painter.Replay] has beside the frontier.
func (p Painter) Policies(r replay.Report) {
	pg := p.page()
	pg.policies(r)
	pg.changes(r)
	pg.gap()
	pg.advice(r)
	pg.skipped(r)
	p.draw(pg)
}

// standingColumn is a column of figures.
type standingColumn struct {
	head string
	// rank orders what goes first on a narrow page: the highest.
	rank int
	cell func(s *replay.Standing) (string, style)
}

// leastName is how many columns the names of policies keep while there are figures to leave out.
const leastName, mostName = 20, 44

func standingColumns(r *replay.Report) []standingColumn {
	plain := func(text string) (string, style) { return text, normal }
	columns := []standingColumn{
		{"bill", 0, func(s *replay.Standing) (string, style) { return plain(quantity.Bill(s.Bill.Total(), r.Relative)) }},
		{"ratio", 0, func(s *replay.Standing) (string, style) { return ratio(s.Ratio), strong }},
		{"mean", 8, func(s *replay.Standing) (string, style) { return plain(ratio(s.Mean)) }},
		{"regrets", 0, func(s *replay.Standing) (string, style) { return rate(s.Rate), strong }},
		{"hits", 5, func(s *replay.Standing) (string, style) { return plain(quantity.Share(s.Hits)) }},
		{"commits", 6, func(s *replay.Standing) (string, style) { return plain(quantity.Number(max(0, s.Commits))) }},
		{"folds", 4, func(s *replay.Standing) (string, style) { return plain(quantity.Number(max(0, s.Folds))) }},
		{"rose", 2, func(s *replay.Standing) (string, style) { return quantity.Number(max(0, s.Rose)), rise(s.RoseMore > 0) }},
		{"worst", 3, func(s *replay.Standing) (string, style) { return quantity.Signed(s.Worst), rise(s.Worst > 0.02) }},
	}
	if slices.ContainsFunc(r.Policies, func(s replay.Standing) bool { return s.Bound > 0 }) {
		columns = append(columns, standingColumn{"bound", 9, func(s *replay.Standing) (string, style) { return plain(ratio(s.Bound)) }})
	}
	if slices.ContainsFunc(r.Policies, func(s replay.Standing) bool { return s.Over > 0 }) {
		columns = append(columns, standingColumn{"over", 7, func(s *replay.Standing) (string, style) { return quantity.Number(max(0, s.Over)), rise(s.Over > 0) }})
	}
	return columns
}

func rise(bad bool) style {
	if bad {
		return alarm
	}
	return normal
}

func (pg *page) policies(r replay.Report) {
	if len(r.Policies) == 0 {
		pg.add(say(strong, "Nothing was replayed."))
		return
	}
	steps := 0
	for i := range r.Sessions {
		steps = plus(steps, r.Sessions[i].Steps)
	}
	if steps == 0 {
		steps = max(0, r.Policies[0].Steps)
	}
	pg.heading("Policies", quantity.Count(len(r.Sessions), "session")+", "+quantity.Count(steps, "step"))
	names := namesOf(r.Policies)
	all, _ := spots(r.Policies)
	longest := len(asRecorded)
	for _, n := range names {
		longest = max(longest, Columns(n))
	}
	figures := standingColumns(&r)
	widths := make([]int, len(figures))
	for i, f := range figures {
		widths[i] = len(f.head)
		if all := r.Paid.Total(); f.head == "bill" && all.Requests > 0 {
			widths[i] = max(widths[i], Columns(recordedBill(all)))
		}
		for k := range r.Policies {
			text, _ := f.cell(&r.Policies[k])
			widths[i] = max(widths[i], Columns(text))
		}
	}
	name := min(longest, leastName)
	left := map[string]bool{}
	for {
		used := 4 + name
		for _, w := range widths {
			used += 2 + w
		}
		if used <= pg.width {
			name = min(longest, mostName, name+pg.width-used)
			break
		}
		worst := 0
		for i := range figures {
			if figures[i].rank > figures[worst].rank {
				worst = i
			}
		}
		if figures[worst].rank == 0 {
			name = max(6, name-(used-pg.width))
			break
		}
		left[figures[worst].head] = true
		figures, widths = slices.Delete(figures, worst, worst+1), slices.Delete(widths, worst, worst+1)
	}
	head := line{say(faint, "    "+padRight("policy", name))}
	for i, f := range figures {
		head = append(head, say(faint, "  "+padLeft(f.head, widths[i])))
	}
	pg.addAll([]line{head})
	if l := recordedRow(r, name, figures, widths); l != nil {
		pg.addAll([]line{l})
	}
	advised := ""
	if r.Advice != nil {
		advised = r.Advice.Policy
	}
	for k := range r.Policies {
		s := &r.Policies[k]
		mark, tone := "  ", normal
		if all[k].on {
			mark = "◆ "
		}
		if s.Name == advised {
			tone = strong
		}
		shorten := Cut
		if all[k].sweep >= 0 { // what tells its policies apart stands at the end
			shorten = CutFront
		}
		l := line{say(fine, mark), say(all[k].style(), string(all[k].glyph)+" "), say(tone, padRight(shorten(names[k], name), name))}
		for i, f := range figures {
			text, shade := f.cell(s)
			l = append(l, say(shade, "  "+padLeft(text, widths[i])))
		}
		pg.addAll([]line{l})
	}
	pg.gap()
	pg.recorded(r)
	pg.explain(r, left)
}

// asRecorded is what the first row of the table is called.
const asRecorded = "as recorded"

// recordedRow is the row of what the sessions really took, nil where no request was seen.
func recordedRow(r replay.Report, name int, figures []standingColumn, widths []int) line {
	all := r.Paid.Total()
	if all.Requests == 0 {
		return nil
	}
	l := line{say(fine, "  "), say(faint, "· "), say(normal, padRight(Cut(asRecorded, name), name))}
	for i, f := range figures {
		text := ""
		switch f.head {
		case "bill":
			text = recordedBill(all)
		case "ratio":
			text = recordedRatio(r)
		case "hits":
			text = quantity.Share(all.CacheShare())
		}
		l = append(l, say(normal, "  "+padLeft(text, widths[i])))
	}
	return l
}

// recordedBill is what requests cost, in a few columns: they are dollars whatever the unit of the others.
func recordedBill(b bill.Bill) string {
	switch {
	case b.Dollars() == nil:
		return "unknown"
	case b.Unknown() > 0:
		return "≥" + quantity.Dollars(b.Cost)
	}
	return quantity.Dollars(b.Cost)
}

// recordedRatio is the recorded bill relative to the baseline's, "" where they are of different units or some of it is not known.
func recordedRatio(r replay.Report) string {
	all := r.Paid.Total()
	for i := range r.Policies {
		if s := &r.Policies[i]; s.Name == r.Baseline && !r.Relative && all.Unknown() == 0 && s.Bill.Total() > 0 {
			return ratio(all.Cost / s.Bill.Total())
		}
	}
	return ""
}

// recorded says what the first row is, and why the baseline differs from it.
func (pg *page) recorded(r replay.Report) {
	words := r.Paid.Words(quantity.Dollars)
	if len(words) == 0 {
		return
	}
	pg.words(span{}, normal, asRecorded+": "+strings.Join(words, ", ")+", by the reports in the log at list prices.", 2)
	if len(r.Differs) > 0 {
		pg.words(span{}, faint, "Why “"+r.Baseline+"” differs from it:", 2)
	}
	for _, why := range r.Differs {
		pg.words(say(faint, "  · "), faint, why, 4)
	}
	pg.gap()
}

// explain says what the columns mean that are there.
func (pg *page) explain(r replay.Report, left map[string]bool) {
	bill := "bill in US dollars"
	if r.Relative {
		bill = "bill in millions of input tokens"
	}
	if r.Prices != "" {
		bill += " (" + Clean(r.Prices) + ")"
	}
	base := `"` + Clean(cmp.Or(r.Baseline, "the first")) + `"`
	parts := []string{bill, "ratio: to the bill of " + base}
	for _, one := range []struct{ head, text string }{
		{"mean", "mean: that of the sessions' ratios"},
		{"", "regrets: in 100 steps, what was hidden and needed again"},
		{"hits", "hits: prompt tokens read from the cache"},
		{"folds", "folds: compactions"},
		{"rose", "rose: sessions whose bill is higher than under " + base},
		{"worst", "worst: by how much at most"},
	} {
		if one.head == "" || !left[one.head] {
			parts = append(parts, one.text)
		}
	}
	bounded := slices.ContainsFunc(r.Policies, func(s replay.Standing) bool { return s.Bound > 0 })
	if bounded && !left["bound"] {
		parts = append(parts, "bound: how many times the cheapest bill with knowledge of the future")
	}
	if slices.ContainsFunc(r.Policies, func(s replay.Standing) bool { return s.Over > 0 }) && !left["over"] {
		parts = append(parts, "over: steps whose prompt is larger than the window")
	}
	pg.words(span{text: ""}, faint, strings.Join(parts, "; "), 8)
	if len(left) > 0 {
		pg.words(span{text: ""}, faint, "A wider terminal shows also "+strings.Join(slices.Sorted(maps.Keys(left)), ", ")+".", 2)
	}
}

// changes lists the sessions that would gain and lose most.
func (pg *page) changes(r replay.Report) {
	under := ""
	if r.Advice != nil && r.Advice.Policy != "" {
		under = "under " + Clean(r.Advice.Policy) + ", against " + Clean(r.Baseline)
	} else if r.Subject != "" {
		under = "under " + Clean(r.Subject) + ", against " + Clean(r.Baseline)
	}
	for _, list := range []struct {
		title string
		all   []replay.Change
		style style
	}{{"Would gain most", r.Gains, fine}, {"Would lose most", r.Losses, alarm}} {
		if len(list.all) == 0 {
			continue
		}
		pg.heading(list.title, under)
		var widths [3]int
		rows := make([][3]string, len(list.all))
		for i, c := range list.all {
			rows[i] = [3]string{quantity.Signed(c.After/c.Before - 1), quantity.Bill(c.Before, r.Relative), quantity.Bill(c.After, r.Relative)}
			for k, text := range rows[i] {
				widths[k] = max(widths[k], Columns(text))
			}
		}
		for i, c := range list.all {
			l := line{say(list.style, "  "+padLeft(rows[i][0], widths[0])), say(faint, "  "+padLeft(rows[i][1], widths[1])+" → "), say(normal, padLeft(rows[i][2], widths[2])+"  ")}
			indent := l.columns()
			pg.add(append(l, span{text: CutFront(Clean(cmp.Or(c.Name, path.Base(c.Session))), max(8, pg.width-indent))})...)
			if c.Why != "" {
				pg.words(span{text: strings.Repeat(" ", indent)}, faint, quantity.Sentence(c.Why), 2)
			}
		}
	}
}

// advice is the conclusion, with its reason and what to write into the configuration.
func (pg *page) advice(r replay.Report) {
	a := r.Advice
	if a == nil {
		if len(r.Policies) > 0 {
			pg.words(span{}, faint, "No recommendation: "+cmp.Or(quantity.Sentence(r.Unadvised), "there is too little to go by")+".", 4)
		}
		return
	}
	pg.words(span{}, strong, "Recommended: "+Clean(a.Policy), 2)
	if a.Reason != "" {
		pg.words(span{}, normal, sentence(quantity.Sentence(a.Reason)), 8)
	}
	widest := 0
	for key := range a.Settings {
		widest = max(widest, Columns(Clean(key)))
	}
	widest = min(widest, pg.width/2)
	for _, key := range slices.Sorted(maps.Keys(a.Settings)) {
		pg.words(say(faint, "  "+padRight(Cut(Clean(key), widest), widest)+"  "), normal, a.Settings[key], 2)
	}
}

// sentence begins a text with a capital letter.
func sentence(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	if first == utf8.RuneError {
		return text
	}
	return string(unicode.ToUpper(first)) + text[size:]
}

// skipped says which files were left out.
func (pg *page) skipped(r replay.Report) {
	if len(r.Skipped) == 0 {
		return
	}
	pg.heading("Not replayed", quantity.Count(len(r.Skipped), "file"))
	for _, s := range r.Skipped[:min(len(r.Skipped), mostNotes)] {
		name := CutFront(Clean(path.Base(s.Path)), pg.width/2)
		pg.words(span{text: "  " + name + "  "}, faint, s.Why, 2)
	}
	if n := len(r.Skipped) - mostNotes; n > 0 {
		pg.add(say(faint, "  "+quantity.Number(n)+" more"))
	}
}
