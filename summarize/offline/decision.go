package offline

import (
	"slices"
	"strings"

	"github.com/winnowhq/winnow/recall"
)

// marks are words of sentences that state a decision, a reason or a finding, with what they weigh.
var marks = []struct {
	word   string
	weight int
}{
	{"root cause", 4}, {"decided", 4}, {"decision", 3}, {"the reason is", 3}, {"the fix is", 3}, {"turns out", 3}, {"the bug is", 4}, {"the problem is", 3}, {"the issue is", 3}, {"the problem was", 3}, {"the issue was", 3}, {"the bug was", 4},
	{"instead of", 2}, {"rather than", 2}, {" because ", 2}, {"chose ", 3}, {"going with", 3}, {"i'll use ", 2}, {"i will use ", 2}, {"we'll use ", 2}, {"trade-off", 3}, {"found the", 2}, {"i found that", 3}, {"i confirmed", 2}, {"confirmed that", 2}, {"deliberately", 3}, {"on purpose", 3}, {"is caused by", 4}, {"was caused by", 4}, {"not possible", 2}, {"doesn't support", 2}, {"does not support", 2}, {"key insight", 4}, {"important:", 3}, {"left alone", 2}, {"backward compat", 2}, {"backwards compat", 2},
	{"entschieden", 4}, {"ursache", 4}, {" weil ", 2}, {"statt ", 1}, {"stellt sich heraus", 3}, {"der grund", 3}, {"parce que", 2}, {"j'ai décidé", 4}, {"au lieu de", 2}, {"la cause", 4}, {"porque ", 2}, {"he decidido", 4}, {"decidí", 4}, {"en lugar de", 2}, {"en vez de", 2}, {"la causa", 4},
}

// openers begin sentences that only announce the next step; a reason in them is no decision.
var openers = []string{"let me", "i'll check", "i need to", "now let me", "now i", "first, let me", "i'll start", "i'll look", "let's", "lass mich", "ich schaue", "perfect", "great", "wait", "hmm", "actually", "maybe", "could it", "it could", "looking at"}

// decisions are the sentences of the assistant that say what was decided or found out, and why.
func (f *facts) decisions() section {
	s := section{heading: headDecisions}
	seen := map[string]bool{}
	if f.before != nil {
		for i, it := range f.before.items(headDecisions) {
			it.weight = 35 + min(10, i) + f.focused(it.text)
			seen[strings.ToLower(it.text)] = true
			s.items = append(s.items, it)
		}
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
			score := 0
			for _, m := range marks {
				if m.weight > score && strings.Contains(lower, m.word) {
					score = m.weight
				}
			}
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
				// What follows a root cause mostly belongs to it.
				for n := i + 1; n < len(sentences) && n <= i+2 && len(whole)+len(sentences[n]) < 420 && !strings.HasSuffix(sentences[n], "?"); n++ {
					whole += " " + sentences[n]
					skip = n
				}
			}
			found = append(found, candidate{whole, score*8 + focus, a.message})
		}
	}
	var items []item
	for _, c := range found {
		items = append(items, item{text: quote(c.text, 440), weight: 22 + c.score + f.recent(c.at, 12)})
	}
	for _, it := range f.heaviest(headDecisions, items, 16) {
		if key := strings.ToLower(it.text); !seen[key] {
			seen[key] = true
			s.items = append(s.items, it)
		}
	}
	return s
}
