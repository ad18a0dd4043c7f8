package words

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	before = 60  // bytes that a snippet shows before its first term, at least
	whole  = 240 // bytes that a snippet takes of a text, about
)

// Snippet returns the surroundings of a place on one line, and the terms of the query in it as
// pairs of byte offsets. An ellipsis marks text that was cut off.
func (q Query) Snippet(text string, at Place) (snippet string, marks [][2]int) {
	from := boundary(text, at.Start-before, -1)
	to := boundary(text, max(at.End, from+whole), 1)
	piece := text[from:to]
	var spans [][2]int
	q.matches(piece, func(_, start, end int) bool {
		spans = append(spans, [2]int{start, end})
		return true
	})
	slices.SortFunc(spans, func(a, b [2]int) int { return a[0] - b[0] })
	var b strings.Builder
	if from > 0 {
		b.WriteString("…")
	}
	done := 0
	for _, s := range spans {
		if s[0] < done {
			continue // within the one before
		}
		line(&b, piece[done:s[0]])
		start := b.Len()
		line(&b, piece[s[0]:s[1]])
		marks = append(marks, [2]int{start, b.Len()})
		done = s[1]
	}
	line(&b, piece[done:])
	if to < len(text) {
		b.WriteString("…")
	}
	return b.String(), marks
}

// boundary moves an offset outwards to the end of a word, but not far.
func boundary(text string, at, step int) int {
	at = min(max(at, 0), len(text))
	for range 24 {
		if at <= 0 || at >= len(text) {
			return min(max(at, 0), len(text))
		}
		if text[at] == ' ' || text[at] == '\n' {
			return at
		}
		at += step
	}
	for at > 0 && at < len(text) && !utf8.RuneStart(text[at]) {
		at += step
	}
	return at
}

// line writes text on one line: white space as one space, control characters and invalid UTF-8 as
// the replacement character.
func line(b *strings.Builder, text string) {
	space := strings.HasSuffix(b.String(), " ")
	for _, r := range text {
		switch {
		case unicode.IsSpace(r):
			if !space && b.Len() > 0 {
				b.WriteByte(' ')
			}
			space = true
			continue
		case r < ' ' || r == 0x7f || unicode.Is(unicode.Cc, r):
			r = utf8.RuneError
		}
		space = false
		b.WriteRune(r)
	}
}
