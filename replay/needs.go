package replay

import (
	"iter"
	"slices"

	"github.com/winnowhq/winnow/rule"
)

// Need says that what a step wrote quotes an item: rows of six words that stood in earlier items, and in this one last.
type Need struct {
	Step       int        // from 0
	Part       string     // id, as Session has it
	Field      rule.Field // Input, Output or Text
	Quotations int        // rows of six words; from Quotations on a step is said to need what it quotes
}

// Needs are all quotations of a session, by step and in the order of what is quoted. They are what regrets are counted from, whatever a policy hides.
func (t *Trace) Needs() iter.Seq[Need] {
	return func(yield func(Need) bool) {
		quoted := map[int32]int{}
		for k, needs := range t.quotes.needs {
			clear(quoted)
			for _, n := range needs {
				quoted[t.quotes.chain[n.newest].item]++
			}
			items := make([]int32, 0, len(quoted))
			for i := range quoted {
				items = append(items, i)
			}
			slices.Sort(items)
			for _, i := range items {
				if !yield(Need{Step: k, Part: t.items[i].part, Field: t.field(i), Quotations: quoted[i]}) {
					return
				}
			}
		}
	}
}

// field of a part that an item is.
func (t *Trace) field(i int32) rule.Field {
	switch at := t.parts[t.items[i].part]; i {
	case at.input:
		return rule.Input
	case at.output:
		return rule.Output
	}
	return rule.Text
}
