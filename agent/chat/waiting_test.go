package chat

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/llm"
)

func TestWaiting_isSaidWithItsReason(t *testing.T) {
	goOn := make(chan struct{})
	script := llmtest.Script{Answer: func(r llmtest.Request) llmtest.Reply {
		if r.Number == 1 {
			return llmtest.Reply{Fault: llmtest.RateSeconds, RetryAfter: 20 * time.Second}
		}
		return llmtest.Reply{Text: "well"}
	}}
	b := setUp(t, script, func(_ *Config, c *agent.Config) {
		c.Retry = llm.RetryOptions{Random: func() float64 { return 0 },
			Sleep: func(ctx context.Context, _ time.Duration) error {
				select {
				case <-goOn:
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			}}
	})
	b.says("one")
	b.shows("waits 20 s: rate limited")
	b.clock = b.clock.Add(5 * time.Second)
	b.shows("waits 15 s: rate limited")
	close(goOn)
	b.shows("  well")
	b.rests()
	if screen := b.look(); strings.Contains(screen, "waits") {
		t.Errorf("it waits still:\n%s", screen)
	}
}

func TestPermission_ofASubAgentSaysWhoseItIs(t *testing.T) {
	script := llmtest.Script{Answer: func(r llmtest.Request) llmtest.Reply {
		child := strings.HasPrefix(r.Messages[0].Text(), "count")
		switch {
		case !child && r.Results() == 0:
			return llmtest.Reply{Calls: []llmtest.Call{{Name: "task"}}}
		case child && r.Results() == 0:
			return llmtest.Reply{Calls: []llmtest.Call{{Name: "bash"}}}
		}
		return llmtest.Reply{Text: "the end"}
	}}
	task := tool{"task", func(ctx context.Context, c agent.Call) (agent.Result, error) {
		turn, err := c.Child(ctx, agent.Child{Title: "the lamps", Prompt: "count the lamps"})
		return agent.Result{Output: turn.Text}, err
	}}
	b := setUp(t, script, nil, task, asking("bash", "run", "make"))
	b.says("build it")
	b.shows("? bash wants to run for the sub-agent “the lamps”:")
	b.press2("y")
	b.shows("the end")
}
