package winnow

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/winnowhq/winnow/pivot"
	"github.com/winnowhq/winnow/quantity"
	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/view"
)

// What a summary stands for is shown again by a message behind it, a quotation (pivot.Kept). It is a message like any other: stored, sent, counted, and written to
// files. Nothing before it changes, so that a provider's cache holds. What was undone takes it out of the window.

func isKept(m *session.Message) bool {
	_, kept := m.Kept()
	return kept
}

// kept is what the quotations of a window show.
type kept struct {
	window map[string]bool   // messages that it has, whole
	by     map[string]bool   // pins and receipts that have a quotation there
	parts  map[string]string // part → message that quotes it
	texts  map[string]bool   // of whole quotations
}

func keptIn(window []session.Message) kept {
	k := kept{window: make(map[string]bool, len(window)), by: map[string]bool{}, parts: map[string]string{}, texts: map[string]bool{}}
	for i := range window {
		m := &window[i]
		k.window[m.ID] = true
		for j := range m.Parts {
			n, ok := m.Parts[j].Note()
			if n.Replay != "" {
				k.window[n.Replay] = true
			}
			if !ok || n.Kept == "" || m.Role != session.User {
				continue
			}
			k.by[n.Kept], k.texts[m.Parts[j].Text] = true, true
			for _, part := range n.Quotes {
				k.parts[part] = m.ID
			}
		}
	}
	return k
}

// with is the session with a change, and the window that it has then.
func (l *live) with(c store.Change) (state store.State, log, window []session.Message) {
	state = after(l.state, c, l.state.Revision)
	log = append(append(make([]session.Message, 0, len(l.log)+len(c.Append)), l.log...), c.Append...)
	for _, m := range c.Update {
		if at := session.Index(log, m.ID); at >= 0 {
			log[at] = m
		}
	}
	return state, log, view.Window(log, state.Undone)
}

// unheld are the quotations that a session needs with a change, so that everything that is pinned, or was restored, is in the view. They go with the
// pivot of the marker named, which the change makes: before it they were not needed. "" for those with which each goes by itself.
func (l *live) unheld(id pivot.Identity, c store.Change, marker string) []session.Message {
	restores := func(r *pivot.Receipt) bool { return r.Kind == pivot.Restoring }
	if len(l.state.Pins)+len(c.Pin) == 0 && !slices.ContainsFunc(l.state.Receipts, func(r pivot.Receipt) bool { return restores(&r) }) {
		return nil
	}
	state, log, window := l.with(c)
	shown := keptIn(window)
	var missing []session.Message
	add := func(note session.Note, q pivot.Quotation) {
		if q.Text == "" || shown.texts[q.Text] {
			return
		}
		note.Pivot = cmp.Or(marker, note.Pivot)
		m := pivot.Kept(id, l.id, lastUser(log), note, q)
		shown.texts[q.Text] = true
		for _, part := range q.Parts {
			shown.parts[part] = m.ID
		}
		missing = append(missing, m)
	}
	for _, pin := range state.Pins {
		if !shown.by[pin.ID] {
			q, fold := quotePin(state, log, shown, pin)
			add(session.Note{Kept: pin.ID, Pin: true, Pivot: fold}, q)
		}
	}
	for i := range state.Receipts {
		if r := &state.Receipts[i]; restores(r) && !shown.by[r.ID] && Stands(state, r) {
			hidden := shown.hidden(log, r.Quoted)
			add(session.Note{Kept: r.ID, Pivot: oldestFold(log, state.Undone, hidden)}, pivot.QuoteRestored(log, hidden...))
		}
	}
	return missing
}

// hidden are those of some parts that are neither in the window nor quoted there.
func (k kept) hidden(log []session.Message, parts []string) (hidden []string) {
	for _, part := range parts {
		if m, _ := session.FindPart(log, part); m != nil && !k.window[m.ID] && k.parts[part] == "" {
			hidden = append(hidden, part)
		}
	}
	return hidden
}

// quotePin is what must be quoted for a pin, no text where all of it is shown, and the marker of the pivot with which that goes.
func quotePin(state store.State, log []session.Message, shown kept, pin rule.Pin) (q pivot.Quotation, marker string) {
	if pin.Text != "" {
		return pivot.QuotePin(log, pin, nil), ""
	}
	message := pin.Message
	if m, _ := session.FindPart(log, pin.Part); m != nil && pin.Part != "" {
		message = m.ID
	}
	at := session.Index(log, message)
	if at < 0 || shown.window[message] || log[at].IsUndone(state.Undone) {
		return pivot.Quotation{}, ""
	}
	q = pivot.QuotePin(log, pin, func(part string) bool { return shown.parts[part] != "" })
	return q, foldedBy(log, state.Undone, message)
}

