package display

import (
	"cmp"
	"slices"
	"time"

	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/quantity"
)

// Paid is one thing that a bill is for.
type Paid struct {
	Tone
	Name string
	Of   func(s *bill.Split) float64
}

// Bills are the things that a bill is for, in the order in which bars stack them.
func Bills() []Paid {
	return []Paid{
		{Read, "cache read", func(s *bill.Split) float64 { return s.Read }},
		{Write, "cache write", func(s *bill.Split) float64 { return s.Write }},
		{Input, "plain input", func(s *bill.Split) float64 { return s.Input }},
		{Output, "answers", func(s *bill.Split) float64 { return s.Output }},
		{Other, "searches, other", func(s *bill.Split) float64 { return s.Other }},
	}
}

// Billed says what a session cost, and for how many requests: "$2.41 for 75 requests".
func Billed(r *report.Report) string {
	all := r.Bill.Total()
	text := quantity.Dollars(all.Cost) + " for " + quantity.Count(all.Requests-all.Unknown(), "request")
	if all.Unknown() > 0 {
		text = "at least " + text + ", and " + quantity.Number(all.Unknown()) + " of unknown cost"
	}
	return text
}

// Cause says in a few words why something missed the provider's cache.
func Cause(c report.Cause) string {
	switch c {
	case report.OtherModel:
		return "another model had answered before"
	case report.Idle:
		return "idle for longer than the cache lives"
	case report.Compacted:
		return "a summary took the place of the past"
	case report.Edit:
		return "the past was pruned or changed"
	case report.Beginning:
		return "tools or system prompt changed, or dropped"
	}
	return "the log does not show why"
}

// why says why one request missed the cache: "idle for 12 min".
func why(m *report.Miss) string {
	if m.Cause == report.Idle {
		return "idle for " + quantity.Duration((time.Duration(m.Idle) * time.Millisecond).Round(time.Minute))
	}
	return Cause(m.Cause)
}

// MissRow is what missed the cache: for one reason, or in one request.
type MissRow struct{ Message, What, Tokens, Cost, Why string }

// Misses lists why requests missed the cache, and those whose misses cost most, what cost the same
// by its tokens.
func Misses(c *report.Costs, most int) (causes, dearest []MissRow) {
	by, _ := c.Misses()
	for _, sum := range by {
		causes = append(causes, MissRow{What: quantity.Count(sum.Requests, "request"),
			Tokens: quantity.Number(sum.Tokens), Cost: KnownDollars(sum.Cost), Why: Cause(sum.Cause)})
	}
	all := slices.DeleteFunc(slices.Clone(c.Requests), func(r report.Request) bool { return r.Miss == nil })
	slices.SortStableFunc(all, func(a, b report.Request) int {
		return cmp.Or(cmp.Compare(b.Miss.Cost, a.Miss.Cost), cmp.Compare(b.Miss.Tokens, a.Miss.Tokens))
	})
	for _, r := range all[:min(len(all), most)] {
		dearest = append(dearest, MissRow{r.Message, "step " + quantity.Number(r.Step), quantity.Number(r.Miss.Tokens),
			KnownDollars(r.Miss.Cost), why(r.Miss)})
	}
	return causes, dearest
}

// KnownDollars is an amount of which 0 says that it is unknown.
func KnownDollars(amount float64) string {
	if amount > 0 {
		return quantity.Dollars(amount)
	}
	return quantity.Unknown
}

// MissedSentence says what missing the cache cost: "$3.52 for 640,000 tokens paid anew in 9
// requests"; "" where nothing missed it.
func MissedSentence(c *report.Costs) string {
	_, whole := c.Misses()
	if whole.Requests == 0 {
		return ""
	}
	text := quantity.Count(whole.Tokens, "token") + " paid anew in " + quantity.Count(whole.Requests, "request")
	if whole.Cost > 0 {
		text = quantity.Dollars(whole.Cost) + " for " + text
	}
	return text
}
