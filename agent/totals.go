package agent

import (
	"context"

	"github.com/winnowhq/winnow/session"
)

// Totals are what requests took.
type Totals struct {
	Steps     int           // answers that count
	Summaries int           // requests for summaries, failed ones too
	Failed    int           // requests that were paid for in vain
	Usage     session.Usage // of all of them, and of what asked for titles
	Cost      float64       // US dollars, of all of them
}

// Totals sums what a session took since it began, steps, failed requests and summaries, as the store has it.
func (l *Loop) Totals(ctx context.Context, id string) (Totals, error) {
	_, state, err := l.config.Engine.Session(ctx, id)
	if err != nil {
		return Totals{}, err
	}
	var t Totals
	for _, s := range state.Spent {
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
	return t, nil
}

func (t Totals) minus(u Totals) Totals {
	v := u.Usage
	v.Total, v.Input, v.Output, v.Reasoning, v.Cache.Read, v.Cache.Write = -v.Total, -v.Input, -v.Output, -v.Reasoning, -v.Cache.Read, -v.Cache.Write
	return Totals{t.Steps - u.Steps, t.Summaries - u.Summaries, t.Failed - u.Failed, t.Usage.Add(v), t.Cost - u.Cost}
}
