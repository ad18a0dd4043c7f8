package agent_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/internal/llmtest"
)

// warmth is what the provider's cache did for the requests between two commits.
type warmth struct {
	requests, of int
	read         int // tokens
	prompts      int // all of them
	before       int // of these, what the request before had sent already
}

func (w warmth) ofPrompts() float64 { return float64(w.read) / float64(w.prompts) }
func (w warmth) ofBefore() float64  { return float64(w.read) / float64(w.before) }

// fresh reports whether something that was sent before was paid again. OpenAI's caches grow by 128
// tokens at a time, so that fewer than these are paid again in any case.
func (w warmth) fresh(p llmtest.Protocol) bool {
	unit := map[llmtest.Protocol]int{llmtest.Chat: 128, llmtest.Responses: 128}[p]
	return w.before-w.read > unit*w.requests
}

// measured runs a loop and looks at the requests before which nothing was committed or folded.
func measured(t *testing.T, b *bench, prompt string) (w warmth) {
	t.Helper()
	changed := false // since the last request, more than what was appended
	var warm []bool
	events := b.engine.Subscribe(1 << 14)
	c := b.config
	c.Engine = b.engine
	c.OnEvent = func(e agent.Event) {
		if e.Type != agent.Answered {
			return
		}
		for len(events.C) > 0 {
			switch e := <-events.C; e.Type {
			case winnow.Compacted, winnow.ElisionCommitted:
				changed = true
			}
		}
		warm = append(warm, !changed && len(warm) > 0)
		changed = false
	}
	loop, err := agent.New(c)
	if err != nil {
		t.Fatal(err)
	}
	b.Loop = loop
	if _, err := loop.Run(t.Context(), "", prompt); err != nil {
		t.Fatal(err)
	}
	records, err := b.upstream.Settled(t.Context())
	if err != nil || len(records) != len(warm) {
		t.Fatalf("%d requests, %d answers: %v", len(records), len(warm), err)
	}
	w.of = len(records)
	for i, r := range records {
		if !warm[i] {
			continue
		}
		w.requests++
		w.read += r.Usage.Cache.Read
		w.prompts += r.Usage.Prompt()
		w.before += records[i-1].Usage.Prompt()
	}
	t.Logf("%d of %d requests between commits: %.1f %% of their prompts were read from the cache, %.2f %% of what "+
		"had been sent before",
		w.requests, w.of, 100*w.ofPrompts(), 100*w.ofBefore())
	return w
}

// Between two commits each prompt begins with the one before, and all of that is read from the
// provider's cache. How much of the whole prompt that is hangs on how much is new in each step:
// with short outputs it is 95 % and more.
func TestRun_thePrefixStaysWarm(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes one step after the other: -short is for the race detector")
	}
	for _, protocol := range llmtest.Protocols() {
		for _, c := range []struct {
			name    string
			n, size int
			share   float64 // of the prompts, at least
		}{{"short outputs", 40, 15, 0.95}, {"long outputs", 40, 200, 0.7}} {
			t.Run(string(protocol)+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				j := &job{n: c.n, size: c.size}
				b := setUp(t, protocol, llmtest.Script{Answer: j.answer}, func(c *agent.Config) {
					c.System = strings.Repeat("You are the agent of this test, and it is a long one. ", 120)
				}, j.tools()...)
				w := measured(t, b, "Write the files. "+constraint)
				j.done(t)
				if w.requests < 20 || w.fresh(protocol) || w.ofPrompts() < c.share {
					t.Errorf("%+v", w)
				}
			})
		}
	}
}

// So does a prompt to which a step adds more calls than a provider looks back from a mark, and one
// to which the user adds a word in between.
func TestRun_thePrefixStaysWarmBehindManyCalls(t *testing.T) {
	for _, protocol := range faulty() {
		t.Run(string(protocol), func(t *testing.T) {
			t.Parallel()
			var b *bench
			look := tool{"look", pathSchema, func(_ context.Context, c agent.Call) (agent.Result, error) {
				p, _ := path(c)
				if strings.HasSuffix(p, "/3") {
					b.Say(c.SessionID, "Look at the next ones too, after "+p)
				}
				return agent.Result{Output: lines(p, 3)}, nil
			}}
			b = setUp(t, protocol, llmtest.Script{Answer: func(r llmtest.Request) llmtest.Reply {
				if r.Number > 12 {
					return llmtest.Reply{Text: "All is seen."}
				}
				reply := llmtest.Reply{Reasoning: "Many at once.", Text: "I look."}
				for i := range 30 {
					reply.Calls = append(reply.Calls, call("look", fmt.Sprintf(`{"path":"%d/%d"}`, r.Number, i)))
				}
				return reply
			}}, func(c *agent.Config) {
				c.System = strings.Repeat("You are the agent of this test, and it is a long one. ", 120)
			}, look)
			w := measured(t, b, "Look at all. "+constraint)
			if w.requests < 8 || w.fresh(protocol) {
				t.Errorf("%+v", w)
			}
		})
	}
}
