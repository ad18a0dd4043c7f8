package panel

import (
	"context"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/agent/chat/internal/draw"
	"github.com/winnowhq/winnow/look/tui"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/quantity"
)

// receiptPanel lists what prunings and compactions did, the newest first, and takes them back.
type receiptPanel struct {
	list
	ctx    context.Context
	engine *winnow.Engine
	id     string
	now    time.Time
	style  draw.Style

	all      []pivot.Receipt // newest first
	stands   []bool          // parallel: it counts now
	overhead int
	open     map[string]bool
	drawn    map[string][]string // of those that are open, for a width
	width    int
	err      error
	loaded   bool
	outcome
}

// NewReceipts lists the receipts of a session. The newest is open, or the one that is named.
func NewReceipts(ctx context.Context, e *winnow.Engine, id, open string, now time.Time, s draw.Style) (Panel, tea.Cmd) {
	p := &receiptPanel{ctx: ctx, engine: e, id: id, now: now, style: s, open: map[string]bool{},
		drawn: map[string][]string{}}
	if open != "" {
		p.open[open] = true
	}
	return p, func() tea.Msg { return p.read("", nil) }
}

func (p *receiptPanel) Title() string { return "Receipts" }
func (p *receiptPanel) Keys() string {
	return "↑↓ move · enter open · u undo or redo · esc back"
}

// read looks at the session, after something was done. It runs beside the program and touches
// nothing that is drawn.
func (p *receiptPanel) read(said string, failed error) panelRead {
	var all []pivot.Receipt
	var stands []bool
	overhead := 0
	_, state, err := p.engine.Session(p.ctx, p.id)
	for _, x := range slices.Backward(state.Receipts) {
		all, stands = append(all, x), append(stands, report.Stands(state, &x))
	}
	if err == nil {
		var g report.Gauge
		if g, err = winnow.Look(p.ctx, p.engine, p.id, report.Measure); g.Learned {
			overhead = g.System + g.Tools
		}
	}
	return panelRead{p, func() {
		p.tell(said, failed)
		first := !p.loaded
		if p.loaded, p.err = true, err; err != nil {
			return
		}
		p.all, p.stands, p.overhead = all, stands, overhead
		clear(p.drawn)
		if first && len(p.open) == 0 && len(all) > 0 {
			p.open[all[0].ID] = true
		}
		if first {
			p.at = max(0, slices.IndexFunc(all, func(r pivot.Receipt) bool { return p.open[r.ID] }))
		}
	}}
}

func (p *receiptPanel) Update(msg tea.Msg) (Panel, tea.Cmd) {
	k, ok := msg.(tea.KeyPressMsg)
	if !ok || k.String() == "/" {
		return p, nil
	}
	if taken, _ := p.key(k); taken {
		return p, nil
	}
	switch k.String() {
	case "esc", "q":
		return nil, nil
	case "enter", "space":
		if p.at < len(p.all) {
			p.open[p.all[p.at].ID] = !p.open[p.all[p.at].ID]
		}
	case "u":
		return p, p.turn()
	}
	return p, nil
}

// turn undoes the chosen one, or does it again.
func (p *receiptPanel) turn() tea.Cmd {
	if p.busy || p.at >= len(p.all) {
		return nil
	}
	p.busy = true
	r, stands := p.all[p.at], p.stands[p.at]
	return func() tea.Msg {
		before := sizeOf(p.ctx, p.engine, p.id)
		done, turn := "done again", p.engine.Redo
		if stands {
			done, turn = "undone", p.engine.Undo
		}
		_, err := turn(p.ctx, p.id, r.ID)
		return p.read(done+effect(sizeOf(p.ctx, p.engine, p.id)-before)+" · u turns it back", err)
	}
}

func (p *receiptPanel) View(width, height int) []string {
	switch {
	case !p.loaded:
		return shows(dim(p.style, width, "reading …"), height)
	case p.err != nil:
		return shows(draw.Wrap("the receipts cannot be read: "+draw.OneLine(draw.Explain(p.err)), width, ""), height)
	case len(p.all) == 0:
		return shows(dim(p.style, width, "nothing was pruned or folded yet"), height)
	}
	if p.width != width {
		p.width = width
		clear(p.drawn)
	}
	foot := p.foot(width, p.style)
	lines := p.view(len(p.all), max(1, height-len(foot)), func(item int) int { return 1 + len(p.details(item)) },
		func(item, line int) string {
			if line == 0 {
				return p.row(item)
			}
			return p.details(item)[line-1]
		})
	return shows(append(lines, foot...), height)
}

func (p *receiptPanel) row(item int) string {
	r := &p.all[item]
	what := tui.Did(r)
	if why := draw.Because[r.Trigger]; why != "" && p.width >= 70 {
		what += ", " + why
	}
	if !p.stands[item] {
		what += " (undone)"
	}
	side := quantity.Number(r.TokensBefore) + " → " + quantity.Number(r.TokensAfter)
	if p.width >= 60 {
		side += "  " + age(p.now, r.Time)
	}
	return pick(item == p.at, what, side, min(p.width, mostRow), p.style)
}

func (p *receiptPanel) details(item int) []string {
	r := &p.all[item]
	if !p.open[r.ID] {
		return nil
	}
	lines, known := p.drawn[r.ID]
	if !known {
		before := inset
		if p.width < 56 {
			before = "" // what is drawn needs all there is
		}
		lines = receiptText(*r, p.overhead, p.width, before)
		undo := "u undoes it here, /undo " + r.ID + " anywhere"
		if !p.stands[item] {
			undo = "it was undone: u does it again here, /redo " + r.ID + " anywhere"
		}
		for _, l := range draw.Wrap(draw.OneLine(undo), max(8, p.width-len(before)), "") {
			lines = append(lines, tui.Cut(before+l, p.width))
		}
		if r.Undo != "" {
			lines = append(lines, draw.Paint(p.style.Dim, tui.Cut(before+"in a shell: "+draw.OneLine(r.Undo), p.width)))
		}
		lines = append(lines, "")
		p.drawn[r.ID] = lines
	}
	return lines
}
