package panel

import (
	"context"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/agent/chat/internal/draw"
	"github.com/winnowhq/winnow/look/tui"
)

// Panel takes the place of the transcript until it is closed: a list to choose from, a receipt, a
// preview. It is told every key; what takes time it gives back as a command.
type Panel interface {
	// Update takes a message. A nil panel is closed.
	Update(msg tea.Msg) (Panel, tea.Cmd)
	// View draws exactly height lines, none wider than width.
	View(width, height int) []string
	// Title stands in the line above it, Keys in the line below: "↑↓ move · enter choose · esc
	// back".
	Title() string
	Keys() string
}

// panelRead is what a panel waited for: then takes it over.
type panelRead struct {
	of   Panel
	then func()
}

// Updated is a panel after a message.
func Updated(p Panel, msg tea.Msg) (Panel, tea.Cmd) {
	read, ok := msg.(panelRead)
	if !ok {
		return p.Update(msg)
	}
	if read.of == p {
		read.then()
	}
	return p, nil
}

const filterKeys = "type to filter · enter done · esc clear"

// picker is a panel of rows, one of which is chosen.
type picker[T any] struct {
	list
	title, keys string
	note        string // in place of the filter: that the rows are being read, or why there are none
	all         []T
	shown       []int                            // positions in all that pass the filter
	texts       func(T) []string                 // in which the filter is looked for
	head        func(width, height int) []string // above the rows; nil: the filter
	row         func(one T, item int, chosen bool, width int) []string
	tall        bool            // rows may have several lines
	enter       func(T) tea.Msg // of the chosen one; nil for nothing
	none        func() tea.Msg  // if no row passes the filter; nil for nothing
}

func (p *picker[T]) Title() string { return p.title }

func (p *picker[T]) Keys() string {
	if p.typing {
		return filterKeys
	}
	return p.keys
}

func (p *picker[T]) Update(msg tea.Msg) (Panel, tea.Cmd) {
	switch p.pressed(msg, p.narrow) {
	case "esc", "q":
		return nil, nil
	case "enter":
		var msg tea.Msg
		switch {
		case p.at < len(p.shown):
			msg = p.enter(p.all[p.shown[p.at]])
		case p.none != nil:
			msg = p.none()
		}
		if msg != nil {
			return nil, choose(msg)
		}
	}
	return p, nil
}

// fill lists other things.
func (p *picker[T]) fill(all []T) *picker[T] {
	p.all = all
	p.narrow()
	return p
}

// read lists what takes time to be read.
func (p *picker[T]) read(all func() ([]T, error), failed, empty string) tea.Cmd {
	p.note = "reading …"
	return func() tea.Msg {
		all, err := all()
		return panelRead{p, func() {
			switch p.note = ""; {
			case err != nil:
				p.note = failed + draw.OneLine(err.Error())
			case len(all) == 0:
				p.note = empty
			}
			p.fill(all)
		}}
	}
}

// filterState is what the filter says, "" without one.
func (p *picker[T]) filterState(width int) string { return p.state(len(p.shown), len(p.all), width) }

func (p *picker[T]) narrow() {
	p.shown = p.shown[:0]
	for i := range p.all {
		if p.matches(p.texts(p.all[i])...) {
			p.shown = append(p.shown, i)
		}
	}
}

func (p *picker[T]) View(width, height int) []string {
	var lines []string
	if p.head != nil {
		lines = p.head(width, height)
	} else if state := p.filterState(width); state != "" {
		lines = []string{state}
	}
	row := func(item int) []string { return p.row(p.all[p.shown[item]], item, item == p.at, width) }
	return shows(append(lines, p.view(len(p.shown), height-len(lines), func(item int) int {
		if p.tall {
			return len(row(item))
		}
		return 1
	}, func(item, line int) string { return row(item)[line] })...), height)
}

// page is a panel of text that is drawn for a width and read a screen at a time.
type page struct {
	list
	title string
	keys  func() string
	draw  func(width int) []string
	enter func() (done bool, msg tea.Msg)

	width int
	text  []string // nil: to be drawn
}

func (p *page) Title() string { return p.title }
func (p *page) Keys() string  { return p.keys() }

// read shows that something is being read, until it is known how to draw it.
func (p *page) read(s draw.Style, note string, drawn func() func(width int) []string) tea.Cmd {
	p.draw = func(width int) []string { return dim(s, width, note) }
	return func() tea.Msg {
		draw := drawn()
		return panelRead{p, func() { p.text, p.draw = nil, draw }}
	}
}

func (p *page) Update(msg tea.Msg) (Panel, tea.Cmd) {
	k, ok := msg.(tea.KeyPressMsg)
	if !ok {
		return p, nil
	}
	switch k.String() {
	case "esc", "q":
		return nil, nil
	case "enter":
		if done, msg := p.enter(); msg != nil {
			return nil, choose(msg)
		} else if done {
			return nil, nil
		}
	case "/": // there is nothing to filter
	default:
		p.key(k)
	}
	return p, nil
}

func (p *page) View(width, height int) []string {
	if p.text == nil || p.width != width {
		p.width, p.text = width, p.draw(width)
	}
	return p.view(1, height, func(int) int { return len(p.text) }, func(_, line int) string {
		if line < len(p.text) {
			return p.text[line]
		}
		return ""
	})
}

// outcome is what the last key of a panel did.
type outcome struct {
	busy  bool // it is being done
	said  string
	wrong bool // it did not work
}

func (o *outcome) tell(said string, err error) {
	*o = outcome{said: said, wrong: err != nil}
	if err != nil {
		o.said = draw.OneLine(draw.Explain(err))
	}
}

func (o *outcome) foot(width int, s draw.Style) []string {
	switch {
	case o.busy:
		return []string{draw.Paint(s.Dim, "…")}
	case o.said == "":
		return nil
	}
	look := s.Good
	if o.wrong {
		look = s.Bad
	}
	lines := draw.Wrap(draw.OneLine(o.said), width, "")
	for i := range lines {
		lines[i] = draw.Paint(look, tui.Cut(lines[i], width))
	}
	return lines[:min(3, len(lines))]
}

// sizeOf is how many tokens the messages of a window have. It can be said of a view that no
// provider would take, too.
func sizeOf(ctx context.Context, e *winnow.Engine, id string) int {
	v, _ := e.View(ctx, id)
	return v.Tokens
}

// mostRow keeps what stands at the right of a row near what stands at its left.
const mostRow = 110

// pick is a row of a list: what it is at the left, as much of it as there is room for, and what
// there is to say of it at the right.
func pick(chosen bool, left, side string, width int, s draw.Style) string {
	mark, look := "  ", draw.Look("")
	if chosen {
		mark, look = "› ", s.Accent
	}
	room := width - tui.Columns(mark) - tui.Columns(side) - 2
	if side == "" || room < 8 {
		return draw.Paint(look, tui.Cut(mark+left, width))
	}
	return draw.Paint(look, mark+draw.Fit(left, room)) + draw.Paint(s.Dim, "  "+side)
}

// right is a text at the right of a column.
func right(text string, width int) string {
	return strings.Repeat(" ", max(0, width-tui.Columns(text))) + text
}

// dim paints lines that matter less.
func dim(s draw.Style, width int, lines ...string) []string {
	for i, l := range lines {
		lines[i] = draw.Paint(s.Dim, tui.Cut(l, width))
	}
	return lines
}
