package winnow

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/winnowhq/winnow/pivot"
	"github.com/winnowhq/winnow/policy"
	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/token"
)

// Engine keeps sessions: policy + store + summariser + events.
type Engine struct {
	config     Config
	policy     policy.Policy
	ids        session.IDs
	calibrated *token.Calibrated // nil when the counter is not to learn
	bus        bus

	mu           sync.Mutex
	live         map[string]*live
	preparations map[string]*preparation // by session
	folds        map[string]int          // compactions that are being made, by session
}

// Open makes an engine. The error names what in the configuration cannot be.
func Open(c Config) (*Engine, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	e := &Engine{config: c, policy: c.Settings.NewPolicy(), live: map[string]*live{}, preparations: map[string]*preparation{}, folds: map[string]int{}}
	e.policy.Stretch = c.Stretch
	e.ids.Random = c.Random
	if c.Settings.Counter == "auto" && !e.policy.Pivot.Letter {
		if e.calibrated = c.Calibrated; e.calibrated == nil {
			e.calibrated = token.NewCalibrated("auto", c.Counter)
		}
	}
	return e, nil
}

// Close ends the preparations, recording what they cost, and the subscriptions. The store is the caller's to close, after this.
func (e *Engine) Close() error {
	e.endPreparations()
	e.bus.close()
	return nil
}

// Store is where the engine keeps its sessions.
func (e *Engine) Store() store.Store { return e.config.Store }

// Create adds an empty session and returns its id; a missing id and missing times are filled in.
func (e *Engine) Create(ctx context.Context, info session.Info) (string, error) {
	info = e.complement(info)
	if err := e.config.Store.Create(ctx, info); err != nil {
		return "", e.failed("create", info.ID, err)
	}
	return info.ID, nil
}

// complement fills in what a new session must have.
func (e *Engine) complement(info session.Info) session.Info {
	now := e.config.Now()
	if info.ID == "" {
		info.ID = e.ids.New(session.SessionID, now)
	}
	if info.Time.Created == 0 {
		info.Time.Created, info.Time.Updated = millis(now), millis(now)
	}
	return info
}

// Import adds a whole session with what was decided about it before. source may be nil; with it the session can be
// exported to the product that it came from. spent is what was paid for beside the log: see Beside.
func (e *Engine) Import(ctx context.Context, s session.Session, ledger rule.Ledger, source *store.Source, spent ...store.Spend) error {
	s.Info = e.complement(s.Info)
	// One change, so that nobody ever sees half of it.
	_, err := e.config.Store.Apply(ctx, s.Info.ID, store.Change{Create: &s.Info, Append: s.Messages, Commit: ledger.All(), Source: source, Spend: spent})
	if err != nil {
		return e.failed("import", s.Info.ID, err)
	}
	return nil
}

// Session returns the log as it stands, and what was decided about it.
func (e *Engine) Session(ctx context.Context, id string) (session.Session, store.State, error) {
	l, err := e.lock(ctx, "read", id)
	if err != nil {
		return session.Session{}, store.State{}, err
	}
	defer l.mu.Unlock()
	return session.Session{Info: l.state.Info, Messages: slices.Clone(l.log)}, l.state, nil
}

// apply writes a change that was decided on the state at hand, and brings what is at hand up to date. ErrConflict is returned
// as it is, after the session was read again.
func (e *Engine) apply(ctx context.Context, l *live, op string, c store.Change) error {
	c.Base = l.state.Revision
	moves := len(c.Commit)+len(c.Restore)+len(c.Undo)+len(c.Redo) > 0
	var r rewrite
	if moves {
		r = l.rewrites(c)
	}
	revision, err := e.config.Store.Apply(ctx, l.id, c)
	if errors.Is(err, store.ErrConflict) {
		if err := e.load(ctx, l); err != nil {
			return e.failed(op, l.id, err)
		}
		return err
	}
	if err != nil {
		return e.failed(op, l.id, err)
	}
	l.state = after(l.state, c, revision)
	if moves {
		l.rewrote(c, r)
		l.view.Reset()
		l.taken = nil
	}
	l.log = append(l.log, c.Append...)
	for _, m := range c.Update {
		if at := session.Index(l.log, m.ID); at >= 0 {
			same := sameToModels(&l.log[at], &m)
			l.log[at] = m // nobody else has this slice, only the parts of the messages in it
			if same {
				continue // what was counted and rendered holds
			}
			l.updated(at)
			l.changed = min(l.changed, at)
			if len(l.log)-at > rule.Noticed && l.facts != nil {
				l.facts.Forget()
			}
		}
	}
	return nil
}

