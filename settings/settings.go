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

	"github.com/winnowhq/winnow/budget"
	"github.com/winnowhq/winnow/pivot"
	"github.com/winnowhq/winnow/policy"
)

// Settings are what a configuration file can say about the engine. The JSON names are those of
// winnow.jsonc.
type Settings struct {
	Policy string `json:"policy"`
	// Schedule is when what the policy's rules find is left out: eager (when a turn has ended;
	// under aggressive at every step), economic (when it saves more than it costs to write the
	// prompt to the provider's cache again), or empty for the policy's own: economic of balanced,
	// eager of the others.
	Schedule   string     `json:"schedule"`
	Compaction Compaction `json:"compaction"`
	Strategies Strategies `json:"strategies"`
	Counter    string     `json:"counter"` // chars4, linear, bpe:o200k_base, bpe:cl100k_base, auto
}

// Compaction is the part of the settings about pruning and folding.
type Compaction struct {
	Auto bool `json:"auto"` // fold when the window overflows
	// prepare the summary before that, while the work goes on; null: the policy's own, on of
	// balanced and off of the others
	Background *bool  `json:"background"`
	Prune      bool   `json:"prune"`      // elide old tool outputs
	Model      string `json:"model"`      // "provider/model" for summaries; empty: the session's
	Summarizer string `json:"summarizer"` // auto, llm, offline
	// Threshold acts before the window is full: a pattern over "provider/model" to a fraction of
	// the context (up to 1), to tokens, or to "economic", which lets what requests cost decide; or
	// one of these alone, for every model.
	Threshold budget.Thresholds `json:"threshold"`
	Reserved  *int              `json:"reserved"` // tokens left free; null: min(20000, the answer's share)
	// tokens of the newest messages that stay; null: a quarter of the usable, 2,000 to 15,000
	Keep *int `json:"keep"`

	UserMessages   int      `json:"userMessages"`   // tokens of the user's messages that are carried over
	Protect        int      `json:"protect"`        // tokens of the newest tool output that are never elided
	Minimum        int      `json:"minimum"`        // tokens below which nothing is committed
	ProtectTurns   int      `json:"protectTurns"`   // newest turns in which nothing is elided
	ProtectedTools []string `json:"protectedTools"` // their outputs stay
	ProtectedPaths []string `json:"protectedPaths"` // globs; outputs of calls about them stay

	Prompt  string   `json:"prompt"`  // replaces the instruction to the summariser
	Context []string `json:"context"` // lines that are added to it
}

// Strategies switches what the aggressive and the balanced policy do beside the backward scan.
type Strategies struct {
	AggressivePruning AggressivePruning `json:"aggressivePruning"`
	BalancedPruning   BalancedPruning   `json:"balancedPruning"`
	// Handles shows, under every result that is worth it, the handle by which an agent can discard
	// or distill it. Off by default: each costs about 8 tokens at every step, which pays only where
	// the loop offers the tools that take them (package selfprune).
	Handles bool `json:"handles"`
}

// AggressivePruning holds the ten strategies of S002, all on by default.
type AggressivePruning struct {
	PruneToolInputs     bool `json:"pruneToolInputs"`
	PruneStepMarkers    bool `json:"pruneStepMarkers"`
	PruneSourceURLs     bool `json:"pruneSourceUrls"`
	PruneFiles          bool `json:"pruneFiles"`
	PruneSnapshots      bool `json:"pruneSnapshots"`
	PruneRetryParts     bool `json:"pruneRetryParts"`
	PruneUserCodeBlocks bool `json:"pruneUserCodeBlocks"`
	TruncateOldErrors   bool `json:"truncateOldErrors"`
	AggressiveFilePrune bool `json:"aggressiveFilePrune"`
	StateQuerySupersede bool `json:"stateQuerySupersede"`
}

// BalancedPruning holds the sound forms of the ten strategies, three that S002 has not, and the
// ages from which on they act. All are on by default but pruneUserCodeBlocks: what the user typed
// cannot be read again.
type BalancedPruning struct {
	PruneToolInputs     bool `json:"pruneToolInputs"`
	PruneStepMarkers    bool `json:"pruneStepMarkers"`
	PruneSourceURLs     bool `json:"pruneSourceUrls"`
	PruneFiles          bool `json:"pruneFiles"`
	PruneSnapshots      bool `json:"pruneSnapshots"`
	PruneRetryParts     bool `json:"pruneRetryParts"`
	PruneUserCodeBlocks bool `json:"pruneUserCodeBlocks"`
	TruncateOldErrors   bool `json:"truncateOldErrors"`
	AggressiveFilePrune bool `json:"aggressiveFilePrune"`
	StateQuerySupersede bool `json:"stateQuerySupersede"`
	PruneDuplicates     bool `json:"pruneDuplicates"` // outputs that an equal call gave again
	PruneTodos          bool `json:"pruneTodos"`      // todo lists that a newer one replaced
	PruneIdle           bool `json:"pruneIdle"`       // outputs and arguments that nothing has quoted for a while

	MinTokens int `json:"minTokens"` // what an elision must save at least
	// newest steps in which nothing is elided because something newer shows it
	QuietSteps     int `json:"quietSteps"`
	ErrorTurns     int `json:"errorTurns"`     // turns after which an error is shortened; 0 is at once
	ErrorSteps     int `json:"errorSteps"`     // or steps, whichever comes first; 0: turns alone
	FileTurns      int `json:"fileTurns"`      // turns after which an attachment goes
	FileSteps      int `json:"fileSteps"`      // or steps
	CodeBlockTurns int `json:"codeBlockTurns"` // turns after which a block of code in a message of the user goes
	KeepSnapshots  int `json:"keepSnapshots"`  // newest snapshots of a page that stay
	// steps after which an output that nothing has quoted goes; 0: outputs stay
	IdleSteps      int `json:"idleSteps"`
	IdleInputSteps int `json:"idleInputSteps"` // the same of arguments
}

