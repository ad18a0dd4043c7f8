package storetest

import (
	"errors"
	"testing"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

// A summary that is wanted or written is part of the state: it is replaced and taken away like
// anything else, with the change that it belongs to or not at all.
func prepared(t *testing.T, s store.Store) {
	born(t, s, message("m", session.User, "a"))
	equal(t, "nothing prepared", (*store.Prepared)(nil), state(t, s).Prepared)
	wish := store.Prepared{Pivot: "m\x00\xff", Turn: "m", Asked: 2.5}
	before := state(t, s).Revision
	equal(t, "revision", before+1, apply(t, s, store.Change{Prepared: &wish}))
	wish.Turn = "changed by the caller"
	equal(t, "a wish", &store.Prepared{Pivot: "m\x00\xff", Turn: "m", Asked: 2.5}, state(t, s).Prepared)

	written := store.Prepared{Pivot: "m\x00\xff", Turn: "m", Asked: 2.5, Written: `{"text":"long\u0000` +
		string(make([]byte, 9000)) + "\xff\"}"}
	decide(t, s, store.Change{Prepared: &written, Spend: []store.Spend{{Kind: "summary", Cost: 0.5}}})
	equal(t, "a summary", &written, state(t, s).Prepared)
	apply(t, s, store.Change{Append: []session.Message{message("n", session.User, "b")}})
	equal(t, "a summary after another change", &written, state(t, s).Prepared)
	state(t, s).Prepared.Written = "changed by a reader"
	equal(t, "a summary that a reader changed", &written, state(t, s).Prepared)

	stale := store.Change{Base: 1, Prepared: &store.Prepared{}}
	if _, err := s.Apply(t.Context(), "ses", stale); !errors.Is(err, store.ErrConflict) {
		t.Errorf("it was taken by a change that was decided on an old state: %v", err)
	}
	equal(t, "after a change that was refused", &written, state(t, s).Prepared)
	decide(t, s, store.Change{Prepared: &store.Prepared{}, Append: []session.Message{message("o", session.User, "c")}})
	equal(t, "after it was taken", (*store.Prepared)(nil), state(t, s).Prepared)
	apply(t, s, store.Change{Prepared: &store.Prepared{}})
	equal(t, "nothing was taken", (*store.Prepared)(nil), state(t, s).Prepared)

	info := session.Info{ID: "other"}
	_, err := s.Apply(t.Context(), "other", store.Change{Create: &info, Prepared: &written})
	must(t, err)
	got, err := s.State(t.Context(), "other")
	must(t, err)
	equal(t, "of a session that was created with it", &written, got.Prepared)
	must(t, s.Delete(t.Context(), "other"))
	must(t, s.Create(t.Context(), info))
	got, err = s.State(t.Context(), "other")
	must(t, err)
	equal(t, "of a session made anew", (*store.Prepared)(nil), got.Prepared)
}

// Requests that turned out to be paid in vain keep their place and all else.
func vain(t *testing.T, s store.Store) {
	born(t, s)
	apply(t, s, store.Change{Spend: []store.Spend{{Kind: "step", Cost: 1}, {Kind: "summary", Cost: 0.1}}})
	apply(t, s, store.Change{Spend: []store.Spend{{Kind: "summary", Cost: 0.2, Model: "p/m\xff"}}})
	had := state(t, s)
	decide(t, s, store.Change{Vain: []int{2, 1}, Spend: []store.Spend{{Kind: "step", Cost: 2}}})
	equal(t, "spent", []store.Spend{{Kind: "step", Cost: 1}, {Kind: "summary", Cost: 0.1, Failed: true},
		{Kind: "summary", Cost: 0.2, Model: "p/m\xff", Failed: true}, {Kind: "step", Cost: 2}}, state(t, s).Spent)
	if had.Spent[1].Failed {
		t.Error("what a reader had was changed")
	}
	now := state(t, s)
	for _, at := range []int{-1, 4} {
		if _, err := s.Apply(t.Context(), "ses", store.Change{Base: now.Revision, Vain: []int{at}}); err == nil {
			t.Errorf("there was a request %d", at)
		}
	}
	equal(t, "state", now, state(t, s))
}
