package tui

import (
	"cmp"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/look/display"
	"github.com/winnowhq/winnow/plan/budget"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/schedule"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/quantity"
)

const (
	mostLeaders     = 5
	mostTexts       = 8 // instructions and pins
	mostDamaged     = 3
	mostNotes       = 8
	mostCandidates  = 3 // the largest, by name
	mostReasonLines = 4
	mostRefusals    = 8
)

// Inspection draws what is in a session. compact is what a compaction would bring, nil for none.
func (p Painter) Inspection(r report.Report, compact *pivot.Money, title string, damaged []format.Damage) {
	pg := p.page()
	pg.conclusion(r, compact)
	pg.about(r, title)
	if r.Messages > 0 || len(r.Strata) > 0 {
		pg.timeline(r)
		pg.gap()
		pg.leaders(r)
		pg.money(r)
		pg.windowNow(r)
		pg.couldGo(r)
		pg.lasting(r)
	}
	if len(damaged) > 0 {
		pg.gap()
		pg.add(say(alarm, "Damaged"), say(faint, "  "+quantity.Count(len(damaged),
			"piece")+" skipped; everything else was read"))
		for _, d := range display.Damage(damaged, mostDamaged) {
			pg.add(say(normal, strings.TrimRight("  "+d.Name, " ")), say(faint, "  "+d.Text))
		}
	}
	p.draw(pg)
}

// leaders are what takes most, and what that cost.
func (pg *page) leaders(r report.Report) {
	var all []leaders
	for _, of := range append(display.Rankings(&r, mostLeaders), display.ModelRanking(r.Costs, mostLeaders)) {
		all = append(all, leaders{of, barTone})
	}
	pg.tables(all...)
}

// fitStyle is the colour of a verdict.
func fitStyle(f display.Fit) style { return [...]style{strong, fine, alarm}[f] }

// conclusion says in one line how full the window is, what the session cost, and whether a
// compaction pays.
func (pg *page) conclusion(r report.Report, compact *pivot.Money) {
	w := r.Window
	if r.Messages <= 0 && w.Messages <= 0 && w.Tokens <= 0 {
		pg.add(say(strong, "Nothing here yet: no messages."))
		return
	}
	s := display.StateOf(&r)
	facts := s.First(compact)
	if len(facts) == 0 {
		pg.add(say(fitStyle(s.Fit), s.Full()))
		return
	}
	pg.words(say(fitStyle(s.Fit), s.Full()+" · "), strong, strings.Join(facts, " · "), 4)
}

// sentence writes a size and a verdict on one line, or on two if the page is too narrow.
func (pg *page) sentence(size, verdict string, s style) {
	switch {
	case verdict == "":
		pg.words(span{}, strong, size, 2)
	case Columns(Clean(size+"; "+verdict)) <= pg.width:
		pg.add(say(strong, size+"; "), say(s, verdict))
	default:
		pg.words(span{}, strong, size, 2)
		pg.words(span{}, s, verdict, 2)
	}
}

// about says what was looked at.
func (pg *page) about(r report.Report, title string) {
	names := []string{title}
	if r.Title != "" && r.Title != title {
		names = append(names, r.Title)
	}
	pg.add(say(faint, strings.Join(names, ": ")))
	facts := []string{}
	if r.Model != "" {
		facts = append(facts, r.Model)
	}
	switch log := r.Window.Messages + r.Window.Folded; {
	case r.Messages > log: // a product may write several for one, and branches that were left
		facts = append(facts, quantity.Count(r.Messages, "message")+" in the file")
	case log > r.Window.Messages:
		facts = append(facts, quantity.Count(log, "message")+" in all")
	}
	if r.Turns > 0 || r.Steps > 0 {
		facts = append(facts, quantity.Count(r.Turns, "turn"), quantity.Count(r.Steps, "step"),
			quantity.Count(r.ToolCalls, "tool call"))
	}
	facts = append(facts, r.Bill.Words(quantity.Dollars)...)
	if s := r.Summaries; s.Calls > 0 {
		text := quantity.Count(s.Calls, "call") + " for summaries"
		if s.Failed > 0 {
			text += ", " + quantity.Number(s.Failed) + " in vain"
		}
		switch {
		case s.Cost == nil:
			text += ", cost unknown"
		case *s.Cost > 0:
			text += ", " + quantity.Dollars(*s.Cost)
		}
		facts = append(facts, text)
	}
	pg.words(span{}, faint, strings.Join(facts, " · "), 2)
	if len(r.Unpriced) > 0 {
		pg.words(span{}, faint, "no price known for "+strings.Join(r.Unpriced,
			", ")+": `models` in winnow.jsonc sets prices", 3)
	}
}

