package lab

import (
	"fmt"
	"slices"

	"github.com/winnowhq/winnow/text/quantity"
)

// assuming is a schedule or another part of a policy that says in words what it takes for granted.
type assuming interface{ Assumes() []string }

// assumed says what a replay took for granted, in the words of its terms and of its policy.
func (r *run) assumed() []string {
	var words []string
	say := func(format string, values ...any) { words = append(words, fmt.Sprintf(format, values...)) }
	t := r.trace
	if !t.BaseKnown {
		say("system prompt and tools take %s tokens: no usage tells", quantity.Number(t.Base))
	}
	if n := len(t.steps); n > 1 && !slices.ContainsFunc(t.steps, func(s step) bool { return s.timed }) {
		say("each turn waited %v for the user: the log has no times", r.opts.Idle)
	}
	if r.opts.Logged {
		hours := 0
		for k := range r.rates {
			if r.rates[k].Lifetime == Hour {
				hours++
			}
		}
		switch {
		case !slices.ContainsFunc(t.steps, func(s step) bool { return s.hour || s.usual }):
			say("the cache lives as long as is usual for the model: the log does not tell")
		case hours > 0:
			say("the prompts of %s stay in the cache for an hour, as the log tells", quantity.Count(hours, "step"))
		}
	}
	if r.model.BoundReasoning {
		say("%s takes reasoning only behind the exact prompt it was made for: parts are left out only where the "+
			"cache is cold, or with a fold", t.Model)
	}
	if p, ok := r.setup.Policy.Schedule.(assuming); ok && r.setup.Policy.Prune {
		words = append(words, p.Assumes()...)
	}
	return words
}
