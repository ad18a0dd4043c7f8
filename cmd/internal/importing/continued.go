package importing

import (
	"cmp"
	"fmt"
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
	// Agreed is how many of the stored messages the product's log begins with. The store's own count
	// that stand among them, and those behind them that the product wrote down.
	Agreed int
}

// Grow compares a product's log, as Returned leaves it, with the one that the store has of it, whose
// receipts these are. What the store added itself (a summary and its marker, what is quoted behind
// one) may be missing from the product's; every other stored message must be there. whole is the
// product's log with what it wrote down of the store's own.
func Grow(stored, file, whole []session.Message, receipts []pivot.Receipt) Growth {
	own, given := summaries(receipts), map[string]bool{} // texts of summaries that the product has
	for i := range whole {
		if m := &whole[i]; m.IsSummary() {
			given[strings.TrimSpace(SummaryText(m))] = true
		}
	}
	added, has := map[string]bool{}, map[string]bool{} // ids of the store's own pivots, and which the product has
	for i := range stored {
		if s := &stored[i]; own[s.ID] {
			there := given[strings.TrimSpace(SummaryText(s))]
			added[s.ID], added[s.ParentID] = true, true
			has[s.ID], has[s.ParentID] = there, there
		}
	}
	agreed, next, left := 0, 0, 0
	for i := range stored {
		m := &stored[i]
		_, kept := m.Kept()
		switch of := cmp.Or(m.Companion(), m.ID); {
		case next < len(file) && goesOn(m, &file[next]):
			if next++; left == 0 {
				agreed = i + 1
			}
		case !kept && m.Companion() == "" && !added[m.ID] && m.Marker() == nil: // one alone may be asked for again
			left++
		case left == 0 && agreed == i && (kept || has[of]):
			agreed = i + 1
		}
	}
	g := grow(stored, file, 0)
	if left > 0 && g.rewritten == "" {
		g.rewritten = fmt.Sprintf("%d messages are no longer in it", left)
	}
	return Growth{Appended: g.appended, Updated: g.updated, Rewritten: g.rewritten, Agreed: agreed}
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
