package schedule

import "github.com/winnowhq/winnow/plan/rule"

// Cold commits only where it costs nothing extra: when the provider's cache has forgotten the
// prompt, when somebody asked, or when the window would overflow.
type Cold struct{}

// Name is "cold".
func (Cold) Name() string { return "cold" }

// Ready reports whether it is such a moment.
func (Cold) Ready(now Moment) bool { return urgent(now) }

// Choose takes all at such a moment, and nothing at any other.
func (c Cold) Choose(found []rule.Elision, now Moment) []rule.Elision {
	if !c.Ready(now) {
		return nil
	}
	return found
}
