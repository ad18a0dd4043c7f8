package storetest

import (
	"context"
	"testing"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

func createWhole(t *testing.T, s store.Store) {
	src := store.Source{Format: "pi", Path: "/a", Data: []byte("text")}
	info := session.Info{ID: "ses", Title: "whole"}
	c := store.Change{Create: &info, Append: []session.Message{message("m", session.User, "a"), result("r", "out")},
		Commit: []rule.Elision{{Part: "r-call", Field: rule.Output}}, Pin: []rule.Pin{{ID: "pin"}},
		Dismiss: []string{"never push"}, Source: &src}
	equal(t, "revision", int64(2), apply(t, s, c))
	st := state(t, s)
	equal(t, "info", info, st.Info)
	equal(t, "messages", []string{"r", "m"}, ids(log(t, s)))
	equal(t, "elisions", 1, st.Ledger.Len())
	equal(t, "dismissed", map[string]bool{"never push": true}, st.Dismissed)
	got, err := s.Source(t.Context(), "ses")
	must(t, err)
	equal(t, "source", &src, got)

	before, messages := state(t, s), log(t, s)
	c.Append = c.Append[:1]
	_, err = s.Apply(t.Context(), "ses", c)
	wantError(t, "a session that is there", err, store.ErrExists)
	c.Base = 1
	_, err = s.Apply(t.Context(), "ses", c)
	wantError(t, "a new session with a base", err, store.ErrConflict)
	c.Base = 0
	if _, err = s.Apply(t.Context(), "other", c); err == nil {
		t.Error("a session was created under another id")
	}
	failing := c
	failing.Create, failing.Update = &session.Info{ID: "half"}, []session.Message{message("missing", session.User, "a")}
	_, err = s.Apply(t.Context(), "half", failing)
	wantError(t, "a new session whose change cannot be", err, store.ErrNoMessage)
	_, err = s.State(t.Context(), "half")
	wantError(t, "State of half a session", err, store.ErrNotFound)
	equal(t, "state", before, state(t, s))
	equal(t, "log", messages, log(t, s))
}

func createAside(t *testing.T, s store.Store) {
	old := store.Source{Format: "pi", Path: "/old", Data: []byte("old")}
	apply(t, s, store.Change{Create: &session.Info{ID: "ses", Title: "old"},
		Append: []session.Message{message("m", session.User, "old")},
		Pin:    []rule.Pin{{ID: "pin"}}, Source: &old})
	fresh := store.Change{Create: &session.Info{ID: "ses", Title: "new"},
		Append: []session.Message{message("n", session.User, "new")}, Aside: "ses~1"}
	apply(t, s, fresh)
	equal(t, "title", "new", state(t, s).Info.Title)
	equal(t, "log", []string{"n"}, ids(log(t, s)))
	equal(t, "pins of the new one", 0, len(state(t, s).Pins))
	aside, err := s.State(t.Context(), "ses~1")
	must(t, err)
	equal(t, "info of the old one", session.Info{ID: "ses~1", Title: "old"}, aside.Info)
	equal(t, "pins of the old one", []rule.Pin{{ID: "pin"}}, aside.Pins)
	equal(t, "log of the old one", []session.Message{message("m", session.User, "old")},
		collect(t, s.Messages(t.Context(), "ses~1")))
	src, err := s.Source(t.Context(), "ses~1")
	must(t, err)
	equal(t, "source of the old one", &old, src)
	src, err = s.Source(t.Context(), "ses")
	must(t, err)
	equal(t, "source of the new one", (*store.Source)(nil), src)

	_, err = s.Apply(t.Context(), "ses", fresh)
	wantError(t, "an id for the old one that is taken", err, store.ErrExists)
	equal(t, "log", []string{"n"}, ids(log(t, s)))
	list, err := s.List(t.Context())
	must(t, err)
	equal(t, "sessions", 2, len(list))
}

func files(t *testing.T, s store.Store) {
	filer, ok := s.(store.Filer)
	if !ok {
		t.Skip("this store remembers no files")
	}
	known := func() map[string]store.File {
		t.Helper()
		files, err := filer.Files(t.Context())
		must(t, err)
		return files
	}
	equal(t, "files", map[string]store.File{}, known())
	a := store.File{Path: "/a\xff b", Size: 1 << 40, Modified: 1.7e18, Seen: 1.8e18, Hash: [32]byte{1, 31: 2},
		Session: "ses", Messages: 3}
	b := store.File{Path: "/b"}
	must(t, filer.SetFiles(t.Context(), a, b))
	equal(t, "files", map[string]store.File{a.Path: a, b.Path: b}, known())
	delete(known(), a.Path)
	b.Size, b.Session = 2, "other"
	apply(t, s, store.Change{Create: &session.Info{ID: "ses"}, File: &b})
	equal(t, "files", map[string]store.File{a.Path: a, b.Path: b}, known())
	must(t, s.Delete(t.Context(), "ses"))
	equal(t, "files after their session is gone", map[string]store.File{b.Path: b}, known())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := filer.Files(ctx)
	wantError(t, "Files with a context that ended", err, context.Canceled)
	wantError(t, "SetFiles with a context that ended", filer.SetFiles(ctx, a), context.Canceled)
	must(t, s.Close())
	_, err = filer.Files(t.Context())
	wantError(t, "Files of a closed store", err, store.ErrClosed)
	wantError(t, "SetFiles of a closed store", filer.SetFiles(t.Context(), a), store.ErrClosed)
}
