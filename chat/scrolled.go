package chat

import (
	"strings"

	"github.com/winnowhq/winnow/pivot"
	"github.com/winnowhq/winnow/tui"
)

// scrolled is a text that is drawn for a width and read a screen at a time.
type scrolled struct {
	list
	width int
	text  []string
	drawn bool
}

// show gives exactly height lines of what draw draws, which is asked once for each width.
func (s *scrolled) show(width, height int, draw func(width int) []string) []string {
	if !s.drawn || s.width != width {
		s.drawn, s.width, s.text = true, width, draw(width)
	}
	return s.view(1, height, func(int) int { return len(s.text) }, func(_, line int) string {
		if line < len(s.text) {
			return s.text[line]
		}
		return ""
	})
}

// receiptText is a receipt in lines of a width, each behind an inset.
func receiptText(r pivot.Receipt, overhead, width int, before string) []string {
	var b strings.Builder
	tui.Painter{W: &b, Width: max(10, width-tui.Columns(before))}.Receipt(r, overhead)
	var lines []string
	for l := range strings.Lines(b.String()) {
		lines = append(lines, tui.Cut(before+strings.TrimRight(l, "\n"), width))
	}
	return lines
}
