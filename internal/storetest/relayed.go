package storetest

import (
	"math"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

// What a gateway tells of requests comes back whole, and finds its sessions by the time of the
// requests, not by that of the session.
func relayed(t *testing.T, s store.Store) {
	born(t, s)
	full := &store.Live{Billed: 0.1 + 0.2, Otherwise: bill.Estimate{Likely: math.Pi}, Missed: 1e-9, Edited: true, Resent: true, Rewritten: 7,
		Rules: map[string]store.Share{"duplicates": {Tokens: 5, Net: -1e-7}, store.Compaction: {Net: 2}},
		Again: []store.Again{{Part: "p\xff", Rule: "urls", Tokens: 3, Asked: true}, {Tokens: 1}}}
	spent := []store.Spend{{Time: 10, Kind: "step", Message: "m", Live: full},
		{Time: 20, Kind: "summary", Cost: 1}, {Time: 30.5, Kind: "left", Live: &store.Live{Beside: true,
			Unpriced: true}}}
	apply(t, s, store.Change{Spend: spent})
	equal(t, "spent", spent, state(t, s).Spent)
	for _, id := range []string{"without", "later"} {
		must(t, s.Create(t.Context(), session.Info{ID: id}))
		_, err := s.Apply(t.Context(), id, store.Change{Spend: []store.Spend{{Time: 99, Kind: "step"}}})
		must(t, err)
	}
	_, err := s.Apply(t.Context(), "later", store.Change{Spend: []store.Spend{{Time: 40,
		Live: &store.Live{Observed: true}}}})
	must(t, err)
	for since, want := range map[session.Millis]string{0: "later ses", 30.5: "later ses", 31: "later", 40.5: ""} {
		accounts, err := store.Relayed(t.Context(), s, since, nil)
		must(t, err)
		var ids []string
		for _, a := range accounts {
			ids = append(ids, a.Info.ID)
			if a.Info.ID == "ses" {
				equal(t, "an account", store.Account{Info: session.Info{ID: "ses", Title: "a session"}, Spent: spent},
					a)
			}
		}
		equal(t, "sessions", want, strings.Join(ids, " "))
	}
	var asked []string
	accounts, err := store.Relayed(t.Context(), s, 0, func(i session.Info) bool {
		asked = append(asked, i.ID)
		return i.Title != ""
	})
	must(t, err)
	if len(accounts) != 1 || accounts[0].Info.ID != "ses" || len(accounts[0].Spent) != 3 {
		t.Errorf("those with a title are %+v", accounts)
	}
	equal(t, "asked were", "later ses", strings.Join(asked, " "))
	must(t, s.Delete(t.Context(), "ses"))
	accounts, err = store.Relayed(t.Context(), s, 0, nil)
	must(t, err)
	equal(t, "accounts after one was deleted", 1, len(accounts))
}
