package agent_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/plan/budget"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/settings"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

// trace writes down what a loop, its engine and its hooks tell, in the order in which it happens.
type trace struct {
	b      *bench
	events *winnow.Subscription
	told   []string
}

// traced puts a trace on a bench. What the loop tells too often to be followed is left out: pieces
// of text, messages and parts.
func traced(t *testing.T, b *bench, answer winnow.CompactingResult, refusal error) *trace {
	t.Helper()
	tr := &trace{b: b}
	b.hooks = winnow.Hooks{
		Compacting: func(_ context.Context, c winnow.Compacting) (winnow.CompactingResult, error) {
			tr.tell(map[bool]string{true: "hook compacting, auto", false: "hook compacting, by hand"}[c.Auto])
			return answer, refusal
		},
		Continue: func(_ context.Context, _ string, summary session.Message) bool {
			tr.tell("hook continue")
			return summary.IsSummary()
		},
	}
	b.config.OnEvent = func(e agent.Event) {
		if e.Type == agent.Delta || e.Type == agent.CallStarted || e.Type == agent.CallEnded {
			return
		}
		tr.tell(string(e.Type))
	}
	if b.settings == nil {
		s := settings.Default()
		b.settings = &s
	}
	off := false
	b.settings.Compaction.Background = &off // the order is that of a fold that waits for its summary
	b.open(b.store)
	tr.events = b.engine.Subscribe(1 << 12)
	return tr
}

// tell takes down what the engine told before, and then one line.
func (tr *trace) tell(line string) {
	for len(tr.events.C) > 0 {
		switch e := <-tr.events.C; e.Type {
		case winnow.MessageAppended, winnow.PartUpdated, winnow.CompactionDelta, winnow.BudgetWarning:
		case winnow.UsageRecorded:
			tr.told = append(tr.told, "usage of a "+e.Kind)
		default:
			tr.told = append(tr.told, string(e.Type))
		}
	}
	if line != "" {
		tr.told = append(tr.told, line)
	}
}

// around are the lines about the first of some name, from the step before it to the beginning of
// the next.
func (tr *trace) around(name string) []string {
	tr.tell("")
	at := slices.Index(tr.told, name)
	if at < 0 {
		return nil
	}
	from, to := at, at
	for from > 0 && tr.told[from] != string(agent.Answered) {
		from--
	}
	for to < len(tr.told)-1 && tr.told[to] != string(agent.StepStarted) {
		to++
	}
	return tr.told[from : to+1]
}

