package chat

import (
	"fmt"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/session"
)

func TestTranscript_typingInALongSessionLaysOutNothing(t *testing.T) {
	b := setUp(t, llmtest.Script{}, nil)
	for i := range 300 { // some 90,000 lines
		b.transcript.Message(&session.Message{MessageInfo: session.MessageInfo{ID: fmt.Sprint("m", i),
			Role: session.Assistant}, Parts: []session.Part{
			{Type: session.TextPart, Text: fmt.Sprintf("step %d%s", i, strings.Repeat("\n\nmore", 300))},
			{Type: session.ToolPart, ID: fmt.Sprint("p", i), CallID: fmt.Sprint("c", i), Tool: "read",
				State: &session.ToolState{Status: session.Completed, Title: "a.go",
					Output: strings.Repeat("line\n", 300)}},
		}}, -1)
	}
	b.look()
	before := b.transcript.Laid()
	b.types("hello")
	if n := b.transcript.Laid() - before; n != 0 {
		t.Errorf("typing laid out %d lines", n)
	}
	if before > 2000 {
		t.Errorf("%d lines were laid out of 90,000", before)
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
