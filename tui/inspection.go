package tui

import (
	"cmp"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/report"
	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/schedule"
	"github.com/winnowhq/winnow/token"
)

const (
	mostLeaders     = 5
	mostTexts       = 8 // constraints and pins
	mostDamaged     = 3
	mostNotes       = 8
	mostCandidates  = 3 // the largest, by name
	mostReasonLines = 4
	mostRefusals    = 8
)

// Inspection draws what is in a session.
func (p Painter) Inspection(r report.Report, title string, damaged []format.Damage) {
	pg := p.page()
	pg.conclusion(r)
	pg.about(r, title)
	if r.Messages <= 0 && len(r.Strata) == 0 {
		pg.damage(damaged)
		p.draw(pg)
		return
	}
	pg.timeline(r)
	pg.gap()
	pg.tables(
		leaders{title: "By kind", by: r.Tokens.ByKind, whole: r.Tokens.Total, most: mostLeaders + 1, style: barTone},
		leaders{title: "By tool", by: r.Tokens.ByTool, whole: r.Tokens.Total, most: mostLeaders, style: barTone},
		leaders{title: "By file", by: r.Tokens.ByFile, whole: r.Tokens.Total, most: mostLeaders, isPath: true, style: barTone})
	pg.windowNow(r)
	pg.couldGo(r)
	pg.standing(r)
	pg.damage(damaged)
	p.draw(pg)
}

// conclusion says in one sentence how large it is, and whether it fits.
func (pg *page) conclusion(r report.Report) {
	w := r.Window
	if r.Messages <= 0 && w.Messages <= 0 && w.Tokens <= 0 {
		pg.add(say(strong, "Nothing here yet: no messages."))
		return
	}
	size := token.Grouped(max(0, w.Tokens)) + " tokens in " + count(max(0, w.Messages), "message")
	used := plus(w.Tokens, w.Overhead)
	verdict, s := "", strong
	switch {
	case w.Usable <= 0:
		verdict = "the window of " + modelName(r.Model) + " is not known"
	case w.Overflow && used <= w.Usable:
		verdict, s = "the usable window is full", alarm
	case w.Overflow:
		verdict, s = token.Grouped(less(used, w.Usable))+" over the usable window", alarm
	default:
		verdict, s = "it fits, with room for "+token.Grouped(less(w.Usable, used))+" more", fine
	}
	if whole := size + "; " + verdict; columns(whole) > pg.width {
		pg.add(say(strong, size+";"))
		pg.words(span{}, s, verdict, 2)
		return
	}
	pg.add(say(strong, size+"; "), say(s, verdict))
}

// modelName is the model without its provider.
func modelName(model string) string {
	if name := model[strings.LastIndex(model, "/")+1:]; name != "" {
		return name
	}
	return "the model"
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
	switch log := plus(r.Window.Messages, r.Window.Folded); {
	case r.Messages > log: // a product may write several for one, and branches that were left
		facts = append(facts, count(r.Messages, "message")+" in the file")
	case log > r.Window.Messages:
		facts = append(facts, count(log, "message")+" in all")
	}
	if r.Turns > 0 || r.Steps > 0 {
		facts = append(facts, count(r.Turns, "turn"), count(r.Steps, "step"), count(r.ToolCalls, "tool call"))
	}
	facts = append(facts, r.Bill.Words(dollars)...)
	if s := r.Summaries; s.Calls > 0 {
		text := count(s.Calls, "call") + " for summaries"
		if s.Failed > 0 {
			text += ", " + token.Grouped(s.Failed) + " in vain"
		}
		switch {
		case s.Cost == nil:
			text += ", cost unknown"
		case *s.Cost > 0:
			text += ", " + dollars(*s.Cost)
		}
		facts = append(facts, text)
	}
	pg.words(span{}, faint, strings.Join(facts, " · "), 2)
	if len(r.Unpriced) > 0 {
		pg.words(span{}, faint, "no price known for "+strings.Join(r.Unpriced, ", ")+": `models` in winnow.jsonc sets prices", 3)
	}
}

