// Package schedule answers: when? It decides which of the elisions that the rules found are committed now.
package schedule

import "github.com/winnowhq/winnow/rule"

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
}

// Schedule chooses from what was found. What it does not choose is found again at the next moment.
type Schedule interface {
	// Name is what the configuration calls it.
	Name() string
	Choose(found []rule.Elision, now Moment) []rule.Elision
}

// Eager commits at once. With AtTurnEnd it waits until the turn has ended, as the classic policy does, unless it was asked or
// the window would overflow: inside a turn each commit would rewrite the prompt that the next step reads from the cache.
type Eager struct{ AtTurnEnd bool }

// Name is "eager".
func (Eager) Name() string { return "eager" }

// Choose takes all or nothing.
func (e Eager) Choose(found []rule.Elision, now Moment) []rule.Elision {
	if e.AtTurnEnd && !now.TurnEnded && !now.Asked && !now.Pressure && !now.Cold {
		return nil
	}
	return found
}
