package storetest

import (
	"context"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

func keeperOf(t *testing.T, s store.Store) store.Keeper {
	t.Helper()
	k, ok := s.(store.Keeper)
	if !ok {
		t.Skip("this store keeps no texts")
	}
	return k
}

func wantKept(t *testing.T, k store.Keeper, id, part, want string) {
	t.Helper()
	got, err := k.Kept(t.Context(), id, part)
	must(t, err)
	equal(t, "what is kept for "+part+" of "+id, want, got)
}

func keeps(t *testing.T, s store.Store) {
	k := keeperOf(t, s)
	large := strings.Repeat("a line of a long output\n", 10_000)
	born(t, s, result("m", large))
	before := state(t, s)
	_, err := k.Kept(t.Context(), "ses", "m-call")
	wantError(t, "Kept before Keep", err, store.ErrNotKept)
	for part, text := range map[string]string{"m-call": large, "small": "x", "none": "", "not there yet": "\x00\xff\n",
		"odd\x00\xff": large + "!"} {
		must(t, k.Keep(t.Context(), "ses", part, text))
		wantKept(t, k, "ses", part, text)
	}
	listed, err := k.KeptParts(t.Context(), "ses")
	must(t, err)
	equal(t, "parts for which texts are kept", []string{"m-call", "none", "not there yet", "odd\x00\xff", "small"},
		listed)
	_, err = k.KeptParts(t.Context(), "missing")
	wantError(t, "KeptParts of no session", err, store.ErrNotFound)
	must(t, k.Keep(t.Context(), "ses", "m-call", "another"))
	wantKept(t, k, "ses", "m-call", "another")
	equal(t, "the state", before, state(t, s))
	equal(t, "the log", []session.Message{result("m", large)}, log(t, s))

	// A change of the session leaves it alone.
	apply(t, s, store.Change{Append: []session.Message{message("n", session.User, "text")}})
	wantKept(t, k, "ses", "odd\x00\xff", large+"!")
}

func keptGoes(t *testing.T, s store.Store) {
	k := keeperOf(t, s)
	large := strings.Repeat("the same output\n", 1000)
	must(t, s.Create(t.Context(), session.Info{ID: "other"}))
	must(t, k.Keep(t.Context(), "other", "part", large))
	born(t, s)
	must(t, k.Keep(t.Context(), "ses", "part", large))
	must(t, s.Delete(t.Context(), "ses"))
	_, err := k.Kept(t.Context(), "ses", "part")
	wantError(t, "Kept of a deleted session", err, store.ErrNotFound)
	wantError(t, "Keep of a deleted session", k.Keep(t.Context(), "ses", "part", "x"), store.ErrNotFound)
	wantKept(t, k, "other", "part", large)
	born(t, s)
	_, err = k.Kept(t.Context(), "ses", "part")
	wantError(t, "Kept of a new session with the same id", err, store.ErrNotKept)

	// It goes aside with its session.
	must(t, k.Keep(t.Context(), "ses", "part", "old"))
	apply(t, s, store.Change{Create: &session.Info{ID: "ses"}, Aside: "ses~1"})
	wantKept(t, k, "ses~1", "part", "old")
	_, err = k.Kept(t.Context(), "ses", "part")
	wantError(t, "Kept of the session in its place", err, store.ErrNotKept)
	apply(t, s, store.Change{Create: &session.Info{ID: "ses"}, Aside: "ses~2"})
	must(t, k.Keep(t.Context(), "ses", "m-call", "old"))
	apply(t, s, store.Change{Create: &session.Info{ID: "ses"}, Aside: "ses~3", Keep: "ses~3",
		Append: []session.Message{result("m", "cut")}})
	wantKept(t, k, "ses", "m-call", "old")
}

func keptIsShared(t *testing.T, s store.Store) {
	k := keeperOf(t, s)
	large := strings.Repeat("a line of a long output\n", 10_000)
	born(t, s, result("m", "cut"), result("n", "cut"))
	for _, part := range []string{"m-call", "n-call", "not there yet"} {
		must(t, k.Keep(t.Context(), "ses", part, part+large))
	}
	_, err := s.Apply(t.Context(), "fork", store.Change{Create: &session.Info{ID: "fork"},
		Append: []session.Message{result("m", "cut")}, Keep: "gone"})
	wantError(t, "a session with the texts of one that is not there", err, store.ErrNotFound)
	_, err = s.State(t.Context(), "fork")
	wantError(t, "State of what was not created", err, store.ErrNotFound)

	_, err = s.Apply(t.Context(), "fork", store.Change{Create: &session.Info{ID: "fork"},
		Append: []session.Message{result("m", "cut")}, Keep: "ses"})
	must(t, err)
	wantKept(t, k, "fork", "m-call", "m-call"+large)
	for _, part := range []string{"n-call", "not there yet"} {
		_, err := k.Kept(t.Context(), "fork", part)
		wantError(t, "Kept of "+part+", which is not in the new log", err, store.ErrNotKept)
	}
	// Each has its own from here on.
	must(t, k.Keep(t.Context(), "fork", "m-call", "another"))
	wantKept(t, k, "ses", "m-call", "m-call"+large)
	must(t, s.Delete(t.Context(), "ses"))
	wantKept(t, k, "fork", "m-call", "another")
}

func keptStops(t *testing.T, s store.Store) {
	k := keeperOf(t, s)
	born(t, s)
	must(t, k.Keep(t.Context(), "ses", "part", "text"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := k.Kept(ctx, "ses", "part")
	wantError(t, "Kept", err, context.Canceled)
	wantError(t, "Keep", k.Keep(ctx, "ses", "part", "changed"), context.Canceled)
	wantKept(t, k, "ses", "part", "text")
	must(t, s.Close())
	_, err = k.Kept(t.Context(), "ses", "part")
	wantError(t, "Kept of a closed store", err, store.ErrClosed)
	wantError(t, "Keep of a closed store", k.Keep(t.Context(), "ses", "part", "x"), store.ErrClosed)
}
