package lab

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
)

// Words is how many words in a row make a quotation. A step with at least Quotations of them from
// hidden text needed that text.
const (
	Words      = 6
	Quotations = 3
)

// quotes records which steps quote which items.
type quotes struct {
	grams map[uint64]int32 // position in last, by the hash of six words
	last  []int32          // newest occurrence of each gram: a position in chain, or -1
	chain []occurrence
	needs [][]need // by step
}

// occurrence is an item with a gram, and the position of the occurrence before it, or -1.
type occurrence struct{ item, before int32 }

// need is a gram that a step wrote and earlier items have; newest is the latest of them then.
type need struct{ gram, newest int32 }

// read finds the quotations, in the order of the items.
func (t *Trace) read() quotes {
	q := quotes{grams: map[uint64]int32{}, needs: make([][]need, len(t.steps))}
	var produced []int // items of the step that is being read
	for i := 0; i < len(t.items); {
		// What a step wrote is looked up before it is learned.
		end, number := i, t.items[i].step
		for end < len(t.items) && t.items[end].step == number {
			end++
		}
		produced = produced[:0]
		for k := i; k < end; k++ {
			if number >= 0 && t.items[k].written {
				produced = append(produced, k)
			}
		}
		if len(produced) > 0 {
			q.needs[number] = q.lookUp(t.items, produced)
		}
		for k := i; k < end; k++ {
			q.learn(int32(k), t.items[k].text)
		}
		i = end
	}
	for k := range t.items {
		t.items[k].text = "" // no longer needed: it is in the log
	}
	return q
}

func (q *quotes) lookUp(items []item, produced []int) []need {
	var needs []need
	seen := map[int32]bool{}
	for _, k := range produced {
		for h := range grams(items[k].text) {
			gram, known := q.grams[h]
			if known && !seen[gram] {
				seen[gram] = true
				needs = append(needs, need{gram, q.last[gram]})
			}
		}
	}
	return needs
}

func (q *quotes) learn(k int32, text string) {
	for h := range grams(text) {
		gram, known := q.grams[h]
		if !known {
			gram = int32(len(q.last))
			q.grams[h] = gram
			q.last = append(q.last, -1)
		}
		before := q.last[gram]
		if before >= 0 && q.chain[before].item == k {
			continue
		}
		q.last[gram] = int32(len(q.chain))
		q.chain = append(q.chain, occurrence{k, before})
	}
}

// grams yields the hash of each row of six words.
func grams(text string) func(yield func(uint64) bool) {
	return func(yield func(uint64) bool) {
		var row [Words]uint64
		n := 0
		for i := 0; i < len(text); {
			if !wordBytes[text[i]] {
				i++
				continue
			}
			h := uint64(14695981039346656037)
			for ; i < len(text) && wordBytes[text[i]]; i++ {
				h = (h ^ uint64(text[i])) * 1099511628211
			}
			row[n%Words] = h
			if n++; n < Words {
				continue
			}
			sum := uint64(0)
			for j := n; j < n+Words; j++ {
				sum = (sum ^ row[j%Words]) * 0x9E3779B97F4A7C15
				sum ^= sum >> 29
			}
			if !yield(sum) {
				return
			}
		}
	}
}

// wordBytes are the bytes of words: letters, digits and the punctuation of paths, versions and
// flags.
var wordBytes = func() (is [256]bool) {
	for b := range is {
		c := byte(b)
		is[b] = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '.' ||
			c == '/' || c == '-'
	}
	return is
}()

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
