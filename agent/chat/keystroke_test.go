package chat

import (
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/winnowhq/winnow/agent/chat/internal/drawtest"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/session"
)

// long is a chat whose session has a number of messages, with Markdown, code and calls.
func long(t testing.TB, messages int) *bench {
	b := setUp(t, llmtest.Script{}, coloured)
	for i := range messages / 2 {
		b.transcript.Message(&session.Message{MessageInfo: session.MessageInfo{ID: fmt.Sprint("u", i), Role: session.User},
			Parts: []session.Part{{Type: session.TextPart, Text: fmt.Sprintf("question %d", i)}}}, -1)
		b.transcript.Message(&session.Message{MessageInfo: session.MessageInfo{ID: fmt.Sprint("a", i),
			Role: session.Assistant}, Parts: []session.Part{
			{Type: session.TextPart, Text: fmt.Sprintf("## step %d\n\n| a | b |\n|---|--:|\n| `x` | 1 |\n\n%s\n\n%s", i, answer,
				strings.Repeat("- an item with **bold** words\n", 10))},
			{Type: session.ToolPart, ID: fmt.Sprint("p", i), CallID: fmt.Sprint("c", i), Tool: "read",
				State: &session.ToolState{Status: session.Completed, Title: "a.go", Output: strings.Repeat("line\n", 50)}},
		}}, -1)
	}
	b.send(tea.WindowSizeMsg{Width: 120, Height: 40})
	b.input.files = make([]file, mostFiles)
	for i := range b.input.files {
		b.input.files[i] = fileOf(fmt.Sprintf("internal/package%d/file%d.go", i%100, i))
	}
	return b
}

// BenchmarkKeystroke is what one key costs in a session of 10,000 messages, the drawing of the
// screen with it: under a millisecond.
func BenchmarkKeystroke(b *testing.B) {
	letter := tea.KeyPressMsg{Code: 'x', Text: "x"}
	for _, c := range []struct {
		name  string
		typed string
		keys  []tea.KeyPressMsg
	}{
		{"letter", "", []tea.KeyPressMsg{letter, drawtest.Keys["backspace"]}},
		{"command", "/", []tea.KeyPressMsg{{Code: 'c', Text: "c"}, drawtest.Keys["backspace"]}},
		{"file", "@", []tea.KeyPressMsg{{Code: 'f', Text: "f"}, {Code: '9', Text: "9"}, drawtest.Keys["backspace"],
			drawtest.Keys["backspace"]}},
		{"scroll", "", []tea.KeyPressMsg{drawtest.Keys["shift+up"]}},
		{"page", "", []tea.KeyPressMsg{drawtest.Keys["pgup"]}},
	} {
		b.Run(c.name, func(b *testing.B) {
			chat := long(b, 10_000)
			chat.input.listed = true
			chat.types(c.typed)
			chat.View()
			i := 0
			for b.Loop() {
				chat.clock = chat.clock.Add(time.Second)
				chat.Update(c.keys[i%len(c.keys)])
				chat.View()
				i++
			}
		})
	}
}

// BenchmarkDelta is what a piece of an answer costs that streams in, in a session of 10,000
// messages.
func BenchmarkDelta(b *testing.B) {
	chat := long(b, 10_000)
	i := 0
	for b.Loop() {
		if i++; i%200 == 0 {
			chat.transcript.DropLive()
		}
		chat.clock = chat.clock.Add(time.Second)
		chat.transcript.Delta(1, []string{" **piece** `of` an answer", " and more", ".\n"}[i%3])
		chat.drawing.due = true
		chat.View()
	}
}
