package transport

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/wire"
)

// A request beside a client's conversations comes to the store with the client's next request of a
// conversation, or at the end with its newest one, where the client tells its sessions apart, or is
// the only one. Others, and those that no such request follows, have sessions of their own, without
// a log: one for each person and day (accounts).

const (
	// mostBeside is how many requests of a client wait at most for the next one of its conversations.
	mostBeside = 32
	// mostWaiting is how many wait at most while the store does not take them.
	mostWaiting = 4096
	// accounts is the key of those that wait for the sessions of their own.
	accounts = ""
)

// countedBeside adds a request that belongs to no conversation. edited: something was left out of
// it all the same.
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
	if r.Header.Get(clientHeader) != "" && headerSignal(r.Header) == "" {
		client = accounts // many share it
	}
	t.count(func(all *Totals) {
		all.Beside++
		all.add(known, spent.Model, u)
		t.waitsBeside(client, spent)
	})
	if t.engine != nil {
		t.writeAccounts()
	}
}

// waitsBeside keeps requests until they can be written down. The lock is held.
func (t *Transport) waitsBeside(client string, spent ...store.Spend) {
	if waiting := len(t.aside[client]); waiting >= mostBeside || waiting == 0 && len(t.aside) >= maxLineages {
		client = accounts
	}
	if len(t.aside[client])+len(spent) <= mostWaiting {
		t.aside[client] = append(t.aside[client], spent...)
	}
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
	for client, spent := range waiting {
		if sessions[client] == "" {
			t.waitsBeside(accounts, spent...)
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
	t.writeAccounts()
}

// writeAccounts writes down the requests that wait for sessions of their own, unless somebody is at
// it, who takes them, too.
func (t *Transport) writeAccounts() {
	waits := func() bool {
		t.mu.Lock()
		defer t.mu.Unlock()
		return len(t.aside[accounts]) > 0
	}
	for waits() && !t.Lost() && t.accounting.TryLock() {
		err := t.writeAccount(t.takeBeside(accounts))
		t.accounting.Unlock()
		if err != nil {
			t.options.Log.Log(context.Background(), t.gravity(err),
				"could not record requests beside conversations; they wait for the next one", "error", err)
			return
		}
	}
}

// writeAccount writes down requests in the sessions of their people and days. Those that cannot be
// written wait again.
func (t *Transport) writeAccount(waiting []store.Spend) (failed error) {
	byID, people := map[string][]store.Spend{}, map[string]string{}
	for _, spent := range waiting {
		day := time.UnixMilli(int64(spent.Time)).UTC().Format("20060102")
		id := store.BesideID(day, spent.Live.Person)
		byID[id], people[id] = append(byID[id], spent), spent.Live.Person
	}
	ctx, _, stop := t.bounded(context.Background())
	defer stop()
	for id, spent := range byID {
		if err := t.amendAccount(ctx, id, people[id], spent); err != nil {
			failed = err
			t.count(func(*Totals) { t.waitsBeside(accounts, spent...) })
		}
	}
	return failed
}

// amendAccount adds requests to a session without a log, and makes it if it is missing.
func (t *Transport) amendAccount(ctx context.Context, id, person string, spent []store.Spend) error {
	kept := t.engine.Store()
	_, err := kept.Apply(ctx, id, store.Change{Spend: spent})
	if !errors.Is(err, store.ErrNotFound) {
		return err
	}
	info := session.Info{ID: id, Title: "requests beside conversations", Unknown: clientMember("(beside)", "", person, false)}
	info.Time.Created = spent[0].Time
	info.Time.Updated = spent[0].Time
	_, err = kept.Apply(ctx, id, store.Change{Create: &info, Spend: spent})
	if errors.Is(err, store.ErrExists) { // another process has made it
		_, err = kept.Apply(ctx, id, store.Change{Spend: spent})
	}
	return err
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
