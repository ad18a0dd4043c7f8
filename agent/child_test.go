package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/memory"
)

const promptSchema = `{"type":"object","properties":{"prompt":{"type":"string"},"id":{"type":"string"}},` +
	`"required":["prompt"],"additionalProperties":false}`

// helper is a tool that lets a child do what it is told.
func helper(c agent.Child) agent.Tool {
	return tool{"helper", promptSchema, func(ctx context.Context, call agent.Call) (agent.Result, error) {
		var in struct{ Prompt, ID string }
		if err := json.Unmarshal(call.Input, &in, json.MatchCaseInsensitiveNames(true)); err != nil {
			return agent.Result{}, err
		}
		c := c // several calls may run at once
		c.Prompt, c.SessionID = in.Prompt, in.ID
		turn, err := call.Child(ctx, c)
		return agent.Result{Output: turn.Text + "\nby " + turn.SessionID}, err
	}}
}

// isChild reports whether a request is one of a child: what was said to it begins so.
func isChild(q llmtest.Request) bool {
	return len(q.Messages) > 0 && len(q.Messages[0].Parts) > 0 &&
		strings.HasPrefix(q.Messages[0].Parts[0].Text, "CHILD: ")
}

func (b *bench) meta(p session.Part) map[string]any {
	b.t.Helper()
	m := map[string]any{}
	if len(p.State.Metadata) > 0 {
		if err := json.Unmarshal(p.State.Metadata, &m); err != nil {
			b.t.Fatal(err)
		}
	}
	return m
}

