package gateway

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// Client is an agent that can be pointed at a listener. Its program has its name.
type Client struct {
	Name string
	APIs []API // that it asks
	// Elsewhere are variables that make it ask where winnow cannot stand in between.
	Elsewhere []string
	// point does what the variables of the APIs do not do; nil is nothing.
	point func(*Plan) error
}

// API is one that a client asks.
type API struct {
	Name string // of its upstream at the listener
	// Base is the base URL that the client uses if nobody names another one, as it would be
	// written in its variable. "" is one that winnow cannot know.
	Base string
	// Variables are those that name the base URL. The first that is set counts; all are set.
	Variables []string
}

// The APIs of the providers, by the variables that most programs read.
var (
	messages = API{"anthropic", "https://api.anthropic.com", []string{"ANTHROPIC_BASE_URL"}}
	openai   = API{"openai", "https://api.openai.com/v1", []string{"OPENAI_BASE_URL", "OPENAI_API_BASE"}}
	gemini   = API{"gemini", "https://generativelanguage.googleapis.com", []string{"GOOGLE_GEMINI_BASE_URL"}}
)

// Clients are the agents that `winnow wrap` knows, in the order of the documentation.
func Clients() []Client {
	return []Client{
		{Name: "claude", APIs: []API{messages}, point: claude, Elsewhere: []string{"CLAUDE_CODE_USE_BEDROCK",
			"CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY", "ANTHROPIC_UNIX_SOCKET"}},
		{Name: "codex", point: codex},
		{Name: "opencode", point: opencode, APIs: []API{
			{"anthropic", "https://api.anthropic.com/v1", []string{"ANTHROPIC_BASE_URL"}},
			{"openai", "https://api.openai.com/v1", []string{"OPENAI_BASE_URL"}}}},
		{Name: "pi", point: pi},
		{Name: "gemini", APIs: []API{gemini}, point: geminiCLI,
			Elsewhere: []string{"GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_GCA"}},
		{Name: "qwen", APIs: []API{{"openai", "", []string{"OPENAI_BASE_URL"}}}},
		{Name: "copilot", APIs: []API{{"provider", "", []string{"COPILOT_PROVIDER_BASE_URL"}}}},
		{Name: "cline", point: cline},
		{Name: "aider", APIs: []API{
			{"anthropic", "https://api.anthropic.com", []string{"ANTHROPIC_API_BASE", "ANTHROPIC_BASE_URL"}},
			{"openai", "https://api.openai.com/v1", []string{"OPENAI_API_BASE", "OPENAI_BASE_URL"}}}},
	}
}

// Command is a program that reads the variables that most do.
func Command(program string) Client {
	return Client{Name: program, APIs: []API{messages, openai, gemini}}
}

// claude switches on again what Claude Code switches off when its base URL is not Anthropic's own:
// tool search, fine-grained streaming of tool input, the window of a million tokens. It is, behind
// the listener.
func claude(p *Plan) error {
	if to, err := url.Parse(p.bases["anthropic"]); err == nil && to.Host == "api.anthropic.com" {
		p.set("_CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL", "1")
	}
	// The variables of its settings take precedence over those that it is started with.
	at := p.sources.Getenv("CLAUDE_CONFIG_DIR")
	if at == "" {
		at = p.home(".claude")
	}
	for _, file := range []string{at + "/settings.json", p.dir(".claude/settings.json"),
		p.dir(".claude/settings.local.json")} {
		var settings struct {
			Env map[string]string `json:"env"`
		}
		own := ""
		if p.read(file, &settings) {
			own = settings.Env["ANTHROPIC_BASE_URL"]
		}
		if own == "" {
			continue
		}
		if err := p.relay("anthropic", own); err != nil {
			return err
		}
		p.drop("_CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL")
		p.before = []string{"--settings", `{"env":{"ANTHROPIC_BASE_URL":` + quoted(p.at("anthropic")) + `}}`}
	}
	return nil
}

// geminiCLI sees to it that Gemini CLI is at its key. Where its settings choose no way to log in, a
// base URL in the environment makes it choose another one, which fails.
func geminiCLI(p *Plan) error {
	home := p.sources.Getenv("GEMINI_CLI_HOME")
	if home == "" {
		home = p.sources.Home
	}
	selected := ""
	for _, file := range []string{home + "/.gemini/settings.json", p.dir(".gemini/settings.json")} {
		var settings struct {
			Security struct {
				Auth struct {
					Selected string `json:"selectedType"`
				} `json:"auth"`
			} `json:"security"`
		}
		if p.read(file, &settings) && settings.Security.Auth.Selected != "" {
			selected = settings.Security.Auth.Selected
		}
	}
	switch {
	case selected == "gemini-api-key" || selected == "gateway":
	case selected == "" && p.sources.Getenv("GOOGLE_GEMINI_BASE_URL") != "":
	case selected == "":
		return errors.New("the settings of Gemini CLI choose no way to log in, and a base URL would make it choose " +
			"another one than your key: start gemini, choose the API key with /auth, then start it again with winnow")
	default:
		return fmt.Errorf("the login of Gemini CLI is %q, with which it asks where winnow cannot stand in between: "+
			"choose an API key with /auth, or start it without winnow", selected)
	}
	return nil
}

// opencode points the providers of OpenCode's configuration that have an address of their own. Its
// own providers read variables; one that is named in the configuration counts as chosen.
func opencode(p *Plan) error {
	type provider struct {
		Options struct {
			BaseURL string `json:"baseURL,omitzero"`
		} `json:"options,omitzero"`
	}
	type configuration struct {
		Provider map[string]provider `json:"provider,omitzero"`
	}
	const inline = "OPENCODE_CONFIG_CONTENT"
	found := configuration{map[string]provider{}}
	add := func(c configuration) {
		for name, one := range c.Provider {
			if one.Options.BaseURL != "" {
				found.Provider[name] = one
			}
		}
	}
	folder := p.sources.Getenv("XDG_CONFIG_HOME")
	if folder == "" {
		folder = p.home(".config")
	}
	files := []string{folder + "/opencode/config.json", folder + "/opencode/opencode.json",
		folder + "/opencode/opencode.jsonc", p.sources.Getenv("OPENCODE_CONFIG")}
	for _, dir := range p.folders() {
		files = append(files, dir+"/opencode.json", dir+"/opencode.jsonc")
	}
	for _, file := range files {
		var c configuration
		if p.read(file, &c) {
			add(c)
		}
	}
	var last configuration
	if own := p.sources.Getenv(inline); own != "" && decode([]byte(own), &last) == nil {
		add(last)
	}
	pointed := configuration{map[string]provider{}}
	for name, one := range found.Provider {
		base := one.Options.BaseURL
		if variable, ok := strings.CutPrefix(base, "{env:"); ok {
			base = p.sources.Getenv(strings.TrimSuffix(variable, "}"))
		}
		if err := p.relay(name, base); err != nil {
			continue // it is written in a way that only OpenCode reads, or cannot be relayed
		}
		one.Options.BaseURL = p.at(name)
		pointed.Provider[name] = one
	}
	if len(pointed.Provider) == 0 {
		return nil
	}
	content, err := merged(p.sources.Getenv(inline), pointed)
	if err != nil {
		return err
	}
	p.set(inline, content)
	return nil
}
