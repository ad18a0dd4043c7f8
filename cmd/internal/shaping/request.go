package shaping

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/cmd/internal/importing"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/quantity"
)

// margin is how much longer than a cache's lifetime a session must have rested to be cold: as for
// the gateway, whose reasons are at transport.Margin.
const margin = time.Minute

// begins lets the engine decide about a request that is about to be sent.
func (s *Shaper) begins(ctx context.Context, id string) (winnow.Outcome, error) {
	held, err := winnow.Look(ctx, s.Engine, id, func(r *report.Session) (bool, error) {
		return s.isHeld(r.Model, r.Log), nil
	})
	if err != nil {
		return winnow.Outcome{}, err
	}
	return s.Engine.Begin(ctx, id, winnow.BeginOptions{Held: held})
}

// isHeld reports whether nothing that was sent may change: nobody knows whether the model binds its
// reasoning, or whether the provider's cache still has the conversation.
func (s *Shaper) isHeld(m model.Model, log []session.Message) bool {
	if m.BindingUnknown && reasons(log) {
		return true
	}
	at, lifetime, sure := lastStep(log), m.CacheLifetime(), time.Duration(0)
	if at < 0 || lifetime <= 0 {
		return false
	}
	sure = lifetime
	for i := range log {
		if u := log[i].Tokens; u != nil && u.Cache.Write1h > 0 {
			sure = max(sure, time.Hour)
		}
	}
	ended := max(log[at].Time.Completed, log[at].Time.Created)
	idle := s.Now().Sub(time.UnixMilli(int64(ended)))
	return idle > lifetime && idle <= sure+margin
}

// reasons reports whether a log has reasoning that goes back to the model.
func reasons(log []session.Message) bool {
	for i := range log {
		for j := range log[i].Parts {
			p := &log[i].Parts[j]
			if p.Type == session.ReasoningPart || strings.Contains(string(p.Metadata), "ignature") {
				return true
			}
		}
	}
	return false
}

// shown is what a request is to show of the session that an agent has.
func (s *Shaper) shown(ctx context.Context, id string, theirs []session.Message) (*Answer, error) {
	had, state, err := s.Engine.Session(ctx, id)
	if err != nil {
		return nil, err
	}
	window := view.Window(had.Messages, state.Undone)
	a := &Answer{Session: id, Edits: edits(window, state.Ledger), Added: []Added{}}
	known := make(map[string]bool, len(theirs))
	for i := range theirs {
		known[theirs[i].ID] = true
	}
	last := ""
	for _, m := range view.Render(window, state.Ledger) {
		switch {
		case m.Marker() != nil || m.IsSummary():
		case known[m.ID]:
			last = m.ID
		default:
			a.Added = append(a.Added, Added{After: last, Text: importing.SummaryText(&m)})
		}
	}
	a.Window = otherWindow(had.Messages, state, theirs)
	return a, nil
}

// edits are what a ledger makes of the parts of a window.
func edits(window []session.Message, ledger rule.Ledger) []Edit {
	found := []Edit{}
	for i := range window {
		m := &window[i]
		if m.Marker() != nil || m.IsSummary() {
			continue
		}
		for j := range m.Parts {
			if !ledger.Touches(m.Parts[j].ID) {
				continue
			}
			was := &m.Parts[j]
			e := Edit{Message: m.ID, Part: was.ID, Index: j, Call: was.CallID}
			is, stays := *was, true
			for _, elided := range ledger.Of(was.ID) {
				if is, stays = view.Apply(is, elided); !stays {
					break
				}
			}
			switch {
			case !stays:
				e.Gone = true
			case is.State != nil && was.State != nil:
				if is.State.Result() != was.State.Result() {
					e.Result = new(is.State.Result())
				}
				if string(is.State.Input) != string(was.State.Input) {
					e.Input = is.State.Input
				}
				e.Bare = len(is.State.Attachments) < len(was.State.Attachments)
			case is.Type != was.Type || is.Text != was.Text:
				e.Text = new(is.Text)
			}
			found = append(found, e)
		}
	}
	return found
}

// otherWindow is the window of the store, nil if the agent has the same one: the same summary, with
// the same messages behind it.
func otherWindow(log []session.Message, state store.State, theirs []session.Message) *Window {
	ours, at := newest(log, state.Undone)
	their, begins := newest(theirs, nil)
	if same(ours, their) && tail(log, at) == tail(theirs, begins) {
		return nil
	}
	w := &Window{From: tail(log, at)}
	if ours != nil {
		w.Summary = importing.SummaryText(ours)
	}
	return w
}

