//go:build interop

package interop

import (
	"bufio"
	"bytes"
	stdcmp "cmp"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/cline"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// clineClient is Cline, which is spoken to as editors do: its terminal resumes a session only for a
// person. The upstream asks for the commands of the script, one after the other.
type clineClient struct {
	*client
	up     *llmtest.Server
	winnow string
	next   int // command that is asked for next, whatever the prompt is; -1 if that is as the prompt says
}

func newCline(t *testing.T, script ...string) *clineClient {
	t.Helper()
	c := &clineClient{next: -1}
	c.up = provider(t, func(r llmtest.Request) llmtest.Reply {
		if n := c.next; n >= 0 && n < len(script) && len(r.ToolNames()) > 0 {
			c.next++
			return clineRuns(n, script[n])
		}
		for i, command := range script {
			if len(r.ToolNames()) > 0 && strings.Contains(r.Last(), fmt.Sprintf("Run step %d.", i)) {
				return clineRuns(i, command)
			}
		}
		return llmtest.Reply{Text: "That is done, says the upstream."}
	})
	c.client = newClient(t, "cline", "CLINE_API_KEY=test", "CLINE_PROVIDER=openai-compatible", "CLINE_MODEL=scripted")
	c.run(t, "auth", "openai-compatible", "-k", "test", "-m", "scripted", "-b", c.up.URL+"/v1")
	t.Cleanup(func() { // the product leaves a daemon behind
		stop := exec.Command(c.bin, "hub", "stop")
		stop.Dir, stop.Env = c.Project, []string{"HOME=" + c.Home, "PATH=" + os.Getenv("PATH")}
		if out, err := stop.CombinedOutput(); err != nil {
			t.Logf("cline hub stop: %v %s", err, out)
		}
	})
	c.winnow = buildWinnow(t, t.TempDir())
	return c
}

// window tells the product how many tokens the model takes.
func (c *clineClient) window(t *testing.T, tokens int) {
	t.Helper()
	file := filepath.Join(c.Home, ".cline", "data", "settings", "providers.json")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	size := jsonOf(tokens)
	text = span.Set(text, "", size, "providers", "openai-compatible", "settings", "contextWindow")
	putFile(t, file, string(text))
}

func clineRuns(n int, command string) llmtest.Reply {
	return llmtest.Reply{Text: "I run it.", Calls: []llmtest.Call{{ID: fmt.Sprintf("call_%d", n), Name: "run_commands",
		Arguments: string(jsonOf(map[string]any{"commands": []string{command}}))}}}
}

func jsonOf(v any) jsontext.Value {
	text, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		panic(err)
	}
	return text
}

// say has the product take a prompt in a session, a new one if id is empty, and returns its id.
func (c *clineClient) say(t *testing.T, id, prompt string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), c.bin, "--acp")
	command.Dir = c.Project
	command.Env = append([]string{"HOME=" + c.Home, "PATH=" + os.Getenv("PATH"), "TERM=dumb"}, c.Env...)
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	command.Stderr, command.WaitDelay = &stderr, 5*time.Second
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	a := &agentProtocol{in: in, out: bufio.NewReader(out)}
	a.call(t, "initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": map[string]any{}})
	where := map[string]any{"cwd": c.Project, "mcpServers": []any{}}
	if id == "" {
		var made struct {
			ID string `json:"sessionId"`
		}
		if err := json.Unmarshal(a.call(t, "session/new", where), &made); err != nil {
			t.Fatal(err)
		}
		id = made.ID
	} else {
		where["sessionId"] = id
		a.call(t, "session/load", where)
	}
	a.call(t, "session/prompt", map[string]any{"sessionId": id,
		"prompt": []any{map[string]any{"type": "text", "text": prompt}}})
	in.Close()
	if err := command.Wait(); err != nil {
		t.Logf("the product ended: %v %s", err, stderr.String())
	}
	return id
}

// agentProtocol speaks JSON-RPC, a message a line.
type agentProtocol struct {
	in   io.Writer
	out  *bufio.Reader
	last int
}

