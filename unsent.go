package winnow

import (
	"context"

	"github.com/winnowhq/winnow/pivot"
	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

// refusedShare is to which part of a view that a provider refused it is brought where nothing can be folded: there is one attempt at it, for what was shortened
// once stays as it is.
const refusedShare = 0.5

// shorten adds to a change what makes the view fit that it leaves, where the newest results alone do not: they were never sent, so that they are shown in part
// and not folded.
func (f *folding) shorten(l *live, c store.Change, now session.Millis) store.Change {
	if !f.last || f.settings.SummaryAlone {
		return c
	}
	window, ledger := f.left(l, c)
	l.handles.Name(window)
	over := 0
	if f.usable > 0 {
		over = l.tokens(window, ledger) + f.unwritten + f.overhead - f.usable
	}
	if over <= 0 && !f.options.Rejected {
		return c
	}
	for _, el := range f.seen(l, window, ledger).Shorten(over, f.options.Rejected) {
		el.Time = now
		c.Commit = append(c.Commit, el)
	}
	return c
}

// left is the window that a change leaves, and its ledger.
func (f *folding) left(l *live, c store.Change) ([]session.Message, rule.Ledger) {
	state, _, window := l.with(c)
	return window, state.Ledger
}

// seen is a window as rules look at it.
func (f *folding) seen(l *live, window []session.Message, ledger rule.Ledger) rule.Window {
	return rule.Window{Messages: window, Ledger: ledger, Pins: l.state.Pins, Facts: l.facts, Guard: f.guard, Handles: &l.handles}
}

// shortenRefused is for a request that was refused as too long where folding does not help: what of it was never sent is shown in part, and what can be left out is. nil without an
// error where that is nothing, too, and where nothing was refused. What the attempts at a fold took is part of it.
func (e *Engine) shortenRefused(ctx context.Context, f *folding, trigger string) (*pivot.Receipt, error) {
	if !f.options.Rejected || f.settings.SummaryAlone {
		return nil, nil
	}
	l, err := e.lock(ctx, "compact", f.id)
	if err != nil {
		return nil, err
	}
	window, size := l.window(), l.look().Tokens()
	found := f.stamped(millis(e.config.Now()))
	ledger := l.state.Ledger.With(found...)
	left := l.tokens(window, ledger)
	over := left - int(refusedShare*float64(size))
	if f.usable > 0 {
		over = max(over, left+f.overhead-f.usable)
	}
	l.handles.Name(l.log)
	found = append(found, f.seen(l, window, ledger).Shorten(over, true)...)
	l.mu.Unlock()
	if len(found) == 0 {
		return nil, nil
	}
	return e.commit(ctx, f.id, found, trigger, f, "nothing was folded: there is too little but what was never sent, and what was too long of that is shown in part")
}
