package agent_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/internal/soon"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/settings"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	asking "github.com/winnowhq/winnow/summarize/model"
)

// isSummary reports whether a request asks for a summary.
func isSummary(r llmtest.Request) bool {
	return strings.Contains(r.Last(), "What did we do so far?") || strings.Contains(r.Last(), "no part of the task")
}

// A job many times larger than its window, in which every summary takes longer than a step: no
// request waits for one.
func TestRun_summariesAreWrittenWhileTheWorkGoesOn(t *testing.T) {
	for _, protocol := range []llmtest.Protocol{llmtest.Anthropic, llmtest.Chat} {
		if testing.Short() && protocol != llmtest.Anthropic {
			continue
		}
		t.Run(string(protocol), func(t *testing.T) {
			j := &job{n: 60, size: 120}
			var steps, summaries atomic.Int64
			scribe := &lingering{steps: &steps}
			b := setUp(t, protocol, llmtest.Script{Window: reader.Limits.Context,
				Answer: func(r llmtest.Request) llmtest.Reply {
					if !isSummary(r) {
						steps.Add(1)
						return j.answer(r)
					}
					summaries.Add(1)
					return llmtest.Reply{Text: "## Goal\n\nTo write all files.\n\n## Next\n\nThe next file."}
				}}, func(c *agent.Config) { c.OnEvent = scribe.observed }, scribe.holding(j.tools())...)
			scribe.Summarizer = asking.New(b.config.Client, reader, asking.Options{})
			b.scribe = true
			b.settings, b.summarizer = unpruned(), scribe
			b.open(b.store)
			events := b.engine.Subscribe(1 << 14)
			got, err := b.Run(t.Context(), "", "Write the files. "+constraint)
			if err != nil {
				t.Fatal(err)
			}
			b.engine.Close()
			triggers := map[string]int{}
			for e := range events.C {
				if e.Type == winnow.Compacted {
					triggers[e.Receipt.Trigger]++
				}
			}
			j.done(t)
			b.sound(got.SessionID)
			for _, r := range b.upstream.Records() {
				if r.TooLong || !r.Contains(constraint) && !isSummary(r.Request) {
					t.Errorf("request %d: too long %t, with the constraint %t", r.Number, r.TooLong,
						r.Contains(constraint))
				}
			}
			t.Logf("%d steps, %d summaries, folded %v", steps.Load(), summaries.Load(), triggers)
			if n := triggers["background"]; n < 2 || len(triggers) != 1 {
				t.Errorf("folded %v, want each in the background", triggers)
			}
			if alone := scribe.alone.Load(); alone > 1 { // the last may find the work done
				t.Errorf("beside %d of %d summaries no step was made", alone, summaries.Load())
			}
			if got.Spent.Summaries != int(summaries.Load()) || got.Spent.Summaries-triggers["background"] > 1 {
				t.Errorf("%d summaries are paid, %d were asked for, %d published", got.Spent.Summaries,
					summaries.Load(), triggers["background"])
			}
		})
	}
}

// lingering is a summariser that asks when another step was begun since the summary was due. The
// tools of that step wait until the summary is at hand, as real ones take their time: however late
// it is begun, the work is never more than one step ahead of it.
type lingering struct {
	pivot.Summarizer
	steps      *atomic.Int64
	due, since atomic.Int64 // whether a summary is, and how many steps there were then
	alone      atomic.Int64
}

// observed notes that a summary is due.
func (s *lingering) observed(e agent.Event) {
	if e.Type == agent.Observed && e.Outcome.Prepare {
		s.since.Store(s.steps.Load())
		s.due.Store(1)
	}
}

func (s *lingering) Summarize(ctx context.Context, r pivot.Request) (pivot.Answer, error) {
	began := s.since.Load()
	if !until(func() bool { return s.steps.Load() > began }) {
		s.alone.Add(1)
	}
	return s.Summarizer.Summarize(ctx, r)
}

// holding are tools that wait.
func (s *lingering) holding(tools []agent.Tool) []agent.Tool {
	for i, t := range tools {
		var under tool
		switch t := t.(type) {
		case tool:
			under = t
		case serial:
			under = t.tool
		}
		run := under.run
		under.run = func(ctx context.Context, c agent.Call) (agent.Result, error) {
			if s.due.Load() > 0 {
				until(func() bool { return !preparing() })
				s.due.Store(0)
			}
			return run(ctx, c)
		}
		if _, alone := t.(serial); alone {
			tools[i] = serial{under}
			continue
		}
		tools[i] = under
	}
	return tools
}

// preparing reports whether a loop has a summary written, from the moment that it is due.
func preparing() bool {
	stacks := make([]byte, 1<<20)
	return strings.Contains(string(stacks[:runtime.Stack(stacks, true)]), "prepareAhead")
}

