package winnow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/edit"
	"github.com/winnowhq/winnow/store/report"
)

// Edited is what became of the parts that an edit names: one commit for all targets that could be
// done.
type Edited struct {
	Targets []edit.Target `json:"targets"` // in the order in which they were named
	// Receipt is that of the commit; Undo with its id takes it back as a whole. nil when nothing
	// was done.
	Receipt *pivot.Receipt `json:"receipt,omitzero"`
	// Changed says that the view is another one now.
	Changed bool `json:"changed"`
	// Replaced are the elisions that were taken back.
	Replaced []rule.Elision `json:"-"`
	// Unbound counts the parts with reasoning that went because of that: see pivot.Receipt.
	Unbound int `json:"-"`
}

var errUnchanged = errors.New("nothing is to be written")

// Edit discards, distills or restores parts that are named by id, call id or handle: see
// edit.Request. A target that cannot be done says so in its result and holds up no other, unless
// all must be done; else the error is of the session or the store.
func (e *Engine) Edit(ctx context.Context, id string, r edit.Request) (Edited, error) {
	op := r.Op()
	if op == "" && len(r.Discard)+len(r.Distill)+len(r.Restore)+len(r.Fields) > 0 {
		return Edited{}, fail(BadInput, "edit", id, "discard, distill and restore one after another",
			"several things are asked for")
	}
	var done Edited
	var c store.Change
	err := e.change(ctx, op, id, func(l *live) (store.Change, error) {
		d := edit.Decide(e.session(l), r)
		if t := d.Failed; t != nil && r.All {
			if t.Code == NotFound {
				return store.Change{}, notFound(op, id, "part "+t.Target)
			}
			return store.Change{}, refusedTo(op, id, "part "+t.Target, &rule.Refusal{Code: t.Code, Reason: t.Reason})
		}
		done = Edited{Targets: d.Targets, Changed: d.Changes(), Replaced: d.Replaced}
		switch {
		case done.Changed:
		case len(r.Fields) > 0:
			return store.Change{}, refusedTo(op, id, "nothing is done",
				&rule.Refusal{Code: Already, Reason: "all of it is shown whole"})
		default:
			return store.Change{}, errUnchanged
		}
		c = store.Change{Restore: keysOf(d.Replaced)}
		switch {
		case len(r.Fields) > 0:
			at := d.Replaced[0].Time
			since := func(m *session.Message) bool { return m.Time.Created >= at }
			c, done.Unbound = l.rebound(c, strconv.FormatInt(int64(at), 10), since, millis(e.config.Now()))
		case op == edit.Restore:
			c, done.Receipt = e.restoring(l, c, d.Quote, d.Replaced)
		default:
			now := millis(e.config.Now())
			for i := range d.Commit {
				d.Commit[i].Time = now
			}
			done.Receipt = e.pruningReceipt(l, d.Commit, now, op, d.Replaced...)
			done.Receipt.Notes = d.Notes
			c.Commit, c.Receipt = d.Commit, done.Receipt
		}
		return c, nil
	}, func(l *live) {
		l.forgetReport()
		event := Event{Type: ElisionCommitted, Receipt: done.Receipt}
		if op == edit.Restore {
			event.Type, event.Elisions = ElisionUndone, c.Restore
		}
		e.emit(id, event)
	})
	if err == errUnchanged {
		err = nil
	}
	return done, err
}

// infoUndone is the session's info with what was undone now behind what was undone before, or
// without what counts again.
func (l *live) infoUndone(redo bool, ids ...string) *session.Info {
	info := l.state.Info
	info.Undone = slices.DeleteFunc(slices.Clone(info.Undone), func(id string) bool { return slices.Contains(ids, id) })
	if !redo {
		info.Undone = append(info.Undone, ids...)
	}
	return &info
}

// rebound adds to a change, which undoes what the id names or makes it count again, what becomes of
// reasoning that was made since and is bound to the prompt before it, and counts the parts that it
// leaves out. If the prompt stays as it is, nothing does.
func (l *live) rebound(c store.Change, id string, since func(*session.Message) bool, now session.Millis) (store.Change,
	int) {
	if !l.model.BoundReasoning {
		return c, 0
	}
	state, _, window := l.after(c)
	changed := map[string]bool{}
	for _, key := range slices.Concat(c.Restore, keysOf(c.Commit)) {
		changed[key.Part] = true
	}
	shown := slices.ContainsFunc(window, func(m session.Message) bool {
		return slices.ContainsFunc(m.Parts, func(p session.Part) bool { return changed[p.ID] })
	})
	same := func(a, b session.Message) bool { return a.ID == b.ID }
	if !shown && slices.EqualFunc(window, l.window(), same) {
		return c, 0
	}
	s := l.plannerState()
	s.Window, s.Ledger = window, state.Ledger
	back, commit := s.Turned(id, since)
	gone := 0
	for i := range commit {
		commit[i].Time = now
		if !state.Ledger.Has(commit[i].Key()) {
			gone++
		}
	}
	c.Restore, c.Commit = slices.Concat(c.Restore, back), slices.Concat(c.Commit, commit)
	return c, gone
}

