package budget

import (
	"fmt"
	"math"
	"strings"

	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/quantity"
)

// The reasons of a verdict that was not computed, and of one that should not be trusted alone.
const (
	CodeAutoOff   = "auto-off"         // the total is beyond the budget, and folding is switched off
	CodeUnknown   = "unknown-limits"   // the model's window is unknown
	CodeUnlimited = "unlimited"        // the user said that the model's window has no limit
	CodeFits      = "fits"             // the total is within the budget
	CodeOverflow  = "overflow"         // the total is beyond the budget, or the threshold set below it
	CodeDoubtful  = "doubtful-reports" // the total overflows, but the report cannot be of one request
)

// Verdict says whether a session still fits.
type Verdict struct {
	Overflow bool `json:"overflow"` // whether the window does not fit
	Total    int  `json:"total"`    // tokens that were counted
	// Tokens that they were compared with: the budget, or the threshold below it.
	Usable int `json:"usable"`
	// The reason as a word: "fits", "overflow", "auto-off" (it overflows, and "compaction.auto" is
	// off, so nothing is folded), "doubtful-reports" (the report cannot be of one request),
	// "unknown-limits" (no limit is known), "unlimited" (the configuration says that there is
	// none).
	Code   string `json:"code"`
	Reason string `json:"reason"` // the reason as a sentence
}

// Check compares a report with the budget for m: u is what the provider reported for the last
// finished step, of a message that is not a summary, and pending the estimate of what was appended
// since (tool results, the next user message). The letter ignores pending, cache writes, and a bare
// total.
//
// Some providers report the cache reads of a whole turn as those of its last step. When the prompt
// that is reported would not have fitted into the model's window, the request that was answered
// cannot have been so large: the full form says overflow with [CodeDoubtful], and a caller that has
// its own estimate of the view should believe that. (The other explanation is a window larger than
// the catalogue knows: an override settles it.)
func (s Settings) Check(m model.Model, u session.Usage, pending int) Verdict {
	usable := s.Usable(m)
	v := Verdict{Total: s.Total(u, pending), Usable: usable.Threshold}
	switch {
	case usable.Unlimited && usable.Threshold == usable.Tokens:
		v.Code, v.Reason = CodeUnknown, usable.Fallback
		if m.Unlimited() {
			v.Code, v.Reason = CodeUnlimited, fmt.Sprintf("%s tokens, and the context of %s is set to be unlimited",
				quantity.Number(v.Total), m)
		}
	case v.Total > v.Usable || s.Full && v.Total == v.Usable:
		v.Overflow, v.Code = true, CodeOverflow
		if !s.Auto {
			v.Code = CodeAutoOff
		}
		v.Reason = fmt.Sprintf("%s tokens of %s usable", quantity.Number(v.Total), quantity.Number(v.Usable))
		if usable.Threshold < usable.Tokens {
			v.Reason = fmt.Sprintf("%s tokens, threshold %s", quantity.Number(v.Total), quantity.Number(v.Usable))
		}
		if prompt := sum(u.Input, u.Cache.Read, u.Cache.Write); s.Full && usable.Context > 0 &&
			prompt > usable.Context {
			v.Code = CodeDoubtful
			v.Reason += fmt.Sprintf("; the report has a prompt of %s tokens, more than the window of %s: "+
				"cache reads counted more than once, or a limit that is out of date",
				quantity.Number(prompt), quantity.Number(usable.Context))
		}
		if !s.Auto {
			v.Reason += "; automatic compaction is off"
		}
	default:
		v.Code = CodeFits
		v.Reason = fmt.Sprintf("%s tokens of %s usable", quantity.Number(v.Total), quantity.Number(v.Usable))
	}
	return v
}

// Folds reports whether a verdict calls for a fold: it overflows, and folding is not switched off.
// It is what S001 calls isOverflow.
func (s Settings) Folds(v Verdict) bool { return v.Overflow && s.Auto }

// Total adds a report up: in the letter input, cache reads and output; in the full form cache
// writes and pending as well. A provider that reports nothing but a total is taken at that in the
// full form. Reasoning is not added: where it stays in the prompt the next report has it.
func (s Settings) Total(u session.Usage, pending int) int {
	if !s.Full {
		return sum(u.Input, u.Cache.Read, u.Output)
	}
	total := sum(u.Input, u.Cache.Read, u.Cache.Write, u.Output)
	if total == 0 {
		total = max(0, u.Total)
	}
	return sum(total, pending)
}

// sum adds what is positive, and stays at the largest number rather than turning negative.
func sum(counts ...int) int {
	total := 0
	for _, n := range counts {
		if n = max(0, n); total > math.MaxInt-n {
			return math.MaxInt
		}
		total += max(0, n)
	}
	return total
}

// Floor is what no compaction can remove, in tokens. When it alone exceeds the budget, compacting
// again is of no use.
type Floor struct {
	System  int // the system prompt
	Tools   int // the tools' descriptions and schemas
	Pins    int // tokens that must survive
	Tail    int // the newest messages, kept verbatim
	Summary int // tokens of the summary of the rest
}

// Total is the sum of the items.
func (f Floor) Total() int { return sum(f.System, f.Tools, f.Pins, f.Tail, f.Summary) }

// String itemises: "system 12,000 + tools 90,000 = 102,000". What is 0 is left out.
func (f Floor) String() string {
	var items []string
	for _, item := range []struct {
		name   string
		tokens int
	}{{"system", f.System}, {"tools", f.Tools}, {"pins", f.Pins}, {"tail", f.Tail}, {"summary", f.Summary}} {
		if item.tokens > 0 {
			items = append(items, item.name+" "+quantity.Number(item.tokens))
		}
	}
	switch len(items) {
	case 0:
		return "nothing"
	case 1:
		return items[0]
	}
	return strings.Join(items, " + ") + " = " + quantity.Number(f.Total())
}
