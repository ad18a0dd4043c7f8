package lab

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Of a model that binds its reasoning nothing that its cache has is changed, whatever the policy of
// this program: it acts where the cache is cold, and on what was not sent yet.
func TestRun_boundReasoningChangesNothingInTheCache(t *testing.T) {
	terms := Reference()
	commits := 0
	rapid.Check(t, func(r *rapid.T) {
		trace := working(40).Draw(r, "session").Trace
		trace.Model.BoundReasoning = true
		setup := rapid.SampledFrom(unfolded()).Draw(r, "setup")
		if setup.Policy.Pivot.SummaryAlone {
			return // the letter knows of no such model
		}
		out, err := Run(t.Context(), trace, setup, Options{Terms: &terms, Detail: true})
		if err != nil {
			r.Fatal(err)
		}
		if !strings.Contains(strings.Join(out.Assumed, "\n"), "takes reasoning only behind the exact prompt") {
			r.Errorf("nothing says what was assumed of the model: %q", out.Assumed)
		}
		for _, e := range out.Events {
			if e.Kind != Committed {
				continue
			}
			if commits++; e.Rewritten > 0 {
				r.Errorf("%s: before step %d %d tokens of the cache are written again", setup.Name, e.Step, e.Rewritten)
			}
		}
	})
	t.Log(commits, "commits")
}
