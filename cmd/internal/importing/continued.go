package importing

import (
	"slices"
	"strings"

	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/session"
)

// Growth is how a product's log continues the one that the store has.
type Growth struct {
	Appended []session.Message // at the end, in the product's order
	Updated  []session.Message // messages that have grown: a call that ended, an answer that was streamed
	// Rewritten says how the product's past differs from the stored one, "" if it continues it.
	Rewritten string
}

// Grow compares a product's log with the one that the store has of it, whose receipts these are.
// What the store added itself (a summary and its marker, what is quoted behind one) may be missing
// from the product's; every other stored message must be there.
func Grow(stored, file []session.Message, receipts []pivot.Receipt) Growth {
	own := summaries(receipts)
	markers := map[string]bool{}
	for i := range stored {
		if own[stored[i].ID] {
			markers[stored[i].ParentID] = true
		}
	}
	taken := 0
	for i := range stored {
		m := &stored[i]
		_, kept := m.Kept()
		if !kept && m.Companion() == "" && !own[m.ID] && !markers[m.ID] {
			taken++
		}
	}
	g := grow(stored, file, taken)
	return Growth{Appended: g.appended, Updated: g.updated, Rewritten: g.rewritten}
}

// summaries are the ids of the summaries that the store's own compactions wrote.
func summaries(receipts []pivot.Receipt) map[string]bool {
	own := map[string]bool{}
	for i := range receipts {
		if r := &receipts[i]; r.Kind == pivot.Compaction && r.Trigger != "imported" {
			own[r.Summary] = true
		}
	}
	return own
}

// SummaryText is the text of a summary as a product is given it: its parts, blank lines between
// them.
func SummaryText(m *session.Message) string {
	var texts []string
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Type == session.TextPart && !p.Ignored && p.Text != "" {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n\n")
}

// Returned takes out of a product's log what it wrote down of the store's own: summaries of the
// store's compactions, recognised by their text, with the markers that they answer. The store has
// both already. A summary that the product's log has under the store's own id stays: it is the
// store's message, in its place. What it is given is not changed.
func Returned(stored, file []session.Message, receipts []pivot.Receipt) []session.Message {
	own, texts := summaries(receipts), map[string]bool{}
	for i := range stored {
		if s := &stored[i]; own[s.ID] {
			texts[strings.TrimSpace(SummaryText(s))] = true
		}
	}
	gone := map[string]bool{} // ids of markers
	for i := range file {
		if m := &file[i]; m.IsSummary() && !own[m.ID] && texts[strings.TrimSpace(SummaryText(m))] {
			gone[m.ParentID] = true
		}
	}
	if len(gone) == 0 {
		return file
	}
	return slices.DeleteFunc(slices.Clone(file), func(m session.Message) bool {
		return m.IsSummary() && !own[m.ID] && gone[m.ParentID] || m.Marker() != nil && gone[m.ID]
	})
}
