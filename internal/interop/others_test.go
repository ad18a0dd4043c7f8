//go:build interop

package interop

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/winnowhq/winnow/internal/llmtest"
)

// The sessions of these products are made and read here; what else is done to them has tests of its
// own where winnow writes them.

func TestQwenCode_read(t *testing.T) { operations(t, qwenReader) }
func TestGemini_read(t *testing.T)   { operations(t, geminiReader) }
func TestCline_read(t *testing.T)    { operations(t, clineReader) }
func TestCopilot_read(t *testing.T)  { operations(t, copilotReader) }
func TestKilo_read(t *testing.T)     { operations(t, kiloReader) }

// reader is a product that keeps a session in a file below its home, begins it with some arguments
// before the prompt, and goes on with others.
func reader(t *testing.T, name, pattern string, begin, resume []string, shell func(string) llmtest.Call,
	env func(url string) []string) *agent {
	t.Helper()
	a := &agent{shell: shell}
	a.up = provider(t, a.answer)
	a.client = newClient(t, name, env(a.up.URL)...)
	file := func() string {
		paths, err := filepath.Glob(filepath.Join(a.Home, pattern))
		if err != nil {
			t.Fatal(err)
		}
		if len(paths) == 0 {
			return ""
		}
		// Gemini CLI begins a file each minute, which stays almost empty when it went on with
		// another.
		return slices.MaxFunc(paths, func(a, b string) int { return len(readFile(t, a)) - len(readFile(t, b)) })
	}
	a.say = func(t *testing.T, prompt string) {
		args := resume
		if file() == "" {
			args = begin
		}
		a.run(t, append(args[:len(args):len(args)], prompt)...)
	}
	a.save = func(t *testing.T) []byte { return readFile(t, file()) }
	return a
}

func qwenReader(t *testing.T) *agent {
	shell := func(command string) llmtest.Call {
		return llmtest.Call{Name: "run_shell_command",
			Arguments: fmt.Sprintf(`{"command":%q,"is_background":false}`, command)}
	}
	return reader(t, "qwen", ".qwen/projects/*/chats/*.jsonl", []string{"--yolo", "-p"}, []string{"--yolo", "-c", "-p"},
		shell, func(url string) []string {
			return []string{"OPENAI_API_KEY=none", "OPENAI_BASE_URL=" + url + "/v1", "OPENAI_MODEL=scripted",
				"QWEN_TELEMETRY_ENABLED=false"}
		})
}

func geminiReader(t *testing.T) *agent {
	shell := func(command string) llmtest.Call {
		return llmtest.Call{Name: "run_shell_command", Arguments: fmt.Sprintf(`{"command":%q}`, command)}
	}
	model := []string{"-m", "gemini-2.5-flash", "--yolo"}
	a := reader(t, "gemini", ".gemini/tmp/*/chats/session-*.jsonl", append(model, "-p"),
		append(model, "--resume", "latest", "-p"), shell, func(url string) []string {
			return []string{"GEMINI_API_KEY=none", "GOOGLE_GEMINI_BASE_URL=" + url, "GEMINI_CLI_TRUST_WORKSPACE=true",
				"GEMINI_TELEMETRY_ENABLED=false", "NO_BROWSER=1"}
		})
	a.twice = true
	putFile(t, filepath.Join(a.Home, ".gemini", "settings.json"), `{"security":{"auth":{"selectedType":`+
		`"gemini-api-key"}},"privacy":{"usageStatisticsEnabled":false},"general":{"enableAutoUpdate":false}}`)
	return a
}

func copilotReader(t *testing.T) *agent {
	shell := func(command string) llmtest.Call {
		return llmtest.Call{Name: "bash", Arguments: fmt.Sprintf(`{"command":%q,"description":"run it"}`, command)}
	}
	all := []string{"--allow-all-tools", "--allow-all-paths", "-p"}
	resume := append([]string{"--continue"}, all...)
	a := reader(t, "copilot", ".copilot/session-state/*/events.jsonl", all, resume, shell,
		func(url string) []string {
			return []string{"COPILOT_OFFLINE=true", "COPILOT_PROVIDER_API_KEY=none", "COPILOT_AUTO_UPDATE=false",
				"COPILOT_PROVIDER_BASE_URL=" + url + "/v1", "COPILOT_MODEL=gpt-4.1"}
		})
	a.sums = "Please create a detailed summary of the conversation so far."
	return a
}

// clineReader is Cline, whose terminal goes on with a session only for a person.
func clineReader(t *testing.T) *agent {
	shell := func(command string) llmtest.Call {
		return llmtest.Call{Name: "run_commands", Arguments: fmt.Sprintf(`{"commands":[%q]}`, command)}
	}
	a := reader(t, "cline", ".cline/data/sessions/*/*.messages.json", nil, nil, shell, func(string) []string {
		return []string{"CLINE_SESSION_BACKEND_MODE=local"} // no daemon that stays
	})
	a.single, a.wraps = true, true
	a.run(t, "auth", "openai-compatible", "-k", "test", "-m", "scripted", "-b", a.up.URL+"/v1")
	return a
}

// kiloReader is Kilo, which has OpenCode's commands and settings.
func kiloReader(t *testing.T) *agent {
	a := openCodeNamed(t, "kilo")
	a.load = nil
	return a
}
