package winnow

import (
	"errors"
	"fmt"

	"github.com/winnowhq/winnow/pivot"
	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/token"
	"github.com/winnowhq/winnow/view"
)

// ErrNothingNew is what an error of the code NothingToFold wraps when a summary was asked for again although nothing was said since the last one. Another summary
// of the same messages would say no more, and what stays word for word behind the last one would be gone.
var ErrNothingNew = errors.New("nothing was said since the last summary")

// repeats is why a fold would only repeat the one before it, nil when it would not: there is something new, or a reason to fold the same messages once more.
// keep is how many tokens may stay word for word.
//
// A reason is a focus or a size that is asked for, a provider that refused the view, a view that is over its budget, and more behind the summary than may stay. A pin is
// none: what it keeps is shown since it was pinned.
func (e *Engine) repeats(l *live, f *folding, keep int) error {
	o := f.options
	if f.cut.Previous == nil || f.settings.Letter || o.Rejected || f.saidSince() || e.anew(l, f) {
		return nil
	}
	shown := l.look().Tokens()
	if f.usable > 0 && shown+f.overhead > f.usable || l.tokens(f.behind(), l.state.Ledger) > keep {
		return nil
	}
	hint := fmt.Sprintf("the view has %s tokens; ask for fewer to have it folded further (compact --to TOKENS, CompactOptions.To)", token.Grouped(shown))
	if o.To > 0 {
		hint = fmt.Sprintf("the view has %s tokens, and %s were asked for", token.Grouped(shown), token.Grouped(o.To))
	}
	return &Error{Code: NothingToFold, Op: "compact", Session: f.id, Err: ErrNothingNew, Hint: hint}
}

// anew reports whether the summary is to be written again although nothing else may be folded: it is to dwell on something, or to be shorter.
func (e *Engine) anew(l *live, f *folding) bool {
	return f.options.Focus != "" || f.options.To > 0 && l.look().Tokens() > f.options.To
}

// saidSince reports whether anything was said or done since the pivot that the window begins with. What the engine appended with it is nothing new, nor is
// an elision or a pin.
func (f *folding) saidSince() bool {
	return pivot.Spoken(f.log[session.Index(f.log, f.cut.Previous.ParentID)+1:])
}

// behind are the messages that the last pivot left word for word.
func (f *folding) behind() []session.Message {
	marker := session.Index(f.log, f.cut.Previous.ParentID)
	start := session.Index(f.log[:marker], f.log[marker].Marker().TailStartID)
	if start < 0 {
		return nil
	}
	unsent := session.Unsent(f.log[start:marker]) // these stay, whatever they take
	return f.log[start : start+unsent]
}

// refoldRefused is why Compact would do nothing now, where that is because nothing was said since the last summary.
func (e *Engine) refoldRefused(l *live) *rule.Refusal {
	window := l.window()
	if view.Pivot(window) == nil {
		return nil
	}
	f := e.standing(l, CompactOptions{})
	keep := f.settings.Tail(f.usable)
	f.ledger = f.stood
	f.cut = pivot.Find(f.window, f.ledger, l.facts, pivot.Wanted{Keep: keep, Letter: f.settings.Letter})
	err := e.repeats(l, f, keep)
	if err == nil {
		return nil
	}
	return &rule.Refusal{Code: NothingToFold, Reason: reason(err)}
}
