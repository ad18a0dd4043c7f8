//go:build interop

package interop

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/desk/inplace"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/text/span"
)

// dying is a session with what older versions of Claude Code wrote beside its messages: progress
// records between a call and its result, behind a message, and snapshots of files that repeat.
func dying(t *testing.T, text []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	records := 0
	for line := range span.Lines(text) {
		raw := line.Text.Of(text)
		own, parent := span.String(span.Get(raw, "uuid")), span.String(span.Get(raw, "parentUuid"))
		if parent != "" && own != "" {
			for range 2 {
				records++
				uuid := fmt.Sprintf("%08x-0000-4000-8000-00000000dead", records)
				fmt.Fprintf(&out, `{"parentUuid":%q,"isSidechain":false,"type":"progress","data":{"type":"bash_progress","output":%q},"uuid":%q,`+
					`"timestamp":%s,"sessionId":%s}`+"\n", parent, strings.Repeat("TAPIR ", 200), uuid, span.Get(raw, "timestamp"), span.Get(raw, "sessionId"))
				parent = uuid
			}
			raw = span.Update(raw, span.Quote(parent), "parentUuid")
		}
		out.Write(raw)
		out.WriteByte('\n')
		for i := range 3 {
			if own != "" {
				fmt.Fprintf(&out, `{"type":"file-history-snapshot","messageId":%q,"snapshot":{"messageId":%[1]q,"trackedFileBackups":{},"timestamp":%s},`+
					`"isSnapshotUpdate":%v}`+"\n", own, span.Get(raw, "timestamp"), i > 0)
			}
		}
	}
	if records == 0 {
		t.Fatal("no record has a parent")
	}
	return out.Bytes()
}

// varying is what differs between two requests of one conversation.
var varying = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|cch=[0-9a-f]+|cc_version=[0-9a-z.]+|` +
	`\d{4}-\d\d-\d\dT[0-9:.]+Z`)

// sent is the body of a request without what differs between two of one conversation.
func sent(r llmtest.Request) string { return varying.ReplaceAllString(string(r.Body), "…") }

// TestClaudeCode_resumesWhatWasShrunk: a session is resumed whole and shrunk, and after a fold; the
// product sends the same request. Undone, the file is the one before with what the product added.
func TestClaudeCode_resumesWhatWasShrunk(t *testing.T) {
	for _, fold := range []bool{false, true} {
		t.Run(map[bool]string{false: "as it is", true: "folded"}[fold], func(t *testing.T) {
			tries(t, "gc --shrink")
			w, a := newWorkshop(t, claudeAgent), claudeAgent(t)
			a.queue = []llmtest.Call{{Name: "Read", Arguments: fmt.Sprintf(`{"file_path":%q}`, a.picture(t))}}
			a.say(t, "Look at the picture.")
			a.job(t)
			path := a.sessionFile(t)
			if fold {
				w.inPlace(t, "compact", path)
				a.more(t)
			}
			whole := dying(t, readFile(t, path))
			ask := func() string {
				t.Helper()
				old := time.Now().Add(-2 * time.Hour)
				if err := os.Chtimes(path, old, old); err != nil {
					t.Fatal(err)
				}
				a.up.Forget()
				a.say(t, "And now, OKAPI?")
				r := a.asked(t, "OKAPI")
				checkPairs(t, r)
				checkContains(t, r, false, "TAPIR")
				return sent(r)
			}
			putFile(t, path, string(whole))
			want := ask()
			putFile(t, path, string(whole))
			old := time.Now().Add(-2 * time.Hour)
			if err := os.Chtimes(path, old, old); err != nil {
				t.Fatal(err)
			}
			gc := func(args ...string) {
				t.Helper()
				cmd := exec.Command(w.winnow, append([]string{"gc"}, args...)...)
				cmd.Dir, cmd.Env = w.dir, []string{"HOME=" + a.Home}
				out, err := cmd.CombinedOutput()
				t.Logf("winnow gc %s:\n%s", strings.Join(args, " "), out)
				if err != nil {
					t.Fatal(err)
				}
			}
			gc("--shrink")
			shrunk := readFile(t, path)
			if pictures := len(regexp.MustCompile(`[0-9A-Za-z+/]{1000}`).FindAll(shrunk, -1)); (pictures == 0) != fold {
				t.Errorf("folded %v, the file has %d pieces of pictures", fold, pictures)
			}
			if bytes.Contains(shrunk, []byte("TAPIR")) || bytes.Contains(shrunk, []byte("0000dead")) {
				t.Error("progress records are still in the file")
			}
			if got := ask(); got != want {
				t.Errorf("the request is another one (-whole +shrunk):\n%.3000s", cmp.Diff(strings.Split(want, `"type"`), strings.Split(got, `"type"`)))
			}
			added := bytes.TrimPrefix(readFile(t, path), shrunk)
			time.Sleep(inplace.Recent)
			gc("--undo")
			if now := readFile(t, path); !bytes.Equal(now, slices.Concat(whole, added)) || len(added) == 0 {
				t.Errorf("undone, the file has %d bytes, want %d and %d that were added", len(now), len(whole), len(added))
			}
			t.Logf("the file has %d bytes, shrunk %d; the request has %d", len(whole), len(shrunk), len(want))
		})
	}
}
