package tui

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/winnowhq/winnow/pivot"
	"github.com/winnowhq/winnow/report"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/token"
)

// Pruning draws what a pruning did; r is the session after it.
func (p Painter) Pruning(r report.Report, receipt pivot.Receipt, title string) {
	pg := p.page()
	pg.outcome(r, receipt, count(receipt.Parts(), "part")+" elided")
	pg.about(r, title)
	pg.beforeAfter(r, receipt)
	pg.gap()
	by, beyond := savedByRule(receipt, foldedMessages(r))
	pg.tables(leaders{title: "Elided, by rule", by: by, whole: receipt.TokensBefore, most: mostLeaders, style: prunedTone})
	if beyond > 0 {
		pg.words(say(faint, "  · "), faint, token.Grouped(beyond)+" tokens more in messages that a summary stands for: the model is not shown those", 4)
	}
	if calls := asked(receipt); len(calls) > 0 { // for a summary that came to nothing
		pg.fact("asked", strings.Join(calls, ", "))
	}
	pg.money(receipt)
	pg.notes(receipt)
	pg.timeline(r)
	pg.windowNow(r)
	p.draw(pg)
}

// Compaction draws what a compaction did.
func (p Painter) Compaction(before, after report.Report, receipt pivot.Receipt, title string) {
	pg := p.page()
	pg.outcome(after, receipt, count(receipt.Folded, "message")+" folded into a summary")
	pg.about(before, title)
	pg.beforeAfter(after, receipt)
	pg.gap()
	by, _ := savedByRule(receipt, nil)
	pg.tables(
		leaders{title: "Folded, by kind", by: receipt.Gone, whole: receipt.TokensBefore, most: mostLeaders + 1, style: foldedTone},
		leaders{title: "Elided first, by rule", by: by, whole: receipt.TokensBefore, most: mostLeaders, style: prunedTone})
	pg.kept(receipt)
	pg.money(receipt)
	pg.notes(receipt)
	pg.timeline(after)
	pg.windowNow(after)
	p.draw(pg)
}

// outcome says in one sentence how much smaller it became, and whether it fits.
func (pg *page) outcome(after report.Report, receipt pivot.Receipt, how string) {
	size := token.Grouped(receipt.TokensBefore) + " → " + token.Grouped(receipt.TokensAfter) + " tokens (" + change(receipt.TokensBefore, receipt.TokensAfter) + "); " + how
	w := after.Window
	used := plus(receipt.TokensAfter, w.Overhead)
	verdict, s := "", fine
	usable := cmp.Or(max(0, w.Usable), max(0, receipt.Usable))
	switch {
	case usable == 0:
	case used >= usable:
		verdict, s = "still "+token.Grouped(less(used, usable))+" over the usable window", alarm
	default:
		verdict = "it fits, with room for " + token.Grouped(less(usable, used)) + " more"
	}
	if whole := size + "; " + verdict; columns(whole) <= pg.width && verdict != "" {
		pg.add(say(strong, size+"; "), say(s, verdict))
		return
	}
	pg.words(span{}, strong, size, 2)
	if verdict != "" {
		pg.words(span{}, s, verdict, 2)
	}
}

// beforeAfter draws two bars on one scale.
func (pg *page) beforeAfter(after report.Report, receipt pivot.Receipt) {
	most := max(receipt.TokensBefore, receipt.TokensAfter)
	number := columns(token.Grouped(most))
	messages := max(columns(count(receipt.MessagesBefore, "message")), columns(count(receipt.MessagesAfter, "message")))
	width := min(60, max(8, pg.width-12-number-messages))
	pg.gap()
	for _, side := range []struct {
		name             string
		tokens, messages int
		style            style
	}{
		{"before", receipt.TokensBefore, receipt.MessagesBefore, foldedTone},
		{"after", receipt.TokensAfter, receipt.MessagesAfter, fine},
	} {
		l := append(line{say(normal, padRight(side.name, 6)+"  ")}, bar(side.tokens, most, width, side.style)...)
		pg.add(append(l, say(strong, "  "+padLeft(token.Grouped(side.tokens), number)), say(faint, "  "+count(side.messages, "message")))...)
	}
}

