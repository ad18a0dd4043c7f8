//go:build interop

package interop

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/format/opencodeserver"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/plan/rule"
)

// serveOpenCode starts `opencode serve` and returns its address. It ends with the test.
func serveOpenCode(t *testing.T, c *client, env ...string) string {
	t.Helper()
	command := exec.Command(c.bin, "serve")
	command.Dir, command.Stderr = c.Project, os.Stderr
	command.Env = append([]string{"HOME=" + c.Home, "PATH=" + os.Getenv("PATH"), "TERM=dumb"}, append(env, c.Env...)...)
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Signal(os.Interrupt) // it may have ended
		_ = command.Wait()
	})
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if address := regexp.MustCompile(`listening on (http://\S+)`).FindStringSubmatch(lines.Text()); address != nil {
			go func() {
				for lines.Scan() { // so that it never waits for a reader
				}
			}()
			return address[1]
		}
	}
	t.Fatal("opencode serve ended without an address")
	return ""
}

// ask gives a running server a prompt and waits for the answer.
func ask(t *testing.T, server, session, text string) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"parts": []any{map[string]any{"type": "text", "text": text}}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, server+"/session/"+session+"/message", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("a prompt was answered with %s", answer.Status)
	}
}

// winnowIn runs the command in the home of a product, as its user would.
func winnowIn(t *testing.T, c *client, bin string, args ...string) string {
	t.Helper()
	command := exec.Command(bin, args...)
	command.Dir = c.Project
	// Nothing is spared for being new, so that a short session has something to prune.
	command.Env = []string{"HOME=" + c.Home, "WINNOW_COMPACTION_PROTECT=1", "WINNOW_COMPACTION_MINIMUM=0",
		"WINNOW_COMPACTION_PROTECT_TURNS=0", "WINNOW_STRATEGIES_BALANCED_PRUNING_QUIET_STEPS=0"}
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("winnow %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// playOpenCode plays a session of three calls with long outputs and returns its id.
func playOpenCode(t *testing.T, c *client, u *llmtest.Server) string {
	t.Helper()
	c.run(t, "run", "Say three things.")
	return regexp.MustCompile(`ses_[A-Za-z0-9]+`).FindString(c.run(t, "session", "list"))
}

// threeCalls answers with three calls whose outputs are long, then with text.
func threeCalls(r llmtest.Request) llmtest.Reply {
	script := []llmtest.Call{
		{Name: "bash", Arguments: `{"command":"echo early-$((40+2))-output; seq 1 400","description":"say something"}`},
		{Name: "bash", Arguments: `{"command":"echo middle-$((50+1))-output; seq 1 400","description":"say more"}`},
		{Name: "bash", Arguments: `{"command":"echo late-$((60+3))-output; seq 1 400","description":"say the rest"}`},
	}
	if len(r.ToolNames()) == 0 || r.Results() >= len(script) {
		return llmtest.Reply{Text: "All done."}
	}
	return llmtest.Reply{Text: "Next.", Calls: script[r.Results():][:1]}
}

// TestOpenCodeServer_isToldOfMarks prunes a session in the running product, and takes that back.
func TestOpenCodeServer_isToldOfMarks(t *testing.T) {
	tries(t, "prune", "restore", "undo at once", "undo after more turns")
	u := provider(t, threeCalls)
	c := newOpenCode(t, u)
	bin := buildWinnow(t, c.Home)
	id := playOpenCode(t, c, u)
	server := serveOpenCode(t, c)
	for range 2 { // outputs that the model has not seen answered stay
		ask(t, server, id, "Go on.")
	}
	source := c.run(t, "export", id)

	prune := func() {
		t.Helper()
		if told := winnowIn(t, c, bin, "prune", "opencode:"+id, "--server", server); !strings.Contains(told, " changed ") {
			t.Fatalf("prune: %s", told)
		}
	}
	prune()
	pruned := readExport(t, []byte(c.run(t, "export", id)))
	marks := pruned.Ledger.Len()
	if marks == 0 {
		t.Fatal("the product exports no mark")
	}
	for _, el := range pruned.Ledger.All() {
		if el.Rule == rule.Mark {
			t.Errorf("the mark of %s lost whose it is", el.Part)
		}
	}
	u.Forget()
	ask(t, server, id, "Where are we?")
	if sent := lastChat(t, u); strings.Count(sent, rule.Cleared) != marks || strings.Contains(sent, "early-42-output") {
		t.Errorf("%d marks; the next request of the server: %s", marks, sent)
	}
	u.Forget()
	c.run(t, "run", "-s", id, "And now?") // another process with the same store
	if sent := lastChat(t, u); strings.Count(sent, rule.Cleared) != marks {
		t.Errorf("%d marks; the next request of another process: %s", marks, sent)
	}

	winnowIn(t, c, bin, "restore", "opencode:"+id, pruned.Ledger.All()[0].Part, "--server", server)
	u.Forget()
	ask(t, server, id, "What is back?")
	if sent := lastChat(t, u); strings.Count(sent, rule.Cleared) != marks-1 {
		t.Errorf("%d marks and one restored; the next request: %s", marks, sent)
	}
	winnowIn(t, c, bin, "undo", "opencode:"+id, "--server", server)
	u.Forget()
	ask(t, server, id, "And the rest?")
	sent := lastChat(t, u)
	if strings.Contains(sent, rule.Cleared) {
		t.Errorf("undone; the next request still has placeholders: %s", sent)
	}
	for _, want := range []string{"early-42-output", "middle-51-output", "late-63-output"} {
		if !strings.Contains(sent, want) {
			t.Errorf("undone; the next request lacks %q", want)
		}
	}
	before, after := readExport(t, []byte(source)), readExport(t, []byte(c.run(t, "export", id)))
	if diff := cmp.Diff(before.Session.Messages, after.Session.Messages[:len(before.Session.Messages)]); diff != "" {
		t.Errorf("what was there before is not what it was (-before +after):\n%s", diff)
	}
}

// TestOpenCodeServer_asksForItsPassword tells a server that wants one.
func TestOpenCodeServer_asksForItsPassword(t *testing.T) {
	tries(t, "prune")
	u := provider(t, threeCalls)
	c := newOpenCode(t, u)
	bin := buildWinnow(t, c.Home)
	id := playOpenCode(t, c, u)
	c.run(t, "run", "-s", id, "Go on.")
	c.run(t, "run", "-s", id, "And on.")
	server := serveOpenCode(t, c, "OPENCODE_SERVER_PASSWORD=rope")
	command := exec.Command(bin, "prune", "opencode:"+id, "--server", server)
	command.Env = []string{"HOME=" + c.Home}
	if out, err := command.CombinedOutput(); err == nil || !strings.Contains(string(out), "OPENCODE_SERVER_PASSWORD") {
		t.Errorf("without a password: %v\n%s", err, out)
	}
	command = exec.Command(bin, "prune", "opencode:"+id, "--server", server, "--policy", "aggressive")
	command.Env = []string{"HOME=" + c.Home, "OPENCODE_SERVER_PASSWORD=rope", "WINNOW_COMPACTION_PROTECT=1",
		"WINNOW_COMPACTION_MINIMUM=0", "WINNOW_COMPACTION_PROTECT_TURNS=0"}
	if out, err := command.CombinedOutput(); err != nil {
		t.Errorf("with the password: %v\n%s", err, out)
	}
}

// TestOpenCodeServer_whatTheProductDidStaysItsOwn lets the product compact and prune, and wants
// undo to say so, after an import too.
func TestOpenCodeServer_whatTheProductDidStaysItsOwn(t *testing.T) {
	tries(t, "compact", "undo at once", "native compaction before")
	u := provider(t, threeCalls)
	c := newOpenCode(t, u)
	bin := buildWinnow(t, c.Home)
	id := playOpenCode(t, c, u)
	server := serveOpenCode(t, c)
	r, err := http.Post(server+"/session/"+id+"/summarize", "application/json",
		strings.NewReader(`{"providerID":"local","modelID":"m1"}`))
	if err != nil || r.StatusCode != http.StatusOK {
		t.Fatalf("summarize: %v %v", r, err)
	}
	r.Body.Close()
	file := filepath.Join(c.Home, "native.json")
	native := c.run(t, "export", id)
	if err := os.WriteFile(file, []byte(native), 0o644); err != nil {
		t.Fatal(err)
	}
	if doc := readExport(t, []byte(native)); len(doc.Theirs) != 1 {
		t.Errorf("the product compacted once, theirs are %v", doc.Theirs)
	}
	for _, src := range []string{file, "opencode:" + id} {
		out, err := exec.Command("env", "-i", "HOME="+c.Home, bin, "undo", src, "-o", filepath.Join(c.Home, "x.json")).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "is not winnow's: opencode made it") {
			t.Errorf("undo %s: %v\n%s", src, err, out)
		}
	}

	// One that winnow made is known as such after an import into another store.
	folded := filepath.Join(c.Home, "folded.json")
	source := filepath.Join(c.Home, "source.json")
	d := newOpenCode(t, u)
	plain := playOpenCode(t, d, u)
	d.run(t, "run", "-s", plain, "Go on.")
	if err := os.WriteFile(source, []byte(d.run(t, "export", plain)), 0o644); err != nil {
		t.Fatal(err)
	}
	winnowIn(t, c, bin, "compact", source, "-o", folded, "--policy", "classic", "--summarizer", "offline")
	d.run(t, "import", folded) // into the same store: the summary arrives
	doc := readExport(t, []byte(d.run(t, "export", plain)))
	before, compacted := readExport(t, fileText(t, source)), len(doc.Session.Messages)
	if len(doc.Theirs) != 0 || compacted <= len(before.Session.Messages) {
		t.Errorf("winnow compacted; theirs are %v, %d messages", doc.Theirs, compacted)
	}
	// Its undo removes the messages from the running product; importing what was kept brings them
	// back.
	var undone struct{ Kept string }
	told := winnowIn(t, d, bin, "undo", "opencode:"+plain, "--server", serveOpenCode(t, d), "--json")
	if err := json.Unmarshal([]byte(told), &undone); err != nil {
		t.Fatalf("%v: %s", err, told)
	}
	after := readExport(t, []byte(d.run(t, "export", plain)))
	if diff := cmp.Diff(before.Session.Messages, after.Session.Messages); diff != "" {
		t.Errorf("undone, the messages are others (-before +after):\n%s", diff)
	}
	d.run(t, "import", undone.Kept)
	if n := len(readExport(t, []byte(d.run(t, "export", plain))).Session.Messages); n != compacted {
		t.Errorf("brought back, the session has %d messages, want %d", n, compacted)
	}
}

func fileText(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestOpenCodeServer_itsOwnMarksStay lets the product prune by itself, and winnow after it: undo
// takes back what is winnow's, and nothing else.
func TestOpenCodeServer_itsOwnMarksStay(t *testing.T) {
	tries(t, "prune", "undo at once", "native compaction before")
	u := provider(t, func(r llmtest.Request) llmtest.Reply {
		if len(r.ToolNames()) == 0 || r.Results() >= 9 {
			return llmtest.Reply{Text: "All done."}
		}
		return llmtest.Reply{Text: "Next.", Calls: []llmtest.Call{{Name: "bash", Arguments: fmt.Sprintf(
			`{"command":"echo call-%d; seq -s' word ' 1 4500","description":"count"}`, r.Results())}}}
	})
	c := newOpenCode(t, u)
	config := filepath.Join(c.Project, "opencode.json")
	text := bytes.Replace(fileText(t, config), []byte(`"prune":false`), []byte(`"prune":true`), 1)
	if err := os.WriteFile(config, text, 0o644); err != nil {
		t.Fatal(err)
	}
	bin := buildWinnow(t, c.Home)
	id := playOpenCode(t, c, u)
	server := serveOpenCode(t, c)
	reader, err := opencodeserver.Dial(t.Context(), server, opencodeserver.Login{})
	if err != nil {
		t.Fatal(err)
	}
	marks := func() (theirs, ours int) {
		t.Helper()
		doc, err := reader.Read(t.Context(), id) // the product cuts what it exports into a pipe
		if err != nil {
			t.Fatal(err)
		}
		for _, el := range doc.Ledger.All() {
			if el.Rule == rule.Mark {
				theirs++
			} else {
				ours++
			}
		}
		return theirs, ours
	}
	before, ours := 0, 0
	for range 6 { // it prunes when it has answered, what is older than two turns
		if before > 0 {
			break
		}
		ask(t, server, id, "Go on.")
		before, ours = marks()
	}
	if before == 0 || ours > 0 {
		t.Fatalf("the product made %d marks, winnow %d; want some and none", before, ours)
	}
	out, err := exec.Command("env", "-i", "HOME="+c.Home, bin, "undo", "opencode:"+id, "--server", server).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "is not winnow's: opencode did it") {
		t.Errorf("undo of what the product did: %v\n%s", err, out)
	}
	winnowIn(t, c, bin, "prune", "opencode:"+id, "--server", server)
	if theirs, ours := marks(); theirs != before || ours == 0 {
		t.Errorf("pruned, the product's marks are %d, winnow's %d; want %d and some", theirs, ours, before)
	}
	winnowIn(t, c, bin, "undo", "opencode:"+id, "--server", server)
	if theirs, ours := marks(); theirs != before || ours != 0 {
		t.Errorf("undone, the product's marks are %d, winnow's %d; want %d and none", theirs, ours, before)
	}
}