func same(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("the order is\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

const notes = "## Goal\n\nTo write all files.\n\n## Next\n\nThe next file."

// small is a bench with a model that writes its summaries, in a window that a few reads fill.
func small(t *testing.T, j *job) *bench {
	t.Helper()
	b := narrow(t, llmtest.Anthropic, func(r llmtest.Request) llmtest.Reply {
		if sums(r) {
			return llmtest.Reply{Text: notes}
		}
		return j.answer(r)
	}, j.tools()...)
	b.scribe = true
	return b
}

// Where a step overflows, it is recorded, the hook is asked, the summary is written, the hook for
// going on is asked, and then it is told; the next step comes behind all of that (S001, the loop's
// second case and its process).
func TestOrder_anOverflowIsFoldedBeforeTheNextStep(t *testing.T) {
	j := &job{n: 8, size: 200}
	b := small(t, j)
	tr := traced(t, b, winnow.CompactingResult{Context: []string{"The branch is called lamp."}}, nil)
	got, err := b.Run(t.Context(), "", "Write the files. "+constraint)
	if err != nil {
		t.Fatal(err)
	}
	j.done(t)
	same(t, tr.around("session.compacted"), "answered", "usage of a step", "budget.overflow", "compaction.started",
		"hook compacting, auto", "hook continue",
		"usage of a summary", "session.compacted", "observed", "step.started")
	heard := false
	for _, r := range b.upstream.Records() {
		heard = heard || r.Contains("The branch is called lamp.")
	}
	if !heard {
		t.Error("what the hook added did not reach the summariser")
	}
	b.folded(got.SessionID, true)
}

// unfolding is the store of a process that dies before it writes a fold.
type unfolding struct {
	store.Store
	dead atomic.Bool
}

func (u *unfolding) Apply(ctx context.Context, id string, c store.Change) (int64, error) {
	if slices.ContainsFunc(c.Append, func(m session.Message) bool { return m.Marker() != nil }) {
		u.dead.Store(true)
	}
	if u.dead.Load() {
		return 0, errDead
	}
	return u.Store.Apply(ctx, id, c)
}

// A process that ends between the report of a step that overflows and the fold has not folded. The
// next one does, before its first request; however often that happens, no request is too long.
func TestOrder_anOverflowOutlivesTheProcess(t *testing.T) {
	for _, byLetter := range []bool{false, true} {
		j := &job{n: 8, size: 100}
		b := small(t, j)
		if byLetter {
			letter(t, b, nil)
		}
		id, err := b.engine.Create(t.Context(), session.Info{Title: "A job"})
		if err != nil {
			t.Fatal(err)
		}
		kept := b.store
		for life := range 5 {
			b.open(&unfolding{Store: kept})
			if life == 0 {
				_, err = b.Run(t.Context(), id, "Write the files. "+constraint)
			} else {
				_, err = b.Resume(t.Context(), id)
			}
			if !errors.Is(err, errDead) {
				t.Fatalf("life %d: got %v, want a process that died before it folded", life, err)
			}
		}
		b.open(kept)
		if _, err = b.Resume(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		j.done(t)
		b.sound(id)
		for _, r := range b.upstream.Records() {
			if r.TooLong {
				t.Errorf("by the letter %v: request %d is too long: %d tokens", byLetter, r.Number, r.Prompt)
			}
		}
	}
}

// folded asserts that the first compaction of a log is a marker, then its summary, and behind an
// automatic one the message that goes on (S001, phase 3).
func (b *bench) folded(id string, auto bool) {
	b.t.Helper()
	s, _, err := b.engine.Session(context.Background(), id)
	if err != nil {
		b.t.Fatal(err)
	}
	at := slices.IndexFunc(s.Messages, func(m session.Message) bool { return m.Marker() != nil })
	if at < 0 || at+1 >= len(s.Messages) {
		b.t.Fatalf("there is no marker with something behind it in %d messages", len(s.Messages))
	}
	marker, rest := s.Messages[at], s.Messages[at+1:]
	if marker.Role != session.User || marker.Marker().Auto != auto {
		b.t.Errorf("the marker is %+v, want one of the user's with auto %v", marker, auto)
	}
	at = slices.IndexFunc(rest, func(m session.Message) bool { return m.ParentID == marker.ID })
	if at < 0 {
		b.t.Fatal("nothing answers the marker")
	}
	summary := rest[at]
	if !summary.IsSummary() || summary.Mode != "compaction" || summary.Agent != "compaction" || summary.Finish == "" ||
		summary.Tokens == nil || summary.Path == nil {
		b.t.Errorf("the summary is %+v", summary.MessageInfo)
	}
	goesOn := at+1 < len(rest) && rest[at+1].Companion() == marker.ID && rest[at+1].Role == session.User &&
		rest[at+1].Parts[0].Text == "Continue if you have next steps"
	if goesOn != auto {
		b.t.Errorf("behind the summary there is a message to go on: %v, want %v; it is %+v", goesOn, auto, rest[at+1])
	}
}

// A compaction that waits is made before anything else, and none follows by itself (S001, the
// loop's first case).
func TestOrder_aWaitingCompactionComesFirst(t *testing.T) {
	j := &job{n: 2, size: 200}
	b := small(t, j)
	tr := traced(t, b, winnow.CompactingResult{}, nil)
	got, err := b.Run(t.Context(), "", "Write the files. "+constraint)
	if err != nil {
		t.Fatal(err)
	}
	if tr.tell(""); slices.Contains(tr.told, "session.compacted") {
		t.Fatal("something was folded: the test does not show what it is to show")
	}
	if _, err := b.engine.Compact(t.Context(), got.SessionID, winnow.CompactOptions{Later: true}); err != nil {
		t.Fatal(err)
	}
	tr.told = nil
	j.n = 3
	if got, err = b.Run(t.Context(), got.SessionID, "Write one more."); err != nil {
		t.Fatal(err)
	}
	j.done(t)
	tr.tell("")
	same(t, tr.told[:min(5, len(tr.told))], "compaction.started", "hook compacting, by hand", "usage of a summary",
		"session.compacted", "step.started")
	b.folded(got.SessionID, false)
}

// One that is asked for while the model answers is made before the next request, too.
func TestOrder_aCompactionQueuedDuringAnAnswerIsMade(t *testing.T) {
	j := &job{n: 3, size: 100}
	var b *bench
	steps, folded := 0, 0
	b = narrow(t, llmtest.Anthropic, func(r llmtest.Request) llmtest.Reply {
		if sums(r) {
			folded = steps
			return llmtest.Reply{Text: notes}
		}
		if steps++; steps == 3 {
			all, err := b.engine.Store().List(t.Context())
			if err == nil {
				_, err = b.engine.Compact(t.Context(), all[0].Info.ID, winnow.CompactOptions{Later: true, Auto: true})
			}
			if err != nil {
				t.Error(err)
			}
		}
		return j.answer(r)
	}, j.tools()...)
	b.scribe = true
	b.open(b.store)
	got, err := b.Run(t.Context(), "", "Write the files. "+constraint)
	if err != nil {
		t.Fatal(err)
	}
	j.done(t)
	if folded != 3 || b.waiting(got.SessionID) != "" {
		t.Errorf("it was made after %d steps, want 3; %q waits", folded, b.waiting(got.SessionID))
	}
	b.sound(got.SessionID)
}

// A step that fits is nothing but a step (S001, the loop's third case).
func TestOrder_aStepThatFitsIsAStep(t *testing.T) {
	j := &job{n: 1, size: 20}
	b := small(t, j)
	tr := traced(t, b, winnow.CompactingResult{}, nil)
	if _, err := b.Run(t.Context(), "", "Write the file. "+constraint); err != nil {
		t.Fatal(err)
	}
	tr.tell("")
	step := []string{"step.started", "answered", "usage of a step", "observed"}
	same(t, tr.told, slices.Concat(step, step, step, []string{"turn.ended"})...)
}

// A hook that refuses ends the run with its error; nothing is folded, and the session can be
// resumed.
func TestOrder_aHookMayCancel(t *testing.T) {
	j := &job{n: 8, size: 200}
	b := small(t, j)
	refusal := errors.New("not while the oven is on")
	tr := traced(t, b, winnow.CompactingResult{}, refusal)
	got, err := b.Run(t.Context(), "", "Write the files. "+constraint)
	if !errors.Is(err, refusal) {
		t.Fatalf("got %v, want the hook's error", err)
	}
	same(t, tr.around("compaction.failed"), "answered", "usage of a step", "budget.overflow", "compaction.started",
		"hook compacting, auto", "compaction.failed")
	b.sound(got.SessionID)
	b.hooks = winnow.Hooks{}
	b.open(b.store)
	if got, err = b.Resume(t.Context(), got.SessionID); err != nil {
		t.Fatalf("resumed: %v", err)
	}
	j.done(t)
	b.folded(got.SessionID, true)
}

// letter is a trace of a loop under the classic policy.
func letter(t *testing.T, b *bench, refusal error) *trace {
	t.Helper()
	s := settings.Default()
	s.Policy, s.Compaction.Threshold = "classic", budget.Thresholds{"*": 0.35}
	b.settings = &s
	return traced(t, b, winnow.CompactingResult{}, refusal)
}

// waiting is the id of the marker that waits in a session, "" without one.
func (b *bench) waiting(id string) string {
	b.t.Helper()
	s, state, err := b.engine.Session(context.Background(), id)
	if err != nil {
		b.t.Fatal(err)
	}
	if at := view.Pending(s.Messages, state.Undone); at >= 0 {
		return s.Messages[at].ID
	}
	return ""
}

// By the letter a step that overflows ends with a marker in the log, and the loop executes it before
// its next step (S001, the loop's second case and then its first). The summariser is a request of
// its own without tools, with the specification's prompts (S003 4.2, 6).
func TestOrder_byTheLetterAnOverflowIsATaskOfTheLog(t *testing.T) {
	j := &job{n: 8, size: 100}
	b := small(t, j)
	tr := letter(t, b, nil)
	queued := 0
	tell := b.config.OnEvent
	b.config.OnEvent = func(e agent.Event) {
		tell(e)
		if e.Type == agent.Observed && e.Outcome.Queued != "" {
			queued++
			if at := b.waiting(e.SessionID); at != e.Outcome.Queued {
				t.Errorf("the marker %q waits after the step, want %q", at, e.Outcome.Queued)
			}
		}
	}
	b.open(b.store)
	tr.events = b.engine.Subscribe(1 << 12)
	got, err := b.Run(t.Context(), "", "Write the files. "+constraint)
	if err != nil {
		t.Fatal(err)
	}
	j.done(t)
	same(t, tr.around("session.compacted"), "answered", "usage of a step", "budget.overflow", "observed",
		"compaction.started", "hook compacting, auto", "hook continue", "usage of a summary", "session.compacted",
		"step.started")
	if queued == 0 || b.waiting(got.SessionID) != "" {
		t.Errorf("%d markers were queued, and %q waits still", queued, b.waiting(got.SessionID))
	}
	b.folded(got.SessionID, true)
	_, state, err := b.engine.Session(t.Context(), got.SessionID)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range state.Receipts {
		if r.Kind == pivot.Compaction && r.Trigger != "threshold" {
			t.Errorf("the trigger of a queued compaction is %q, want threshold", r.Trigger)
		}
	}
	own := pivot.Settings{SummaryAlone: true}
	for _, r := range b.upstream.Records() {
		if !sums(r.Request) {
			continue
		}
		queued--
		if r.ToolNames() != nil || len(r.Tools) > 0 || r.System != pivot.System(own) {
			t.Errorf("the summariser is offered %q under the system prompt %q", r.ToolNames(), r.System)
		}
		if want := pivot.Instruction(own, "", ""); !strings.HasSuffix(r.Last(), want) {
			t.Errorf("the summariser is asked %q, want %q", r.Last(), want)
		}
	}
	if queued != 0 {
		t.Errorf("%d more markers were queued than summaries were asked for", queued)
	}
}

// A process that ends between the marker and its summary leaves the marker, alone; the next run
// executes that one before it asks for anything else, whether it resumes or is told something new.
func TestOrder_aQueuedCompactionOutlivesTheProcess(t *testing.T) {
	for name, next := range map[string]func(b *bench, id string) (agent.Turn, error){
		"resumed": func(b *bench, id string) (agent.Turn, error) { return b.Resume(b.t.Context(), id) },
		"told something": func(b *bench, id string) (agent.Turn, error) {
			return b.Run(b.t.Context(), id, "Go on with the files, and mind the LATECOMER.")
		},
	} {
		t.Run(name, func(t *testing.T) {
			j := &job{n: 8, size: 100}
			b := small(t, j)
			letter(t, b, nil)
			ctx, kill := context.WithCancel(t.Context())
			defer kill()
			b.config.OnEvent = func(e agent.Event) {
				if e.Type == agent.Observed && e.Outcome.Queued != "" {
					kill()
				}
			}
			b.open(b.store)
			got, err := b.Run(ctx, "", "Write the files. "+constraint)
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("got %v, want a run that was stopped", err)
			}
			marker := b.waiting(got.SessionID)
			s, _, _ := b.engine.Session(t.Context(), got.SessionID)
			if marker == "" || s.Messages[len(s.Messages)-1].ID != marker {
				t.Fatalf("the log ends with %+v, want a marker that waits", s.Messages[len(s.Messages)-1])
			}
			b.sound(got.SessionID)
			before := len(b.upstream.Records())
			tr := letter(t, b, nil)
			if got, err = next(b, got.SessionID); err != nil {
				t.Fatal(err)
			}
			j.done(t)
			if first := b.upstream.Records()[before]; !sums(first.Request) || first.Contains("LATECOMER") {
				t.Errorf("the first request of the next run asks %q, want the summary", first.Last())
			}
			tr.tell("")
			goesOn := []string{"compaction.started", "hook compacting, auto"}
			if name == "resumed" {
				goesOn = append(goesOn, "hook continue") // else the user's words are what it goes on with
			}
			same(t, tr.told[:len(goesOn)+3], append(goesOn, "usage of a summary", "session.compacted", "step.started")...)
			s, _, _ = b.engine.Session(t.Context(), got.SessionID)
			markers := 0
			for i := range s.Messages {
				if s.Messages[i].ID == marker {
					markers++
				}
			}
			if markers != 1 || b.waiting(got.SessionID) != "" {
				t.Errorf("the marker stands %d times in the log, and %q waits", markers, b.waiting(got.SessionID))
			}
		})
	}
}

// A queued compaction that fails is withdrawn: the run ends with its error once, and the next one
// goes on with the session as it was, to be queued again when a step overflows again.
func TestOrder_aQueuedCompactionThatFailsIsWithdrawn(t *testing.T) {
	j := &job{n: 8, size: 100}
	b := small(t, j)
	refusal := errors.New("not while the oven is on")
	tr := letter(t, b, refusal)
	got, err := b.Run(t.Context(), "", "Write the files. "+constraint)
	if !errors.Is(err, refusal) {
		t.Fatalf("got %v, want the hook's error", err)
	}
	same(t, tr.around("compaction.failed"), "answered", "usage of a step", "budget.overflow", "observed",
		"compaction.started", "hook compacting, auto", "compaction.failed")
	if at := b.waiting(got.SessionID); at != "" {
		t.Errorf("%s waits still", at)
	}
	v, err := b.engine.View(t.Context(), got.SessionID)
	if err != nil || v.Messages[len(v.Messages)-1].Role != session.Assistant {
		t.Errorf("the view ends with %+v, %v; want the step's results", v.Messages[len(v.Messages)-1].MessageInfo, err)
	}
	b.sound(got.SessionID)
	b.hooks = winnow.Hooks{}
	b.config.OnEvent = nil
	b.open(b.store)
	if got, err = b.Resume(t.Context(), got.SessionID); err != nil {
		t.Fatalf("resumed: %v", err)
	}
	j.done(t)
	s, _, _ := b.engine.Session(t.Context(), got.SessionID)
	if !slices.ContainsFunc(s.Messages, func(m session.Message) bool { return m.IsSummary() }) {
		t.Error("nothing was folded after the hook was gone")
	}
}

// A turn whose last answer overflows ends after its compaction, unless that goes on with a message
// of its own.
func TestOrder_byTheLetterTheLastAnswerMayOverflow(t *testing.T) {
	for _, goesOn := range []bool{false, true} {
		answers := 0
		b := narrow(t, llmtest.Anthropic, func(r llmtest.Request) llmtest.Reply {
			if sums(r) {
				return llmtest.Reply{Text: notes}
			}
			if answers++; answers == 1 {
				return llmtest.Reply{Text: strings.Repeat("The lamp is lit at seven and it is put out at nine. ", 300),
					Usage: &session.Usage{Input: 23_000, Output: 200}}
			}
			return llmtest.Reply{Text: "All is said."}
		})
		b.scribe = true
		tr := letter(t, b, nil)
		b.hooks.Continue = func(context.Context, string, session.Message) bool { return goesOn }
		b.open(b.store)
		tr.events = b.engine.Subscribe(1 << 12)
		if _, err := b.Run(t.Context(), "", "Tell me of the lamp."); err != nil {
			t.Fatal(err)
		}
		tr.tell("")
		want := []string{"step.started", "answered", "usage of a step", "budget.overflow", "observed", "compaction.started",
			"hook compacting, auto", "usage of a summary", "session.compacted"}
		if goesOn {
			want = append(want, "step.started", "answered", "usage of a step", "observed")
		}
		same(t, tr.told, append(want, "turn.ended")...)
	}
}
