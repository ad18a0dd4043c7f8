package tui

import (
	"github.com/winnowhq/winnow/look/display"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/quantity"
)

// Pruning draws what a pruning did; r is the session after it.
func (p Painter) Pruning(r report.Report, receipt pivot.Receipt, title string) {
	pg := p.page()
	pg.outcome(r, &receipt)
	pg.about(r, title)
	pg.took(&receipt, foldedMessages(r), r.Window.Overhead)
	pg.timeline(r)
	pg.windowNow(r)
	p.draw(pg)
}

// Compaction draws what a compaction did.
func (p Painter) Compaction(before, after report.Report, receipt pivot.Receipt, title string) {
	pg := p.page()
	pg.outcome(after, &receipt)
	pg.about(before, title)
	pg.took(&receipt, nil, after.Window.Overhead)
	pg.timeline(after)
	pg.windowNow(after)
	p.draw(pg)
}

// Receipt draws a receipt by itself, without the session as it is now. overhead is how many tokens
// the system prompt and the tools take besides what the receipt measured, 0 if that is unknown.
func (p Painter) Receipt(receipt pivot.Receipt, overhead int) {
	pg := p.page()
	pg.outcome(report.Report{Window: report.Window{Overhead: max(0, overhead)}}, &receipt)
	pg.took(&receipt, nil, overhead)
	p.draw(pg)
}

// Did says what a receipt is for: "folded 12 messages".
func Did(r *pivot.Receipt) string {
	switch r.Kind {
	case pivot.Compaction:
		return "folded " + quantity.Count(r.Folded, "message")
	case pivot.Restoring:
		return "showed " + quantity.Count(len(r.Quoted)+len(r.Replaced), "part") + " again"
	case pivot.Pinning:
		return "showed again what is pinned"
	}
	return "pruned " + quantity.Count(r.Parts(), "part")
}

// outcome says in one sentence how much smaller the window became, and whether it fits.
func (pg *page) outcome(after report.Report, r *pivot.Receipt) {
	how := quantity.Count(r.Parts(), "part") + " left out"
	switch r.Kind {
	case pivot.Compaction:
		how = quantity.Count(r.Folded, "message") + " folded into a summary"
	case pivot.Restoring, pivot.Pinning:
		how = Did(r)
	}
	verdict, fit := display.VerdictAfter(r, after.Window)
	pg.sentence(display.Shrunk(r.TokensBefore, r.TokensAfter, after.Window.Overhead)+"; "+how, verdict, fitStyle(fit))
}

// took draws the window before and after, and says what went and what was kept. overhead is what
// system prompt and tools take.
func (pg *page) took(r *pivot.Receipt, hidden map[string]bool, overhead int) {
	overhead = max(0, overhead)
	most := max(r.TokensBefore, r.TokensAfter) + overhead
	messages := max(Columns(quantity.Count(r.MessagesBefore, "message")),
		Columns(quantity.Count(r.MessagesAfter, "message")))
	width := min(60, max(8, pg.width-12-Columns(quantity.Number(most))-messages))
	pg.gap()
	for _, side := range []struct {
		name             string
		tokens, messages int
		style            style
	}{
		{"before", r.TokensBefore, r.MessagesBefore, foldedTone},
		{"after", r.TokensAfter, r.MessagesAfter, fine},
	} {
		used := side.tokens + overhead
		l := line{say(normal, padRight(side.name, 6)+"  ")}
		l = append(l, stacked([]segment{{overhead, "▒", foldedTone}, {side.tokens, "█", side.style}},
			length(float64(used)/float64(most), width))...).pad(8 + width)
		pg.add(append(l, say(strong, "  "+padLeft(quantity.Number(used), Columns(quantity.Number(most)))),
			say(faint, "  "+quantity.Count(side.messages, "message")))...)
	}
	pg.gap()
	by, beyond := display.SavedByRule(r, hidden)
	window := r.TokensBefore + overhead
	elided := leaders{display.TokenRanking("Left out, by rule", by, window, mostLeaders), prunedTone}
	if r.Kind == pivot.Compaction {
		elided.Title = "Left out first, by rule"
		gone := display.TokenRanking("Folded, by kind", r.Gone, window, mostLeaders+1)
		pg.tables(leaders{gone, foldedTone}, elided)
		pg.gap()
	} else {
		pg.tables(elided)
	}
	if beyond > 0 {
		text := quantity.Number(beyond) + " tokens more in folded messages, which the model is not shown"
		pg.words(say(faint, "  · "), faint, text, 4)
	}
	for _, f := range display.Receipt(r) {
		pg.fact(f.Name, f.Text)
	}
	for _, note := range r.Notes[:min(len(r.Notes), mostNotes)] {
		pg.fact("note", quantity.Sentence(note))
	}
	if n := len(r.Notes) - mostNotes; n > 0 {
		pg.fact("", quantity.Number(n)+" more")
	}
}

func (pg *page) fact(name, text string) {
	pg.words(say(faint, padRight(name, 10)+"  "), normal, text, 3)
}