func TestChild_worksInASessionOfItsOwn(t *testing.T) {
	d := &disk{}
	var told []agent.Event
	b := setUp(t, llmtest.Anthropic, llmtest.Script{Answer: func(q llmtest.Request) llmtest.Reply {
		if child := isChild(q); child != strings.Contains(q.System, "You have one lamp.") ||
			child && !slices.Equal(q.ToolNames(), []string{"read"}) {
			t.Errorf("a request (of the child: %v) has the system prompt %q and the tools %v", child, q.System,
				q.ToolNames())
		}
		switch n := q.Results(); {
		case isChild(q) && n == 0:
			return llmtest.Reply{Text: "I look.", Calls: []llmtest.Call{call("read", `{"path":"a"}`),
				call("helper", `{"prompt":"more of us"}`), call("write", `{"path":"b","text":"x"}`)}}
		case isChild(q):
			return llmtest.Reply{Text: "The lamp is lit."}
		case n == 0:
			return llmtest.Reply{Calls: []llmtest.Call{call("helper", `{"prompt":"CHILD: look at the lamp"}`)}}
		}
		return llmtest.Reply{Text: "It is lit."}
	}}, func(c *agent.Config) {
		c.OnEvent = func(e agent.Event) {
			if e.SessionID != "" && e.Type == agent.CallEnded {
				told = append(told, e)
			}
		}
	}, d.read(3), d.write(), helper(agent.Child{Title: "the lamp", System: "You have one lamp.",
		Tools: []string{"read", "helper"}}))
	got, err := b.Run(t.Context(), "", "Is the lamp lit?")
	if err != nil {
		t.Fatal(err)
	}
	calls := b.calls(got.SessionID)
	if len(calls) != 1 || calls[0].State.Status != session.Completed ||
		!strings.HasPrefix(calls[0].State.Output, "The lamp is lit.\nby ses_") {
		t.Fatalf("the calls of the parent are %+v", calls)
	}
	id, _ := b.meta(calls[0])["sessionId"].(string)
	child, state, err := b.engine.Session(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if child.Info.ParentID != got.SessionID || child.Info.Title != "the lamp" {
		t.Errorf("the session of the child is %+v", child.Info)
	}
	b.sound(id)
	for _, c := range b.calls(id) {
		want := session.Failed
		if c.Tool == "read" {
			want = session.Completed
		}
		if c.State.Status != want {
			t.Errorf("%s is %s in the child, want %s: %s", c.Tool, c.State.Status, want, c.State.Result())
		}
	}
	if d.has() != 0 {
		t.Errorf("the child wrote with a tool that it does not have")
	}
	if len(told) != 1 || told[0].SessionID != got.SessionID {
		t.Errorf("the parent is told of %d calls, want its own one", len(told))
	}
	cost := 0.0
	for _, s := range state.Spent {
		cost += s.Cost
	}
	if s := got.Spent; s.Children != 1 || s.ChildrenCost != cost || cost <= 0 || s.Steps != 2 {
		t.Errorf("spent %+v, of it the child %v", s, cost)
	}
}

func TestChild_goesOnWhereItWas(t *testing.T) {
	b := setUp(t, llmtest.Chat, llmtest.Script{Answer: func(q llmtest.Request) llmtest.Reply {
		if isChild(q) {
			return llmtest.Reply{Text: fmt.Sprintf("I know %d messages.", len(q.Messages))}
		}
		switch q.Results() {
		case 0:
			return llmtest.Reply{Calls: []llmtest.Call{call("helper", `{"prompt":"CHILD: once"}`)}}
		case 1:
			_, id, _ := strings.Cut(q.Messages[1].Parts[0].State.Output, "by ")
			return llmtest.Reply{Calls: []llmtest.Call{call("helper", `{"prompt":"CHILD: a second one"}`),
				call("helper", fmt.Sprintf(`{"prompt":"And again.","id":%q}`, id))}}
		}
		return llmtest.Reply{Text: "Done."}
	}}, nil, helper(agent.Child{}))
	got, err := b.Run(t.Context(), "", "Go.")
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range b.calls(got.SessionID) {
		if want := []string{"I know 1 messages.", "I know 1 messages.",
			"I know 3 messages."}[i]; !strings.HasPrefix(c.State.Result(), want) {
			t.Errorf("call %d: got %q, want %q", i, c.State.Result(), want)
		}
	}
	if got.Spent.Children != 2 {
		t.Errorf("%d children, want 2", got.Spent.Children)
	}
}

func TestChild_noOtherSessionIsAChild(t *testing.T) {
	b := setUp(t, llmtest.Chat, llmtest.Script{Answer: func(q llmtest.Request) llmtest.Reply {
		if q.Results() > 0 {
			return llmtest.Reply{Text: "Then not."}
		}
		return llmtest.Reply{Calls: []llmtest.Call{call("helper", `{"prompt":"hi","id":"other"}`),
			call("helper", `{"prompt":"hi","id":"none"}`), call("helper", `{"prompt":" "}`)}}
	}}, nil, helper(agent.Child{}))
	if err := b.store.Create(t.Context(), session.Info{ID: "other"}); err != nil {
		t.Fatal(err)
	}
	got, err := b.Run(t.Context(), "", "Go.")
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range b.calls(got.SessionID) {
		if want := []string{agent.ErrNoChild.Error(), agent.ErrNoChild.Error(),
			"the prompt is empty"}[i]; c.State.Status != session.Failed || !strings.Contains(c.State.Error, want) {
			t.Errorf("call %d is %s: %s", i, c.State.Status, c.State.Error)
		}
	}
	if state, err := b.store.State(t.Context(), "other"); err != nil || state.Messages != 0 {
		t.Errorf("the other session has %d messages (%v)", state.Messages, err)
	}
}

// Who stops the parent stops the child; both can be resumed, and the parent knows which session it
// was.
func TestChild_endsWithItsParent(t *testing.T) {
	began := make(chan bool, 1)
	wait := tool{"wait", pathSchema, func(ctx context.Context, c agent.Call) (agent.Result, error) {
		began <- true
		<-ctx.Done()
		return agent.Result{}, ctx.Err()
	}}
	b := setUp(t, llmtest.Chat, llmtest.Script{Answer: func(q llmtest.Request) llmtest.Reply {
		if isChild(q) {
			return llmtest.Reply{Calls: []llmtest.Call{call("wait", `{"path":"a"}`)}}
		}
		return llmtest.Reply{Calls: []llmtest.Call{call("helper", `{"prompt":"CHILD: wait"}`)}}
	}}, nil, wait, helper(agent.Child{}))
	ctx, cancel := context.WithCancel(t.Context())
	var stopped time.Time
	go func() { <-began; stopped = time.Now(); cancel() }()
	events := b.engine.Subscribe(1 << 10)
	defer events.Close()
	got, err := b.Run(ctx, "", "Wait.")
	took := time.Since(stopped)
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want %v", err, context.Canceled)
	}
	calls := b.calls(got.SessionID)
	meta := b.meta(calls[0])
	id, _ := meta["sessionId"].(string)
	if len(calls) != 1 || calls[0].State.Status != session.Failed || meta["interrupted"] != true || id == "" {
		t.Fatalf("the call of the parent is %+v, %v", calls[0].State, meta)
	}
	if c := b.calls(id); took < 100*time.Millisecond && (len(c) != 1 || !c[0].State.Final()) {
		t.Errorf("the parent has returned after %v, and the child has not: its calls are %+v", took, c)
	}
	for c := b.calls(id); len(c) != 1 || !c[0].State.Final(); c = b.calls(id) {
		select {
		case <-events.C:
		case <-t.Context().Done():
			t.Fatalf("the call of the child never ends: %+v", c)
		}
	}
	b.sound(id)
}

