package winnow

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/winnowhq/winnow/budget"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/pivot"
	"github.com/winnowhq/winnow/policy"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/memory"
	"github.com/winnowhq/winnow/summarize/offline"
	"github.com/winnowhq/winnow/token"
)

// Config is everything that an Engine is made from. The zero value works: it keeps sessions in memory, assumes a model, and
// summarises without one.
type Config struct {
	// Settings are what a configuration file can say. Default: DefaultSettings().
	Settings *Settings
	// Store keeps the sessions. Default: in memory, gone with the process.
	Store store.Store
	// Model is "provider/id" of the model that reads sessions which name none. Default: what Models assumes for an
	// unknown model.
	Model string
	// ForceModel lets Model read every session, whatever model a session names.
	ForceModel bool
	// Models is the catalogue. Default: the embedded one.
	Models *model.Catalogue
	// Summarizer writes the summaries. Default: the offline one.
	Summarizer pivot.Summarizer
	// Counter estimates sizes. Default: what Settings.Counter names, as far as this package has it without a vocabulary:
	// chars4 or linear; package token/counters makes the others.
	Counter token.Counter
	Hooks   Hooks

	// Now tells the time. Default: time.Now.
	Now func() time.Time
	// Random gives the random part of ids. Default: crypto/rand.
	Random io.Reader
}

// Settings are what a configuration file can say. The JSON names are those of winnow.jsonc.
type Settings struct {
	Policy     string     `json:"policy"`
	Compaction Compaction `json:"compaction"`
	Strategies Strategies `json:"strategies"`
	Counter    string     `json:"counter"` // chars4, linear, bpe:o200k_base, bpe:cl100k_base, auto
}

// Compaction is the part of the settings about pruning and folding.
type Compaction struct {
	Auto       bool   `json:"auto"`       // fold when the window overflows
	Prune      bool   `json:"prune"`      // elide old tool outputs
	Model      string `json:"model"`      // "provider/model" for summaries; empty: the session's
	Summarizer string `json:"summarizer"` // auto, llm, offline
	// Threshold acts before the window is full: a pattern over "provider/model" to a fraction of the context (up to 1)
	// or to tokens.
	Threshold map[string]float64 `json:"threshold"`
	Reserved  *int               `json:"reserved"` // tokens left free; null: min(20000, the answer's share)
	Keep      *int               `json:"keep"`     // tokens of the newest messages that stay; null: a quarter of the usable, 2,000 to 15,000

	UserMessages   int      `json:"userMessages"`   // tokens of the user's messages that are carried over
	Protect        int      `json:"protect"`        // tokens of the newest tool output that are never elided
	Minimum        int      `json:"minimum"`        // tokens below which nothing is committed
	ProtectTurns   int      `json:"protectTurns"`   // newest turns in which nothing is elided
	ProtectedTools []string `json:"protectedTools"` // their outputs stay
	ProtectedPaths []string `json:"protectedPaths"` // globs; outputs of calls about them stay

	Prompt  string   `json:"prompt"`  // replaces the instruction to the summariser
	Context []string `json:"context"` // lines that are added to it
}

