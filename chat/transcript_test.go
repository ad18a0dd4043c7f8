package chat

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/chat/internal/draw"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/session"
)

// long fills a transcript with steps of two lines each, and some with many.
func long(steps, lines int) *transcript {
	t := newTranscript(draw.NewStyle(false))
	t.resize(80, 20)
	ask := session.Message{MessageInfo: session.MessageInfo{ID: "ask", Role: session.User},
		Parts: []session.Part{{Type: session.TextPart, Text: "go"}}}
	t.message(&ask, -1)
	for i := range steps {
		t.message(&session.Message{MessageInfo: session.MessageInfo{ID: fmt.Sprint("m", i), Role: session.Assistant},
			Parts: []session.Part{
				{Type: session.TextPart, Text: fmt.Sprintf("step %d%s", i, strings.Repeat("\n\nmore", lines))},
				{Type: session.ToolPart, ID: fmt.Sprint("p", i), CallID: fmt.Sprint("c", i), Tool: "read",
					State: &session.ToolState{
						Status: session.Completed, Title: "a.go", Output: strings.Repeat("line\n", 300)}},
			}}, -1)
	}
	return t
}

func TestTranscript_onlyWhatIsSeenIsLaidOut(t *testing.T) {
	tr := long(300, 0)
	tr.view()
	first := tr.laid
	if first > 60 {
		t.Errorf("%d lines were laid out for a screen of %d", first, tr.height)
	}
	for range 100 {
		tr.view()
	}
	if tr.laid != first {
		t.Errorf("looking again laid out %d lines", tr.laid-first)
	}
	tr.delta(1, "a word")
	tr.view()
	if n := tr.laid - first; n > 3 {
		t.Errorf("a word laid out %d lines", n)
	}
	tr.scroll(-18)
	tr.view()
	if n := tr.laid - first; n > 60 {
		t.Errorf("a page up laid out %d lines", n)
	}
}

func TestTranscript_typingInALongSessionLaysOutNothing(t *testing.T) {
	b := setUp(t, llmtest.Script{}, nil)
	lines := long(300, 300) // some 90,000 lines
	lines.style, b.transcript = b.style, lines
	b.look()
	before := b.transcript.laid
	b.types("hello")
	if n := b.transcript.laid - before; n != 0 {
		t.Errorf("typing laid out %d lines", n)
	}
	if before > 2000 {
		t.Errorf("%d lines were laid out of 90,000", before)
	}
}

// Wherever one goes, the screen shows consecutive lines of the whole, and going back leads to where
// one was.
func TestScroll_showsConsecutiveLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := long(rapid.IntRange(0, 12).Draw(t, "steps"), rapid.IntRange(0, 5).Draw(t, "lines"))
		tr.height = rapid.IntRange(1, 30).Draw(t, "height")
		var whole []string
		for i := range tr.items {
			if tr.gap(i) > 0 {
				whole = append(whole, "")
			}
			whole = append(whole, tr.laidOut(i)...)
		}
		at := max(0, len(whole)-tr.height)
		for range rapid.IntRange(1, 10).Draw(t, "moves") {
			by := rapid.IntRange(-25, 25).Draw(t, "by")
			tr.scroll(by)
			at = max(0, min(at+by, len(whole)-tr.height))
			want := append([]string(nil), whole[at:min(len(whole), at+tr.height)]...)
			for len(want) < tr.height {
				want = append(want, "")
			}
			if got := tr.view(); strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Fatalf("after %d lines, at %d of %d, height %d: got\n%s\nwant\n%s", by, at, len(whole), tr.height,
					strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			if tr.scrolled != (at < len(whole)-tr.height) {
				t.Fatalf("at %d of %d, height %d: scrolled is %v", at, len(whole), tr.height, tr.scrolled)
			}
		}
	})
}

func TestTranscript_whatComesBelowMovesNothingThatIsReadAbove(t *testing.T) {
	tr := long(30, 0)
	tr.scroll(-40)
	before := strings.Join(tr.view(), "\n")
	tr.delta(1, "a new answer\n\nof some lines")
	tr.say(draw.Say("a notice"))
	if got := strings.Join(tr.view(), "\n"); got != before {
		t.Errorf("got\n%s\nwant\n%s", got, before)
	}
	tr.toEnd()
	if got := strings.Join(tr.view(), "\n"); !strings.Contains(got, "a notice") {
		t.Errorf("the end does not show what came:\n%s", got)
	}
}

func TestTranscript_aResizeKeepsThePlace(t *testing.T) {
	tr := long(60, 3)
	tr.scroll(-100)
	top := tr.items[tr.top]
	tr.resize(60, 12)
	tr.view()
	if tr.items[tr.top] != top {
		t.Errorf("the item on top is another one after a resize")
	}
}

func TestTranscript_callsStandInTheOrderOfTheLog(t *testing.T) {
	tr := newTranscript(draw.NewStyle(false))
	tr.resize(80, 20)
	tr.answered("a") // no text yet, and the log is read late
	tr.delta(2, "the last word")
	message := func(id, text string) session.Message {
		return session.Message{MessageInfo: session.MessageInfo{ID: id, Role: session.Assistant},
			Parts: []session.Part{{ID: "p" + id, Type: session.TextPart, Text: text}}}
	}
	said := session.Message{MessageInfo: session.MessageInfo{ID: "u", Role: session.User},
		Parts: []session.Part{{Type: session.TextPart, Text: "said between"}}}
	tr.log([]session.Message{message("a", "first"), said})
	tr.answered("b")
	tr.log([]session.Message{message("a", "first"), said, message("b", "the last word")})
	got := strings.Join(strings.Fields(strings.Join(tr.view(), " ")), " ")
	if want := "first ▌ said between the last word"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestOtherSessions_areNotMixedIn(t *testing.T) {
	b := setUp(t, llmtest.Script{Answer: llmtest.Text("mine")}, nil)
	b.says("one")
	b.shows("mine")
	b.rests()
	b.send(fedMsg{agent.Event{Type: agent.Delta, SessionID: "ses_of_a_sub_agent", Text: "theirs"}})
	if got := b.look(); strings.Contains(got, "theirs") {
		t.Errorf("another session is shown:\n%s", got)
	}
}

// The log is read again for each message. What the transcript keeps of it are messages, not logs.
func TestTranscript_holdsNoLog(t *testing.T) {
	tr := newTranscript(draw.NewStyle(false))
	var log []session.Message
	for i := range 1200 {
		id := fmt.Sprint("msg_", i)
		log = append(log, session.Message{MessageInfo: session.MessageInfo{ID: id, Role: session.User},
			Parts: []session.Part{{ID: id, Type: session.TextPart, Text: "lamp"}}})
		tr.log(slices.Clone(log))
	}
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	if most := uint64(64 << 20); m.HeapAlloc > most {
		t.Errorf("%d bytes are held for %d short messages, want at most %d", m.HeapAlloc, len(log), most)
	}
	runtime.KeepAlive(tr)
}