// roomFor refuses what a change adds where the view would not fit because of it. A view that does
// not fit as it is will be folded: there what is quoted must fit, which stays then.
func (e *Engine) roomFor(l *live, c store.Change) *rule.Refusal {
	s := e.session(l)
	state, _, window := l.after(c)
	if edit.NoRoom(s, l.window(), l.state.Ledger) != nil {
		window = slices.DeleteFunc(slices.Clone(window), func(m session.Message) bool {
			_, quotes := m.Kept()
			return !quotes
		})
	}
	return edit.NoRoom(s, window, state.Ledger)
}

// restoring adds to a change what shows folded parts again, and the receipt of that and of the
// elisions that were taken back.
func (e *Engine) restoring(l *live, c store.Change, parts []string, replaced []rule.Elision) (store.Change,
	*pivot.Receipt) {
	id := e.identity()
	r := &pivot.Receipt{ID: e.ids.New("rcp", e.config.Now()), Kind: pivot.Restoring, Trigger: "restore",
		Replaced: replaced, Quoted: parts}
	if len(parts) > 0 {
		c.Append = append(c.Append, edit.Quotation(id, l.state, l.log, r.ID, parts))
	}
	e.measured(l, c, r, id.Now)
	c.Receipt = r
	return c, r
}

// measured fills a receipt in with what a change makes of the view.
func (e *Engine) measured(l *live, c store.Change, r *pivot.Receipt, now session.Millis) {
	state, _, window := l.after(c)
	r.SessionID, r.Time, r.Policy, r.Log = l.id, now, l.policy.Name, len(l.log)
	r.MessagesBefore, r.MessagesAfter = len(l.window()), len(window)
	r.TokensBefore, r.TokensAfter = l.look().Tokens(), l.tokens(window, state.Ledger)
	r.Saved = r.TokensBefore - r.TokensAfter
	if usable := l.policy.Budget.Usable(l.model); !usable.Unlimited {
		r.Usable = usable.Threshold
	}
	r.Undo = "winnow undo " + l.id + " " + r.ID
}

// Pin keeps a part, a whole message, or a text through every elision and every pivot, under every
// policy. The pin's id and time are filled in and returned. It takes effect at once: what of it is
// elided is shown again, and a text, or what a summary stands for, is quoted behind the summary.
// Where that changed the view there is a receipt, and Undo takes it back, as Unpin does.
//
// Already where the same is pinned, with that pin, unless an agent pinned it and a person does now;
// TooLarge where the view would not fit any more; NotKept, Undone where there is nothing to show.
func (e *Engine) Pin(ctx context.Context, id string, pin rule.Pin) (rule.Pin, error) {
	given := pin
	var receipt *pivot.Receipt
	err := e.change(ctx, "pin", id, func(l *live) (c store.Change, err error) {
		var replaced []rule.Elision
		if pin, replaced, err = l.pinned(id, given); err != nil {
			return c, err
		}
		for i := range l.state.Pins {
			if old := l.state.Pins[i]; samePin(old, pin) {
				if old.By != "" && pin.By == "" { // a person keeps what an agent kept
					pin.ID, pin.Time, receipt = old.ID, old.Time, nil
					c.Pin = []rule.Pin{pin}
					return c, nil
				}
				pin = old
				return c, fail(Already, "pin", id, "", "that is pinned already, as %s", pin.ID)
			}
		}
		now := e.config.Now()
		pin.ID, pin.Time = e.ids.New("pin", now), millis(now)
		c.Restore, c.Pin = keysOf(replaced), []rule.Pin{pin}
		c.Append = edit.Missing(e.current(l), e.identity(), c, "")
		if why := l.unshown(c, pin); why != nil {
			return c, refusedTo("pin", id, "it cannot be shown", why)
		}
		receipt = nil
		if len(c.Append) == 0 && len(replaced) == 0 {
			return c, nil // it is in the view as it is
		}
		if len(c.Append) > 0 {
			if why := e.roomFor(l, c); why != nil {
				return c, refusedTo("pin", id, "it is too large to be pinned", why)
			}
		}
		copied := pin
		receipt = &pivot.Receipt{ID: e.ids.New("rcp", now), Kind: pivot.Pinning, Trigger: "pin", Pinned: &copied,
			Replaced: replaced}
		e.measured(l, c, receipt, millis(now))
		c.Receipt = receipt
		return c, nil
	}, func(*live) {
		if receipt != nil {
			e.emit(id, Event{Type: ElisionUndone, Elisions: keysOf(receipt.Replaced), Receipt: receipt})
		}
	})
	return pin, err
}

