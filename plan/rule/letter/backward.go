package letter

import (
	"slices"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
)

// Backward is the scan of S000: from the newest part to the oldest, past the last turns and the
// newest outputs, it prunes every output down to the latest summary or the first output that was
// pruned already. Every user message counts as a turn, and an output goes however small it is.
type Backward rule.Backward

// Name is "backward".
func (Backward) Name() string { return rule.Backward{}.Name() }

// Free is true: the specification holds nothing back for others.
func (Backward) Free() bool { return true }

// Find walks as the specification's program does.
func (b Backward) Find(w rule.Window) rule.Found {
	var found rule.Found
	turns, total, pruned := 0, 0, 0
	because, cleared := rule.Backward(b).Because(), w.Facts.Count(rule.Cleared)
walk:
	for i := len(w.Messages) - 1; i >= 0; i-- {
		m := &w.Messages[i]
		if _, kept := m.Kept(); m.Role == session.User && !kept { // which the specification does not know
			turns++
		}
		if turns < b.Turns {
			continue
		}
		if m.IsSummary() {
			break
		}
		for j := len(m.Parts) - 1; j >= 0; j-- {
			p := &m.Parts[j]
			if p.Type != session.ToolPart || p.State == nil || p.State.Status != session.Completed ||
				slices.Contains(b.ProtectedTools, p.Tool) {
				continue
			}
			if w.Ledger.Has(rule.Key{Part: p.ID, Field: rule.Output}) {
				break walk
			}
			size := w.Facts.Size(p)
			if total += size.Output; total <= b.Protect {
				continue
			}
			pruned += size.Output
			found.Elisions = append(found.Elisions, rule.Elision{Part: p.ID, Message: m.ID, Field: rule.Output,
				Rule:  b.Name(),
				Shown: rule.Cleared, Because: because, Saves: size.Output + size.Files - cleared})
		}
	}
	return rule.Backward(b).Worth(found, pruned)
}
