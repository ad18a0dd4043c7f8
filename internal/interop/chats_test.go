//go:build interop

package interop

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/all"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
)

// chat is a product that keeps a session in a file below its home, and is told to go on with the
// newest.
type chat struct {
	*client
	up      *llmtest.Server
	winnow  string
	pattern string   // where sessions are, below the home
	ask     []string // what it is given before a prompt
	resume  []string // the same, to go on
	twice   bool     // what calls gave is sent again without the calls

	compress func(t *testing.T, c *chat)                    // has it compress the session
	named    func(id string) (file string, resume []string) // a session with this id: its file, and how to go on with it
}

// jobs asks for commands: one long output that comes again, and another that fails.
func jobs(command func(string) string) llmtest.Answer {
	commands := []string{
		"seq 1 400 | sed 's/^/quagga line of the first output /'", "echo okapi-second-output",
		"seq 1 400 | sed 's/^/quagga line of the first output /'", "cat no-such-file-bongo",
		"seq 1 300 | sed 's/^/lemur line of another output /'",
	}
	return func(r llmtest.Request) llmtest.Reply {
		done, job := 0, false
		for _, m := range r.Messages {
			if m.Role == session.User && strings.Contains(m.Text(), "the job") {
				done, job = 0, true
			}
			for i := range m.Parts {
				if m.Parts[i].Type == session.ToolPart {
					done++
				}
			}
		}
		if !job || done >= len(commands) || !r.Contains("run_shell_command") || len(r.ToolNames()) == 0 {
			return llmtest.Reply{Text: "That is done, says the upstream."}
		}
		return llmtest.Reply{Text: fmt.Sprintf("Step %d.", done), Calls: []llmtest.Call{{
			ID: fmt.Sprintf("call_%d", r.Number), Name: "run_shell_command", Arguments: command(commands[done])}}}
	}
}

// begin has the product work twice.
func (c *chat) begin(t *testing.T) {
	c.run(t, append(c.ask, "Do the job about the walrus. Never touch the Store type.")...)
	c.goOn(t, "Again the job, about the narwhal.")
}

func (c *chat) goOn(t *testing.T, prompt string) string { return c.run(t, append(c.resume, prompt)...) }

// file is the session.
func (c *chat) file(t *testing.T) string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(c.Home, c.pattern))
	// Some leave a file without a word behind whenever they go on with another.
	paths = slices.DeleteFunc(paths, func(path string) bool {
		return !bytes.Contains(readFile(t, path), []byte("walrus"))
	})
	if err != nil || len(paths) != 1 {
		t.Fatalf("sessions: %q, %v", paths, err)
	}
	return paths[0]
}

