package tui

import (
	"github.com/winnowhq/winnow/lab"
	"github.com/winnowhq/winnow/look/display"
)

// holdout says what choosing is worth on sessions that were held out of the choice.
func (pg *page) holdout(r *lab.Report) {
	for _, text := range display.Unheld(r) {
		pg.gap()
		pg.words(span{}, normal, text, 8)
	}
	for _, held := range display.EvidenceOf(r) {
		pg.heading(held.Title, held.Under)
		for _, text := range held.Words {
			pg.words(span{}, normal, text, 8)
		}
		pg.gap()
		pg.folds(held)
	}
}

// folds is the table of what was chosen while something was held out.
func (pg *page) folds(held display.Evidence) {
	rows := append([][]string{held.Heads}, held.Rows...)
	widths := make([]int, len(held.Heads))
	for _, row := range rows {
		for k := range row {
			row[k] = Clean(row[k])
			widths[k] = max(widths[k], Columns(row[k]))
		}
	}
	figures := 0
	for _, w := range widths[2:] {
		figures += 2 + w
	}
	free := max(16, pg.width-4-figures) // 2 before the first, 2 between the first two
	widths[1] = min(widths[1], max(free/2, free-widths[0]))
	widths[0] = min(widths[0], free-widths[1])
	for y, row := range rows {
		tone := normal
		if y == 0 {
			tone = faint
		}
		l := line{say(tone, "  "+padRight(CutFront(row[0], widths[0]), widths[0])+"  "+
			padRight(CutFront(row[1], widths[1]), widths[1]))}
		for k := 2; k < len(row); k++ {
			l = append(l, say(tone, "  "+padLeft(row[k], widths[k])))
		}
		pg.add(l...)
	}
}
