package agent_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/session"
)

// What was called before a process ended counts in the next one: who resumes a model that is stuck
// is not stuck for ever.
func TestResume_countsTheCallsFromBefore(t *testing.T) {
	ran := 0
	count := tool{"count", pathSchema, func(context.Context, agent.Call) (agent.Result, error) {
		ran++
		return agent.Result{Output: "one"}, nil
	}}
	same := llmtest.Reply{Calls: []llmtest.Call{call("count", `{"path":"a"}`)}}
	b := setUp(t, llmtest.Anthropic, llmtest.Script{Answer: llmtest.Sequence(same)},
		func(c *agent.Config) { c.MaxSteps = 1 }, count)
	got, err := b.Run(t.Context(), "", "Count.")
	steps := got.Steps
	for errors.Is(err, agent.ErrSteps) {
		b.open(b.store) // another process
		got, err = b.Resume(t.Context(), got.SessionID)
		if steps += got.Steps; steps > 20 {
			t.Fatal("it goes on for ever")
		}
	}
	if !errors.Is(err, agent.ErrStuck) || steps != 8 || ran != 2 {
		t.Errorf("%d steps, the call ran %d times: %v; want 8 steps, 2 times, and %v", steps, ran, err, agent.ErrStuck)
	}
}

// A call that was interrupted is rightly made again, how often the process may end.
func TestResume_anInterruptedCallMayBeMadeAgain(t *testing.T) {
	ran := 0
	wait := tool{"wait", pathSchema, func(ctx context.Context, c agent.Call) (agent.Result, error) {
		if ran++; ran < 5 {
			<-ctx.Done()
			return agent.Result{}, ctx.Err()
		}
		return agent.Result{Output: "one"}, nil
	}}
	b := setUp(t, llmtest.Chat, llmtest.Script{Answer: func(r llmtest.Request) llmtest.Reply {
		if r.Contains("one") {
			return llmtest.Reply{Text: "Done."}
		}
		return llmtest.Reply{Calls: []llmtest.Call{call("wait", `{"path":"a"}`)}}
	}}, nil, wait)
	id, err := b.engine.Create(t.Context(), session.Info{})
	if err != nil {
		t.Fatal(err)
	}
	for life := 1; life <= 5; life++ {
		ctx, cancel := context.WithCancel(t.Context())
		c := b.config
		c.Engine = b.engine
		c.OnEvent = func(e agent.Event) {
			if e.Type == agent.CallStarted && life < 5 {
				cancel()
			}
		}
		l, err := agent.New(c)
		if err != nil {
			t.Fatal(err)
		}
		if life == 1 {
			_, err = l.Run(ctx, id, "Wait.")
		} else {
			_, err = l.Resume(ctx, id)
		}
		if cancel(); (err == nil) != (life == 5) {
			t.Fatalf("life %d: %v", life, err)
		}
	}
	if ran != 5 {
		t.Errorf("it ran %d times, want 5", ran)
	}
}

// Two processes that work on one session: one of them finds the other's answer, stops and says why;
// the other one finishes.
func TestRun_anotherProcessWorksOnTheSession(t *testing.T) {
	var other *bench
	var id string
	var entered atomic.Bool
	meet := tool{"meet", pathSchema, func(ctx context.Context, c agent.Call) (agent.Result, error) {
		if entered.Swap(true) {
			return agent.Result{Output: "met"}, nil
		}
		if got, err := other.Resume(ctx, c.SessionID); err != nil || got.Text != "It is done." {
			t.Errorf("the other one: %+v, %v", got, err)
		}
		return agent.Result{Output: "late, and still told"}, nil
	}}
	script := func(r llmtest.Request) llmtest.Reply {
		if r.Results() > 0 {
			return llmtest.Reply{Text: "It is done."}
		}
		return llmtest.Reply{Calls: []llmtest.Call{call("meet", `{"path":"a"}`)}}
	}
	b := setUp(t, llmtest.Anthropic, llmtest.Script{Answer: script}, nil, meet)
	other = &bench{t: t, upstream: b.upstream, store: b.store, config: b.config}
	other.open(b.store)
	id, err := b.engine.Create(t.Context(), session.Info{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := b.Run(t.Context(), id, "Meet.")
	if !errors.Is(err, agent.ErrElsewhere) || got.Steps != 1 {
		t.Errorf("got %+v, %v, want %v", got, err, agent.ErrElsewhere)
	}
	b.sound(id)
	if calls := b.calls(id); len(calls) != 1 || calls[0].State.Result() != "late, and still told" {
		t.Errorf("calls %+v", calls)
	}
	if got, err = b.Resume(t.Context(), id); err != nil {
		t.Errorf("resumed afterwards: %+v, %v", got, err)
	}
}
