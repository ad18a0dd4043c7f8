package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

func wantError(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: error %v, want %v", what, err, want)
	}
}

func createTwice(t *testing.T, s store.Store) {
	born(t, s, message("m", session.User, "kept"))
	wantError(t, "the second Create", s.Create(t.Context(), session.Info{ID: "ses", Title: "another"}), store.ErrExists)
	if got := state(t, s); got.Info.Title != "a session" || got.Messages != 1 {
		t.Errorf("the refused Create changed the session: %+v", got)
	}
}

func createWithoutID(t *testing.T, s store.Store) {
	if err := s.Create(t.Context(), session.Info{Title: "nameless"}); err == nil {
		t.Error("a session without id was created")
	}
	list, err := s.List(t.Context())
	must(t, err)
	equal(t, "list", 0, len(list))
}

func listOrder(t *testing.T, s store.Store) {
	at := func(id string, updated session.Millis) session.Info {
		return session.Info{ID: id, Time: session.Lifetime{Created: 1, Updated: updated}}
	}
	for _, i := range []session.Info{at("old", 1), at("tied-first", 2.5), at("tied-second", 2.5), at("new", 3)} {
		must(t, s.Create(t.Context(), i))
	}
	want := func(what string, ids ...string) {
		t.Helper()
		list, err := s.List(t.Context())
		must(t, err)
		var got []string
		for _, l := range list {
			got = append(got, l.Info.ID)
		}
		equal(t, what, ids, got)
	}
	want("as created", "new", "tied-second", "tied-first", "old")
	_, err := s.Apply(t.Context(), "tied-first", store.Change{Append: []session.Message{message("m", session.User,
		"hi")}})
	must(t, err)
	want("after an append among equals", "new", "tied-first", "tied-second", "old")
	touched := at("old", 4)
	_, err = s.Apply(t.Context(), "old", store.Change{Info: &touched})
	must(t, err)
	want("after an update of the info", "old", "new", "tied-first", "tied-second")

	must(t, s.SetSource(t.Context(), "new", store.Source{Format: "opencode"}))
	list, err := s.List(t.Context())
	must(t, err)
	equal(t, "listings", []store.Listing{
		{Info: touched}, {Info: at("new", 3), Origin: "opencode"}, {Info: at("tied-first", 2.5), Messages: 1},
		{Info: at("tied-second", 2.5)},
	}, list)
}

func deleteAll(t *testing.T, s store.Store) {
	large := strings.Repeat("the same output\n", 1000)
	must(t, s.Create(t.Context(), session.Info{ID: "other"}))
	_, err := s.Apply(t.Context(), "other", store.Change{Append: []session.Message{result("kept", large)}})
	must(t, err)
	fill := func() {
		born(t, s, result("m", large), message("n", session.User, "text"))
		decide(t, s, store.Change{
			Commit: []rule.Elision{{Part: "m-call", Field: rule.Output}}, Undo: []string{"marker"},
			Dismiss: []string{"never push"}, Pin: []rule.Pin{{ID: "pin"}},
			Receipt: &sampleReceipt, Spend: []store.Spend{{Kind: "step"}},
		})
		must(t, s.SetSource(t.Context(), "ses", store.Source{Format: "opencode", Data: []byte("{}")}))
	}
	fill()
	must(t, s.Delete(t.Context(), "ses"))
	_, err = s.State(t.Context(), "ses")
	wantError(t, "State of a deleted session", err, store.ErrNotFound)

	// One with the same id begins with nothing.
	born(t, s)
	equal(t, "state", store.State{Info: session.Info{ID: "ses", Title: "a session"}, Revision: 1}, state(t, s))
	equal(t, "messages", 0, len(log(t, s)))
	src, err := s.Source(t.Context(), "ses")
	must(t, err)
	equal(t, "source", (*store.Source)(nil), src)

	others := collect(t, s.Messages(t.Context(), "other"))
	equal(t, "the other session", []session.Message{result("kept", large)}, others)
}