// windowNow draws how full the window is.
func (pg *page) windowNow(r report.Report) {
	w := r.Window
	s := display.StateOf(&r)
	used, title := s.Used, "no limit is known for "+display.ModelName(r.Model)
	v := display.Reported(w)
	if v != nil && v.Code == budget.CodeUnlimited {
		title = "no limit, as it is set for " + display.ModelName(r.Model)
	}
	if w.Usable > 0 {
		title = s.Size()
	}
	pg.heading("Window now", title)
	if used > 0 && w.Usable > 0 {
		segments := []segment{{size: w.Overhead, glyph: "▒", style: foldedTone},
			{size: w.Tokens, glyph: "█", style: barTone}}
		pg.add(append(line{say(normal, "  ")}, gauge(segments, w.Usable, min(72, pg.width-4))...)...)
	}
	row := func(glyph string, tone style, name string, s style, tokens int, remark string) []span {
		return []span{say(tone, glyph), say(s, name), figure(s, tokens), say(faint, remark)}
	}
	messages := quantity.Count(max(0, w.Messages), "message")
	if w.Folded > 0 {
		messages += "; " + quantity.Number(w.Folded) + " folded"
	}
	rows := [][]span{
		row("█", barTone, "messages", normal, max(0, w.Tokens), messages),
		row("▒", foldedTone, "system, tools", normal, max(0, w.Overhead), "sent with every request"),
	}
	if w.Overhead <= 0 {
		rows[1] = []span{say(foldedTone, "▒"), say(normal, "system, tools"), say(normal, "?"),
			say(faint, "unknown: no usage was reported")}
	}
	switch {
	case w.Usable <= 0:
	case used > w.Usable:
		rest := ""
		if w.Context > w.Usable {
			rest = "of " + quantity.Number(w.Context) + "; the rest is for the answer"
		}
		rows = append(rows, row("┃", strong, "usable", normal, w.Usable, rest),
			row("█", alarm, "over by", alarm, used-w.Usable, "the next request overflows"))
	default:
		remark, s := "of "+quantity.Number(w.Usable)+" usable", normal
		if w.Context > 0 {
			remark += ", context " + quantity.Number(w.Context)
		}
		if w.Overflow {
			s = alarm
		}
		rows = append(rows, row("─", faint, "free", s, w.Usable-used, remark))
	}
	if v != nil && w.Usable > 0 {
		s := normal
		if v.Overflow {
			s = alarm
		}
		rows = append(rows, row("▪", s, "reported", s, v.Total, display.Formula(r.Policy)))
	}
	pg.grid(2, ".<><", rows...)
	if s.Elided > 0 {
		saved := quantity.Number(s.LeftOut)
		pg.add(say(normal, "  "+quantity.Count(s.Elided, "part")+" left out, which saves "+saved+" tokens"))
	}
	if w.Pending != "" {
		pg.add(say(alarm, "  a compaction is queued and not made yet: "+w.Pending))
	}
	if w.Cut != nil {
		pg.words(say(alarm, "  ! "), alarm, w.Cut.Text, 2*mostReasonLines)
	}
	for reason := range strings.SplitSeq(w.Reason, "; ") {
		if strings.TrimSpace(reason) != "" {
			pg.words(say(faint, "  · "), faint, quantity.Sentence(reason), mostReasonLines)
		}
	}
}

// couldGo lists what rules would leave out, and what they leave alone.
func (pg *page) couldGo(r report.Report) {
	sums := report.ByRule(r.Candidates, r.Omitted)
	all := 0
	for _, s := range sums {
		all += s.Saves
	}
	hidden, folded, window := foldedMessages(r), 0, display.StateOf(&r)
	for _, c := range r.Candidates {
		if hidden[c.Message] {
			folded += c.Saves
		}
	}
	switch {
	case len(sums) == 0 && len(r.Refusals) == 0:
		pg.heading("Could go", "nothing that a rule would leave out")
		return
	case len(sums) == 0:
		pg.heading("Could go", "nothing yet")
	case folded > 0:
		shown := max(0, all-folded)
		pg.heading("Could go, by rule", quantity.Number(shown)+" tokens of what is shown, "+
			window.Part(shown)+"; the rest is folded already")
	default:
		pg.heading("Could go, by rule", quantity.Number(all)+" tokens, "+window.Part(all))
	}
	waits := slices.ContainsFunc(sums, func(s report.RuleSum) bool {
		return s.When != "" &&
			s.When != (schedule.Wait{}).When()
	})
	var rows [][]span
	large := slices.IndexFunc(sums, func(s report.RuleSum) bool {
		return display.Small(float64(s.Saves), float64(window.Used))
	})
	if large > 0 && len(sums)-large > 1 { // small change is one row
		rest := report.RuleSum{Rule: quantity.Number(len(sums)-large) + " more"}
		for _, s := range sums[large:] {
			rest.Parts, rest.Saves = rest.Parts+s.Parts, rest.Saves+s.Saves
		}
		sums = append(slices.Clone(sums[:large]), rest)
	}
	for _, s := range sums {
		remark := quantity.Count(s.Parts, "part")
		if s.When != "" && waits {
			remark += ", " + s.When
		}
		rows = append(rows, []span{say(normal, Cut(Clean(s.Rule), pg.width/3)), figure(normal, s.Saves),
			say(faint, remark)})
	}
	if len(r.Candidates) > 1 {
		rows = append(rows, pg.largest(r.Candidates, rows)...)
	}
	pg.grid(2, "<><", rows...)
	pg.refusals(r.Refusals)
}

