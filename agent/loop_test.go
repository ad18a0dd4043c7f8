package agent_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/llm/providers"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/settings"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/memory"
	asking "github.com/winnowhq/winnow/summarize/model"
)

// reader is the model of these tests.
var reader = model.Model{
	Provider: "acme", ID: "reader", Limits: model.Limits{Context: 64_000, Output: 4_000},
	Price: model.Price{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75},
	Cache: model.Cache{Lifetime: 5 * time.Minute, MinPrefix: 1024, Explicit: true},
}

// tool is a tool that is a function.
type tool struct {
	name, schema string
	run          func(ctx context.Context, c agent.Call) (agent.Result, error)
}

func (t tool) Name() string           { return t.name }
func (t tool) Description() string    { return "The tool " + t.name + " of this test." }
func (t tool) Schema() jsontext.Value { return jsontext.Value(t.schema) }
func (t tool) Run(ctx context.Context, c agent.Call) (agent.Result, error) {
	return t.run(ctx, c)
}

// serial is one that must not run beside others.
type serial struct{ tool }

func (serial) Serial() {}

const pathSchema = `{"type":"object","properties":{"path":{"type":"string"},"text":{"type":"string"}},` +
	`"required":["path"],"additionalProperties":false}`

func path(c agent.Call) (path, text string) {
	var in struct{ Path, Text string }
	if err := json.Unmarshal(c.Input, &in, json.MatchCaseInsensitiveNames(true)); err != nil {
		panic(err)
	}
	return in.Path, in.Text
}

// disk is what the tools read and write.
type disk struct {
	mu    sync.Mutex
	files map[string]string
}

func (d *disk) has() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.files)
}

func (d *disk) read(size int) agent.Tool {
	return tool{"read", pathSchema, func(_ context.Context, c agent.Call) (agent.Result, error) {
		p, _ := path(c)
		return agent.Result{Title: p, Output: lines(p, size)}, nil
	}}
}

func (d *disk) write() agent.Tool {
	return serial{tool{"write", pathSchema, func(_ context.Context, c agent.Call) (agent.Result, error) {
		p, text := path(c)
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.files == nil {
			d.files = map[string]string{}
		}
		d.files[p] = text
		return agent.Result{Title: p, Output: "written"}, nil
	}}}
}

func lines(name string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%4d  the lamp of %s is lit at hour %d\n", i, name, i*7%24)
	}
	return b.String()
}

func call(name, arguments string) llmtest.Call { return llmtest.Call{Name: name, Arguments: arguments} }

// bench is a loop with an upstream.
type bench struct {
	*agent.Loop
	t        *testing.T
	engine   *winnow.Engine
	upstream *llmtest.Server
	store    store.Store
	config   agent.Config

	settings   *settings.Settings // of the engines that are opened next
	summarizer pivot.Summarizer
	hooks      winnow.Hooks
	scribe     bool // the model writes the summaries
}

