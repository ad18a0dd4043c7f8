// Package budget says whether a session fits its model's window.
//
// There are two forms. The letter is the specification's: what the provider reported for
// the last step, without what it wrote to its cache, must exceed the usable budget. The full form
// counts what the next request will really be: cache writes, and what was appended since the
// report; it keeps a reserve, and meeting the budget is overflow already.
//
// Either can be told to act earlier, at a threshold; and a provider that rejects a request as too
// long has answered the question itself, see [Rejected].
//
// A summary message must never be checked: its request was the whole window, and a check of it
// would call for a compaction of what was just compacted. That is the caller's part.
package budget

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/text/quantity"
)

const (
	// OutputCap is the most that is set aside for an answer, whatever the model could write: 32,000
	// tokens (S001 phase 1).
	OutputCap = 32_000
	// DefaultReserved is the reserve of the full form, where the answer's share is not smaller:
	// 20,000 tokens, room for the tool results of one step, and for the summary request itself.
	DefaultReserved = 20_000
)

// Settings is how the budget is computed. The zero value is the letter, and folds nothing; a
// caller's default has Auto on.
type Settings struct {
	// Auto allows an overflow to be folded: see [Settings.Folds]. Off, an overflow is found and
	// told all the same.
	Auto bool
	// Full selects the full form; false is the letter.
	Full bool
	// Reserved is how many tokens the full form leaves free below the limit. nil means
	// min(20,000, the answer's share). The letter knows no reserve.
	Reserved *int
	// Thresholds make it act earlier: patterns over "provider/id", as in package model, to a
	// threshold. Of several that match the longest pattern counts; "*" alone matches every model.
	// The budget's own limit stays, but under [Late]: first to fire wins.
	Thresholds map[string]Threshold
}

// Validate reports the settings that can only be a mistake: an invalid pattern, a threshold that is
// not a positive number or is fewer than [LeastThreshold] tokens, a negative reserve.
func (s Settings) Validate() error {
	for _, pattern := range slices.Sorted(maps.Keys(s.Thresholds)) {
		if !doublestar.ValidatePattern(pattern) {
			return fmt.Errorf("budget: threshold for %q: not a pattern; write one like \"anthropic/claude-*\"", pattern)
		}
		if err := s.Thresholds[pattern].wrong(); err != nil {
			return fmt.Errorf("budget: threshold for %q: %w", pattern, err)
		}
	}
	if s.Reserved != nil && *s.Reserved < 0 {
		return fmt.Errorf("budget: reserved %d: give 0 or more tokens", *s.Reserved)
	}
	return nil
}

// Usable is how much a model can be sent.
type Usable struct {
	// Tokens is the budget: always more than 0, and math.MaxInt when Unlimited.
	Tokens int
	// Context and Output are what it was computed from: the model's window, 0 when unknown, and the
	// share of it that is set aside for the answer.
	Context, Output int
	// Reserved is what the full form leaves free, 0 in the letter.
	Reserved int
	// Threshold is where it acts: the smaller of Tokens and the threshold that was set.
	Threshold int
	// Unlimited says that the window is unknown, or set to be unlimited: nothing is too much until
	// the provider says so.
	Unlimited bool
	// Fallback says, in words, why the budget was not computed from the limits as they are. Empty
	// when it was.
	Fallback string
}

// Usable computes the budget for m.
//
// The letter: the limit of the prompt if there is one, else the context less the answer's share,
// which is min(limit.output, 32,000), or 32,000 when that is unknown; a context of 0 is unlimited
// (S001 phase 1, S003 §3.1). The full form subtracts the reserve from either, takes a prompt limit
// for a window when only that is known, and, when the output limit is unknown or leaves no prompt,
// sets aside no more than a quarter of the context.
//
// Limits that leave nothing, in either form, fall back to the context less min(answer's share,
// context/4), so that a wrong limit never means a compaction after every step.
func (s Settings) Usable(m model.Model) Usable {
	limits := model.Limits{Context: max(0, m.Limits.Context), Input: max(0, m.Limits.Input),
		Output: max(0, m.Limits.Output)}
	u := s.letter(limits)
	if s.Full {
		u = s.full(limits)
	}
	if u.Unlimited && m.Unlimited() {
		u.Fallback = ""
	}
	u.Threshold = u.Tokens
	if _, t, set := s.threshold(m.String()); set {
		window := u.Context
		if window == 0 {
			window = limits.Input
		}
		if tokens := t.tokens(window); tokens > 0 {
			u.Threshold = min(u.Tokens, tokens)
		}
		if t == Late && !u.Unlimited {
			u = u.late(window, limits.Input)
		}
	}
	return u
}

