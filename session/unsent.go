package session

import "strings"

// Unsent is where that begins which no request to a model has had yet, len(messages) where there is
// nothing of the kind. An answer tells that everything before it was sent; what its own calls gave
// was not, so that an answer with calls is the beginning itself, and what stands behind one without
// is. An answer that failed with nothing in it tells nothing: its request may have been refused.
func Unsent(messages []Message) int {
	for i := len(messages) - 1; i >= 0; i-- {
		m := &messages[i]
		if m.Role != Assistant || m.IsSummary() {
			continue
		}
		said := !m.Failed()
		for j := range m.Parts {
			switch p := &m.Parts[j]; p.Type {
			case ToolPart:
				return i
			case TextPart, ReasoningPart:
				said = said || strings.TrimSpace(p.Text) != ""
			}
		}
		if said {
			return i + 1
		}
	}
	return 0
}
