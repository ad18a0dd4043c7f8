package policy_test

import (
	"testing"

	"github.com/winnowhq/winnow/plan/policy"
	"github.com/winnowhq/winnow/session"
)

// full is a session of sixty steps under balanced, whose messages are 100,000 tokens or more with
// nothing left out, in a window of so many, of which so many tokens are in use now.
func full(t *testing.T, context int) (policy.Policy, policy.State) {
	t.Helper()
	_, s := economic(t, 2)
	p, _ := policy.New(policy.Balanced, policy.Defaults())
	for i := range s.Log {
		state := *s.Log[i].Parts[0].State
		for len(state.Output) < 6_000 {
			state.Output += state.Output
		}
		s.Log[i].Parts[0].State = &state
	}
	s.Model.Limits.Context, s.Model.Limits.Output = context, 20_000
	return p, s
}

// Where the window would have overflowed with nothing left out of it, a fold comes if it pays:
// pruning only delays it. What came back because it was left out does not count.
func TestPlan_whatWasLeftOutDoesNotDelayAFoldThatPays(t *testing.T) {
	p, s := full(t, 0)
	whole := s.Account.Base + s.Facts.Total(s.Window)
	if whole < 100_000 {
		t.Fatalf("the session has %d tokens", whole)
	}
	reserved := 40_000 // for the answer, and balanced's reserve
	for _, test := range []struct {
		name  string
		room  int // beyond what the session takes with nothing left out
		back  int
		bill  float64
		pays  bool
		prune bool
	}{
		{"it would overflow", -5_000, 0, 1e6, true, true},
		{"it would not", 5_000, 0, 1e6, false, true},
		{"it would because of what came back", -5_000, 10_000, 1e6, false, true},
		{"the rest of the session is too short for a gain", -5_000, 0, 1e8, false, true},
		{"where nothing is weighed", -5_000, 0, 1e6, false, false},
	} {
		p, s := p, s
		p.Prune = test.prune
		s.Model.Limits.Context = whole + reserved + test.room
		s.Account.Back, s.Account.Bill = test.back, test.bill
		usage := session.Usage{Output: 100}
		usage.Cache.Read = 80_000
		d := p.Plan(s, policy.Occasion{StepEnded: true, GoesOn: true, Usage: usage})
		if d.Pays != test.pays || d.Verdict.Overflow {
			t.Errorf("%s: a fold pays is %v, want %v (%+v)", test.name, d.Pays, test.pays, d.Verdict)
		}
	}
}

// A full window is pruned instead of folded only if half of it comes free.
func TestPlan_aFullWindowIsPrunedIfHalfOfItComesFree(t *testing.T) {
	for _, test := range []struct {
		name string
		half int // of the usable window, in percent of what can go
		fold bool
	}{{"less than half of it can go", 105, true}, {"more than half of it can go", 95, false}} {
		p, s := full(t, 200_000)
		s.Account.Bill = 1e9 // no fold pays by itself
		goes := 0
		for _, e := range p.Find(s).Elisions {
			goes += e.Saves
		}
		usable := 2 * goes * test.half / 100
		s.Model.Limits.Context = usable + 40_000 // for the answer, and balanced's reserve
		usage := session.Usage{}
		usage.Cache.Read = usable
		d := p.Plan(s, policy.Occasion{StepEnded: true, GoesOn: true, Usage: usage})
		if d.Verdict.Usable != usable || !d.Verdict.Overflow || d.Fold != test.fold || d.Fold == (len(d.Commit) > 0) {
			t.Errorf("%s: it folds is %v, want %v; %d are left out, %+v", test.name, d.Fold, test.fold, len(d.Commit), d.Verdict)
		}
	}
}

// Carrying costs more where the cache keeps forgetting the session, so a fold pays there sooner.
func TestPlan_aFoldPaysSoonerWhereTheCacheIsOftenCold(t *testing.T) {
	for colds, want := range map[int]bool{0: false, 60: true} {
		p, s := economic(t, 2)
		s.Account.Colds, s.Account.Carried = colds, 40*52_000
		usage := session.Usage{Output: 100}
		usage.Cache.Read = 118_000
		if d := p.Plan(s, policy.Occasion{StepEnded: true, GoesOn: true, Usage: usage}); d.Pays != want {
			t.Errorf("cold %d times in %d steps: a fold pays is %v, want %v", colds, s.Account.Steps, d.Pays, want)
		}
	}
}
