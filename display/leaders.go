package display

import (
	"cmp"
	"maps"
	"slices"

	"github.com/winnowhq/winnow/quantity"
)

// Leader is what takes tokens, and how many.
type Leader struct {
	Name   string
	Tokens int
}

// Leaders are those that take most tokens, the largest first, and all others together. A rest of
// one is listed as well: its row is there anyway.
func Leaders(by map[string]int, most int) (all []Leader, rest Leader) {
	for _, name := range slices.Sorted(maps.Keys(by)) {
		if by[name] > 0 {
			all = append(all, Leader{name, by[name]})
		}
	}
	slices.SortStableFunc(all, func(a, b Leader) int { return cmp.Compare(b.Tokens, a.Tokens) })
	if len(all) > most+1 {
		rest.Name = quantity.Number(len(all)-most) + " more"
		for _, one := range all[most:] {
			rest.Tokens += one.Tokens
		}
		all = all[:most]
	}
	return all, rest
}
