package lab

import (
	"slices"
	"testing"

	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/session"
)

// Some logs have each of an answer's calls in a message of its own. They follow each other sooner
// than a model can answer, and are one step.
func TestTrace_callsThatFollowAtOnceAreOneStep(t *testing.T) {
	for _, c := range []struct {
		name  string
		at    []session.Millis
		steps int
		idle  int64 // milliseconds before the last step
	}{
		{"each after a while", []session.Millis{2000, 8000, 14000}, 3, 6000},
		{"the second at once", []session.Millis{2000, 3500, 9000}, 2, 5500},
		{"all at once", []session.Millis{2000, 2001, 2002}, 1, 0},
		{"a moment later", []session.Millis{2000, 3501, 9000}, 3, 5499},
		{"without a clock", []session.Millis{0, 0, 0}, 3, 0},
	} {
		y := &toy{}
		y.user(1, words("u", 10))
		for i, at := range c.at {
			y.step(0, looks("a1", words(string(rune('o'+i)), 20)))
			y.Messages[len(y.Messages)-1].Time.Created = at
		}
		trace := NewTrace(y.Session, model.Model{}, byWord{})
		if trace.Steps() != c.steps || trace.idle(c.steps-1, 0).Milliseconds() != c.idle {
			t.Errorf("%s: %d steps, the last after %v", c.name, trace.Steps(), trace.idle(c.steps-1, 0))
		}
		var places []int
		ids := map[string]bool{}
		for _, o := range trace.Outputs() {
			places = append(places, o.Message)
		}
		for _, m := range trace.Session().Messages {
			for _, p := range m.Parts {
				ids[p.ID] = true
			}
		}
		if !slices.Equal(places, []int{1, 2, 3}) || len(ids) != 4 {
			t.Errorf("%s: the outputs are at %v, with %d ids", c.name, places, len(ids))
		}
	}
}
