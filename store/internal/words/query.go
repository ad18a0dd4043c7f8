package words

import (
	"bytes"
	"strings"
	"unicode"
)

// Query is a parsed search. Every term must occur in a part.
type Query []Term

// Term is one word, or several in a row.
type Term struct {
	Words  []string
	Prefix bool // the last word may be the beginning of a longer one
}

// mostTerms is how many terms of a query count, and how many words of a term. An index has limits,
// and somebody who pastes a whole page is looking for its beginning.
const mostTerms = 64

// Parse reads what a person typed. Each word is a term, and so is text in double quotes; a * after
// a word makes it a prefix. Nothing else has a meaning, so no query is invalid. Punctuation
// separates words, and the words of one piece, such as src/main.go, must stand side by side. The
// result is empty if the text has no word.
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

// FTS5 returns the query as an expression for SQLite's index. Words have only letters and digits,
// so quoting them is enough.
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

// near is how close terms must stand to be shown together, in bytes.
const near = 200

// Place is where terms of a query stand together in a text.
type Place struct {
	Start, End int
	Terms      int // how many different ones
	Matches    int // of any term, up to End
}

// Find returns the first place in a text where the most terms of the query stand near each other,
// and which terms it met on the way. It stops once all are together. Terms is 0 if there is no
// match.
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

// matches calls tell for each match of a term, in the order of their ends, until it returns false.
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
