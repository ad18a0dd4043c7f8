//go:build interop

package interop

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/winnowhq/winnow/internal/outside"
)

func buildWinnow(t *testing.T, dir string) (path string) {
	t.Helper()
	path = filepath.Join(dir, "winnow")
	if out, err := exec.Command("go", "build", "-o", path,
		"github.com/winnowhq/winnow/cmd/winnow").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return path
}

// Sessions of a long job, some with compactions of the product's in them, which were recorded once.
func TestWinnow_recordedSessionsAreResumed(t *testing.T) {
	for _, c := range []struct {
		start  func(*testing.T) *agent
		source []string // below the folder that is not part of the project
		words  string   // of the user's, that must survive
	}{
		{claudeAgent, []string{"fixtures", "claude-code.jsonl"}, "Never touch the Store type"},
		{claudeAgent, []string{"fixtures", "claude-code-compacted.jsonl.gz"}, "Never touch the Store type"},
		{codexAgent, []string{"fixtures", "codex-rollout.jsonl"}, "Never touch the Store type"},
		{codexAgent, []string{"fixtures", "codex-rollout-compacted.jsonl.gz"}, "Never touch the Store type"},
		{openCodeAgent, []string{"fixtures", "opencode-export.json"}, "Never touch the Store type"},
		{openCodeAgent, []string{"fixtures", "opencode-export-compacted.json.gz"}, "Never touch the Store type"},
		{piAgent, []string{"corpus", "pi", "00d8dfb2-large-session.jsonl.gz"}, "invalid themes must NEVER explode"},
	} {
		t.Run(c.source[len(c.source)-1], func(t *testing.T) {
			w, whole := newWorkshop(t, c.start), outside.Read(t, outside.Path(t, c.source...))
			tries(t, "compact")
			folder := readAny(t, whole).Session.Info.Directory // pi goes on only in a folder that exists
			whole = bytes.Replace(whole, []byte(strconv.Quote(folder)), []byte(strconv.Quote(w.dir)), 1)
			asked := w.resume(t, w.change(t, whole, "compact")).asked(t, "OKAPI")
			checkContains(t, asked, true, "Made from the log without a model", c.words)
			t.Logf("the request has %d bytes, the session had %d", len(asked.Body), len(whole))
			if len(asked.Body) > len(whole) {
				t.Error("the request is larger than the session")
			}
		})
	}
}
