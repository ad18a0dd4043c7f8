package agent_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/agent/tools"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/settings"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/memory"
	"github.com/winnowhq/winnow/token"
)

// chore is work with the real tools in a real folder: file after file is read, and while the next
// one is read, what stands in it is written into a new file, into a list by an edit, or into a log
// by a command.
type chore struct {
	folder        string
	rounds, lines int
}

// key of a round, as it stands in its file.
func (c chore) key(i int) string { return fmt.Sprintf("wick%d", i*i+11) }

func (c chore) source(i int) string { return fmt.Sprintf("in/%d.go", i) }

// begin writes what there is before the work begins.
func (c chore) begin(t *testing.T) {
	t.Helper()
	put := func(name, text string) {
		if err := os.WriteFile(filepath.Join(c.folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"in", "out"} {
		if err := os.Mkdir(filepath.Join(c.folder, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	put("list.md", "# Lamps\n<end>\n")
	for i := range c.rounds {
		put(c.source(i), lines(c.source(i), c.lines/2)+fmt.Sprintf("key %d %s\n", i, c.key(i))+lines(c.source(i),
			c.lines-c.lines/2))
	}
}

var choreKey = regexp.MustCompile(`key (\d+) (\w+)`)

// answer is what the model says to a conversation. What it writes it has from what was read last;
// where that is not there it reads again.
func (c chore) answer(messages []session.Message) llmtest.Reply {
	at := c.done()
	if at == c.rounds {
		return llmtest.Reply{Text: "All lamps are listed."}
	}
	read := func(i int) llmtest.Call { return called("read", map[string]any{"filePath": c.source(i)}) }
	key := ""
	// behind the last step there may be what stands after a summary
	for _, m := range messages[max(0, len(messages)-3):] {
		for _, p := range m.Parts {
			if p.Type != session.ToolPart || p.State.Status != session.Completed {
				continue
			}
			if k := choreKey.FindStringSubmatch(p.State.Result()); k != nil && k[1] == fmt.Sprint(at) {
				key = k[2]
			}
		}
	}
	if key == "" {
		return llmtest.Reply{Text: fmt.Sprintf("I read the file of lamp %d.", at), Calls: []llmtest.Call{read(at)}}
	}
	line := fmt.Sprintf("lamp %d: %s", at, key)
	r := llmtest.Reply{Reasoning: "Now I know."}
	switch at % 3 {
	case 0:
		r.Calls = []llmtest.Call{called("write", map[string]any{"filePath": fmt.Sprintf("out/%d.txt", at),
			"content": line + "\n"})}
	case 1:
		r.Calls = []llmtest.Call{called("edit", map[string]any{"filePath": "list.md", "oldString": "<end>\n",
			"newString": line + "\n<end>\n"})}
	default:
		r.Calls = []llmtest.Call{called("bash", map[string]any{"command": "echo '" + line + "' >> log.txt"})}
	}
	if at+1 < c.rounds {
		r.Calls = append(r.Calls, read(at+1))
	}
	return r
}

// done is how many rounds are, by what is in the folder.
func (c chore) done() int {
	written, _ := os.ReadDir(filepath.Join(c.folder, "out"))
	list, _ := os.ReadFile(filepath.Join(c.folder, "list.md"))
	log, _ := os.ReadFile(filepath.Join(c.folder, "log.txt"))
	return len(written) + strings.Count(string(list), "lamp ") + strings.Count(string(log), "lamp ")
}

func called(name string, arguments map[string]any) llmtest.Call {
	written, err := json.Marshal(arguments, json.Deterministic(true))
	if err != nil {
		panic(err)
	}
	return call(name, string(written))
}

// files are the texts of the folder by name.
func (c chore) files(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(c.folder, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(c.folder, path)
		all[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func (c chore) configure(a *agent.Config) {
	a.Directory, a.Ask = c.folder, func(context.Context, agent.Permission) error { return nil }
	a.Tools = tools.Standard(tools.Options{Directory: c.folder, Without: []string{"webfetch", "task"}})
}

// direct is a client that answers without a wire, with room for any prompt.
type direct struct {
	chore
	asked int
}

func (d *direct) Ask(_ context.Context, r llm.Request) (llm.Answer, error) {
	d.asked++
	reply := d.answer(r.Messages)
	a := llm.Answer{Finish: llm.Calls, Usage: session.Usage{Input: 1000, Output: 100}}
	if reply.Text != "" {
		a.Parts = append(a.Parts, session.Part{Type: session.TextPart, Text: reply.Text})
	}
	for i, c := range reply.Calls {
		a.Parts = append(a.Parts, session.Part{Type: session.ToolPart, Tool: c.Name,
			CallID: fmt.Sprintf("call_%d_%d", d.asked, i),
			State:  &session.ToolState{Status: session.Pending, Input: []byte(c.Arguments)}})
	}
	return a, nil
}

// unfolded does the chore with a window in which everything has room, and nothing pruned, and
// returns the files.
func (c chore) unfolded(t *testing.T) map[string]string {
	t.Helper()
	c.begin(t)
	wide := reader
	wide.Limits.Context = 100_000_000
	off := settings.Default()
	off.Compaction.Auto, off.Compaction.Prune = false, false
	engine, err := winnow.Open(winnow.Config{Store: memory.New(), Models: &model.Catalogue{Models: []model.Model{wide}},
		Model: wide.String(), Settings: &off})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	events := engine.Subscribe(1 << 14)
	config := agent.Config{Engine: engine, Client: &direct{chore: c}, Model: wide}
	c.configure(&config)
	loop, err := agent.New(config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := loop.Run(t.Context(), "", "List the lamps. "+constraint); err != nil {
		t.Fatal(err)
	}
	events.Close()
	for e := range events.C {
		if e.Type == winnow.Compacted || e.Type == winnow.ElisionCommitted {
			t.Fatalf("there was a %s", e.Type)
		}
	}
	return c.files(t)
}

// checking is a client that looks at each view that is sent.
type checking struct {
	llm.Client
	t *testing.T
}

func (c checking) Ask(ctx context.Context, r llm.Request) (llm.Answer, error) {
	if err := view.Check(r.Messages); err != nil {
		c.t.Errorf("a view that is sent: %v", err)
	}
	return c.Client.Ask(ctx, r)
}

// valid looks at every request that the upstream got: as the provider wants it (roles, pairs of
// calls and results), within the window, with marks for the cache where they are needed and no more
// than are taken, and with what the user said for all of the work.
func valid(t *testing.T, u *llmtest.Server, protocol llmtest.Protocol, window int) (largest int) {
	t.Helper()
	for _, r := range u.Records() {
		marks := strings.Count(string(r.Body), `"cache_control":{"type":"ephemeral"}`)
		switch {
		case r.Problem != "":
			t.Errorf("the provider would refuse request %d: %s", r.Number, r.Problem)
		case r.TooLong, r.Prompt+r.Usage.Output > window:
			t.Errorf("request %d does not fit: %d tokens and %d of answer", r.Number, r.Prompt, r.Usage.Output)
		case protocol == llmtest.Anthropic && (marks < 1 || marks > 4), protocol != llmtest.Anthropic && marks > 0:
			t.Errorf("request %d has %d marks for the cache", r.Number, marks)
		case !r.Contains(constraint):
			t.Errorf("request %d does not have the constraint", r.Number)
		}
		largest = max(largest, r.Prompt)
	}
	return largest
}

// 300 steps and 3 million tokens from tools in a window of 64,000: every request is as it must be,
// no step is wasted, and the files are those of a run in which nothing is ever left out.
func TestRun_aLongChoreLeavesTheFilesOfOneInAWideWindow(t *testing.T) {
	for _, protocol := range []llmtest.Protocol{llmtest.Anthropic, llmtest.Chat} {
		if testing.Short() && protocol != llmtest.Anthropic {
			continue
		}
		t.Run(string(protocol), func(t *testing.T) {
			c := chore{folder: t.TempDir(), rounds: 300, lines: 560}
			if protocol != llmtest.Anthropic || testing.Short() {
				c.rounds = 40
			}
			same := c
			same.folder = t.TempDir()
			c.begin(t)
			b := setUp(t, protocol, llmtest.Script{Window: reader.Limits.Context,
				Answer: func(r llmtest.Request) llmtest.Reply { return c.answer(r.Messages) }}, func(a *agent.Config) {
				c.configure(a)
				a.Client = checking{a.Client, t}
			}, nil...)
			events := b.engine.Subscribe(1 << 14)
			got, err := b.Run(t.Context(), "", "List the lamps. "+constraint)
			if err != nil {
				t.Fatal(err)
			}
			b.engine.Close()
			folded, pruned, given := 0, 0, 0
			for e := range events.C {
				switch e.Type {
				case winnow.Compacted:
					folded++
				case winnow.ElisionCommitted:
					pruned++
				}
			}
			if events.Dropped() > 0 {
				t.Errorf("%d events were not heard", events.Dropped())
			}
			for _, p := range b.calls(got.SessionID) {
				given += token.Linear{}.Count(p.State.Result())
			}
			largest := valid(t, b.upstream, protocol, reader.Limits.Context)
			t.Logf("%d steps, %d tokens of output, %d compactions, %d prunings, the largest prompt %d tokens",
				got.Steps, given, folded, pruned, largest)
			if given < 8_000*c.rounds || folded == 0 {
				t.Errorf("%d tokens, %d compactions: the test does not show what it is to show", given, folded)
			}
			if got.Steps != c.rounds+2 || len(b.upstream.Records()) != got.Steps || got.Spent.Steps != got.Steps {
				t.Errorf("%d steps in %d requests, %d in the books: want %d of each", got.Steps,
					len(b.upstream.Records()), got.Spent.Steps, c.rounds+2)
			}
			b.sound(got.SessionID)
			if d := cmp.Diff(same.unfolded(t), c.files(t)); d != "" {
				t.Errorf("the files are others than without compaction (-without +with):\n%s", d)
			}
		})
	}
}
