package view

import "github.com/winnowhq/winnow/session"

// Kinds of content, as reports name them.
const (
	KindUser       = "user"
	KindSynthetic  = "synthetic"
	KindAssistant  = "assistant"
	KindReasoning  = "reasoning"
	KindToolInput  = "tool input"
	KindToolOutput = "tool output"
	KindFile       = "file"
	KindSummary    = "summary"
)

// Kind says what a part is to somebody who asks where the tokens went. A tool part has two: its
// input and its output.
func Kind(m *session.Message, p *session.Part) string {
	switch {
	case m.IsSummary():
		return KindSummary
	case p.Type == session.ToolPart:
		return KindToolOutput
	case p.Type == session.ReasoningPart:
		return KindReasoning
	case p.Type == session.FilePart:
		return KindFile
	case m.Role == session.Assistant:
		return KindAssistant
	case p.Synthetic:
		return KindSynthetic
	}
	return KindUser
}