// windowNow draws how full the window is.
func (pg *page) windowNow(r report.Report) {
	w := r.Window
	used := plus(w.Tokens, w.Overhead)
	segments := []segment{{size: w.Overhead, glyph: "▒", style: foldedTone}, {size: w.Tokens, glyph: "█", style: barTone}}
	pg.heading("Window now", modelFit(r))
	if used > 0 && w.Usable > 0 {
		pg.add(append(line{say(normal, "  ")}, gauge(segments, w.Usable, min(72, pg.width-4))...)...)
	}
	rows := []figure{
		{glyph: "█", style: barTone, name: "messages", tokens: max(0, w.Tokens), remark: windowRemark(w)},
		{glyph: "▒", style: foldedTone, name: "system, tools", tokens: max(0, w.Overhead), remark: "what every request carries besides"},
	}
	if w.Overhead <= 0 {
		rows[1].remark, rows[1].unknown = "not known: no usage was reported", true
	}
	switch {
	case w.Usable <= 0:
	case used > w.Usable:
		rows = append(rows, figure{glyph: "┃", style: strong, name: "usable", tokens: w.Usable, remark: usableRemark(w)},
			figure{glyph: "█", style: alarm, name: "over by", tokens: less(used, w.Usable), remark: "the next request overflows", alarm: true})
	default:
		remark := "of " + token.Grouped(w.Usable) + " usable"
		if w.Context > 0 {
			remark += ", context " + token.Grouped(w.Context)
		}
		rows = append(rows, figure{glyph: "─", style: faint, name: "free", tokens: less(w.Usable, used), remark: remark, alarm: w.Overflow})
	}
	pg.figures(rows)
	if w.Elided > 0 {
		pg.add(say(normal, "  "+count(w.Elided, "part")+" elided, which saves "+token.Grouped(max(0, w.ElidedTokens))+" tokens"))
	}
	if w.Pending != "" {
		pg.add(say(alarm, "  a compaction was begun and is not finished: "+w.Pending))
	}
	for reason := range strings.SplitSeq(w.Reason, "; ") {
		if strings.TrimSpace(reason) != "" {
			pg.words(say(faint, "  · "), faint, token.GroupDigitsIn(reason), mostReasonLines)
		}
	}
}

func modelFit(r report.Report) string {
	w := r.Window
	if w.Usable <= 0 {
		return "no limit is known for " + modelName(r.Model)
	}
	used := plus(w.Tokens, w.Overhead)
	return token.Grouped(used) + " of " + token.Grouped(w.Usable) + " usable, " + percent(used, w.Usable)
}

func windowRemark(w report.Window) string {
	remark := count(max(0, w.Messages), "message")
	if w.Folded > 0 {
		remark += "; " + token.Grouped(w.Folded) + " folded"
	}
	return remark
}

func usableRemark(w report.Window) string {
	if w.Context > w.Usable {
		return "of " + token.Grouped(w.Context) + "; the rest is for the answer"
	}
	return ""
}

// figure is a row with a glyph, a name, a number and a remark.
type figure struct {
	glyph   string
	style   style
	name    string
	tokens  int
	remark  string
	alarm   bool
	unknown bool
}

func (pg *page) figures(rows []figure) {
	name, number := 0, 0
	for _, f := range rows {
		name, number = max(name, columns(f.name)), max(number, columns(token.Grouped(f.tokens)))
	}
	for _, f := range rows {
		s, n := normal, token.Grouped(f.tokens)
		if f.alarm {
			s = alarm
		}
		if f.unknown {
			n = "?"
		}
		pg.add(say(f.style, "  "+f.glyph), say(s, " "+padRight(f.name, name)+"  "+padLeft(n, number)), say(faint, "  "+f.remark))
	}
}

// couldGo lists what rules would elide, and what they leave alone.
func (pg *page) couldGo(r report.Report) {
	sums := report.ByRule(r.Candidates, r.Omitted)
	all := 0
	for _, s := range sums {
		all = plus(all, s.Saves)
	}
	hidden, folded := foldedMessages(r), 0
	for _, c := range r.Candidates {
		if hidden[c.Message] {
			folded = plus(folded, c.Saves)
		}
	}
	switch {
	case len(sums) == 0 && len(r.Refusals) == 0:
		pg.heading("Could go", "nothing that a rule would elide")
		return
	case len(sums) == 0:
		pg.heading("Could go", "nothing yet")
	default:
		shown := less(all, folded)
		remark := token.Grouped(all) + " tokens, " + percent(shown, r.Window.Tokens) + " of the messages"
		if folded > 0 {
			remark = token.Grouped(shown) + " tokens of what is shown, " + percent(shown, r.Window.Tokens) + "; the rest is folded already"
		}
		pg.heading("Could go, by rule", remark)
	}
	name, number := 0, 0
	for _, s := range sums {
		name, number = max(name, columns(clean(s.Rule))), max(number, columns(token.Grouped(s.Saves)))
	}
	if len(sums) > 0 {
		name = min(max(name, len("largest")), pg.width/3)
	}
	waits := slices.ContainsFunc(sums, func(s report.RuleSum) bool { return s.When != "" && s.When != (schedule.Wait{}).When() })
	for _, s := range sums {
		remark := count(s.Parts, "part")
		if s.When != "" && waits {
			remark += ", " + s.When
		}
		l := line{say(normal, "  "+padRight(cut(clean(s.Rule), name), name)+"  "+padLeft(token.Grouped(s.Saves), number)+"  ")}
		pg.add(append(l, say(faint, cut(remark, max(10, pg.width-l.columns()))))...)
	}
	pg.largestCandidates(r.Candidates, name, number)
	pg.refusals(r.Refusals)
}

