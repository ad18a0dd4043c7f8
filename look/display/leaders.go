package display

import (
	"cmp"
	"maps"
	"slices"

	"github.com/winnowhq/winnow/text/quantity"
)

// Leader is what takes tokens, how many, and what that cost.
type Leader struct {
	Name   string
	Tokens int
	Cost   float64 // US dollars; 0 where that is unknown
}

// Leaders are those that take most tokens, the largest first, and all others together. A rest of
// one is listed as well: its row is there anyway.
func Leaders(by map[string]int, most int) (all []Leader, rest Leader) { return Dearest(by, nil, most) }

// Dearest are those that cost most, what costs the same by its tokens, and all others together.
func Dearest(by map[string]int, costs map[string]float64, most int) (all []Leader, rest Leader) {
	names := map[string]bool{}
	for name, tokens := range by {
		names[name] = tokens > 0
	}
	for name, cost := range costs {
		names[name] = names[name] || cost > 0
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if names[name] {
			all = append(all, Leader{name, max(0, by[name]), costs[name]})
		}
	}
	slices.SortStableFunc(all, func(a, b Leader) int {
		return cmp.Or(cmp.Compare(b.Cost, a.Cost), cmp.Compare(b.Tokens, a.Tokens))
	})
	if len(all) > most+1 {
		rest.Name = quantity.Number(len(all)-most) + " more"
		for _, one := range all[most:] {
			rest.Tokens, rest.Cost = rest.Tokens+one.Tokens, rest.Cost+one.Cost
		}
		all = all[:most]
	}
	return all, rest
}
