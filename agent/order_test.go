package agent_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/settings"
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
