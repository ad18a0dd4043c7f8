package fold

import (
	"maps"
	"slices"

	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/edit"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/secret"
)

// Publication is what a compaction makes visible: marker, summary, and what the work goes on with.
type Publication struct {
	Marker  session.Message // the one that waited, or a new one
	Summary session.Message
	Carried pivot.Carried // under the summary

	plan    *Plan
	summary Summary
	id      pivot.Identity
	follow  []session.Message
	masked  int // secrets in summary and carry-over
	// pins and dismissed are those that the carry-over was written with.
	pins      []rule.Pin
	dismissed map[string]bool
}

// Publish makes a publication of a plan and its summary.
func Publish(s *report.Session, id pivot.Identity, p *Plan, w Summary) *Publication {
	b := &Publication{plan: p, summary: w, id: id}
	text, masked := b.carry(s)
	if p.Pending != nil {
		b.Marker = *p.Pending
	} else {
		b.Marker = pivot.Marker(id, p.ID, edit.LastUser(p.Log), p.Options.Auto, p.Options.Rejected)
	}
	b.write(text, masked)
	return b
}

// carry writes the carry-over, with the pins and dismissals that there are now: some may have come
// while the summary was written.
func (b *Publication) carry(s *report.Session) (text string, masked int) {
	b.pins, b.dismissed = s.State.Pins, s.State.Dismissed
	text, b.Carried, masked = b.plan.carry(s, b.summary.Answer.Text)
	return text, masked
}

// carry writes what a summary of this text would carry over, and counts the secrets that are masked
// in it.
func (p *Plan) carry(s *report.Session, summary string) (text string, carried pivot.Carried, masked int) {
	c := pivot.Carrying{
		Log: withoutDiscarded(p.Log, p.Ledger), Cut: p.Cut, Pins: s.State.Pins, Dismissed: s.State.Dismissed, Summary: summary, Facts: s.Facts,
		Settings: p.Settings, Directory: p.Info.Directory, Recall: p.Info.Recall,
		Guard: s.Policy.Guard, Ledger: s.State.Ledger,
	}
	if !p.Options.KeepSecrets {
		c.Mask = func(text string) string {
			text, n := secret.Mask(text)
			masked += n
			return text
		}
	}
	text, carried = pivot.Carry(c)
	return text, carried, masked
}

// write makes the summary's message with what is carried over. Secrets are masked in it; in the
// log, which it stands for, they stay.
func (b *Publication) write(carried string, masked int) {
	answer := b.summary.Answer
	if !b.plan.Options.KeepSecrets {
		text, n := secret.Mask(answer.Text)
		answer.Text, masked = text, masked+n
	}
	b.masked = masked
	b.Summary = pivot.Summary(b.id, b.Marker, lastPath(b.plan.Log), answer, carried)
}

// Follow decides what the work goes on with behind the summary; wanted is asked before a "continue"
// is appended.
func (b *Publication) Follow(wanted func(summary session.Message) bool) {
	p := b.plan
	switch {
	case p.Cut.Replay != nil:
		b.follow = []session.Message{pivot.Replay(b.id, b.Marker, *p.Cut.Replay)}
	case !b.goesOn() && p.Options.Auto && !pivot.Waiting(p.Log) && wanted(b.Summary):
		b.follow = []session.Message{pivot.Continue(b.id, b.Marker)}
	}
}

// goesOn reports whether the work goes on by itself behind the summary: because the user has written
// something, or because messages that stay behind a prepared summary ask for more.
func (b *Publication) goesOn() bool {
	tail := b.plan.Cut.Tail
	return b.plan.UserSpoke || len(tail) > 0 &&
		(b.summary.Prepared != nil && b.summary.Background || tail[len(tail)-1].Written())
}

