package pivot

import (
	"strings"

	"github.com/winnowhq/winnow/session"
)

// Bounds of a summary, in tokens: below a thousand it says too little, and above eight thousand nobody can keep it in mind.
const MinSummary, MaxSummary = 1_000, 8_000

// AnswerBudget is how long a summary may be, in tokens: a tenth of the window (usable 0: unlimited), and never more than half of what it replaces. previous is
// how many tokens of that are the text of an earlier summary, 0 for none. What was in it must have its place again: a later summary may be as long as the
// one before it and a half of what is new, up to twice the tenth, as long as that is less than what it replaces.
func AnswerBudget(usable, replaces, previous int) int {
	budget := MaxSummary
	if usable > 0 {
		budget = min(max(usable/10, MinSummary), MaxSummary)
	}
	if previous <= 0 {
		return max(min(budget, replaces/2), 64)
	}
	return max(min(2*budget, max(replaces/2, min(previous+max(0, replaces-previous)/2, replaces*3/4))), 64)
}

// PreviousText is what a summariser wrote into a summary; what the engine carried over under it is written anew.
func PreviousText(summary *session.Message) string {
	var texts []string
	for i := range summary.Parts {
		p := &summary.Parts[i]
		if n, _ := p.Note(); p.Type == session.TextPart && !n.Carry {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n\n")
}
