package gateway

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// world is what a plan is made from in a test: files below a folder with home and project, and
// variables.
func world(t *testing.T, files, environ map[string]string) Sources {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("TMPDIR", t.TempDir())
	return Sources{Getenv: func(name string) string { return environ[name] }, Home: filepath.Join(dir, "home"),
		Dir: filepath.Join(dir, "project"), Upstreams: map[string]string{}}
}

func client(t *testing.T, name string) Client {
	t.Helper()
	for _, c := range Clients() {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("there is no client %s", name)
	return Client{}
}

// What each client is started with: the variables that it alone gets, its arguments, and where its
// requests go.
func TestFor_pointsEachClient(t *testing.T) {
	const at = "http://127.0.0.1:7/"
	type set = map[string]string
	for _, c := range []struct {
		name, client    string
		files, environ  set
		named           set // by --upstream
		wantSet, wantUp set
		wantArgs        []string
		wantError       string
	}{
		{name: "claude asks Anthropic", client: "claude",
			wantSet: set{"ANTHROPIC_BASE_URL": at + "anthropic", "_CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL": "1"},
			wantUp:  set{"anthropic": "https://api.anthropic.com"}},
		{name: "claude asks a gateway of the user's", client: "claude", environ: set{"ANTHROPIC_BASE_URL": "https://g.example/a/b/"},
			wantSet: set{"ANTHROPIC_BASE_URL": at + "anthropic/a/b"}, wantUp: set{"anthropic": "https://g.example"}},
		{name: "claude asks the gateway of its settings", client: "claude",
			files:   set{"home/.claude/settings.json": `{"env":{"ANTHROPIC_BASE_URL":"https://g.example/a"}}`},
			wantSet: set{"ANTHROPIC_BASE_URL": at + "anthropic"}, wantUp: set{"anthropic": "https://g.example"},
			wantArgs: []string{"--settings", `{"env":{"ANTHROPIC_BASE_URL":"http://127.0.0.1:7/anthropic/a"}}`}},
		{name: "--upstream counts more than settings", client: "claude", named: set{"": "https://n.example"},
			files:   set{"project/.claude/settings.local.json": `{"env":{"ANTHROPIC_BASE_URL":"https://g.example/a"}}`},
			wantSet: set{"ANTHROPIC_BASE_URL": at + "anthropic"}, wantUp: set{"anthropic": "https://n.example"},
			wantArgs: []string{"--settings", `{"env":{"ANTHROPIC_BASE_URL":"http://127.0.0.1:7/anthropic"}}`}},
		{name: "--upstream names nobody", client: "pi", named: set{"antropic": "https://n.example"},
			wantError: "pi asks no provider of that name; it asks anthropic, google"},
		{name: "claude asks Bedrock", client: "claude", environ: set{"CLAUDE_CODE_USE_BEDROCK": "1"},
			wantError: "CLAUDE_CODE_USE_BEDROCK is set"},
		{name: "a password in an address", client: "claude", environ: set{"ANTHROPIC_BASE_URL": "https://u:p@g.example"},
			wantError: "user or password"},

		{name: "codex asks the API", client: "codex", environ: set{"OPENAI_API_KEY": "k"},
			wantUp:   set{"openai": "https://api.openai.com"},
			wantArgs: []string{"-c", `openai_base_url="http://127.0.0.1:7/openai/v1"`}},
		{name: "codex asks ChatGPT", client: "codex", environ: set{"OPENAI_API_KEY": "k"},
			files:    set{"home/.codex/auth.json": `{"auth_mode":"chatgpt","OPENAI_API_KEY":null,"tokens":{"id_token":"x"}}`},
			wantUp:   set{"openai": "https://chatgpt.com"},
			wantArgs: []string{"-c", `openai_base_url="http://127.0.0.1:7/openai/backend-api/codex"`}},
		{name: "codex is logged in with a key", client: "codex",
			files:    set{"home/.codex/auth.json": `{"OPENAI_API_KEY":"k","tokens":null}`},
			wantUp:   set{"openai": "https://api.openai.com"},
			wantArgs: []string{"-c", `openai_base_url="http://127.0.0.1:7/openai/v1"`}},
		{name: "nobody knows whom codex asks", client: "codex", wantError: "--upstream openai="},
		{name: "codex asks providers of its own", client: "codex", environ: set{"CODEX_HOME": ""},
			files: set{"home/.codex/config.toml": "model_provider = \"house\" # ours\n[model_providers.house]\nname = 'House'\n" +
				"base_url = \"http://h.example:8000/v1\"\n[model_providers.azure]\nbase_url = 'https://z.example/openai'\nquery_params = { api-version = \"1\" }\n"},
			wantUp: set{"house": "http://h.example:8000", "azure": "https://z.example"},
			wantArgs: []string{"-c", `model_providers.azure.base_url="http://127.0.0.1:7/azure/openai"`,
				"-c", `model_providers.house.base_url="http://127.0.0.1:7/house/v1"`}},

		{name: "opencode asks its own providers", client: "opencode",
			wantSet: set{"ANTHROPIC_BASE_URL": at + "anthropic/v1", "OPENAI_BASE_URL": at + "openai/v1"},
			wantUp:  set{"anthropic": "https://api.anthropic.com", "openai": "https://api.openai.com"}},
		{name: "opencode asks the providers of its configuration", client: "opencode",
			environ: set{"HOUSE": "https://h.example/v1", "OPENCODE_CONFIG_CONTENT": `{"model":"house/m",}`},
			files: set{"home/.config/opencode/opencode.jsonc": "{/**/\"provider\":{\"house\":{\"options\":{\"baseURL\":\"{env:HOUSE}\",\"apiKey\":\"k\"}}}}",
				"project/.git/HEAD": "", "project/opencode.json": `{"provider":{"local":{"options":{"baseURL":"http://127.0.0.1:1/v1"}}}}`},
			wantSet: set{"ANTHROPIC_BASE_URL": at + "anthropic/v1", "OPENAI_BASE_URL": at + "openai/v1",
				"OPENCODE_CONFIG_CONTENT": `{"model":"house/m","provider":{"house":{"options":{"baseURL":"http://127.0.0.1:7/house/v1"}},` +
					`"local":{"options":{"baseURL":"http://127.0.0.1:7/local/v1"}}}}`},
			wantUp: set{"anthropic": "https://api.anthropic.com", "openai": "https://api.openai.com",
				"house": "https://h.example", "local": "http://127.0.0.1:1"}},

		{name: "gemini has chosen nothing", client: "gemini", wantError: "/auth"},
		{name: "gemini has a login with Google", client: "gemini", wantError: "oauth-personal",
			files: set{"home/.gemini/settings.json": `{"security":{"auth":{"selectedType":"oauth-personal"}}}`}},
		{name: "gemini asks Google", client: "gemini",
			files:   set{"home/.gemini/settings.json": `{"security":{"auth":{"selectedType":"gemini-api-key"}}}`},
			wantSet: set{"GOOGLE_GEMINI_BASE_URL": at + "gemini"}, wantUp: set{"gemini": "https://generativelanguage.googleapis.com"}},
		{name: "qwen says whom it asks", client: "qwen", environ: set{"OPENAI_BASE_URL": "https://dashscope.example/compatible-mode/v1"},
			wantSet: set{"OPENAI_BASE_URL": at + "openai/compatible-mode/v1"}, wantUp: set{"openai": "https://dashscope.example"}},
		{name: "qwen does not", client: "qwen", wantError: "set OPENAI_BASE_URL, or give --upstream"},
		{name: "copilot asks GitHub", client: "copilot", wantError: "set COPILOT_PROVIDER_BASE_URL"},
		{name: "copilot asks a provider", client: "copilot", named: set{"": "https://h.example?v=1"},
			wantSet: set{"COPILOT_PROVIDER_BASE_URL": at + "provider?v=1"}, wantUp: set{"provider": "https://h.example"}},
		{name: "aider", client: "aider", environ: set{"HTTPS_PROXY": "http://proxy:1", "NO_PROXY": "corp"},
			wantSet: set{"ANTHROPIC_API_BASE": at + "anthropic", "ANTHROPIC_BASE_URL": at + "anthropic", "OPENAI_API_BASE": at + "openai/v1",
				"OPENAI_BASE_URL": at + "openai/v1", "NO_PROXY": "corp,127.0.0.1", "no_proxy": "127.0.0.1"},
			wantUp: set{"anthropic": "https://api.anthropic.com", "openai": "https://api.openai.com"}},
		{name: "cline has no provider", client: "cline", wantError: "cline auth"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := world(t, c.files, c.environ)
			for name, base := range c.named {
				s.Upstreams[name] = base
			}
			p, err := For(client(t, c.client), []string{"an argument"}, "127.0.0.1:7", s)
			if c.wantError != "" {
				if err == nil || !strings.Contains(err.Error(), c.wantError) || strings.Contains(err.Error(), "u:p") {
					t.Fatalf("the error is %v, want %q in it", err, c.wantError)
				}
				if left, _ := os.ReadDir(os.TempDir()); len(left) > 0 {
					t.Errorf("temporary files: %v", left)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if c.wantSet == nil {
				c.wantSet = set{}
			}
			if diff := cmp.Diff(c.wantSet, p.Set); diff != "" {
				t.Errorf("variables (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.wantUp, p.Upstreams); diff != "" {
				t.Errorf("upstreams (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(append(c.wantArgs, "an argument"), p.Args); diff != "" {
				t.Errorf("arguments (-want +got):\n%s", diff)
			}
			if left, _ := os.ReadDir(os.TempDir()); len(left) > 0 {
				t.Errorf("temporary files: %v", left)
			}
		})
	}
}

// pi and Cline know a file alone: it is a temporary one that only this user can read, and goes with
// the plan. Their own settings stay as they are.
func TestFor_temporaryFilesGo(t *testing.T) {
	const models = `{"providers":{"house":{"baseUrl":"http://h.example/v1","apiKey":"k"}}}`
	const providers = `{"version":1,"lastUsedProvider":"openai-compatible","providers":{` +
		`"openai-compatible":{"settings":{"apiKey":"k","baseUrl":"https://h.example/v1"},"tokenSource":"manual"},"cline":{"settings":{}}}}`
	s := world(t, map[string]string{"home/.pi/agent/models.json": models,
		"home/.cline/data/settings/providers.json": providers}, nil)
	for name, want := range map[string]string{
		"pi":    `pi.registerProvider("house", { baseUrl: "http://127.0.0.1:7/house/v1" });`,
		"cline": `"baseUrl":"http://127.0.0.1:7/openai-compatible/v1"`,
	} {
		p, err := For(client(t, name), nil, "127.0.0.1:7", s)
		if err != nil {
			t.Fatal(err)
		}
		file := p.Set["CLINE_PROVIDER_SETTINGS_PATH"]
		if name == "pi" {
			file = p.Args[1]
		}
		text, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s is told %s, %v; want %s in it", name, text, err, want)
		}
		for _, path := range []string{file, filepath.Dir(file)} {
			if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s: others can read %s: %v, %v", name, path, info.Mode(), err)
			}
		}
		if err := p.Remove(); err != nil {
			t.Error(err)
		}
		if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
			t.Errorf("%s left %v, %v", name, left, err)
		}
	}
	if text, err := os.ReadFile(s.Home + "/.cline/data/settings/providers.json"); err != nil || string(text) != providers {
		t.Errorf("Cline's own settings are %s, %v", text, err)
	}
}

// What a crash has left goes with the next start; what another process uses stays.
func TestFor_whatACrashLeftGoes(t *testing.T) {
	s := world(t, nil, nil)
	used, err := For(client(t, "pi"), nil, "127.0.0.1:7", s)
	if err != nil {
		t.Fatal(err)
	}
	crashed, err := For(client(t, "pi"), nil, "127.0.0.1:7", s)
	if err != nil {
		t.Fatal(err)
	}
	crashed.temp.lock.Close() // as the end of a process does
	if next, err := For(client(t, "pi"), nil, "127.0.0.1:7", s); err != nil || next.Remove() != nil {
		t.Fatal(err)
	}
	for p, want := range map[*Plan]bool{used: true, crashed: false} {
		if _, err := os.Stat(p.Args[1]); (err == nil) != want {
			t.Errorf("%s: %v; want it there: %v", p.Args[1], err, want)
		}
	}
	if err := used.Remove(); err != nil {
		t.Error(err)
	}
}

func TestTomlTexts_readsWhatStandsOnALine(t *testing.T) {
	got := tomlTexts("# a = \"no\"\na = \"1\" # b\nb='2\\'\nc = 3\nd = \"\"\"x\ne = \"no\"\n\"\"\"\nf.\"g\" = \"\\u0034\"\n" +
		"[t.'u v']\nh = \"5\"\n[[list]]\ni = { j = \"no\" }\nk = \"unfinished\nl\n")
	want := map[string]string{"a": "1", "b": `2\`, "f.g": "4", "t.u v.h": "5"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestEnviron_replacesAndKeeps(t *testing.T) {
	p := &Plan{Set: map[string]string{"A": "1", "B": "2"}}
	want := []string{"C=3", "A=1", "B=2"}
	if diff := cmp.Diff(want, p.Environ([]string{"A=0", "C=3", "A=x"})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// FuzzSettings: whatever stands in the files of clients, a plan is made or refused, and nothing of
// the files is in an error.
func FuzzSettings(f *testing.F) {
	for _, seed := range []string{`{"env":{"ANTHROPIC_BASE_URL":"https://h/a?b"}}`, "openai_base_url = \"http://canary:canary@h\"\n[x",
		`{"providers":{"a":{"settings":{"baseUrl":"https://canary@h"}},"b":1}}`, `{"provider":{"..":{"options":{"baseURL":"http://h"}}}}`,
		`{"tokens":{},"auth_mode":"chatgpt"}`, "[model_providers.a]\nbase_url=\"http://h/%zz\"", "{", "\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		files := map[string]string{"project/.git/HEAD": ""}
		for _, name := range []string{".claude/settings.json", ".codex/config.toml", ".codex/auth.json", ".config/opencode/opencode.json",
			".pi/agent/models.json", ".cline/data/settings/providers.json"} {
			files["home/"+name] = text
		}
		s := world(t, files, map[string]string{"OPENCODE_CONFIG_CONTENT": text, "OPENAI_API_KEY": "k"})
		for _, c := range Clients() {
			p, err := For(c, nil, "127.0.0.1:7", s)
			if err != nil {
				if strings.Contains(err.Error(), "canary") {
					t.Errorf("%s: %v", c.Name, err)
				}
				continue
			}
			for name, value := range p.Upstreams {
				if strings.Contains(value, "@") || name == "" {
					t.Errorf("%s: upstream %q is %q", c.Name, name, value)
				}
			}
			if err := p.Remove(); err != nil {
				t.Error(err)
			}
		}
	})
}