// A crash leaves the id of the child in the log, so that what it took is known.
func TestChild_isNotedWhenItBegins(t *testing.T) {
	var noted bool
	s := memory.New()
	look := tool{"look", pathSchema, func(ctx context.Context, c agent.Call) (agent.Result, error) {
		list, err := s.List(ctx)
		if err != nil {
			return agent.Result{}, err
		}
		for _, l := range list {
			for m := range s.Messages(ctx, l.Info.ID) {
				for _, p := range m.Parts {
					noted = noted || p.State != nil && p.State.Status == session.Running &&
						strings.Contains(string(p.State.Metadata), c.SessionID)
				}
			}
		}
		return agent.Result{Output: "looked"}, nil
	}}
	b := setUp(t, llmtest.Chat, llmtest.Script{Answer: func(q llmtest.Request) llmtest.Reply {
		switch n := q.Results(); {
		case isChild(q) && n == 0:
			return llmtest.Reply{Calls: []llmtest.Call{call("look", `{"path":"a"}`)}}
		case !isChild(q) && n == 0:
			return llmtest.Reply{Calls: []llmtest.Call{call("helper", `{"prompt":"CHILD: look"}`)}}
		}
		return llmtest.Reply{Text: "Done."}
	}}, nil, look, helper(agent.Child{}))
	b.open(s)
	if _, err := b.Run(t.Context(), "", "Look."); err != nil {
		t.Fatal(err)
	}
	if !noted {
		t.Error("the call that began the child does not name it while it runs")
	}
}

