package chat

import (
	"context"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/report"
	"github.com/winnowhq/winnow/tui"
)

// contextPanel lists what takes the space in a window, and lets somebody leave parts out, pin them and have them back.
type contextPanel struct {
	list
	ctx    context.Context
	engine *winnow.Engine
	id     string
	style  style

	parts  []report.Part // of the window, what a model reads of it alone, in their order
	gauge  report.Gauge
	newest int // step
	loaded bool
	failed error

	rows  []contextRow
	order sorting
	group grouping
	open  map[string]bool // rows by key

	explained map[string]*explained // by part
	said      string                // what the last key did
	wrong     bool                  // it did not
	busy      bool
	reading   bool
	done      []deed // that can be taken back, the newest last
}

// deed is something that was done from the panel, with what takes it back.
type deed struct {
	what string
	back func(ctx context.Context) error
}

type sorting uint8

const (
	bySize sorting = iota
	byElided
	byAge
	sortings
)

func (s sorting) String() string {
	return [...]string{"largest first", "most left out first", "newest first"}[s]
}

type grouping uint8

const (
	eachPart grouping = iota
	byTarget
	byTool
	groupings
)

func (g grouping) String() string { return [...]string{"parts", "by target", "by tool"}[g] }

// contextRead is what a context panel waits for: the window as it is, and what was done to it.
type contextRead struct {
	of    *contextPanel
	parts []report.Part
	gauge report.Gauge
	err   error

	said string // "" where it was only read
	news bool   // it was read because the session changed: what was said stays
	did  *deed
	fail error // of what was to be done
}

// windowChanged tells an open panel that a session is another now: it looks again.
type windowChanged struct{ id string }

// newContextPanel lists what takes the space in a session.
func newContextPanel(ctx context.Context, e *winnow.Engine, id string, s style) (panel, tea.Cmd) {
	p := &contextPanel{ctx: ctx, engine: e, id: id, style: s, open: map[string]bool{}, explained: map[string]*explained{}, busy: true}
	return p, func() tea.Msg { return p.read(contextRead{}) }
}

func (p *contextPanel) Title() string { return "Context" }

func (p *contextPanel) Keys() string {
	if p.typing {
		return "type to filter · enter done · esc clear"
	}
	return "enter open · e elide · p pin · r restore · u undo · s sort · g group · / filter · esc"
}

// read looks at the session. It runs beside the program and touches nothing that is drawn.
func (p *contextPanel) read(r contextRead) contextRead {
	r.of = p
	if r.parts, r.err = winnow.Look(p.ctx, p.engine, p.id, report.Parts); r.err == nil {
		r.gauge, r.err = winnow.Look(p.ctx, p.engine, p.id, report.Measure)
	}
	return r
}

func (p *contextPanel) Update(msg tea.Msg) (panel, tea.Cmd) {
	switch msg := msg.(type) {
	case contextRead:
		if msg.of == p {
			p.take(msg)
		}
	case windowChanged:
		if msg.id == p.id && !p.busy && !p.reading {
			p.reading = true
			return p, func() tea.Msg { return p.read(contextRead{news: true}) }
		}
	case partExplained:
		if msg.of == p {
			p.explained[msg.part] = &explained{x: msg.x, err: msg.err}
		}
	case tea.PasteMsg:
		if p.paste(msg.Content) {
			p.arrange("")
		}
	case tea.KeyPressMsg:
		return p.press(msg)
	}
	return p, nil
}

func (p *contextPanel) take(r contextRead) {
	p.loaded, p.failed = true, r.err
	if r.news {
		p.reading = false
	} else {
		p.busy, p.said, p.wrong = false, r.said, false
	}
	if r.fail != nil {
		p.said, p.wrong = firstOf(explain(r.fail)), true
	}
	if r.did != nil {
		p.done = append(p.done, *r.did)
	}
	if r.err != nil {
		return
	}
	p.gauge, p.parts, p.newest = r.gauge, p.parts[:0], 0
	for i := range r.parts {
		x := &r.parts[i]
		p.newest = max(p.newest, x.Step)
		if x.Zone != report.Folded && (x.Tokens > 0 || x.Shown > 0) {
			p.parts = append(p.parts, *x)
		}
	}
	clear(p.explained) // it may be another now
	p.arrange(p.chosen())
}

