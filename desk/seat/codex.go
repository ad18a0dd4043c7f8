package seat

import (
	"bytes"
	"path/filepath"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// codex is the seat in Codex: a server of the Model Context Protocol. Codex has no place for what
// is left out of requests or for a summary; its gateway does that, which a note names.
type codex struct{}

func (codex) Name() string { return "codex" }

func (codex) Versions() Versions {
	return Versions{Program: "codex", Tried: []string{"0.169.0", "0.171.0"}}
}

func (codex) folder(p Place) string {
	if p.Project != "" {
		return filepath.Join(p.Project, ".codex")
	}
	return p.Config("CODEX_HOME", ".codex")
}

func (s codex) Plan(p Place) (Plan, error) {
	table := "\n[mcp_servers.winnow] # winnow install codex\ncommand = " + strconv.Quote(p.Winnow) +
		"\nargs = [\"mcp\"]\n"
	value, err := json.Marshal(table)
	plan := Plan{
		Members: []Member{{Path: filepath.Join(s.folder(p), "config.toml"), Keys: []string{"mcp_servers", "winnow"},
			Value: value}},
		Notes: []string{
			"The tools answer for sessions that are in winnow's store: those that go through winnow wrap or winnow " +
				"serve, that codex-results keeps, and that winnow import was given.",
			"Codex lets nobody write its summaries or change its requests from inside. To have both: winnow wrap " +
				"codex, or, beside a running winnow serve, codex -c model_provider=winnow -c " +
				"'model_providers.winnow={name=\"winnow\", base_url=\"http://127.0.0.1:4141/openai/v1\", " +
				"wire_api=\"responses\", env_key=\"OPENAI_API_KEY\"}'",
			"To have results of tools shortened before Codex sends them: winnow install codex-results",
		},
	}
	if p.Project != "" {
		plan.Notes = append(plan.Notes, "Codex reads the settings of a project only if you trust the project.")
	}
	return plan, err
}

func (codex) Check(Place) []Finding { return nil }

// codexResults is the seat in Codex that shows less of results of tools: a hook.
type codexResults struct{}

func (codexResults) Name() string { return "codex-results" }

func (codexResults) Versions() Versions { return codex{}.Versions() }

// file is never config.toml: there an error of shape keeps Codex from starting.
func (codexResults) file(p Place) string { return filepath.Join(codex{}.folder(p), "hooks.json") }

func (s codexResults) Plan(p Place) (Plan, error) {
	type handler struct {
		Type    string `json:"type"`
		Command string `json:"command"`
		Timeout int    `json:"timeout"` // seconds
	}
	value, err := json.Marshal(struct {
		Hooks []handler `json:"hooks"`
	}{[]handler{{"command", shellWord(p.Winnow) + " shape --product codex --quiet", 10}}},
		jsontext.EscapeForHTML(false))
	return Plan{
		Members: []Member{{Path: s.file(p), Keys: []string{"hooks", "PostToolUse"}, Value: value, Append: true}},
		Notes: []string{"Codex runs no hook that you have not trusted, and codex exec does not say so: start codex, " +
			"which asks at its start, review the hook (/hooks shows it, too), and trust it. A winnow at another " +
			"place has to be trusted again."},
	}, err
}

func (s codexResults) Check(p Place) []Finding {
	config, err := read(filepath.Join(codex{}.folder(codexUser(p)), "config.toml"))
	if err != nil {
		return nil
	}
	hooks, err := read(s.file(p))
	if err != nil {
		return nil
	}
	switch known, trusted := trustOf(config, s.file(p), hooks); {
	case trusted:
		return nil
	case known:
		return []Finding{{Code: "seat-untrusted", Path: s.file(p), Wrong: true,
			What: "what Codex was told to trust is not the hook that shows less of results as it is now, or the " +
				"hook is switched off there: Codex 0.169.0 does not run it, and codex exec does not say so",
			Do: "start codex, review it under /hooks, and trust it"}}
	}
	return []Finding{{Code: "seat-untrusted", Path: s.file(p), Wrong: true,
		What: "Codex has not been told to trust the hook that shows less of results: it does not run it, and codex " +
			"exec does not say so",
		Do: "start codex, review it under /hooks, and trust it"}}
}

// codexUser is a place as Codex's own settings, which say what is trusted, are found there.
func codexUser(p Place) Place {
	p.Project = ""
	return p
}

// shellWord is a word as a shell reads it.
func shellWord(word string) string {
	for _, r := range word {
		plain := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !plain && !bytes.ContainsRune([]byte("/._-+:@%,"), r) {
			return "'" + string(bytes.ReplaceAll([]byte(word), []byte("'"), []byte(`'\''`))) + "'"
		}
	}
	return word
}
