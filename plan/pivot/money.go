package pivot

import (
	"fmt"
	"math"

	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/text/quantity"
)

// Money is what a compaction or a pruning comes to in US dollars, by the price of the model that
// reads the session. What is not known is nil.
type Money struct {
	Model string `json:"model"` // the model that reads the session
	// US dollars that each later step saves: the removed tokens, at the price of reading them from
	// the cache.
	Step *float64 `json:"step"`
	// Tokens after the first change that are written to the provider's cache again.
	Rewritten int `json:"rewritten"`
	// US dollars that rewriting costs once, beyond reading these tokens; nothing if the cache is
	// cold.
	Rewriting *float64 `json:"rewriting"`
	Summary   *float64 `json:"summary"` // US dollars for the summary calls
	// Steps after which it has paid for itself, 0 at once; null for never, or if it is unknown.
	Steps *int `json:"steps"`
}

// Change is the size of a view before and after, in tokens with system prompt and tools, and how
// many of them are written again.
type Change struct{ Before, After, Rewritten int }

// NewMoney prices a change. summary is what the calls for the summary cost, nil if unknown.
func NewMoney(m model.Model, c Change, summary *float64) *Money {
	out := &Money{Model: m.String(), Rewritten: max(0, min(c.Rewritten, c.After)), Summary: summary}
	read := func(tokens int) model.Usage { return model.Usage{CacheRead: tokens} }
	write := func(tokens int) model.Usage {
		return model.Usage{CacheRead: tokens - out.Rewritten, CacheWrite: out.Rewritten}
	}
	if m.CacheLifetime() <= 0 { // every prompt is sent anew
		read = func(tokens int) model.Usage { return model.Usage{Input: tokens} }
		write = read
	}
	before, known := m.Cost(read(max(0, c.Before)))
	after, also := m.Cost(read(max(0, c.After)))
	again, too := m.Cost(write(max(0, c.After)))
	if !known || !also || !too {
		return out
	}
	step, rewriting := before-after, max(0, again-after)
	out.Step, out.Rewriting = &step, &rewriting
	if summary == nil || step <= 0 {
		return out
	}
	if steps := math.Ceil((rewriting + *summary) / step); steps < math.MaxInt32 {
		n := int(steps)
		out.Steps = &n
	}
	return out
}

// Words describes it in a sentence; dollars formats the amounts.
func (m *Money) Words(dollars func(float64) string) string {
	said := func(amount *float64) string {
		if amount == nil {
			return "unknown"
		}
		return dollars(*amount)
	}
	if m.Step == nil {
		text := "unknown: no price for " + m.Model + "; `models` in winnow.jsonc sets prices"
		if m.Summary != nil && *m.Summary > 0 {
			text += "; the summary cost " + dollars(*m.Summary)
		}
		return text
	}
	text := "saves " + said(m.Step) + " a step; rewriting " + quantity.Count(m.Rewritten, "token") + " costs " +
		said(m.Rewriting) + " once"
	if m.Summary == nil || *m.Summary > 0 {
		text += ", the summary " + said(m.Summary)
	}
	switch {
	case *m.Step <= 0:
		text += "; it never pays"
	case m.Steps == nil:
		text += "; after how many steps it pays is unknown"
	case *m.Steps == 0:
		text += "; it pays back at once"
	default:
		text += fmt.Sprintf("; it pays back after %s", quantity.Count(*m.Steps, "step"))
	}
	return text
}
