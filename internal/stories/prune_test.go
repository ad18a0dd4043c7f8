package stories

import (
	"slices"
	"testing"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/plan/policy"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/rule/ruletest"
	"github.com/winnowhq/winnow/plan/settings"
	"github.com/winnowhq/winnow/session"
)

// With compaction.prune off nothing is pruned on demand, as S001's prune does nothing then, unless
// it is forced. In a loop the strategies of aggressive go on, which S002 gives switches of their
// own.
func TestPrune_whereItIsSwitchedOff(t *testing.T) {
	for _, c := range []struct {
		policy, rule string // that prunes in a loop although it is off; "" none
		forced       string
	}{
		{policy.Classic, "", "backward"},
		{policy.Aggressive, "files", "backward"},
		{policy.Balanced, "", "backward"},
	} {
		t.Run(c.policy, func(t *testing.T) {
			set := settings.Default()
			set.Policy, set.Schedule, set.Compaction.Prune = c.policy, "eager", false
			l := newLab(t, winnow.Config{Settings: &set, Models: small(400_000, 4_000)})
			l.user("Begin.")
			l.reads("a.go", 30_000)
			l.reads("b.go", 30_000)
			l.reads("c.go", 30_000)
			l.reads("a.go", 30_000)
			l.work(2)

			out, err := l.Prune(t.Context(), l.id, false)
			if err != nil || out.Pruned != nil || len(out.Refusals) != 1 || out.Refusals[0].Code != rule.Disabled {
				t.Errorf("on demand: %+v, %v, want it refused", out, err)
			}
			if out, err = l.EndTurn(t.Context(), l.id); err != nil {
				t.Fatal(err)
			}
			did := map[string]bool{}
			if out.Pruned != nil {
				for _, e := range out.Pruned.Committed {
					did[e.Rule] = true
				}
			}
			if did["backward"] || c.rule == "" && len(did) > 0 || c.rule != "" && !did[c.rule] {
				t.Errorf("at the end of a turn %v pruned, want %q", did, c.rule)
			}
			if out, err = l.Prune(t.Context(), l.id, true); err != nil || out.Pruned == nil {
				t.Fatalf("forced: %+v, %v", out, err)
			}
			if all := out.Pruned.Committed; all[len(all)-1].Rule != c.forced {
				t.Errorf("forced it committed %+v", all)
			}
		})
	}
}

// The usage of a step is what makes the loop prune under aggressive, also with compaction.prune
// off.
func TestObserve_theStrategiesGoOnWithoutTheScan(t *testing.T) {
	set := settings.Default()
	set.Policy, set.Compaction.Prune = policy.Aggressive, false
	l := newLab(t, winnow.Config{Settings: &set, Models: small(400_000, 4_000)})
	l.user("Begin.")
	l.reads("a.go", 100)
	l.reads("a.go", 100)
	out, err := l.Observe(t.Context(), l.id, session.Usage{Input: 500})
	if err != nil || out.Pruned == nil || out.Pruned.Committed[0].Rule != "files" {
		t.Errorf("%+v, %v, want the older view left out", out, err)
	}
}

// What the specification marks in the sessions of testdata (rule.TestScan_isTheSpecifications),
// classic marks through the engine, and a second pruning nothing more.
func TestPrune_classicMarksWhatTheSpecificationMarks(t *testing.T) {
	e := open(t, winnow.Config{Settings: withPolicy(policy.Classic)})
	for _, s := range ruletest.Scans() {
		t.Run(s.Name, func(t *testing.T) {
			ledger := rule.NewLedger(rule.Marks(s.Session.Messages)...)
			if err := e.Import(t.Context(), s.Session, ledger, nil); err != nil {
				t.Fatal(err)
			}
			out, err := e.EndTurn(t.Context(), s.Session.Info.ID)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			if out.Pruned != nil {
				for _, el := range out.Pruned.Committed {
					got = append(got, el.Part)
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, slices.Sorted(slices.Values(s.Marked))) {
				t.Errorf("got %v, want %v", got, s.Marked)
			}
			if again, err := e.Prune(t.Context(), s.Session.Info.ID, false); err != nil || again.Pruned != nil {
				t.Errorf("again: %+v, %v", again.Pruned, err)
			}
		})
	}
}
