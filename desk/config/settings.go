package config

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/winnowhq/winnow/llm/providers"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/settings"
)

// Settings are everything that a configuration file can say: what the engine reads, and what the
// programs around it do.
type Settings struct {
	settings.Settings
	// Model is "provider/model" of the model that an agent asks if nobody names one.
	Model string `json:"model"`
	// Titles is "provider/model" of a small model that puts finished turns into a few words for
	// lists. "auto" is a small one of the provider that is asked anyway, if the catalogue knows one
	// and the provider is a known one at its own address; "off", or nothing, is the first sentences
	// of the turns.
	Titles string `json:"titles"`
	// Hooks are commands that are run when something happens to a session.
	Hooks Hooks `json:"hooks"`
	// Snapshots keeps the state of the working folder before and after each step of an agent, for
	// diffs and for going back.
	Snapshots bool `json:"snapshots"`
	// Notify is how the chat tells that a turn of over a minute has ended: "off", "bell", "osc9" or
	// "osc777".
	Notify string `json:"notify"`
	// Permissions say what the tools of an agent may do: the last rule that matches counts. Package
	// agent/tools makes a policy of them, and decides if no rule matches.
	Permissions []Permission `json:"permissions"`
	// Models are what the user knows better of models than the catalogue, by "provider/id", or by
	// patterns as of compaction.threshold; see Catalogue.
	Models map[string]model.Patch `json:"models"`
	// Providers say how models are reached, by the provider's name in "provider/model": providers
	// beside the known ones, or what is different about a known one.
	Providers map[string]Provider `json:"providers"`
	// Gateway says how the requests of agents are relayed.
	Gateway Gateway `json:"gateway"`
	MCP     MCP     `json:"mcp"` // the tools that agents have over MCP
}

// MCP says which tools an agent has over the Model Context Protocol.
type MCP struct {
	// Compact offers the tool compact, with which an agent asks for a compaction at the end of its
	// turn: CompactAuto for clients that do not compact by themselves, "on" for all, "off" for none.
	Compact string `json:"compact"`
}

// CompactAuto is the default of mcp.compact.
const CompactAuto = "auto"

// Hooks are commands that take part in what happens to a session: a program and its arguments, run
// without a shell. Package hook says what they read and print. An empty list is no hook.
type Hooks struct {
	Compacting []string `json:"session.compacting"` // before a summary is asked for
	Compacted  []string `json:"session.compacted"`  // a summary took effect
	Elided     []string `json:"elision.committed"`  // something was pruned
	Timeout    int      `json:"timeout"`            // seconds that one may take
}

// Provider says how one provider is reached, and what is known of its models. What is left out is
// what is known of a provider of that name.
type Provider struct {
	providers.Provider
	// Models are what is known of its models, by their ids, as in Settings.Models.
	Models map[string]model.Patch `json:"models,omitempty"`
}

// Permission is one rule about what an agent's tools may do; agent/tools.Rule says what its globs
// match. What is left out is everything.
type Permission struct {
	Tool    string `json:"tool,omitzero"`
	Action  string `json:"action,omitzero"` // read, write, run, fetch; env: a variable that commands get
	Target  string `json:"target,omitzero"` // a path, the words that a command begins with, an address
	Verdict string `json:"verdict"`         // allow, ask, deny
}

// Default returns the settings that hold if nothing else is said.
func Default() Settings {
	return Settings{
		Settings: settings.Default(), Titles: "auto", Snapshots: true, Notify: "off", Permissions: []Permission{},
		Hooks:  Hooks{Compacting: []string{}, Compacted: []string{}, Elided: []string{}, Timeout: 10},
		Models: map[string]model.Patch{}, Providers: map[string]Provider{},
		Gateway: Gateway{Listen: "127.0.0.1:4141", Upstreams: map[string]string{}, Mode: "full",
			Tools: GatewayTools{Drop: []string{}}, Memory: gatewayMemory, Capture: CaptureAll,
			Clients: map[string]string{}, Origins: []string{}, Page: true, SearchIndex: true, Drain: "30s",
			Retention: gatewayRetention, AuditRetention: gatewayAuditRetention},
		MCP: MCP{Compact: CompactAuto},
	}
}

// Catalogue is a catalogue with what the user knows better: of the providers, then of the models,
// so that these have the last word about the same model.
func (s Settings) Catalogue(known *model.Catalogue) *model.Catalogue {
	var all []model.Override
	for _, name := range slices.Sorted(maps.Keys(s.Providers)) {
		own := map[string]model.Patch{}
		for id, p := range s.Providers[name].Models {
			own[name+"/"+id] = p
		}
		overrides, _ := model.Overrides(own) // Validate has checked them
		all = append(all, overrides...)
	}
	overrides, _ := model.Overrides(s.Models)
	all = append(all, overrides...)
	if len(all) == 0 {
		return known
	}
	slices.SortStableFunc(all, func(a, b model.Override) int { return len(a.Match) - len(b.Match) })
	return known.With(all...)
}