// each calls every method that is about one session.
func each(ctx context.Context, s store.Store, id string) map[string]error {
	found := map[string]error{"Delete": s.Delete(ctx, id)}
	_, found["State"] = s.State(ctx, id)
	_, found["Revision"] = s.Revision(ctx, id)
	_, found["Source"] = s.Source(ctx, id)
	found["SetSource"] = s.SetSource(ctx, id, store.Source{})
	_, found["Apply"] = s.Apply(ctx, id, store.Change{})
	_, found["Apply of an update"] = s.Apply(ctx, id, store.Change{Update: []session.Message{{}}})
	yields := 0
	for _, err := range s.Messages(ctx, id) {
		found["Messages"] = err
		if yields++; yields > 1 {
			found["Messages"] = fmt.Errorf("the sequence goes on after an error")
		}
	}
	return found
}

func notFound(t *testing.T, s store.Store) {
	for _, id := range []string{"missing", "", "a\x00b", "\xff"} {
		for method, err := range each(t.Context(), s, id) {
			wantError(t, fmt.Sprintf("%s(%q)", method, id), err, store.ErrNotFound)
		}
	}
}

func canceled(t *testing.T, s store.Store) {
	born(t, s, message("m", session.User, "text"))
	before := state(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for method, err := range each(ctx, s, "ses") {
		wantError(t, method, err, context.Canceled)
	}
	_, err := s.List(ctx)
	wantError(t, "List", err, context.Canceled)
	wantError(t, "Create", s.Create(ctx, session.Info{ID: "another"}), context.Canceled)
	equal(t, "state", before, state(t, s))

	// In the middle of reading.
	apply(t, s, store.Change{Append: []session.Message{message("n", session.User, "text"),
		message("o", session.User, "text")}})
	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	var last error
	read := 0
	for _, err := range s.Messages(ctx, "ses") {
		cancel()
		last = err
		if err == nil {
			read++
		}
	}
	wantError(t, "Messages canceled in the middle", last, context.Canceled)
	if read == 0 || read == 3 {
		t.Errorf("read %d messages of 3 with a context that ended after the first", read)
	}
}

func closed(t *testing.T, s store.Store) {
	born(t, s)
	must(t, s.Close())
	for method, err := range each(t.Context(), s, "ses") {
		wantError(t, method, err, store.ErrClosed)
	}
	_, err := s.List(t.Context())
	wantError(t, "List", err, store.ErrClosed)
	wantError(t, "Create", s.Create(t.Context(), session.Info{ID: "another"}), store.ErrClosed)
	if err := s.Close(); err != nil {
		t.Errorf("the second Close: %v", err)
	}
}

func info(t *testing.T, s store.Store) {
	born(t, s)
	next := session.Info{ID: "ses", Title: "with a\x00NUL and \xff", Model: &session.ModelRef{ProviderID: "p", ID: "m"},
		Time: session.Lifetime{Created: 1.5, Updated: 2}, Unknown: []byte(`{"share":{"url":"x"},"lone":"\ud800"}`)}
	apply(t, s, store.Change{Info: &next})
	equal(t, "info", next, state(t, s).Info)
}

func source(t *testing.T, s store.Store) {
	born(t, s)
	revision := state(t, s).Revision
	got, err := s.Source(t.Context(), "ses")
	must(t, err)
	equal(t, "source before there is one", (*store.Source)(nil), got)
	for _, want := range []store.Source{
		{Format: "opencode", Path: "/a b/\xff.json", Data: []byte("{\"a\": \x00\xff 1}\r\n")},
		{Format: "claude", Path: "x", Data: []byte(strings.Repeat("0123456789abcdef", 1<<16))},
	} {
		must(t, s.SetSource(t.Context(), "ses", want))
		got, err = s.Source(t.Context(), "ses")
		must(t, err)
		equal(t, "source", &want, got)
		got.Data[0] = '!'
		again, err := s.Source(t.Context(), "ses")
		must(t, err)
		equal(t, "source after the first reader changed his", &want, again)
	}
	must(t, s.SetSource(t.Context(), "ses", store.Source{Format: "empty"}))
	got, err = s.Source(t.Context(), "ses")
	must(t, err)
	if got == nil || got.Format != "empty" || len(got.Data) != 0 {
		t.Errorf("an empty source came back as %+v", got)
	}
	equal(t, "revision", revision, state(t, s).Revision)
}
