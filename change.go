package winnow

import (
	"context"
	"errors"
	"reflect"
	"slices"

	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/cache"
	"github.com/winnowhq/winnow/summarize/ask"
)

// Append adds messages at the end of the log. Missing ids and times are filled in, in the slice
// that was handed in, so that the caller knows them.
//
// Errors: Already (the log has a message with this id: then none of them is added), BadInput,
// NotFound, Busy.
func (e *Engine) Append(ctx context.Context, id string, messages ...session.Message) error {
	if len(messages) == 0 {
		return nil
	}
	return e.grow(ctx, "append", id, nil, nil, messages)
}

// Update replaces messages that have the same ids, parts included: an answer that was streamed, a
// call that ended. Nothing is lost by it that was final: the log of what was said only grows, and a
// program that updates says the same thing more completely.
func (e *Engine) Update(ctx context.Context, id string, messages ...session.Message) error {
	return e.grow(ctx, "update", id, nil, messages, nil)
}

// Extend is Update and Append in one transaction: an answer that was streamed as it came back, and
// what was said next. still, if it is not nil, reports whether the log is still as the caller takes
// it to be: it is asked of the log that is written to. If it is not, nothing is stored, and the
// error has the code Stale. still must not keep or change the log. With still and no message only
// the session's revision changes: others see that a request about it is under way.
func Extend(ctx context.Context, e *Engine, id string, still func(log []session.Message) bool,
	updated []session.Message, added ...session.Message) error {
	if still == nil && len(updated)+len(added) == 0 {
		return nil
	}
	return e.grow(ctx, "append", id, still, updated, added)
}

// grow updates and appends messages. Missing ids and times are filled in.
func (e *Engine) grow(ctx context.Context, op, id string, still func(log []session.Message) bool,
	updated, added []session.Message) error {
	given := map[string]bool{}
	for i := range added {
		if own := added[i].ID; given[own] {
			return fail(Already, "append", id, "", "message %s is there twice", own)
		} else if own != "" {
			given[own] = true
		}
	}
	if err := e.complete(id, updated); err != nil {
		return err
	}
	if err := e.complete(id, added); err != nil {
		return err
	}
	updated, added = ownParts(updated), ownParts(added)
	return e.change(ctx, op, id, func(l *live) (store.Change, error) {
		if still != nil && !still(l.log) {
			return store.Change{}, fail(Stale, op, id, "nothing was stored; read the session again",
				"somebody else has gone on with it")
		}
		for i := range l.log {
			if len(given) > 0 && given[l.log[i].ID] {
				return store.Change{}, fail(Already, "append", id, "nothing was stored; Update changes a message",
					"message %s is in the log already", l.log[i].ID)
			}
		}
		for i := range updated {
			if session.Index(l.log, updated[i].ID) < 0 {
				return store.Change{}, notFound("update", id, "message "+updated[i].ID)
			}
		}
		return store.Change{Append: added, Update: updated}, nil
	}, func(l *live) {
		for i := range updated {
			for j := range updated[i].Parts {
				e.emit(id, Event{Type: PartUpdated, Message: updated[i].ID, Part: updated[i].Parts[j].ID})
			}
		}
		if len(added) == 0 {
			return
		}
		for i := range added {
			l.appended(&added[i])
			e.emit(id, Event{Type: MessageAppended, Message: added[i].ID})
		}
		if ref := added[len(added)-1].Answers(); ref != nil && ref.String() != "" && !e.config.ForceModel {
			l.model = e.models.Lookup(ref.String())
		}
	})
}

// ownParts are messages with lists of parts that the caller does not have.
func ownParts(messages []session.Message) []session.Message {
	kept := slices.Clone(messages)
	for i := range kept {
		kept[i].Parts = slices.Clone(kept[i].Parts)
	}
	return kept
}

// complete fills in what a message must have, and refuses what no log can hold.
func (e *Engine) complete(id string, messages []session.Message) error {
	now := e.config.Now()
	for i := range messages {
		m := &messages[i]
		if m.Role != session.User && m.Role != session.Assistant {
			return fail(BadInput, "append", id, `use "user" or "assistant"`, "message %d has the role %q", i, m.Role)
		}
		if m.ID == "" {
			m.ID = e.ids.New(session.MessageID, now)
		}
		if m.SessionID != id {
			m.SessionID = id
		}
		if m.Time.Created == 0 {
			m.Time.Created = millis(now)
		}
		for j := range m.Parts {
			p := &m.Parts[j]
			if p.Type == session.ToolPart && p.State == nil {
				return fail(BadInput, "append", id, "a call begins with the status pending",
					"tool part %d of message %s has no state", j, m.ID)
			}
			if p.ID == "" {
				p.ID = e.ids.New(session.PartID, now)
			}
			// A message that was read from the log has them, and shares its parts with everybody
			// who reads them now.
			if p.SessionID != id || p.MessageID != m.ID {
				p.SessionID, p.MessageID = id, m.ID
			}
		}
	}
	return nil
}

