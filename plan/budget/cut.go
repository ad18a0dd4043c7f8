package budget

import (
	"fmt"

	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/text/quantity"
)

// CodeCut is the reason of a warning that a server drops the beginning of prompts without a word.
const CodeCut = "silently-cut"

// Sent is one request: how much of it was counted here, and what the provider made of it.
type Sent struct {
	// Tokens is the estimate of the messages that were sent, but for what a server may leave out by
	// right or counts by rules of its own: reasoning and media.
	Tokens int
	// Reported is the whole prompt, what was read from the cache and written to it included. 0: the
	// step has no report.
	Reported int
	// Changed says that the view was changed since the request before, other than by what was
	// appended: by pruning, a fold, an undo, another model.
	Changed bool
	// Turn says that the user wrote since the request before: the reasoning of the turn that ended,
	// which a log need not have, may have gone by right.
	Turn bool
}

// Watch looks for a server that silently cuts what it is sent to a window of its own, as Ollama
// does: from a prompt that is longer than num_ctx it keeps about half as many tokens, and reports
// those. What such a server reports stops growing while what is sent grows. The zero value has seen
// nothing.
//
// Tokenizers differ, so that only growth is compared: that of the reports with that of the
// estimates, at the rate at which they grew together before. A server that reads everything, and
// whose tokenizer makes the same number of tokens, above a tenth, of each of ours, is never
// accused.
type Watch struct {
	first, newest Sent // of the stretch in which the view only grew; newest is the last that told something
	before        Sent // the last step that grew
	flat          int  // steps in a row since that did not
	top           int  // the largest report since the view was last changed
	learned       float64
	any           bool
}

const (
	// leastGrowth is how many tokens must have been appended for a report to tell anything; of a
	// long prompt at least a hundredth of it.
	leastGrowth = 100
	// leastLearned is how many tokens a prompt must have grown by for the rate to be known.
	leastLearned = 500
	// mostRate is the highest rate that is expected, whatever was learned: something may have been
	// sent that the log does not have.
	mostRate = 1.5
	// assumedRate is expected where no prompt ever grew. No tokenizer makes so few of our tokens.
	assumedRate = 0.25
	// stays is the share of the expected growth up to which a report counts as the same.
	stays = 0.2
)

// Next takes the next request of a session.
func (w Watch) Next(s Sent) Watch {
	switch {
	case s.Reported <= 0 && !s.Changed:
		return w // the next report will include the new messages
	case !w.any || s.Changed || s.Tokens < w.newest.Tokens:
		return Watch{first: s, newest: s, before: s, top: s.Reported, any: s.Reported > 0}
	}
	grown, rise := s.Tokens-w.newest.Tokens, s.Reported-w.newest.Reported
	if grown < max(leastGrowth, w.newest.Reported/100) {
		if s.Turn {
			return w.from(s)
		}
		return w
	}
	rate, _ := w.rate()
	same := rise <= s.Reported/200 && -rise <= s.Reported/200
	// A report that fell by half is of another kind of prompt, and one that is no larger than what
	// came in may leave out what was read from a cache, unless it is always the same.
	flat := float64(rise) < stays*rate*float64(grown) && 2*s.Reported >= w.newest.Reported &&
		(same || !s.Turn && 2*grown < s.Reported)
	switch {
	case flat:
		w.flat++
	case s.Turn, rise < 0:
		return w.from(s)
	default:
		w.flat, w.before = 0, s
	}
	w.newest, w.top = s, max(w.top, s.Reported)
	return w
}

// from begins anew with a request, at the rate that was learned.
func (w Watch) from(s Sent) Watch {
	if rate, ok := w.rate(); ok {
		w.learned = rate
	}
	w.first, w.newest, w.before, w.flat, w.top = s, s, s, 0, max(w.top, s.Reported)
	return w
}

// rate is how many reported tokens one of the estimate was, while the prompt grew; learned is false
// if it never did.
func (w Watch) rate() (rate float64, learned bool) {
	sent, reported := w.before.Tokens-w.first.Tokens, w.before.Reported-w.first.Reported
	switch {
	case sent >= leastLearned && reported >= leastLearned:
		return min(mostRate, float64(reported)/float64(sent)), true
	case w.learned > 0:
		return w.learned, true
	}
	return assumedRate, false
}

// Cut is a window that a server seems to have, and does not tell.
type Cut struct {
	Steps    int `json:"steps"`    // steps in a row in which that is so
	Appended int `json:"appended"` // tokens that were added meanwhile, by estimate
	Reported int `json:"reported"` // tokens of the largest prompt that it reported
	// About how many tokens its window has: the usual size just above.
	Window int `json:"window"`
}

// Cut reports whether the newest requests were cut: at least two in a row, of which tokens are
// missing that no tokenizer explains.
func (w Watch) Cut() (c Cut, ok bool) {
	rate, learned := w.rate()
	appended := w.newest.Tokens - w.before.Tokens
	missing := rate*float64(appended) - float64(w.newest.Reported-w.before.Reported)
	if w.flat < 2 || !learned && w.flat < 3 || missing < float64(max(leastLearned, w.before.Reported/20)) {
		return Cut{}, false
	}
	c = Cut{Steps: w.flat, Appended: appended, Reported: w.top, Window: 1024}
	for c.Window < w.top {
		c.Window *= 2
	}
	return c, true
}

// Explain says in words what was seen, and what to do about it.
func (c Cut) Explain(m model.Model) string {
	return fmt.Sprintf("%s seems to cut what it is sent to a window of about %s tokens: in %s about %s tokens were "+
		"added, and the prompts that it reports stayed at %s or less; give the server a larger window "+
		"(OLLAMA_CONTEXT_LENGTH, num_ctx), or set this one in winnow.jsonc, so that Winnow folds in time: %s", m,
		quantity.Number(c.Window), quantity.Count(c.Steps, "step"), quantity.Number(c.Appended),
		quantity.Number(c.Reported), m.Line(c.Window))
}
