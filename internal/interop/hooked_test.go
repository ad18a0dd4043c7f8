//go:build interop

package interop

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/internal/outside"
	"github.com/winnowhq/winnow/wire"
)

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
	w := newWorkshop(t, claudeAgent)
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".jsonl.gz")
		text := outside.Read(t, path)
		whole := w.resumed(t, name+"/as it is", text)
		from, to := filepath.Join(w.dir, name+".jsonl"), filepath.Join(w.dir, name+".changed.jsonl")
		putFile(t, from, string(text))
		for _, op := range []string{"repair", "prune", "compact"} {
			if !w.run(t, op, from, "-o", to, "--force") {
				continue // there is not always something to gain
			}
			changed := readFile(t, to)
			size := w.resumed(t, name+"/"+op, changed)
			if op == "repair" { // finds results again, and its original is the file itself
				continue
			}
			if size > whole {
				t.Errorf("%s after %s: the next request's messages have %d bytes, before %d", name, op, size, whole)
			}
			w.undo(t, changed, text)
		}
	}
}

// Of a file above 5 MiB the product reads nothing before a boundary without anchors: so does the
// reader. What we made of it is resumed alike.
func TestClaudeCode_largeFilesThatHooksCompacted(t *testing.T) {
	if version := newClaude(t).run(t, "--version"); before(version, 2, 1, 287) {
		t.Skipf("%s has no hooks that compact: they came with 2.1.287", strings.TrimSpace(version))
	}
	tries(t, "compact", "compaction by a hook before")
	w := newWorkshop(t, claudeAgent)
	record := `{"type":"api-request-blob","sessionId":"s","data":"` + strings.Repeat("the gulls cry ", 6000) + "\"}\n"
	for _, name := range []string{"hook-tail", "hook-shake", "hook-shake-anchored", "hook-mixed"} {
		text := outside.Read(t, outside.Path(t, "fixtures", "hook-compacted", name+".jsonl.gz"))
		first := bytes.IndexByte(text, '\n') + 1
		text = slices.Concat(text[:first], bytes.Repeat([]byte(record), 1+(5<<20)/len(record)), text[first:])
		whole := w.resumed(t, name+"/as it is", text)
		from, to := filepath.Join(w.dir, name+".jsonl"), filepath.Join(w.dir, name+".compact.jsonl")
		putFile(t, from, string(text))
		if !w.run(t, "compact", from, "-o", to) {
			t.Logf("compact %s: there is nothing to gain", name)
		} else if size := w.resumed(t, name+"/compact", readFile(t, to)); size > whole {
			t.Errorf("%s: the messages of the next request have %d bytes, before %d", name, size, whole)
		}
	}
}

// resumed resumes a session and returns the size of the messages that the product sends, in bytes.
func (w *workshop) resumed(t *testing.T, name string, text []byte) (size int) {
	t.Run(name, func(t *testing.T) {
		a := w.start(t)
		a.load(t, text)
		a.say(t, "And now, OKAPI?")
		asked := a.asked(t, "OKAPI")
		a.agreesOnCalls(t, visible(readAny(t, text), ""), asked) // the fixtures have other texts than the product
		checkPairs(t, asked)
		size = len(wire.ValueOf(asked.Body).Get("messages").Bytes())
		t.Logf("%d calls, %d bytes of messages, the file has %d", len(callsOf(asked.Messages)), size, len(text))
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