// foldedMessages are those that a summary stands for. Rules that follow their specification to the letter elide in them too; of that the window
// shows nothing.
func foldedMessages(r report.Report) map[string]bool {
	hidden := map[string]bool{}
	for _, s := range r.Strata {
		if s.Zones[report.Folded] > 0 {
			hidden[s.Message] = true
		}
	}
	return hidden
}

func (pg *page) largestCandidates(all []report.Candidate, name, number int) {
	if len(all) < 2 {
		return
	}
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b report.Candidate) int { return cmp.Compare(b.Saves, a.Saves) })
	for i, c := range all[:min(len(all), mostCandidates)] {
		label := ""
		if i == 0 {
			label = "largest"
		}
		l := line{say(faint, "  "+padRight(cut(label, name), name)+"  "+padLeft(token.Grouped(c.Saves), number)+"  "), say(normal, c.Tool+" ")}
		target, room := clean(c.Target), pg.width-l.columns()
		if strings.Contains(target, "/") && !strings.Contains(target, " ") { // a path: its end says more
			target = cutFront(target, room)
		}
		pg.add(append(l, say(faint, target))...)
	}
}

// refusals says what was left alone and why, a line for each rule and reason.
func (pg *page) refusals(all []rule.Refusal) {
	sums, general := report.SumRefusals(all)
	for _, r := range general[:min(len(general), mostNotes)] {
		pg.words(say(faint, "  · "), faint, token.GroupDigitsIn(reasonOf(r.Reason, r.Code)), 3)
	}
	if len(sums) == 0 {
		return
	}
	pg.heading("Stays", "what rules found and left alone")
	shown := sums[:min(len(sums), mostRefusals)]
	parts, name := 0, 0
	for _, s := range shown {
		parts, name = max(parts, columns(count(s.Parts, "part"))), max(name, columns(clean(s.Rule)))
	}
	name = min(name, pg.width/3)
	for _, s := range shown {
		reason := token.GroupDigitsIn(reasonOf(s.Reason, s.Code))
		also := ""
		if s.Others > 0 {
			also = "; " + count(s.Others, "other reason")
		}
		before := "  " + padLeft(count(s.Parts, "part"), parts) + "  "
		if name > 0 {
			before += padRight(cut(clean(s.Rule), name), name) + "  "
		}
		pg.add(say(normal, before), say(faint, cut(clean(reason), max(10, pg.width-columns(before)-columns(also)))+also))
	}
	if n := len(sums) - len(shown); n > 0 {
		pg.add(say(faint, "  "+token.Grouped(n)+" more"))
	}
}

// reasonOf is the reason of a refusal, or its code in words.
func reasonOf(reason string, code rule.Code) string {
	return cmp.Or(reason, strings.ReplaceAll(string(code), "-", " "))
}

// standing lists what survives word for word.
func (pg *page) standing(r report.Report) {
	if len(r.Constraints) > 0 {
		pg.heading("Standing wishes", "they survive every compaction word for word")
		pg.texts(r.Constraints)
	}
	if n := len(r.Dismissed); n > 0 {
		pg.add(say(faint, "  "+count(n, "dismissed sentence")+" beside them, which stay out"))
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
	shown := all
	if len(all) > mostTexts+1 {
		shown = all[:mostTexts]
	}
	for _, text := range shown {
		pg.words(say(faint, "  • "), normal, text, 2)
	}
	if n := len(all) - len(shown); n > 0 {
		pg.add(say(faint, "    "+token.Grouped(n)+" more"))
	}
}

// damage says what could not be read.
func (pg *page) damage(all []format.Damage) {
	if len(all) == 0 {
		return
	}
	pg.gap()
	pg.add(say(alarm, "Damaged"), say(faint, "  "+count(len(all), "piece")+" skipped; everything else was read"))
	for _, d := range all[:min(len(all), mostDamaged)] {
		where := "byte " + token.Grouped(int(d.Offset))
		if d.Line > 0 {
			where = "line " + token.Grouped(d.Line)
		}
		pg.add(say(normal, "  "+where+"  "), say(faint, cmp.Or(d.Reason, "not understood")))
	}
	if n := len(all) - mostDamaged; n > 0 {
		pg.add(say(faint, "  "+token.Grouped(n)+" more"))
	}
}
