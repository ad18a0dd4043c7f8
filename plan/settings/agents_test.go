package settings

import (
	"slices"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/plan/budget"
	"github.com/winnowhq/winnow/plan/policy"
)

// The narrower entry counts, those of sub-agents for sub-agents alone; another agent has what holds
// for all.
func TestForAgent_theNarrowestEntryCounts(t *testing.T) {
	s := Default()
	s.Compaction.Threshold, s.Compaction.Model = budget.Thresholds{"*": 0.9}, "p/large"
	s.Agents = map[string]Agent{
		"*":          {Threshold: budget.Thresholds{"*": 0.8}},
		"claude":     {Policy: policy.Careful, Threshold: budget.Thresholds{"*": 0.7}},
		"*/sub":      {Threshold: budget.Thresholds{"*": 50_000}},
		"claude/sub": {Policy: policy.Thrifty, Summarizer: "offline"},
		"pi":         {Summarizer: "p/small"},
	}
	for _, c := range []struct {
		agent     string
		sub       bool
		policy    string
		threshold budget.Threshold
		writer    string
	}{
		{"codex_cli_rs/0.169.0", false, policy.Balanced, 0.8, "auto p/large"},
		{"codex_cli_rs/0.169.0", true, policy.Balanced, 50_000, "auto p/large"},
		{"claude-cli/2.1.330", false, policy.Careful, 0.7, "auto p/large"},
		{"claude-cli/2.1.330", true, policy.Thrifty, budget.Economic, "offline "},
		{"Claude", false, policy.Careful, 0.7, "auto p/large"},
		{"claudette/1", false, policy.Balanced, 0.8, "auto p/large"},
		{"pi/0.74.2", false, policy.Balanced, 0.8, "auto p/small"},
		{"", false, policy.Balanced, 0.8, "auto p/large"},
	} {
		got := s.ForAgent(c.agent, c.sub)
		if got.Policy != c.policy || got.Compaction.Threshold["*"] != c.threshold {
			t.Errorf("%q, sub-agent %t: %s at %v, want %s at %v", c.agent, c.sub, got.Policy, got.Compaction.Threshold,
				c.policy, c.threshold)
		}
		if writer := got.Compaction.Summarizer + " " + got.Compaction.Model; writer != c.writer {
			t.Errorf("%q, sub-agent %t: %q writes, want %q", c.agent, c.sub, writer, c.writer)
		}
	}
	if all := s.SummaryModels(); !slices.Equal(all, []string{"p/large", "p/small"}) {
		t.Errorf("models that may write: %q", all)
	}
	if err := s.Validate(); err != nil || s.Compaction.Threshold["*"] != 0.9 {
		t.Errorf("%v, %v", err, s.Compaction.Threshold)
	}
}

func TestValidate_agents(t *testing.T) {
	for key, a := range map[string]Agent{"/sub": {}, "cl*": {}, "claude": {Policy: "classic"}, "pi": {Policy: "bold"},
		"codex": {Threshold: budget.Thresholds{"*": 7}}, "qwen": {Summarizer: "llm"}} {
		s := Default()
		s.Agents = map[string]Agent{key: a}
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), "agents") {
			t.Errorf("%q %+v: %v", key, a, err)
		}
	}
	s := Default()
	s.Policy, s.Agents = policy.Classic, map[string]Agent{"claude": {Policy: policy.Careful}}
	if err := s.Validate(); err == nil || !strings.Contains(err.Error(), "classic holds for all agents") {
		t.Errorf("%v", err)
	}
}
