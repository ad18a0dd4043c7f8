package tenant

import (
	"fmt"
	"math"
	"time"

	"github.com/winnowhq/winnow/text/quantity"
)

// Budget is how much a tenant may spend, in US dollars, by the days and months of UTC. It is what
// the providers' reports add up to, with summaries; what has no known price is not in it.
type Budget struct {
	Day   float64 `json:"day"`   // US dollars in a day (UTC), 0 for no limit
	Month float64 `json:"month"` // US dollars in a month (UTC), 0 for no limit
	// The share of a budget from which on there are warnings, above 0 and up to 1; 0 is 0.8.
	Warn float64 `json:"warn"`
}

// DefaultWarn is the share at which warnings begin: 80 % leaves a day's last hours to look at it.
const DefaultWarn = 0.8

// mostBudget is the largest budget, in US dollars: a mistake in units stands out.
const mostBudget = 100_000_000

func (b Budget) check() error {
	for _, amount := range []float64{b.Day, b.Month} {
		if math.IsNaN(amount) || amount < 0 || amount > mostBudget {
			return fmt.Errorf("a budget of %v dollars: give 0 for no limit, or up to %d", amount, mostBudget)
		}
	}
	if math.IsNaN(b.Warn) || b.Warn < 0 || b.Warn > 1 {
		return fmt.Errorf("warnings from a share of %v: give one above 0 and up to 1, such as 0.8", b.Warn)
	}
	return nil
}

// Limited reports whether there is a budget.
func (b Budget) Limited() bool { return b.Day > 0 || b.Month > 0 }

// Spent is what was spent within a day and its month, in US dollars.
type Spent struct {
	Day   float64 `json:"day"`   // in this day (UTC)
	Month float64 `json:"month"` // in this month (UTC)
	// The share of the month that no provider reported: for answers that broke off, whose client
	// left, or that came without a report.
	Estimated float64 `json:"estimated,omitzero"`
}

// Verdict is what a budget says of what was spent.
type Verdict struct {
	// Period is "day" or "month": the one that is nearest to its end, or over it.
	Period string
	Limit  float64   // of the period, in US dollars
	Spent  float64   // within it
	Begins time.Time // when the next one begins
	Stop   bool      // nothing more is allowed; otherwise it is a warning
}

// Judge is what a budget says at a time, nil for nothing. Of two that are over their end the one
// that begins again later counts.
func (b Budget) Judge(spent Spent, now time.Time) *Verdict {
	warn := b.Warn
	if warn == 0 {
		warn = DefaultWarn
	}
	day, month := Periods(now)
	var worst *Verdict
	for _, v := range []Verdict{
		{"day", b.Day, spent.Day, day.AddDate(0, 0, 1), spent.Day >= b.Day},
		{"month", b.Month, spent.Month, month.AddDate(0, 1, 0), spent.Month >= b.Month},
	} {
		switch {
		case v.Limit <= 0 || v.Spent < warn*v.Limit:
		case worst == nil, v.Stop, !worst.Stop && v.Spent/v.Limit > worst.Spent/worst.Limit:
			worst = &v
		}
	}
	return worst
}

// Admit says why a request may not be sent, nil if it may: what was spent and what the requests that
// are under way may cost have reached the end. So all of them together exceed it by one request's
// worth at most.
func (b Budget) Admit(spent Spent, reserved float64, now time.Time) *Refusal {
	if v := b.Judge(spent, now); v != nil && v.Stop {
		return &Refusal{Kind: "budget", Message: v.Message(), After: v.Begins.Sub(now), Verdict: v}
	}
	most := Spent{Day: spent.Day + reserved, Month: spent.Month + reserved}
	if v := b.Judge(most, now); v != nil && v.Stop {
		return &Refusal{Kind: "reserved", After: concurrencyWait, Message: fmt.Sprintf(
			"requests under way may cost %s, and not more than that is left of the budget of %s for this %s (UTC)",
			quantity.Dollars(reserved), quantity.Dollars(v.Limit), v.Period)}
	}
	return nil
}

// Periods are when the day and the month of a time began, in UTC.
func Periods(now time.Time) (day, month time.Time) {
	y, m, d := now.UTC().Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC), time.Date(y, m, 1, 0, 0, 0, 0, time.UTC)
}

// DayOf is the day of a time as it is kept: 2026-05-31.
func DayOf(now time.Time) string { return now.UTC().Format(time.DateOnly) }

// Header says it for programs: what was spent of which budget, and when the next one begins.
func (v Verdict) Header() string {
	return fmt.Sprintf("%s; spent=%.4f; limit=%.4f; begins=%s", v.Period, v.Spent, v.Limit,
		v.Begins.Format(time.RFC3339))
}

// Message says it for people.
func (v Verdict) Message() string {
	text := fmt.Sprintf("%s of the budget of %s for this %s (UTC) are spent", quantity.Dollars(v.Spent),
		quantity.Dollars(v.Limit), v.Period)
	if v.Stop {
		return text + "; it begins again at " + v.Begins.Format(time.RFC3339)
	}
	return text
}
