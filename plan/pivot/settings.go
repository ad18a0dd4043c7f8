package pivot

// Defaults of a pivot.
const (
	// DefaultUserMessages is how many tokens of the user's own words are carried over verbatim:
	// enough for a long task description and some fifty corrections.
	DefaultUserMessages = 20_000
	// MinKeep and MaxKeep limit what KeepAuto keeps verbatim, in tokens: two thousand hold the last
	// exchange, more than fifteen thousand would leave too little room in small windows.
	MinKeep, MaxKeep = 2_000, 15_000
	// KeepAuto as Settings.Keep takes a quarter of the usable window, within MinKeep and MaxKeep:
	// two thirds for the newest messages, one third for text that the work continues with, wherever
	// it was. On recorded sessions this lowered both the bill and what had to be fetched again.
	// Where pivots come because they pay, the policy keeps more: see policy.Folding.
	KeepAuto = -1
)

// DefaultMiss is Settings.Miss at least, in tokens: where requests are short and cheap, the
// commands of the newest steps stay nevertheless.
const DefaultMiss = 10_000

// Settings say how a pivot is made.
type Settings struct {
	// SummaryAlone is the specification's pivot: Keep and UserMessages are 0, nothing is carried
	// over, and any answer is accepted.
	SummaryAlone bool
	// Keep is how many tokens of the newest messages stay verbatim after the summary; 0 keeps the
	// last exchange alone, KeepAuto decides by the window.
	Keep int
	// UserMessages is how many tokens of the user's messages are carried over verbatim.
	UserMessages int
	// Short is how many tokens of them short messages may have, which are quoted before longer ones
	// and whatever UserMessages says: what a detector of rules misses is most likely there.
	Short int
	// Miss is what a request for something that was folded costs, in tokens that stay until the
	// next pivot; less than DefaultMiss counts as that. The dearer it is, the more stays word for
	// word because the work may continue with it.
	Miss float64
	// System replaces the summariser's system prompt, and Prompt the instruction after the
	// messages; Context lines are added to the instruction.
	System  string
	Prompt  string
	Context []string
}

// Tail returns how many tokens the tail may have in a window of usable tokens; 0 means unlimited.
func (s Settings) Tail(usable int) int {
	switch {
	case s.SummaryAlone:
		return 0
	case s.Keep != KeepAuto:
		return max(0, s.Keep)
	case usable <= 0:
		return MaxKeep * 2 / 3
	}
	// Never more than the quarter itself, so that small windows are not filled by what must not be
	// folded.
	least := min(MinKeep, usable/2)
	return max(min(max(usable/4, least), MaxKeep)*2/3, least)
}

// Limits of a summary, in tokens: below a thousand it says too little, above eight thousand nobody
// can keep it in mind.
const MinSummary, MaxSummary = 1_000, 8_000

// AnswerBudget returns how many tokens a summary may have: a tenth of the window (usable 0 means
// unlimited), and at most half of what it replaces. previous counts the tokens of an earlier
// summary among what is replaced, or 0. Its content needs room again: a later summary
// may be as long as the one before it plus half of what is new, up to twice the tenth, as long as
// that is less than what it replaces.
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
