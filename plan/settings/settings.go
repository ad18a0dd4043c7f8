// Package settings holds what a configuration file can say about the engine, and makes a policy of
// it.
package settings

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/winnowhq/winnow/plan/budget"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/policy"
)

// Settings are what a configuration file can say about the engine. The JSON names are those of
// winnow.jsonc.
type Settings struct {
	Policy string `json:"policy"`
	// Schedule is when what the policy's rules find is left out: eager (when a turn has ended;
	// under aggressive at every step), economic (when it saves more than it costs to write the
	// prompt to the provider's cache again), cold (only when that cache has forgotten the prompt,
	// so that it costs nothing), or empty for the policy's own: economic of balanced, eager of the
	// others.
	Schedule   string     `json:"schedule"`
	Compaction Compaction `json:"compaction"`
	Strategies Strategies `json:"strategies"`
	// Agents has the settings that differ for some agents, by their names; see ForAgent.
	Agents  map[string]Agent `json:"agents"`
	Counter string           `json:"counter"` // chars4, linear, bpe:o200k_base, bpe:cl100k_base, auto
}

// Compaction is the part of the settings about pruning and folding.
type Compaction struct {
	Auto bool `json:"auto"` // fold when the window overflows
	// prepare the summary before that, while the work goes on; null: the policy's own, on of
	// balanced and off of the others
	Background *bool `json:"background"`
	// prune by itself, and on demand without force; the strategies of aggressive go on without it
	Prune      bool   `json:"prune"`
	Model      string `json:"model"`      // "provider/model" for summaries; empty: the session's
	Summarizer string `json:"summarizer"` // auto, llm, offline
	// Threshold acts before the window is full: a pattern over "provider/model" to a fraction of
	// the context (up to 1), to tokens, to "economic", which lets what requests cost decide, or to
	// "late", which acts at 92 % of the context in place of the reserve; or one of these alone, for
	// every model.
	Threshold budget.Thresholds `json:"threshold"`
	Reserved  *int              `json:"reserved"` // tokens left free; null: min(20000, the answer's share)
	// tokens of the newest messages that stay beside the last exchange; null: a quarter of the
	// usable, 2,000 to 15,000
	Keep *int `json:"keep"`
	// size of a prompt in tokens from which on the past is folded when the provider's cache has
	// forgotten it, at most two thirds of the usable; 0: never
	ColdFold int `json:"coldFold"`

	UserMessages   int       `json:"userMessages"`   // tokens of the user's messages that are carried over
	Protect        int       `json:"protect"`        // tokens of the newest tool output that are never elided
	Minimum        int       `json:"minimum"`        // tokens below which nothing is committed
	ProtectTurns   int       `json:"protectTurns"`   // newest turns in which nothing is elided
	ProtectedTools Protected `json:"protectedTools"` // their outputs stay
	ProtectedPaths Protected `json:"protectedPaths"` // globs, relative ones in any folder; outputs of calls about them stay

	System  string   `json:"system"`  // replaces the system prompt of the summariser
	Prompt  string   `json:"prompt"`  // replaces the instruction to it, after the messages
	Context []string `json:"context"` // lines that are added to the instruction
	// how freely the model words a summary, 0 to 2; null: the provider's default
	Temperature *float64 `json:"temperature"`
}

// Strategies switches what the aggressive and the balanced policy do beside the backward scan.
type Strategies struct {
	AggressivePruning policy.Ten        `json:"aggressivePruning"`
	BalancedPruning   policy.Strategies `json:"balancedPruning"`
	// Handles shows, under every result that is worth it, the handle by which an agent can discard
	// or distill it. Off by default: each costs about 8 tokens at every step, which pays only where
	// the loop offers the tools that take them (package selfprune).
	Handles bool `json:"handles"`
}

// strategies are those of the policy in force.
func (s Settings) strategies() *policy.Strategies {
	if s.Policy != policy.Aggressive {
		return &s.Strategies.BalancedPruning
	}
	on := policy.DefaultStrategies(s.Policy)
	on.Ten = s.Strategies.AggressivePruning
	return &on
}

// Default returns the settings that hold if nothing else is said.
func Default() Settings {
	o := policy.Defaults()
	return Settings{
		Policy: policy.Balanced,
		Compaction: Compaction{
			Auto: o.Auto, Prune: o.Prune, Summarizer: "auto", Threshold: budget.Thresholds{},
			UserMessages: o.UserMessages,
			Protect:      o.Protect, Minimum: o.Minimum, ProtectTurns: o.Turns,
			ProtectedTools: o.ProtectedTools, ProtectedPaths: o.ProtectedPaths, Context: []string{},
		},
		Strategies: Strategies{
			AggressivePruning: policy.DefaultStrategies(policy.Aggressive).Ten,
			BalancedPruning:   policy.DefaultStrategies(policy.Balanced),
		},
		Agents:  map[string]Agent{},
		Counter: "auto",
	}
}

