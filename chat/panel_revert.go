package chat

import (
	"cmp"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/winnowhq/winnow/quantity"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/tui"
)

// revertPanel lists the messages that the user wrote, the newest first. The one before which they want to be again is told as revertChosen.
type revertPanel struct {
	list
	style style
	now   time.Time
	all   []*session.Message
	shown []int // positions in all that pass the filter
}

func newRevertPanel(written []*session.Message, now time.Time, s style) panel {
	p := &revertPanel{style: s, now: now, all: written}
	p.narrow()
	return p
}

func (p *revertPanel) Title() string { return "Go back to before a message" }
func (p *revertPanel) Keys() string {
	if p.typing {
		return "type to filter · enter done · esc clear"
	}
	return "↑↓ move · enter go back · / filter · esc leave all as it is"
}

func (p *revertPanel) Update(msg tea.Msg) (panel, tea.Cmd) {
	switch name := p.pressed(msg, p.narrow); {
	case name == "esc" || name == "q":
		return nil, nil
	case name == "enter" && p.at < len(p.shown):
		return nil, choose(revertChosen{p.all[p.shown[p.at]]})
	}
	return p, nil
}

func (p *revertPanel) narrow() {
	p.shown = p.shown[:0]
	for i, m := range p.all {
		if p.matches(m.Text()) {
			p.shown = append(p.shown, i)
		}
	}
}

func (p *revertPanel) View(width, height int) []string {
	var lines []string
	for _, l := range wrap("The files of the folder become what they were when the message came, and a new session begins with what was said before it. This session stays, and the files as "+
		"they are now are kept.", width, "") {
		lines = append(lines, paint(p.style.dim, l))
	}
	if height < 8 {
		lines = lines[:0]
	}
	lines = append(lines, paint(p.style.dim, cmp.Or(p.state(len(p.shown), len(p.all), width), tui.Cut(quantity.Count(len(p.all), "message")+" of yours, newest first", width))))
	return shows(append(lines, p.view(len(p.shown), height-len(lines), func(int) int { return 1 }, func(item, _ int) string {
		m := p.all[p.shown[item]]
		return pick(item == p.at, cmp.Or(firstLine(m.Text()), "(no text)"), right(ago(p.now.Sub(time.UnixMilli(int64(m.Time.Created)))), 8), min(width, mostRow), p.style)
	})...), height)
}
