// Package schedule decides when found elisions are committed.
package schedule

import "github.com/winnowhq/winnow/plan/rule"

// Moment is what a schedule knows about now.
type Moment struct {
	// TurnEnded: the agent gave its answer and nothing is being worked on.
	TurnEnded bool
	// Asked: a person or a program asked for it.
	Asked bool
	// Pressure: without it the window overflows.
	Pressure bool
	// Cold: the provider's cache holds nothing of the prompt, so that a change costs nothing extra.
	Cold bool
	// Paying: a request follows at once, so that what is decided now is paid for now.
	Paying bool
	// Bound: the model's reasoning is valid only behind the exact prompt that it was made for.
	Bound bool
	// Read and Write are the prices of reading a prompt from the cache and of writing it there, as
	// multiples of the input price.
	Read, Write float64
	Account     Account
	// Age is how many steps ago an elision could have been made first; nil: unknown.
	Age func(rule.Elision) int
}

// Schedule chooses from what was found. What it does not choose is found again at the next moment.
type Schedule interface {
	// Name is what the configuration calls it.
	Name() string
	Choose(found []rule.Elision, now Moment) []rule.Elision
	// Ready reports whether it might choose anything now: if not, the rules need not look.
	Ready(now Moment) bool
}

// Eager commits at once. With AtTurnEnd it waits until the turn has ended, as the classic policy
// does, unless it was asked or the window would overflow: inside a turn each commit would rewrite
// the prompt that the next step reads from the cache.
type Eager struct {
	AtTurnEnd bool
	// Minimum is how many tokens a commit must save: each one rewrites the prompt from its first
	// change on. It does not count when somebody asked, under pressure, or when the cache is cold.
	Minimum int
}

// Name is "eager".
func (Eager) Name() string { return "eager" }

// Ready reports whether it is time.
func (e Eager) Ready(now Moment) bool { return !e.AtTurnEnd || now.TurnEnded || urgent(now) }

// Choose takes all or nothing; where the model binds its reasoning, of what was not sent yet.
func (e Eager) Choose(found []rule.Elision, now Moment) []rule.Elision {
	if now.Bound && !urgent(now) {
		found = unsent(found, now)
	}
	if !e.Ready(now) || !urgent(now) && rule.Saves(found) < e.Minimum {
		return nil
	}
	return found
}

// unsent are the elisions of what stands behind everything that the provider's cache has.
func unsent(found []rule.Elision, now Moment) []rule.Elision {
	var free []rule.Elision
	for _, e := range found {
		if now.Account.Before != nil && now.Account.Before(e) >= now.Account.Sent {
			free = append(free, e)
		}
	}
	return free
}

func urgent(now Moment) bool { return now.Asked || now.Pressure || now.Cold }
