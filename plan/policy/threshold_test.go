package policy_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/budget"
	"github.com/winnowhq/winnow/plan/policy"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/schedule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/token"
)

// economic is a state of a session of sixty steps, of which the newest ten quote the step so many
// steps before them.
func economic(t *testing.T, back int) (policy.Policy, policy.State) {
	t.Helper()
	o := policy.Defaults()
	o.Threshold = map[string]budget.Threshold{"**": budget.Economic}
	p, ok := policy.New(policy.Balanced, o)
	if !ok {
		t.Fatal("no such policy")
	}
	line := func(step int) string { return fmt.Sprintf("what stands in a line of the output of step %d", step) }
	var log []session.Message
	for step := range 60 {
		quoted := "make"
		if step >= 50 {
			quoted = line(step - back)
		}
		id := fmt.Sprint("p", step)
		log = append(log, session.Message{MessageInfo: session.MessageInfo{ID: "m" + id, Role: session.Assistant},
			Parts: []session.Part{{ID: id, CallID: id, Type: session.ToolPart, Tool: "bash",
				State: &session.ToolState{Status: session.Completed, Input: []byte(`{"command":"` + quoted + `"}`),
					Output: strings.Repeat(line(step)+"\n", 10)}}}})
	}
	return p, policy.State{Log: log, Window: log, Facts: rule.NewFacts(token.Chars4{}),
		Account: schedule.Account{Steps: 200, SincePivot: 40, SinceCommit: 40, Base: 18_000, Size: 100_000, Carried: 40 * 80_000, Bill: 1e6},
		Model: model.Model{Limits: model.Limits{Context: 400_000, Output: 20_000}, Price: model.Price{Input: 3, CacheRead: 0.3,
			CacheWrite: 3.75, Output: 15}, Cache: model.Cache{Lifetime: 5 * time.Minute}}}
}

func TestPlan_aFoldThatPaysWaitsWhereTheWorkLooksBackFar(t *testing.T) {
	for back, want := range map[int]bool{2: true, 30: false} {
		p, s := economic(t, back)
		usage := session.Usage{Output: 100}
		usage.Cache.Read = 118_000
		d := p.Plan(s, policy.Occasion{StepEnded: true, GoesOn: true, Usage: usage})
		if d.Pays != want {
			t.Errorf("the newest steps quote those %d before them: the fold pays is %v, want %v", back, d.Pays, want)
		}
	}
}

func TestFolding_theTailIsASixthOfTheWindowAtMost(t *testing.T) {
	for context, want := range map[int]int{0: 20_000, 400_000: 20_000, 100_000: 80_000 / 6, 40_000: 32_000 / 6} {
		p, s := economic(t, 2)
		s.Model.Limits = model.Limits{Context: context, Output: context / 10}
		if got := p.Folding(s).Keep; got != want {
			t.Errorf("a window of %d: the tail may have %d, want %d", context, got, want)
		}
	}
}

func TestFolding_aMissIsDearerWhereThePromptIsLonger(t *testing.T) {
	p, s := economic(t, 2)
	short := p.Folding(s).Miss
	s.Account.Size *= 2
	if long := p.Folding(s).Miss; !(long > short) || !(short > 0) {
		t.Errorf("a miss is worth %.0f tokens, and %.0f with a prompt twice as long", short, long)
	}
	letter, _ := policy.New(policy.Classic, policy.Defaults())
	if got := letter.Folding(s); got.Miss != 0 || got.Keep != letter.Pivot.Keep {
		t.Errorf("the letter folds with %+v, want its own settings", got)
	}
}

// Where the cache is cold the past is folded from the size on that is set, or from two thirds of a
// window that is smaller.
func TestPlan_foldsWhereTheCacheIsCold(t *testing.T) {
	for _, c := range []struct {
		name     string
		size     int // the setting
		changed  func(p *policy.Policy, s *policy.State, o *policy.Occasion)
		expected bool
	}{
		{"the prompt is as large as is set", 118_000, nil, true},
		{"it is smaller", 118_001, nil, false},
		{"nothing is set", 0, nil, false},
		{"the cache is warm", 100_000, func(_ *policy.Policy, _ *policy.State, o *policy.Occasion) { o.Cold = false }, false},
		{"no fold may come", 100_000, func(_ *policy.Policy, _ *policy.State, o *policy.Occasion) { o.Folds = false }, false},
		{"compaction.auto is off", 100_000, func(p *policy.Policy, _ *policy.State, _ *policy.Occasion) { p.Auto = false }, false},
		{"two thirds of the window are in use", 900_000, func(_ *policy.Policy, s *policy.State, _ *policy.Occasion) {
			s.Model.Limits.Context = 200_000 // 160,000 are usable
		}, true},
		{"too little would go", 10_000, func(_ *policy.Policy, s *policy.State, _ *policy.Occasion) { s.Account.Size = 20_000 }, false},
		{"the model binds its reasoning, and is at work on a round", 100_000,
			func(_ *policy.Policy, s *policy.State, _ *policy.Occasion) { s.Model.BoundReasoning = true }, false},
	} {
		p, s := economic(t, 2)
		p.Budget.Thresholds, p.ColdFold = nil, c.size
		o := policy.Occasion{Starting: true, Folds: true, Cold: true}
		if c.changed != nil {
			c.changed(&p, &s, &o)
		}
		if d := p.Plan(s, o); d.Fold != c.expected {
			t.Errorf("%s: folds is %v, want %v", c.name, d.Fold, c.expected)
		}
	}
}

// A policy has the values of its wish. Policies without a wish keep their options.
func TestWish_ofEachSoundPolicy(t *testing.T) {
	waits := 1 << 30
	for _, name := range policy.Wishes() {
		w := policy.WishOf(name)
		if !policy.Sound(name) || w.IdleSteps <= 0 || w.IdleSteps >= waits {
			t.Errorf("%s waits for %d steps; the one before for %d", name, w.IdleSteps, waits)
		}
		waits = w.IdleSteps
		o := w.Apply(policy.Defaults())
		p, ok := policy.New(name, o)
		if !ok || p.Budget.Economic(model.Model{}) != (name == policy.Thrifty) || o.Strategies.IdleSteps != w.IdleSteps {
			t.Errorf("%s: %+v of %+v", name, p, w)
		}
	}
	if o := policy.Defaults(); policy.WishOf(policy.Classic).Apply(o).Strategies != nil || policy.Sound(policy.Classic) {
		t.Error("classic has a wish")
	}
}
