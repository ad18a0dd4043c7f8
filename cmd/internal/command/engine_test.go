package command

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/rpc"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/report"
)

var engineKills = flag.Int("engine-kills", 4, "how often TestEngine_killed kills the engine")

func TestEngine_printsTheSchema(t *testing.T) {
	d := newDesk(t)
	if o := d.run("engine", "--schema"); o.code != 0 || o.stdout != string(rpc.SchemaText()) {
		t.Errorf("code %d, %d bytes, %s", o.code, len(o.stdout), o.stderr)
	}
	for _, args := range [][]string{{"engine"}, {"engine", "--stdio", "--schema"}, {"engine", "--stdio", "x"}} {
		if o := d.run(args...); o.code != 2 {
			t.Errorf("%v ended with the code %d: %s", args, o.code, o.stderr)
		}
	}
}

// serving is an engine that serves as a process of its own.
type serving struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser

	mu      sync.Mutex
	number  int
	waiting map[string]chan reply
	ended   error // of reading
	asks    chan reply
}

type reply struct {
	ID     jsontext.Value
	Method string
	Result jsontext.Value
	Error  *rpc.Failure
}

var errEnded = errors.New("the engine has ended")

// serve starts an engine on the store of the desk.
func (d *desk) serve(summarize string) *serving {
	d.t.Helper()
	s := &serving{t: d.t, cmd: d.command("engine", "--stdio"), waiting: map[string]chan reply{}, asks: make(chan reply, 100)}
	s.cmd.Stderr = os.Stderr
	var err error
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		d.t.Fatal(err)
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		d.t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	go s.hear(out)
	d.t.Cleanup(func() { s.cmd.Process.Kill() })
	s.must("initialize", rpc.Initialize{Protocols: []int{rpc.Protocol}, Summarize: summarize}, nil)
	return s
}

func (s *serving) hear(out io.Reader) {
	r := bufio.NewReaderSize(out, 1<<20)
	for {
		text, err := r.ReadBytes('\n')
		if err != nil { // a line that was cut by a kill is nothing
			s.mu.Lock()
			s.ended = errEnded
			for _, waits := range s.waiting {
				close(waits)
			}
			s.waiting = nil
			s.mu.Unlock()
			return
		}
		var l reply
		if err := json.Unmarshal(text, &l, json.MatchCaseInsensitiveNames(true)); err != nil {
			s.t.Errorf("%v: %s", err, text)
			return
		}
		if l.Method != "" {
			s.asks <- l
			continue
		}
		s.mu.Lock()
		waits := s.waiting[string(l.ID)]
		delete(s.waiting, string(l.ID))
		s.mu.Unlock()
		if waits != nil {
			waits <- l
		}
	}
}

