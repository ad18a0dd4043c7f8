package transcript

import (
	"slices"
	"strings"

	"github.com/winnowhq/winnow/agent/chat/internal/draw"
	"github.com/winnowhq/winnow/session"
)

// Restyle draws all of it in another style.
func (t *Transcript) Restyle(s draw.Style) {
	t.style = s
	for _, it := range t.items {
		it.stale = true
		if it.live != nil {
			it.live.Restyle(s)
		}
	}
}

// Last is the end of the transcript, at most a number of lines, and whether lines before it were
// cut. Without a message there is nothing.
func (t *Transcript) Last(most int) (lines []string, cut bool) {
	said := false
	var drawn [][]string
	n := 0
	for i := len(t.items) - 1; i >= 0 && !cut; i-- {
		said = said || t.items[i].message != nil
		item := t.laidOut(i)
		if t.gap(i) > 0 {
			item = append([]string{""}, item...)
		}
		drawn = append(drawn, item)
		n += len(item)
		cut = n > most || n == most && i > 0
	}
	if !said {
		return nil, false
	}
	slices.Reverse(drawn)
	lines = slices.Concat(drawn...)
	lines = lines[max(0, n-most):]
	for len(lines) > 0 && lines[0] == "" {
		lines = lines[1:]
	}
	return lines, cut
}

// Answers are the texts that the model wrote, newest first, at most a number of them.
func (t *Transcript) Answers(most int) (all []string) {
	for _, it := range slices.Backward(t.items) {
		if len(all) == most {
			break
		}
		m := it.message
		if m == nil || m.Role != session.Assistant || m.IsSummary() {
			continue
		}
		var text []string
		for i := range m.Parts {
			if p := &m.Parts[i]; p.Type == session.TextPart && !p.Ignored && strings.TrimSpace(p.Text) != "" {
				text = append(text, strings.TrimSpace(p.Text))
			}
		}
		if len(text) > 0 {
			all = append(all, strings.Join(text, "\n\n"))
		}
	}
	return all
}
