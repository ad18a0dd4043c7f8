package panel

import (
	tea "charm.land/bubbletea/v2"

	"github.com/winnowhq/winnow/agent/chat/internal/draw"
	"github.com/winnowhq/winnow/text/quantity"
)

// Copy is a text that can be copied: an answer, or a block of code in it.
type Copy struct {
	What string // "answer", or the language of the code
	Code bool
	Text string
}

// CopyChosen is what is to be copied.
type CopyChosen Copy

// NewCopy lists what can be copied, the newest first.
func NewCopy(all []Copy, s draw.Style) Panel {
	p := &picker[Copy]{title: "Copy", keys: "↑↓ move · enter copy · / filter · esc back"}
	p.texts = func(c Copy) []string { return []string{c.What, c.Text} }
	p.row = func(c Copy, _ int, chosen bool, width int) []string {
		name := draw.FirstLine(c.Text)
		if c.Code {
			name = "  " + c.What + ": " + name
		}
		return []string{pick(chosen, name, right(quantity.Number(len(c.Text))+" B", 10), min(width, mostRow), s)}
	}
	p.enter = func(c Copy) tea.Msg { return CopyChosen(c) }
	return p.fill(all)
}
