package tools

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/agent/permission"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/llm/providers"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/wire"
)

func names(all []agent.Tool) []string {
	var names []string
	for _, t := range all {
		names = append(names, t.Name())
	}
	return names
}

func declared(t *testing.T, all []agent.Tool) string {
	t.Helper()
	d, err := agent.Declare(wire.Chat, all)
	if err != nil {
		t.Fatal(err)
	}
	return string(d)
}

func TestStandard_isTheSameEveryTime(t *testing.T) {
	b := newBench(t, ".winnow/skills/sail/SKILL.md", sailing, ".winnow/skills/moor/SKILL.md", "Two ropes.")
	e, err := winnow.Open(winnow.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	want := []string{"read", "write", "edit", "bash", "glob", "grep", "list", "webfetch", "todowrite", "todoread",
		"skill", "task", "recall",
		"context_list", "context_discard", "context_distill", "context_restore"}
	first := Standard(Options{Engine: e, Directory: b.folder})
	if got := names(first); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if again := Standard(Options{Engine: e, Directory: b.folder}); declared(t, again) != declared(t, first) {
		t.Error("the second time they are declared otherwise")
	}
	without := slices.DeleteFunc(slices.Clone(want),
		func(name string) bool { return name == "bash" || name == "skill" || name == "context_list" })
	if got := names(Standard(Options{Engine: e, Directory: t.TempDir(),
		Without: []string{"bash", "context_list", "nosuch"}})); !slices.Equal(got, without) {
		t.Errorf("without some: %v, want %v", got, without)
	}
	if got := names(Standard(Options{Directory: b.folder})); !slices.Equal(got, want[:12]) {
		t.Errorf("without an engine: %v, want %v", got, want[:12])
	}
}

// What they cost with every request, for the record.
func TestStandard_takesFewTokens(t *testing.T) {
	e, err := winnow.Open(winnow.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	n := len(declared(t, Standard(Options{Engine: e, Directory: t.TempDir()})))
	t.Logf("%d bytes", n)
	if n > 12_000 {
		t.Errorf("the declarations have %d bytes", n)
	}
}

// at is a loop with the standard tools.
type at struct {
	*bench
	*agent.Loop
	engine *winnow.Engine
	mu     sync.Mutex
	told   []agent.Event
}

func work(t *testing.T, b *bench, answer llmtest.Answer) *at {
	t.Helper()
	m := model.Model{Provider: "acme", ID: "reader", Limits: model.Limits{Context: 64_000, Output: 4_000},
		Price: model.Price{Input: 3, Output: 15}}
	upstream := llmtest.Start(t, llmtest.Script{Answer: answer})
	carrier := &http.Transport{}
	t.Cleanup(carrier.CloseIdleConnections)
	set, err := providers.New(func(string) string { return "key" },
		map[string]providers.Provider{"acme": {Protocol: llmtest.Chat,
			BaseURL: upstream.BaseURL(llmtest.Chat), KeyEnv: "KEY"}})
	if err != nil {
		t.Fatal(err)
	}
	set.Transport = carrier
	client, err := set.Client("acme")
	if err != nil {
		t.Fatal(err)
	}
	w := &at{bench: b}
	if w.engine, err = winnow.Open(winnow.Config{Models: &model.Catalogue{Models: []model.Model{m}},
		Model: m.String()}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.engine.Close() })
	policy := permission.Policy{Directory: b.folder,
		Rules: []permission.Rule{{Action: "run", Verdict: permission.Allow}}}
	w.Loop, err = agent.New(agent.Config{
		Engine: w.engine, Client: client, Model: m, Retry: llm.RetryOptions{}, Directory: b.folder,
		Ask: policy.Asker(func(_ context.Context, p agent.Permission) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			b.asked = append(b.asked, p)
			return b.refuses
		}),
		Tools:   Standard(Options{Engine: w.engine, Directory: b.folder, Policy: policy}),
		OnEvent: func(e agent.Event) { w.told = append(w.told, e) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, p := range upstream.Problems() {
			t.Error("the provider would refuse:", p)
		}
	})
	return w
}

// outputs are the results of the calls of a session, by tool.
func (w *at) outputs(id string) map[string][]session.ToolState {
	w.Helper()
	s, _, err := w.engine.Session(context.Background(), id)
	if err != nil {
		w.Fatal(err)
	}
	all := map[string][]session.ToolState{}
	for _, m := range s.Messages {
		for _, p := range m.Parts {
			if p.State != nil {
				all[p.Tool] = append(all[p.Tool], *p.State)
			}
		}
	}
	return all
}

func calling(name string, in args) llmtest.Reply {
	arguments, err := json.Marshal(in, json.Deterministic(true))
	if err != nil {
		panic(err)
	}
	return llmtest.Reply{Calls: []llmtest.Call{{Name: name, Arguments: string(arguments)}}}
}

var noted = regexp.MustCompile(`recall shows more of it, with the name (\w{6,})\]`)

func TestStandard_aLongOutputIsCutAndLookedInto(t *testing.T) {
	b := newBench(t, "numbers.txt", numbers(1, 5000))
	w := work(t, b, func(q llmtest.Request) llmtest.Reply {
		switch q.Results() {
		case 0:
			return calling("bash", args{"command": "cat numbers.txt"})
		case 1:
			m := noted.FindStringSubmatch(q.Messages[1].Parts[0].State.Output)
			if m == nil {
				return llmtest.Reply{Text: "no note"}
			}
			return calling("recall", args{"name": m[1], "offset": 2500, "limit": 2})
		}
		return llmtest.Reply{Text: "Seen."}
	})
	turn, err := w.Run(t.Context(), "", "Look at the numbers.")
	if err != nil {
		t.Fatal(err)
	}
	out := w.outputs(turn.SessionID)
	if len(out["recall"]) != 1 || out["recall"][0].Output != "2500\n2501\n\n(Lines 2,500-2,501 of 5,000. Go on with "+
		"offset 2502.)" {
		t.Errorf("recall gave %+v", out["recall"])
	}
	if n := len(out["bash"][0].Output); n > 5000 {
		t.Errorf("of the output %d bytes were sent", n)
	}
}

func TestStandard_theModelPrunesItself(t *testing.T) {
	b := newBench(t, "numbers.txt", numbers(1, 1500))
	handle := regexp.MustCompile(`(?m)^(\w{6,})  .* read numbers.txt`)
	w := work(t, b, func(q llmtest.Request) llmtest.Reply {
		last := ""
		for _, m := range q.Messages {
			for _, p := range m.Parts {
				if p.State != nil {
					last = p.State.Result()
				}
			}
		}
		switch q.Results() {
		case 0:
			return calling("read", args{"filePath": "numbers.txt"})
		case 1:
			return calling("context_list", args{})
		case 2:
			if m := handle.FindStringSubmatch(last); m != nil {
				return calling("context_discard", args{"handles": []string{m[1]}})
			}
		case 3:
			name, _, _ := strings.Cut(last, ":")
			return calling("recall", args{"name": name, "pattern": "^700: "})
		}
		return llmtest.Reply{Text: "Done with " + last}
	})
	turn, err := w.Run(t.Context(), "", "Look at the numbers.")
	if err != nil {
		t.Fatal(err)
	}
	out := w.outputs(turn.SessionID)
	if len(out["context_discard"]) != 1 || !strings.Contains(out["context_discard"][0].Output, ": left out, ") {
		t.Fatalf("%s: %+v", turn.Text, out["context_discard"])
	}
	if len(out["recall"]) != 1 || !strings.Contains(out["recall"][0].Output, "700: 700: 700\n") {
		t.Errorf("recall gave %+v", out["recall"])
	}
	v, err := w.engine.View(t.Context(), turn.SessionID)
	if err == nil {
		err = view.Check(v.Messages)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range v.Messages {
		for _, p := range m.Parts {
			if p.Tool == "read" && strings.Contains(p.State.Output, "\n1400: ") {
				t.Error("what was left out is in the view")
			}
		}
	}
}

func TestStandard_aTaskWorksBesideAndGoesOn(t *testing.T) {
	b := newBench(t, "a.txt", "the lamp is lit\n")
	inTask := func(q llmtest.Request) bool { return strings.Contains(q.System, "You work for another agent") }
	w := work(t, b, func(q llmtest.Request) llmtest.Reply {
		switch n := q.Results(); {
		case inTask(q) && slices.Contains(q.ToolNames(), "task"):
			return llmtest.Reply{Text: "I could begin another task."}
		case inTask(q) && n == 0:
			return calling("bash", args{"command": "cat a.txt"})
		case inTask(q) && strings.Contains(q.Last(), "Sure?"):
			return llmtest.Reply{Text: "Quite sure."}
		case inTask(q):
			return llmtest.Reply{Text: "It is lit."}
		case n == 0:
			return calling("task", args{"description": "look at the lamp",
				"prompt": "Read a.txt and say what it says."})
		case n == 1:
			id := strings.TrimSuffix(strings.Fields(q.Messages[1].Parts[0].State.Output)[4], ",")
			return calling("task", args{"description": "again", "prompt": "Sure?", "task_id": id})
		}
		return llmtest.Reply{Text: "Good."}
	})
	turn, err := w.Run(t.Context(), "", "Is the lamp lit?")
	if err != nil {
		t.Fatal(err)
	}
	tasks := w.outputs(turn.SessionID)["task"]
	if len(tasks) != 2 {
		t.Fatalf("%d tasks: %+v", len(tasks), tasks)
	}
	var told struct {
		SessionID string  `json:"sessionId"`
		Steps     int     `json:"steps"`
		Cost      float64 `json:"cost"`
	}
	if err := json.Unmarshal(tasks[0].Metadata, &told); err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("It is lit.\n\n[task_id %s, 2 steps]", told.SessionID); tasks[0].Output != want ||
		told.Steps != 2 || told.Cost <= 0 || tasks[0].Title != "look at the lamp" {
		t.Errorf("got %q, titled %q, %+v, want %q", tasks[0].Output, tasks[0].Title, told, want)
	}
	if want := fmt.Sprintf("Quite sure.\n\n[task_id %s, 1 step]", told.SessionID); tasks[1].Output != want {
		t.Errorf("the second one: %q, want %q", tasks[1].Output, want)
	}
	if child := w.outputs(told.SessionID); len(child["bash"]) != 1 ||
		!strings.Contains(child["bash"][0].Output, "the lamp is lit") {
		t.Errorf("the calls of the task are %+v", child)
	}
	var heard []string
	for _, e := range w.told {
		if e.SessionID != turn.SessionID {
			t.Errorf("%s of session %s is told", e.Type, e.SessionID)
		}
		if e.Type == agent.CallProgress {
			heard = append(heard, e.Text)
		}
	}
	want := []string{"step 1: thinks", "step 1: bash", "step 1: bash cat a.txt", "step 2: thinks", "step 1: thinks"}
	if heard = slices.DeleteFunc(heard, func(s string) bool {
		return strings.Contains(s,
			"lamp")
	}); !slices.Equal(heard, want) {
		t.Errorf("heard %q, want %q", heard, want)
	}
	if turn.Spent.Children != 1 || turn.Spent.ChildrenCost < told.Cost {
		t.Errorf("spent %+v", turn.Spent)
	}
}

// What a task wants to do is asked for where its parent's calls ask.
func TestTask_asksWhomItsParentAsks(t *testing.T) {
	away := newBench(t, "a.txt", "far away")
	b := newBench(t)
	b.refuses = os.ErrPermission
	w := work(t, b, func(q llmtest.Request) llmtest.Reply {
		switch n := q.Results(); {
		case n > 0:
			return llmtest.Reply{Text: "Not allowed."}
		case strings.Contains(q.System, "You work for another agent"):
			return calling("read", args{"filePath": away.at("a.txt")})
		}
		return calling("task", args{"description": "look", "prompt": "Look."})
	})
	turn, err := w.Run(t.Context(), "", "Look.")
	if err != nil {
		t.Fatal(err)
	}
	if len(b.asked) != 1 || b.asked[0].SessionID == "" || b.asked[0].SessionID == turn.SessionID {
		t.Fatalf("asked for %+v, want one question, of the child's session", b.asked)
	}
	got, want := b.asked[0], agent.Permission{Tool: "read", Action: "read", Target: away.at("a.txt")}
	if got.SessionID = ""; got != want {
		t.Errorf("asked for %+v, want %+v", got, want)
	}
}

func TestTask_withoutALoopThereIsNobody(t *testing.T) {
	newBench(t).fails(Task{}, args{"description": "x", "prompt": "y"}, "no other agent")
	newBench(t).fails(Task{}, args{"description": "x"}, `needs the argument "prompt"`)
}
