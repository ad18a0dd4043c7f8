package report

import (
	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

// After is the session with a change: its state, its log, and the window that it has then.
func (s *Session) After(c store.Change) (state store.State, log, window []session.Message) {
	state = s.State.Clip().After(&c)
	state.Revision = s.State.Revision
	log = append(append(make([]session.Message, 0, len(s.Log)+len(c.Append)), s.Log...), c.Append...)
	for _, m := range c.Update {
		if at := session.Index(log, m.ID); at >= 0 {
			log[at] = m
		}
	}
	return state, log, view.Window(log, state.Undone)
}

// Tokens is the size of the view of a window.
func (s *Session) Tokens(window []session.Message, ledger rule.Ledger) int {
	return s.View.WindowTokens(window, ledger, s.Facts)
}

// Learned is pivot.Receipt.Scale.
func (s *Session) Learned() float64 {
	if factor := s.Facts.Factor(); factor != 1 {
		return factor
	}
	return 0
}

// Money is what a change of the view comes to, by the model that reads it, with what was spent on a
// summary. The change is in tokens of messages.
func (s *Session) Money(c pivot.Change, spent []store.Spend) *pivot.Money {
	var paid bill.Bill
	for i := range spent {
		paid = paid.Plus(Spent(&spent[i], s.Model.String(), s.Prices))
	}
	summary := &paid.Cost
	if paid.Unknown() > 0 {
		summary = nil
	}
	c.Before += s.Overhead
	c.After += s.Overhead
	return pivot.NewMoney(s.Model, c, summary)
}
