package rule

import (
	"fmt"
	"slices"
)

// Backward prunes old tool outputs, newest first: it protects the newest ones and the last turns,
// and collects what lies before. It passes over outputs that are left out already; pins, what the
// window guards and outputs no larger than their placeholder stay.
type Backward struct {
	Protect        int // tokens; see DefaultProtect
	Minimum        int // tokens; see DefaultMinimum
	Turns          int // see DefaultProtectTurns
	ProtectedTools []string
}

// Name is "backward".
func (Backward) Name() string { return "backward" }

// Find walks the window from its newest part to its oldest.
func (b Backward) Find(w Window) Found {
	w = w.Read()
	var old []*Finding
	var fresh stock[Finding]
	total, why := 0, b.Because()
	items := opened(w, b.Name(), w.timeline.items, func(x *Item) bool {
		return x.gone&outputBit != 0 || x.Call == nil || !x.Ended()
	})
	for _, x := range slices.Backward(items) {
		if w.timeline.now.Turn-x.Turn < b.Turns || slices.Contains(b.ProtectedTools, x.Part.Tool) {
			continue
		}
		if total += x.Size().Output; total <= b.Protect || x.LeftOut(Output) {
			continue
		}
		f := fresh.next()
		*f = Finding{Item: x, Field: Output, Why: why}
		old = append(old, f)
	}
	w.each(old, func(f *Finding) { f.shown = w.plainly(f.Item) })
	all := make([]*Finding, 0, len(old))
	var covering []*Finding
	for _, f := range old {
		switch {
		case f.shown.saves < w.Guard.least():
		case f.Item.covers:
			covering = append(covering, f)
		default:
			all = append(all, f)
		}
	}
	found := w.Propose(b.Name(), Age{}, all, nil)
	for _, f := range covering {
		found.Refusals = append(found.Refusals, Refusal{Code: Covers, Rule: b.Name(), Part: f.Item.Part.ID,
			Reason: coversReason, Tokens: f.shown.saves})
	}
	return b.Worth(found, Saves(found.Elisions))
}

// Because says why an output goes, for people.
func (b Backward) Because() string {
	return fmt.Sprintf("it lies behind the newest %d tokens of tool output and the last %d turns", b.Protect, b.Turns)
}

// Worth drops what would be pruned when it is too little.
func (b Backward) Worth(found Found, pruned int) Found {
	if len(found.Elisions) > 0 && pruned <= b.Minimum {
		found.Elisions = nil
		found.Refusals = append(found.Refusals, Refusal{
			Code: BelowMinimum, Rule: b.Name(), Tokens: pruned,
			Reason: fmt.Sprintf("%d tokens of old tool output could go; it takes more than %d to be worth a commit",
				pruned, b.Minimum),
		})
	}
	return found
}
