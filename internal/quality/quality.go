// Package quality measures what folds keep, without a model that judges: facts are planted in
// made-up sessions, which are folded five times in a row, and looked up in what the model sees
// then.
package quality

import (
	"context"
	"fmt"
	"strings"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/token"
)

// Folds is how often a session is folded, once after each part of it.
const Folds = 5

// Case is what is measured.
type Case struct {
	// Config makes the engines; each session has one of its own.
	Config winnow.Config
	// To is the share of the view that a fold may leave, such as 4 for a quarter.
	To int
	// Sessions is how many are made up, the same ones each time.
	Sessions  int
	Phrasings Phrasings
}

// Fold is what was found after the n-th fold of the sessions, in sum.
type Fold struct {
	// Planted counts the facts that hold, and Standing those that the model sees.
	Planted  map[Kind]int `json:"planted"`
	Standing map[Kind]int `json:"standing"`
	// Replaced counts the facts that were replaced, and Stale those that stand in the summary, or
	// in what the engine writes with it, without what replaced them.
	Replaced int `json:"replaced"`
	Stale    int `json:"stale"`
	// Apart counts what holds for one of two, and Mixed what is told of the other one.
	Apart int `json:"apart"`
	Mixed int `json:"mixed"`
	// Stood counts the facts that stood after the fold before and still hold, and Drifted those of
	// them that are gone.
	Stood   int `json:"stood"`
	Drifted int `json:"drifted"`
	// Inputs counts the identifiers and paths of the calls up to the next fold that stood in the
	// session before, and LostInputs those of them that the model no longer sees.
	Inputs     int `json:"inputs"`
	LostInputs int `json:"lostInputs"`
	// Before and After are the tokens of the views; Over counts the folds that left more than they
	// were to leave.
	Before int `json:"before"`
	After  int `json:"after"`
	Over   int `json:"over"`
}

// Lost is a fact that the model no longer sees.
type Lost struct {
	Session uint64 `json:"session"`
	Fold    int    `json:"fold"` // from 1
	Kind    Kind   `json:"kind"`
	Text    string `json:"text"`
	Why     string `json:"why"` // "lost", "stale", "mixed up"
}

// Result is what a case gave.
type Result struct {
	Folds [Folds]Fold
	// Lost lists what went wrong, in the order of sessions and folds.
	Lost []Lost
	// Tokens is the size of the sessions as they were made up.
	Tokens int
	// Cost is what summaries cost, in US dollars.
	Cost float64
}

// Run measures a case. It fails if a session cannot be folded, and when ctx ends.
func Run(ctx context.Context, c Case) (Result, error) {
	var r Result
	for i := range r.Folds {
		r.Folds[i].Planted, r.Folds[i].Standing = map[Kind]int{}, map[Kind]int{}
	}
	for i := range c.Sessions {
		if err := c.session(ctx, uint64(i), &r); err != nil {
			return r, fmt.Errorf("made-up session %d: %w", i+1, err)
		}
	}
	return r, nil
}

// session folds one made-up session five times.
func (c *Case) session(ctx context.Context, seed uint64, r *Result) error {
	e, err := winnow.Open(c.Config)
	if err != nil {
		return err
	}
	defer e.Close()
	id, err := e.Create(ctx, session.Info{Title: "made up", Directory: folder})
	if err != nil {
		return err
	}
	m := newMade(seed, c.Phrasings)
	measure := rule.NewFacts(token.Linear{})
	earlier, seen := map[string]bool{}, map[string]bool{} // identifiers
	stood := map[*Fact]bool{}
	for n := range Folds {
		part := m.Part()
		inputs, lost := followed(earlier, seen, part, folder)
		if n > 0 {
			r.Folds[n-1].Inputs += inputs
			r.Folds[n-1].LostInputs += lost
		}
		r.Tokens += measure.Total(part)
		if err := e.Append(ctx, id, part...); err != nil {
			return err
		}
		shown, written, err := c.fold(ctx, e, id, n, r)
		if err != nil {
			return err
		}
		look := looking{seed: seed, fold: n + 1, shown: shown, written: written, stood: stood, r: r}
		stood = look.facts(m.facts)
		seen = map[string]bool{}
		identifiers(seen, shown, folder)
	}
	return nil
}

// fold folds a session, and returns what the model sees then, and what the summary and the engine
// say of what was folded.
func (c *Case) fold(ctx context.Context, e *winnow.Engine, id string, n int, r *Result) (shown, written string,
	err error) {
	before, err := e.View(ctx, id)
	if err != nil {
		return "", "", err
	}
	to := before.Tokens / c.To
	receipt, err := e.Compact(ctx, id, winnow.CompactOptions{To: to})
	for more := to; winnow.CodeOf(err) == winnow.NoProgress && more < before.Tokens; {
		more += to / 4 // what cannot be made so small is made as small as it can be
		receipt, err = e.Compact(ctx, id, winnow.CompactOptions{To: more})
	}
	if err != nil {
		return "", "", err
	}
	after, err := e.View(ctx, id)
	if err != nil {
		return "", "", err
	}
	r.Cost += receipt.Cost
	f := &r.Folds[n]
	f.Before += before.Tokens
	f.After += after.Tokens
	if after.Tokens > to {
		f.Over++
	}
	for i := range after.Messages {
		if m := &after.Messages[i]; m.ID == receipt.Summary {
			written = messageText(m)
		}
	}
	return pivot.Transcript(after.Messages), written, nil
}

// looking is a search for the facts after one fold.
type looking struct {
	seed           uint64
	fold           int
	shown, written string
	stood          map[*Fact]bool // after the fold before
	r              *Result
}

// facts counts what stands and what does not, and returns the facts that do.
func (l *looking) facts(all []*Fact) map[*Fact]bool {
	f := &l.r.Folds[l.fold-1]
	stands := map[*Fact]bool{}
	parts := paragraphs(l.written)
	for _, fact := range all {
		if fact.replaces != nil {
			f.Replaced++
			if fact.stale(parts) {
				f.Stale++
				l.lost(fact, "stale")
			}
		}
		if fact.replaced {
			continue
		}
		f.Planted[fact.Kind]++
		if fact.stands(l.shown) {
			stands[fact] = true
			f.Standing[fact.Kind]++
		} else {
			l.lost(fact, "lost")
		}
		if l.stood[fact] {
			f.Stood++
			if !stands[fact] {
				f.Drifted++
			}
		}
		if fact.other != nil {
			f.Apart++
			if fact.mixed(l.written) {
				f.Mixed++
				l.lost(fact, "mixed up")
			}
		}
	}
	return stands
}

func (l *looking) lost(f *Fact, why string) {
	l.r.Lost = append(l.r.Lost, Lost{l.seed, l.fold, f.Kind, f.Text, why})
}

// messageText is all that a message tells.
func messageText(m *session.Message) string {
	var b strings.Builder
	for i := range m.Parts {
		p := &m.Parts[i]
		b.WriteString(p.Text + "\n")
		if p.State != nil {
			b.WriteString(string(p.State.Input) + "\n" + p.State.Result() + "\n")
		}
	}
	return b.String()
}