// A fork has the session as its parent as well, and none of its calls began it.
func TestChild_aForkIsNoChild(t *testing.T) {
	fork := ""
	b := setUp(t, llmtest.Chat, llmtest.Script{Answer: func(q llmtest.Request) llmtest.Reply {
		if fork == "" || q.Results() > 0 {
			return llmtest.Reply{Text: "Done."}
		}
		return llmtest.Reply{Calls: []llmtest.Call{call("helper", fmt.Sprintf(`{"prompt":"hi","id":%q}`, fork))}}
	}}, nil, helper(agent.Child{}))
	got, err := b.Run(t.Context(), "", "Go.")
	if err != nil {
		t.Fatal(err)
	}
	if fork, err = b.engine.Fork(t.Context(), got.SessionID, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Run(t.Context(), got.SessionID, "Go on with the fork."); err != nil {
		t.Fatal(err)
	}
	if c := b.calls(got.SessionID); len(c) != 1 || c[0].State.Status != session.Failed ||
		!strings.Contains(c[0].State.Error, agent.ErrNoChild.Error()) {
		t.Errorf("the call is %+v", c)
	}
	if s, _, err := b.engine.Session(t.Context(), fork); err != nil || len(s.Messages) != 2 {
		t.Errorf("the fork has %d messages (%v), want the 2 that it had", len(s.Messages), err)
	}
}

// Of two calls that go on with the same child one finds it busy; what the other's requests begin
// with is known all the same, for summaries.
func TestChild_twoCallsForOneChild(t *testing.T) {
	began, end := make(chan bool), make(chan bool)
	wait := tool{"wait", pathSchema, func(context.Context, agent.Call) (agent.Result, error) {
		began <- true
		<-end
		return agent.Result{}, nil
	}}
	known, id := "", ""
	var b *bench
	look := tool{"look", pathSchema, func(ctx context.Context, c agent.Call) (agent.Result, error) {
		<-began
		_, err := c.Child(ctx, agent.Child{SessionID: id, Prompt: "me too"})
		p, _ := b.Prefix(ctx, id)
		known = p.System
		close(end)
		return agent.Result{}, err
	}}
	b = setUp(t, llmtest.Chat, llmtest.Script{Answer: func(q llmtest.Request) llmtest.Reply {
		switch n := q.Results(); {
		case isChild(q) && strings.Contains(q.Last(), "wait"):
			return llmtest.Reply{Calls: []llmtest.Call{call("wait", `{"path":"a"}`)}}
		case isChild(q):
			return llmtest.Reply{Text: "Here."}
		case n == 0:
			return llmtest.Reply{Calls: []llmtest.Call{call("helper", `{"prompt":"CHILD: once"}`)}}
		case n == 1:
			_, id, _ = strings.Cut(q.Messages[1].Parts[0].State.Output, "by ")
			return llmtest.Reply{Calls: []llmtest.Call{call("helper", fmt.Sprintf(`{"prompt":"wait","id":%q}`, id)),
				call("look", `{"path":"a"}`)}}
		}
		return llmtest.Reply{Text: "Done."}
	}}, nil, helper(agent.Child{System: "You are the child."}), wait, look)
	got, err := b.Run(t.Context(), "", "Go.")
	if err != nil {
		t.Fatal(err)
	}
	calls := b.calls(got.SessionID)
	if last := calls[len(calls)-1]; last.State.Status != session.Failed ||
		!strings.Contains(last.State.Error, agent.ErrBusy.Error()) {
		t.Errorf("the second call is %s: %s", last.State.Status, last.State.Result())
	}
	if !strings.Contains(known, "You are the child.") {
		t.Errorf("the child's requests are known to begin with %q", known)
	}
}

// A title is what people read of a session; they are not asked of a model for the work of a call,
// which would wait for them.
func TestChild_asksNobodyForItsTitle(t *testing.T) {
	var told []string
	b := setUp(t, llmtest.Chat, llmtest.Script{Answer: func(q llmtest.Request) llmtest.Reply {
		if !isChild(q) && q.Results() == 0 {
			return llmtest.Reply{Calls: []llmtest.Call{call("helper", `{"prompt":"CHILD: once"}`)}}
		}
		return llmtest.Reply{Text: "Here."}
	}}, func(c *agent.Config) {
		c.Headlines = func(_ context.Context, t agent.Told) (agent.Headline, error) {
			told = append(told, t.Request)
			return agent.Headline{Title: "A title"}, nil
		}
	}, helper(agent.Child{Title: "the lamp"}))
	got, err := b.Run(t.Context(), "", "Go.")
	if err != nil {
		t.Fatal(err)
	}
	id, _ := b.meta(b.calls(got.SessionID)[0])["sessionId"].(string)
	s, _, err := b.engine.Session(t.Context(), id)
	if err != nil || s.Info.Title != "the lamp" || !slices.Equal(told, []string{"Go."}) {
		t.Errorf("the child is called %q (%v), and titles were asked for %q", s.Info.Title, err, told)
	}
}
