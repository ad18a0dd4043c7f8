package transport

import (
	"cmp"
	"context"
	"net/http"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/wire"
)

// mostBeside is how many requests beside a client's conversations wait at most to be written down
// with the next one of these.
const mostBeside = 32

// countedBeside adds a request that belongs to no conversation. In the store it comes with the next
// request of a conversation of the same client, or at the end with its newest one; a client that
// has none leaves no trace there. edited: something was left out of it all the same.
func (t *Transport) countedBeside(r *http.Request, client string, m model.Model, took took, edited bool) {
	u := took.Usage
	cost, priced := m.Cost(bill.Usage(u))
	known := &store.Live{Beside: true, Person: r.Header.Get(personHeader), Edited: edited,
		Unpriced: !priced || !reported(u)}
	if !known.Unpriced {
		known.Billed, known.Otherwise = bill.Dollars(cost), bill.Estimate{Likely: cost}
	}
	took.on(known)
	spent := store.Spend{Time: session.Millis(t.options.Now().UnixMilli()), Kind: string(bill.Left), Model: m.String(),
		Usage: u, Cost: float64(known.Billed), Live: known}
	t.notice(Notice{From: originOf(r, nil), Model: m.String(), Spent: &spent})
	t.count(func(all *Totals) {
		all.Beside++
		all.add(known, spent.Model, u)
		if waiting := t.aside[client]; len(waiting) < mostBeside && (waiting != nil || len(t.aside) < maxLineages) {
			t.aside[client] = append(waiting, spent)
		}
	})
}

// takeBeside are the requests of a client that wait to be written down.
func (t *Transport) takeBeside(client string) []store.Spend {
	t.mu.Lock()
	defer t.mu.Unlock()
	waiting := t.aside[client]
	delete(t.aside, client)
	return waiting
}

// writeBeside writes down the requests that wait for a next one of their client's, which does not
// come any more.
func (t *Transport) writeBeside() {
	t.mu.Lock()
	waiting := t.aside
	t.aside = map[string][]store.Spend{}
	sessions := map[string]string{}
	for id, n := range t.newest {
		if was := sessions[n.client]; was == "" || n.at.After(t.newest[was].at) {
			sessions[n.client] = id
		}
	}
	t.mu.Unlock()
	for client, spent := range waiting {
		id := sessions[client]
		if id == "" {
			continue
		}
		if err := t.engine.Amend(context.Background(), id, winnow.Amendment{Spent: spent}); err != nil {
			t.options.Log.Error("could not record requests beside a conversation", "session", id, "error", err)
		}
	}
}

// beside sends a request that belongs to no conversation, as it came, and counts what it costs.
func (t *Transport) beside(in incoming, m *meter) (*http.Response, error) {
	answer, err := t.send(with(in.Request, in.original, false), m, in.original)
	if err != nil || answer.StatusCode != http.StatusOK {
		m.refused(in.Context(), err)
		return answer, err
	}
	t.hear(in.protocol, answer, m, nil, func(_ wire.Answer, took took) {
		text, _ := wire.Complete(in.original)
		name := cmp.Or(wire.ValueOf(text).Get("model").String(), addressed(in.URL.Path))
		t.countedBeside(in.Request, client(in.Request, in.protocol.kind), t.models.Lookup(in.protocol.provider+"/"+name),
			took, false)
	})
	return answer, nil
}
