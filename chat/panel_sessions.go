package chat

import (
	"cmp"
	"context"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/winnowhq/winnow/quantity"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/tui"
)

// sessionsPanel lists the sessions that are kept, the one that changed last first. The chosen one is told as sessionChosen.
type sessionsPanel struct {
	list
	style   style
	now     time.Time
	current string
	all     []store.Listing
	shown   []int // positions in all that pass the filter
	failed  error
	loaded  bool
}

// sessionsRead is what a sessions panel waits for.
type sessionsRead struct {
	of  *sessionsPanel
	all []store.Listing
	err error
}

// newSessionsPanel lists what a store keeps; current is the session that is open, "" for none.
func newSessionsPanel(ctx context.Context, kept store.Store, current string, now time.Time, s style) (panel, tea.Cmd) {
	p := &sessionsPanel{style: s, now: now, current: current}
	return p, func() tea.Msg {
		all, err := kept.List(ctx)
		return sessionsRead{p, all, err}
	}
}

func (p *sessionsPanel) Title() string { return "Sessions" }
func (p *sessionsPanel) Keys() string {
	if p.typing {
		return "type to filter · enter done · esc clear"
	}
	return "↑↓ move · enter open · / filter · esc back"
}

func (p *sessionsPanel) Update(msg tea.Msg) (panel, tea.Cmd) {
	if read, ok := msg.(sessionsRead); ok && read.of == p {
		p.all, p.failed, p.loaded = read.all, read.err, true
		p.narrow()
	}
	switch name := p.pressed(msg, p.narrow); {
	case name == "esc" || name == "q":
		return nil, nil
	case name == "enter" && p.at < len(p.shown):
		return nil, choose(sessionChosen(p.all[p.shown[p.at]].Info.ID))
	}
	return p, nil
}

func (p *sessionsPanel) narrow() {
	p.shown = p.shown[:0]
	for i := range p.all {
		if one := &p.all[i]; p.matches(one.Info.Title, one.Info.ID, modelOf(one), one.Info.Directory) {
			p.shown = append(p.shown, i)
		}
	}
}

func modelOf(one *store.Listing) string {
	if one.Info.Model != nil {
		return one.Info.Model.String()
	}
	return ""
}

func (p *sessionsPanel) View(width, height int) []string {
	head := "reading …"
	switch {
	case p.failed != nil:
		head = "the sessions cannot be listed: " + oneLine(p.failed.Error())
	case p.loaded && len(p.all) == 0:
		head = "no session is kept yet"
	case p.loaded:
		head = cmp.Or(p.state(len(p.shown), len(p.all), width), quantity.Count(len(p.all), "session")+" · ● is this one")
	}
	lines := []string{paint(p.style.dim, tui.Cut(head, width))}
	return shows(append(lines, p.view(len(p.shown), height-1, func(int) int { return 1 }, func(item, _ int) string {
		return p.row(&p.all[p.shown[item]], item == p.at, width)
	})...), height)
}

// row is the title with age, size and model beside it, as far as there is room.
func (p *sessionsPanel) row(one *store.Listing, chosen bool, width int) string {
	title := cmp.Or(oneLine(one.Info.Title), one.Info.ID)
	if one.Info.ID == p.current {
		title = "● " + title
	}
	side := []string{right(ago(p.now.Sub(time.UnixMilli(int64(one.Info.Time.Updated)))), 8)}
	if width >= 60 {
		side = append(side, right(quantity.Count(one.Messages, "message"), 14))
	}
	if width >= 78 {
		side = append(side, fit(oneLine(modelOf(one)), min(30, width/4)))
	}
	return pick(chosen, title, strings.Join(side, "  "), min(width, mostRow), p.style)
}

// mostRow keeps what stands at the right of a row near what stands at its left.
const mostRow = 110

// pick is a row of a list: what it is at the left, as much of it as there is room for, and what there is to say of it at the right.
func pick(chosen bool, left, side string, width int, s style) string {
	mark, look := "  ", lipgloss.Style{}
	if chosen {
		mark, look = "› ", s.accent
	}
	room := width - tui.Columns(mark) - tui.Columns(side) - 2
	if side == "" || room < 8 {
		return paint(look, tui.Cut(mark+left, width))
	}
	return paint(look, mark+fit(left, room)) + paint(s.dim, "  "+side)
}

// right is a text at the right of so many columns.
func right(text string, width int) string {
	return strings.Repeat(" ", max(0, width-tui.Columns(text))) + text
}

// ago is how long something is ago, in the unit that says enough.
func ago(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return grouped(int(d/time.Minute)) + " min"
	case d < 48*time.Hour:
		return grouped(int(d/time.Hour)) + " h"
	}
	return grouped(int(d/(24*time.Hour))) + " days"
}
