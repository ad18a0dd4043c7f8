package storetest

import (
	"strings"
	"testing"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

// eraser is a store that can erase; the test is skipped for another one.
func eraser(t *testing.T, s store.Store) store.Eraser {
	t.Helper()
	e, ok := s.(store.Eraser)
	if !ok {
		t.Skip("it does not erase")
	}
	return e
}

func erases(t *testing.T, s store.Store) {
	e := eraser(t, s)
	shared, own := strings.Repeat("the same output\n", 1000), strings.Repeat("an output of its own\n", 1000)
	must(t, s.Create(t.Context(), session.Info{ID: "other"}))
	_, err := s.Apply(t.Context(), "other", store.Change{Append: []session.Message{result("kept", shared)}})
	must(t, err)
	born(t, s, result("m", shared), result("n", own), message("o", session.User, "heliotrope"))
	if searcher, ok := s.(store.Searcher); ok {
		must(t, searcher.Index(t.Context(), nil))
	}
	gone, err := e.Erase(t.Context(), "ses", "unknown")
	must(t, err)
	if gone.Bytes <= 0 {
		t.Errorf("it took %d bytes", gone.Bytes)
	}
	gone.Bytes = 0
	equal(t, "erased", store.Amount{Sessions: 1, Messages: 3, Texts: 1}, gone)
	_, err = s.State(t.Context(), "ses")
	wantError(t, "State of an erased session", err, store.ErrNotFound)
	equal(t, "the other session", []session.Message{result("kept", shared)}, collect(t, s.Messages(t.Context(), "other")))
	again, err := e.Erase(t.Context(), "ses")
	must(t, err)
	equal(t, "erased again", store.Amount{}, again)
}

func forgets(t *testing.T, s store.Store) {
	e := eraser(t, s)
	born(t, s)
	by := func(person string) store.Spend {
		return store.Spend{Time: 5, Kind: "step", Cost: 2, Live: &store.Live{Billed: 2, Person: person}}
	}
	decide(t, s, store.Change{Spend: []store.Spend{by("ann@example.com"), by("bob@example.com"), {Kind: "summary"},
		by("ann@example.com")}})
	before := state(t, s)
	n, err := e.Forget(t.Context(), "ann@example.com")
	must(t, err)
	equal(t, "requests", 2, n)
	after := state(t, s)
	equal(t, "what was spent", []store.Spend{by(""), by("bob@example.com"), {Kind: "summary"}, by("")}, after.Spent)
	if after.Revision <= before.Revision {
		t.Error("who holds the session in memory does not notice")
	}
	n, err = e.Forget(t.Context(), "ann@example.com")
	must(t, err)
	equal(t, "requests of nobody", 0, n)
}
