package transport

import (
	"testing"

	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/internal/workday"
	"github.com/winnowhq/winnow/plan/budget"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/policy"
	"github.com/winnowhq/winnow/plan/settings"
)

// A main agent, its sub-agents and another agent are folded by their own thresholds, each under its
// own policy.
func TestTransport_agentsHaveTheirOwnThresholds(t *testing.T) {
	sequential(t)
	for _, c := range []struct {
		agent, header string
		folds         bool
		policy        string
	}{
		{"claude-cli/2.1.330 (external, cli)", "", false, policy.Careful},
		{"claude-cli/2.1.330 (external, cli)", "agent-7", true, policy.Careful},
		{"codex_cli_rs/0.169.0", "", false, policy.Balanced},
	} {
		s := play(t, llmtest.Anthropic, 1, Options{})
		s.window = 200_000
		s.agents = map[string]settings.Agent{
			"claude":     {Policy: policy.Careful, Threshold: budget.Thresholds{"*": 0.95}},
			"claude/sub": {Threshold: budget.Thresholds{"*": 6_000}},
		}
		s.log = workday.Make(3, 60).Messages
		s.restart()
		for _, at := range s.steps() {
			r := s.request(at)
			r.Header.Set("User-Agent", c.agent)
			if c.header != "" {
				r.Header.Set("X-Claude-Code-Agent-Id", c.header)
			}
			s.send(r)
		}
		_, state := s.only()
		folds := 0
		for _, r := range state.Receipts {
			if r.Kind == pivot.Compaction {
				folds++
			}
			if r.Policy != c.policy {
				t.Errorf("%s %s: a receipt under %s, want %s", c.agent, c.header, r.Policy, c.policy)
			}
		}
		if folds > 0 != c.folds || len(state.Receipts) == 0 {
			t.Errorf("%s %s: %d folds, %d receipts", c.agent, c.header, folds, len(state.Receipts))
		}
	}
}