// firstOf is a text of several lines as one.
func firstOf(text string) string { return strings.Join(strings.Fields(text), " ") }

// press does what a key is for.
func (p *contextPanel) press(k tea.KeyPressMsg) (panel, tea.Cmd) {
	taken, filtered := p.key(k)
	if filtered {
		p.arrange("")
	}
	if taken {
		return p, p.explain()
	}
	switch k.String() {
	case "esc", "q":
		return nil, nil
	case "enter", "space":
		if row := p.row(); row != nil && (row.part != nil || row.members != nil) {
			p.open[row.key] = !p.open[row.key]
			p.arrange(row.key)
		}
	case "s":
		p.order = (p.order + 1) % sortings
		p.arrange("")
	case "g":
		p.group = (p.group + 1) % groupings
		p.arrange("")
	case "e":
		return p, p.act(p.elide)
	case "r":
		return p, p.act(p.restore)
	case "p":
		return p, p.act(p.pin)
	case "u":
		return p, p.undo()
	}
	return p, p.explain()
}

// explain asks for the reasons of what is open and was not explained yet.
func (p *contextPanel) explain() tea.Cmd {
	row := p.row()
	if row == nil || row.part == nil || !p.open[row.key] || p.explained[row.part.Part] != nil {
		return nil
	}
	part := row.part.Part
	p.explained[part] = &explained{}
	return func() tea.Msg {
		x, err := winnow.Look(p.ctx, p.engine, p.id, report.Explain(part))
		return partExplained{p, part, x, err}
	}
}

// partExplained is the answer to it.
type partExplained struct {
	of   *contextPanel
	part string
	x    report.Explanation
	err  error
}

func (p *contextPanel) View(width, height int) []string {
	if !p.loaded {
		return shows([]string{paint(p.style.dim, tui.Cut("reading …", width))}, height)
	}
	if p.failed != nil {
		return shows(wrap("the window cannot be looked at: "+firstOf(oneLine(explain(p.failed))), width, ""), height)
	}
	lines := []string{paint(p.style.dim, tui.Cut(p.head(width), width))}
	foot := p.foot(width)
	room := height - len(lines) - len(foot)
	if room > 4 {
		lines, room = append(lines, paint(p.style.dim, p.columns(width))), room-1
	}
	lines = append(lines, p.view(len(p.rows), max(1, room), func(item int) int { return 1 + len(p.details(item, width)) }, func(item, line int) string {
		if line == 0 {
			return p.drawRow(item, width)
		}
		return p.details(item, width)[line-1]
	})...)
	return append(shows(lines, max(1, height-len(foot))), foot...)[:height]
}

// head says how full the window is and what is listed how.
func (p *contextPanel) head(width int) string {
	size := barSize(p.gauge)
	what := tui.Count(len(p.parts), "part")
	if p.group != eachPart {
		what += " " + p.group.String()
	}
	what += ", " + p.order.String()
	if p.gauge.Elided > 0 {
		what += " · " + grouped(p.gauge.Elided) + " left out"
	}
	for _, one := range size {
		if text := one + " · " + what; tui.Columns(text) <= width {
			return text
		}
	}
	return what
}

// foot is what the last key did, or the filter.
func (p *contextPanel) foot(width int) []string {
	if said := footOf(p.busy, p.said, p.wrong, width, p.style); said != nil {
		return said
	}
	if state := p.state(p.matched(), len(p.parts), width); state != "" {
		return []string{state}
	}
	return nil
}

// matched is how many parts pass the filter.
func (p *contextPanel) matched() (n int) {
	for i := range p.rows {
		if p.rows[i].part != nil && !p.rows[i].inside {
			n++
		}
		n += len(p.rows[i].members)
	}
	return n
}
