package command

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/winnowhq/winnow/cmd/internal/cli"
)

// restedAt writes a session of Claude Code of some reads, each of about 10,000 tokens, that ended at
// a moment. hour: its cache entries were written for an hour.
func (d *desk) restedAt(id, model string, reads int, ended time.Time, hour bool) {
	d.t.Helper()
	text, parent, n := "", "null", 0
	at := ended.Add(-time.Duration(2*reads) * time.Second)
	row := func(kind, message string) {
		n++
		uuid := fmt.Sprintf("00000000-0000-4000-8000-%012d", n)
		text += fmt.Sprintf(`{"type":%q,"uuid":%q,"parentUuid":%s,"sessionId":%q,"cwd":%q,"version":"2.1.330","timestamp":%q,"message":%s}`+"\n",
			kind, uuid, parent, id, d.dir, at.UTC().Format(time.RFC3339Nano), message)
		parent, at = `"`+uuid+`"`, at.Add(time.Second)
	}
	row("user", `{"role":"user","content":"Read the tide tables."}`)
	for i := range reads {
		usage := fmt.Sprintf(`{"input_tokens":2,"cache_read_input_tokens":%d,"cache_creation_input_tokens":10000,"output_tokens":40}`, 10000*i)
		if hour {
			usage = strings.Replace(usage, `"output`, `"cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":10000},"output`, 1)
		}
		row("assistant", fmt.Sprintf(`{"id":"m%[1]d","type":"message","role":"assistant","model":%[2]q,"stop_reason":"tool_use",`+
			`"content":[{"type":"tool_use","id":"t%[1]d","name":"Read","input":{"file_path":"/tides/%[1]d"}}],"usage":%[3]s}`, i, model, usage))
		row("user", fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%d","content":%s}]}`, i,
			quoted(strings.Repeat(fmt.Sprintf("high water %d at noon, low water at six; ", i), 1000))))
	}
	path := filepath.Join(filepath.Dir(d.dir), "home", ".claude", "projects", "-desk", id+".jsonl")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		d.t.Fatal(err)
	}
	if err := os.Chtimes(path, ended, ended); err != nil {
		d.t.Fatal(err)
	}
}

// The first screen, the status line of Claude Code and wrap compare going on with compacting once the
// provider's cache has forgotten a large session. They say nothing while the cache may be warm, of a
// small session, and without a known price.
func TestCold_isSaidBeforeTheFirstPrompt(t *testing.T) {
	needsShell(t)
	const id = "0c1e2d3c-4b5a-4678-9abc-def012345678"
	const said = "the cache is gone: going on costs $"
	ended := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name, model string
		reads       int
		hour        bool
		rested      time.Duration
		want        bool
	}{
		{"five minutes, warm", "claude-opus-4-8", 14, false, 4 * time.Minute, false},
		{"five minutes, cold", "claude-opus-4-8", 14, false, 6 * time.Minute, true},
		{"an hour, warm", "claude-opus-4-8", 14, true, 50 * time.Minute, false},
		{"an hour, cold", "claude-opus-4-8", 14, true, 61 * time.Minute, true},
		{"small", "claude-opus-4-8", 2, false, time.Hour, false},
		{"no price", "claude-of-nobody", 14, false, time.Hour, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t)
			d.restedAt(id, c.model, c.reads, ended, c.hour)
			d.now = func() time.Time { return ended.Add(c.rested) }
			d.terminal = true
			client := filepath.Join(d.dir, "claude")
			if err := os.WriteFile(client, []byte("#!/bin/sh\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			line := d.runWith(t.Context(), strings.NewReader(`{"event":"status","session":"`+id+`"}`), new(bytes.Buffer), "shape", "--product", "claude")
			line.wants(t, cli.ExitDone)
			screen := d.run()
			screen.wants(t, cli.ExitDone)
			wrapped := d.run("wrap", "--", client, "--resume", id)
			wrapped.wants(t, cli.ExitDone)
			for name, text := range map[string]string{"first screen": screen.stdout, "status line": line.stdout, "wrap": wrapped.stderr} {
				if got := strings.Contains(text, said) && strings.Contains(text, ", compacted $"); got != c.want {
					t.Errorf("%s: said %t, want %t:\n%s", name, got, c.want, text)
				}
			}
			if _, told := d.run("--json").document(t)["session"].(map[string]any)["cold"]; told != c.want {
				t.Errorf("JSON: %t, want %t", told, c.want)
			}
		})
	}
}

func TestResumedSession_isNamedByTheArguments(t *testing.T) {
	for line, want := range map[string]string{
		"claude": "claude-code ", "claude --resume abc": "claude-code abc", "claude -r abc -p hello": "claude-code abc",
		"claude --resume": "claude-code ", "claude --resume --model opus": "claude-code ", "claude -c": "claude-code newest",
		"codex resume abc": "codex abc", "codex resume --last": "codex newest", "copilot --resume=abc": "copilot abc",
		"qwen --resume abc": "qwen-code abc", "opencode --session abc": "opencode abc",
	} {
		words := strings.Fields(line)
		product, id, newest := resumedSession(words[0], words[1:])
		if newest {
			id = "newest"
		}
		if got := product + " " + id; got != want {
			t.Errorf("%s: got %q, want %q", line, got, want)
		}
	}
}
