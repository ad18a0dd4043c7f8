package words

import (
	"bytes"
	"strings"
	"unicode"
)

// Query is what is looked for: every term must occur in a part.
type Query []Term

// Term is one word, or several side by side.
type Term struct {
	Words  []string
	Prefix bool // the last word may go on
}

// mostTerms is how many terms of a query count, and how many words of a term: an index has limits, and a person who pastes a page wants
// its beginning.
const mostTerms = 64

// Parse reads what a person typed. Words are terms; what stands between double quotes is one term; a * after a word lets it go
// on. Nothing else has a meaning, so that no query is wrong: signs separate words, and those of one piece must stand side by
// side, as in src/main.go. It is empty when there is no word.
func Parse(text string) (q Query) {
	add := func(piece string, prefix bool) {
		t := Term{Prefix: prefix}
		for w := range Of(piece) {
			t.Words = append(t.Words, string(w.Text))
		}
		if len(t.Words) > 0 && len(q) < mostTerms {
			t.Words = t.Words[:min(len(t.Words), mostTerms)]
			q = append(q, t)
		}
	}
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		if text[0] == '"' {
			phrase, rest, _ := strings.Cut(text[1:], `"`)
			text = strings.TrimPrefix(rest, "*")
			add(phrase, len(text) < len(rest))
			continue
		}
		end := strings.IndexFunc(text, func(r rune) bool { return r == '"' || unicode.IsSpace(r) })
		if end < 0 {
			end = len(text)
		}
		piece := text[:end]
		text = text[end:]
		add(piece, strings.HasSuffix(piece, "*"))
	}
	return q
}

// FTS5 is the query as an expression of SQLite's index. Words have letters and digits only, so that quoting is all they need.
func (q Query) FTS5() string {
	var b strings.Builder
	for i, t := range q {
		if i > 0 {
			b.WriteString(" AND ")
		}
		b.WriteString(`"` + strings.Join(t.Words, " ") + `"`)
		if t.Prefix {
			b.WriteString(" *")
		}
	}
	return b.String()
}

// near is how close terms stand that are shown together, in bytes.
const near = 200

// Place is where terms of a query stand together in a text.
type Place struct {
	Start, End int
	Terms      int // how many different ones
	Matches    int // up to there, of any term
}

// Find returns the first place in a text where most terms of the query stand near each other, and which terms it met on the way: it
// stops when they are all together. Terms is 0 when there is none.
func (q Query) Find(text string) (best Place, met []bool) {
	met = make([]bool, len(q))
	type match struct{ term, start, end int }
	var recent []match
	q.matches(text, func(term, start, end int) bool {
		met[term] = true
		best.Matches++
		keep := recent[:0]
		seen := make(map[int]bool, len(q))
		for _, m := range append(recent, match{term, start, end}) {
			if end-m.start <= near || m.start == start {
				keep = append(keep, m)
				seen[m.term] = true
			}
		}
		if recent = keep[max(0, len(keep)-64):]; len(seen) > best.Terms {
			best.Start, best.End, best.Terms = recent[0].start, end, len(seen)
		}
		return best.Terms < len(q)
	})
	return best, met
}

// matches tells where terms stand, in the order of their ends, until tell wants no more.
func (q Query) matches(text string, tell func(term, start, end int) bool) {
	longestTerm := 0
	for _, t := range q {
		longestTerm = max(longestTerm, len(t.Words))
	}
	type seen struct {
		text       []byte
		start, end int
	}
	last := make([]seen, longestTerm) // a ring of the newest words
	n := 0
	for w := range Of(text) {
		slot := &last[n%longestTerm]
		slot.text, slot.start, slot.end = append(slot.text[:0], w.Text...), w.Start, w.End
		n++
		for i, t := range q {
			if len(t.Words) > n {
				continue
			}
			fits := true
			for j := len(t.Words) - 1; j >= 0 && fits; j-- {
				have := last[(n-len(t.Words)+j)%longestTerm].text
				want := t.Words[j]
				if t.Prefix && j == len(t.Words)-1 {
					fits = bytes.HasPrefix(have, []byte(want))
				} else {
					fits = string(have) == want
				}
			}
			if fits && !tell(i, last[(n-len(t.Words))%longestTerm].start, w.End) {
				return
			}
		}
	}
}
