package offline

import (
	"slices"
	"strings"

	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/plan/recall"
)

// marks are the words of a decision, a reason or a finding, by weight.
var marks = [][]string{1: lists.Of("marks 1"), 2: lists.Of("marks 2"), 3: lists.Of("marks 3"), 4: lists.Of("marks 4")}

// weighed returns the weight of the heaviest mark in a sentence.
func weighed(lower string) int {
	for weight, words := range slices.Backward(marks) {
		if call.ContainsAny(lower, words...) {
			return weight
		}
	}
	return 0
}

// decisions lists the assistant's sentences that say what was decided or found out, and why.
func (f *facts) decisions() section {
	s := section{heading: headDecisions}
	seen := map[string]bool{}
	for i, it := range f.before.items(headDecisions) {
		it.weight = 35 + min(10, i) + f.focused(it.text)
		seen[strings.ToLower(it.text)] = true
		s.items = append(s.items, it)
	}
	type candidate struct {
		text      string
		score, at int
	}
	var found []candidate
	for _, a := range f.answers {
		sentences := recall.Sentences(a.text)
		skip := -1
		for i, text := range sentences {
			if i <= skip || len(text) < 40 || len(text) > 700 || strings.HasSuffix(text, "?") || text[0] == '|' {
				continue
			}
			lower := " " + strings.ToLower(text) + " "
			score := weighed(lower)
			focus := f.focused(text)
			if score == 0 && focus == 0 {
				continue
			}
			if slices.ContainsFunc(openers, func(o string) bool { return strings.HasPrefix(lower[1:], o) }) {
				score -= 3
			}
			if score <= 0 && focus < 20 {
				continue
			}
			whole := text
			if score >= 4 {
				// Sentences after a root cause usually belong to it.
				for n := i + 1; n < len(sentences) && n <= i+2 && len(whole)+len(sentences[n]) < 420 &&
					!strings.HasSuffix(sentences[n], "?"); n++ {
					whole += " " + sentences[n]
					skip = n
				}
			}
			found = append(found, candidate{whole, score*8 + focus, a.message})
		}
	}
	var items []item
	for _, c := range found {
		items = append(items, item{text: quote(c.text, 440), weight: 30 + c.score + f.recent(c.at, 12)})
	}
	for _, it := range f.heaviest(headDecisions, items, 16) {
		if key := strings.ToLower(it.text); !seen[key] {
			seen[key] = true
			s.items = append(s.items, it)
		}
	}
	return s
}
