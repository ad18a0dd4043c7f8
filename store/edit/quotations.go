package edit

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/quantity"
)

// Quotations are what the messages of a window quote that a summary stands for: parts that were
// restored, and what is pinned. A quotation (pivot.QuotationMessage) stands behind the summary and
// is a message like any other: stored, sent, counted and written to files. Nothing before it
// changes, so that a provider's cache holds. What is undone takes it out of the window.
type Quotations struct {
	Window map[string]bool   // messages of the window, which are shown whole
	By     map[string]bool   // pins and receipts of restores that have a quotation in it
	Parts  map[string]string // part → message that quotes it
	texts  map[string]bool   // of whole quotations
}

// QuotedIn returns the quotations of a window.
func QuotedIn(window []session.Message) Quotations {
	q := Quotations{
		Window: make(map[string]bool, len(window)), By: map[string]bool{}, Parts: map[string]string{},
		texts: map[string]bool{},
	}
	for i := range window {
		m := &window[i]
		q.Window[m.ID] = true
		for j := range m.Parts {
			n, ok := m.Parts[j].Note()
			if n.Replay != "" {
				q.Window[n.Replay] = true
			}
			if !ok || n.Kept == "" || m.Role != session.User {
				continue
			}
			q.By[n.Kept], q.texts[m.Parts[j].Text] = true, true
			for _, part := range n.Quotes {
				q.Parts[part] = m.ID
			}
		}
	}
	return q
}

// Hidden are those of some parts that are neither in the window nor quoted there.
func (q Quotations) Hidden(log []session.Message, parts []string) (hidden []string) {
	for _, part := range parts {
		if m, _ := session.FindPart(log, part); m != nil && !q.Window[m.ID] && q.Parts[part] == "" {
			hidden = append(hidden, part)
		}
	}
	return hidden
}

// Refuse says why a part that is not in the window cannot be quoted, nil when it can.
func (q Quotations) Refuse(log []session.Message, undone map[string]bool, m *session.Message,
	p *session.Part) *rule.Refusal {
	no := func(code rule.Code, reason string) *rule.Refusal {
		return &rule.Refusal{Code: code, Part: p.ID, Reason: reason}
	}
	note, quotes := m.Kept()
	switch {
	case m.IsUndone(undone):
		return no(rule.Undone, "it came with something that was undone; redo that")
	case q.Parts[p.ID] != "":
		return no(rule.Already, "it is shown again already, in message "+q.Parts[p.ID])
	case quotes && q.By[note.Kept]:
		return no(rule.Already, "what it quotes is shown behind the summary")
	case quotes:
		return no(rule.BadInput, "it is a quotation; name the part that it quotes")
	case len(pivot.QuoteRestored(log, p.ID).Parts) > 0:
		return nil
	case p.Type == session.FilePart:
		return no(rule.NotKept, "the log has its name, but no bytes of it that could be shown")
	}
	return no(rule.NotKept, "there is nothing in it that a model reads")
}

// Missing are the quotations that a session needs with a change, so that everything that is pinned,
// or was restored, is in the view. If the change makes a pivot because of which they are needed,
// marker names it, and they go with it; "" if each goes by itself.
func Missing(s *report.Session, id pivot.Identity, c store.Change, marker string) (needed []session.Message) {
	restored := slices.ContainsFunc(s.State.Receipts, func(r pivot.Receipt) bool { return r.Kind == pivot.Restoring })
	if len(s.State.Pins)+len(c.Pin) == 0 && !restored {
		return nil
	}
	state, log, window := s.After(c)
	shown := QuotedIn(window)
	add := func(note session.Note, q pivot.Quotation) {
		if q.Text == "" || shown.texts[q.Text] {
			return
		}
		note.Pivot = cmp.Or(marker, note.Pivot)
		m := pivot.QuotationMessage(id, state.Info.ID, LastUser(log), note, q)
		shown.texts[q.Text] = true
		for _, part := range q.Parts {
			shown.Parts[part] = m.ID
		}
		needed = append(needed, m)
	}
	for _, pin := range state.Pins {
		if !shown.By[pin.ID] {
			q, fold := quotePin(state, log, shown, pin)
			add(session.Note{Kept: pin.ID, Pin: true, Pivot: fold}, q)
		}
	}
	for i := range state.Receipts {
		if r := &state.Receipts[i]; r.Kind == pivot.Restoring && !shown.By[r.ID] && report.Stands(state, r) {
			hidden := shown.Hidden(log, r.Quoted)
			add(session.Note{Kept: r.ID, Pivot: oldestFold(log, state.Undone, hidden)},
				pivot.QuoteRestored(log, hidden...))
		}
	}
	return needed
}

// Quotation is the message that quotes restored parts. It goes with the receipt of the restore.
func Quotation(id pivot.Identity, state store.State, log []session.Message, receipt string,
	parts []string) session.Message {
	note := session.Note{Kept: receipt, Pivot: oldestFold(log, state.Undone, parts)}
	return pivot.QuotationMessage(id, state.Info.ID, LastUser(log), note, pivot.QuoteRestored(log, parts...))
}

// LastUser is the newest message that the user wrote, nil without one.
func LastUser(log []session.Message) *session.Message {
	if at := session.LastUser(log); at >= 0 {
		return &log[at]
	}
	return nil
}

// quotePin is what must be quoted for a pin, with no text when all of it is shown, and the marker
// of the pivot with which the quotation goes.
func quotePin(state store.State, log []session.Message, shown Quotations, pin rule.Pin) (q pivot.Quotation,
	marker string) {
	if pin.Text != "" {
		return pivot.QuotePin(log, pin, nil), ""
	}
	message := pin.Message
	if m, _ := session.FindPart(log, pin.Part); m != nil && pin.Part != "" {
		message = m.ID
	}
	at := session.Index(log, message)
	if at < 0 || shown.Window[message] || log[at].IsUndone(state.Undone) {
		return pivot.Quotation{}, ""
	}
	q = pivot.QuotePin(log, pin, func(part string) bool { return shown.Parts[part] != "" })
	return q, foldedBy(log, state.Undone, message)
}

// foldedBy is the marker of the pivot without which, and without the newer ones, a message would be
// in the window. It is "" when no pivot hides the message.
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

// NoRoom refuses a window that would not fit, nil for one that does.
func NoRoom(s *report.Session, window []session.Message, ledger rule.Ledger) *rule.Refusal {
	usable := s.Policy.Budget.Usable(s.Model)
	if usable.Unlimited {
		return nil
	}
	size := s.View.WindowTokens(window, ledger, s.Facts) + s.Overhead
	if size <= usable.Threshold {
		return nil
	}
	return &rule.Refusal{Code: rule.TooLarge, Tokens: size, Reason: fmt.Sprintf(
		"with it the prompt would have %s tokens, and %s are usable", quantity.Number(size),
		quantity.Number(usable.Threshold))}
}
