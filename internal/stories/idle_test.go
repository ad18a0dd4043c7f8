package stories

import (
	"strings"
	"testing"

	"github.com/winnowhq/winnow/plan/policy"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/rule/ruletest"
	"github.com/winnowhq/winnow/plan/settings"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/report"
)

// What others went for may go when it lies idle. From the older part the explanation leads to the
// newer one, whose own line has the handle, and both come back.
func TestIdle_whatOthersWentForCanBeFoundAndRestored(t *testing.T) {
	ctx := t.Context()
	log, old, again := twice()
	e, id := explained(t, log, nil)
	if _, err := e.Prune(ctx, id, false); err != nil {
		t.Fatal(err)
	}
	if x := explain(t, e, id, old); x.Zone != report.Pruned || x.Rule != "files" {
		t.Fatalf("the older read is %s by %q, want pruned by files: %s", x.Zone, x.Rule, x.Because)
	}
	later := ruletest.New().Quiet(policy.DefaultIdleOutputs + 1)
	for _, m := range later.Messages {
		m.ID, m.Parts = "", append([]session.Part(nil), m.Parts...)
		for i := range m.Parts {
			m.Parts[i].ID, m.Parts[i].CallID = "", m.Parts[i].CallID+"later"
		}
		if err := e.Append(ctx, id, m); err != nil {
			t.Fatal(err)
		}
	}
	if x := explain(t, e, id, again); x.Zone != report.Prunable || x.Rule != "idle" ||
		x.Candidates[0].Switch != "strategies.balancedPruning.idle" {
		t.Fatalf("the newer read is %s by %q, want prunable by idle: %s", x.Zone, x.Rule, x.Because)
	}
	if _, err := e.Prune(ctx, id, false); err != nil {
		t.Fatal(err)
	}
	x, y := explain(t, e, id, old), explain(t, e, id, again)
	if x.Zone != report.Pruned || len(x.Elisions) != 1 || len(x.Elisions[0].Covering) != 1 ||
		x.Elisions[0].Covering[0].Part != again {
		t.Fatalf("the older read does not lead to the newer one: %+v", x)
	}
	wantIn(t, "the sentence about the older", x.Because, "Read /repo/a.go (step 2, "+y.Handle+")")
	if y.Zone != report.Pruned || y.Rule != "idle" || len(y.StandsFor) != 1 || y.StandsFor[0].Part != old {
		t.Errorf("the newer read is %s by %q and stands for %+v, want pruned by idle for %s", y.Zone, y.Rule,
			y.StandsFor, old)
	}
	wantIn(t, "the sentence about the newer", y.Because, "nothing has quoted it for 180 steps")
	wantIn(t, "what is shown of the newer", y.Text, "[winnow "+y.Handle+": Read /repo/a.go, ")
	if y.Undo != "winnow restore ses_x "+y.Handle {
		t.Errorf("undo is %q", y.Undo)
	}
	for _, part := range []string{y.Handle, x.Handle} {
		if _, err := e.Restore(ctx, id, part); err != nil {
			t.Fatal(err)
		}
		if z := explain(t, e, id, part); z.Text != numbered(60) || len(z.Elisions) != 0 {
			t.Errorf("%s restored shows %.60q, with %d elisions", part, z.Text, len(z.Elisions))
		}
	}
}

// What came back by recall lies idle and is left out again, without anybody's asking.
func TestIdle_whatCameBackIsLeftOutAgain(t *testing.T) {
	log := ruletest.New()
	back := log.Call("Bash", ruletest.Args{"command": "winnow recall k3f7a2 --lines 40-99"}, numbered(60))
	log.Quiet(policy.DefaultIdleOutputs/4 + 1) // what a command printed is used when it was read
	e, id := explained(t, log, nil)
	if _, err := e.Prune(t.Context(), id, false); err != nil {
		t.Fatal(err)
	}
	x := explain(t, e, id, back)
	if x.Zone != report.Pruned || x.Rule != "idle" {
		t.Fatalf("it is %s by %q, want pruned by idle: %s", x.Zone, x.Rule, x.Because)
	}
	wantIn(t, "what is shown of it", x.Text, ": Bash winnow recall k3f7a2 --lines 40-99, 60 lines left out]")
}

// Settings say how long, and whether.
func TestIdle_settings(t *testing.T) {
	for _, c := range []struct {
		what   string
		change func(*policy.Strategies)
		want   string // the fields that go
	}{
		{"as it is", func(*policy.Strategies) {}, "output"},
		{"switched off", func(b *policy.Strategies) { b.Idle = false }, ""},
		{"longer", func(b *policy.Strategies) { b.IdleSteps *= 2 }, ""},
		{"outputs never", func(b *policy.Strategies) { b.IdleSteps = 0 }, ""},
		{"arguments soon", func(b *policy.Strategies) { b.IdleInputSteps = 5 }, "output input"},
	} {
		log := ruletest.New()
		log.Call("Bash", ruletest.Args{"command": "make"}, numbered(60))
		log.Call("Write", ruletest.Args{"file_path": "/repo/b.go",
			"content": strings.Repeat("High water at noon.\n", 50)}, "File created successfully at: /repo/b.go")
		log.Quiet(policy.DefaultIdleOutputs/4 + 1)
		e, id := explained(t, log, func(s *settings.Settings) { c.change(&s.Strategies.BalancedPruning) })
		inspected, err := e.Inspect(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		var fields []string
		for _, candidate := range inspected.Candidates {
			if candidate.Rule == (*rule.Idle)(nil).Name() {
				fields = append(fields, string(candidate.Field))
			}
		}
		if got := strings.Join(fields, " "); got != c.want {
			t.Errorf("%s: %q goes, want %q", c.what, got, c.want)
		}
	}
	s := settings.Default()
	s.Strategies.BalancedPruning.IdleSteps, s.Strategies.BalancedPruning.IdleInputSteps = -1, -2
	if err := s.Validate(); err == nil || !strings.Contains(err.Error(), "idleSteps: -1") ||
		!strings.Contains(err.Error(), "idleInputSteps: -2") {
		t.Errorf("steps below 0: %v", err)
	}
}
