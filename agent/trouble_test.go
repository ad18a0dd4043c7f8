package agent_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
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
	"github.com/winnowhq/winnow/summarize/offline"
)

const constraint = "Never put out the lamp."

// job is a piece of work that a model does by looking at what is done already, as real ones do: it
// reads two files side by side and writes one, n times.
type job struct {
	disk
	n, size int

	mu   sync.Mutex
	seen map[string]bool
}

func (j *job) tools() []agent.Tool {
	read := j.disk.read(j.size).(tool)
	under := read.run
	read.run = func(ctx context.Context, c agent.Call) (agent.Result, error) {
		p, _ := path(c)
		j.mu.Lock()
		if j.seen == nil {
			j.seen = map[string]bool{}
		}
		j.seen[p] = true
		j.mu.Unlock()
		return under(ctx, c)
	}
	return []agent.Tool{read, j.write()}
}

func (j *job) answer(llmtest.Request) llmtest.Reply {
	at := j.has()
	a, b := fmt.Sprintf("in/%d.go", at), fmt.Sprintf("in/%d.md", at)
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case at >= j.n:
		return llmtest.Reply{Text: "All files are written."}
	case !j.seen[a] || !j.seen[b]:
		return llmtest.Reply{Text: fmt.Sprintf("I read what file %d needs.", at),
			Calls: []llmtest.Call{call("read", `{"path":"`+a+`"}`), call("read", `{"path":"`+b+`"}`)}}
	}
	return llmtest.Reply{Reasoning: "Now I know.",
		Calls: []llmtest.Call{call("write", fmt.Sprintf(`{"path":"out/%d","text":"from %s and %s"}`, at, a, b))}}
}

// done asserts that all is written as it was to be.
func (j *job) done(t *testing.T) {
	t.Helper()
	if j.has() != j.n {
		t.Errorf("%d files are written, want %d", j.has(), j.n)
	}
	for i := range j.n {
		if got, want := j.files[fmt.Sprintf("out/%d", i)],
			fmt.Sprintf("from in/%d.go and in/%d.md", i, i); got != want {
			t.Errorf("out/%d is %q, want %q", i, got, want)
		}
	}
}

// faulty are the protocols at which every fault is tried.
func faulty() []llmtest.Protocol {
	if testing.Short() {
		return []llmtest.Protocol{llmtest.Anthropic}
	}
	return []llmtest.Protocol{llmtest.Anthropic, llmtest.Chat, llmtest.Responses}
}

// faults are those that are tried. With -short, for the race detector, it is one of each kind: what
// the loop does hangs on the kind alone.
func faults() []llmtest.Fault {
	if !testing.Short() {
		return llmtest.Faults()
	}
	of := map[string]bool{}
	return slices.DeleteFunc(llmtest.Faults(), func(f llmtest.Fault) bool {
		kind := fmt.Sprint(f.Kinds(), f.Hangs())
		defer func() { of[kind] = true }()
		return of[kind]
	})
}

// despite has a job done though one request fails: at once, when it is resumed, or when the user
// says so.
func (b *bench) despite(t *testing.T, fault llmtest.Fault, j *job) {
	t.Helper()
	got, err := b.Run(t.Context(), "", "Write the files. "+constraint)
	b.sound(got.SessionID)
	if passes(fault) && err != nil {
		t.Errorf("a fault that passes ended the run: %v", err)
	}
	if err != nil {
		t.Log(err)
		if got, err = b.Resume(t.Context(), got.SessionID); err != nil {
			t.Fatalf("resumed: %v", err)
		}
	}
	if j.has() < j.n { // the answer was cut to nothing that calls
		if got, err = b.Run(t.Context(), got.SessionID, "Go on."); err != nil {
			t.Fatalf("told to go on: %v", err)
		}
	}
	j.done(t)
	b.sound(got.SessionID)
}

// Whatever goes wrong with whichever request: the job is done, at once or when it is resumed.
func TestRun_everyFaultOfTheUpstream(t *testing.T) {
	for _, protocol := range faulty() {
		for _, fault := range faults() {
			for _, at := range []int{1, 2, 5} { // the first, one with results, the last
				if at != 2 && (fault.Hangs() || testing.Short()) {
					continue // each takes the second after which a silent request is given up
				}
				t.Run(fmt.Sprintf("%s/%s at %d", protocol, fault, at), func(t *testing.T) {
					t.Parallel()
					j := &job{n: 2, size: 40}
					b := setUp(t, protocol, llmtest.Script{Answer: llmtest.Answer(j.answer).FailsAt(at, fault)}, nil,
						j.tools()...)
					b.despite(t, fault, j)
				})
			}
		}
	}
}