// send sends a request; its answer comes in the channel, which is closed if the engine ends.
func (s *serving) send(method string, params any) chan reply {
	text, err := json.Marshal(params)
	if err != nil {
		s.t.Fatal(err)
	}
	waits := make(chan reply, 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended != nil {
		close(waits)
		return waits
	}
	s.number++
	s.waiting[fmt.Sprint(s.number)] = waits
	fmt.Fprintf(s.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", s.number, method, text) // a kill is noticed by who reads
	return waits
}

// ask sends a request and waits.
func (s *serving) ask(method string, params, into any) error {
	l, ok := <-s.send(method, params)
	switch {
	case !ok:
		return errEnded
	case l.Error != nil:
		return l.Error
	case into != nil:
		return json.Unmarshal(l.Result, into, session.ReadOptions())
	}
	return nil
}

func (s *serving) must(method string, params, into any) {
	s.t.Helper()
	if err := s.ask(method, params, into); err != nil {
		s.t.Fatalf("%s: %v", method, err)
	}
}

func (s *serving) append(id string, texts ...string) error {
	p := rpc.Append{Of: rpc.Of{Session: id}}
	for _, text := range texts {
		p.Messages = append(p.Messages, jsontext.Value(fmt.Sprintf(`{"id":"msg_%s","role":"user","text":%q}`, text, text)))
	}
	return s.ask("append", p, nil)
}

// end ends the input, and returns how the process ended.
func (s *serving) end() error {
	s.in.Close()
	return s.cmd.Wait()
}

// fill appends calls with results to a session, so that there is something to fold.
func (s *serving) fill(id string) {
	s.t.Helper()
	s.must("create", rpc.Create{ID: id, Model: "anthropic/claude-sonnet-4-5"}, nil)
	if err := s.append(id, id+"_begin"); err != nil {
		s.t.Fatal(err)
	}
	for n := range 6 {
		s.must("append", jsontext.Value(fmt.Sprintf(`{"session":%q,"messages":[{"role":"assistant","parts":[{"type":"tool","callID":"%s_%d","tool":"read","state":{"status":"completed","input":{"filePath":"/f%d"},"output":%q}}]}]}`,
			id, id, n, n, strings.Repeat(fmt.Sprintf("line %d of it\n", n), 1000))), nil)
	}
}

// What the engine keeps is in winnow's own store, where the other commands find it.
func TestEngine_keepsSessionsWhereTheOthersFindThem(t *testing.T) {
	d := newDesk(t)
	s := d.serve("")
	s.fill("ses_1")
	var r rpc.Receipted
	s.must("compact", rpc.Compact{Of: rpc.Of{Session: "ses_1"}}, &r)
	if o := d.run("show", "ses_1"); o.code != 0 || !strings.Contains(o.stdout, r.Receipt.ID) {
		t.Errorf("show: %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	if o := d.run("explain", "ses_1", "ses_1_0"); o.code != 0 || !strings.Contains(o.stdout, "folded") {
		t.Errorf("explain: %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	if o := d.run("undo", "ses_1"); o.code != 0 {
		t.Errorf("undo: %d %s", o.code, o.stderr)
	}
	var v rpc.Viewed // another process undid it
	s.must("view", rpc.View{Of: rpc.Of{Session: "ses_1"}}, &v)
	if len(v.Messages) != 7 {
		t.Errorf("%d messages after the undo", len(v.Messages))
	}
	if o := d.run("list"); !strings.Contains(o.stdout, "ses_1") {
		t.Errorf("list: %s", o.stdout)
	}
	if err := s.end(); err != nil {
		t.Error(err)
	}
}

// At SIGTERM the engine answers what it was asked, and ends well.
func TestEngine_endsWellAtASignal(t *testing.T) {
	d := newDesk(t)
	s := d.serve("plain")
	s.fill("ses_1")
	compacting := s.send("compact", rpc.Compact{Of: rpc.Of{Session: "ses_1"}})
	asked := <-s.asks
	behind := s.send("append", jsontext.Value(`{"session":"ses_1","messages":[{"role":"user","text":"behind it"}]}`))
	s.must("list", rpc.List{}, nil) // answered beside the others: what was sent before it has been received
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(s.in, `{"jsonrpc":"2.0","id":%s,"result":{"text":"## Goal\nRead all files, as the user asked.\n\n## Done\nFiles 0 to 5 were read.\n\n## Next\nThe others."}}`+"\n", asked.ID)
	for name, waits := range map[string]chan reply{"compact": compacting, "append": behind} {
		if l, ok := <-waits; !ok || l.Error != nil {
			t.Errorf("%s: answered %v, %v", name, ok, l.Error)
		}
	}
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

// Killed at any moment, the engine has lost nothing that it acknowledged, and has nothing by half.
func TestEngine_killed(t *testing.T) {
	sequential(t)
	d := newDesk(t)
	dice := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	has := map[string][]string{} // by session, what was acknowledged
	for cycle := range *engineKills {
		s := d.serve("")
		for id, texts := range has {
			s.holds(id, texts)
		}
		began := make(chan struct{}, 10)
		var all sync.WaitGroup
		var mu sync.Mutex
		for n := range 3 {
			all.Go(func() {
				id := fmt.Sprintf("ses_%d_%d", cycle, n)
				if s.ask("create", rpc.Create{ID: id, Model: "anthropic/claude-sonnet-4-5"}, nil) != nil {
					return
				}
				began <- struct{}{}
				for i := 0; s.work(id, i, func(texts ...string) {
					mu.Lock()
					has[id] = append(has[id], texts...)
					mu.Unlock()
				}); i++ {
				}
			})
		}
		<-began
		time.Sleep(time.Duration(dice.IntN(300)) * time.Millisecond) // whatever it is at then
		s.cmd.Process.Kill()
		s.cmd.Wait()
		all.Wait()
	}
	s := d.serve("")
	acknowledged := 0
	for id, texts := range has {
		s.holds(id, texts)
		acknowledged += len(texts)
	}
	if err := s.end(); err != nil || acknowledged == 0 {
		t.Errorf("%v; %d messages were acknowledged", err, acknowledged)
	}
	t.Logf("%d kills, %d acknowledged messages in %d sessions", *engineKills, acknowledged, len(has))
}

// work does something with a session, and reports whether the engine still lives.
func (s *serving) work(id string, i int, acknowledged func(texts ...string)) bool {
	texts := []string{fmt.Sprintf("%s_%d_a", id, i), fmt.Sprintf("%s_%d_b", id, i)} // both or none
	err := s.append(id, texts...)
	if err == nil {
		acknowledged(texts...)
		err = s.ask("append", jsontext.Value(fmt.Sprintf(`{"session":%q,"as":"openai","messages":[{"role":"assistant","tool_calls":[{"id":"%s_%d","type":"function","function":{"name":"read","arguments":"{}"}}]},{"role":"tool","tool_call_id":"%s_%d","content":%q}]}`,
			id, id, i, id, i, strings.Repeat("a line of it\n", 200))), nil)
	}
	if err == nil {
		err = s.ask("observe", jsontext.Value(fmt.Sprintf(`{"session":%q,"usage":{"input":1000}}`, id)), nil)
	}
	if err == nil && i%5 == 4 {
		err = s.ask("compact", rpc.Compact{Of: rpc.Of{Session: id}}, nil)
	}
	var refused *rpc.Failure
	if errors.As(err, &refused) && refused.Data.Code != "nothing-to-fold" && refused.Data.Code != "no-progress" {
		s.t.Errorf("%s: %v", id, err)
	}
	return !errors.Is(err, errEnded)
}

// holds checks that a session has what was acknowledged, each once, in order, and nothing by half.
func (s *serving) holds(id string, texts []string) {
	s.t.Helper()
	var log rpc.Logged
	s.must("log", rpc.Log{Of: rpc.Of{Session: id}}, &log)
	seen := map[string]int{}
	at := 0
	for i := range log.Messages {
		m := &log.Messages[i]
		seen[m.ID]++
		if at < len(texts) && m.ID == "msg_"+texts[at] {
			at++
		}
		for j := range m.Parts {
			if p := &m.Parts[j]; p.Type == session.ToolPart && p.State.Status != session.Completed {
				s.t.Errorf("%s: a call without its result, which came in one request", id)
			}
		}
	}
	if at != len(texts) {
		s.t.Errorf("%s has %d of %d acknowledged messages", id, at, len(texts))
	}
	for i := range log.Messages {
		switch m := log.Messages[i].ID; {
		case seen[m] > 1:
			s.t.Errorf("%s has %s %d times", id, m, seen[m])
		case strings.HasSuffix(m, "_a") && seen[strings.TrimSuffix(m, "a")+"b"] != 1:
			s.t.Errorf("%s has %s without what came with it", id, m)
		}
	}
	s.must("view", rpc.View{Of: rpc.Of{Session: id}, As: "anthropic"}, nil)
	if len(log.Messages) > 0 {
		s.must("inspect", rpc.Inspect{Of: rpc.Of{Session: id}}, nil)
	}
}

// Two engines on one store, and on one session, have the same log, with everything that either of
// them acknowledged.
func TestEngine_twoProcessesOnOneStore(t *testing.T) {
	d := newDesk(t)
	both := []*serving{d.serve(""), d.serve("")}
	both[0].must("create", rpc.Create{ID: "ses_both", Model: "anthropic/claude-sonnet-4-5"}, nil)
	var all sync.WaitGroup
	has := make([][]string, 2)
	for n, s := range both {
		all.Go(func() {
			for i := range 30 {
				text := fmt.Sprintf("p%d_%d", n, i)
				if err := s.append("ses_both", text); err != nil {
					t.Errorf("%s: %v", text, err)
					return
				}
				has[n] = append(has[n], text)
				if err := s.ask("view", rpc.View{Of: rpc.Of{Session: "ses_both"}}, nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	var views [2]rpc.Viewed
	for n, s := range both {
		s.holds("ses_both", has[0])
		s.holds("ses_both", has[1])
		s.must("view", rpc.View{Of: rpc.Of{Session: "ses_both"}}, &views[n])
		if err := s.end(); err != nil {
			t.Error(err)
		}
	}
	if a, b := fmt.Sprintf("%s", views[0].Messages), fmt.Sprintf("%s", views[1].Messages); a != b || len(views[0].Messages) != 60 {
		t.Errorf("%d messages, and they differ: %v", len(views[0].Messages), a != b)
	}
}

// The examples of the clients are loops of their own around the engine: 100 calls of a tool, with
// their own model for the summaries.
func TestEngine_theExamplesOfTheClients(t *testing.T) {
	sequential(t)
	for _, c := range []struct{ name, wants, file, path string }{
		{"python", "python3 of 3.9 or newer", "python/example.py", interpreter(t, "python3", "-c", "import sys; sys.exit(sys.version_info < (3, 9))")},
		{"typescript", "node that strips types (22.18 or newer; WINNOW_NODE names one)", "typescript/example.ts", interpreter(t, "node", "-e", "process.exit(process.features.typescript ? 0 : 1)")},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.path == "" {
				t.Skip("there is no " + c.wants + " on this machine")
			}
			exampleWorks(t, c.path, c.file)
		})
	}
}

// The loop in docs/bindings.md is run as it stands there.
func TestEngine_theLoopOfTheDocument(t *testing.T) {
	python := interpreter(t, "python3", "-c", "import sys; sys.exit(sys.version_info < (3, 9))")
	if python == "" {
		t.Skip("there is no python3 of 3.9 or newer on this machine")
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "bindings.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, loop, _ := strings.Cut(string(text), "```python\n")
	loop, _, ok := strings.Cut(loop, "```")
	if !ok {
		t.Fatal("docs/bindings.md has no loop")
	}
	d := newDesk(t)
	script := filepath.Join(d.dir, "loop.py")
	if err := os.WriteFile(script, []byte(`from winnow import Winnow

prompt, asked = "Read it.", 0
def summarize(request): raise ValueError("nothing is folded")
def run(call): return {"type": "tool_result", "tool_use_id": call["id"], "content": "its text"}
def ask(messages):
    global asked
    asked += 1
    assert len(messages) == 2 * asked - 1, messages
    said = [{"type": "text", "text": "Done."}] if asked > 3 else [{"type": "tool_use", "id": f"toolu_{asked}", "name": "read", "input": {}}]
    return {"content": said, "usage": {"input_tokens": 100, "output_tokens": 5}}

`+loop), 0o644); err != nil {
		t.Fatal(err)
	}
	bindings, err := filepath.Abs(filepath.Join("..", "..", "..", "rpc", "bindings", "python"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python, script)
	cmd.Dir, cmd.Env = d.dir, append(d.env, "PYTHONPATH="+bindings, "PYTHONDONTWRITEBYTECODE=1", "PATH="+filepath.Dir(named(t, "winnow"))+":"+os.Getenv("PATH"))
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	if o := d.run("list"); !strings.Contains(o.stdout, " 5 ") {
		t.Errorf("of five messages, list says\n%s", o.stdout)
	}
}

// named is this program as a file of a name.
func named(t *testing.T, name string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.Symlink(self, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// interpreter is the path of a program that passes a test, or "".
func interpreter(t *testing.T, name string, test ...string) string {
	t.Helper()
	path, err := exec.LookPath(cmp.Or(os.Getenv("WINNOW_"+strings.ToUpper(name)), name))
	if err != nil || exec.Command(path, test...).Run() != nil {
		return ""
	}
	return path
}

func exampleWorks(t *testing.T, interpreter, file string) {
	const calls = 100
	d := newDesk(t)
	for n := range 60 {
		if err := os.WriteFile(filepath.Join(d.dir, fmt.Sprintf("f%d.txt", n)), []byte(strings.Repeat(fmt.Sprintf("line of file %d, which says little\n", n), 60)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	asked, summaries := 0, 0
	upstream := llmtest.Start(t, llmtest.Script{Window: 40_000, Answer: func(r llmtest.Request) llmtest.Reply {
		if len(r.ToolNames()) == 0 {
			summaries++
			return llmtest.Reply{Text: "## Goal\nRead all files of the folder, as the user asked.\n\n## Done\nThe files were read one after the other.\n\n## Next\nRead those that are left."}
		}
		if asked++; asked > calls {
			return llmtest.Reply{Text: "The files say little."}
		}
		return llmtest.Reply{Text: fmt.Sprintf("Now number %d. ", asked) + strings.Repeat("What was found is said at length. ", 14), Calls: []llmtest.Call{{ID: fmt.Sprintf("toolu_%d", asked), Name: "read", Arguments: fmt.Sprintf(`{"filePath":"f%d.txt"}`, asked*7%60)}}}
	}})
	example, err := filepath.Abs(filepath.Join("..", "..", "..", "rpc", "bindings", filepath.FromSlash(file)))
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(interpreter, example, "Read all files.")
	cmd.Dir, cmd.Stdout, cmd.Stderr = d.dir, &stdout, &stderr
	cmd.Env = append(d.env, "WINNOW="+named(t, "winnow"), "WINNOW_COMPACTION_THRESHOLD=20000", "WINNOW_STRATEGIES_BALANCED_PRUNING_IDLE_STEPS=5", "ANTHROPIC_API_KEY=any", "PYTHONDONTWRITEBYTECODE=1",
		"ANTHROPIC_BASE_URL="+upstream.URL, "PATH="+os.Getenv("PATH"))
	if err := cmd.Run(); err != nil || stdout.String() != "The files say little.\n" {
		t.Fatalf("%v\n%s%s", err, stdout.String(), stderr.String())
	}
	if problems := upstream.Problems(); len(problems) > 0 {
		t.Errorf("a provider would have refused\n%s", strings.Join(problems, "\n"))
	}
	var usage session.Usage
	for _, r := range upstream.Records() {
		usage = usage.Add(r.Usage)
	}
	id := strings.TrimSpace(strings.TrimPrefix(stderr.String(), "winnow inspect"))
	o := d.run("inspect", id, "--json")
	var r report.Report
	if err := json.Unmarshal([]byte(o.stdout), &r); err != nil {
		t.Fatalf("%v: %s", err, o.stderr)
	}
	if r.ToolCalls != calls || r.ToolResults != calls || r.Summaries.Calls != summaries || r.Summaries.Failed > 0 {
		t.Errorf("%d calls, %d results, %d summaries (%d failed) of %d", r.ToolCalls, r.ToolResults, r.Summaries.Calls, r.Summaries.Failed, summaries)
	}
	shown := d.run("show", id).stdout
	for _, kind := range []string{"compaction", "pruning"} {
		if !strings.Contains(shown, kind) {
			t.Errorf("there was no %s\n%s", kind, shown)
		}
	}
	if share := float64(usage.Cache.Read) / float64(usage.Prompt()); share < 0.5 {
		t.Errorf("%.0f %% of the prompts were read from the cache", 100*share)
	}
	t.Logf("%d requests, %d summaries, %d tokens of prompts, %d of them from the cache", asked, summaries, usage.Prompt(), usage.Cache.Read)
}
