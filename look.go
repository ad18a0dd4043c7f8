package winnow

import (
	"context"
	"errors"

	"github.com/winnowhq/winnow/bill"
	"github.com/winnowhq/winnow/pivot"
	"github.com/winnowhq/winnow/report"
	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/view"
)

// Look reports on a session: see package report for what there is to look at, as in
//
//	r, err := winnow.Look(ctx, engine, id, report.Inspect)
//	x, err := winnow.Look(ctx, engine, id, report.Explain("k3f9a2"))
//
// Nothing is changed. The session is locked while it is looked at, so at must not use the engine.
func Look[T any](ctx context.Context, e *Engine, id string, at func(*report.Session) (T, error)) (T, error) {
	var nothing T
	var prefix *pivot.Prefix
	if e.config.Prefix != nil { // before the session is locked: it is the program's, and may ask the engine
		if begins, err := e.config.Prefix(ctx, id); err == nil {
			prefix = &pivot.Prefix{System: begins.System, Tools: begins.Tools}
		}
	}
	l, err := e.lock(ctx, "look", id)
	if err != nil {
		return nothing, err
	}
	defer l.mu.Unlock()
	s := e.session(l)
	s.Prefix = prefix
	found, err := at(s)
	var missing *report.Missing
	if errors.As(err, &missing) {
		return nothing, notFound(missing.Op, id, missing.What)
	}
	return found, err
}

// session is a session at hand as reports look at it.
func (e *Engine) session(l *live) *report.Session {
	l.handles.Name(l.log)
	s := &report.Session{
		State: l.state, Log: l.log, Model: l.model, Policy: e.policy, Facts: l.facts, Handles: &l.handles, View: l.look(),
		Prices: e.prices(l), Overhead: l.overhead(), Refold: func() *rule.Refusal { return e.refoldRefused(l) },
		Reported: l.reported, Estimated: l.estimated, Scale: &l.scale,
	}
	s.Planner, s.Next = e.starting(l)
	return s
}

// prices finds the models of requests.
func (e *Engine) prices(l *live) *bill.Prices {
	if l.prices == nil {
		l.prices = bill.NewPrices(e.config.Models.Lookup)
	}
	return l.prices
}

// find returns the part that a name stands for, and its message. Everything that takes a part finds it so.
func (l *live) find(name string) (*session.Message, *session.Part) {
	return report.Find(l.log, &l.handles, name)
}

// labels are what the view shows beside the log: nil unless strategies.handles is on.
func (e *Engine) labels(l *live) *view.Labels {
	if !e.config.Settings.Strategies.Handles {
		return nil
	}
	return &view.Labels{Handles: &l.handles, Minimum: rule.HandleMinimum, Guard: e.policy.Guard}
}

// tokens is the size of the view of a window.
func (l *live) tokens(window []session.Message, ledger rule.Ledger) int {
	return l.view.WindowTokens(window, ledger, l.facts)
}

// partTokens is the size of one part in the view; plainTokens is it without its label.
func (l *live) partTokens(p *session.Part, ledger rule.Ledger) int {
	return l.view.PartTokens(p, ledger, l.facts)
}

func (l *live) plainTokens(p *session.Part, ledger rule.Ledger) int {
	return view.Part(p, ledger, l.facts).Total()
}
