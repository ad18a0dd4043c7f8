package agent_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/token"
)

// A job that is many times larger than its model's window.
func TestRun_aLongJobInASmallWindow(t *testing.T) {
	for _, c := range []struct{ context, output, files, size, least int }{
		{32_000, 3_000, 50, 130, 200_000},
		{64_000, 4_000, 150, 600, 3_000_000},
	} {
		if testing.Short() && c.files > 50 {
			continue
		}
		t.Run(fmt.Sprintf("%d files in %d tokens", c.files, c.context), func(t *testing.T) {
			small := reader
			small.Limits.Context, small.Limits.Output = c.context, c.output
			j := &job{n: c.files, size: c.size}
			b := setUp(t, llmtest.Anthropic, llmtest.Script{Answer: j.answer, Window: c.context},
				func(c *agent.Config) { c.Model = small }, j.tools()...)
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
				given += token.Linear{}.Count(p.State.Result())
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
			t.Logf("%d steps, %d tokens of output, %d compactions, %d prunings, the largest prompt %d tokens",
				got.Steps, given, folded, pruned, largest)
			if got.Steps < 2*c.files || folded == 0 || given < c.least {
				t.Errorf("%d steps, %d compactions, %d tokens: the test does not show what it is to show", got.Steps,
					folded, given)
			}
			if got.Spent.Steps != got.Steps {
				t.Errorf("%d steps were recorded of %d", got.Spent.Steps, got.Steps)
			}
		})
	}
}

// Whatever goes wrong with the requests for summaries, the job is done: what no model summarises,
// the offline summariser does.
func TestRun_everyFaultOfASummary(t *testing.T) {
	for _, protocol := range faulty() {
		for _, fault := range faults() {
			t.Run(string(protocol)+"/"+string(fault), func(t *testing.T) {
				t.Parallel()
				j := &job{n: 8, size: 200}
				var summaries atomic.Int64 // one may be under way beside the work when the run ends
				b := narrow(t, protocol, func(r llmtest.Request) llmtest.Reply {
					if !sums(r) {
						return j.answer(r)
					}
					reply := llmtest.Reply{Text: notes}
					if summaries.Add(1) == 1 {
						reply.Fault = fault
					}
					return reply
				}, j.tools()...)
				b.scribe = true
				b.open(b.store)
				got, err := b.Run(t.Context(), "", "Write the files. "+constraint)
				if err != nil {
					t.Fatal(err)
				}
				j.done(t)
				b.sound(got.SessionID)
				if n := summaries.Load(); n == 0 || got.Spent.Summaries == 0 {
					t.Errorf("%d summaries were asked for, %d paid: the test does not show what it is to show", n,
						got.Spent.Summaries)
				}
			})
		}
	}
}

// The same with the first request after a compaction: the job is done, or there is one error and
// the job is done when it is resumed.
func TestRun_everyFaultAfterACompaction(t *testing.T) {
	for _, protocol := range faulty() {
		for _, fault := range faults() {
			t.Run(string(protocol)+"/"+string(fault), func(t *testing.T) {
				t.Parallel()
				j, folded := &job{n: 8, size: 200}, false
				b := narrow(t, protocol, func(r llmtest.Request) llmtest.Reply {
					reply := j.answer(r)
					if !folded && r.Messages[0].Text() == "What did we do so far?" {
						folded, reply.Fault = true, fault
					}
					return reply
				}, j.tools()...)
				b.despite(t, fault, j)
				if !folded {
					t.Error("nothing was folded: the test does not show what it is to show")
				}
			})
		}
	}
}

// passes reports whether a fault is one that is over when the request is made again.
func passes(f llmtest.Fault) bool {
	return len(f.Kinds()) > 0 && (&llm.Error{Kind: f.Kinds()[0]}).Temporary()
}

// narrow is a bench with a window that a few reads fill.
func narrow(t *testing.T, protocol llmtest.Protocol, answer llmtest.Answer, tools ...agent.Tool) *bench {
	t.Helper()
	small := reader
	small.Limits.Context = 24_000
	return setUp(t, protocol, llmtest.Script{Window: small.Limits.Context, Answer: answer},
		func(c *agent.Config) { c.Model = small }, tools...)
}

// sums reports whether a summary is asked for.
func sums(r llmtest.Request) bool {
	return strings.Contains(r.Last(), "What did we do so far?") || strings.Contains(r.Last(), "no part of the task")
}

// The process dies at random places of a job in which the past is folded several times, and again
// while it is resumed, until the job is done.
func TestResume_afterManyCrashesOfALongJob(t *testing.T) {
	random := rand.New(rand.NewPCG(6, 6))
	crashes := 0
	jobs := 10
	if testing.Short() {
		jobs = 2
	}
	for range jobs {
		small := reader
		small.Limits.Context = 24_000
		j := &job{n: 16, size: 200}
		b := setUp(t, llmtest.Anthropic, llmtest.Script{Answer: j.answer, Window: small.Limits.Context},
			func(c *agent.Config) { c.Model = small }, j.tools()...)
		id, err := b.engine.Create(t.Context(), session.Info{Title: "A job"})
		if err != nil {
			t.Fatal(err)
		}
		kept := b.store
		for first := true; ; first = false {
			dying := &mortal{Store: kept}
			dying.left.Store(1 + random.Int64N(24))
			b.open(dying)
			if first {
				_, err = b.Run(t.Context(), id, "Write the files. "+constraint)
			} else {
				_, err = b.Resume(t.Context(), id)
			}
			if err == nil {
				break
			}
			if !errors.Is(err, errDead) {
				t.Fatal(err)
			}
			crashes++
		}
		j.done(t)
		b.sound(id)
		for _, r := range b.upstream.Records() {
			if !r.Contains(constraint) {
				t.Errorf("request %d does not have the constraint", r.Number)
			}
		}
	}
	t.Logf("%d crashes", crashes)
	if crashes < 5*jobs {
		t.Errorf("%d crashes: the test does not show what it is to show", crashes)
	}
}