// Doubt says in words what is not known of a model's limits, what is taken for them, and how to set
// them; "" when they are known.
func (s Settings) Doubt(m model.Model) string {
	why, of := s.Usable(m).Fallback, m.String()
	if m.Unknown {
		why = fmt.Sprintf("a context of %s tokens and an output of %s are assumed", quantity.Number(m.Limits.Context),
			quantity.Number(m.Limits.Output))
		of += " is not known"
	}
	switch {
	case why == "":
		return ""
	case !m.Named():
		return "no model is named: " + why
	}
	return of + ": " + why + "; set them in winnow.jsonc: " + m.Line(0)
}

func outputShare(limit int) int {
	if limit == 0 {
		return OutputCap
	}
	return min(limit, OutputCap)
}

func (s Settings) letter(l model.Limits) Usable {
	u := Usable{Context: l.Context, Output: outputShare(l.Output)}
	if l.Context == 0 {
		return unlimited(u)
	}
	if l.Input > 0 {
		u.Tokens = l.Input
		return u
	}
	if u.Tokens = l.Context - u.Output; u.Tokens <= 0 {
		return fallback(u, l)
	}
	return u
}

func (s Settings) full(l model.Limits) Usable {
	window := l.Context
	if window == 0 {
		window = l.Input
	}
	u := Usable{Context: l.Context, Output: outputShare(l.Output)}
	if window == 0 {
		return unlimited(u)
	}
	var why string
	if l.Output == 0 || l.Output >= window {
		if quarter := window / 4; u.Output > quarter {
			u.Output = quarter
			why = fmt.Sprintf("the output limit is %s: a quarter of the window, %s tokens, is set aside for the answer",
				unknownOr(l.Output), quantity.Number(quarter))
		}
	}
	u.Reserved = min(DefaultReserved, u.Output)
	if s.Reserved != nil {
		u.Reserved = max(0, *s.Reserved)
	}
	prompt := window - u.Output
	if l.Input > 0 {
		prompt = l.Input
		if l.Context > 0 {
			prompt = min(l.Input, l.Context)
		}
	}
	if u.Tokens = prompt - u.Reserved; u.Tokens <= 0 {
		u.Reserved = 0
		return fallback(u, model.Limits{Context: window, Output: l.Output})
	}
	u.Fallback = why
	return u
}

// late is the budget by the share of the window that is in use (S004), within the limit of the
// prompt if there is one.
func (u Usable) late(window, prompt int) Usable {
	u.Tokens = lateShare.tokens(window)
	if prompt > 0 {
		u.Tokens = min(u.Tokens, prompt)
	}
	u.Tokens = max(1, u.Tokens)
	return Usable{Tokens: u.Tokens, Threshold: u.Tokens, Context: u.Context, Output: min(u.Output, window-u.Tokens)}
}

func unlimited(u Usable) Usable {
	u.Unlimited, u.Tokens = true, math.MaxInt
	u.Fallback = "the context limit is unknown: no count overflows, only a rejection by the provider does"
	return u
}

func fallback(u Usable, l model.Limits) Usable {
	u.Output = min(u.Output, l.Context/4)
	u.Tokens = l.Context - u.Output
	u.Fallback = fmt.Sprintf("the limits (context %s, output %s) leave no room for a prompt: "+
		"%s tokens are taken to be usable",
		quantity.Number(l.Context), unknownOr(l.Output), quantity.Number(u.Tokens))
	return u
}

// threshold finds the setting for a model: the longest pattern that matches, of equally long ones
// the first by name.
func (s Settings) threshold(name string) (pattern string, t Threshold, set bool) {
	name = strings.ToLower(name)
	for _, p := range slices.Sorted(maps.Keys(s.Thresholds)) {
		matched, err := doublestar.Match(strings.ToLower(p), name)
		if (p == every || err == nil && matched) && (!set || len(p) > len(pattern)) {
			pattern, t, set = p, s.Thresholds[p], true
		}
	}
	return pattern, t, set
}

func unknownOr(tokens int) string {
	if tokens == 0 {
		return "unknown"
	}
	return quantity.Number(tokens)
}

// WarnAt is the share of the usable window from which on a warning is due.
const WarnAt = 0.8