// Validate reports what cannot be right, naming the key.
func (s Settings) Validate() error {
	var all []error
	bad := func(key, format string, args ...any) {
		all = append(all, fmt.Errorf("%s: %s", key, fmt.Sprintf(format, args...)))
	}
	if _, ok := policy.New(s.Policy, policy.Options{}); !ok {
		bad("policy", "unknown policy %q; use careful, balanced, thrifty, classic or aggressive", s.Policy)
	}
	if s.Schedule != "" && !slices.Contains(policy.Schedules(), s.Schedule) {
		bad("schedule", "unknown schedule %q; use eager, economic or cold, or leave it empty for the policy's own",
			s.Schedule)
	}
	if !slices.Contains([]string{"auto", "llm", "offline"}, s.Compaction.Summarizer) {
		bad("compaction.summarizer", "unknown summarizer %q; use auto, llm or offline", s.Compaction.Summarizer)
	}
	if !slices.Contains([]string{"auto", "chars4", "linear", "bpe:o200k_base", "bpe:cl100k_base"}, s.Counter) {
		bad("counter", "unknown counter %q; use auto, chars4, linear, bpe:o200k_base or bpe:cl100k_base", s.Counter)
	}
	for _, n := range []struct {
		key   string
		value int
	}{
		{"compaction.userMessages", s.Compaction.UserMessages}, {"compaction.protect", s.Compaction.Protect},
		{"compaction.minimum", s.Compaction.Minimum},
		{"compaction.coldFold", s.Compaction.ColdFold}, {"compaction.protectTurns", s.Compaction.ProtectTurns},
		{"strategies.balancedPruning.minTokens", s.Strategies.BalancedPruning.MinTokens},
		{"strategies.balancedPruning.quietSteps", s.Strategies.BalancedPruning.QuietSteps},
		{"strategies.balancedPruning.errorTurns", s.Strategies.BalancedPruning.ErrorTurns},
		{"strategies.balancedPruning.errorSteps", s.Strategies.BalancedPruning.ErrorSteps},
		{"strategies.balancedPruning.fileTurns", s.Strategies.BalancedPruning.FileTurns},
		{"strategies.balancedPruning.fileSteps", s.Strategies.BalancedPruning.FileSteps},
		{"strategies.balancedPruning.codeBlockTurns", s.Strategies.BalancedPruning.CodeBlockTurns},
		{"strategies.balancedPruning.keepSnapshots", s.Strategies.BalancedPruning.KeepSnapshots},
		{"strategies.balancedPruning.idleSteps", s.Strategies.BalancedPruning.IdleSteps},
		{"strategies.balancedPruning.idleInputSteps", s.Strategies.BalancedPruning.IdleInputSteps},
		{"strategies.balancedPruning.outline", s.Strategies.BalancedPruning.Outline},
		{"strategies.balancedPruning.firstSend.logs", s.Strategies.BalancedPruning.FirstSend.Logs},
		{"strategies.balancedPruning.firstSend.long", s.Strategies.BalancedPruning.FirstSend.Long},
	} {
		if n.value < 0 {
			bad(n.key, "%d: give 0 or more", n.value)
		}
	}
	if k := s.Compaction.Keep; k != nil && *k < 0 {
		bad("compaction.keep", "%d: give 0 or more tokens, or null", *k)
	}
	for _, glob := range s.Compaction.ProtectedPaths {
		if !doublestar.ValidatePattern(glob) {
			bad("compaction.protectedPaths", "%q is not a pattern", glob)
		}
	}
	if m := s.Compaction.Model; m != "" && !isModel(m) {
		bad("compaction.model", "%q is not a model; write provider/model, as `winnow config models` lists them", m)
	}
	if t := s.Compaction.Temperature; t != nil && !(*t >= 0 && *t <= 2) {
		bad("compaction.temperature", "%v: give a number from 0 to 2, or null for the provider's default", *t)
	}
	if err := (budget.Settings{Thresholds: s.Compaction.Threshold}).Validate(); err != nil {
		bad("compaction.threshold", "%s", strings.TrimPrefix(err.Error(), "budget: threshold "))
	}
	if err := (budget.Settings{Reserved: s.Compaction.Reserved}).Validate(); err != nil {
		bad("compaction.reserved", "%s", strings.TrimPrefix(err.Error(), "budget: reserved "))
	}
	s.wrongAgents(bad)
	return errors.Join(all...)
}

func (s Settings) budget() budget.Settings {
	return budget.Settings{Reserved: s.Compaction.Reserved, Thresholds: maps.Clone(s.Compaction.Threshold)}
}

// NewPolicy makes the policy that the settings describe. They must be valid.
func (s Settings) NewPolicy() policy.Policy {
	c := s.Compaction
	keep := pivot.KeepAuto
	if c.Keep != nil {
		keep = *c.Keep
	}
	p, _ := policy.New(s.Policy, policy.Options{
		Auto: c.Auto, Background: c.Background, Prune: c.Prune, Schedule: s.Schedule, Reserved: c.Reserved,
		Threshold: s.budget().Thresholds, Keep: keep, ColdFold: c.ColdFold,
		UserMessages: c.UserMessages, Protect: c.Protect, Minimum: c.Minimum, Turns: c.ProtectTurns,
		ProtectedTools: c.ProtectedTools, ProtectedPaths: c.ProtectedPaths,
		System: c.System, Prompt: c.Prompt, Context: c.Context,
		Strategies: s.strategies(),
	})
	return p
}