func (a *agentProtocol) call(t *testing.T, method string, params any) jsontext.Value {
	t.Helper()
	a.last++
	a.send(t, map[string]any{"jsonrpc": "2.0", "id": a.last, "method": method, "params": params})
	for {
		line, err := a.out.ReadBytes('\n')
		if err != nil {
			t.Fatalf("%s: the product ended: %v", method, err)
		}
		var m struct {
			ID     jsontext.Value `json:"id"`
			Method string         `json:"method"`
			Result jsontext.Value `json:"result"`
			Error  jsontext.Value `json:"error"`
			Params struct {
				Options []struct {
					ID string `json:"optionId"`
				} `json:"options"`
			} `json:"params"`
		}
		if json.Unmarshal(line, &m) != nil {
			continue
		}
		switch {
		case m.Method == "session/request_permission" && len(m.Params.Options) > 0:
			a.send(t, map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": map[string]any{"outcome": map[string]any{
				"outcome": "selected", "optionId": m.Params.Options[0].ID}}})
		case m.Method == "" && string(m.ID) == fmt.Sprint(a.last):
			if len(m.Error) > 0 {
				t.Fatalf("%s: %s", method, m.Error)
			}
			return m.Result
		}
	}
}

func (a *agentProtocol) send(t *testing.T, message any) {
	t.Helper()
	if _, err := a.in.Write(append(jsonOf(message), '\n')); err != nil {
		t.Fatal(err)
	}
}

// types runs the product's terminal on a session, types a line, and ends it once that is done.
func (c *clineClient) types(t *testing.T, id, line string, done func() bool) {
	t.Helper()
	if _, err := exec.LookPath("script"); err != nil {
		t.Skipf("without script there is no terminal: %v", err)
	}
	screen := filepath.Join(t.TempDir(), "screen")
	command := exec.CommandContext(t.Context(), "script", "-qefc", "stty rows 40 cols 120; exec "+c.bin+" --id "+id, screen)
	command.Dir = c.Project
	command.Env = append([]string{"HOME=" + c.Home, "PATH=" + os.Getenv("PATH"), "TERM=xterm", "SHELL=/bin/sh"}, c.Env...)
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	press := func(keys string) { _, _ = io.WriteString(in, keys) } // it may have ended
	patience := time.Now().Add(90 * time.Second)
	for typed := false; !done() && time.Now().Before(patience); time.Sleep(time.Second) {
		switch text, _ := os.ReadFile(screen); {
		case typed:
			press("\r")
		case bytes.Contains(text, []byte("Ask anything")):
			press(line)
			typed = true
		}
	}
	for range 2 {
		press("\x03")
		time.Sleep(time.Second)
	}
	in.Close()
	_ = command.Wait() // it was interrupted
	if !done() {
		text, _ := os.ReadFile(screen)
		t.Fatalf("%q was typed, and nothing came of it: %.600q", line, text[max(0, len(text)-600):])
	}
}

func (c *clineClient) file(id string) string {
	return filepath.Join(c.Home, ".cline", "data", "sessions", id, id+cline.Ending)
}

func (c *clineClient) text(t *testing.T, id string) []byte {
	t.Helper()
	text, err := os.ReadFile(c.file(id))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// read reads the session as winnow does, with what the product keeps beside it.
func (c *clineClient) read(t *testing.T, id string) *format.Document {
	t.Helper()
	beside, _ := os.ReadFile(cline.Format{}.Beside(c.file(id))) // there may be none
	doc, err := cline.Format{}.ReadWith(c.text(t, id), beside)
	if err != nil {
		t.Fatal(err)
	}
	if len(doc.Damaged) > 0 {
		t.Fatalf("damage: %v", doc.Damaged)
	}
	return doc
}

// change runs winnow on the session's file, and returns what it printed.
func (c *clineClient) change(t *testing.T, id, command string, args ...string) string {
	t.Helper()
	cmd := exec.Command(c.winnow, append([]string{command, c.file(id)}, args...)...)
	cmd.Dir, cmd.Env = c.Project, []string{"HOME=" + c.Home, "PATH=" + os.Getenv("PATH")}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("winnow %s %q: %v\n%s", command, args, err, out)
	}
	first, _, _ := strings.Cut(string(out), "\n")
	t.Logf("winnow %s: %s", command, first)
	return string(out)
}

