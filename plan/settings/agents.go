package settings

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/winnowhq/winnow/plan/budget"
	"github.com/winnowhq/winnow/plan/policy"
)

// Agent has the settings that differ for the sessions of one agent.
type Agent struct {
	Policy string `json:"policy,omitzero"` // careful, balanced or thrifty; empty: as for all
	// Threshold is that of compaction.threshold; empty: as for all, or the policy's own.
	Threshold budget.Thresholds `json:"threshold,omitempty"`
	// Summarizer is "offline", or the model that writes summaries, PROVIDER/MODEL; empty: as for all.
	Summarizer string `json:"summarizer,omitzero"`
}

// subAgents follows the name of an agent and means its sub-agents.
const subAgents = "/sub"

// ForAgent is the settings for the sessions of an agent, by the name with which it introduces
// itself: "claude-cli/2.1.330" is claude. Of the entries that fit, "*", "claude", "*/sub" and
// "claude/sub", each is laid over those before it; the last two are for sub-agents alone.
func (s Settings) ForAgent(name string, sub bool) Settings {
	var fits []string
	for _, key := range slices.Sorted(maps.Keys(s.Agents)) {
		agent, subAlone := strings.CutSuffix(key, subAgents)
		if (!subAlone || sub) && (agent == "*" || isAgent(agent, name)) {
			fits = append(fits, key)
		}
	}
	slices.SortStableFunc(fits, func(a, b string) int { return rank(a) - rank(b) })
	for _, key := range fits {
		s = s.with(s.Agents[key])
	}
	return s
}

// rank orders entries from the widest to the narrowest.
func rank(key string) int {
	agent, sub := strings.CutSuffix(key, subAgents)
	n := 0
	if agent != "*" {
		n = 1
	}
	if sub {
		n += 2
	}
	return n
}

// isAgent reports whether a program introduces itself as an agent.
func isAgent(agent, program string) bool {
	rest, is := strings.CutPrefix(strings.ToLower(program), strings.ToLower(agent))
	return is && agent != "" && (rest == "" || !unicode.IsLetter(rune(rest[0])) ||
		strings.HasPrefix(rest, "cli") || strings.HasPrefix(rest, "code"))
}

// with puts the settings of an agent in the place of those for all. A policy brings its own values,
// as it does for all.
func (s Settings) with(a Agent) Settings {
	if a.Policy != "" {
		s.Policy = a.Policy
		w := policy.WishOf(a.Policy)
		s.Strategies.BalancedPruning.IdleSteps = w.IdleSteps
		s.Strategies.BalancedPruning.IdleInputSteps = w.IdleInputSteps
		if w.Threshold != 0 {
			s.Compaction.Threshold = budget.Thresholds{"*": w.Threshold}
		}
	}
	if len(a.Threshold) > 0 {
		s.Compaction.Threshold = a.Threshold
	}
	switch {
	case a.Summarizer == "offline":
		s.Compaction.Summarizer, s.Compaction.Model = a.Summarizer, ""
	case a.Summarizer != "":
		s.Compaction.Model = a.Summarizer
		if s.Compaction.Summarizer == "offline" {
			s.Compaction.Summarizer = "auto"
		}
	}
	return s
}

// ForAll is Agents without their policies or without their summarisers: what is asked for on a
// command line holds for all.
func (s Settings) ForAll(policy, summarizer bool) map[string]Agent {
	all := maps.Clone(s.Agents)
	for key, a := range all {
		if policy {
			a.Policy = ""
		}
		if summarizer {
			a.Summarizer = ""
		}
		all[key] = a
	}
	return all
}

// SummaryModels are the models that are set to write summaries, PROVIDER/MODEL, for all agents or
// for one of them.
func (s Settings) SummaryModels() []string {
	var all []string
	if s.Compaction.Summarizer != "offline" && s.Compaction.Model != "" {
		all = append(all, s.Compaction.Model)
	}
	for _, key := range slices.Sorted(maps.Keys(s.Agents)) {
		if m := s.Agents[key].Summarizer; m != "" && m != "offline" {
			all = append(all, m)
		}
	}
	return all
}

// isModel reports whether a name says whose model it is, PROVIDER/MODEL.
func isModel(name string) bool { return strings.Contains(strings.Trim(name, "/"), "/") }

// wrongAgents reports the faults of the entries.
func (s Settings) wrongAgents(bad func(key, format string, args ...any)) {
	for _, key := range slices.Sorted(maps.Keys(s.Agents)) {
		a := s.Agents[key]
		name := strings.TrimSuffix(key, subAgents)
		if name == "" || name != "*" && strings.ContainsAny(name, "*/ ") {
			bad("agents", "%q is not an agent; write claude, claude/sub for its sub-agents, * or */sub", key)
		}
		switch {
		case a.Policy == "":
		case !policy.Sound(a.Policy):
			bad("agents."+key+".policy", "unknown policy %q; use careful, balanced or thrifty", a.Policy)
		case !policy.Sound(s.Policy):
			bad("agents."+key+".policy", "%s holds for all agents; set policy to careful, balanced or thrifty", s.Policy)
		}
		if m := a.Summarizer; m != "" && m != "offline" && !isModel(m) {
			bad("agents."+key+".summarizer", "unknown summarizer %q; use offline or a model, PROVIDER/MODEL", m)
		}
		if err := (budget.Settings{Thresholds: a.Threshold}).Validate(); err != nil {
			bad("agents."+key+".threshold", "%s", strings.TrimPrefix(fmt.Sprint(err), "budget: threshold "))
		}
	}
}
