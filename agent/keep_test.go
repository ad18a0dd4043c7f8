package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/report"
)

// talker gives back what it is told to, on one call after the other.
func talker(name string, results ...func() (agent.Result, error)) tool {
	n := 0
	return tool{name, `{"type":"object","properties":{},"required":[]}`,
		func(context.Context, agent.Call) (agent.Result, error) {
			n++
			return results[n-1]()
		}}
}

type recaller struct{ tool }

func (recaller) Recall(handle string) string { return "ask remember for " + handle }

type paged struct{ tool }

func (paged) Paged() {}

func TestRun_longOutputsAreShapedAndKept(t *testing.T) {
	long := lines("sea", 3000)
	say := serial{talker("say",
		func() (agent.Result, error) {
			return agent.Result{Output: long, Metadata: map[string]any{"exit": 0}}, nil
		},
		func() (agent.Result, error) { return agent.Result{Output: long, Failed: true}, nil },
		func() (agent.Result, error) { return agent.Result{}, errors.New(long) },
		func() (agent.Result, error) { return agent.Result{Output: strings.Repeat("y\n", 2000)}, nil },
	)}
	book := paged{talker("book", func() (agent.Result,
		error) {
		return agent.Result{Output: strings.Repeat("x\n", 2100)}, nil
	})}
	four := []llmtest.Call{call("say", "{}"), call("say", `{"a":1}`), call("say", `{"a":2}`), call("say", `{"a":3}`),
		call("book", "{}")}
	var sent []session.Part
	b := setUp(t, llmtest.Chat, llmtest.Script{Answer: func(q llmtest.Request) llmtest.Reply {
		if q.Results() == 0 {
			return llmtest.Reply{Calls: four}
		}
		for _, m := range q.Messages {
			for _, p := range m.Parts {
				if p.State != nil {
					sent = append(sent, p)
				}
			}
		}
		return llmtest.Reply{Text: "Done."}
	}}, nil, say, book, recaller{talker("remember")})
	got, err := b.Run(t.Context(), "", "Say much.")
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range b.calls(got.SessionID) {
		text := p.State.Result()
		if !strings.HasSuffix(sent[i].State.Result(), text) {
			t.Errorf("call %d: what was sent is not what the log has", i)
		}
		w, err := winnow.Look(t.Context(), b.engine, got.SessionID, report.Read(p.CallID))
		if err != nil {
			t.Fatal(err)
		}
		kept, ok, err := store.Kept(t.Context(), b.engine.Store(), got.SessionID, p.ID)
		if err != nil {
			t.Fatal(err)
		}
		shaped := i < 3
		if ok != shaped || shaped && kept != long {
			t.Errorf("call %d: kept %v, %d bytes of %d", i, ok, len(kept), len(long))
		}
		if !shaped {
			if b.meta(p)["shapedFrom"] != nil {
				t.Errorf("call %d is shaped: %v", i, b.meta(p))
			}
			continue
		}
		want := "all; the whole is kept: ask remember for " + w.Handle + "]\n"
		if len(text) > 17_000 || !strings.HasPrefix(text, long[:7000]) ||
			!strings.HasSuffix(text, long[len(long)-7000:]) || !strings.Contains(text, want) {
			t.Errorf("call %d: %d bytes, want %q in it", i, len(text), want)
		}
		if m := b.meta(p); m["shapedFrom"] != float64(len(long)) || (m["exit"] != nil) != (i == 0) {
			t.Errorf("call %d: the metadata is %v", i, m)
		}
		if (p.State.Status == session.Failed) != (i > 0) {
			t.Errorf("call %d is %s", i, p.State.Status)
		}
	}
}

// plain is a store that keeps no texts.
type plain struct{ store.Store }

// broken is one that cannot.
type broken struct{ store.Store }

func (broken) Keep(context.Context, string, string, string) error { return errors.New("no room") }
func (broken) Kept(context.Context, string, string) (string, error) {
	return "", store.ErrNotKept
}
func (broken) KeptParts(context.Context, string) ([]string, error) { return nil, nil }

func TestRun_shapedWithoutAnybodyToRecallIt(t *testing.T) {
	long := lines("sea", 3000)
	say := func() agent.Tool {
		return talker("say", func() (agent.Result, error) { return agent.Result{Output: long}, nil })
	}
	script := llmtest.Script{Answer: func(q llmtest.Request) llmtest.Reply {
		if q.Results() == 0 {
			return llmtest.Reply{Calls: []llmtest.Call{call("say", "{}")}}
		}
		return llmtest.Reply{Text: "Done."}
	}}
	for name, recalls := range map[string]bool{"the loop has no tool for it": false, "the store keeps nothing": true} {
		tools := []agent.Tool{say()}
		if recalls {
			tools = append(tools, recaller{talker("remember")})
		}
		b := setUp(t, llmtest.Chat, script, func(c *agent.Config) { c.Limits.Lines = 2500 }, tools...)
		if recalls {
			b.open(plain{b.store})
		}
		got, err := b.Run(t.Context(), "", "Say much.")
		if err != nil {
			t.Fatal(err)
		}
		if text := b.calls(got.SessionID)[0].State.Output; !strings.Contains(text, agent.Less+"]") ||
			len(text) > 17_000 {
			t.Errorf("%s: %d bytes, want %q in it", name, len(text), agent.Less)
		}
	}

	// What cannot be put away stays in the log, whole.
	b := setUp(t, llmtest.Chat, script, nil, say())
	b.open(broken{b.store})
	got, err := b.Run(t.Context(), "", "Say much.")
	if winnow.CodeOf(err) != winnow.StoreFailed || !strings.Contains(err.Error(), "no room") {
		t.Errorf("error %v, want that of the store", err)
	}
	if c := b.calls(got.SessionID); len(c) != 1 || c[0].State.Output != long {
		t.Errorf("the log has %d bytes of %d", len(c[0].State.Output), len(long))
	}
}
