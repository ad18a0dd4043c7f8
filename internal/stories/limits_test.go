package stories

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/plan/budget"
	"github.com/winnowhq/winnow/plan/policy"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/token"
)

// told are the events about the budget that a subscription has, which is closed.
func told(s *winnow.Subscription) (all []winnow.Event) {
	s.Close()
	for e := range s.C {
		if e.Type == winnow.BudgetWarning || e.Type == winnow.BudgetOverflow {
			all = append(all, e)
		}
	}
	return all
}

func TestAutoOff_saysWhatItSeesAndFoldsNothing(t *testing.T) {
	for _, name := range []string{policy.Classic, policy.Aggressive, policy.Balanced} {
		s := withPolicy(name)
		s.Compaction.Auto = false
		l := newLab(t, winnow.Config{Models: small(100_000, 10_000), Settings: s})
		l.user("hi")
		l.says("hello")
		for _, tt := range []struct {
			input int
			want  winnow.EventType
		}{{30_000, ""}, {79_000, winnow.BudgetWarning}, {95_000, winnow.BudgetOverflow},
			{96_000, winnow.BudgetOverflow}} {
			events := l.Subscribe(0)
			out, err := l.Observe(context.Background(), l.id, session.Usage{Input: tt.input, Output: 100})
			if err != nil || out.Compacted != nil || out.Verdict.Overflow != (tt.want == winnow.BudgetOverflow) {
				t.Errorf("%s, %d: %+v, error %v", name, tt.input, out, err)
			}
			all := told(events)
			if tt.want == "" && len(all) == 0 {
				continue
			}
			if len(all) != 1 || all[0].Type != tt.want || all[0].Verdict == nil || all[0].Text == "" {
				t.Errorf("%s, %d of 90,000: %+v, want one %s", name, tt.input, all, tt.want)
				continue
			}
			if off := all[0].Verdict.Code == budget.CodeAutoOff; off != (tt.want == winnow.BudgetOverflow) {
				t.Errorf("%s, %d: code %q", name, tt.input, all[0].Verdict.Code)
			}
		}
	}
}

func TestObserve_saysOnceThatAServerCutsWhatItIsSent(t *testing.T) {
	l := newLab(t, winnow.Config{Models: small(100_000, 10_000)})
	events := l.Subscribe(0)
	l.user("Read everything.")
	for i := range 12 {
		l.reads(fmt.Sprintf("file%d.go", i), 1000)
		if _, err := l.Observe(context.Background(), l.id,
			session.Usage{Input: min(1500+1000*i, 8190), Output: 10}); err != nil {
			t.Fatal(err)
		}
	}
	all := told(events)
	if len(all) != 1 || all[0].Type != winnow.BudgetWarning || all[0].Code != budget.CodeCut || all[0].Verdict != nil ||
		!strings.Contains(all[0].Text, "8,192 tokens") || !strings.Contains(all[0].Text, `"models": {"`) {
		t.Errorf("%+v, want one warning", all)
	}
	r, err := l.Inspect(context.Background(), l.id)
	if err != nil || r.Window.Cut == nil || r.Window.Cut.Window != 8192 {
		t.Errorf("inspected: %+v, error %v", r.Window.Cut, err)
	}
}

func TestObserve_saysOnceThatAModelIsNotKnown(t *testing.T) {
	for name, want := range map[string]string{
		"nope/x": `nope/x is not known: a context of 128,000 tokens and an output of 16,384 are assumed; ` +
			`set them in winnow.jsonc: "models": {"nope/x": {"context":128000,"output":16384}}`,
		"anthropic/claude-sonnet-4-5": "",
		"": "no model is named: a context of 128,000 tokens and an output of 16,384 " +
			"are assumed",
	} {
		engine, err := launch(winnow.Config{Model: name, ForceModel: true})
		if err != nil {
			t.Fatal(err)
		}
		l := &lab{engine: engine, t: t}
		info, err := engine.Create(context.Background(), session.Info{})
		if l.id = info; err != nil {
			t.Fatal(err)
		}
		events := l.Subscribe(0)
		l.user("hi")
		for range 3 {
			l.says("hello")
			if _, err := l.Observe(context.Background(), l.id, session.Usage{Input: 1000, Output: 10}); err != nil {
				t.Fatal(err)
			}
		}
		texts := ""
		for _, e := range told(events) {
			texts += e.Text
		}
		if texts != want {
			t.Errorf("%q: told %q, want %q", name, texts, want)
		}
		engine.Close()
	}
}

// What is learned of a model's tokens is the same after ten reports and after a hundred of the same
// kind: it is not fed back into itself.
func TestObserve_learnsNothingFromWhatItLearned(t *testing.T) {
	s := withPolicy(policy.Balanced)
	s.Compaction.Auto, s.Compaction.Prune = false, false
	calibrated := token.NewCalibrated("auto", token.Linear{})
	l := newLab(t, winnow.Config{Models: small(400_000, 10_000), Settings: s, Counter: token.Linear{},
		Calibrated: calibrated})
	l.user("Read everything.")
	var factors []float64
	for i := range 100 {
		l.reads(fmt.Sprintf("file%d.go", i), 1200)
		if _, err := l.Observe(context.Background(), l.id,
			session.Usage{Input: 3000 * (i + 1), Output: 10}); err != nil {
			t.Fatal(err)
		}
		factors = append(factors, calibrated.Factor("p/m"))
	}
	if few, many := factors[9], factors[99]; few < 1.1 || many < 0.97*few || many > 1.03*few {
		t.Errorf("the factor is %v after 10 reports and %v after 100", few, many)
	}
}

// A warning comes at 80 % of the window. It is postponed for the session that says so: then only a
// full window is told.
func TestWarning_comesAtEightyPercentAndIsPostponed(t *testing.T) {
	for _, later := range []bool{false, true} {
		s := withPolicy(policy.Balanced)
		s.Compaction.Auto = false
		l := newLab(t, winnow.Config{Models: small(100_000, 10_000), Settings: s})
		l.user("hi")
		l.says("hello")
		usable := l.gauge().Usable
		if later {
			if err := l.Amend(context.Background(), l.id, winnow.Amendment{Own: map[string]jsontext.Value{
				report.LaterMember: jsontext.Value("true")}}); err != nil {
				t.Fatal(err)
			}
		}
		for _, share := range []int{79, 81, 101} {
			events := l.Subscribe(0)
			input := usable*share/100 - 100
			if _, err := l.Observe(context.Background(), l.id, session.Usage{Input: input, Output: 100}); err != nil {
				t.Fatal(err)
			}
			var want winnow.EventType
			switch {
			case share > 100:
				want = winnow.BudgetOverflow
			case share > 80 && !later:
				want = winnow.BudgetWarning
			}
			all := told(events)
			if len(all) > 1 || len(all) == 1 && all[0].Type != want || len(all) == 0 && want != "" {
				t.Errorf("%d %%, later %t: %+v, want %q", share, later, all, want)
			}
			if g := l.gauge(); g.Warns() != (share > 80 && !later || share > 100) {
				t.Errorf("%d %%, later %t: the gauge warns %t at %d of %d", share, later, g.Warns(), g.Total, g.Usable)
			}
		}
	}
}
