package winnow

import (
	"context"

	"github.com/winnowhq/winnow/bill"
	"github.com/winnowhq/winnow/pivot"
	"github.com/winnowhq/winnow/report"
	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

// commit writes elisions into the ledger, all with one time, and the receipt with them. tried is the compaction that came to
// nothing before, nil for none: what it cost is part of this.
func (e *Engine) commit(ctx context.Context, id string, found []rule.Elision, trigger string, tried *folding, notes ...string) (*pivot.Receipt, error) {
	var receipt *pivot.Receipt
	err := e.change(ctx, "prune", id, func(l *live) (store.Change, error) {
		now := millis(e.config.Now())
		var committed []rule.Elision
		parts := session.PartsByID(l.log)
		for _, el := range found {
			if parts[el.Part] == nil || l.state.Ledger.Has(el.Key()) {
				continue // the session was changed since: what is gone or done already is not ours
			}
			el.Time = now
			committed = append(committed, el)
		}
		receipt = e.pruningReceipt(l, committed, now, trigger)
		c := store.Change{Commit: committed, Receipt: receipt}
		if tried != nil {
			notes = append(tried.notes, notes...)
			receipt.Usage, receipt.Cost, c.Spend = tried.usages, tried.cost(), tried.spent
			receipt.Money = e.money(l, receipt.TokensBefore, receipt.TokensAfter, receipt.Rewritten, tried.spent)
		}
		receipt.Notes = notes
		return c, nil
	}, func(l *live) {
		l.reported, l.estimated = session.Usage{}, -1 // no report speaks of the new view
		event := e.event(id, ElisionCommitted)
		event.Receipt = receipt
		e.bus.publish(event)
		if tried != nil {
			e.recorded(id, tried.spent)
		}
	})
	if err != nil {
		return nil, err
	}
	return receipt, nil
}

func (e *Engine) pruningReceipt(l *live, committed []rule.Elision, now session.Millis, trigger string, replaced ...rule.Elision) *pivot.Receipt {
	window := l.window()
	before := l.look().Tokens()
	after := l.tokens(window, l.state.Ledger.Without(keysOf(replaced)...).With(committed...))
	usable := e.policy.Budget.Usable(l.model)
	rewrites := l.rewrites(store.Change{Commit: committed, Restore: keysOf(replaced)})
	r := &pivot.Receipt{
		ID: e.ids.New("rcp", e.config.Now()), SessionID: l.id, Kind: pivot.Pruning, Time: now, Policy: e.policy.Name, Trigger: trigger,
		MessagesBefore: len(window), MessagesAfter: len(window), TokensBefore: before, TokensAfter: after, Committed: committed, Replaced: replaced, Saved: before - after,
		Rewritten: rewrites.rewritten, Log: len(l.log),
	}
	r.Money = e.money(l, before, after, rewrites.rewritten, nil)
	if !usable.Unlimited {
		r.Usable = usable.Threshold
	}
	r.Undo = "winnow undo " + l.id + " " + r.ID
	return r
}

// money is what a change of the view comes to, by the model that reads it: from before to after tokens of messages, so many of them written again, with what
// was spent on a summary.
func (e *Engine) money(l *live, before, after, rewritten int, spent []store.Spend) *pivot.Money {
	var paid bill.Bill
	for i := range spent {
		paid = paid.Plus(report.Spent(&spent[i], l.model.String(), e.prices(l)))
	}
	summary := &paid.Cost
	if paid.Unknown() > 0 {
		summary = nil
	}
	overhead := l.overhead()
	return pivot.NewMoney(l.model, pivot.Change{Before: before + overhead, After: after + overhead, Rewritten: rewritten}, summary)
}
