package tui

import (
	"strings"

	"github.com/winnowhq/winnow/pivot"
	"github.com/winnowhq/winnow/report"
)

// Did says what a receipt is for: "folded 12 messages".
func Did(r *pivot.Receipt) string {
	switch r.Kind {
	case pivot.Compaction:
		return "folded " + Count(r.Folded, "message")
	case pivot.Restoring:
		return "showed " + Count(len(r.Quoted)+len(r.Replaced), "part") + " again"
	case pivot.Pinning:
		return "showed again what is pinned"
	}
	return "pruned " + Count(r.Parts(), "part")
}

// Receipt draws a receipt by itself, without the session as it is now. overhead is what system prompt and tools take besides what it measured, in tokens, 0
// where that is not known.
func (p Painter) Receipt(receipt pivot.Receipt, overhead int) {
	pg := p.page()
	how := count(receipt.Parts(), "part") + " elided"
	if receipt.Kind == pivot.Compaction {
		how = count(receipt.Folded, "message") + " folded into a summary"
	}
	if receipt.Kind == pivot.Restoring || receipt.Kind == pivot.Pinning {
		how = Did(&receipt)
	}
	pg.outcome(report.Report{Window: report.Window{Overhead: max(0, overhead)}}, receipt, how)
	pg.beforeAfter(report.Report{}, receipt)
	pg.gap()
	by, _ := savedByRule(receipt, nil)
	elided := leaders{title: "Elided, by rule", by: by, whole: receipt.TokensBefore, most: mostLeaders, style: prunedTone}
	if receipt.Kind != pivot.Compaction {
		pg.tables(elided)
		if calls := asked(receipt); len(calls) > 0 { // for a summary that came to nothing
			pg.fact("asked", strings.Join(calls, ", "))
		}
	} else {
		elided.title = "Elided first, by rule"
		pg.tables(leaders{title: "Folded, by kind", by: receipt.Gone, whole: receipt.TokensBefore, most: mostLeaders + 1, style: foldedTone}, elided)
		pg.kept(receipt)
	}
	pg.money(receipt)
	pg.notes(receipt)
	p.draw(pg)
}
