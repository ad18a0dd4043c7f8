package winnow

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/plan/budget"
	"github.com/winnowhq/winnow/plan/policy"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/cache"
	"github.com/winnowhq/winnow/store/report"
)

// live is a session that the engine has at hand. Its fields are read and written with mu held.
type live struct {
	mu    sync.Mutex
	id    string
	state store.State
	log   []session.Message
	facts *rule.Facts
	model model.Model
	// policy is the engine's, or that of the agent whose session it is.
	policy *policy.Policy
	// handles name the parts of the log.
	handles rule.Handles

	// view is what the model sees, rendered as far as the log has come; changed is the first
	// position of the log that it does not have yet.
	view    view.Live
	changed int

	reported reported
	sent     sentTokens
	fixed    fixedTokens
	meter    meter // usage of the requests so far

	// scale is how many of the provider's tokens one of the estimate stood for at the newest
	// report; 0: unknown.
	scale    float64
	prices   *bill.Prices      // nil: not made yet
	restored map[rule.Key]bool // elisions that somebody took back; nil: to be found out
	warned   bool              // that the limits of the model had to be assumed

	turn   turn
	memory *cache.Entry // of the engine's pool
	origin string       // see store.Mark
	// waiting are messages and requests that are not stored yet, on the stored revision; nil for none.
	waiting  *store.Change
	stays    atomic.Bool // something waits
	released atomic.Bool // by the pool, meanwhile
}

// reported is the last report of the provider: what it counted, and how much the view was estimated
// to be then, in tokens; -1 if no report speaks of the view as it is. What was appended later is
// added to the report by estimate.
type reported struct {
	usage     session.Usage
	estimated int
}

// forgetReport notes that the view is another one, of which no report speaks.
func (l *live) forgetReport() { l.reported = reported{estimated: -1} }

// sentTokens tells whether the server cuts what it is sent.
type sentTokens struct {
	watch        budget.Watch // of what was sent since the view was last changed
	upTo, unsure int          // tokens that it says nothing about, and of how many messages
	warned       bool         // that the server cuts
}

// fixedTokens is what system prompt and tools take, 0 until a report told; and the messages from
// the beginning of the log on in which no report is, with what they take.
type fixedTokens struct{ tokens, upTo, before int }

// turn is what was tried since the user last wrote.
type turn struct {
	folds int // attempts in a row to fold that did not help
	// prepared: a summary was prepared for this turn and this pivot, or there is no use in it.
	// Another one would be paid in vain as this one was, or is waiting to be published.
	prepared bool
}

// lock returns the session with its lock held, read from the store when it is not at hand or was
// changed by others.
func (e *Engine) lock(ctx context.Context, op, id string) (*live, error) {
	return e.lockBy(ctx, op, id, e.refresh)
}

// lockBy is lock with another way to read the session.
func (e *Engine) lockBy(
	ctx context.Context, op, id string, refresh func(context.Context, *live) error,
) (*live, error) {
	e.mu.Lock()
	l, each := e.live[id], 0
	if l == nil {
		l = &live{id: id, policy: &e.policy, reported: reported{estimated: -1}, view: view.Live{Markers: e.policy.Markers()}}
		l.memory, each = e.cache.Add(func() { e.evict(l) }), e.each
		e.live[id] = l
	}
	e.mu.Unlock()
	l.memory.Grow(each) // another one may have to go
	l.mu.Lock()
	read := false
	defer func() {
		if !read {
			if l.waiting == nil {
				e.forget(id)
			}
			l.mu.Unlock()
		}
	}()
	if err := refresh(ctx, l); err != nil {
		return nil, e.failed(op, id, err)
	}
	read, l.policy = true, e.policyOf(l.state.Info)
	return l, nil
}

// resized notes that a session takes more bytes, or less.
func (e *Engine) resized(l *live, bytes int) {
	if e.each == 0 {
		l.memory.Grow(bytes)
	}
}

// evict lets go of a session for which the pool has no room, once nothing of it waits.
func (e *Engine) evict(l *live) {
	if l.released.Store(true); !l.stays.Load() {
		e.unload(l)
	}
}

// unload lets go of a session: it is read from the store again when it is wanted.
func (e *Engine) unload(l *live) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.live[l.id] == l {
		delete(e.live, l.id)
		l.memory.Drop()
	}
}

// unlock gives the lock of a session back, when deferred. If what held it panicked, the session is
// let go as well: what is at hand may be half of a change, and the next use reads it again.
func (e *Engine) unlock(l *live) {
	if p := recover(); p != nil {
		e.forget(l.id)
		l.mu.Unlock()
		panic(p)
	}
	l.mu.Unlock()
}

// locked does something with a session while its lock is held.
func (e *Engine) locked(ctx context.Context, op, id string, step func(*live)) error {
	l, err := e.lock(ctx, op, id)
	if err != nil {
		return err
	}
	defer e.unlock(l)
	step(l)
	return nil
}