func TestRun_tooLongIsFoldedAndSentAgain(t *testing.T) {
	for _, fault := range []llmtest.Fault{llmtest.TooLong, llmtest.OverflowInStream} {
		t.Run(string(fault), func(t *testing.T) {
			j := &job{n: 6, size: 150}
			b := setUp(t, llmtest.Anthropic, llmtest.Script{Answer: llmtest.Answer(j.answer).FailsAt(8, fault)}, nil,
				j.tools()...)
			folded := 0
			events := b.engine.Subscribe(1 << 12)
			got, err := b.Run(t.Context(), "", "Write the files. "+constraint)
			if err != nil {
				t.Fatal(err)
			}
			b.engine.Close()
			for e := range events.C {
				if e.Type == "session.compacted" {
					folded++
				}
			}
			j.done(t)
			if folded != 1 || got.Text != "All files are written." {
				t.Errorf("folded %d times, got %+v", folded, got)
			}
			for _, r := range b.upstream.Records() {
				if !r.Contains(constraint) {
					t.Errorf("request %d does not have the constraint", r.Number)
				}
			}
		})
	}
}

// promptly is within what a run returns when its context has ended.
const promptly = 250 * time.Millisecond

// stops runs a loop, ends its context a while after something happened, and returns what it gave.
func stops(t *testing.T, b *bench, when agent.EventType, prompt string) (agent.Turn, error) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	var once sync.Once
	var at atomic.Pointer[soon.Watch]
	c := b.config
	c.Engine = b.engine
	c.OnEvent = func(e agent.Event) {
		if e.Type == when {
			once.Do(func() {
				time.AfterFunc(30*time.Millisecond, func() {
					now := soon.Start()
					at.Store(&now)
					cancel(errors.New("the user pressed escape"))
				})
			})
		}
	}
	l, err := agent.New(c)
	if err != nil {
		t.Fatal(err)
	}
	got, err := l.Run(ctx, "", prompt)
	if at.Load() == nil {
		t.Fatalf("it ended before it was stopped: %v", err)
	}
	took := at.Load().Took()
	if took > promptly {
		t.Errorf("it returned %s after it was stopped", took)
	}
	t.Logf("returned after %s", took)
	if err == nil || !strings.Contains(err.Error(), "the user pressed escape") ||
		!strings.Contains(err.Error(), "interrupted") {
		t.Errorf("the error is %v", err)
	}
	b.sound(got.SessionID)
	return got, err
}

func TestRun_stoppedInTheMiddleOfAnAnswer(t *testing.T) {
	for _, protocol := range llmtest.Protocols() {
		t.Run(string(protocol), func(t *testing.T) {
			b := setUp(t, protocol, llmtest.Script{Answer: llmtest.Sequence(
				llmtest.Reply{Reasoning: "Hm.", Text: strings.Repeat("This goes on for long. ", 20),
					Fault: llmtest.HangMidStream}, llmtest.Reply{Text: "It is done."},
			)}, nil)
			got, _ := stops(t, b, agent.Delta, "Tell me all.")
			s, _, err := b.engine.Session(t.Context(), got.SessionID)
			if err != nil {
				t.Fatal(err)
			}
			last := s.Messages[len(s.Messages)-1]
			if last.Role != session.Assistant || !last.Failed() || !strings.HasPrefix(last.Text(), "This goes on") ||
				len(last.Parts) != 1 {
				t.Errorf("what was said is kept as %+v", last)
			}
			if got, err = b.Resume(t.Context(), got.SessionID); err != nil || got.Text != "It is done." {
				t.Errorf("resumed: %+v, %v", got, err)
			}
			if records := b.upstream.Records(); !records[len(records)-1].Contains(agent.Nudge) ||
				!records[len(records)-1].Contains("This goes on") {
				t.Error("the model was not told that it was interrupted, or not what it had said")
			}
		})
	}
}