// resumes has the product go on, and checks that it sends what the view had and the prompt.
func (c *clineClient) resumes(t *testing.T, id, prompt string, has map[string]bool) llmtest.Request {
	t.Helper()
	doc := c.read(t, id)
	shown := view.Render(view.Window(doc.Session.Messages, nil), doc.Ledger)
	c.up.Forget()
	c.say(t, id, prompt)
	r := requestsTo(c.up)[0]
	for word, want := range has {
		checkContains(t, r, want, word)
	}
	if diff := cmp.Diff(clineCalls(shown), clineCalls(r.Messages)); diff != "" {
		t.Errorf("calls and what they gave (-view +request):\n%s", diff)
	}
	var texts []string
	for i := range shown {
		for _, p := range shown[i].Parts {
			if p.Type == session.TextPart && p.Text != "" {
				texts = append(texts, p.Text)
			}
		}
	}
	at := 0
	for i := range r.Messages {
		for _, p := range r.Messages[i].Parts {
			if at < len(texts) && strings.Contains(p.Text, strings.TrimSpace(texts[at])) {
				at++
			}
		}
	}
	if at < len(texts) {
		t.Errorf("%q is in the view, and not in the request in its place", texts[at])
		for i := range r.Messages {
			t.Logf("%s: %q", r.Messages[i].Role, r.Messages[i].Text()[:min(200, len(r.Messages[i].Text()))])
		}
	}
	return r
}

// clineCalls are the calls of a conversation with what they gave. The product sends what its tools
// gave as JSON, as it is in its file.
func clineCalls(messages []session.Message) []string {
	var calls []string
	for i := range messages {
		for _, p := range messages[i].Parts {
			if p.State != nil {
				gave := p.State.Result()
				var answers []struct {
					Result string `json:"result"`
					Error  string `json:"error"`
				}
				if json.Unmarshal([]byte(gave), &answers) == nil && len(answers) == 1 {
					gave = stdcmp.Or(answers[0].Result, answers[0].Error)
				}
				const sent = 3000 // of what is longer, the product sends the beginning and the end
				calls = append(calls, p.CallID+" "+gave[:min(sent, len(gave))])
			}
		}
	}
	return calls
}

// begun is a session with a step for each command.
func (c *clineClient) begun(t *testing.T, steps int) string {
	t.Helper()
	id := c.say(t, "", "Run step 0. Never touch the walrus.")
	for i := 1; i < steps; i++ {
		c.say(t, id, fmt.Sprintf("Run step %d.", i))
	}
	if n := c.read(t, id).Counts.ToolResults; n != steps {
		t.Fatalf("the product ran %d commands, want %d", n, steps)
	}
	return id
}

func (c *clineClient) says(t *testing.T, id string, want []byte, when string) {
	t.Helper()
	if got := c.text(t, id); !bytes.Equal(got, want) {
		t.Errorf("%s the file is not what it was:\n%s", when, cmp.Diff(string(want), string(got)))
	}
}