// Change returns the change to store: the marker, its summary, the messages kept behind it, those
// that follow, the elisions, and the cost. The receipt lacks only its id, its time and its trigger.
// Errors: Busy (another compaction was published meanwhile) and NoProgress (folding does not help).
func (b *Publication) Change(s *report.Session) (store.Change, *pivot.Receipt, error) {
	p, id := b.plan, b.id
	if err := b.unchanged(s); err != nil {
		return store.Change{}, nil, err
	}
	if !slices.Equal(b.pins, s.State.Pins) || !maps.Equal(b.dismissed, s.State.Dismissed) {
		b.write(b.carry(s)) // somebody pinned or dismissed something while a hook thought about it
	}
	marker := b.Marker
	if tail := p.tailStart(s.Log); tail != "" {
		marker = pivot.WithTail(marker, tail)
	}
	c := store.Change{Commit: append(p.Elisions(s, id.Now), p.unbound(s, id.Now)...)}
	if s.State.Prepared != nil {
		c.Prepared = &store.Prepared{}
	}
	if b.summary.Prepared == nil {
		c.Spend, c.Vain = b.summary.Spent, PaidFor(s.State.Prepared)
	}
	again, letGo := pivot.CopyQuotations(id, marker, p.Cut.Fold, p.Options.Retry)
	c.Undo = letGo
	answer := append([]session.Message{b.Summary}, again...)
	if p.Pending != nil {
		c.Update = []session.Message{marker}
	} else {
		answer = append([]session.Message{marker}, answer...)
	}
	c.Append = slices.Concat(answer, b.follow)
	if pins := edit.Missing(s, id, c, marker.ID); len(pins) > 0 {
		c.Append = slices.Concat(answer, pins, b.follow)
	}
	c = b.shorten(s, c)
	receipt, err := b.receipt(s, c, marker)
	c.Receipt = receipt
	return c, receipt, err
}

// unchanged reports whether what was folded is still what is there, and so is the summary of it if
// it was prepared: messages may have been appended since, nothing else.
func (b *Publication) unchanged(s *report.Session) error {
	p := b.plan
	gone := len(s.Log) < p.Size
	for i := range min(len(p.Log), len(s.Log)) {
		gone = gone || s.Log[i].ID != p.Log[i].ID
	}
	for i := p.Size; i < len(s.Log); i++ {
		gone = gone || s.Log[i].Marker() != nil
	}
	if prepared := b.summary.Prepared; gone || prepared != nil && !Same(s.State.Prepared, prepared) {
		return &Error{rule.Busy, errBusy, "look at the session again"}
	}
	return nil
}

// tailStart is the id of the first message that stays verbatim: the tail's, or else what was
// appended to the log while the summary was written.
func (p *Plan) tailStart(log []session.Message) string {
	if start := p.Cut.TailStart(); start != "" {
		return start
	}
	if p.Pending != nil {
		return ""
	}
	for i := p.Size; i < len(log); i++ {
		if !isKept(&log[i]) { // a quotation is written again where it is needed
			return log[i].ID
		}
	}
	return ""
}

// unbound leaves out the reasoning that stays behind the summary, where its model takes it only
// behind the prompt that it was made for.
func (p *Plan) unbound(s *report.Session, now session.Millis) (gone []rule.Elision) {
	if !s.Model.BoundReasoning {
		return nil
	}
	for _, messages := range [][]session.Message{p.Cut.Tail, s.Log[min(p.Size, len(s.Log)):]} {
		for i := range messages {
			for j := range messages[i].Parts {
				if el, ok := rule.Unbound(&messages[i], &messages[i].Parts[j], p.Reduced, s.Facts); ok {
					el.Time = now
					gone = append(gone, el)
				}
			}
		}
	}
	return gone
}

// shorten adds to a change what makes the view fit that it leaves, where the newest results alone
// do not: they were never sent, so that they are shown in part and not folded.
func (b *Publication) shorten(s *report.Session, c store.Change) store.Change {
	p := b.plan
	if !p.Options.Retry || p.Settings.SummaryAlone {
		return c
	}
	state, _, window := s.After(c)
	s.Handles.Name(window)
	over := 0
	if p.Usable > 0 {
		over = s.Tokens(window, state.Ledger) + b.summary.Assumed + p.Overhead - p.Usable
	}
	if over <= 0 && !p.Options.Rejected {
		return c
	}
	for _, el := range ruleWindow(s, window, state.Ledger).Shorten(over, p.Options.Rejected) {
		el.Time = b.id.Now
		c.Commit = append(c.Commit, el)
	}
	return c
}

func lastPath(log []session.Message) *session.Path {
	for i := len(log) - 1; i >= 0; i-- {
		if log[i].Path != nil {
			return log[i].Path
		}
	}
	return nil
}
