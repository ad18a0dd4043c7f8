package panel

import (
	"cmp"
	"context"
	"maps"
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/agent/chat/internal/draw"
	"github.com/winnowhq/winnow/look/tui"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/quantity"
)

// contextPanel lists what takes the space in a window, and lets somebody leave parts out, pin them
// and have them back.
type contextPanel struct {
	list
	ctx    context.Context
	engine *winnow.Engine
	id     string
	style  draw.Style

	words  map[string]string // with which texts begin, by part
	parts  []report.Part     // of the window, what a model reads of it alone, in their order
	gauge  report.Gauge
	newest int // step
	loaded bool
	failed error

	rows  []contextRow
	order sorting
	group grouping
	open  map[string]bool // rows by key

	explained map[string]*explained // by part
	outcome
	reading bool
	done    []deed // that can be taken back, the newest last
	asked   string // the key and the message whose discard was told of last
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

// NewContext lists what takes the space in a session.
func NewContext(ctx context.Context, e *winnow.Engine, id string, s draw.Style) (Panel, tea.Cmd) {
	p := &contextPanel{ctx: ctx, engine: e, id: id, style: s, open: map[string]bool{},
		explained: map[string]*explained{}}
	p.busy = true
	return p, func() tea.Msg { return p.read(nil, func() { p.busy = false }) }
}

func (p *contextPanel) Title() string { return "Context" }

func (p *contextPanel) Keys() string {
	if p.typing {
		return filterKeys
	}
	return "enter open · e leave out, m its message, t its turn · p pin · r restore · u undo · s sort · g group · " +
		"/ filter · esc"
}

// read looks at the session, and then says what was done before. It runs beside the program and
// touches nothing that is drawn. The named parts are explained again.
func (p *contextPanel) read(again []string, then func()) panelRead {
	var g report.Gauge
	all, err := winnow.Look(p.ctx, p.engine, p.id, report.Parts)
	if err == nil {
		g, err = winnow.Look(p.ctx, p.engine, p.id, report.Measure)
	}
	words := map[string]string{}
	if err == nil {
		words, err = winnow.Look(p.ctx, p.engine, p.id, firstWords)
	}
	fresh := map[string]*explained{}
	for _, part := range again {
		x, err := winnow.Look(p.ctx, p.engine, p.id, report.Explain(part))
		fresh[part] = &explained{x: x, err: err}
	}
	return panelRead{p, func() {
		p.loaded, p.failed = true, err
		if then(); err != nil {
			return
		}
		p.words = words
		p.gauge, p.parts, p.newest = g, p.parts[:0], 0
		for _, x := range all {
			p.newest = max(p.newest, x.Step)
			if x.Zone != report.Folded && (x.Tokens > 0 || x.Shown > 0) {
				p.parts = append(p.parts, x)
			}
		}
		for part, x := range p.explained {
			if fresh[part] == nil {
				fresh[part] = x // it was opened meanwhile
			}
		}
		p.explained = fresh
		p.arrange(p.chosen())
	}}
}

func (p *contextPanel) Update(msg tea.Msg) (Panel, tea.Cmd) {
	switch msg := msg.(type) {
	case WindowChanged:
		if msg.ID == p.id && !p.busy && !p.reading {
			p.reading = true
			again := p.shown()
			return p, func() tea.Msg { return p.read(again, func() { p.reading = false }) }
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

// press does what a key is for.
func (p *contextPanel) press(k tea.KeyPressMsg) (Panel, tea.Cmd) {
	asked := p.asked
	p.asked = ""
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
	case "m", "t":
		return p, p.discard(k.String(), asked)
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
		return panelRead{p, func() { p.explained[part] = &explained{x: x, err: err} }}
	}
}

// shown are the parts that are explained.
func (p *contextPanel) shown() []string { return slices.Collect(maps.Keys(p.explained)) }

func (p *contextPanel) View(width, height int) []string {
	if !p.loaded {
		return shows(dim(p.style, width, "reading …"), height)
	}
	if p.failed != nil {
		return shows(draw.Wrap("the window cannot be looked at: "+draw.OneLine(draw.Explain(p.failed)), width, ""),
			height)
	}
	lines := dim(p.style, width, p.head(width))
	foot := p.foot(width)
	room := height - len(lines) - len(foot)
	if room > 4 {
		lines, room = append(lines, draw.Paint(p.style.Dim, p.columns(width))), room-1
	}
	lines = append(lines, p.view(len(p.rows), max(1, room),
		func(item int) int { return 1 + len(p.details(item, width)) }, func(item, line int) string {
			if line == 0 {
				return p.drawRow(item, width)
			}
			return p.details(item, width)[line-1]
		})...)
	return append(shows(lines, max(1, height-len(foot))), foot...)[:height]
}

// head says how full the window is and what is listed how.
func (p *contextPanel) head(width int) string {
	size := draw.BarSize(p.gauge)
	what := quantity.Count(len(p.parts), "part")
	if p.group != eachPart {
		what += " " + p.group.String()
	}
	what += ", " + p.order.String()
	if p.gauge.Elided > 0 {
		what += " · " + quantity.Number(p.gauge.Elided) + " left out"
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
	if said := p.outcome.foot(width, p.style); said != nil {
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

// contextRow is a part, a group of parts, or what every request begins with.
type contextRow struct {
	key     string
	name    string
	part    *report.Part // nil for a group and for the prefix
	members []*report.Part
	inside  bool // it stands under its group
	tokens  int  // as the model sees it
	elided  int
	step    int // of the newest of it
}

func (p *contextPanel) rowOf(x *report.Part, inside bool) contextRow {
	row := contextRow{key: "part:" + x.Part, name: p.partName(x), part: x, inside: inside, tokens: x.Shown,
		step: x.Step}
	if len(x.Elisions) > 0 {
		row.elided = max(0, x.Tokens-x.Shown)
	}
	return row
}

func (p *contextPanel) row() *contextRow {
	if p.at < len(p.rows) {
		return &p.rows[p.at]
	}
	return nil
}

func (p *contextPanel) chosen() string {
	if row := p.row(); row != nil {
		return row.key
	}
	return ""
}

// arrange makes the rows anew, and stays on the one with a key where it is still there.
func (p *contextPanel) arrange(stay string) {
	var rows []contextRow
	if p.filter == "" && p.group == eachPart {
		system := "system prompt"
		if !p.gauge.Split {
			system = "system prompt and tools"
		}
		for _, b := range []contextRow{{name: system, tokens: p.gauge.System}, {name: "tools", tokens: p.gauge.Tools}} {
			if b.tokens > 0 {
				rows = append(rows, contextRow{key: "begins:" + b.name, name: b.name, tokens: b.tokens, step: -1})
			}
		}
	}
	groups := map[string]int{}
	for i := range p.parts {
		x := &p.parts[i]
		if !p.matches(x.Handle, x.Part, x.Type, p.partName(x), p.stateOf(x), string(x.Zone)) {
			continue
		}
		one := p.rowOf(x, false)
		if p.group == eachPart {
			rows = append(rows, one)
			continue
		}
		name := groupName(x, p.group)
		at, known := groups[name]
		if !known {
			at = len(rows)
			groups[name] = at
			rows = append(rows, contextRow{key: "group:" + name, name: name})
		}
		g := &rows[at]
		g.members, g.tokens, g.elided, g.step = append(g.members, x), g.tokens+one.tokens, g.elided+one.elided,
			max(g.step, one.step)
	}
	slices.SortStableFunc(rows, p.compare)
	if p.group != eachPart {
		rows = p.unfold(rows)
	}
	p.rows = rows
	if at := slices.IndexFunc(rows, func(r contextRow) bool { return stay != "" && r.key == stay }); at >= 0 {
		p.at = at
	} else if stay == "" {
		p.at, p.top = 0, 0
	}
	p.at = max(0, min(p.at, len(rows)-1))
}

func (p *contextPanel) compare(a, b contextRow) int {
	switch p.order {
	case byElided:
		return cmp.Or(cmp.Compare(b.elided, a.elided), cmp.Compare(b.tokens, a.tokens))
	case byAge:
		return cmp.Compare(b.step, a.step)
	}
	return cmp.Compare(b.tokens, a.tokens)
}

// unfold puts the parts of open groups under them.
func (p *contextPanel) unfold(groups []contextRow) []contextRow {
	var rows []contextRow
	for _, g := range groups {
		rows = append(rows, g)
		if !p.open[g.key] {
			continue
		}
		var inside []contextRow
		for _, x := range g.members {
			inside = append(inside, p.rowOf(x, true))
		}
		slices.SortStableFunc(inside, p.compare)
		rows = append(rows, inside...)
	}
	return rows
}
