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
	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/all"
	"github.com/winnowhq/winnow/format/opencode"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
)

// agent is a product as the operations of the table need it, with a home, a folder and an upstream
// of its own.
type agent struct {
	*client
	up    *llmtest.Server
	queue []llmtest.Call // what the upstream asks for, a call a request; then it is done
	usage *session.Usage // what it reports with its next answer, if not what it counts
	think string         // its reasoning before each answer

	// arrived is called with each request for a call, if it is not nil. Requests may come again then:
	// each is answered as it was before.
	arrived func()
	// holds, if it is not nil, is asked with each request for a call whether its answer
	// waits until a channel is closed.
	holds  func(llmtest.Request) <-chan struct{}
	newest string // the request that was answered last
	again  llmtest.Reply

	shell   func(command string) llmtest.Call  // the call that runs a command
	say     func(t *testing.T, prompt string)  // plays a turn of the session; the first begins it
	compact func(t *testing.T)                 // compacts the session as the product does
	save    func(t *testing.T) []byte          // the session as the product keeps it
	load    func(t *testing.T, session []byte) // puts a session where the product goes on with it; nil: it cannot
	sums    string                             // what begins the request for a summary that it makes by itself; "": it makes none in these tests
	cleared string                             // what it sends for an output that was left out; "": what the file says
	single  bool                               // it plays one turn without a person
	wraps   bool                               // it sends results otherwise than it keeps them
	twice   bool                               // it sends results twice, once it has resumed a session
}

// answer is what the upstream of an agent says.
func (a *agent) answer(r llmtest.Request) llmtest.Reply {
	reply := llmtest.Reply{Text: "The job is done.", Reasoning: a.think}
	if len(r.ToolNames()) == 0 || a.sumsUp(r) {
		return reply
	}
	reply.Usage, a.usage = a.usage, nil
	if a.holds != nil {
		reply.Hold = a.holds(r)
	}
	if a.arrived != nil {
		a.arrived()
		if now := fmt.Sprint(len(callsOf(r.Messages)), r.Last()); now == a.newest {
			return a.again
		} else {
			a.newest = now
		}
	}
	if len(a.queue) > 0 {
		reply.Text, reply.Calls, a.queue = "Next.", a.queue[:1], a.queue[1:]
	}
	a.again = reply
	return reply
}

// sumsUp reports whether a product asks for a summary by itself.
func (a *agent) sumsUp(r llmtest.Request) bool {
	return a.sums != "" && strings.HasPrefix(r.Last(), a.sums)
}

// work plays a turn in which commands are run.
func (a *agent) work(t *testing.T, prompt string, commands ...string) {
	t.Helper()
	var list strings.Builder
	for i := range 300 {
		fmt.Fprintf(&list, "line %d of the list says %x\n", i, i*7919)
	}
	putFile(t, filepath.Join(a.Project, "list.txt"), list.String())
	for _, command := range commands {
		a.queue = append(a.queue, a.shell(command))
	}
	a.say(t, prompt)
	if len(a.queue) > 0 {
		t.Fatalf("%d calls were not asked for", len(a.queue))
	}
}

// job makes a session of three turns, in which outputs come again and one command fails.
func (a *agent) job(t *testing.T) []byte {
	t.Helper()
	if a.single {
		a.work(t, "Read list.txt, please. CAPYBARA",
			lines("EARLY", 200), "cat list.txt", "cat no-such-file", "cat list.txt")
		return a.save(t)
	}
	a.work(t, "Read list.txt, please. Never touch the Store type. CAPYBARA", lines("EARLY", 200), "cat list.txt")
	a.work(t, "Read list.txt once more. WALRUS", "cat list.txt", "cat no-such-file", lines("MIDDLE", 200))
	a.work(t, "And the end. NARWHAL", "cat list.txt", lines("LATE", 20))
	return a.save(t)
}

// more plays two turns upon a session.
func (a *agent) more(t *testing.T) {
	t.Helper()
	a.work(t, "Read list.txt for the last time. GIRAFFE", "cat list.txt", lines("LAST", 300))
	a.work(t, "That is all. ZEBRA", "cat list.txt")
}

// goesOn plays a turn with the session that the agent has, and checks that the product sends what
// it is read as.
func (a *agent) goesOn(t *testing.T, text []byte) llmtest.Request {
	t.Helper()
	a.up.Forget()
	a.say(t, "And now, OKAPI?")
	asked := a.asked(t, "OKAPI")
	a.agrees(t, visible(readAny(t, text), a.cleared), asked)
	return asked
}

// agrees checks that a request has the calls of a view with the same results, and its texts.
func (a *agent) agrees(t *testing.T, shown []session.Message, asked llmtest.Request) {
	t.Helper()
	a.agreesOnCalls(t, shown, asked)
	for _, m := range shown {
		for _, p := range m.Parts {
			if p.Type == session.TextPart && !p.Ignored && !asked.Contains(strings.TrimSpace(p.Text)) {
				t.Errorf("the request lacks a text of %s: %.300q", m.ID, p.Text)
			}
		}
	}
}

