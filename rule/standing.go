package rule

import "slices"

// standing are refusals that stay as they are for as long as nothing more of their part is elided: they are told at each step and decided once. They are told
// in the order of their parts, whenever each was refused. The zero value is empty and ready.
type standing struct {
	entries  []standingEntry // by the position of their part
	refusals []Refusal       // of all of them
	parts    map[string]int  // how many are of a part
}

type standingEntry struct {
	item     *Item
	of       *redundant
	refusals []Refusal
}

// add takes refusals of an item in.
func (s *standing) add(x *Item, of *redundant, refusals ...Refusal) {
	e := standingEntry{x, of, refusals}
	if s.parts == nil {
		s.parts = map[string]int{}
	}
	s.parts[e.item.Part.ID]++
	if n := len(s.entries); n == 0 || s.entries[n-1].item.At <= x.At {
		s.entries = append(s.entries, e)
		if s.refusals != nil {
			s.refusals = append(s.refusals, refusals...)
		}
		return
	}
	at, _ := slices.BinarySearchFunc(s.entries, x.At+1, func(e standingEntry, at int) int { return e.item.At - at })
	s.entries, s.refusals = slices.Insert(s.entries, at, e), nil
}

// touched takes those out of whose part a ledger elides more than the one that it was made from, and returns them.
func (s *standing) touched(before, now Ledger) (out []standingEntry) {
	if len(s.entries) == 0 {
		return nil
	}
	parts := map[string]bool{}
	for _, e := range now.elisions[len(before.elisions):] {
		if s.parts[e.Part] > 0 {
			parts[e.Part] = true
		}
	}
	if len(parts) == 0 {
		return nil
	}
	s.refusals = nil
	s.entries = slices.DeleteFunc(s.entries, func(e standingEntry) bool {
		if parts[e.item.Part.ID] {
			out = append(out, e)
			s.parts[e.item.Part.ID]--
		}
		return parts[e.item.Part.ID]
	})
	return out
}

// tell returns the refusals, and more behind them.
func (s *standing) tell(more []Refusal) []Refusal {
	if s.refusals == nil {
		for _, e := range s.entries {
			s.refusals = append(s.refusals, e.refusals...)
		}
	}
	if len(more) == 0 {
		return slices.Clip(s.refusals)
	}
	return slices.Concat(s.refusals, more)
}
