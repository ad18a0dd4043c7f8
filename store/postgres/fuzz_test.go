package postgres_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/internal/pgtest"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/memory"
	"github.com/winnowhq/winnow/store/postgres"
)

// No query is wrong, and what it finds is what reading everything finds.
func FuzzSearch_noQueryIsWrong(f *testing.F) {
	for _, words := range []string{"main.go", `"a b"*`, "x' & !y", `a\b`, "λόγος 日本*", "\x00 \xff", "a:*b | c", "@acme", strings.Repeat("a ", 200)} {
		f.Add("look at src/main.go, λόγος, 日本語 a b x' y "+words, words)
	}
	d := open(f, pgtest.Start(f), postgres.Options{})
	n := 0
	f.Fuzz(func(t *testing.T, text, words string) {
		n++
		s, plain := d.Tenant(fmt.Sprint("acme", n)), memory.New()
		for _, s := range []store.Store{s, plain} {
			if _, err := s.Apply(t.Context(), "ses", store.Change{Create: &session.Info{ID: "ses"},
				Append: []session.Message{{Parts: []session.Part{{ID: "p", Type: session.TextPart, Text: text}}}}}); err != nil {
				t.Fatal(err)
			}
		}
		want, wantErr := plain.Search(t.Context(), store.Search{Words: words})
		got, err := s.Search(t.Context(), store.Search{Words: words})
		if errors.Is(wantErr, store.ErrNoWord) != errors.Is(err, store.ErrNoWord) || want.Total != got.Total {
			t.Fatalf("%q in %q is found %d times, %v; want %d, %v", words, text, got.Total, err, want.Total, wantErr)
		}
		if err := s.Delete(t.Context(), "ses"); err != nil {
			t.Fatal(err)
		}
	})
}

// Whatever ids and texts are, they come back, and are told apart.
func FuzzApply_anyBytes(f *testing.F) {
	f.Add("ses", "part", "text")
	f.Add("\x00\xff", strings.Repeat("long", 1000), "\x00")
	f.Add(strings.Repeat("a", 511), strings.Repeat("a", 512), strings.Repeat("\xff\x00", 5000))
	d := open(f, pgtest.Start(f), postgres.Options{})
	n := 0
	f.Fuzz(func(t *testing.T, id, part, text string) {
		if id == "" {
			t.Skip()
		}
		n++
		s, plain := d.Tenant(fmt.Sprint(n)), memory.New()
		other := id + strings.Repeat("b", 600)
		for _, s := range []store.Store{s, plain} {
			for _, id := range []string{id, other} {
				m := session.Message{MessageInfo: session.MessageInfo{ID: part, Agent: text},
					Parts: []session.Part{{ID: part, Type: session.TextPart, Text: text}}}
				_, err := s.Apply(t.Context(), id, store.Change{Create: &session.Info{ID: id, Title: text}, Append: []session.Message{m},
					Commit: []rule.Elision{{Part: part, Field: rule.Field(text), Shown: text}, {Part: part + text}}, Undo: []string{text, part},
					Pin: []rule.Pin{{ID: text}, {ID: part, Text: text}}, Dismiss: []string{text}, Spend: []store.Spend{{Kind: text}},
					Source: &store.Source{Format: text, Path: part, Data: []byte(text)}, File: &store.File{Path: part, Session: id}})
				if err == nil {
					err = s.(store.Keeper).Keep(t.Context(), id, part, text)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, id := range []string{id, other} {
			want, _ := seen(t, plain, id, part)
			got, err := seen(t, s, id, part)
			if err != nil || !equal(want, got) {
				t.Fatalf("%q: got %v, want %v, %v", id, got, want, err)
			}
			if err := s.Delete(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// seen is what a store shows of a session.
func seen(t *testing.T, s store.Store, id, part string) (shown []any, err error) {
	t.Helper()
	state, err := s.State(t.Context(), id)
	source, sourceErr := s.Source(t.Context(), id)
	kept, keptErr := s.(store.Keeper).Kept(t.Context(), id, part)
	shown = append(shown, state.Info, state.Ledger.All(), state.Pins, state.Undone, state.Dismissed, state.Spent, source.Format,
		source.Path, string(source.Data), kept)
	for m, err := range s.Messages(t.Context(), id) {
		shown = append(shown, m, err)
	}
	return shown, errors.Join(err, sourceErr, keptErr)
}
