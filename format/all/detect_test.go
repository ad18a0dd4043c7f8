package all_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/format/all"
	"github.com/winnowhq/winnow/internal/outside"
)

// Each format's own examples are recognised as its own, and no other format claims them.
func TestDetect_everyExampleBelongsToOneFormat(t *testing.T) {
	names := map[string]string{"claudecode": "claude-code", "codex": "codex", "opencode": "opencode", "pi": "pi", "sweagent": "swe-agent", "geminicli": "gemini-cli", "qwen": "qwen-code", "openhands": "openhands", "copilot": "copilot", "cline": "cline"}
	seen := map[string]bool{}
	paths, err := filepath.Glob(filepath.Join(outside.Root(t), "format", "*", "testdata", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil || info.IsDir() || strings.Contains(path, ".golden.") {
			continue
		}
		want, ok := names[filepath.Base(filepath.Dir(filepath.Dir(path)))]
		if !ok {
			continue
		}
		seen[want] = true
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		head := src[:min(len(src), 64<<10)]
		for _, f := range all.Formats() {
			if got := f.Detect(head); got != (f.Name() == want) {
				t.Errorf("%s: %s says %t", path, f.Name(), got)
			}
		}
	}
	for _, name := range names {
		if !seen[name] {
			t.Errorf("no example of %s", name)
		}
	}
}

// Recorded sessions of other products are none of the formats that are only read from published
// shapes.
func TestDetect_recordedSessionsKeepTheirFormat(t *testing.T) {
	for _, path := range files(t) {
		src, err := all.Plain(outside.Read(t, path))
		if err != nil {
			t.Fatal(err)
		}
		claims := 0
		for _, f := range all.Formats() {
			if f.Detect(src[:min(len(src), 64<<10)]) {
				if claims++; f.Name() == "gemini-cli" || f.Name() == "qwen-code" || f.Name() == "openhands" {
					t.Errorf("%s: %s claims it", path, f.Name())
				}
			}
		}
		if claims == 0 {
			t.Errorf("%s: no format claims it", path)
		}
	}
}

// What Cline sends after it has compacted a session stands in a file beside it, with messages like
// those of a request.
func TestDetect_whatClineSendsIsNoSession(t *testing.T) {
	src := `{"version":1,"updated_at":"2026-04-02T09:10:00.000Z","conversation_id":"c","source_message_count":7,` +
		`"messages":[{"role":"user","content":[{"type":"text","text":"So far."}]},` +
		`{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"look","input":{}}]}]}`
	if f := all.Detect([]byte(src)); f != nil {
		t.Errorf("taken for %s", f.Title())
	}
}
