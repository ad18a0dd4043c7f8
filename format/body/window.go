package body

import (
	"strings"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/plan/recall"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
)

// window is what a body holds of a changed session: the summary of the latest pivot and what is
// shown after it.
type window struct {
	summary string // "" without a pivot
	// messages that are shown, oldest first: the tail, then what follows the summary.
	messages []session.Message
}

// windowOf is what counts of a change: the summary that the window begins with, and what follows
// it.
func windowOf(c format.Change) window {
	messages := view.Window(c.Session.Messages, c.Undone)
	if summary := view.Pivot(messages); summary != nil {
		return window{summary: summaryText(summary), messages: messages[2:]}
	}
	return window{messages: messages}
}

func summaryText(m *session.Message) string {
	var texts []string
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Type == session.TextPart && p.Text != "" {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n\n")
}

// summaryMessage writes the summary as the user's message, in a tag that tells readers that no user
// wrote it. package recall reads it back when the body is folded again.
func summaryMessage(text string) session.Message {
	return session.Message{
		MessageInfo: session.MessageInfo{ID: "summary", Role: session.User},
		Parts: []session.Part{{
			ID: "summary:0", Type: session.TextPart, Text: recall.OpenSummary + text + recall.CloseSummary, Synthetic: true,
		}},
	}
}
