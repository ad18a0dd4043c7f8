package recall

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// HandedOn reports whether a text is the summary of an earlier fold that came back as a message, or
// a pin that was shown with it.
func HandedOn(text string) bool {
	return strings.HasPrefix(strings.TrimSpace(text), OpenSummary) || strings.HasPrefix(text, PinnedTitle+"\n\n> ") ||
		strings.HasPrefix(text, PinnedTitle+"\n\nTurn ") || carryAt(text) >= 0
}

// carryAt is where the carry-over begins in a text, or -1.
func carryAt(text string) int {
	if strings.HasPrefix(text, CarryTitle+"\n") {
		return 0
	}
	if at := strings.Index(text, "\n"+CarryTitle+"\n"); at >= 0 {
		return at + 1
	}
	return -1
}

// SummaryIn returns what the summariser wrote in a summary that was handed on, without tags and
// carry-over.
func SummaryIn(text string) string {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, PinnedTitle+"\n\n") {
		return ""
	}
	if at := carryAt(text); at >= 0 {
		text = text[:at]
	}
	return strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(text, OpenSummary), CloseSummary))
}

// Handed returns the positions of the parts of a log that hand on an earlier past: messages, and
// the summary that the log begins with if the product deleted what it represents.
func Handed(messages []session.Message) (places [][2]int) {
	tail, spoken := "", false
	for i := range messages {
		m := &messages[i]
		if marker := m.Marker(); marker != nil {
			tail = marker.TailStartID
		}
		summary := m.IsSummary()
		if summary && spoken && !(tail != "" && begins(messages, tail)) {
			continue // the log has what it represents
		}
		if summary && len(m.Parts) > 0 {
			places, spoken = append(places, [2]int{i, 0}), true
			continue
		}
		for j := range m.Parts {
			p := &m.Parts[j]
			_, ours := p.Note() // written in this session
			switch {
			case p.Type == session.TextPart && !ours && HandedOn(p.Text):
				places = append(places, [2]int{i, j})
			case m.Marker() == nil && (p.Type == session.ToolPart ||
				p.Type == session.TextPart && !p.Synthetic && strings.TrimSpace(p.Text) != ""):
				spoken = true
			}
		}
	}
	return places
}

// handedText is what a place of Handed says.
func handedText(messages []session.Message, at [2]int) (text string, p *session.Part) {
	m := &messages[at[0]]
	if p = &m.Parts[at[1]]; !m.IsSummary() {
		return p.Text, p
	}
	for j := range m.Parts {
		if m.Parts[j].Type == session.TextPart {
			text += m.Parts[j].Text + "\n\n"
		}
	}
	return text, p
}

// begins reports whether nothing was said or done before a message.
func begins(messages []session.Message, id string) bool {
	for i := range messages {
		m := &messages[i]
		if m.ID == id {
			return true
		}
		if m.Marker() == nil && !m.IsSummary() && len(m.Parts) > 0 {
			return false
		}
	}
	return false
}

// WithoutHanded returns the messages without what hands on an earlier past, and the summaries in
// it. Its argument is not changed.
func WithoutHanded(messages []session.Message) (kept []session.Message, summaries string) {
	var texts []string
	gone := map[int][]int{}
	for _, at := range Handed(messages) {
		if m := &messages[at[0]]; !m.IsSummary() {
			gone[at[0]] = append(gone[at[0]], at[1])
			if text := SummaryIn(m.Parts[at[1]].Text); text != "" {
				texts = append(texts, text)
			}
		}
	}
	if len(gone) == 0 {
		return messages, ""
	}
	for i := range messages {
		m := messages[i]
		if gone[i] != nil {
			m.Parts = nil
			for j := range messages[i].Parts {
				if !slices.Contains(gone[i], j) {
					m.Parts = append(m.Parts, messages[i].Parts[j])
				}
			}
			if len(m.Parts) == 0 {
				continue
			}
		}
		kept = append(kept, m)
	}
	return kept, strings.Join(texts, "\n\n")
}

// Restore returns a log in which the user's messages and sentences that carry-overs quote, and the
// open todos, stand as messages again, before the one that hands them on, and the rest of what
// carry-overs say. Messages for which stays is true are left as they are. Its argument is not
// changed.
func Restore(messages []session.Message, stays func(id string) bool) ([]session.Message, Ledger) {
	var all Ledger
	places := slices.DeleteFunc(Handed(messages), func(at [2]int) bool { return stays(messages[at[0]].ID) })
	if len(places) == 0 {
		return messages, all
	}
	var restored []session.Message
	next := 0
	for _, at := range places {
		restored = append(restored, messages[next:at[0]]...)
		next = max(next, at[0])
		m := &messages[at[0]]
		text, p := handedText(messages, at)
		one := read(text, m.ID, p.ID)
		restored = append(restored, one.messages(m, p)...)
		all.join(one)
	}
	for i := next; i < len(messages); i++ {
		restored = append(restored, messages[i])
	}
	for i := range restored {
		m := &restored[i]
		for j := range m.Parts {
			if p := &m.Parts[j]; m.Role == session.User && p.Type == session.TextPart && !p.Synthetic && HandedOn(p.Text) {
				m.Parts = slices.Clone(m.Parts)
				m.Parts[j].Synthetic = true
			}
		}
	}
	return restored, all
}

// messages are what a carry-over quotes as messages again. Their texts have the note of a
// carry-over.
func (l *Ledger) messages(m *session.Message, p *session.Part) (all []session.Message) {
	add := func(role session.Role, part session.Part) {
		id := p.ID + "/" + strconv.Itoa(len(all)+1)
		part.ID, part.MessageID, part.SessionID = id+":0", id, m.SessionID
		all = append(all, session.Message{MessageInfo: session.MessageInfo{ID: id, SessionID: m.SessionID, Role: role,
			Time: m.Time}, Parts: []session.Part{part}})
	}
	for _, texts := range [][]string{l.Messages, l.Remarks} {
		for _, text := range texts {
			add(session.User, session.Part{Type: session.TextPart, Text: text, Metadata: session.Note{Carry: true}.Metadata()})
		}
	}
	if len(l.Todos) > 0 {
		var items [][]byte
		for _, t := range l.Todos {
			items = append(items, span.Make("content", t.Text, "status", t.Status))
		}
		add(session.Assistant, session.Part{Type: session.ToolPart, Tool: "todowrite", State: &session.ToolState{
			Status: session.Completed, Input: []byte(`{"todos":[` + string(bytes.Join(items, []byte(","))) + `]}`)}})
	}
	return all
}