func TestRun_stoppedWhileToolsWork(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	quick := tool{"quick", pathSchema, func(context.Context, agent.Call) (agent.Result,
		error) {
		return agent.Result{Output: "quick"}, nil
	}}
	heeds := tool{"heeds", pathSchema, func(ctx context.Context, c agent.Call) (agent.Result, error) {
		<-ctx.Done()
		return agent.Result{Output: "as far as it came"}, context.Cause(ctx)
	}}
	deaf := tool{"deaf", pathSchema, func(ctx context.Context, c agent.Call) (agent.Result, error) {
		<-release
		c.Progress("nobody hears this")
		return agent.Result{Output: "too late"}, nil
	}}
	next := serial{tool{"next", pathSchema, func(context.Context, agent.Call) (agent.Result, error) {
		t.Error("a call was begun after the end")
		return agent.Result{}, nil
	}}}
	b := setUp(t, llmtest.Anthropic, llmtest.Script{Answer: llmtest.Sequence(
		llmtest.Reply{Calls: []llmtest.Call{call("quick", `{"path":"a"}`), call("heeds", `{"path":"a"}`),
			call("deaf", `{"path":"a"}`), call("next", `{"path":"a"}`)}},
		llmtest.Reply{Text: "It is done."},
	)}, nil, quick, heeds, deaf, next)
	got, _ := stops(t, b, agent.CallStarted, "Work.")
	var results []string
	for _, p := range b.calls(got.SessionID) {
		results = append(results, string(p.State.Status)+" "+p.State.Result())
	}
	const interrupted = "[Tool execution was interrupted]"
	want := []string{"completed quick", "error as far as it came\n" + interrupted, "error " + interrupted,
		"error " + interrupted}
	if fmt.Sprint(results) != fmt.Sprint(want) {
		t.Errorf("calls %q, want %q", results, want)
	}
	got, err := b.Resume(t.Context(), got.SessionID)
	if err != nil || got.Text != "It is done." {
		t.Errorf("resumed: %+v, %v", got, err)
	}
	if totals, err := b.Totals(t.Context(), got.SessionID); err != nil || totals.Steps != 2 {
		t.Errorf("the step that was interrupted is not counted: %+v, %v", totals, err)
	}
}

// The user stops it at random events, also while a request that is never answered is on its way,
// and lets it go on, until the job is done. Nothing begins after it was stopped.
func TestRun_stoppedAnywhere(t *testing.T) {
	random := rand.New(rand.NewPCG(6, 60))
	stopped := 0
	for range 3 {
		j, at := &job{n: 10, size: 200}, &stopper{}
		small := reader
		small.Limits.Context = 24_000
		b := setUp(t, llmtest.Anthropic, llmtest.Script{Window: small.Limits.Context,
			Answer: func(r llmtest.Request) llmtest.Reply {
				reply := j.answer(r)
				if at.happens("request") {
					reply.Fault = llmtest.HangBeforeHeaders
				}
				return reply
			}}, func(c *agent.Config) {
			c.Model = small
			c.OnEvent = func(e agent.Event) { at.happens(string(e.Type)) }
		}, j.tools()...)
		id, err := b.engine.Create(t.Context(), session.Info{})
		if err != nil {
			t.Fatal(err)
		}
		for {
			s, _, err := b.engine.Session(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			at.in(1+random.IntN(15), cancel)
			if len(s.Messages) == 0 {
				_, err = b.Run(ctx, id, "Write the files. "+constraint)
			} else {
				_, err = b.Resume(ctx, id)
			}
			cancel()
			b.sound(id)
			if late := at.late(); slices.Contains(late, string(agent.StepStarted)) || slices.Contains(late, "request") {
				t.Errorf("after it was stopped there was %q", late)
			}
			if err == nil {
				break
			}
			if !errors.Is(err, context.Canceled) && winnow.CodeOf(err) != winnow.Cancelled {
				t.Fatal(err)
			}
			stopped++
		}
		j.done(t)
		for _, r := range b.upstream.Records() {
			if len(r.Body) > 0 && !r.Contains(constraint) { // without a body: it was stopped while it was sent
				t.Errorf("request %d does not have the constraint", r.Number)
			}
		}
	}
	if t.Logf("stopped %d times", stopped); stopped < 20 {
		t.Errorf("stopped %d times, want 20", stopped)
	}
}

// stopper ends a context when something has happened a number of times.
type stopper struct {
	mu     sync.Mutex
	left   int
	stop   context.CancelFunc
	behind []string // what happened since
}

func (s *stopper) in(n int, stop context.CancelFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left, s.stop, s.behind = n, stop, nil
}

// happens reports whether it was this that the context ended at.
func (s *stopper) happens(what string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left--
	switch {
	case s.left < 0:
		s.behind = append(s.behind, what)
	case s.left == 0:
		s.stop()
	}
	return s.left == 0
}

func (s *stopper) late() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.behind
}

// locked is a store that another process holds from some moment on.
type locked struct {
	store.Store
	held atomic.Bool
}

