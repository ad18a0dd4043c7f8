// Package fold decides how a session is compacted: what is folded into a summary, what a summariser
// is asked, whether a summary that was written earlier still fits, and what is published. Each
// stage is a value, made from the session and the values before it: Plan, pivot.Request, Summary,
// Publication. It calls no model and stores nothing.
package fold

import (
	"fmt"
	"slices"

	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/policy"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/quantity"
)

// Options say how to fold; the engine's CompactOptions explain them.
type Options struct {
	Auto        bool
	Rejected    bool
	Focus       string
	To          int // tokens that the view may have; 0 is without a bound
	KeepSecrets bool
	// Retry: an attempt before this one left too large a view. Only the last exchange is kept, less
	// is carried over, and what does not fit by itself is shown in part.
	Retry bool
}

// Plan is what a compaction decides about a session, with the session as it was then.
type Plan struct {
	Options  Options
	Settings pivot.Settings
	Usable   int // tokens of the window; 0: unlimited
	Overhead int // tokens of system prompt and tools

	ID       string
	Info     session.Info
	Log      []session.Message // up to a pending marker
	Size     int               // messages of the whole log
	Window   []session.Message
	Ledger   rule.Ledger
	Model    model.Model // that reads the session
	Prepared *store.Prepared

	Pending   *session.Message // the marker that waited
	UserSpoke bool             // behind it

	Commit  []rule.Elision // committed with the fold
	Reduced rule.Ledger    // Ledger with Commit
	Cut     pivot.Cut
	// Replaces is how many tokens the summary takes the place of. What is shown again stays so.
	Replaces int
}

// shortShare is the part of the window, or of what a fold is to leave, that short messages of the
// user's may have: 5 %.
const shortShare = 20

// New decides what to fold. Beside an error of the code NothingToFold there is a plan too: it folds
// nothing, and Commit may still be worth committing. repeats is why the fold would only repeat the
// one before it, nil if it would not.
func New(s *report.Session, o Options) (p *Plan, repeats, err error) {
	p = uncut(s, o)
	keep := p.Settings.Tail(p.Usable)
	p.Settings.Short = p.Settings.UserMessages
	if p.Usable > 0 {
		p.Settings.Short = p.Usable / shortShare
	}
	to := p.Options.To
	if to > 0 {
		keep, p.Settings.UserMessages = min(keep, to/3), min(p.Settings.UserMessages, to/4)
		p.Settings.Short = min(p.Settings.Short, to/4)
	}
	usual := keep
	if o.Retry {
		keep, p.Settings.UserMessages = 0, p.Settings.UserMessages/8
		if to > 0 {
			p.Settings.Short = min(p.Settings.Short, to/shortShare)
		}
	}
	p.Cut = pivot.Find(p.Window, p.Reduced, s.Facts, p.wanted(keep))
	if p.Cut.Previous != nil {
		p.Replaces = view.Message(p.Cut.Previous, p.Reduced, s.Facts)
	}
	folded := pivot.WithoutQuotations(p.Cut.Fold)
	for i := range folded {
		p.Replaces += view.Message(&folded[i], p.Reduced, s.Facts)
	}
	repeats = p.repeats(s, usual)
	switch {
	case len(folded) > 0:
		return p, repeats, nil
	case p.Cut.Previous == nil || p.Settings.SummaryAlone || repeats == nil && !p.rewrites(s):
		return p, repeats, p.nothing()
	case repeats != nil:
		return p, repeats, repeats
	}
	return p, nil, nil
}

// uncut is a plan of the session as it stands, with what can be elided, and without a cut.
func uncut(s *report.Session, o Options) *Plan {
	p := snapshot(s, o)
	state := s.Planner
	state.Log, state.Window = p.Log, p.Window
	plan := s.Policy.Plan(state, policy.Occasion{FoldAsked: true, Rejected: p.Options.Rejected})
	p.Commit = slices.DeleteFunc(plan.Commit, func(el rule.Elision) bool { return p.Ledger.Has(el.Key()) })
	p.Reduced = p.Ledger.With(p.Commit...)
	return p
}

