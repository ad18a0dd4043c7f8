package winnow

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/budget"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/pivot"
	"github.com/winnowhq/winnow/policy"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/memory"
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
	// Summarizer writes the summaries, whatever the settings say. Default: who they say.
	Summarizer pivot.Summarizer
	// SummarizerFor makes the summariser that asks a model: compaction.model where it is set, and where that cannot be had, or none is
	// set, the model that reads the session. An error says why that model cannot be asked; with compaction.summarizer "llm" it ends the
	// compaction, with "auto" the offline summariser writes instead. nil without an error is "not this one". Default: none, and with "auto" the
	// offline summariser writes.
	SummarizerFor func(m model.Model) (pivot.Summarizer, error)
	// Prefix tells what the program's own requests begin with, so that the request for a summary can extend the last of them and is read
	// from the provider's cache. The summariser must ask as the program does, then: through the same client of package llm, or through one
	// whose upstream.Config.Body says what the program's requests say besides, for thinking, effort, tool_choice and prompt_cache_key are part of
	// what a cache knows a prompt by. Default: unknown, and the request for a summary stands by itself.
	Prefix func(ctx context.Context, sessionID string) (Prefix, error)
	// Counter estimates sizes. Default: what Settings.Counter names, as far as this package has it without a vocabulary:
	// chars4 or linear; package token/counters makes the others.
	Counter token.Counter
	// Calibrated is what was learned of the models' tokenizers, for counters that learn. Default: nothing yet; what is learned goes when the
	// engine does.
	Calibrated *token.Calibrated
	Hooks      Hooks
	// Stretch: the sessions are stretches of longer ones that go on behind them, so that all of them was sent to a model, what their newest step gave too.
	Stretch bool

	// Now tells the time. Default: time.Now.
	Now func() time.Time
	// Random gives the random part of ids. Default: crypto/rand.
	Random io.Reader
}

// Settings are what a configuration file can say. The JSON names are those of winnow.jsonc.
type Settings struct {
	Policy string `json:"policy"`
	// Schedule is when what the policy's rules find is left out: eager (when a turn has ended; under aggressive at every step), economic (when it saves more
	// than it costs to write the prompt to the provider's cache again), or empty for the policy's own: economic of balanced, eager of the others.
	Schedule   string     `json:"schedule"`
	Compaction Compaction `json:"compaction"`
	Strategies Strategies `json:"strategies"`
	Counter    string     `json:"counter"` // chars4, linear, bpe:o200k_base, bpe:cl100k_base, auto
	// Model is "provider/model" of the model that an agent asks where nobody names one. The engine does not read it.
	Model string `json:"model"`
	// Titles is "provider/model" of the model that puts finished turns into a few words for lists, a small one; empty: their own first sentences are taken. The
	// engine does not read it.
	Titles string `json:"titles"`
	// Snapshots keeps the state of the working folder before and after each step of an agent, for diffs and for going back. The engine does not read it.
	Snapshots bool `json:"snapshots"`
	// Permissions say what the tools of an agent may do: the last rule that matches counts. The engine does not read them; package agent/tools has the
	// policy that is made of them, and its verdicts where no rule matches.
	Permissions []Permission `json:"permissions"`
	// Providers say how models are reached, by the provider's name in "provider/model": providers beside those that are known, or what
	// is different about one that is. The engine does not read them; Config.SummarizerFor is made from them.
	Providers map[string]Provider `json:"providers"`
}

// Provider says how one provider is reached. What is left out is what is known of a provider of that name.
type Provider struct {
	Protocol string            `json:"protocol,omitzero"` // the API that it speaks
	BaseURL  string            `json:"baseURL,omitzero"`  // what stands before the protocol's own path
	KeyEnv   string            `json:"keyEnv,omitzero"`   // the environment variable that holds the key
	Headers  map[string]string `json:"headers,omitempty"` // sent with every request; "$NAME" is the variable of that name

	Idle      int            `json:"idle,omitzero"`      // seconds of silence after which a request is given up
	Longest   int            `json:"longest,omitzero"`   // seconds that a request may take in all
	MaxTokens string         `json:"maxTokens,omitzero"` // the member that bounds an answer, where servers differ
	Body      jsontext.Value `json:"body,omitzero"`      // a JSON object of members that every request gets besides; null leaves one out
}

