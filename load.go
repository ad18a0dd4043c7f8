package winnow

import (
	"context"
	"maps"
	"reflect"
	"slices"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/cache"
	"github.com/winnowhq/winnow/store/report"
)

// load reads a session from the store, for the first time or again because somebody else changed
// it. What was counted stays known. After an error what is at hand is as it was, of an older
// revision, so that the next use reads again.
func (e *Engine) load(ctx context.Context, l *live) error {
	before := l.stored()
	now, from, err := store.ReadingOf(ctx).Read(ctx, e.config.Store, l.id, before)
	if err != nil {
		return err
	}
	had := cache.Messages(l.log[min(from, len(l.log)):]...)
	e.replace(ctx, l, now.State, now.Log)
	l.number = now.Number
	e.resized(l, cache.Messages(l.log[from:]...)-had)
	l.handles.Recall = l.state.Info.Recall
	l.handles.Name(l.log)
	l.view.Labels = e.labels(l)
	if added, only := l.committedSince(before.State); from > 0 && only {
		if l.changed = min(l.changed, from); len(added) > 0 {
			l.changed = min(l.changed, l.firstOf(added))
		}
	} else {
		l.view.Reset()
		l.changed = 0
	}
	l.restored = nil
	l.meter, l.scale, l.fixed = meter{}, 0, fixedTokens{tokens: l.fixed.tokens}
	l.model = e.modelOf(l.state.Info, l.log)
	if l.facts == nil {
		l.facts = rule.NewFacts(e.config.Counter)
		l.facts.Learn(l.log)
		e.calibrate(l)
	} else if from == 0 || len(l.log)-from > rule.Noticed {
		l.facts.Forget() // another writer may have replaced any message from there on
	}
	l.forgetReport()
	return nil
}

// stored is a session as it was read and written, without what waits; none if that cannot be told.
func (l *live) stored() store.Copy {
	c := store.Copy{State: l.state, Log: l.log, Number: l.number}
	if w := l.waiting; w != nil {
		if len(w.Update) > 0 {
			return store.Copy{}
		}
		c.Log = l.log[:len(l.log)-len(w.Append)]
		c.State.Revision, c.State.Messages = w.Base, len(c.Log)
	}
	return c
}

// committedSince are the elisions that were committed since a state, before the one at hand; only is
// false if something else may have changed the view.
func (l *live) committedSince(before store.State) (added []rule.Elision, only bool) {
	known, now := before.Ledger.All(), l.state.Ledger.All()
	same := func(a, b rule.Elision) bool { return reflect.DeepEqual(a, b) }
	if len(now) < len(known) || !slices.EqualFunc(known, now[:len(known)], same) ||
		!maps.Equal(before.Undone, l.state.Undone) {
		return nil, false
	}
	added = now[len(known):]
	l.state.Ledger = before.Ledger.With(added...) // which those who read the one before go on with
	return added, true
}

// replace takes a session as the store has it, and adds the waiting messages and requests: only the
// requests if somebody else has appended to the log.
func (e *Engine) replace(ctx context.Context, l *live, state store.State, log []session.Message) {
	waiting, stored := l.waiting, len(l.log)
	l.state, l.log = state, log
	if waiting == nil {
		return
	}
	c := waiting.Rebase(state.Revision, len(log) != stored-len(waiting.Append))
	if !c.Grows() {
		e.written(l)
		return
	}
	l.waiting = &c
	l.state, l.log, _ = (&report.Session{State: state, Log: log}).After(c)
	l.state.Revision = -e.waits.Add(1)
	store.ReadingOf(ctx).Waits(l.id, l.state.Revision)
}

// written notes that nothing of a session waits any more.
func (e *Engine) written(l *live) {
	l.waiting = nil
	if l.stays.Store(false); l.released.Load() {
		e.unload(l)
	}
}