func (a *agent) agreesOnCalls(t *testing.T, shown []session.Message, asked llmtest.Request) {
	t.Helper()
	want, got := callsOf(shown), callsOf(asked.Messages)
	if a.twice {
		got = slices.DeleteFunc(got, func(call string) bool { return strings.HasPrefix(call, "unknown {}: ") })
	}
	for i := range min(len(want), len(got)) {
		call, result, _ := strings.Cut(want[i], ": ")
		if (a.wraps || result == "") && strings.HasPrefix(got[i], call+": ") {
			got[i] = want[i] // for a call without a result, products have words of their own
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the product sends other calls than the view has (-view +sent):\n%.3000s", diff)
	}
}

// appended checks that the product went on behind what it was given, if it keeps a file of lines.
func (a *agent) appended(t *testing.T, text []byte) {
	t.Helper()
	if grown := a.save(t); text[len(text)-1] == '\n' && readAny(t, text).Format != opencode.Name &&
		(!bytes.HasPrefix(grown, text) || len(grown) == len(text)) {
		t.Errorf("the product did not append to the file: %d bytes, before %d", len(grown), len(text))
	}
}

// asked is the newest request that says something and offers tools.
func (a *agent) asked(t *testing.T, prompt string) llmtest.Request {
	t.Helper()
	for _, r := range slices.Backward(requestsTo(a.up)) {
		if r.Contains(prompt) && len(r.ToolNames()) > 0 {
			return r
		}
	}
	t.Fatalf("no request says %q", prompt)
	return llmtest.Request{}
}

// visible is the view of a session as a product sends it. One with its own words for an output that
// was left out has no place for other words in a call: it sends its arguments whole.
func visible(doc *format.Document, cleared string) []session.Message {
	var elisions []rule.Elision
	for _, e := range doc.Ledger.All() {
		if cleared != "" && e.Field == rule.Input {
			continue
		}
		if cleared != "" && e.Field == rule.Output {
			e.Shown = cleared
		}
		elisions = append(elisions, e)
	}
	return view.Render(view.Window(doc.Session.Messages, nil), rule.NewLedger(elisions...))
}

// callsOf are the calls of a conversation, each with what it gave.
func callsOf(messages []session.Message) (calls []string) {
	for _, m := range messages {
		for i := range m.Parts {
			if p := &m.Parts[i]; p.Type == session.ToolPart {
				input := jsontext.Value(slices.Clone(p.State.Input))
				_ = input.Canonicalize() // what is no JSON is compared as it is
				calls = append(calls, fmt.Sprintf("%s %s: %s", p.Tool, input, p.State.Result()))
			}
		}
	}
	return calls
}

func readAny(t *testing.T, text []byte) *format.Document {
	t.Helper()
	doc, err := all.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	if len(doc.Damaged) > 0 {
		t.Errorf("damaged: %v", doc.Damaged)
	}
	return doc
}

// workshop runs winnow on sessions of a product, and the product on what came of it.
type workshop struct {
	start       func(*testing.T) *agent
	dir, winnow string
}

func newWorkshop(t *testing.T, start func(*testing.T) *agent) *workshop {
	t.Helper()
	dir := t.TempDir()
	return &workshop{start: start, dir: dir, winnow: buildWinnow(t, dir)}
}

// run runs a command of winnow, and reports whether there was something to do.
func (w *workshop) run(t *testing.T, command string, args ...string) (done bool) {
	t.Helper()
	cmd := exec.Command(w.winnow, append([]string{command, "--quiet"}, args...)...)
	cmd.Dir, cmd.Env = w.dir, []string{"HOME=" + w.dir}
	out, err := cmd.CombinedOutput()
	const nothing = 5
	if err != nil && cmd.ProcessState.ExitCode() != nothing {
		t.Fatalf("winnow %s: %v\n%s", command, err, out)
	}
	first, _, _ := strings.Cut(string(out), "\n")
	t.Logf("winnow %s: %s", command, first)
	return err == nil
}

// change runs a command of winnow on a session and returns what it wrote.
func (w *workshop) change(t *testing.T, text []byte, command string, args ...string) []byte {
	t.Helper()
	from, to := filepath.Join(w.dir, "from"), filepath.Join(w.dir, "to")
	putFile(t, from, string(text))
	if !w.run(t, command, append([]string{from, "-o", to, "--force"}, args...)...) {
		t.Fatalf("winnow %s has nothing to do", command)
	}
	return readFile(t, to)
}

// undo checks that what was done last to a session is taken back to the byte, where it was written:
// what a restored part was is kept beside the file.
func (w *workshop) undo(t *testing.T, text, want []byte) {
	t.Helper()
	to, back := filepath.Join(w.dir, "to"), filepath.Join(w.dir, "back")
	putFile(t, to, string(text))
	w.run(t, "undo", to, "-o", back, "--force")
	if diff := cmp.Diff(string(want), string(readFile(t, back))); diff != "" {
		t.Errorf("undone, the session is another one (-was +is):\n%.2000s", diff)
	}
}

// resume plays a turn in a fresh installation that is given a session.
func (w *workshop) resume(t *testing.T, text []byte) *agent {
	t.Helper()
	a := w.start(t)
	a.load(t, text)
	a.goesOn(t, text)
	return a
}