// after is the state once a change was applied.
func after(s store.State, c store.Change, revision int64) store.State {
	s.Revision = revision
	s.Messages += len(c.Append)
	if c.Info != nil {
		s.Info = *c.Info
	}
	s.Ledger = s.Ledger.Without(c.Restore...).With(c.Commit...)
	if len(c.Undo)+len(c.Redo) > 0 {
		undone := make(map[string]bool, len(s.Undone)+len(c.Undo))
		for id := range s.Undone {
			undone[id] = true
		}
		for _, id := range c.Undo {
			undone[id] = true
		}
		for _, id := range c.Redo {
			delete(undone, id)
		}
		s.Undone = undone
	}
	if len(c.Dismiss)+len(c.Undismiss) > 0 {
		dismissed := maps.Clone(s.Dismissed)
		if dismissed == nil {
			dismissed = make(map[string]bool, len(c.Dismiss))
		}
		for _, key := range c.Dismiss {
			dismissed[key] = true
		}
		for _, key := range c.Undismiss {
			delete(dismissed, key)
		}
		s.Dismissed = dismissed
	}
	if len(c.Pin)+len(c.Unpin) > 0 {
		gone := map[string]bool{}
		for _, id := range c.Unpin {
			gone[id] = true
		}
		var pins []rule.Pin
		for _, p := range s.Pins {
			if !gone[p.ID] {
				pins = append(pins, p)
			}
		}
		s.Pins = append(pins, c.Pin...)
	}
	s.Receipts = append(s.Receipts[:len(s.Receipts):len(s.Receipts)], c.Receipts...)
	if c.Receipt != nil {
		s.Receipts = append(s.Receipts, *c.Receipt)
	}
	s.Spent = append(s.Spent[:len(s.Spent):len(s.Spent)], c.Spend...)
	return s
}

// retries is how often a decision is made anew because somebody else changed the session meanwhile. With 8, an update lost against
// two processes that kept appending once in some thousand times.
const retries = 64

// busy is the error when that was not enough.
func busy(op, id string) error {
	return &Error{Code: Busy, Op: op, Session: id, Err: store.ErrConflict, Hint: "another process keeps writing to it; try again"}
}

// failed gives an error of the store or a context the form that callers know.
func (e *Engine) failed(op, id string, err error) error {
	var known *Error
	if errors.As(err, &known) {
		return err
	}
	failed := &Error{Code: StoreFailed, Op: op, Session: id, Err: err}
	switch {
	case errors.Is(err, store.ErrNotFound):
		failed.Code, failed.Hint = NotFound, "list the sessions to see the ids there are"
	case errors.Is(err, store.ErrExists):
		failed.Code, failed.Hint = Already, "a session with this id is in the store"
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		failed.Code, failed.Hint = Cancelled, "nothing was changed"
	}
	return failed
}

// identity gives pivots their ids and their time.
func (e *Engine) identity() pivot.Identity {
	now := e.config.Now()
	return pivot.Identity{NewID: func(prefix string) string { return e.ids.New(prefix, now) }, Now: millis(now)}
}

func millis(t time.Time) session.Millis { return session.Millis(t.UnixMilli()) }

func (e *Engine) event(id string, t EventType) Event {
	return Event{Type: t, SessionID: id, Time: millis(e.config.Now())}
}

func notFound(op, id, what string) error {
	return &Error{Code: NotFound, Op: op, Session: id, Err: fmt.Errorf("there is no %s", what), Hint: `"winnow explain SRC --all" lists the parts, "winnow show SRC" the receipts and markers`}
}

// sameToModels reports whether a user message differs from the one that it replaces in nothing but its outline, which no model is sent.
func sameToModels(before, after *session.Message) bool {
	if before.Role != session.User || after.Role != session.User || before.ID != after.ID {
		return false
	}
	a, b := before.MessageInfo, after.MessageInfo
	a.Summary, b.Summary = nil, nil
	return reflect.DeepEqual(a, b) && (len(before.Parts) == 0 && len(after.Parts) == 0 || reflect.DeepEqual(before.Parts, after.Parts))
}
