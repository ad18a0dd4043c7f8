package lab

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
)

// Words is how many words in a row make a quotation. An item of which a step has at least
// Quotations that stand only in what is hidden was needed.
const (
	Words      = 6
	Quotations = 3
)

// quotes records what steps quote of earlier items.
type quotes struct {
	grams  map[uint64]int32 // position in last, by the hash of a row of words
	last   []int32          // newest occurrence of each gram: a position in chain, or -1
	chain  []occurrence
	needs  [][]need   // by step: rows of six words
	inputs [][]need   // by step: identifiers and paths in the arguments of its calls
	edits  [][][]need // by step and edit: rows of the text that is replaced
	short  *short
}

// occurrence is an item with a gram, the line of it where the gram begins, and the position of the
// occurrence before it, or -1. Of an item that has a gram more than once it is the first.
type occurrence struct{ item, line, before int32 }

// need is a gram that a step wrote and earlier items have; newest is the latest of them then.
type need struct{ gram, newest int32 }

// read finds the quotations, in the order of the items.
func (t *Trace) read() quotes {
	n := len(t.steps)
	q := quotes{grams: map[uint64]int32{}, short: t.shortRows(),
		needs: make([][]need, n), inputs: make([][]need, n), edits: make([][][]need, n)}
	edits := t.edits
	for i := 0; i < len(t.items); {
		// What a step wrote is looked up before it is learned.
		end, number := i, t.items[i].step
		for end < len(t.items) && t.items[end].step == number {
			end++
		}
		if number >= 0 {
			q.lookUp(t.items[i:end], number)
		}
		for ; len(edits) > 0 && edits[0].step <= number; edits = edits[1:] {
			q.lookUpEdit(edits[0])
		}
		for k := i; k < end; k++ {
			q.learn(int32(k), &t.items[k])
		}
		i = end
	}
	for k := range t.items {
		t.items[k].text = "" // no longer needed: it is in the log
	}
	t.edits, q.short.wanted = nil, nil
	return q
}

// lookUp finds what a step quotes.
func (q *quotes) lookUp(items []item, number int) {
	seen := map[int32]bool{}
	known := func(list []need, hash uint64) []need {
		gram, ok := q.grams[hash]
		if !ok || seen[gram] {
			return list
		}
		seen[gram] = true
		return append(list, need{gram, q.last[gram]})
	}
	for k := range items {
		if !items[k].written {
			continue
		}
		rows(items[k].text, false, nil, func(hash uint64, _ int32) {
			q.needs[number] = known(q.needs[number], hash)
		})
		if items[k].input {
			for name := range names(items[k].text) {
				q.inputs[number] = known(q.inputs[number], oneWord(name))
			}
		}
	}
}

// lookUpEdit finds where the text that an edit replaces stands.
func (q *quotes) lookUpEdit(e edit) {
	var list []need
	add := func(hash uint64, _ int32) {
		if gram, ok := q.grams[hash]; ok {
			list = append(list, need{gram, q.last[gram]})
		}
	}
	rows(e.old, false, nil, add)
	if hash, length := whole(e.old); length > 0 && length < Words {
		add(hash, 0)
	}
	if len(list) > 0 {
		q.edits[e.step] = append(q.edits[e.step], list)
	}
}

func (q *quotes) learn(k int32, x *item) {
	rows(x.text, !x.written, q.short, func(hash uint64, line int32) {
		gram, known := q.grams[hash]
		if !known {
			gram = int32(len(q.last))
			q.grams[hash] = gram
			q.last = append(q.last, -1)
		}
		before := q.last[gram]
		if before >= 0 && q.chain[before].item == k {
			return
		}
		q.last[gram] = int32(len(q.chain))
		q.chain = append(q.chain, occurrence{k, line, before})
	})
}

// shortRows are the rows of fewer than six words that some step looks up.
func (t *Trace) shortRows() *short {
	s := &short{wanted: map[uint64]bool{}}
	for _, e := range t.edits {
		if hash, length := whole(e.old); length > 0 && length < Words {
			s.want(hash, length)
		}
	}
	for i := range t.items {
		if t.items[i].input {
			for name := range names(t.items[i].text) {
				s.want(oneWord(name), 1)
			}
		}
	}
	return s
}

// values returns names and values of a call's arguments in their order, one per line, unescaped.
func values(input jsontext.Value) string {
	var b strings.Builder
	d := jsontext.NewDecoder(strings.NewReader(string(input)), session.ReadOptions())
	for {
		tok, err := d.ReadToken()
		if err != nil {
			break
		}
		switch tok.Kind() {
		case '"', '0', 't', 'f', 'n':
			b.WriteString(tok.String())
			b.WriteByte('\n')
		}
	}
	if b.Len() == 0 {
		return string(input)
	}
	return b.String()
}