// strategies are those of the policy in force.
func (s Settings) strategies() *policy.Strategies {
	on := policy.DefaultStrategies(s.Policy)
	if s.Policy == policy.Aggressive {
		a := s.Strategies.AggressivePruning
		on.ToolInputs, on.StepMarkers, on.SourceURLs, on.Files, on.Snapshots = a.PruneToolInputs, a.PruneStepMarkers,
			a.PruneSourceURLs, a.PruneFiles, a.PruneSnapshots
		on.RetryParts, on.UserCodeBlocks, on.OldErrors, on.FilePrune, on.StateQueries = a.PruneRetryParts,
			a.PruneUserCodeBlocks, a.TruncateOldErrors, a.AggressiveFilePrune, a.StateQuerySupersede
		return &on
	}
	b := s.Strategies.BalancedPruning
	return &policy.Strategies{
		ToolInputs: b.PruneToolInputs, StepMarkers: b.PruneStepMarkers, SourceURLs: b.PruneSourceURLs,
		Files: b.PruneFiles, Snapshots: b.PruneSnapshots,
		RetryParts: b.PruneRetryParts, UserCodeBlocks: b.PruneUserCodeBlocks, OldErrors: b.TruncateOldErrors,
		FilePrune:    b.AggressiveFilePrune,
		StateQueries: b.StateQuerySupersede, Duplicates: b.PruneDuplicates, Todos: b.PruneTodos,
		QuietSteps: b.QuietSteps,
		ErrorTurns: b.ErrorTurns, ErrorSteps: b.ErrorSteps, FileTurns: b.FileTurns, FileSteps: b.FileSteps,
		CodeTurns: b.CodeBlockTurns, KeepSnapshots: b.KeepSnapshots, Least: b.MinTokens,
		Idle: b.PruneIdle, IdleOutputs: b.IdleSteps, IdleInputs: b.IdleInputSteps,
	}
}

func balancedPruning() BalancedPruning {
	on := policy.DefaultStrategies(policy.Balanced)
	return BalancedPruning{
		PruneToolInputs: on.ToolInputs, PruneStepMarkers: on.StepMarkers, PruneSourceURLs: on.SourceURLs,
		PruneFiles: on.Files, PruneSnapshots: on.Snapshots,
		PruneRetryParts: on.RetryParts, PruneUserCodeBlocks: on.UserCodeBlocks, TruncateOldErrors: on.OldErrors,
		AggressiveFilePrune: on.FilePrune,
		StateQuerySupersede: on.StateQueries, PruneDuplicates: on.Duplicates, PruneTodos: on.Todos,
		QuietSteps: on.QuietSteps,
		ErrorTurns: on.ErrorTurns, ErrorSteps: on.ErrorSteps, FileTurns: on.FileTurns, FileSteps: on.FileSteps,
		CodeBlockTurns: on.CodeTurns, KeepSnapshots: on.KeepSnapshots, MinTokens: on.Least,
		PruneIdle: on.Idle, IdleSteps: on.IdleOutputs, IdleInputSteps: on.IdleInputs,
	}
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
			AggressivePruning: AggressivePruning{true, true, true, true, true, true, true, true, true, true},
			BalancedPruning:   balancedPruning(),
		},
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
		bad("policy", "unknown policy %q; use classic, aggressive or balanced", s.Policy)
	}
	if s.Schedule != "" && !slices.Contains(policy.Schedules(), s.Schedule) {
		bad("schedule", "unknown schedule %q; use eager or economic, or leave it empty for the policy's own",
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
		{"compaction.minimum", s.Compaction.Minimum}, {"compaction.protectTurns", s.Compaction.ProtectTurns},
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
	if m := s.Compaction.Model; m != "" && !strings.Contains(strings.Trim(m, "/"), "/") {
		bad("compaction.model", "%q is not a model; write provider/model, as `winnow models` lists them", m)
	}
	if err := s.budget().Validate(); err != nil {
		bad("compaction", "%s", strings.TrimPrefix(err.Error(), "budget: "))
	}
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
		Threshold: s.budget().Thresholds, Keep: keep,
		UserMessages: c.UserMessages, Protect: c.Protect, Minimum: c.Minimum, Turns: c.ProtectTurns,
		ProtectedTools: c.ProtectedTools, ProtectedPaths: c.ProtectedPaths, Prompt: c.Prompt, Context: c.Context,
		Strategies: s.strategies(),
	})
	return p
}
