package pivot

import (
	"strings"

	"github.com/winnowhq/winnow/session"
)

// Transcript writes messages as text, for a summariser that must not mistake them for its own
// conversation, and for pieces of messages that are too long to be sent as messages.
func Transcript(messages []session.Message) string {
	var b strings.Builder
	line := func(who, text string) {
		if text == "" {
			return
		}
		if b.Len() > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString(who)
		b.WriteString(text)
	}
	for i := range messages {
		m := &messages[i]
		who := "[User]: "
		if m.Role == session.Assistant {
			who = "[Assistant]: "
		}
		for j := range m.Parts {
			p := &m.Parts[j]
			switch p.Type {
			case session.TextPart:
				if !p.Ignored {
					line(who, p.Text)
				}
			case session.ReasoningPart:
				line("[Assistant reasoning]: ", p.Text)
			case session.FilePart:
				line("", asText(*p).Text)
			case session.SubtaskPart:
				line(who, p.Prompt)
			case session.ToolPart:
				if p.State == nil {
					continue
				}
				line("[Assistant tool call]: ", p.Tool+"("+string(p.State.Input)+")")
				switch p.State.Status {
				case session.Completed:
					line("[Tool result]: ", p.State.Output)
				case session.Failed:
					line("[Tool error]: ", p.State.Error)
				}
			}
		}
	}
	return b.String()
}