// does runs the command on the session.
func (c *chat) does(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(c.winnow, args...)
	// These chats are short: what is old in them has not waited for long.
	cmd.Dir, cmd.Env = c.Project, []string{"HOME=" + c.Home, "WINNOW_STRATEGIES_BALANCED_PRUNING_IDLE_STEPS=10",
		"WINNOW_STRATEGIES_BALANCED_PRUNING_IDLE_INPUT_STEPS=30"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("winnow %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// change runs the command in place.
func (c *chat) change(t *testing.T, args ...string) {
	t.Helper()
	c.does(t, append(append(args[:1:1], c.file(t)), append(args[1:], "--in-place", "--force")...)...)
}

// said is a conversation as it is compared: its texts, and its calls with what they gave.
type said struct {
	texts []string
	calls []string
}

func (c *chat) doc(t *testing.T) *format.Document {
	t.Helper()
	doc, err := all.Read(readFile(t, c.file(t)))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func saidIn(messages []session.Message) (s said) {
	for i := range messages {
		for j := range messages[i].Parts {
			switch p := &messages[i].Parts[j]; {
			case p.Type == session.TextPart && !p.Ignored && strings.TrimSpace(p.Text) != "":
				s.texts = append(s.texts, strings.TrimSpace(p.Text))
			case p.Type == session.ToolPart && p.State != nil:
				input := jsontext.Value(bytes.Clone(p.State.Input))
				_ = input.Canonicalize()
				s.calls = append(s.calls, fmt.Sprintf("%s %s: %s", p.Tool, input, p.State.Result()))
			}
		}
	}
	return s
}

// goesOn resumes the session and compares what the product sends with the view of the file.
func (c *chat) goesOn(t *testing.T, prompt string) llmtest.Request {
	t.Helper()
	doc := c.doc(t)
	want := saidIn(view.Render(view.Window(doc.Session.Messages, nil), doc.Ledger))
	if len(doc.Damaged) > 0 {
		t.Errorf("damage: %+v", doc.Damaged)
	}
	before := readFile(t, c.file(t))
	c.up.Forget()
	c.goOn(t, prompt)
	var asked llmtest.Request
	for _, r := range requestsTo(c.up) {
		if r.Contains(prompt) && len(r.ToolNames()) > 0 {
			asked = r
			break
		}
	}
	if asked.Body == nil {
		t.Fatalf("none of %d requests asks %q", len(requestsTo(c.up)), prompt)
	}
	got := saidIn(asked.Messages)
	calls := len(got.calls)
	if c.twice {
		got.calls = slices.DeleteFunc(got.calls, func(call string) bool { return strings.Contains(call, " {}: ") })
	}
	if w, g := strings.Join(want.calls, "\n---\n"), strings.Join(got.calls, "\n---\n"); w != g {
		t.Errorf("the calls of the view are\n%s\nthe product sent\n%s", short(w), short(g))
	}
	sent := strings.Join(got.texts, "\n")
	at := 0
	for _, text := range want.texts {
		if strings.HasPrefix(text, "What did we do so far?") {
			continue
		}
		next := strings.Index(sent[at:], text)
		if next < 0 {
			t.Errorf("the view says %q, which the product did not send, or not there", short(text))
			continue
		}
		at += next + len(text)
	}
	t.Logf("%d calls, %d results without a call, %d bytes, %d texts of the view",
		len(got.calls), calls-len(got.calls), len(asked.Body), len(want.texts))
	if after := readFile(t, c.file(t)); !bytes.HasPrefix(after, before) {
		t.Error("the product rewrote the file")
	}
	return asked
}

// folded checks that a summary stands for some of the calls.
func (c *chat) folded(t *testing.T) {
	t.Helper()
	log := c.doc(t).Session.Messages
	window := view.Window(log, nil)
	if all, left := len(saidIn(log).calls), len(saidIn(window).calls); view.Pivot(window) == nil || left >= all {
		t.Errorf("%d of %d calls are left", left, all)
	}
}

func short(text string) string {
	const most = 1500
	if len(text) > most {
		return text[:most] + "…"
	}
	return text
}

// checkSent wants a request to contain, or not to contain, these words.
func checkSent(t *testing.T, r llmtest.Request, want bool, words ...string) {
	t.Helper()
	for _, word := range words {
		if r.Contains(word) != want {
			t.Errorf("%q in the request: %t, want %t", word, !want, want)
		}
	}
}

// tryChat runs a product through everything that is done to a session between two runs of it.
func tryChat(t *testing.T, start func(t *testing.T) *chat) {
	begun := func(t *testing.T) (*chat, []byte) {
		c := start(t)
		c.winnow = buildWinnow(t, t.TempDir())
		c.begin(t)
		return c, readFile(t, c.file(t))
	}
	isBack := func(t *testing.T, c *chat, before []byte) {
		t.Helper()
		if !bytes.Equal(readFile(t, c.file(t)), before) {
			t.Error("undone, the file is not as it was")
		}
	}
	t.Run("as it is", func(t *testing.T) {
		tries(t, "resume")
		c, _ := begun(t)
		checkSent(t, c.goesOn(t, "And the capybara?"), true, "walrus", "quagga line", "narwhal", "lemur line")
	})
	t.Run("compacted", func(t *testing.T) {
		tries(t, "compact", "undo at once", "undo after more turns")
		c, before := begun(t)
		c.change(t, "compact")
		c.change(t, "undo")
		isBack(t, c, before)
		c.change(t, "compact")
		asked := c.goesOn(t, "And the capybara?")
		checkSent(t, asked, true, "Made from the log without a model", "Never touch the Store type")
		c.folded(t)
		c.change(t, "undo")
		checkSent(t, c.goesOn(t, "And the tapir?"), true, "walrus", "quagga line of the first output 399", "lemur line",
			"And the capybara?")
	})
	t.Run("pruned", func(t *testing.T) {
		tries(t, "prune", "undo at once", "undo after more turns", "restore")
		c, before := begun(t)
		c.change(t, "prune")
		c.change(t, "undo")
		isBack(t, c, before)
		c.change(t, "prune")
		if c.doc(t).Ledger.Len() == 0 {
			t.Fatal("nothing was pruned")
		}
		c.goesOn(t, "And the capybara?")
		first := c.doc(t).Ledger.All()[0].Part
		c.change(t, "restore", first)
		if c.doc(t).Ledger.Touches(first) {
			t.Errorf("%s was restored, and is left out", first)
		}
		c.goesOn(t, "And the okapi?")
		for c.doc(t).Ledger.Len() > 0 {
			had := c.doc(t).Ledger.Len()
			c.change(t, "undo")
			if c.doc(t).Ledger.Len() == had {
				break
			}
		}
		checkSent(t, c.goesOn(t, "And the tapir?"), true,
			"quagga line of the first output 399", "lemur line of another output 299")
	})
	t.Run("folded again", func(t *testing.T) {
		tries(t, "second fold")
		c, _ := begun(t)
		c.change(t, "compact")
		c.goOn(t, "Once more the job, about the kudu.")
		c.goOn(t, "And again the job, about the eland.")
		c.change(t, "prune")
		c.goesOn(t, "And the gnu?")
		c.change(t, "compact")
		asked := c.goesOn(t, "And the capybara?")
		checkSent(t, asked, true, "Never touch the Store type")
		c.folded(t)
		c.change(t, "undo")
		c.goesOn(t, "And the tapir?")
	})
	t.Run("from elsewhere", func(t *testing.T) {
		tries(t, "import")
		c := start(t)
		c.run(t, append(c.ask, "Hello.")...)
		paths, err := filepath.Glob(filepath.Join(c.Home, c.pattern))
		if err != nil || len(paths) != 1 {
			t.Fatalf("sessions: %q, %v", paths, err)
		}
		own, err := all.Read(readFile(t, paths[0]))
		if err != nil {
			t.Fatal(err)
		}
		f, err := all.Named(own.Format)
		if err != nil {
			t.Fatal(err)
		}
		s := elsewhere(c.Project)
		var out bytes.Buffer
		if err := f.Write(&out, nil, format.Change{Session: s}); err != nil {
			t.Fatal(err)
		}
		file, resume := c.named(s.Info.ID)
		putFile(t, filepath.Join(filepath.Dir(paths[0]), file), out.String())
		c.resume = resume
		checkSent(t, c.goesOn(t, "And the capybara?"), true, "walrus", "find sea", "sea/bongo", "narwhal")
	})
	t.Run("compressed by the product", func(t *testing.T) {
		tries(t, "native compaction before", "native compaction after", "prune", "compact", "undo after more turns")
		c, _ := begun(t)
		c.change(t, "prune")
		c.compress(t, c)
		if len(c.doc(t).Theirs) != 1 {
			t.Fatalf("compactions of the product's: %v", c.doc(t).Theirs)
		}
		c.goesOn(t, "And the capybara?")
		c.goOn(t, "Once more the job, about the kudu.")
		c.goOn(t, "And again the job, about the eland.")
		c.change(t, "prune")
		c.goesOn(t, "And the gnu?")
		c.change(t, "compact")
		c.goesOn(t, "And the tapir?")
		c.folded(t)
		c.compress(t, c)
		if len(c.doc(t).Theirs) != 2 {
			t.Errorf("compactions of the product's: %v", c.doc(t).Theirs)
		}
		c.goesOn(t, "And the ibex?")
	})
}

// elsewhere is a session that another product kept.
func elsewhere(folder string) session.Session {
	return session.Session{
		Info: session.Info{ID: "0f1e2d3c-4b5a-4678-9abc-def012345678", Directory: folder, Title: "Elsewhere",
			Time: session.Lifetime{Created: 1762077600000, Updated: 1762077606000}},
		Messages: []session.Message{
			{MessageInfo: session.MessageInfo{ID: "msg_1", Role: session.User,
				Time: session.MessageTime{Created: 1762077601000}},
				Parts: []session.Part{{ID: "prt_1", Type: session.TextPart, Text: "Where is the walrus?"}}},
			{MessageInfo: session.MessageInfo{ID: "msg_2", Role: session.Assistant, ParentID: "msg_1",
				ProviderID: "loopback", ModelID: "scripted", Finish: "stop",
				Time: session.MessageTime{Created: 1762077602000, Completed: 1762077604000}},
				Parts: []session.Part{{ID: "prt_2", Type: session.ToolPart, CallID: "toolu_1", Tool: "run_shell_command",
					State: &session.ToolState{Status: session.Completed,
						Input: jsontext.Value(`{"command":"find sea"}`), Output: "sea/bongo"}}}},
			{MessageInfo: session.MessageInfo{ID: "msg_3", Role: session.Assistant, ParentID: "msg_1",
				ProviderID: "loopback", ModelID: "scripted", Finish: "stop",
				Time: session.MessageTime{Created: 1762077605000, Completed: 1762077606000}},
				Parts: []session.Part{{ID: "prt_3", Type: session.TextPart, Text: "On the floe with the narwhal."}}},
		},
	}
}
