//go:build interop

package interop

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/format/all"
	"github.com/winnowhq/winnow/format/codex"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/internal/outside"
)

// compacted runs the command on a recorded session and returns the file that it wrote.
func compacted(t *testing.T, source string) (path string, text []byte) {
	t.Helper()
	dir := t.TempDir()
	winnow := buildWinnow(t, dir)
	path = filepath.Join(dir, strings.TrimSuffix(filepath.Base(source), ".gz"))
	cmd := exec.Command(winnow, "compact", source, "-o", path)
	cmd.Dir, cmd.Env = dir, []string{"HOME=" + dir}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("winnow compact: %v\n%s", err, out)
	}
	t.Logf("%s", strings.SplitN(string(out), "\n", 2)[0])
	if text, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	return path, text
}

func buildWinnow(t *testing.T, dir string) (path string) {
	t.Helper()
	path = filepath.Join(dir, "winnow")
	if out, err := exec.Command("go", "build", "-o", path,
		"github.com/winnowhq/winnow/cmd/winnow").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return path
}

// resumed checks the request with which a product goes on from a session that was folded: the
// summary is there, what the user demanded is there, and the whole is a part of what it was.
func resumed(t *testing.T, r llmtest.Request, before int) {
	t.Helper()
	checkContains(t, r, true, "Made from the log without a model", "Never touch the Store type", "And now, NARWHAL?")
	t.Logf("the request has %d bytes, the session had %d", len(r.Body), before)
	if len(r.Body) > before {
		t.Errorf("the request has %d bytes, the whole session had %d", len(r.Body), before)
	}
}

// last is the newest request in which the user asks to go on.
func last(t *testing.T, u *llmtest.Server) llmtest.Request {
	t.Helper()
	requests := requestsTo(u)
	for i := len(requests) - 1; i >= 0; i-- {
		if requests[i].Contains("And now, NARWHAL?") && len(requests[i].ToolNames()) > 0 {
			return requests[i]
		}
	}
	t.Fatalf("none of %d requests asks to go on", len(requests))
	return llmtest.Request{}
}

func recorded(t *testing.T, name string) (path string, size int) {
	t.Helper()
	path = outside.Path(t, "fixtures", name)
	return path, len(outside.Read(t, path))
}

func TestWinnow_claudeCodeResumesARecordedSession(t *testing.T) {
	tries(t, "compact", "native compaction before")
	for _, name := range []string{"claude-code.jsonl", "claude-code-compacted.jsonl.gz"} {
		t.Run(name, func(t *testing.T) {
			source, size := recorded(t, name)
			_, text := compacted(t, source)
			c := newClaude(t)
			folder := strings.Map(func(r rune) rune {
				if r == '/' || r == '.' || r == '_' {
					return '-'
				}
				return r
			}, c.Project)
			doc, err := all.Read(text)
			if err != nil {
				t.Fatal(err)
			}
			id := doc.Session.Info.ID
			putFile(t, filepath.Join(c.Home, ".claude", "projects", folder, id+".jsonl"), string(text))
			c.say(t, "And now, NARWHAL?", "--resume", id)
			asked := last(t, c.up)
			checkPairs(t, asked)
			resumed(t, asked, size)
		})
	}
}

func TestWinnow_codexResumesARecordedSession(t *testing.T) {
	tries(t, "compact", "native compaction before")
	for _, name := range []string{"codex-rollout.jsonl", "codex-rollout-compacted.jsonl.gz"} {
		t.Run(name, func(t *testing.T) {
			source, size := recorded(t, name)
			_, text := compacted(t, source)
			u := provider(t, llmtest.Text("Done."))
			c := newCodex(t, u, "")
			doc, err := all.Read(text)
			if err != nil {
				t.Fatal(err)
			}
			putFile(t, filepath.Join(c.Home, ".codex", "sessions", codex.Path(&doc.Session.Info)), string(text))
			codexExec(t, c, codex.ThreadID(doc.Session.Info.ID), "And now, NARWHAL?")
			asked := last(t, u)
			codexPaired(t, asked)
			resumed(t, asked, size)
		})
	}
}

func TestWinnow_openCodeResumesARecordedSession(t *testing.T) {
	tries(t, "compact", "native compaction before")
	for _, name := range []string{"opencode-export.json", "opencode-export-compacted.json.gz"} {
		t.Run(name, func(t *testing.T) {
			source, size := recorded(t, name)
			_, text := compacted(t, source)
			u := provider(t, llmtest.Text("Done."))
			c := importInto(t, u, text)
			c.run(t, "run", "-s", readExport(t, text).Session.Info.ID, "And now, NARWHAL?")
			resumed(t, last(t, u), size)
		})
	}
}

func TestWinnow_piResumesARecordedSession(t *testing.T) {
	tries(t, "compact")
	source := outside.Path(t, "corpus", "pi", "00d8dfb2-large-session.jsonl.gz")
	_, text := compacted(t, source)
	u := provider(t, llmtest.Text("Done."))
	c := newPi(t, u, "openai-completions")
	file := filepath.Join(c.Home, "session.jsonl")
	// pi goes on only where the session's folder exists.
	putFile(t, file, strings.Replace(string(text), `"/Users/badlogic/workspaces/pi-mono"`, strconv.Quote(c.Project), 1))
	askPi(t, c, file, "And now, NARWHAL?")
	asked := last(t, u)
	checkContains(t, asked, true, "Made from the log without a model", "invalid themes must NEVER explode")
	if before := len(outside.Read(t, source)); len(asked.Body) > before/2 {
		t.Errorf("the request has %d bytes, the whole session had %d", len(asked.Body), before)
	}
}
