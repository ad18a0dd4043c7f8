package permission

import (
	"testing"

	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/internal/shelltest"
)

func TestCases_whatACommandMayDo(t *testing.T) {
	b := newBench(t, "a.go", "a", "b.go", "b", "sub/c.go", "c", ".env", "KEY=1")
	nothing := Policy{Directory: b.folder}
	denies := Policy{Directory: b.folder, Rules: []Rule{{Action: "run", Verdict: Allow},
		{Action: "run", Target: "rm", Verdict: Deny}}}
	for _, c := range shelltest.Cases {
		want := agent.Permission{Tool: "bash", Action: "run", Target: c.Command, Inside: true}
		looks := Ask
		if c.Looks {
			looks = Allow
		}
		if got := nothing.Decide(want); got != looks {
			t.Errorf("%s: without a rule %s, want %s", c.Command, got, looks)
		}
		removes := Allow
		if c.Removes {
			removes = Deny
		}
		if got := denies.Decide(want); got != removes {
			t.Errorf("%s: with rm denied %s, want %s", c.Command, got, removes)
		}
		all := Policy{Directory: b.folder, Rules: []Rule{{Action: "run", Target: "echo", Verdict: Allow}}}
		if c.Unknown {
			if got := all.Decide(want); got != Ask {
				t.Errorf("%s: cannot be parsed, and is %s", c.Command, got)
			}
		}
	}
}