func (l *locked) Apply(ctx context.Context, id string, c store.Change) (int64, error) {
	if l.held.Load() {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	return l.Store.Apply(ctx, id, c)
}

func TestRun_stoppedWhileTheStoreIsLocked(t *testing.T) {
	var b *bench
	held := &locked{}
	wait := tool{"wait", pathSchema, func(ctx context.Context, c agent.Call) (agent.Result, error) {
		held.held.Store(true)
		<-ctx.Done()
		return agent.Result{}, ctx.Err()
	}}
	b = setUp(t, llmtest.Chat, llmtest.Script{Answer: llmtest.Sequence(llmtest.Reply{Calls: []llmtest.Call{call("wait",
		`{"path":"a"}`)}}, llmtest.Reply{Text: "It is done."})}, nil, wait)
	held.Store = b.store
	b.open(held)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	began := soon.Start()
	got, err := b.Run(ctx, "", "Wait.")
	if took := began.Took(); err == nil || took > 100*time.Millisecond+promptly {
		t.Errorf("%v after %s", err, took)
	}
	held.held.Store(false)
	if got, err = b.Resume(t.Context(), got.SessionID); err != nil || got.Text != "It is done." {
		t.Errorf("resumed: %+v, %v", got, err)
	}
	b.sound(got.SessionID)
}

// mortal is a store that takes a number of changes and then no more: what the process does after its
// death does not count.
type mortal struct {
	store.Store
	left atomic.Int64
}

var errDead = errors.New("the process is dead")

func (m *mortal) Apply(ctx context.Context, id string, c store.Change) (int64, error) {
	if m.left.Add(-1) < 0 {
		return 0, errDead
	}
	return m.Store.Apply(ctx, id, c)
}

// The process dies before each of the changes that a job writes, in turn; another one finds the
// session and finishes the job.
func TestResume_afterACrashAnywhere(t *testing.T) {
	for life := int64(1); ; life++ {
		j := &job{n: 3, size: 40}
		b := setUp(t, llmtest.Anthropic, llmtest.Script{Answer: j.answer}, nil, j.tools()...)
		id, err := b.engine.Create(t.Context(), session.Info{Title: "A job"})
		if err != nil {
			t.Fatal(err)
		}
		kept := b.store
		dying := &mortal{Store: kept}
		dying.left.Store(life)
		b.open(dying)
		_, err = b.Run(t.Context(), id, "Write the files. "+constraint)
		if err == nil {
			if life < 10 {
				t.Errorf("the job writes only %d changes: the test does not show what it is to show", life)
			}
			j.done(t)
			t.Logf("%d crashes", life-1)
			return
		}
		if !errors.Is(err, errDead) {
			t.Fatalf("life %d: %v", life, err)
		}
		b.open(kept)
		got, err := b.Resume(t.Context(), id)
		if err != nil {
			t.Fatalf("life %d: resumed: %v", life, err)
		}
		j.done(t)
		b.sound(id)
		for _, r := range b.upstream.Records() {
			if r.Usage.Prompt() > 0 && !r.Contains(constraint) {
				t.Errorf("life %d: request %d does not have the constraint", life, r.Number)
			}
		}
		totals, err := b.Totals(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if s, _, err := b.engine.Session(t.Context(), id); err != nil || totals.Steps != answers(s.Messages) {
			t.Errorf("life %d: %d steps are counted, the log has %d; %v", life, totals.Steps, answers(s.Messages), err)
		}
		if got.Text != "All files are written." && got.Steps > 0 {
			t.Errorf("life %d: %+v", life, got)
		}
	}
}

func answers(log []session.Message) int {
	n := 0
	for i := range log {
		if log[i].Role == session.Assistant && !log[i].IsSummary() {
			n++
		}
	}
	return n
}

// What attempts took that failed in the middle of an answer was paid for.
func TestTotals_haveTheFailedAttempts(t *testing.T) {
	b := setUp(t, llmtest.Anthropic, llmtest.Script{Answer: llmtest.Text("It is done.").Fails(llmtest.CutMidEvent,
		llmtest.Blank)}, nil)
	got, err := b.Run(t.Context(), "", "Do it.")
	if err != nil {
		t.Fatal(err)
	}
	if got.Spent.Failed != 2 || got.Spent.Steps != 1 {
		t.Errorf("spent %+v, want 2 failed requests beside the step", got.Spent)
	}
	prompts := 0
	for _, r := range b.upstream.Records() {
		prompts += r.Usage.Prompt()
	}
	if got.Spent.Usage.Prompt() != prompts {
		t.Errorf("prompts of %d tokens are counted, %d were sent", got.Spent.Usage.Prompt(), prompts)
	}
}

// What the user said before everything was stopped is in the log, and answered when it is resumed.
func TestSay_survivesTheEnd(t *testing.T) {
	var b *bench
	wait := tool{"wait", pathSchema, func(ctx context.Context, c agent.Call) (agent.Result, error) {
		<-ctx.Done()
		return agent.Result{}, ctx.Err()
	}}
	b = setUp(t, llmtest.Chat, llmtest.Script{Answer: func(r llmtest.Request) llmtest.Reply {
		if r.Contains("Mind the oil.") {
			return llmtest.Reply{Text: "I mind it."}
		}
		return llmtest.Reply{Calls: []llmtest.Call{call("wait", `{"path":"a"}`)}}
	}}, nil, wait)
	ctx, cancel := context.WithCancel(t.Context())
	c := b.config
	c.Engine = b.engine
	c.OnEvent = func(e agent.Event) {
		if e.Type == agent.CallStarted {
			go func() {
				b.Say(e.SessionID, "Mind the oil.")
				cancel()
			}()
		}
	}
	l, err := agent.New(c)
	if err != nil {
		t.Fatal(err)
	}
	b.Loop = l
	got, err := b.Run(ctx, "", "Wait.")
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	if got, err = b.Resume(t.Context(), got.SessionID); err != nil || got.Text != "I mind it." {
		t.Errorf("resumed: %+v, %v", got, err)
	}
	if totals, err := b.Totals(t.Context(), got.SessionID); err != nil || totals.Steps != 2 {
		t.Errorf("%d steps are counted, %v, want the one that was stopped too", totals.Steps, err)
	}
}

// slow is a summariser that takes its time.
type slow struct {
	pivot.Summarizer
	asked func()
}

func (s slow) Summarize(ctx context.Context, r pivot.Request) (pivot.Answer, error) {
	s.asked()
	<-ctx.Done()
	return pivot.Answer{}, ctx.Err()
}

func TestRun_stoppedDuringACompaction(t *testing.T) {
	j := &job{n: 8, size: 200}
	small := reader
	small.Limits.Context = 24_000
	b := setUp(t, llmtest.Anthropic, llmtest.Script{Answer: j.answer, Window: small.Limits.Context},
		func(c *agent.Config) { c.Model = small }, j.tools()...)
	ctx, cancel := context.WithCancel(t.Context())
	var at atomic.Pointer[soon.Watch]
	b.summarizer = slow{offline.New(), func() {
		time.AfterFunc(20*time.Millisecond, func() {
			now := soon.Start()
			at.Store(&now)
			cancel()
		})
	}}
	b.open(b.store)
	got, err := b.Run(ctx, "", "Write the files. "+constraint)
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if took := at.Load().Took(); took > promptly {
		t.Errorf("it returned %s after it was stopped", took)
	}
	b.sound(got.SessionID)
	b.summarizer = nil
	b.open(b.store)
	if got, err = b.Resume(t.Context(), got.SessionID); err != nil || got.Text != "All files are written." {
		t.Errorf("resumed: %+v, %v", got, err)
	}
	j.done(t)
}

// With compaction.auto off nothing is ever folded: what is too long ends the run, and a compaction
// by hand lets it go on.
func TestRun_neverFoldsByItselfWhereThatIsOff(t *testing.T) {
	j := &job{n: 12, size: 200}
	small := reader
	small.Limits.Context = 24_000
	b := setUp(t, llmtest.Anthropic, llmtest.Script{Answer: j.answer, Window: small.Limits.Context},
		func(c *agent.Config) { c.Model = small }, j.tools()...)
	off := settings.Default()
	off.Compaction.Auto, off.Compaction.Prune = false, false
	b.settings = &off
	b.open(b.store)
	events := b.engine.Subscribe(1 << 12)
	got, err := b.Run(t.Context(), "", "Write the files. "+constraint)
	if winnow.CodeOf(err) != winnow.TooLong {
		t.Fatalf("got %+v, %v", got, err)
	}
	events.Close()
	for e := range events.C {
		if e.Type == winnow.CompactionStarted || e.Type == winnow.ElisionCommitted {
			t.Errorf("there was a %s", e.Type)
		}
	}
	if _, err := b.engine.Compact(t.Context(), got.SessionID, winnow.CompactOptions{Later: true, Auto: true}); err != nil {
		t.Fatal(err)
	}
	for try := 0; winnow.CodeOf(err) == winnow.TooLong && try < 5; try++ {
		if got, err = b.Resume(t.Context(), got.SessionID); winnow.CodeOf(err) == winnow.TooLong {
			if _, scheduled := b.engine.Compact(t.Context(), got.SessionID, winnow.CompactOptions{Later: true, Auto: true}); scheduled != nil {
				t.Fatal(scheduled)
			}
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	j.done(t)
}