// wrongModels says what cannot be of the models under a key, each with the rest of its key.
func wrongModels(models map[string]model.Patch, bad func(key, format string, args ...any)) {
	for _, name := range slices.Sorted(maps.Keys(models)) {
		if _, err := model.Overrides(map[string]model.Patch{name: {}}); err != nil {
			bad(name, "%q is neither a model nor a pattern; write one like \"ollama/qwen3:8b\" or \"ollama/*\"", name)
		}
		keys, errs := models[name].Validate()
		for i, key := range keys {
			bad(name+"."+key, "%w", errs[i])
		}
	}
}

// Validate reports what cannot be right, naming the key.
func (s Settings) Validate() error {
	var all []error
	if joined, ok := s.Settings.Validate().(interface{ Unwrap() []error }); ok {
		all = joined.Unwrap()
	}
	bad := func(key, format string, args ...any) {
		all = append(all, fmt.Errorf("%s: %w", key, fmt.Errorf(format, args...)))
	}
	wrongModels(s.Models, func(key, format string, args ...any) { bad("models."+key, format, args...) })
	if s.Model != "" && !strings.Contains(strings.Trim(s.Model, "/"), "/") {
		bad("model", "%q is not a model; write provider/model, as `winnow config models` lists them", s.Model)
	}
	if !slices.Contains([]string{"", "auto", "off"}, s.Titles) && !strings.Contains(strings.Trim(s.Titles, "/"), "/") {
		bad("titles", "%q is not a model; write provider/model, as `winnow config models` lists them, or auto or off",
			s.Titles)
	}
	if !slices.Contains([]string{"", "off", "bell", "osc9", "osc777"}, s.Notify) {
		bad("notify", "%q is not a way to notify; there are off, bell, osc9 and osc777", s.Notify)
	}
	if !slices.Contains([]string{"", CompactAuto, "on", "off"}, s.MCP.Compact) {
		bad("mcp.compact", "unknown value %q; use auto, on or off", s.MCP.Compact)
	}
	for key, command := range s.Hooks.commands() {
		switch {
		case len(*command) == 0:
		case strings.TrimSpace((*command)[0]) == "":
			bad(key, "the program is missing; the first text of the list names it")
		case filepath.Base((*command)[0]) != (*command)[0] && !filepath.IsAbs((*command)[0]):
			bad(key, "%q depends on the current folder; give the whole path, or a name to look for in PATH",
				(*command)[0])
		}
	}
	if s.Hooks.Timeout < 1 || s.Hooks.Timeout > 3600 {
		bad("hooks.timeout", "%d: give 1 to 3600 seconds", s.Hooks.Timeout)
	}
	for i, p := range s.Permissions {
		key := fmt.Sprintf("permissions.%d", i)
		switch {
		case !slices.Contains([]string{"allow", "ask", "deny"}, p.Verdict):
			bad(key+".verdict", "unknown verdict %q; use allow, ask or deny", p.Verdict)
		case !strings.Contains(p.Action, "*") && !slices.Contains([]string{"", "read", "write", "run", "fetch", "env"},
			p.Action):
			bad(key+".action", "unknown action %q; use read, write, run, fetch or env", p.Action)
		case p.Action != "run" && p.Action != "env" && !doublestar.ValidatePattern(p.Target):
			bad(key+".target", "%q is not a pattern", p.Target)
		}
	}
	s.Gateway.wrong(func(key, format string, args ...any) { bad("gateway."+key, format, args...) })
	for _, name := range slices.Sorted(maps.Keys(s.Providers)) {
		if name == "" || strings.ContainsAny(name, "/ \t\r\n") {
			bad("providers", "%q cannot name a provider: it stands before the slash in provider/model", name)
		}
		if u, err := url.Parse(s.Providers[name].BaseURL); err != nil ||
			u.String() != "" && (u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
			bad("providers."+name+".baseURL", "%q is not an address; write one like https://host/v1",
				s.Providers[name].BaseURL)
		}
		p := s.Providers[name]
		p.Wrong(func(member, format string, args ...any) { bad("providers."+name+"."+member, format, args...) })
		wrongModels(p.Models, func(key, format string, args ...any) {
			bad("providers."+name+".models."+key, format, args...)
		})
		if len(p.Body) > 0 && p.Body.Kind() != '{' {
			bad("providers."+name+".body", "it must be an object")
		}
	}
	return errors.Join(all...)
}
