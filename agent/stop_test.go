package agent_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/internal/soon"
	"github.com/winnowhq/winnow/llm"
)

// Wherever it waits, it returns within 250 ms of the end of its context, and goes on when it is
// resumed. Answers, tools, a locked store and the offline summariser have tests of their own.
func TestRun_stoppedWhereverItWaits(t *testing.T) {
	never := make(chan struct{})
	defer close(never)
	for _, protocol := range []llmtest.Protocol{llmtest.Anthropic, llmtest.Chat} {
		for name, c := range map[string]struct {
			first  llmtest.Reply
			when   agent.EventType
			change func(*agent.Config)
		}{
			"for the head of an answer": {llmtest.Reply{Fault: llmtest.HangBeforeHeaders}, agent.StepStarted, nil},
			"for the next attempt": {llmtest.Reply{Fault: llmtest.RateSeconds, RetryAfter: 20 * time.Second},
				agent.StepStarted, func(c *agent.Config) {
					c.Retry = llm.RetryOptions{}
				}},
			"for the end of an answer that drips": {llmtest.Reply{Text: strings.Repeat("Drip. ", 200),
				Fault: llmtest.SlowDrip}, agent.StepStarted, nil},
			"for somebody to allow a call": {llmtest.Reply{Calls: []llmtest.Call{call("asks", `{"path":"/etc/lamp"}`)}},
				agent.CallStarted, func(c *agent.Config) {
					c.Ask = func(ctx context.Context, _ agent.Permission) error {
						<-ctx.Done()
						return ctx.Err()
					}
				}},
			"for somebody who does not hear": {llmtest.Reply{Calls: []llmtest.Call{call("asks",
				`{"path":"/etc/lamp"}`)}}, agent.CallStarted, func(c *agent.Config) {
				c.Ask = func(context.Context, agent.Permission) error {
					<-never
					return nil
				}
			}},
		} {
			t.Run(string(protocol)+"/"+name, func(t *testing.T) {
				asks := tool{"asks", pathSchema, func(ctx context.Context, c agent.Call) (agent.Result, error) {
					return agent.Result{Output: "allowed"},
						c.Ask(ctx, agent.Permission{Tool: "asks", Action: "read", Target: "/etc/lamp"})
				}}
				b := setUp(t, protocol, llmtest.Script{Answer: llmtest.Sequence(c.first,
					llmtest.Reply{Text: "It is done."})}, c.change, asks)
				got, err := stops(t, b, c.when, "Do it.")
				if winnow.CodeOf(err) == winnow.NoProgress || errors.Is(err, agent.ErrStuck) {
					t.Errorf("got %v", err)
				}
				if got, err = b.Resume(t.Context(), got.SessionID); err != nil || got.Text != "It is done." {
					t.Errorf("resumed: %+v, %v", got, err)
				}
			})
		}
	}
}

// While a model writes a summary, the user stops it: the session is as it was, and the summary is
// asked for again when it is resumed.
func TestRun_stoppedWhileASummaryIsWritten(t *testing.T) {
	for _, fault := range []llmtest.Fault{llmtest.HangBeforeHeaders, llmtest.HangMidStream} {
		t.Run(string(fault), func(t *testing.T) {
			j, asked := &job{n: 8, size: 200}, 0
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var at atomic.Pointer[soon.Watch]
			b := narrow(t, llmtest.Anthropic, func(r llmtest.Request) llmtest.Reply {
				if !sums(r) {
					return j.answer(r)
				}
				if asked++; asked > 1 {
					return llmtest.Reply{Text: notes}
				}
				time.AfterFunc(30*time.Millisecond, func() {
					now := soon.Start()
					at.Store(&now)
					cancel()
				})
				return llmtest.Reply{Text: notes, Fault: fault}
			}, j.tools()...)
			b.scribe = true
			b.open(b.store)
			got, err := b.Run(ctx, "", "Write the files. "+constraint)
			if !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			took := at.Load().Took()
			if took > promptly {
				t.Errorf("it returned %s after it was stopped", took)
			}
			t.Logf("returned after %s", took)
			b.sound(got.SessionID)
			if got, err = b.Resume(t.Context(), got.SessionID); err != nil {
				t.Fatalf("resumed: %v", err)
			}
			j.done(t)
			b.folded(got.SessionID, true)
		})
	}
}
