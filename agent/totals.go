package agent

import (
	"context"
	"errors"
	"slices"

	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/wire"
)

// Totals are what requests took.
type Totals struct {
	Steps     int           // answers that count
	Summaries int           // requests for summaries, failed ones too
	Failed    int           // requests that were paid for in vain
	Usage     session.Usage // of all of them, and of what asked for titles
	Cost      float64       // US dollars, of all of them whose price is known
	Unpriced  int           // of how many it is not

	// Inherited is what the log of a fork took in the session that it was forked from, in US
	// dollars. It was paid there, and nothing above has any of it.
	Inherited float64

	// Children are the sessions that calls of this one began, and ChildrenCost what those took, in
	// US dollars. It is in their own sessions, and not in Cost.
	Children     int
	ChildrenCost float64
}

// Dollars is the cost, nil where of some requests it is not known and the others come to nothing.
func (t Totals) Dollars() *float64 {
	if t.Unpriced > 0 && t.Cost == 0 {
		return nil
	}
	return &t.Cost
}

// Totals sums what a session took since it began, steps, failed requests and summaries, as the
// store has it. What a fork inherited is told apart, so that the costs of all sessions are what was
// paid.
func (l *Loop) Totals(ctx context.Context, id string) (Totals, error) {
	s, state, err := l.config.Engine.Session(ctx, id)
	if err != nil {
		return Totals{}, err
	}
	var t Totals
	for _, s := range state.Spent {
		if s.Inherited {
			t.Inherited += s.Cost
			continue
		}
		if s.Kind == string(bill.Agent) || s.Kind == string(bill.Left) {
			continue // the file that was imported tells of it
		}
		// what failed with nothing taken cost nothing
		if s.Cost == 0 && (!s.Failed || s.Usage.Prompt()+s.Usage.Output+s.Usage.Reasoning > 0) {
			t.Unpriced++
		}
		t.Usage, t.Cost = t.Usage.Add(s.Usage), t.Cost+s.Cost
		switch {
		case s.Kind == "summary":
			t.Summaries++
		case s.Kind == "headline":
		case !s.Failed:
			t.Steps++
		}
		if s.Failed {
			t.Failed++
		}
	}
	for _, child := range Children(s.Messages) {
		state, err := l.config.Engine.Store().State(ctx, child)
		if errors.Is(err, store.ErrNotFound) || err == nil && state.Info.ParentID != id {
			continue
		}
		if err != nil {
			return Totals{}, err
		}
		t.Children++
		for _, s := range state.Spent {
			if !s.Inherited {
				t.ChildrenCost += s.Cost
			}
		}
	}
	return t, nil
}

// Children are the ids of the sessions that the calls of a log began, each once, in their order.
// The ParentID of a session alone does not tell: a fork has one too.
func Children(log []session.Message) []string {
	var ids []string
	for i := range log {
		for j := range log[i].Parts {
			p := &log[i].Parts[j]
			if p.Type != session.ToolPart || p.State == nil || len(p.State.Metadata) == 0 {
				continue
			}
			id := wire.ValueOf(p.State.Metadata).Get(childKey).String()
			if id != "" && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

func (t Totals) minus(u Totals) Totals {
	v := u.Usage
	v.Total, v.Input, v.Output, v.Reasoning, v.Cache.Read, v.Cache.Write, v.Cache.Write1h = -v.Total, -v.Input,
		-v.Output, -v.Reasoning, -v.Cache.Read, -v.Cache.Write, -v.Cache.Write1h
	return Totals{t.Steps - u.Steps, t.Summaries - u.Summaries, t.Failed - u.Failed, t.Usage.Add(v), t.Cost - u.Cost,
		t.Unpriced - u.Unpriced, t.Inherited - u.Inherited,
		t.Children - u.Children, t.ChildrenCost - u.ChildrenCost}
}