// until waits, half a minute at most: long enough for a computer with very much to do.
func until(holds func() bool) bool {
	for end := time.Now().Add(30 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// unpruned are settings under which nothing but a fold makes room.
func unpruned() *settings.Settings {
	s := settings.Default()
	s.Compaction.Prune = false
	return &s
}

// patient is a summariser that answers when it is told to.
type patient struct {
	begun  chan struct{}
	answer chan string
	ended  chan struct{}
}

func newPatient() *patient {
	return &patient{begun: make(chan struct{}, 8), answer: make(chan string, 8), ended: make(chan struct{}, 8)}
}

func (*patient) Name() string { return "acme/scribe" }
func (*patient) Limit() int   { return 0 }
func (p *patient) Summarize(ctx context.Context, _ pivot.Request) (pivot.Answer, error) {
	p.begun <- struct{}{}
	defer func() { p.ended <- struct{}{} }()
	usage := session.Usage{Input: 100, Output: 10}
	select {
	case text := <-p.answer:
		return pivot.Answer{Text: "## Goal\n\n" + text, Finish: "stop", Model: p.Name(), Usage: usage, Cost: 0.25}, nil
	case <-ctx.Done():
		return pivot.Answer{Usage: usage, Cost: 0.125}, ctx.Err()
	}
}

// waiting is a loop in whose first turn a summary is begun and not finished. at is called in the
// step after it was begun.
func waiting(t *testing.T, at func()) (*bench, *patient) {
	p := newPatient()
	small := reader
	small.Limits.Context, small.Limits.Output = 24_000, 3_000
	d := &disk{}
	begun := false
	b := setUp(t, llmtest.Anthropic, llmtest.Script{Window: small.Limits.Context,
		Answer: func(r llmtest.Request) llmtest.Reply {
			if !begun {
				select {
				case <-p.begun:
					begun = true
					if at != nil {
						at()
					}
				default:
					if r.Number < 8 {
						return llmtest.Reply{Calls: []llmtest.Call{call("read",
							`{"path":"in/`+strings.Repeat("x", r.Number)+`.go"}`)}}
					}
					time.Sleep(50 * time.Millisecond)
				}
			}
			return llmtest.Reply{Text: "That is all."}
		}}, func(c *agent.Config) { c.Model = small }, d.read(150))
	b.settings, b.summarizer = unpruned(), p
	b.open(b.store)
	return b, p
}

func TestRun_aTurnThatEndsLeavesTheSummaryToTheNext(t *testing.T) {
	b, p := waiting(t, nil)
	got, err := b.Run(t.Context(), "", "Look.")
	if err != nil {
		t.Fatal(err)
	}
	if got.Spent.Summaries != 0 {
		t.Errorf("%d summaries are paid, and none is written", got.Spent.Summaries)
	}
	p.answer <- "To look."
	<-p.ended
	var state store.State
	for end := time.Now().Add(5 * time.Second); len(state.Receipts) == 0 && time.Now().Before(end); time.Sleep(time.Millisecond) {
		if got, err = b.Run(t.Context(), got.SessionID, "And now?"); err != nil {
			t.Fatal(err)
		}
		if _, state, err = b.engine.Session(t.Context(), got.SessionID); err != nil {
			t.Fatal(err)
		}
	}
	all, err := b.Totals(t.Context(), got.SessionID) // it was paid between the turns
	if err != nil || len(state.Receipts) != 1 || state.Receipts[0].Trigger != "background" || all.Summaries != 1 || all.Failed != 0 {
		t.Errorf("%d receipts, %d summaries paid, %v", len(state.Receipts), all.Summaries, err)
	}
	b.sound(got.SessionID)
}

func TestRun_cancelledItEndsTheSummaryWithin250ms(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var at atomic.Pointer[soon.Watch]
	b, p := waiting(t, func() { now := soon.Start(); at.Store(&now); cancel(); time.Sleep(20 * time.Millisecond) })
	got, err := b.Run(ctx, "", "Look.")
	if took := at.Load().Took(); !errors.Is(err, context.Canceled) || took > promptly {
		t.Errorf("after %v: %v", took, err)
	}
	select {
	case <-p.ended:
	default:
		t.Error("the summary is still being written")
	}
	if got.Spent.Summaries != 1 || got.Spent.Failed != 1 {
		t.Errorf("%+v; want the one that was cut short, recorded", got.Spent)
	}
}

func TestRun_noGoroutineOutlivesTheEngine(t *testing.T) {
	b, p := waiting(t, nil)
	if _, err := b.Run(t.Context(), "", "Look."); err != nil {
		t.Fatal(err)
	}
	b.engine.Close()
	select {
	case <-p.ended:
	case <-time.After(time.Second):
		t.Error("the summary is still being written")
	}
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		if !preparing() {
			return
		}
		if time.Now().After(end) {
			t.Fatal("it is still there")
		}
	}
}

func TestRun_autoOffPreparesNothing(t *testing.T) {
	p := newPatient()
	j := &job{n: 12, size: 150}
	b := setUp(t, llmtest.Anthropic, llmtest.Script{Answer: j.answer}, nil, j.tools()...)
	b.settings, b.summarizer = unpruned(), p
	b.settings.Compaction.Auto = false
	b.open(b.store)
	if _, err := b.Run(t.Context(), "", "Write the files."); err != nil {
		t.Fatal(err)
	}
	if len(p.begun) != 0 {
		t.Error("a summary was begun")
	}
}
