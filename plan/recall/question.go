package recall

import (
	"strings"

	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/session"
)

// Question is what the assistant asked and the user has not answered.
type Question struct {
	Text              string
	MessageID, PartID string
}

// Pending returns the question that a log ends with: the last thing that happened is that the
// assistant asked the user something, in its text or with a tool for it. ok is false if nothing
// waits for the user.
func Pending(messages []session.Message) (q Question, ok bool) {
	for i := len(messages) - 1; i >= 0; i-- {
		m := &messages[i]
		if m.Role == session.User {
			if m.Marker() != nil || !m.Written() {
				continue
			}
			return Question{}, false
		}
		if m.IsSummary() {
			continue
		}
		for j := len(m.Parts) - 1; j >= 0; j-- {
			p := &m.Parts[j]
			switch p.Type {
			case session.ToolPart:
				if p.State != nil && !p.State.Final() {
					for _, a := range call.Actions(p, "") {
						if a.Op == call.Ask && a.Query != "" {
							return Question{a.Query, m.ID, p.ID}, true
						}
					}
				}
				return Question{}, false
			case session.TextPart:
				if strings.TrimSpace(p.Text) == "" || p.Ignored {
					continue
				}
				text := asked(p.Text)
				return Question{text, m.ID, p.ID}, text != ""
			}
		}
	}
	return Question{}, false
}

// asked returns the question at the end of a text, at most two sentences before its last.
func asked(text string) string {
	all := Sentences(Prose(text))
	for back := 1; back <= 3 && back <= len(all); back++ {
		s := all[len(all)-back]
		if end := strings.TrimRight(s, "\"')*`_ "); strings.HasSuffix(end, "?") || strings.HasSuffix(end, "？") {
			return s
		}
		if lower := strings.ToLower(s); back == 1 &&
			(strings.HasPrefix(lower, "let me know") || strings.HasPrefix(lower, "please tell me") ||
				strings.HasPrefix(lower, "please confirm") || strings.HasPrefix(lower, "sag mir")) &&
			strings.Contains(lower, " if you'd prefer") {
			return s
		}
	}
	return ""
}
