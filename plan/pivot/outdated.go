package pivot

import (
	"strings"

	"github.com/winnowhq/winnow/plan/recall"
	"github.com/winnowhq/winnow/session"
)

// MarkOutdated adds to the lines of a summary what replaced the values and instructions in them
// that no longer hold, and counts those lines. log is all that was said.
func MarkOutdated(summary string, log []session.Message) (marked string, lines int) {
	c := Carrying{history: recall.History{Values: recall.Values(log), Rules: recall.Constraints(log)}}
	var b strings.Builder
	fenced := false
	for line := range strings.Lines(summary) {
		text := strings.TrimRight(line, "\r\n")
		if strings.HasPrefix(strings.TrimSpace(text), "```") {
			fenced = !fenced
		}
		b.WriteString(text)
		if !fenced && !strings.HasPrefix(text, "#") {
			if notes := c.superseded(text); notes != nil {
				b.WriteString(" " + notes[0])
				lines++
			}
		}
		b.WriteString(line[len(text):])
	}
	return b.String(), lines
}