// refresh reads a session when it is not at hand, or when another engine changed it. Within one
// request, a store.Reading, the store is asked that once.
func (e *Engine) refresh(ctx context.Context, l *live) error {
	if l.facts == nil {
		return e.load(ctx, l)
	}
	r := store.ReadingOf(ctx)
	if l.waiting == nil {
		revision, err := r.Revision(ctx, e.config.Store, l.id)
		if err == nil && revision != l.state.Revision {
			err = e.load(ctx, l)
		}
		return err
	}
	if r.Knows(l.id, l.state.Revision) {
		return nil
	}
	revision, err := e.config.Store.Revision(ctx, l.id)
	switch {
	case err != nil:
		return err
	case revision != l.waiting.Base:
		return e.load(ctx, l)
	}
	r.Waits(l.id, l.state.Revision)
	return nil
}

// ensureLoaded reads a session when it is not at hand. Who changes it learns then whether it is as
// it was.
func (e *Engine) ensureLoaded(ctx context.Context, l *live) error {
	if l.facts == nil {
		return e.load(ctx, l)
	}
	return ctx.Err()
}

func (e *Engine) forget(id string) {
	e.mu.Lock()
	l := e.live[id]
	e.mu.Unlock()
	if l != nil {
		e.unload(l)
	}
}

// load reads a session from the store, for the first time or again because somebody else changed
// it. What was counted stays known. After an error what is at hand is as it was, of an older
// revision, so that the next use reads again.
func (e *Engine) load(ctx context.Context, l *live) error {
	before := store.Copy{State: l.state, Log: l.log, Origin: l.origin}.Without(l.waiting)
	now, from, err := store.ReadingOf(ctx).Read(ctx, e.config.Store, l.id, before)
	if err != nil {
		return err
	}
	had := cache.Messages(l.log[min(from, len(l.log)):]...)
	e.replace(ctx, l, now.State, now.Log)
	l.origin = now.Origin
	e.resized(l, cache.Messages(l.log[from:]...)-had)
	l.handles.Recall = l.state.Info.Recall
	l.handles.Name(l.log)
	l.view.Labels = e.labels(l)
	if added, only := l.state.CommittedSince(before.State); from > 0 && only {
		l.state.Ledger = before.State.Ledger.With(added...) // the rules look only at the added elisions
		if l.changed = min(l.changed, from); len(added) > 0 {
			l.changed = min(l.changed, rule.FirstOf(l.log, added))
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

// calibrate learns from the reports in a log how many tokens the model makes of our estimates: from
// what the prompt grew by from one step to the next. Where a pivot or a pruning came in between it
// shrank, and teaches nothing.
func (e *Engine) calibrate(l *live) {
	if e.calibrated == nil {
		return
	}
	name := l.model.String()
	before, reported := -1, 0
	estimated := 0
	for i := range l.log {
		m := &l.log[i]
		if m.Role == session.Assistant && m.Tokens != nil && m.Tokens.Prompt() > 0 && !m.IsSummary() {
			if grown := m.Tokens.Prompt() - reported; before >= 0 && grown > 0 {
				e.calibrated.Observe(name, estimated-before, grown)
			}
			before, reported = estimated, m.Tokens.Prompt()
		}
		if m.Marker() != nil || m.IsSummary() {
			before = -1
			continue
		}
		estimated += view.Message(m, rule.Ledger{}, l.facts)
	}
	l.facts.Scale(e.calibrated.Factor(name))
}

// modelOf is the model that reads a session.
func (e *Engine) modelOf(info session.Info, log []session.Message) model.Model {
	return e.models.Lookup(e.modelName(info, log))
}

// modelName is what it is called: by the newest message that names one, else by the session, else
// by the engine's configuration.
func (e *Engine) modelName(info session.Info, log []session.Message) string {
	if e.config.ForceModel {
		return e.config.Model
	}
	return report.Reader(info, log, e.config.Model)
}

// prices finds the models of requests.
func (e *Engine) prices(l *live) *bill.Prices {
	if l.prices == nil {
		l.prices = bill.NewPrices(e.models.Lookup)
	}
	return l.prices
}

// find returns the part that a name stands for, and its message. Everything that takes a part finds
// it so.
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

// takenBack are the elisions that a receipt has and the ledger has not: somebody took them back.
func (l *live) takenBack() map[rule.Key]bool {
	if l.restored == nil {
		l.restored = map[rule.Key]bool{}
		for i := range l.state.Receipts {
			for _, el := range l.state.Receipts[i].Committed {
				if !l.state.Ledger.Has(el.Key()) {
					l.restored[el.Key()] = true
				}
			}
		}
	}
	return l.restored
}

// look brings the view up to date.
func (l *live) look() *view.Live {
	if l.view.Labels != nil {
		l.handles.Name(l.log)
	}
	l.view.Sync(l.log, l.state.Undone, l.state.Ledger, l.facts, l.changed)
	l.changed = len(l.log)
	return &l.view
}

func (l *live) window() []session.Message { return l.look().Window() }

// kept is when the provider's cache was kept last up to a time, 0 for never: by a request that repeats
// the newest one and leaves no message.
func (l *live) kept(until session.Millis) session.Millis {
	for i := len(l.state.Spent) - 1; i >= 0; i-- {
		if s := &l.state.Spent[i]; s.Live != nil && s.Live.Warm && s.Time <= until {
			return s.Time
		}
	}
	return 0
}