// change makes a decision on the session as it is and writes it, again when somebody else was
// quicker. done runs with the lock held after it was written.
func (e *Engine) change(ctx context.Context, op, id string, decide func(*live) (store.Change, error),
	done func(*live)) error {
	// Whether the session is as it was is seen when the change is written, without asking first.
	look := e.ensureLoaded
	if r := store.ReadingOf(ctx); r != nil && r.Behind {
		look = e.refresh // waiting messages do not make the session stale
	}
	l, err := e.lockBy(ctx, op, id, look)
	if err != nil {
		return err
	}
	defer e.unlock(l)
	for range retries {
		c, err := decide(l)
		if err != nil {
			was := l.state.Revision
			if again := e.refresh(ctx, l); again != nil || l.state.Revision == was {
				return err
			}
			continue // it was decided on an older state
		}
		switch err := e.apply(ctx, l, op, c); {
		case err == nil:
			if done != nil {
				done(l)
			}
			return nil
		case !errors.Is(err, store.ErrConflict):
			return err
		}
	}
	return busy(op, id)
}

// appended gives a new turn its attempts.
func (l *live) appended(m *session.Message) {
	if m.Written() {
		l.turn = turn{}
	}
}

// apply writes a change that was decided on the state at hand, and brings what is at hand up to
// date. ErrConflict is returned as it is, after the session was read again.
func (e *Engine) apply(ctx context.Context, l *live, op string, c store.Change) error {
	c.Base = l.state.Revision
	moves := len(c.Commit)+len(c.Restore)+len(c.Undo)+len(c.Redo) > 0
	var r rewrite
	if moves {
		r = l.rewrites(c)
	}
	waited := l.waiting != nil
	revision, err := e.write(ctx, l, c)
	if errors.Is(err, store.ErrConflict) {
		if err := e.load(ctx, l); err != nil {
			return e.failed(op, l.id, err)
		}
		return err
	}
	if err != nil {
		if waited && CodeOf(err) != Stale {
			e.forget(l.id) // the next use reads the session without the waiting messages
		}
		return e.failed(op, l.id, err)
	}
	l.state = l.state.After(&c) // what was handed out keeps its length
	l.state.Revision = revision
	l.handles.Recall = l.state.Info.Recall
	if moves {
		l.rewrote(c, r)
		if len(c.Restore)+len(c.Undo)+len(c.Redo) > 0 {
			l.view.Reset()
		} else {
			l.changed = min(l.changed, rule.FirstOf(l.log, c.Commit))
		}
		l.restored = nil
	}
	l.log = append(l.log, c.Append...)
	grown := cache.Messages(c.Append...)
	defer func() { e.resized(l, grown) }()
	for _, m := range c.Update {
		if at := session.Index(l.log, m.ID); at >= 0 {
			grown += cache.Messages(m) - cache.Messages(l.log[at])
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

// write writes a change with those that wait, or lets it wait with them: see store.Reading.
func (e *Engine) write(ctx context.Context, l *live, c store.Change) (revision int64, err error) {
	r := store.ReadingOf(ctx)
	if r != nil && r.Behind && c.Grows() {
		if _, alone := r.Alone(l.id); !alone {
			return 0, fail(Stale, "append", l.id, "nothing was stored; read the session again", "somebody else has gone on with it")
		}
		if l.stays.Store(true); !l.released.Load() { // else the next use would not find it
			if l.waiting != nil {
				c = l.waiting.Then(c)
			}
			l.waiting, revision = &c, -e.waits.Add(1)
			r.Waits(l.id, revision)
			return revision, nil
		}
	}
	if l.waiting != nil && len(c.Vain) > 0 { // positions among those that are stored
		if c.Base, err = r.Apply(ctx, e.config.Store, l.id, *l.waiting); err != nil {
			return 0, err
		}
		e.written(l)
	}
	if l.waiting != nil {
		c = l.waiting.Then(c)
	}
	if revision, err = r.Apply(ctx, e.config.Store, l.id, c); err == nil {
		e.written(l)
	}
	return revision, err
}

// retries is how often a decision is made anew because somebody else changed the session meanwhile.
// With 8, an update lost against two processes that kept appending once in some thousand times.
const retries = 64

// sameToModels reports whether a user message differs from the one that it replaces in nothing but
// its outline, which no model is sent.
func sameToModels(before, after *session.Message) bool {
	if before.Role != session.User || after.Role != session.User || before.ID != after.ID {
		return false
	}
	a, b := before.MessageInfo, after.MessageInfo
	a.Summary, b.Summary = nil, nil
	return reflect.DeepEqual(a, b) && (len(before.Parts) == 0 && len(after.Parts) == 0 ||
		reflect.DeepEqual(before.Parts, after.Parts))
}

// commit writes elisions into the ledger, all with one time, and the receipt with them. tried is the
// record of a fold that was tried first and failed, nil for none: the receipt includes its cost.
func (e *Engine) commit(ctx context.Context, id string, found []rule.Elision, trigger string, tried *ask.Record,
	notes ...string) (*pivot.Receipt, error) {
	var receipt *pivot.Receipt
	err := e.change(ctx, "prune", id, func(l *live) (store.Change, error) {
		if err := alone(ctx, "prune", id); err != nil {
			return store.Change{}, err
		}
		now := millis(e.config.Now())
		var committed []rule.Elision
		parts := session.PartsByID(l.log)
		for _, el := range found {
			taken := l.state.Ledger.Has(el.Key()) && (el.Partial() || l.state.Ledger.Partial([]rule.Elision{el}) == nil)
			if parts[el.Part] == nil || taken {
				continue // the session was changed since: what is gone or done already is not ours
			}
			el.Time = now
			committed = append(committed, el)
		}
		replaced := l.state.Ledger.Partial(committed)
		receipt = e.pruningReceipt(l, committed, now, trigger, replaced...)
		c := store.Change{Commit: committed, Restore: keysOf(replaced), Receipt: receipt}
		receipt.Notes = notes
		if tried != nil {
			receipt.Notes = slices.Concat(tried.Notes, notes)
			receipt.Usage, receipt.Cost, c.Spend = tried.Usages, tried.Cost(), tried.Spent
			receipt.Money = e.current(l).Money(pivot.Change{Before: receipt.TokensBefore,
				After: receipt.TokensAfter, Rewritten: receipt.Rewritten}, tried.Spent)
		}
		return c, nil
	}, func(l *live) {
		l.forgetReport()
		e.emit(id, Event{Type: ElisionCommitted, Receipt: receipt})
		if tried != nil {
			e.emitSpent(id, tried.Spent)
		}
	})
	if err != nil {
		return nil, err
	}
	return receipt, nil
}

func (e *Engine) pruningReceipt(l *live, committed []rule.Elision, now session.Millis, trigger string,
	replaced ...rule.Elision) *pivot.Receipt {
	window := l.window()
	before := l.look().Tokens()
	after := l.tokens(window, l.state.Ledger.Without(keysOf(replaced)...).With(committed...))
	usable := l.policy.Budget.Usable(l.model)
	rewrites := l.rewrites(store.Change{Commit: committed, Restore: keysOf(replaced)})
	r := &pivot.Receipt{
		ID: e.ids.New("rcp", e.config.Now()), SessionID: l.id, Kind: pivot.Pruning, Time: now, Policy: l.policy.Name,
		Trigger:        trigger,
		MessagesBefore: len(window), MessagesAfter: len(window), TokensBefore: before, TokensAfter: after,
		Committed: committed, Replaced: replaced, Saved: before - after,
		Rewritten: rewrites.rewritten, Log: len(l.log),
	}
	s := e.current(l)
	r.Money = s.Money(pivot.Change{Before: before, After: after, Rewritten: rewrites.rewritten}, nil)
	r.Scale = s.Learned()
	if !usable.Unlimited {
		r.Usable = usable.Threshold
	}
	r.Undo = "winnow undo " + l.id + " " + r.ID
	return r
}

func keysOf(elisions []rule.Elision) []rule.Key {
	keys := make([]rule.Key, len(elisions))
	for i, el := range elisions {
		keys[i] = el.Key()
	}
	return keys
}