// foldedBy is the marker of the pivot without which, and without the newer ones, a message would be in the window. "" where none hides it.
func foldedBy(log []session.Message, undone map[string]bool, message string) (marker string) {
	without := maps.Clone(undone)
	if without == nil {
		without = map[string]bool{}
	}
	for {
		window := view.Window(log, without)
		if view.Pivot(window) == nil || session.Index(window, message) >= 0 {
			return marker
		}
		marker = window[0].ID
		without[marker] = true
	}
}

// again says why a part that is not in the window cannot be shown again, nil when it can.
func (l *live) again(shown kept, m *session.Message, p *session.Part) *rule.Refusal {
	no := func(code Code, reason string) *rule.Refusal {
		return &rule.Refusal{Code: code, Part: p.ID, Reason: reason}
	}
	note, quotes := m.Kept()
	switch {
	case m.IsUndone(l.state.Undone):
		return no(Undone, "it came with something that was undone; redo that")
	case shown.parts[p.ID] != "":
		return no(Already, "it is shown again already, in message "+shown.parts[p.ID])
	case quotes && shown.by[note.Kept]:
		return no(Already, "what it quotes is shown behind the summary")
	case quotes:
		return no(BadInput, "it is a quotation; name the part that it quotes")
	case len(pivot.QuoteRestored(l.log, p.ID).Parts) > 0:
		return nil
	case p.Type == session.FilePart:
		return no(NotKept, "the log has its name, but no bytes of it that could be shown")
	}
	return no(NotKept, "there is nothing in it that a model reads")
}

// roomFor refuses what a change adds where the view would not fit.
func (e *Engine) roomFor(l *live, c store.Change) *rule.Refusal {
	usable := e.policy.Budget.Usable(l.model)
	if usable.Unlimited {
		return nil
	}
	state, _, window := l.with(c)
	size := l.tokens(window, state.Ledger) + l.overhead()
	if size <= usable.Threshold {
		return nil
	}
	return &rule.Refusal{Code: TooLarge, Tokens: size, Reason: fmt.Sprintf("with it the prompt would have %s tokens, and %s are usable", quantity.Number(size), quantity.Number(usable.Threshold))}
}

const tooLargeHint = "read pieces of it with the recall tool or winnow show, or make room first"

// refused is a refusal as an error.
func refusedTo(op, id, what string, r *rule.Refusal) error {
	err := &Error{Code: r.Code, Op: op, Session: id, Err: errors.New(what + ": " + r.Reason)}
	switch r.Code {
	case TooLarge:
		err.Hint = tooLargeHint
	case Undone:
		err.Hint = "winnow redo makes it count again"
	}
	return err
}

// restoring adds to a change what shows folded parts again, and the receipt of that and of the elisions that were taken back.
func (e *Engine) restoring(l *live, c store.Change, parts []string, replaced []rule.Elision) (store.Change, *pivot.Receipt) {
	id := e.identity()
	r := &pivot.Receipt{ID: e.ids.New("rcp", e.config.Now()), Kind: pivot.Restoring, Trigger: "restore", Replaced: replaced, Quoted: parts}
	if len(parts) > 0 {
		q := pivot.QuoteRestored(l.log, parts...)
		c.Append = append(c.Append, pivot.Kept(id, l.id, lastUser(l.log), session.Note{Kept: r.ID, Pivot: oldestFold(l.log, l.state.Undone, parts)}, q))
	}
	e.measured(l, c, r, id.Now)
	c.Receipt = r
	return c, r
}

// oldestFold is the pivot that hides the oldest of some parts.
func oldestFold(log []session.Message, undone map[string]bool, parts []string) string {
	oldest := len(log)
	for _, part := range parts {
		if m, _ := session.FindPart(log, part); m != nil {
			oldest = min(oldest, session.Index(log, m.ID))
		}
	}
	if oldest == len(log) {
		return ""
	}
	return foldedBy(log, undone, log[oldest].ID)
}