// newest is the summary that a window begins with, and the position of its marker; nil and -1 if
// nothing is folded.
func newest(log []session.Message, undone map[string]bool) (*session.Message, int) {
	for i := len(log) - 1; i >= 0; i-- {
		m := &log[i]
		if !m.Completes() || m.IsUndone(undone) {
			continue
		}
		if marker := session.Index(log, m.ParentID); marker >= 0 && log[marker].Marker() != nil {
			return m, marker
		}
	}
	return nil, -1
}

func same(a, b *session.Message) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.ID == b.ID || strings.TrimSpace(importing.SummaryText(a)) == strings.TrimSpace(importing.SummaryText(b))
}

// tail is the id of the first message that is word for word in the window: that with which the tail
// of the pivot at this position begins, or the first behind the pivot, or the first of all.
func tail(log []session.Message, marker int) string {
	if marker >= 0 {
		if start := log[marker].Marker().TailStartID; start != "" && session.Index(log, start) >= 0 {
			return start
		}
	}
	for i := marker + 1; i < len(log); i++ {
		_, kept := log[i].Kept()
		if m := &log[i]; m.Marker() == nil && !m.IsSummary() && !kept && m.Companion() == "" {
			return m.ID
		}
	}
	return ""
}

// notice says in one line what was decided, "" if nothing was.
func notice(id string, decided ...*pivot.Receipt) string {
	parts, saved := 0, 0
	for _, r := range decided {
		if r != nil {
			parts, saved = parts+len(r.Committed), saved+r.Saved
		}
	}
	if parts == 0 {
		return ""
	}
	return "winnow left out " + quantity.Plural(parts, "part", "parts") + ", " + quantity.Number(saved) +
		" tokens; winnow explain " + id + " says why"
}

// compacts folds a session for an agent that compacts. What was folded before, and the agent did
// not take, is answered again.
func (s *Shaper) compacts(ctx context.Context, id string, h *Handed, theirs []session.Message) (*Answer, error) {
	a := &Answer{Session: id, Edits: []Edit{}, Added: []Added{}}
	r, failed := s.Engine.Compact(ctx, id, winnow.CompactOptions{Focus: h.Focus})
	if failed != nil && !slices.Contains(futile, winnow.CodeOf(failed)) {
		return nil, failed
	}
	had, state, err := s.Engine.Session(ctx, id)
	if err != nil {
		return nil, err
	}
	if failed != nil {
		r = waiting(had.Messages, state, theirs)
	}
	switch {
	case r == nil:
		a.Skip = failed.Error()
		return a, nil
	case r.Kind != pivot.Compaction:
		a.Skip = "folding would not make the session smaller than leaving parts out does"
		return a, nil
	}
	at := session.Index(had.Messages, r.Summary)
	if at < 0 {
		a.Skip = "the summary is gone again"
		return a, nil
	}
	a.Fold = &Fold{Summary: importing.SummaryText(&had.Messages[at]), Keep: r.TailStart, Receipt: r.ID,
		Marker: r.Marker, Before: r.TokensBefore, After: r.TokensAfter, Cost: r.Cost}
	a.Notice = "winnow folded " + quantity.Plural(r.Folded, "message", "messages") + ": " +
		quantity.Number(r.TokensBefore) + " → " + quantity.Number(r.TokensAfter) + " tokens; winnow undo " + id +
		" takes it back"
	return a, nil
}

// waiting is the receipt of the newest compaction, if the agent has not written it down; else nil.
func waiting(log []session.Message, state store.State, theirs []session.Message) *pivot.Receipt {
	ours, _ := newest(log, state.Undone)
	if their, _ := newest(theirs, nil); ours == nil || same(ours, their) {
		return nil
	}
	for i := range state.Receipts {
		if r := &state.Receipts[i]; r.Summary == ours.ID {
			return r
		}
	}
	return nil
}

// futile are the codes of folds that did not come about, and left the session as it was.
var futile = []rule.Code{winnow.NothingToFold, winnow.NoProgress, winnow.BadSummary, winnow.Cancelled, winnow.Stale}
