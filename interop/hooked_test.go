//go:build interop

package interop

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/claudecode"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/internal/outside"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/view"
)

// load is how much of tools a request carries.
type load struct{ Calls, Results, Characters int }

func loadOf(t *testing.T, r llmtest.Request, size *int) (l load) {
	t.Helper()
	var asked struct {
		Messages []struct {
			Content jsontext.Value `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(r.Body, &asked, session.ReadOptions()); err != nil {
		t.Fatal(err)
	}
	for _, m := range asked.Messages {
		*size += len(m.Content)
		if m.Content.Kind() != '[' {
			continue
		}
		var blocks []struct {
			Type    string         `json:"type"`
			Content jsontext.Value `json:"content"`
		}
		if err := json.Unmarshal(m.Content, &blocks, session.ReadOptions()); err != nil {
			t.Fatal(err)
		}
		for _, b := range blocks {
			switch b.Type {
			case "tool_use":
				l.Calls++
			case "tool_result":
				l.Results++
				l.Characters += len([]rune(textOf(t, b.Content)))
			}
		}
	}
	return l
}

func textOf(t *testing.T, content jsontext.Value) string {
	t.Helper()
	var text string
	if content.Kind() == '"' {
		if err := json.Unmarshal(content, &text); err != nil {
			t.Fatal(err)
		}
		return text
	}
	var blocks []struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(content, &blocks, session.ReadOptions()); err != nil {
		t.Fatal(err)
	}
	for _, b := range blocks {
		text += b.Text
	}
	return text
}

// loadOfView is what a session carries of tools, as it is read.
func loadOfView(doc *format.Document) (l load) {
	for _, m := range view.Render(view.Window(doc.Session.Messages, nil), doc.Ledger) {
		for i := range m.Parts {
			p := &m.Parts[i]
			if p.Type != session.ToolPart {
				continue
			}
			l.Calls++
			if p.State.Final() {
				l.Results++
				l.Characters += len([]rune(p.State.Result()))
			}
		}
	}
	return l
}

// A file that a hook of the product compacted is read as the product reads it, and what is made of
// it too: the calls that a resumed session sends, and the characters of their results, are those of
// the view.
func TestClaudeCode_filesThatHooksCompacted(t *testing.T) {
	if version := newClaude(t).run(t, "--version"); before(version, 2, 1, 287) {
		t.Skipf("%s has no hooks that compact: they came with 2.1.287", strings.TrimSpace(version))
	}
	tries(t, "compact", "compaction by a hook before", "prune", "repair", "undo at once")
	paths, err := filepath.Glob(filepath.Join(outside.Path(t, "fixtures", "hook-compacted"), "*.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	winnow := buildWinnow(t, dir)
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".jsonl.gz")
		text := outside.Read(t, path)
		whole := resumeAs(t, name+"/as it is", text)
		for _, op := range []string{"repair", "prune", "compact"} {
			from, to := filepath.Join(dir, name+".jsonl"), filepath.Join(dir, name+"."+op+".jsonl")
			if err := os.WriteFile(from, text, 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(winnow, op, from, "-o", to)
			cmd.Dir, cmd.Env = dir, []string{"HOME=" + dir}
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Logf("%s %s: %v: %s", op, name, err, out) // there is not always something to gain
				continue
			}
			if size := resumeAs(t, name+"/"+op, readFile(t, to)); size > whole && op != "repair" { // which finds results again
				t.Errorf("%s after %s: the messages of the next request have %d bytes, before %d", name, op, size, whole)
			}
			if op == "repair" {
				continue // the original is the file itself
			}
			back := filepath.Join(dir, name+".undone.jsonl")
			cmd = exec.Command(winnow, "undo", to, "-o", back, "--force")
			cmd.Dir, cmd.Env = dir, []string{"HOME=" + dir}
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("undo %s of %s: %v: %s", op, name, err, out)
			} else if !bytes.Equal(readFile(t, back), text) {
				t.Errorf("undo %s of %s: the file is not as it was", op, name)
			}
		}
	}
}

// resumeAs resumes a session of the product, compares what it sends with the view, and returns the
// size of the messages in bytes.
func resumeAs(t *testing.T, name string, text []byte) (size int) {
	t.Run(name, func(t *testing.T) {
		doc, err := claudecode.Format{}.Read(text)
		if err != nil {
			t.Fatal(err)
		}
		c := newClaude(t)
		id := doc.Session.Info.ID
		putFile(t, c.path(id), string(text))
		c.say(t, "And now, NARWHAL?", "--resume", id)
		asked := c.conversation(t)
		checkPairs(t, asked)
		var messages int
		sent := loadOf(t, asked, &messages)
		if view := loadOfView(doc); view != sent {
			t.Errorf("the view carries %+v, the product sent %+v", view, sent)
		}
		size = messages
		t.Logf("%+v, %d bytes of messages", sent, size)
	})
	return size
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// before reports whether what a product says of its version is older than this one.
func before(said string, version ...int) bool {
	var has [3]int
	fmt.Sscanf(said, "%d.%d.%d", &has[0], &has[1], &has[2])
	return slices.Compare(has[:], version) < 0
}