// foldedMessages are those that a summary replaced. Rules that follow their specification to the
// letter elide in them too, which saves nothing in the window.
func foldedMessages(r report.Report) map[string]bool {
	hidden := map[string]bool{}
	for _, s := range r.Strata {
		if s.Zones[report.Folded] > 0 {
			hidden[s.Message] = true
		}
	}
	return hidden
}

// largest are the rows of the largest candidates, below those of the rules.
func (pg *page) largest(all []report.Candidate, rules [][]span) (rows [][]span) {
	label, used := "largest", [2]int{len("largest"), 0}
	for _, row := range rules {
		for i := range used {
			used[i] = max(used[i], Columns(row[i].text))
		}
	}
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b report.Candidate) int { return cmp.Compare(b.Saves, a.Saves) })
	for _, c := range all[:min(len(all), mostCandidates)] {
		target := Clean(c.Target)
		if strings.Contains(target, "/") && !strings.Contains(target, " ") { // the end of a path says more
			target = CutFront(target, pg.width-7-used[0]-used[1]-Columns(Clean(c.Tool)))
		}
		rows = append(rows, []span{say(faint, label), figure(faint, c.Saves), say(normal, c.Tool+" "+target)})
		label = ""
	}
	return rows
}

// refusals says what was left alone and why, a line for each rule and reason.
func (pg *page) refusals(all []rule.Refusal) {
	sums, general := report.SumRefusals(all)
	for _, r := range general[:min(len(general), mostNotes)] {
		pg.words(say(faint, "  · "), faint, display.Refused(r.Reason, r.Code), 3)
	}
	if len(sums) == 0 {
		return
	}
	pg.heading("Stays", "skipped candidates")
	var rows [][]span
	for _, s := range sums[:min(len(sums), mostRefusals)] {
		reason := display.Refused(s.Reason, s.Code)
		if s.Others > 0 {
			reason += "; " + quantity.Count(s.Others, "other reason")
		}
		rows = append(rows, []span{say(normal, quantity.Count(s.Parts, "part")),
			say(normal, Cut(Clean(s.Rule), pg.width/3)), say(faint, reason)})
	}
	pg.grid(2, "><<", rows...)
	pg.more("  ", len(sums)-mostRefusals)
}

// lasting lists what survives word for word.
func (pg *page) lasting(r report.Report) {
	if len(r.Constraints) > 0 {
		pg.heading("Instructions", "they survive every compaction word for word")
		pg.texts(r.Constraints)
	}
	if n := len(r.Dismissed); n > 0 {
		pg.add(say(faint, "  "+quantity.Count(n, "dismissed sentence")+" left out"))
	}
	if n := len(r.Missed); n > 0 {
		tokens := 0
		for _, m := range r.Missed {
			tokens += m.Tokens
		}
		pg.add(say(faint, "  "+quantity.Count(n, "part")+" left out and then needed: the agent got back "+
			quantity.Count(tokens, "token")))
	}
	if len(r.Pins) > 0 {
		var texts []string
		for _, p := range r.Pins {
			texts = append(texts, cmp.Or(p.Text, p.Part, p.Message))
		}
		pg.heading("Pinned", "")
		pg.texts(texts)
	}
}

// texts lists sentences, each on two lines at most.
func (pg *page) texts(all []string) {
	most := mostTexts
	if len(all) == mostTexts+1 {
		most++
	}
	for _, text := range all[:min(len(all), most)] {
		pg.words(say(faint, "  • "), normal, text, 2)
	}
	pg.more("    ", len(all)-most)
}
