package transcript

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/agent/chat/internal/draw"
	"github.com/winnowhq/winnow/session"
)

// long fills a transcript with steps of two lines each, and some with many.
func long(steps, lines int) *Transcript {
	t := New(draw.NewStyle(false))
	t.Resize(80, 20)
	ask := session.Message{MessageInfo: session.MessageInfo{ID: "ask", Role: session.User},
		Parts: []session.Part{{Type: session.TextPart, Text: "go"}}}
	t.Message(&ask, -1)
	for i := range steps {
		t.Message(&session.Message{MessageInfo: session.MessageInfo{ID: fmt.Sprint("m", i), Role: session.Assistant},
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
	tr.View()
	first := tr.laid
	if first > 60 {
		t.Errorf("%d lines were laid out for a screen of %d", first, tr.Height)
	}
	for range 100 {
		tr.View()
	}
	if tr.laid != first {
		t.Errorf("looking again laid out %d lines", tr.laid-first)
	}
	tr.Delta(1, "a word")
	tr.View()
	if n := tr.laid - first; n > 3 {
		t.Errorf("a word laid out %d lines", n)
	}
	tr.Scroll(-18)
	tr.View()
	if n := tr.laid - first; n > 60 {
		t.Errorf("a page up laid out %d lines", n)
	}
}

// Wherever one goes, the screen shows consecutive lines of the whole, and going back leads to where
// one was.
func TestScroll_showsConsecutiveLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := long(rapid.IntRange(0, 12).Draw(t, "steps"), rapid.IntRange(0, 5).Draw(t, "lines"))
		tr.Height = rapid.IntRange(1, 30).Draw(t, "height")
		var whole []string
		for i := range tr.items {
			if tr.gap(i) > 0 {
				whole = append(whole, "")
			}
			whole = append(whole, tr.laidOut(i)...)
		}
		at := max(0, len(whole)-tr.Height)
		for range rapid.IntRange(1, 10).Draw(t, "moves") {
			by := rapid.IntRange(-25, 25).Draw(t, "by")
			tr.Scroll(by)
			at = max(0, min(at+by, len(whole)-tr.Height))
			want := append([]string(nil), whole[at:min(len(whole), at+tr.Height)]...)
			for len(want) < tr.Height {
				want = append(want, "")
			}
			if got := tr.View(); strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Fatalf("after %d lines, at %d of %d, height %d: got\n%s\nwant\n%s", by, at, len(whole), tr.Height,
					strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			if tr.Scrolled != (at < len(whole)-tr.Height) {
				t.Fatalf("at %d of %d, height %d: scrolled is %v", at, len(whole), tr.Height, tr.Scrolled)
			}
		}
	})
}

func TestTranscript_whatComesBelowMovesNothingThatIsReadAbove(t *testing.T) {
	tr := long(30, 0)
	tr.Scroll(-40)
	before := strings.Join(tr.View(), "\n")
	tr.Delta(1, "a new answer\n\nof some lines")
	tr.Say(draw.Say("a notice"))
	if got := strings.Join(tr.View(), "\n"); got != before {
		t.Errorf("got\n%s\nwant\n%s", got, before)
	}
	tr.ToEnd()
	if got := strings.Join(tr.View(), "\n"); !strings.Contains(got, "a notice") {
		t.Errorf("the end does not show what came:\n%s", got)
	}
}

func TestTranscript_aResizeKeepsThePlace(t *testing.T) {
	tr := long(60, 3)
	tr.Scroll(-100)
	top := tr.items[tr.top]
	tr.Resize(60, 12)
	tr.View()
	if tr.items[tr.top] != top {
		t.Errorf("the item on top is another one after a resize")
	}
}

func TestTranscript_callsStandInTheOrderOfTheLog(t *testing.T) {
	tr := New(draw.NewStyle(false))
	tr.Resize(80, 20)
	tr.Answered("a") // no text yet, and the log is read late
	tr.Delta(2, "the last word")
	message := func(id, text string) session.Message {
		return session.Message{MessageInfo: session.MessageInfo{ID: id, Role: session.Assistant},
			Parts: []session.Part{{ID: "p" + id, Type: session.TextPart, Text: text}}}
	}
	said := session.Message{MessageInfo: session.MessageInfo{ID: "u", Role: session.User},
		Parts: []session.Part{{Type: session.TextPart, Text: "said between"}}}
	tr.Log([]session.Message{message("a", "first"), said})
	tr.Answered("b")
	tr.Log([]session.Message{message("a", "first"), said, message("b", "the last word")})
	got := strings.Join(strings.Fields(strings.Join(tr.View(), " ")), " ")
	if want := "first ▌ said between the last word"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The log is read again for each message. What the transcript keeps of it are messages, not logs.
func TestTranscript_holdsNoLog(t *testing.T) {
	tr := New(draw.NewStyle(false))
	var log []session.Message
	for i := range 1200 {
		id := fmt.Sprint("msg_", i)
		log = append(log, session.Message{MessageInfo: session.MessageInfo{ID: id, Role: session.User},
			Parts: []session.Part{{ID: id, Type: session.TextPart, Text: "lamp"}}})
		tr.Log(slices.Clone(log))
	}
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	if most := uint64(64 << 20); m.HeapAlloc > most {
		t.Errorf("%d bytes are held for %d short messages, want at most %d", m.HeapAlloc, len(log), most)
	}
	runtime.KeepAlive(tr)
}
