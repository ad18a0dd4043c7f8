// Package offline writes summaries from the log alone, without a model. It quotes the task in the
// user's own words, instructions, decisions, what was done to which file, which commands worked,
// what is still broken, and what comes next. The same request gives the same summary, and
// everything in it is in the log or was counted there.
package offline

import (
	"context"

	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/session"
)

// Name is the summariser's name in receipts and on the command line.
const Name = "offline"

// DefaultBudget is how many tokens a summary may have if the request does not say: in practice
// enough for a day's session.
const DefaultBudget = 6000

// Summarizer writes summaries without a model. The zero value is ready, and safe for concurrent
// use.
type Summarizer struct{}

var _ pivot.Summarizer = (*Summarizer)(nil)

// New returns the summariser.
func New() *Summarizer { return &Summarizer{} }

// Name is "offline".
func (*Summarizer) Name() string { return Name }

// Limit is 0: a log of any size is read.
func (*Summarizer) Limit() int { return 0 }

// Summarize summarises r.Past: all that was said and done up to the cut, whatever earlier summaries
// said about it. What r.Previous contained and still holds is dropped last. Without r.Past it
// summarises r.Log and carries forward what r.Previous said. It fails only if ctx has ended. The
// usage of its answer is zero: nothing was sent anywhere.
func (*Summarizer) Summarize(ctx context.Context, r pivot.Request) (pivot.Answer, error) {
	if err := ctx.Err(); err != nil {
		return pivot.Answer{}, err
	}
	log := r.Log
	if r.Past != nil && len(r.Past.Log) > 0 {
		log = r.Past.Log
	}
	if len(log) == 0 {
		log = r.Messages // a caller without a log of its own still gets what it has
	}
	f := collect(log, r)
	if err := ctx.Err(); err != nil {
		return pivot.Answer{}, err
	}
	text := write(f.sections(), budget(r, log))
	return pivot.Answer{Text: text, Finish: "stop", Model: Name}, nil
}

// budget returns how many tokens the summary may have: the requested number, but at most the
// earlier summary plus three quarters of what was appended since, so that it is smaller than what
// it replaces.
func budget(r pivot.Request, log []session.Message) int {
	most := r.Budget
	if most <= 0 {
		most = DefaultBudget
	}
	if r.Past != nil && most >= len(r.Previous)/4 {
		most = max(most, estimate(r.Previous)) // counted as most do, there is room for it again
	}
	replaced := 0
	for i := range log {
		for j := range log[i].Parts {
			p := &log[i].Parts[j]
			replaced += estimate(p.Text)
			if p.State != nil {
				replaced += (len(p.State.Input) + len(p.State.Result())) / 3
			}
			if replaced > most*2 {
				return most
			}
		}
	}
	return min(most, max(estimate(r.Previous)+replaced*3/4, 400))
}

// estimate returns the most tokens that a text can have with the tokenisers in use: one for three
// ASCII bytes, and one for each other character.
func estimate(text string) int {
	ascii, other := 0, 0
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] < 0x80:
			ascii++
		case text[i] >= 0xC0:
			other++
		}
	}
	return (ascii+2)/3 + other
}
