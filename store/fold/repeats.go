package fold

import (
	"errors"
	"fmt"

	"github.com/winnowhq/winnow/plan/budget"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/quantity"
)

// Error is why a fold does not come about.
type Error struct {
	Code rule.Code
	Err  error
	Hint string // what to do, a sentence; "" for nothing
}

func (e *Error) Error() string { return e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// ErrNothingNew is what an error of the code NothingToFold wraps when a summary was asked for again
// although nothing was said since the last one. Another summary of the same messages would say no
// more, and what stays word for word behind the last one would be gone.
var ErrNothingNew = errors.New("nothing was said since the last summary")

// nothing is the error when the cut has left nothing to fold.
func (p *Plan) nothing() error {
	if len(p.Cut.Tail) == 0 {
		return &Error{rule.NothingToFold, errors.New("there is nothing to fold"), "the session is empty"}
	}
	return &Error{rule.NothingToFold, errors.New("there is nothing to fold before the last exchange"),
		"the last exchange stays word for word, unless a smaller view is asked for " +
			"(compact --to TOKENS, CompactOptions.To)"}
}

// repeats is why a fold would only repeat the one before it, nil when it would not: there is
// something new, or a reason to fold the same messages once more. keep is how many tokens may stay
// word for word.
//
// A reason is a focus or a size that is asked for, a provider that refused the view, a view that is
// over its budget, and more behind the summary than may stay. A pin is not one: what it keeps is
// shown since it was pinned.
func (p *Plan) repeats(s *report.Session, keep int) error {
	if p.Cut.Previous == nil || p.Settings.SummaryAlone || p.Options.Rejected || p.saidSince() || p.rewrites(s) {
		return nil
	}
	shown := s.View.Tokens()
	if p.Usable > 0 && shown+p.Overhead > p.Usable || s.Tokens(p.behind(), p.Ledger) > keep {
		return nil
	}
	hint := fmt.Sprintf("the view has %s tokens; "+
		"ask for fewer to have it folded further (compact --to TOKENS, CompactOptions.To)", quantity.Number(shown))
	if to := p.Options.To; to > 0 {
		hint = fmt.Sprintf("the view has %s tokens, and %s were asked for", quantity.Number(shown),
			quantity.Number(to))
	}
	return &Error{rule.NothingToFold, ErrNothingNew, hint}
}

// rewrites reports whether the summary must be written again although nothing new can be folded: the
// caller asked for a focus, or for a shorter one.
func (p *Plan) rewrites(s *report.Session) bool {
	return p.Options.Focus != "" || p.Options.To > 0 && s.View.Tokens() > p.Options.To
}

// saidSince reports whether anything was said or done since the pivot that the window begins with.
// Messages that the engine appended with it do not count, nor do elisions and pins.
func (p *Plan) saidSince() bool {
	return pivot.Spoken(p.Log[session.Index(p.Log, p.Cut.Previous.ParentID)+1:])
}

// behind are the messages that the last pivot left word for word.
func (p *Plan) behind() []session.Message {
	marker := session.Index(p.Log, p.Cut.Previous.ParentID)
	start := session.Index(p.Log[:marker], p.Log[marker].Marker().TailStartID)
	if start < 0 {
		return nil
	}
	unsent := session.Unsent(p.Log[start:marker]) // these stay, whatever they take
	return p.Log[start : start+unsent]
}

// Refused is why a fold would do nothing now, if that is because nothing was said since the last
// summary.
func Refused(s *report.Session) *rule.Refusal {
	if view.Pivot(s.View.Window()) == nil {
		return nil
	}
	p := snapshot(s, Options{})
	keep := p.Settings.Tail(p.Usable)
	p.Cut = pivot.Find(p.Window, p.Ledger, s.Facts, p.wanted(keep))
	var known *Error
	if !errors.As(p.repeats(s, keep), &known) {
		return nil
	}
	return &rule.Refusal{Code: rule.NothingToFold, Reason: known.Error() + "; " + known.Hint}
}

// Floor itemises what a compaction leaves of a window.
func Floor(s *report.Session, window []session.Message, ledger rule.Ledger) budget.Floor {
	f := budget.Floor{System: s.Overhead} // system prompt and tools cannot be told apart in a log
	for i := range window {
		n := view.Message(&window[i], ledger, s.Facts) + s.View.Labels.Tokens(&window[i], ledger, s.Facts)
		switch m := &window[i]; {
		case i == 1 && m.IsSummary():
			f.Summary = n
		case isKept(m):
			f.Pins += n
		case m.Marker() == nil:
			f.Tail += n
		}
	}
	return f
}

// Unremovable says what no compaction can remove, and what else would help.
func Unremovable(f budget.Floor) string {
	other := "offer fewer tools, a shorter system prompt, or a larger model"
	if f.Pins > 0 {
		other = "unpin something, " + other
	}
	return fmt.Sprintf("what no compaction can remove: %s; %s", f, other)
}

func isKept(m *session.Message) bool {
	_, kept := m.Kept()
	return kept
}

// newestWritten is the newest message that the user wrote, nil without one.
func newestWritten(messages []session.Message) *session.Message {
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Written() {
			return &messages[i]
		}
	}
	return nil
}