func TestCline_resumesFromWhatWasWritten(t *testing.T) {
	tries(t, "compact", "prune", "restore", "undo at once", "undo after more turns", "second fold")
	const words = "seq 1 240 | sed 's/^/quagga line /'"
	c := newCline(t, words, words, "echo okapi", "seq 1 200 | sed 's/^/bongo line /'", "echo tapir")
	id := c.begun(t, 4)

	whole := c.text(t, id)
	c.change(t, id, "prune", "--in-place", "--force")
	pruned := c.text(t, id)
	c.change(t, id, "undo", "--in-place", "--force")
	c.says(t, id, whole, "undone at once,")
	putFile(t, c.file(id), string(pruned))
	if n := c.read(t, id).Ledger.Len(); n == 0 {
		t.Fatal("nothing was left out")
	}
	c.resumes(t, id, "And the narwhal?", map[string]bool{"walrus": true, "okapi": true, "[winnow": true})
	c.change(t, id, "restore", "call_0", "--in-place", "--force")
	c.resumes(t, id, "And the zebra?", map[string]bool{"[winnow": false})

	c.change(t, id, "compact", "--in-place", "--force")
	c.resumes(t, id, "Run step 4.", map[string]bool{"walrus": true, "Made from the log without a model": true})
	folded := c.text(t, id)
	c.change(t, id, "compact", "--in-place", "--force")
	c.change(t, id, "undo", "--in-place", "--force")
	c.says(t, id, folded, "undone at once,")
	c.change(t, id, "compact", "--in-place", "--force")
	c.resumes(t, id, "And the lemur?", map[string]bool{"walrus": true, "Made from the log without a model": true})
	c.change(t, id, "undo", "--in-place", "--force")
	c.resumes(t, id, "And the ibis?", map[string]bool{"tapir": true, "lemur": true})
	c.change(t, id, "undo", "--in-place", "--force")
	c.resumes(t, id, "And the gnu?", map[string]bool{"okapi": true, "lemur": true, "Made from the log": false})
}

func TestCline_itsOwnCompactionBefore(t *testing.T) {
	tries(t, "native compaction before", "undo at once", "undo after more turns", "second fold")
	many := "seq 1 1500 | sed 's/^/quagga line /'"
	c := newCline(t, many, many, many, many, many, many, many, many, "echo okapi")
	c.window(t, 20_000)
	c.next = 0
	c.run(t, "Run all steps. Never touch the walrus.")
	files, err := filepath.Glob(c.file("*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("session files: %q, %v", files, err)
	}
	id := filepath.Base(filepath.Dir(files[0]))
	if doc := c.read(t, id); len(doc.Theirs) != 1 {
		t.Fatalf("%d compactions of the product's own, want 1", len(doc.Theirs))
	}
	c.next = -1
	c.resumes(t, id, "And the narwhal?", map[string]bool{"Context summary": true})

	before := c.text(t, id)
	c.change(t, id, "compact", "--in-place", "--force")
	c.change(t, id, "undo", "--in-place", "--force")
	c.says(t, id, before, "undone at once,")
	c.resumes(t, id, "And the lemur?", map[string]bool{"Context summary": true, "walrus": false})
	c.change(t, id, "compact", "--in-place", "--force")
	c.resumes(t, id, "And the ibis?", map[string]bool{"Made from the log without a model": true})
	c.change(t, id, "undo", "--in-place", "--force")
	c.resumes(t, id, "And the okapi?", map[string]bool{"Context summary": true, "ibis": true})
}

func TestCline_itsOwnCompactionAfter(t *testing.T) {
	tries(t, "native compaction after", "undo at once")
	many := "seq 1 1500 | sed 's/^/quagga line /'"
	c := newCline(t, "echo okapi", many, many, many, many, many)
	id := c.begun(t, 3)
	c.change(t, id, "compact", "--in-place", "--force")
	for i := 3; i < 6; i++ {
		c.say(t, id, fmt.Sprintf("Run step %d.", i))
	}
	c.window(t, 20_000)
	beside := cline.Format{}.Beside(c.file(id))
	c.types(t, id, "/compact", func() bool { _, err := os.Stat(beside); return err == nil })
	doc := c.read(t, id)
	if len(doc.Theirs) != 1 {
		t.Fatalf("%d compactions of the product's own, want 1", len(doc.Theirs))
	}
	c.resumes(t, id, "And the lemur?", map[string]bool{"okapi": false, "Context summary": true})
	before := c.text(t, id)
	c.change(t, id, "compact", "--in-place", "--force")
	c.change(t, id, "undo", "--in-place", "--force")
	c.says(t, id, before, "undone at once,")
	c.resumes(t, id, "And the tapir?", map[string]bool{"okapi": false, "lemur": true})
}
