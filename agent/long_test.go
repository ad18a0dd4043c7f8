package agent_test

import (
	"strings"
	"testing"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/llm/llmtest"
)

// A job that is many times larger than its model's window.
func TestRun_aLongJobInASmallWindow(t *testing.T) {
	small := reader
	small.Limits.Context, small.Limits.Output = 32_000, 3_000
	j := &job{n: 50, size: 130}
	b := setUp(t, llmtest.Anthropic, llmtest.Script{Answer: j.answer, Window: small.Limits.Context}, func(c *agent.Config) { c.Model = small }, j.tools()...)
	events := b.engine.Subscribe(1 << 14)
	got, err := b.Run(t.Context(), "", "Write the files. "+constraint)
	if err != nil {
		t.Fatal(err)
	}
	b.engine.Close()
	folded, pruned := 0, 0
	for e := range events.C {
		switch e.Type {
		case winnow.Compacted:
			folded++
		case winnow.ElisionCommitted:
			pruned++
		}
	}
	j.done(t)
	given, largest := 0, 0
	for _, p := range b.calls(got.SessionID) {
		given += len(p.State.Result())
	}
	for _, r := range b.upstream.Records() {
		largest = max(largest, r.Prompt)
		if r.TooLong {
			t.Errorf("request %d was too long: %d tokens", r.Number, r.Prompt)
		}
		if !r.Contains(constraint) {
			t.Errorf("request %d does not have the constraint", r.Number)
		}
	}
	t.Logf("%d steps, %d bytes of output, %d compactions, %d prunings, the largest prompt %d tokens", got.Steps, given, folded, pruned, largest)
	if got.Steps < 100 || folded == 0 {
		t.Errorf("%d steps, %d compactions: the test does not show what it is to show", got.Steps, folded)
	}
	if got.Spent.Steps != got.Steps {
		t.Errorf("%d steps were recorded of %d", got.Spent.Steps, got.Steps)
	}
}

// Between two commits each prompt begins with the one before, and all of that is read from the provider's cache.
func TestRun_thePrefixStaysWarm(t *testing.T) {
	for _, protocol := range []llmtest.Protocol{llmtest.Anthropic, llmtest.Chat, llmtest.Responses, llmtest.Gemini} {
		t.Run(string(protocol), func(t *testing.T) {
			t.Parallel()
			j := &job{n: 40, size: 15}
			changed := false // since the last request, more than what was appended
			var warm []bool
			b := setUp(t, protocol, llmtest.Script{Answer: func(r llmtest.Request) llmtest.Reply {
				return j.answer(r)
			}}, func(c *agent.Config) {
				c.System = strings.Repeat("You are the agent of this test, and it is a long one. ", 60)
			}, j.tools()...)
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
			if _, err := loop.Run(t.Context(), "", "Write the files. "+constraint); err != nil {
				t.Fatal(err)
			}
			j.done(t)
			records, err := b.upstream.Settled(t.Context())
			if err != nil || len(records) != len(warm) {
				t.Fatalf("%d requests, %d answers: %v", len(records), len(warm), err)
			}
			read, prompts, before, n := 0, 0, 0, 0
			for i, r := range records {
				if !warm[i] {
					continue
				}
				n++
				read, prompts, before = read+r.Usage.Cache.Read, prompts+r.Usage.Prompt(), before+records[i-1].Usage.Prompt()
			}
			t.Logf("%d of %d requests between commits: %.1f %% of their prompts were read from the cache, %.1f %% of what had been sent before",
				n, len(records), 100*float64(read)/float64(prompts), 100*float64(read)/float64(before))
			if n < 20 || float64(read) < 0.95*float64(before) || float64(read) < 0.95*float64(prompts) {
				t.Errorf("%d requests: read %d of %d tokens, %d of them sent before", n, read, prompts, before)
			}
		})
	}
}