// Strategies switches what the aggressive policy does beside the backward scan.
type Strategies struct {
	AggressivePruning AggressivePruning `json:"aggressivePruning"`
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

// DefaultSettings returns the settings that hold where nothing else is said.
func DefaultSettings() Settings {
	o := policy.Defaults()
	return Settings{
		Policy: policy.Balanced,
		Compaction: Compaction{
			Auto: o.Auto, Prune: o.Prune, Summarizer: "auto", Threshold: map[string]float64{}, UserMessages: o.UserMessages,
			Protect: o.Protect, Minimum: o.Minimum, ProtectTurns: o.Turns,
			ProtectedTools: o.ProtectedTools, ProtectedPaths: o.ProtectedPaths, Context: []string{},
		},
		Strategies: Strategies{AggressivePruning{true, true, true, true, true, true, true, true, true, true}},
		Counter:    "auto",
	}
}

// Validate reports what cannot be right, naming the key.
func (s Settings) Validate() error {
	var all []error
	bad := func(key, format string, args ...any) {
		all = append(all, fmt.Errorf("%s: %s", key, fmt.Sprintf(format, args...)))
	}
	if _, ok := policy.New(s.Policy, policy.Options{}); !ok {
		bad("policy", "%q is none; use classic, aggressive or balanced", s.Policy)
	}
	if !slices.Contains([]string{"auto", "llm", "offline"}, s.Compaction.Summarizer) {
		bad("compaction.summarizer", "%q is none; use auto, llm or offline", s.Compaction.Summarizer)
	}
	if !slices.Contains([]string{"auto", "chars4", "linear", "bpe:o200k_base", "bpe:cl100k_base"}, s.Counter) {
		bad("counter", "%q is none; use auto, chars4, linear, bpe:o200k_base or bpe:cl100k_base", s.Counter)
	}
	for _, n := range []struct {
		key   string
		value int
	}{
		{"compaction.userMessages", s.Compaction.UserMessages}, {"compaction.protect", s.Compaction.Protect},
		{"compaction.minimum", s.Compaction.Minimum}, {"compaction.protectTurns", s.Compaction.ProtectTurns},
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
			bad("compaction.protectedPaths", "%q is no pattern", glob)
		}
	}
	if err := s.budget().Validate(); err != nil {
		bad("compaction", "%s", strings.TrimPrefix(err.Error(), "budget: "))
	}
	return errors.Join(all...)
}

func (s Settings) budget() budget.Settings {
	thresholds := make(map[string]budget.Threshold, len(s.Compaction.Threshold))
	for _, pattern := range slices.Sorted(maps.Keys(s.Compaction.Threshold)) {
		thresholds[pattern] = budget.Threshold(s.Compaction.Threshold[pattern])
	}
	return budget.Settings{Reserved: s.Compaction.Reserved, Thresholds: thresholds}
}

// NewPolicy makes the policy that the settings describe. They must be valid.
func (s Settings) NewPolicy() policy.Policy {
	c := s.Compaction
	keep := pivot.KeepAuto
	if c.Keep != nil {
		keep = *c.Keep
	}
	p, _ := policy.New(s.Policy, policy.Options{
		Auto: c.Auto, Prune: c.Prune, Reserved: c.Reserved, Threshold: s.budget().Thresholds, Keep: keep,
		UserMessages: c.UserMessages, Protect: c.Protect, Minimum: c.Minimum, Turns: c.ProtectTurns,
		ProtectedTools: c.ProtectedTools, ProtectedPaths: c.ProtectedPaths, Prompt: c.Prompt, Context: c.Context,
	})
	return p
}

// withDefaults fills in what was left out.
func (c Config) withDefaults() (Config, error) {
	if c.Settings == nil {
		s := DefaultSettings()
		c.Settings = &s
	}
	if err := c.Settings.Validate(); err != nil {
		return c, &Error{Code: BadConfig, Op: "open", Err: err}
	}
	if c.Store == nil {
		c.Store = memory.New()
	}
	if c.Models == nil {
		c.Models = model.Default()
	}
	if c.Summarizer == nil && c.Settings.Compaction.Summarizer == "llm" {
		return c, &Error{Code: BadConfig, Op: "open", Err: errors.New("compaction.summarizer is llm, and no summariser that asks a model is included yet"),
			Hint: "use auto or offline, or set Config.Summarizer"}
	}
	if c.Summarizer == nil {
		c.Summarizer = offline.New()
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Random == nil {
		c.Random = rand.Reader
	}
	if c.Counter == nil {
		switch name := c.Settings.Counter; {
		case c.Settings.Policy != policy.Balanced && name == "auto", name == "chars4":
			c.Counter = token.Chars4{} // what the specification counts with
		case name == "auto", name == "linear":
			c.Counter = token.Linear{}
		default:
			return c, &Error{Code: BadConfig, Op: "open", Err: fmt.Errorf("counter %q needs a vocabulary", name),
				Hint: "make it with token/counters and set Config.Counter"}
		}
	}
	return c, nil
}
