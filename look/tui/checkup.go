package tui

import (
	"strings"

	"github.com/winnowhq/winnow/look/display"
)

// Trouble is something that is wrong, or worth knowing.
type Trouble struct {
	What string
	Code string // a word for it that programs know
	Note bool   // worth knowing, and not wrong
}

// mostCheckupLines is how many lines a fact or a trouble may take.
const mostCheckupLines = 12

// Facts draws facts below each other, their names in a column.
func (p Painter) Facts(facts []display.Fact) {
	pg := p.page()
	for _, f := range facts {
		pg.words(say(faint, padRight(f.Name, 8)+"  "), normal, f.Text, mostCheckupLines)
	}
	p.draw(pg)
}

// Trouble draws what is wrong, with its code behind it. What to do about it is for the caller to
// say: it may hold a command, which no line break may cut in two.
func (p Painter) Trouble(t Trouble) {
	pg := p.page()
	first, s := span{}, alarm
	if t.Note {
		first, s = say(faint, "Note: "), normal
	}
	text := strings.Join(strings.Fields(Clean(t.What)), " ") + " (" + t.Code + ")"
	lines := Wrap(strings.Fields(text), max(10, pg.width-Columns(first.text)), mostCheckupLines)
	for i, line := range lines {
		if i > 0 {
			first = span{}
		}
		pg.add(first, say(s, line))
	}
	p.draw(pg)
}
