package winnow

import (
	"context"

	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/view"
)

// PartReport explains one part of a log, as [Engine.Explain] does, and itemises its size.
type PartReport struct {
	Explanation
	// Whole is its size as the log has it; Rendered what of it the ledger leaves, also of a part before the window.
	Whole, Rendered rule.Size
}

// Parts explains every part of the log, in its order: what Explain says of each, found in one go. The member Text is left empty; the log has it.
func (e *Engine) Parts(ctx context.Context, id string) ([]PartReport, error) {
	l, err := e.lock(ctx, "explain", id)
	if err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	x := e.explainer(l)
	var all []PartReport
	for i := range l.log {
		for j := range l.log[i].Parts {
			m, p := &l.log[i], &l.log[i].Parts[j]
			all = append(all, PartReport{
				Explanation: x.explain(m, p, i), Whole: l.facts.Size(p), Rendered: view.Part(p, l.state.Ledger, l.facts),
			})
		}
	}
	return all, nil
}

// explainer holds what explaining any part of a session needs.
type explainer struct {
	engine     *Engine
	live       *live
	window     []session.Message
	inWindow   map[string]bool
	prunable   map[string]bool
	candidates map[string]rule.Elision
	refusals   map[string]rule.Refusal
	pins       rule.Window
	active     int // position of the first message that belongs to the last turns
}

func (e *Engine) explainer(l *live) explainer {
	x := explainer{
		engine: e, live: l, window: l.window(), inWindow: map[string]bool{}, prunable: map[string]bool{}, candidates: map[string]rule.Elision{},
		refusals: map[string]rule.Refusal{}, pins: rule.Window{Pins: l.state.Pins}, active: len(l.log),
	}
	found := e.policy.Find(l.plannerState())
	for _, el := range found.Elisions {
		x.prunable[el.Part], x.candidates[el.Part] = true, el
	}
	for _, r := range found.Refusals {
		if _, known := x.refusals[r.Part]; !known {
			x.refusals[r.Part] = r
		}
	}
	for i := range x.window {
		x.inWindow[x.window[i].ID] = true
	}
	if turns, active := session.Turns(l.log), e.activeTurns(); len(turns) > 0 && active > 0 {
		x.active = turns[max(0, len(turns)-active)].Start
	}
	return x
}

// explain explains the part of the message at a position of the log.
func (x explainer) explain(m *session.Message, p *session.Part, at int) Explanation {
	l := x.live
	out := Explanation{
		Part: p.ID, Message: m.ID, Type: string(p.Type), Tool: p.Tool, Target: l.facts.Target(p), Tokens: l.facts.Size(p).Total(),
		Elisions: append([]rule.Elision{}, l.state.Ledger.Of(p.ID)...), Pinned: x.pins.Pinned(p.ID, m.ID),
	}
	if el, ok := x.candidates[p.ID]; ok {
		out.Candidate = &el
	}
	out.Zone = zoneOf(l, m, p, x.inWindow[m.ID], x.prunable, at >= x.active)
	if out.Zone != Folded {
		out.Shown = l.partTokens(p, l.state.Ledger)
	}
	out.Because, out.Undo = x.because(out)
	return out
}