// pinned is a pin as it is stored, and the elisions that it takes back.
func (l *live) pinned(id string, pin rule.Pin) (_ rule.Pin, replaced []rule.Elision, err error) {
	var kept []session.Part
	switch {
	case count(pin.Part != "", pin.Message != "", strings.TrimSpace(pin.Text) != "") != 1:
		return pin, nil, fail(BadInput, "pin", id, "give one of them", "a pin is a part, a message or a text")
	case pin.Part != "":
		_, p := l.find(pin.Part)
		if p == nil {
			return pin, nil, notFound("pin", id, "part "+pin.Part)
		}
		pin.Part, kept = p.ID, []session.Part{*p}
	case pin.Message != "":
		at := session.Index(l.log, pin.Message)
		if at < 0 {
			return pin, nil, notFound("pin", id, "message "+pin.Message)
		}
		kept = l.log[at].Parts
	}
	for i := range kept {
		replaced = append(replaced, l.state.Ledger.Of(kept[i].ID)...)
	}
	return pin, replaced, nil
}

// unshown says why a change would not bring a pin into the view, nil when it does.
func (l *live) unshown(c store.Change, pin rule.Pin) *rule.Refusal {
	if pin.Text != "" {
		return nil
	}
	_, log, window := l.after(c)
	shown := edit.QuotedIn(window)
	var why *rule.Refusal
	for _, part := range pivot.PinParts(log, pin) {
		m, p := session.FindPart(log, part)
		if shown.Window[m.ID] || shown.Parts[part] != "" {
			return nil
		}
		why = shown.Refuse(l.log, l.state.Undone, m, p)
	}
	return why
}

func count(all ...bool) (n int) {
	for _, yes := range all {
		if yes {
			n++
		}
	}
	return n
}

// Unpin forgets a pin, named by its id, by its part or message, or by its text, and with it what
// was quoted for it. NotFound names the pins that there are.
func (e *Engine) Unpin(ctx context.Context, id, pin string) error {
	return e.change(ctx, "unpin", id, func(l *live) (store.Change, error) {
		var c store.Change
		part := ""
		if _, p := l.find(pin); p != nil {
			part = p.ID
		}
		for _, p := range l.state.Pins {
			if p.ID == pin || p.Part != "" && (p.Part == pin || p.Part == part) ||
				p.Message != "" && p.Message == pin || p.Text != "" && p.Text == pin {
				c.Unpin = append(c.Unpin, p.ID)
			}
		}
		if c.Unpin == nil {
			return c, fail(NotFound, "unpin", id, pinsOf(l.state.Pins), "there is no pin %s", pin)
		}
		for i := range l.log {
			if n, kept := l.log[i].Kept(); kept && slices.Contains(c.Unpin, n.Kept) &&
				!slices.Contains(c.Undo, n.Kept) {
				c.Undo = append(c.Undo, n.Kept)
			}
		}
		var receipts []string
		for i := range l.state.Receipts {
			if r := &l.state.Receipts[i]; r.Pinned != nil && slices.Contains(c.Unpin, r.Pinned.ID) {
				receipts = append(receipts, r.ID)
			}
		}
		if len(receipts) > 0 {
			c.Info = l.infoUndone(false, receipts...)
		}
		c.Append = edit.Missing(e.current(l), e.identity(), c, "") // another pin may hold what this one quoted
		return c, nil
	}, nil)
}

// pinsOf says which pins there are, for an error.
func pinsOf(pins []rule.Pin) string {
	const most = 8
	if len(pins) == 0 {
		return "nothing is pinned in this session"
	}
	var names []string
	for _, p := range pins[:min(len(pins), most)] {
		switch {
		case p.Part != "":
			names = append(names, p.ID+" (part "+p.Part+")")
		case p.Message != "":
			names = append(names, p.ID+" (message "+p.Message+")")
		default:
			names = append(names, fmt.Sprintf("%s (%q)", p.ID, rule.Shorten(p.Text, 40)))
		}
	}
	text := "there are: " + strings.Join(names, ", ")
	if n := len(pins) - most; n > 0 {
		text += fmt.Sprintf(", and %d more", n)
	}
	return text
}

// samePin reports whether two pins keep the same.
func samePin(a, b rule.Pin) bool {
	return a.Part == b.Part && a.Message == b.Message && a.Text == b.Text
}

// after is the session with a change: its state, its log, and the window that it has then.
func (l *live) after(c store.Change) (state store.State, log, window []session.Message) {
	return (&report.Session{State: l.state, Log: l.log}).After(c)
}