// Permission is one rule about what an agent's tools may do; agent/tools.Rule says what its globs match. What is left out is everything.
type Permission struct {
	Tool    string `json:"tool,omitzero"`
	Action  string `json:"action,omitzero"` // read, write, run, fetch; env: a variable that commands get
	Target  string `json:"target,omitzero"` // a path, the words that a command begins with, an address
	Verdict string `json:"verdict"`         // allow, ask, deny
}

// Compaction is the part of the settings about pruning and folding.
type Compaction struct {
	Auto       bool   `json:"auto"`       // fold when the window overflows
	Background *bool  `json:"background"` // prepare the summary before that, while the work goes on; null: the policy's own, on of balanced and off of the others
	Prune      bool   `json:"prune"`      // elide old tool outputs
	Model      string `json:"model"`      // "provider/model" for summaries; empty: the session's
	Summarizer string `json:"summarizer"` // auto, llm, offline
	// Threshold acts before the window is full: a pattern over "provider/model" to a fraction of the context (up to 1), to tokens, or to "economic", which
	// lets what requests cost decide; or one of these alone, for every model.
	Threshold budget.Thresholds `json:"threshold"`
	Reserved  *int              `json:"reserved"` // tokens left free; null: min(20000, the answer's share)
	Keep      *int              `json:"keep"`     // tokens of the newest messages that stay; null: a quarter of the usable, 2,000 to 15,000

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
	AggressivePruning policy.Ten        `json:"aggressivePruning"`
	BalancedPruning   policy.Strategies `json:"balancedPruning"`
	// Handles shows, under every result that is worth it, the handle by which an agent can discard or distill it. Off by default: each costs about
	// 8 tokens at every step, which pays only where the loop offers the tools that take them (package selfprune).
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

// DefaultSettings returns the settings that hold where nothing else is said.
func DefaultSettings() Settings {
	o := policy.Defaults()
	return Settings{
		Policy: policy.Balanced,
		Compaction: Compaction{
			Auto: o.Auto, Prune: o.Prune, Summarizer: "auto", Threshold: budget.Thresholds{}, UserMessages: o.UserMessages,
			Protect: o.Protect, Minimum: o.Minimum, ProtectTurns: o.Turns,
			ProtectedTools: o.ProtectedTools, ProtectedPaths: o.ProtectedPaths, Context: []string{},
		},
		Strategies: Strategies{
			AggressivePruning: policy.DefaultStrategies(policy.Aggressive).Ten, BalancedPruning: policy.DefaultStrategies(policy.Balanced),
		},
		Counter:     "auto",
		Snapshots:   true,
		Permissions: []Permission{},
		Providers:   map[string]Provider{},
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
	if s.Schedule != "" && !slices.Contains(policy.Schedules(), s.Schedule) {
		bad("schedule", "%q is none; use eager or economic, or leave it empty for the policy's own", s.Schedule)
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
		{"strategies.balancedPruning.minTokens", s.Strategies.BalancedPruning.MinTokens},
		{"strategies.balancedPruning.quietSteps", s.Strategies.BalancedPruning.QuietSteps}, {"strategies.balancedPruning.errorTurns", s.Strategies.BalancedPruning.ErrorTurns},
		{"strategies.balancedPruning.errorSteps", s.Strategies.BalancedPruning.ErrorSteps}, {"strategies.balancedPruning.fileTurns", s.Strategies.BalancedPruning.FileTurns},
		{"strategies.balancedPruning.fileSteps", s.Strategies.BalancedPruning.FileSteps}, {"strategies.balancedPruning.codeBlockTurns", s.Strategies.BalancedPruning.CodeBlockTurns},
		{"strategies.balancedPruning.keepSnapshots", s.Strategies.BalancedPruning.KeepSnapshots},
		{"strategies.balancedPruning.idleSteps", s.Strategies.BalancedPruning.IdleSteps}, {"strategies.balancedPruning.idleInputSteps", s.Strategies.BalancedPruning.IdleInputSteps},
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
	if m := s.Compaction.Model; m != "" && !strings.Contains(strings.Trim(m, "/"), "/") {
		bad("compaction.model", "%q is none; write provider/model, as `winnow models` lists them", m)
	}
	if s.Model != "" && !strings.Contains(strings.Trim(s.Model, "/"), "/") {
		bad("model", "%q is none; write provider/model, as `winnow models` lists them", s.Model)
	}
	if s.Titles != "" && !strings.Contains(strings.Trim(s.Titles, "/"), "/") {
		bad("titles", "%q is none; write provider/model, as `winnow models` lists them", s.Titles)
	}
	for i, p := range s.Permissions {
		key := fmt.Sprintf("permissions.%d", i)
		switch {
		case !slices.Contains([]string{"allow", "ask", "deny"}, p.Verdict):
			bad(key+".verdict", "%q is none; use allow, ask or deny", p.Verdict)
		case !strings.Contains(p.Action, "*") && !slices.Contains([]string{"", "read", "write", "run", "fetch", "env"}, p.Action):
			bad(key+".action", "%q is none; use read, write, run, fetch or env", p.Action)
		case p.Action != "run" && p.Action != "env" && !doublestar.ValidatePattern(p.Target):
			bad(key+".target", "%q is no pattern", p.Target)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Providers)) {
		if name == "" || strings.ContainsAny(name, "/ \t\r\n") {
			bad("providers", "%q is no name of a provider: it stands before the slash in provider/model", name)
		}
		if u, err := url.Parse(s.Providers[name].BaseURL); err != nil || u.String() != "" && (u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
			bad("providers."+name+".baseURL", "%q is no address; write one like https://host/v1", s.Providers[name].BaseURL)
		}
		p := s.Providers[name]
		if p.Protocol != "" && !slices.Contains([]string{"openai-chat", "openai-responses", "anthropic", "gemini"}, p.Protocol) {
			bad("providers."+name+".protocol", "%q is none; use openai-chat, openai-responses, anthropic or gemini", p.Protocol)
		}
		if p.MaxTokens != "" && p.MaxTokens != "max_tokens" && p.MaxTokens != "max_completion_tokens" {
			bad("providers."+name+".maxTokens", "%q is none; use max_tokens or max_completion_tokens", p.MaxTokens)
		}
		if p.Idle < 0 {
			bad("providers."+name+".idle", "%d: give 1 or more seconds, or leave it out for 120", p.Idle)
		}
		if p.Longest < 0 {
			bad("providers."+name+".longest", "%d: give 1 or more seconds, or leave it out for 1800", p.Longest)
		}
		if len(p.Body) > 0 && p.Body.Kind() != '{' {
			bad("providers."+name+".body", "it must be an object")
		}
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
		Auto: c.Auto, Background: c.Background, Prune: c.Prune, Schedule: s.Schedule, Reserved: c.Reserved, Threshold: s.budget().Thresholds, Keep: keep,
		UserMessages: c.UserMessages, Protect: c.Protect, Minimum: c.Minimum, Turns: c.ProtectTurns,
		ProtectedTools: c.ProtectedTools, ProtectedPaths: c.ProtectedPaths, Prompt: c.Prompt, Context: c.Context, Strategies: s.strategies(),
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
	if c.Summarizer == nil && c.SummarizerFor == nil && c.Settings.Compaction.Summarizer == "llm" {
		return c, &Error{Code: BadConfig, Op: "open", Err: errors.New("compaction.summarizer is llm, and this program has no way to ask a model"),
			Hint: "use auto or offline, or set Config.SummarizerFor"}
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
