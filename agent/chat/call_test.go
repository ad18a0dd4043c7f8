package chat

import (
	"strings"
	"testing"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
)

func TestFeed_joinsPiecesThatNobodyTook(t *testing.T) {
	f := newFeed()
	for _, text := range []string{"a", "b", "c"} {
		f.push(agent.Event{Type: agent.Delta, SessionID: "s", Step: 1, Text: text})
	}
	f.push(agent.Event{Type: agent.Delta, SessionID: "s", Step: 2, Text: "d"})
	f.push(agent.Event{Type: agent.CallProgress, SessionID: "s", Part: session.Part{ID: "p"}, Text: "10%"})
	f.push(agent.Event{Type: agent.CallProgress, SessionID: "s", Part: session.Part{ID: "p"}, Text: "20%"})
	for range 1000 {
		f.push(winnow.Event{Type: winnow.CompactionDelta, SessionID: "s", Text: "x"})
	}
	got := f.take()
	if len(got) != 4 {
		t.Fatalf("%d items, want 4: %v", len(got), got)
	}
	if text := got[0].(agent.Event).Text; text != "abc" {
		t.Errorf("the pieces of a step are %q", text)
	}
	if text := got[2].(agent.Event).Text; text != "20%" {
		t.Errorf("the progress is %q", text)
	}
	if n := len(got[3].(winnow.Event).Text); n != 1000 {
		t.Errorf("the summary has %d characters", n)
	}
}

func TestNotice_ofAFailedCompactionSaysWhatToDo(t *testing.T) {
	for _, c := range []struct {
		code rule.Code
		want string
	}{
		{winnow.NoProgress, "/model takes one with a larger window"},
		{winnow.BadSummary, "/model takes another model"},
		{winnow.Busy, "/compact tries again"},
	} {
		got := failedCompaction(winnow.Event{SessionID: "ses_1", Code: c.code,
			Text: "winnow: compact ses_1: it did not work (" + string(c.code) + "); a hint"})
		if want := "folding failed: it did not work; a hint\nthe session is as it was; "; !strings.HasPrefix(got,
			want) || !strings.HasSuffix(got, c.want) {
			t.Errorf("%s: %q, want %q … %q", c.code, got, want, c.want)
		}
	}
}

func TestBackground_aSummaryThatIsWrittenBesideTheWorkIsNoReasonToWait(t *testing.T) {
	hold := make(chan struct{})
	b := setUp(t, llmtest.Script{Answer: func(llmtest.Request) llmtest.Reply {
		return llmtest.Reply{Text: "said at " +
			"last", Hold: hold}
	}}, nil)
	b.says("one")
	b.shows("▌ one")
	event := winnow.Event{Type: winnow.CompactionStarted, SessionID: b.session.id, Background: true}
	b.send(fedMsg{event})
	if got := b.look(); !strings.Contains(got, "working") || !strings.Contains(got, "a summary is being prepared") {
		t.Errorf("the screen is\n%s", got)
	}
	event.Type, event.Code, event.Text = winnow.CompactionFailed, winnow.Stale,
		"winnow: prepare "+b.session.id+": it does not fit any more (stale)"
	b.send(fedMsg{event})
	b.shows("is not used: it does not fit any")
	if got := b.look(); strings.Contains(got, "being prepared") {
		t.Errorf("the screen is\n%s", got)
	}
	close(hold)
	b.shows("said at last")
	b.rests()
}