// snapshot is a plan of the session as it stands, which decides nothing yet.
func snapshot(s *report.Session, o Options) *Plan {
	state := &s.State
	p := &Plan{
		Options: o, Settings: s.Policy.Folding(s.Planner), Overhead: s.Overhead,
		ID: state.Info.ID, Info: state.Info, Log: s.Log, Size: len(s.Log), Ledger: state.Ledger, Reduced: state.Ledger,
		Model: s.Model, Prepared: state.Prepared,
	}
	if at := view.Pending(s.Log, state.Undone); at >= 0 {
		marker := s.Log[at]
		p.Pending, p.Log = &marker, s.Log[:at]
		p.UserSpoke = slices.ContainsFunc(s.Log[at:], func(m session.Message) bool { return m.Written() })
		p.Options.Rejected = p.Options.Rejected || marker.Marker().Overflow
		p.Options.Auto = p.Options.Auto || marker.Marker().Auto
	}
	p.Log = append([]session.Message(nil), p.Log...)
	p.Window = view.Window(p.Log, state.Undone)
	if usable := s.Policy.Budget.Usable(s.Model); !usable.Unlimited {
		p.Usable = usable.Threshold
	}
	return p
}

// wanted says what the cut is to leave, if keep tokens may stay word for word.
func (p *Plan) wanted(keep int) pivot.Wanted {
	room := pivot.Room(p.Usable, p.Overhead)
	if to := p.Options.To; to > 0 && (room == 0 || to/4 < room) {
		room = max(1, to/4)
	}
	return pivot.Wanted{Keep: keep, Room: room, Rejected: p.Options.Rejected, Everything: p.Settings.SummaryAlone}
}

// Pivot is the id of the marker that the window begins with, "" without one.
func (p *Plan) Pivot() string {
	if p.Cut.Previous == nil {
		return ""
	}
	return p.Cut.Previous.ParentID
}

// SameFold reports whether an earlier attempt folded the same messages.
func (p *Plan) SameFold(before *Plan) bool {
	n := len(p.Cut.Fold)
	return n == len(before.Cut.Fold) && p.Size == before.Size &&
		(n == 0 || p.Cut.Fold[n-1].ID == before.Cut.Fold[n-1].ID)
}

// Elisions are those that are committed with the fold, at a time. What was pinned since they were
// found is not among them.
func (p *Plan) Elisions(s *report.Session, now session.Millis) []rule.Elision {
	pinned := rule.Window{Pins: s.State.Pins}
	committed := make([]rule.Elision, 0, len(p.Commit))
	for _, el := range p.Commit {
		if !pinned.Pinned(el.Part, el.Message) {
			el.Time = now
			committed = append(committed, el)
		}
	}
	return committed
}

// refusedShare is to which part of a view that a provider refused it is brought where nothing can
// be folded: there is one attempt at it, for what was shortened once stays as it is.
const refusedShare = 0.5

// ShortenRefused are the elisions for a request that was refused as too long where folding does not
// help: what of it was never sent is shown in part, and what can be left out is.
func (p *Plan) ShortenRefused(s *report.Session, now session.Millis) []rule.Elision {
	found := p.Elisions(s, now)
	ledger := s.State.Ledger.With(found...)
	left := s.Tokens(s.View.Window(), ledger)
	over := left - int(refusedShare*float64(s.View.Tokens()))
	if p.Usable > 0 {
		over = max(over, left+p.Overhead-p.Usable)
	}
	s.Handles.Name(s.Log)
	return append(found, ruleWindow(s, s.View.Window(), ledger).Shorten(over, true)...)
}

// ruleWindow is a window as rules look at it.
func ruleWindow(s *report.Session, window []session.Message, ledger rule.Ledger) rule.Window {
	return rule.Window{Messages: window, Ledger: ledger, Pins: s.State.Pins, Facts: s.Facts, Guard: s.Policy.Guard,
		Handles: s.Handles}
}

// enough is how much of a view that a provider refused as too long may be left after a fold that
// was prepared for it: estimates are rarely off by more than a quarter.
const enough = 0.75

// refusedAgain says why a provider that has refused the view would refuse what is left of it, too;
// "" when it should not.
func (p *Plan) refusedAgain(s *report.Session) string {
	m := newestWritten(p.Cut.Tail)
	if m != nil && slices.ContainsFunc(m.Parts, func(part session.Part) bool { return part.IsMedia() }) {
		return "the newest message of the user's would stay with its attachments"
	}
	left, all := s.Tokens(p.Cut.Tail, p.Reduced), s.View.Tokens()
	if float64(left) > enough*float64(all) {
		return fmt.Sprintf("what came since has %s of %s tokens", quantity.Number(left), quantity.Number(all))
	}
	return ""
}
