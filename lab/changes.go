package lab

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/text/quantity"
)

// mostChanges limits how many sessions are named as helped or hurt most.
const mostChanges = 5

// littleChange is the share of the bill below which a change is not mentioned.
const littleChange = 0.005

// compare fills in the sessions that a policy helps and hurts most, relative to the baseline.
func (r *Report) compare(base, at int) {
	if at < 0 || at == base {
		return
	}
	r.Subject = r.Policies[at].Name
	for i := range r.Sessions {
		s := &r.Sessions[i]
		was, is := &s.Outcomes[base], &s.Outcomes[at]
		c := Change{Session: s.ID, Name: s.Name, Before: was.Bill.Total(), After: is.Bill.Total()}
		switch {
		case c.Before <= 0:
		case c.After < c.Before*(1-littleChange):
			c.Why = gained(was, is)
			r.Gains = append(r.Gains, c)
		case c.After > c.Before*(1+1e-9):
			c.Why = lost(was, is)
			r.Losses = append(r.Losses, c)
		}
	}
	r.Gains, r.Losses = first(r.Gains, 1), first(r.Losses, -1)
}

// first returns the largest changes.
func first(changes []Change, sign float64) []Change {
	slices.SortStableFunc(changes, func(a, b Change) int {
		return cmp.Or(cmp.Compare(sign*(b.Before-b.After), sign*(a.Before-a.After)),
			strings.Compare(a.Session, b.Session))
	})
	return changes[:min(len(changes), mostChanges)]
}

// gained says what made a bill smaller.
func gained(was, is *Outcome) string {
	later := max(0, is.Steps-is.First)
	var why []string
	if is.Commits > 0 && is.Elided > 0 {
		why = append(why, fmt.Sprintf("%s left out %s tokens", count(is.Commits, "commit", "commits"),
			thousands(is.Elided)))
	}
	if is.Folds > was.Folds && is.Folded > 0 {
		why = append(why, fmt.Sprintf("%s took %s tokens away", count(is.Folds, "compaction", "compactions"),
			thousands(is.Folded)))
	}
	text := strings.Join(why, ", ")
	switch {
	case text != "" && later > 0:
		text += fmt.Sprintf("; %s came after the first", count(later, "step", "steps"))
	case text == "" && was.Folds > is.Folds:
		text = fmt.Sprintf("%s fewer", count(was.Folds-is.Folds, "compaction", "compactions"))
	case text == "" && is.Regrets < was.Regrets:
		text = fmt.Sprintf("%s fewer", count(was.Regrets-is.Regrets, "miss", "misses"))
	}
	if is.Cold > 0 && is.Commits > 0 {
		text += fmt.Sprintf("; the cache was cold %s", times(is.Cold))
	}
	return text
}

// lost says what made a bill larger: the item that rose most.
func lost(was, is *Outcome) string {
	written, asked, summed := is.Bill.Write-was.Bill.Write, is.Bill.Regret-was.Bill.Regret,
		is.Bill.Compact-was.Bill.Compact
	switch largest := max(written, asked, summed); {
	case largest <= 0:
		return "more was read from the cache"
	case largest == asked:
		return fmt.Sprintf("%s of %s needed what was hidden", quantity.Number(is.MissedSteps),
			count(is.Steps, "step", "steps"))
	case largest == summed:
		return fmt.Sprintf("%s cost more than the %s left saved", count(is.Folds, "compaction", "compactions"),
			count(max(0, is.Steps-is.First), "step that was", "steps that were"))
	case is.Commits > 0:
		return fmt.Sprintf("%s had %s tokens written to the cache again and saved %s",
			count(is.Commits, "commit", "commits"), thousands(is.Rewritten), thousands(is.Elided))
	}
	return fmt.Sprintf("%s had the prompt written to the cache again", count(is.Folds, "compaction", "compactions"))
}

// thousands is a number of tokens for a sentence.
func thousands(n int) string {
	switch {
	case n >= 1e6:
		return fmt.Sprintf("%.1fM", float64(n)/1e6)
	case n >= 10_000:
		return fmt.Sprintf("%dk", (n+500)/1000)
	case n >= 1000:
		return fmt.Sprintf("%.1fk", float64(n)/1e3)
	}
	return fmt.Sprint(n)
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return count(n, "", "times")
}