// savedByRule are the tokens that the elisions of a receipt save.
// savedByRule sums up what a receipt's elisions save, those in hidden messages apart.
func savedByRule(receipt pivot.Receipt, hidden map[string]bool) (saved map[string]int, beyond int) {
	saved = map[string]int{}
	for _, el := range receipt.Committed {
		if hidden[el.Message] {
			beyond = plus(beyond, el.Saves)
			continue
		}
		name := cmp.Or(el.Rule, "other")
		saved[name] = plus(saved[name], el.Saves)
	}
	return saved, beyond
}

// money says what it comes to in dollars.
func (pg *page) money(receipt pivot.Receipt) {
	if receipt.Money != nil {
		pg.fact("dollars", receipt.Money.Words(dollars))
	}
}

// kept says what was carried over and what stays as it was.
func (pg *page) kept(receipt pivot.Receipt) {
	c := receipt.Carried
	var things []string
	for _, thing := range []struct {
		n         int
		one, many string
	}{
		{c.Messages, "user message", "user messages"},
		{c.Constraints, "standing wish", "standing wishes"},
		{c.Pins, "pin", "pins"},
		{c.Todos, "todo list", "todo lists"},
		{c.Skills, "skill", "skills"},
		{c.Files, "file", "files"},
		{c.Failures, "unresolved error", "unresolved errors"},
		{c.Hot, "call or edit", "calls and edits"},
	} {
		switch {
		case thing.n == 1:
			things = append(things, "1 "+thing.one)
		case thing.n > 1:
			things = append(things, token.Grouped(thing.n)+" "+thing.many)
		}
	}
	pg.gap()
	stays := "no message: the summary stands for all of them"
	if receipt.Tail > 0 {
		stays = count(receipt.Tail, "message") + ", word for word"
	}
	pg.fact("stays", stays)
	if len(things) > 0 {
		pg.fact("carried", strings.Join(things, ", ")+"; "+count(c.Tokens, "token"))
	}
	if c.Recallable > 0 {
		pg.fact("named", count(c.Recallable, "output")+" that the summary stands for, by id")
	}
	if by := bySummarizer(receipt); by != "" {
		pg.fact("written by", by)
	}
	pg.struck(receipt)
}

// bySummarizer says who wrote the summary, and what that took.
func bySummarizer(receipt pivot.Receipt) string {
	var facts []string
	if receipt.Summarizer != "" {
		facts = append(facts, receipt.Summarizer)
	}
	facts = append(facts, asked(receipt)...)
	if receipt.Duration >= 0.1 && receipt.Duration < 1e9 {
		facts = append(facts, strconv.FormatFloat(receipt.Duration, 'f', 1, 64)+" s")
	}
	return strings.Join(facts, ", ")
}

// asked says what a model's calls took, the failed ones too.
func asked(receipt pivot.Receipt) []string {
	n := len(receipt.Usage)
	if n == 0 {
		return nil
	}
	var sum session.Usage
	for _, u := range receipt.Usage {
		sum = sum.Add(u)
	}
	facts := []string{count(n, "call")}
	if in, out := sum.Prompt(), plus(sum.Output, sum.Reasoning); in > 0 || out > 0 {
		facts = append(facts, token.Grouped(max(in, 0))+" tokens in, "+token.Grouped(max(out, 0))+" out")
	}
	if receipt.Cost > 0 {
		facts = append(facts, dollars(receipt.Cost))
	} else {
		facts = append(facts, "cost unknown")
	}
	return facts
}

// struck lists what a model made up.
func (pg *page) struck(receipt pivot.Receipt) {
	n := len(receipt.Struck)
	if n == 0 {
		return
	}
	var claims []string
	for _, s := range receipt.Struck[:min(n, mostNotes)] {
		claims = append(claims, s.Kind+" "+s.Text)
	}
	text := strings.Join(claims, ", ")
	if n > mostNotes {
		text += " and " + token.Grouped(n-mostNotes) + " more"
	}
	pg.fact("made up", text)
}

func (pg *page) fact(name, text string) {
	pg.words(say(faint, padRight(name, 10)+"  "), normal, text, 3)
}

// notes says what was done to make it fit, and what was rejected.
func (pg *page) notes(receipt pivot.Receipt) {
	for _, note := range receipt.Notes[:min(len(receipt.Notes), mostNotes)] {
		pg.fact("note", token.GroupDigitsIn(note))
	}
	if n := len(receipt.Notes) - mostNotes; n > 0 {
		pg.fact("", token.Grouped(n)+" more")
	}
}