// setUp starts an upstream that speaks a protocol, and a loop that asks it.
func setUp(t *testing.T, protocol llmtest.Protocol, script llmtest.Script, change func(*agent.Config),
	tools ...agent.Tool) *bench {
	t.Helper()
	b := &bench{t: t, upstream: llmtest.Start(t, script), store: memory.New()}
	carrier := &http.Transport{}
	t.Cleanup(carrier.CloseIdleConnections)
	set, err := providers.New(func(string) string { return "key" }, map[string]providers.Provider{
		reader.Provider: {Protocol: protocol, BaseURL: b.upstream.BaseURL(protocol), KeyEnv: "KEY",
			Idle: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	set.Transport = carrier
	client, err := set.Client(reader.Provider)
	if err != nil {
		t.Fatal(err)
	}
	b.config = agent.Config{
		Client: client, Model: reader, Protocol: protocol, System: "You are the agent of this test.",
		Tools: tools, Directory: t.TempDir(),
		Retry: llm.RetryOptions{Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }},
	}
	if change != nil {
		change(&b.config)
	}
	b.open(b.store)
	t.Cleanup(func() {
		for _, p := range b.upstream.Problems() {
			t.Error("the provider would refuse:", p)
		}
	})
	return b
}

// open begins anew on a store, as another process does after a crash.
func (b *bench) open(s store.Store) {
	b.t.Helper()
	var loop *agent.Loop
	setting := winnow.Config{Store: s, Models: &model.Catalogue{Models: []model.Model{b.config.Model}},
		Model:    b.config.Model.String(),
		Settings: b.settings, Summarizer: b.summarizer, Hooks: b.hooks, Queue: true}
	if b.scribe {
		setting.SummarizerFor = func(m model.Model) (pivot.Summarizer, error) {
			return asking.New(llm.Retry(b.config.Client, b.config.Retry), m, asking.Options{}), nil
		}
		setting.Prefix = func(ctx context.Context, id string) (winnow.Prefix, error) { return loop.Prefix(ctx, id) }
	}
	engine, err := winnow.Open(setting)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { engine.Close() })
	c := b.config
	c.Engine = engine
	if loop, err = agent.New(c); err != nil {
		b.t.Fatal(err)
	}
	b.Loop, b.engine = loop, engine
}

// calls are the calls in the log.
func (b *bench) calls(id string) []session.Part {
	b.t.Helper()
	s, _, err := b.engine.Session(context.Background(), id)
	if err != nil {
		b.t.Fatal(err)
	}
	var calls []session.Part
	for _, m := range s.Messages {
		for _, p := range m.Parts {
			if p.Type == session.ToolPart {
				calls = append(calls, p)
			}
		}
	}
	return calls
}

// sound asserts that a session can be sent, and that no call of it is open.
func (b *bench) sound(id string) {
	b.t.Helper()
	v, err := b.engine.View(context.Background(), id)
	if err == nil {
		err = view.Check(v.Messages)
	}
	if err != nil {
		b.t.Errorf("the view cannot be sent: %v", err)
	}
	for _, p := range b.calls(id) {
		if !p.State.Final() {
			b.t.Errorf("the call %s is %s", p.CallID, p.State.Status)
		}
	}
}

func TestRun_worksUntilNoToolIsCalled(t *testing.T) {
	for _, protocol := range llmtest.Protocols() {
		t.Run(string(protocol), func(t *testing.T) {
			t.Parallel()
			var met sync.WaitGroup
			met.Add(2)
			meet := tool{"meet", pathSchema, func(ctx context.Context, c agent.Call) (agent.Result, error) {
				met.Done()
				met.Wait() // returns where the other call runs beside this one
				p, _ := path(c)
				return agent.Result{Title: p, Output: "met", Metadata: map[string]any{"n": 1}}, nil
			}}
			var inside, most int
			var mu sync.Mutex
			alone := serial{tool{"alone", pathSchema, func(ctx context.Context, c agent.Call) (agent.Result, error) {
				mu.Lock()
				inside++
				most = max(most, inside)
				mu.Unlock()
				for range 1000 { // a call beside this one would run now
					runtime.Gosched()
				}
				mu.Lock()
				inside--
				mu.Unlock()
				return agent.Result{Output: "tests fail", Failed: true}, nil
			}}}
			var heard strings.Builder
			b := setUp(t, protocol, llmtest.Script{Answer: llmtest.Sequence(
				llmtest.Reply{Reasoning: "Two at once.", Text: "I look.",
					Calls: []llmtest.Call{call("meet", `{"path":"a"}`), call("meet", `{"path":"b"}`)}},
				llmtest.Reply{Calls: []llmtest.Call{call("alone", `{"path":"a"}`), call("alone", `{"path":"b"}`)}},
				llmtest.Reply{Reasoning: "So it is.", Text: "Done, as asked."},
			)}, func(c *agent.Config) {
				c.OnEvent = func(e agent.Event) {
					if e.Type == agent.Delta && e.Step == 3 {
						heard.WriteString(e.Text)
					}
				}
			}, meet, alone)
			got, err := b.Run(t.Context(), "", "Meet, then be alone.")
			if err != nil {
				t.Fatal(err)
			}
			if got.Text != "Done, as asked." || got.Finish != llm.Stop || got.Steps != 3 || heard.String() != got.Text {
				t.Errorf("got %+v, heard %q", got, heard.String())
			}
			if got.Spent.Steps != 3 || got.Spent.Usage.Prompt() == 0 || got.Spent.Cost <= 0 {
				t.Errorf("spent %+v", got.Spent)
			}
			if most != 1 {
				t.Errorf("%d calls that must be alone ran side by side", most)
			}
			var states []string
			for _, p := range b.calls(got.SessionID) {
				states = append(states, p.Tool+" "+string(p.State.Status)+" "+p.State.Result())
			}
			want := []string{"meet completed met", "meet completed met", "alone error tests fail",
				"alone error tests fail"}
			if !slices.Equal(states, want) {
				t.Errorf("calls %q, want %q", states, want)
			}
			b.sound(got.SessionID)
		})
	}
}

func TestRun_aCallThatCannotBeIsAnswered(t *testing.T) {
	boom := tool{"boom", pathSchema, func(context.Context, agent.Call) (agent.Result, error) { panic("no lamp") }}
	fails := tool{"fails", pathSchema, func(context.Context, agent.Call) (agent.Result, error) {
		return agent.Result{Output: "half"}, fmt.Errorf("no oil")
	}}
	asks := tool{"asks", pathSchema, func(ctx context.Context, c agent.Call) (agent.Result, error) {
		p, _ := path(c)
		if err := c.Ask(ctx, agent.Permission{Tool: "asks", Action: "read", Target: p,
			Inside: !filepath.IsAbs(p)}); err != nil {
			return agent.Result{}, err
		}
		return agent.Result{Output: "allowed"}, nil
	}}
	for _, c := range []struct {
		call   llmtest.Call
		status session.Status
		says   string
	}{
		{call("none", `{"path":"a"}`), session.Failed, `no tool called "none". There are: asks, boom, fails.`},
		{call("boom", `{"path":`), session.Failed, "not JSON"},
		{call("boom", `["a"]`), session.Failed, "not a JSON object"},
		{call("boom", `{"text":"a"}`), session.Failed, "lack path"},
		{call("boom", `{"path":"a"}`), session.Failed, "panicked: no lamp"},
		{call("fails", `{"path":"a"}`), session.Failed, "half\nno oil"},
		{call("asks", `{"path":"a"}`), session.Completed, "allowed"},
		{call("asks", `{"path":"/etc/lamp"}`), session.Failed, "outside of the working folder"},
	} {
		t.Run(c.call.Name+c.call.Arguments, func(t *testing.T) {
			b := setUp(t, llmtest.Chat,
				llmtest.Script{Answer: llmtest.Sequence(llmtest.Reply{Calls: []llmtest.Call{c.call}},
					llmtest.Reply{Text: "I see."})}, nil, boom, fails, asks)
			got, err := b.Run(t.Context(), "", "Try.")
			if err != nil {
				t.Fatal(err)
			}
			calls := b.calls(got.SessionID)
			if len(calls) != 1 || calls[0].State.Status != c.status ||
				!strings.Contains(calls[0].State.Result(), c.says) {
				t.Errorf("the call is %+v, want %s with %q", calls[0].State, c.status, c.says)
			}
		})
	}
}

func TestRun_theThirdEqualCallIsNotRun(t *testing.T) {
	ran := 0
	count := tool{"count", pathSchema, func(context.Context, agent.Call) (agent.Result, error) {
		ran++
		return agent.Result{Output: "one"}, nil
	}}
	same := llmtest.Reply{Calls: []llmtest.Call{call("count", `{"path":"a","text":"b"}`)}}
	turned := llmtest.Reply{Calls: []llmtest.Call{call("count", `{"text":"b", "path":"a"}`)}}
	t.Run("and the model may go on", func(t *testing.T) {
		ran = 0
		b := setUp(t, llmtest.Anthropic, llmtest.Script{Answer: llmtest.Sequence(same, turned, same,
			llmtest.Reply{Text: "Then not."})}, nil, count)
		got, err := b.Run(t.Context(), "", "Count.")
		if err != nil {
			t.Fatal(err)
		}
		calls := b.calls(got.SessionID)
		if ran != 2 || len(calls) != 3 || calls[2].State.Error != agent.Repeated ||
			calls[2].State.Status != session.Failed {
			t.Errorf("it ran %d times; the last is %+v", ran, calls[len(calls)-1].State)
		}
	})
	t.Run("and a model that does not stop is stopped", func(t *testing.T) {
		ran = 0
		b := setUp(t, llmtest.Anthropic, llmtest.Script{Answer: llmtest.Sequence(same)}, nil, count)
		got, err := b.Run(t.Context(), "", "Count.")
		if ran != 2 || got.Steps != 8 || err == nil || !strings.Contains(err.Error(), agent.ErrStuck.Error()) {
			t.Errorf("it ran %d times in %d steps: %v", ran, got.Steps, err)
		}
		b.sound(got.SessionID)
	})
}

func TestSay_isHeardAtTheNextStep(t *testing.T) {
	var b *bench
	var said bool
	speak := tool{"speak", pathSchema, func(_ context.Context, c agent.Call) (agent.Result, error) {
		said = b.Say(c.SessionID, "And mind the oil.")
		return agent.Result{Output: "spoken"}, nil
	}}
	b = setUp(t, llmtest.Anthropic, llmtest.Script{Answer: func(r llmtest.Request) llmtest.Reply {
		switch {
		case r.Contains("And mind the oil."):
			return llmtest.Reply{Text: "I mind it."}
		case r.Results() == 0:
			return llmtest.Reply{Calls: []llmtest.Call{call("speak", `{"path":"a"}`)}}
		}
		return llmtest.Reply{Text: "Not heard."}
	}}, nil, speak)
	got, err := b.Run(t.Context(), "", "Light the lamp.")
	if err != nil {
		t.Fatal(err)
	}
	if !said || got.Text != "I mind it." || got.Steps != 2 {
		t.Errorf("said %v, got %+v", said, got)
	}
	if b.Say(got.SessionID, "Is somebody there?") {
		t.Error("a session that nobody works on took a message")
	}
}

func TestSay_duringTheLastAnswerIsAnsweredToo(t *testing.T) {
	var b *bench
	id := make(chan string, 1)
	b = setUp(t, llmtest.Chat, llmtest.Script{Answer: func(r llmtest.Request) llmtest.Reply {
		if r.Number == 1 {
			b.Say(<-id, "One more thing.")
		}
		return llmtest.Reply{Text: r.Last()}
	}}, func(c *agent.Config) {
		c.OnEvent = func(e agent.Event) {
			if e.Type == agent.StepStarted && e.Step == 1 {
				id <- e.SessionID
			}
		}
	})
	got, err := b.Run(t.Context(), "", "Say it.")
	if err != nil || got.Text != "One more thing." || got.Steps != 2 {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestNew_saysWhatIsWrong(t *testing.T) {
	engine, err := winnow.Open(winnow.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	fine := agent.Config{Engine: engine, Client: setUp(t, llmtest.Chat, llmtest.Script{}, nil).config.Client,
		Model: reader}
	named := func(names ...string) func(*agent.Config) {
		return func(c *agent.Config) {
			for _, n := range names {
				c.Tools = append(c.Tools, tool{name: n, schema: `{}`})
			}
		}
	}
	for says, change := range map[string]func(*agent.Config){
		"no engine":         func(c *agent.Config) { c.Engine = nil },
		"no client":         func(c *agent.Config) { c.Client = nil },
		"no model":          func(c *agent.Config) { c.Model = model.Model{} },
		"protocol":          func(c *agent.Config) { c.Protocol = "telegraph"; named("a")(c) },
		`called "a b"`:      named("a b"),
		`two tools`:         named("a", "a"),
		"not a JSON object": func(c *agent.Config) { c.Tools = []agent.Tool{tool{name: "a", schema: `[]`}} },
		"MaxSteps is -1":    func(c *agent.Config) { c.MaxSteps = -1 },
		"the schema of a ":  func(c *agent.Config) { c.Tools = []agent.Tool{tool{name: "a"}} },
	} {
		c := fine
		change(&c)
		if _, err := agent.New(c); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want a word on %q", err, says)
		}
	}
	if _, err := agent.New(fine); err != nil {
		t.Errorf("what is fine: %v", err)
	}
}

func TestRun_oneAtATimeInASession(t *testing.T) {
	var b *bench
	again := tool{"again", pathSchema, func(ctx context.Context, c agent.Call) (agent.Result, error) {
		_, err := b.Run(ctx, c.SessionID, "Me too.")
		return agent.Result{}, err
	}}
	b = setUp(t, llmtest.Chat, llmtest.Script{Answer: llmtest.Sequence(llmtest.Reply{Calls: []llmtest.Call{call("again",
		`{"path":"a"}`)}}, llmtest.Reply{Text: "No."})}, nil, again)
	got, err := b.Run(t.Context(), "", "Once.")
	if err != nil {
		t.Fatal(err)
	}
	if calls := b.calls(got.SessionID); !strings.Contains(calls[0].State.Error, agent.ErrBusy.Error()) {
		t.Errorf("the second run gave %+v", calls[0].State)
	}
}

func TestRun_stopsAfterItsSteps(t *testing.T) {
	d := &disk{}
	b := setUp(t, llmtest.Chat, llmtest.Script{Answer: func(r llmtest.Request) llmtest.Reply {
		if d.has() == 3 {
			return llmtest.Reply{Text: "Three."}
		}
		return llmtest.Reply{Calls: []llmtest.Call{call("write", fmt.Sprintf(`{"path":"f%d"}`, d.has()))}}
	}}, func(c *agent.Config) { c.MaxSteps = 2 }, d.write())
	got, err := b.Run(t.Context(), "", "Write three.")
	if err == nil || got.Steps != 2 || !strings.Contains(err.Error(), agent.ErrSteps.Error()) {
		t.Fatalf("got %+v, %v", got, err)
	}
	got, err = b.Resume(t.Context(), got.SessionID)
	if err != nil || got.Text != "Three." || len(d.files) != 3 {
		t.Errorf("resumed: %+v, %v, files %v", got, err, slices.Sorted(maps.Keys(d.files)))
	}
	if got, err = b.Resume(t.Context(), got.SessionID); err != nil || got.Steps != 0 {
		t.Errorf("a finished session was resumed: %+v, %v", got, err)
	}
}
