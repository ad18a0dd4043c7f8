package lab

import (
	"slices"

	"github.com/winnowhq/winnow/session"
)

// Taken is what a call gave back, and what later steps took from it word for word.
type Taken struct {
	// Message and Part are its position in the session: Messages[Message].Parts[Part].
	Message, Part int
	Tokens        int // of the output, with its attachments
	// Lines, from 0 and sorted, are those where a text begins that a later step has too: a row of
	// six words, the old text of an edit, or a name in the arguments of a call that stood here
	// first. None: no step ever quoted the output. What a step took in and never wrote cannot be
	// seen.
	Lines []int
}

// Outputs are the results of the calls of a session, oldest first.
func (t *Trace) Outputs() []Taken {
	var all []Taken
	at := map[int32]int{} // positions in all, by item
	for i := range t.log {
		for j := range t.log[i].Parts {
			p := &t.log[i].Parts[j]
			if p.Type != session.ToolPart || !p.State.Final() {
				continue
			}
			of := t.parts[p.ID]
			if of.output < 0 {
				continue
			}
			at[of.output] = len(all)
			all = append(all, Taken{Message: of.message, Part: of.part, Tokens: t.items[of.output].tokens})
		}
	}
	take := func(o occurrence) {
		if k, ok := at[o.item]; ok && !slices.Contains(all[k].Lines, int(o.line)) {
			all[k].Lines = append(all[k].Lines, int(o.line))
		}
	}
	t.quotes.taken(take)
	for k := range all {
		slices.Sort(all[k].Lines)
	}
	return all
}

// taken gives what steps took: every occurrence of a row, and the first of a name.
func (q *quotes) taken(take func(occurrence)) {
	seen := map[int32]int32{} // up to which occurrence a gram was followed
	every := func(n need) {
		until, known := seen[n.gram]
		for at := n.newest; at >= 0 && (!known || at != until); at = q.chain[at].before {
			take(q.chain[at])
		}
		seen[n.gram] = n.newest
	}
	first := func(n need) {
		for at := n.newest; at >= 0; at = q.chain[at].before {
			if q.chain[at].before < 0 {
				take(q.chain[at])
			}
		}
	}
	for k := range q.needs {
		for _, n := range q.needs[k] {
			every(n)
		}
		for _, edit := range q.edits[k] {
			for _, n := range edit {
				every(n)
			}
		}
		for _, n := range q.inputs[k] {
			first(n)
		}
	}
}
