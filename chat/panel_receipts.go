package chat

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/pivot"
	"github.com/winnowhq/winnow/report"
	"github.com/winnowhq/winnow/tui"
)

// receiptPanel lists what prunings and compactions did, the newest first, and takes them back.
type receiptPanel struct {
	list
	ctx    context.Context
	engine *winnow.Engine
	id     string
	now    time.Time
	style  style

	all      []pivot.Receipt // newest first
	stands   []bool          // parallel: it counts now
	overhead int
	open     map[string]bool
	drawn    map[string][]string // of those that are open, for a width
	width    int
	err      error
	loaded   bool
	busy     bool
	said     string
	wrong    bool
}

// receiptsRead is what a receipt panel waits for.
type receiptsRead struct {
	of       *receiptPanel
	all      []pivot.Receipt
	stands   []bool
	overhead int
	err      error
	said     string
	fail     error
}

// newReceiptPanel lists the receipts of a session. The newest is open, or the one that is named.
func newReceiptPanel(ctx context.Context, e *winnow.Engine, id, open string, now time.Time, s style) (panel, tea.Cmd) {
	p := &receiptPanel{ctx: ctx, engine: e, id: id, now: now, style: s, open: map[string]bool{}, drawn: map[string][]string{}}
	if open != "" {
		p.open[open] = true
	}
	return p, func() tea.Msg { return p.read(receiptsRead{}) }
}

func (p *receiptPanel) Title() string { return "Receipts" }
func (p *receiptPanel) Keys() string {
	return "↑↓ move · enter open · u undo or redo · esc back"
}

// read looks at the session. It runs beside the program and touches nothing that is drawn.
func (p *receiptPanel) read(r receiptsRead) receiptsRead {
	r.of = p
	_, state, err := p.engine.Session(p.ctx, p.id)
	if r.err = err; err != nil {
		return r
	}
	for i := len(state.Receipts) - 1; i >= 0; i-- {
		x := state.Receipts[i]
		r.all, r.stands = append(r.all, x), append(r.stands, report.Stands(state, &x))
	}
	g, err := winnow.Look(p.ctx, p.engine, p.id, report.Measure)
	if r.err = err; g.Learned {
		r.overhead = g.System + g.Tools
	}
	return r
}

func (p *receiptPanel) Update(msg tea.Msg) (panel, tea.Cmd) {
	switch msg := msg.(type) {
	case receiptsRead:
		if msg.of == p {
			p.take(msg)
		}
	case tea.KeyPressMsg:
		name := msg.String()
		if name == "/" {
			return p, nil
		}
		if taken, _ := p.key(msg); taken {
			return p, nil
		}
		switch name {
		case "esc", "q":
			return nil, nil
		case "enter", "space":
			if p.at < len(p.all) {
				p.open[p.all[p.at].ID] = !p.open[p.all[p.at].ID]
			}
		case "u":
			return p, p.turn()
		}
	}
	return p, nil
}

func (p *receiptPanel) take(r receiptsRead) {
	first := !p.loaded
	p.busy, p.loaded, p.err = false, true, r.err
	p.said, p.wrong = r.said, r.fail != nil
	if r.fail != nil {
		p.said = firstOf(explain(r.fail))
	}
	if r.err != nil {
		return
	}
	p.all, p.stands, p.overhead = r.all, r.stands, r.overhead
	clear(p.drawn)
	if first && len(p.open) == 0 && len(p.all) > 0 {
		p.open[p.all[0].ID] = true
	}
	for i := range p.all {
		if first && p.open[p.all[i].ID] {
			p.at = i
		}
	}
}

// turn undoes the chosen one, or does it again.
func (p *receiptPanel) turn() tea.Cmd {
	if p.busy || p.at >= len(p.all) {
		return nil
	}
	p.busy = true
	r, stands := p.all[p.at], p.stands[p.at]
	return func() tea.Msg {
		size := func() int {
			v, _ := p.engine.View(p.ctx, p.id)
			return v.Tokens
		}
		before := size()
		var err error
		done := "undone"
		if stands {
			_, err = p.engine.Undo(p.ctx, p.id, r.ID)
		} else {
			done = "done again"
			_, err = p.engine.Redo(p.ctx, p.id, r.ID)
		}
		read := receiptsRead{fail: err}
		if err == nil {
			read.said = done + effect(size()-before) + " · u turns it back"
		}
		return p.read(read)
	}
}

func (p *receiptPanel) View(width, height int) []string {
	switch {
	case !p.loaded:
		return shows([]string{paint(p.style.dim, tui.Cut("reading …", width))}, height)
	case p.err != nil:
		return shows(wrap("the receipts cannot be read: "+firstOf(oneLine(explain(p.err))), width, ""), height)
	case len(p.all) == 0:
		return shows([]string{paint(p.style.dim, tui.Cut("nothing was pruned or folded yet", width))}, height)
	}
	if p.width != width {
		p.width = width
		clear(p.drawn)
	}
	foot := footOf(p.busy, p.said, p.wrong, width, p.style)
	lines := p.view(len(p.all), max(1, height-len(foot)), func(item int) int { return 1 + len(p.details(item)) }, func(item, line int) string {
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
	if why := because[r.Trigger]; why != "" && p.width >= 70 {
		what += ", " + why
	}
	if !p.stands[item] {
		what += " (undone)"
	}
	side := grouped(r.TokensBefore) + " → " + grouped(r.TokensAfter)
	if p.width >= 60 {
		side += "  " + right(ago(p.now.Sub(time.UnixMilli(int64(r.Time)))), 8)
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
		for _, l := range wrap(oneLine(undo), max(8, p.width-len(before)), "") {
			lines = append(lines, tui.Cut(before+l, p.width))
		}
		if r.Undo != "" {
			lines = append(lines, paint(p.style.dim, tui.Cut(before+"in a shell: "+oneLine(r.Undo), p.width)))
		}
		lines = append(lines, "")
		p.drawn[r.ID] = lines
	}
	return lines
}

// footOf is what the last key of a panel did, "…" while it is done.
func footOf(busy bool, said string, wrong bool, width int, s style) []string {
	switch {
	case busy:
		return []string{paint(s.dim, "…")}
	case said == "":
		return nil
	}
	look := s.good
	if wrong {
		look = s.bad
	}
	lines := wrap(oneLine(said), width, "")
	for i := range lines {
		lines[i] = paint(look, tui.Cut(lines[i], width))
	}
	return lines[:min(3, len(lines))]
}
