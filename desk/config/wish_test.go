package config

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/winnowhq/winnow/plan/budget"
	"github.com/winnowhq/winnow/plan/policy"
)

// A policy brings the values that stand behind it, at the keys that nobody set.
func TestLoad_aPolicyBringsItsValues(t *testing.T) {
	for _, c := range []struct {
		name, file       string
		environ          []string
		idle, idleInputs int
		threshold        budget.Threshold
	}{
		{"nothing is set", `{}`, nil, 180, 360, 0},
		{"careful", `{"policy": "careful"}`, nil, 240, 480, 0},
		{"thrifty", `{"policy": "thrifty"}`, nil, 100, 200, budget.Economic},
		{"a value of one's own", `{"policy": "thrifty", "strategies": {"balancedPruning": {"idleSteps": 180}}}`, nil, 180, 200,
			budget.Economic},
		{"a threshold of one's own", `{"policy": "thrifty", "compaction": {"threshold": 0.5}}`, nil, 100, 200, 0.5},
		{"of the environment", `{"policy": "careful"}`, []string{"WINNOW_POLICY=thrifty"}, 100, 200, budget.Economic},
	} {
		path := filepath.Join(t.TempDir(), Name)
		if err := os.WriteFile(path, []byte(c.file), 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := Load(Sources{File: path, Environ: c.environ})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		is := l.Settings.Strategies.BalancedPruning
		if is.IdleSteps != c.idle || is.IdleInputSteps != c.idleInputs || l.Settings.Compaction.Threshold["*"] != c.threshold {
			t.Errorf("%s: %d, %d, %v", c.name, is.IdleSteps, is.IdleInputSteps, l.Settings.Compaction.Threshold)
		}
	}
}

// Another policy for one command takes the values of the one in force away.
func TestWished_anotherPolicyHasNothingOfTheOneInForce(t *testing.T) {
	is := Loaded{Settings: Default(), Origins: map[string]string{}}.Wished(policy.Thrifty).Wished(policy.Classic).Settings
	idle := is.Strategies.BalancedPruning
	if len(is.Compaction.Threshold) > 0 || idle.IdleSteps != 180 || idle.IdleInputSteps != 360 {
		t.Errorf("classic has %v, %d, %d", is.Compaction.Threshold, idle.IdleSteps, idle.IdleInputSteps)
	}
}

// A folder from elsewhere does not decide that summaries which cost something are written more often.
func TestLoad_aProjectIsNotThriftyWithPaidSummaries(t *testing.T) {
	for model, want := range map[string]string{"": policy.Thrifty, "anthropic/claude-haiku-4-5": policy.Balanced} {
		config, project := t.TempDir(), t.TempDir()
		user := filepath.Join(config, "winnow")
		if err := os.Mkdir(user, 0o700); err != nil {
			t.Fatal(err)
		}
		for folder, text := range map[string]string{user: `{"compaction": {"model": "` + model + `"}}`,
			project: `{"policy": "thrifty"}`} {
			if err := os.WriteFile(filepath.Join(folder, Name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		l, err := Load(Sources{User: config, Dir: project})
		if err != nil {
			t.Fatal(err)
		}
		if l.Settings.Policy != want {
			t.Errorf("summaries by %q: the policy is %s, want %s; %v", model, l.Settings.Policy, want, l.Ignored)
		}
	}
}