// measured fills a receipt in with what a change makes of the view.
func (e *Engine) measured(l *live, c store.Change, r *pivot.Receipt, now session.Millis) {
	state, _, window := l.with(c)
	r.SessionID, r.Time, r.Policy, r.Log = l.id, now, e.policy.Name, len(l.log)
	r.MessagesBefore, r.MessagesAfter = len(l.window()), len(window)
	r.TokensBefore, r.TokensAfter = l.look().Tokens(), l.tokens(window, state.Ledger)
	r.Saved = r.TokensBefore - r.TokensAfter
	if usable := e.policy.Budget.Usable(l.model); !usable.Unlimited {
		r.Usable = usable.Threshold
	}
	r.Undo = "winnow undo " + l.id + " " + r.ID
}

// samePin reports whether two pins keep the same.
func samePin(a, b rule.Pin) bool {
	return a.Part == b.Part && a.Message == b.Message && a.Text == b.Text
}

// keptTokens is what the quotations of a window take.
func (l *live) keptTokens(window []session.Message) (n int) {
	for i := range window {
		if isKept(&window[i]) {
			n += view.Message(&window[i], l.state.Ledger, l.facts)
		}
	}
	return n
}

// quotedTokens is what some parts take as one quotation.
func (e *Engine) quotedTokens(l *live, parts ...string) int {
	if len(parts) == 0 {
		return 0
	}
	m := pivot.Kept(e.identity(), l.id, nil, session.Note{}, pivot.QuoteRestored(l.log, parts...))
	return view.Message(&m, rule.Ledger{}, l.facts)
}

// foundKept is a receipt for a quotation that came with a session of which the receipts are not known.
func (e *Engine) foundKept(l *live, what string) *pivot.Receipt {
	for i := range l.log {
		n, kept := l.log[i].Kept()
		if !kept || n.Kept != what && l.log[i].ID != what {
			continue
		}
		r := &pivot.Receipt{ID: n.Kept, SessionID: l.id, Kind: pivot.Restoring, Time: l.log[i].Time.Created, Trigger: "imported", Quoted: n.Quotes}
		if n.Pin {
			r.Kind = pivot.Pinning
			if at := slices.IndexFunc(l.state.Pins, func(p rule.Pin) bool { return p.ID == n.Kept }); at >= 0 {
				r.Pinned = &l.state.Pins[at]
			}
		}
		r.Undo = "winnow undo " + l.id + " " + n.Kept
		return r
	}
	return nil
}

// moot reports whether taking back what a receipt is for, or making it count again, would change nothing: its quotation is not in the window, or what it quotes is there
// already.
func (l *live) moot(r *pivot.Receipt, redo bool) bool {
	switch {
	case r.Kind == pivot.Pinning && r.Pinned != nil:
		return redo && slices.ContainsFunc(l.state.Pins, func(p rule.Pin) bool { return samePin(p, *r.Pinned) })
	case r.Kind != pivot.Restoring && r.Kind != pivot.Pinning:
		return false
	}
	if redo && len(l.own(r.Replaced)) > 0 || !redo && slices.ContainsFunc(r.Replaced, func(el rule.Elision) bool { return !l.state.Ledger.Has(el.Key()) }) {
		return false
	}
	if len(r.Quoted) == 0 && r.Kind == pivot.Restoring {
		return true
	}
	shown := keptIn(l.window())
	if !redo {
		return !shown.by[r.ID]
	}
	return len(r.Quoted) > 0 && len(shown.hidden(l.log, r.Quoted)) == 0
}

// quotations are the quotations of a window, by the parts that they show.
func (l *live) quotations(window []session.Message) map[string]*Quoted {
	by := map[string]*Quoted{}
	for i := range window {
		n, kept := window[i].Kept()
		if !kept {
			continue
		}
		q := &Quoted{Message: window[i].ID, By: n.Kept, Pin: n.Pin, Time: window[i].Time.Created, Undo: "winnow undo " + l.id + " " + n.Kept}
		for _, r := range l.state.Receipts {
			if r.ID == n.Kept {
				q.Time = r.Time
			}
		}
		for _, p := range l.state.Pins {
			if p.ID == n.Kept {
				q.Time, q.Undo = p.Time, "winnow pin --remove "+l.id+" "+p.ID
			}
		}
		for _, part := range n.Quotes {
			by[part] = q
		}
	}
	return by
}
