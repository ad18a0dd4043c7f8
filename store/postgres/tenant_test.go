package postgres_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/internal/pgtest"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/postgres"
)

// fill gives a store the session "ses", with everything that a session may have.
func fill(t *testing.T, s *postgres.Store, word string) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := s.Apply(t.Context(), "ses", store.Change{Create: &session.Info{ID: "ses", Title: word},
		Append: []session.Message{{MessageInfo: session.MessageInfo{ID: "m", Role: session.User},
			Parts: []session.Part{{ID: "p", Type: session.TextPart, Text: strings.Repeat(word+" said ", 1000)}}}},
		Commit: []rule.Elision{{Part: "p", Field: rule.Text, Shown: word}}, Undo: []string{word}, Dismiss: []string{word},
		Pin: []rule.Pin{{ID: "pin", Text: word}}, Spend: []store.Spend{{Kind: word, Live: &store.Live{}}},
		Source: &store.Source{Format: "pi", Path: word, Data: []byte(strings.Repeat("a file", 1000))},
		File:   &store.File{Path: "/file", Session: "ses", Size: int64(len(word))}})
	must(err)
	must(s.Keep(t.Context(), "ses", "p", "whole "+word))
}

// everything is what each method shows of "ses" and of the store.
func everything(t *testing.T, s *postgres.Store) (shown []any, failed []error) {
	t.Helper()
	see := func(v any, err error) { shown, failed = append(shown, v), append(failed, err) }
	see(s.State(t.Context(), "ses"))
	see(s.Revision(t.Context(), "ses"))
	see(s.Source(t.Context(), "ses"))
	see(s.Kept(t.Context(), "ses", "p"))
	see(s.KeptParts(t.Context(), "ses"))
	for m, err := range s.Messages(t.Context(), "ses") {
		see(m, err)
	}
	for m, err := range s.Sketch(t.Context(), "ses") {
		see(m, err)
	}
	return shown, failed
}

// Of two tenants with a session of the same id, none sees or changes anything of the other's, by any
// method.
func TestTenant_seesNothingOfAnother(t *testing.T) {
	d := open(t, pgtest.Start(t), postgres.Options{})
	mine, other, empty := d.Tenant("mine"), d.Tenant("other"), d.Tenant("")
	fill(t, other, "heron")

	// What is not there for one tenant is there for another: nothing tells.
	_, failed := everything(t, mine)
	for i, err := range failed {
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("method %d: %v", i, err)
		}
	}
	for name, err := range map[string]error{
		"Delete": mine.Delete(t.Context(), "ses"), "SetSource": mine.SetSource(t.Context(), "ses", store.Source{}),
		"Keep": mine.Keep(t.Context(), "ses", "p", "x"),
	} {
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := mine.Apply(t.Context(), "ses", store.Change{}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Apply: %v", err)
	}
	if _, err := mine.Apply(t.Context(), "fork", store.Change{Create: &session.Info{ID: "fork"}, Keep: "ses"}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Apply with the texts of another tenant's session: %v", err)
	}
	for _, s := range []*postgres.Store{mine, empty} {
		list, err := s.List(t.Context())
		files, filesErr := s.Files(t.Context())
		accounts, accountsErr := s.Relayed(t.Context(), 0, nil)
		found, searchErr := s.Search(t.Context(), store.Search{Words: "heron"})
		if err := errors.Join(err, filesErr, accountsErr, searchErr); err != nil {
			t.Fatal(err)
		}
		if len(list)+len(files)+len(accounts)+found.Total+found.Behind > 0 {
			t.Errorf("%q sees %v, %v, %v, %+v", s.Name(), list, files, accounts, found)
		}
	}

	// The same ids, other contents: each has its own, and what one does leaves the other alone.
	fill(t, mine, "plover")
	before, _ := everything(t, other)
	if _, err := mine.Apply(t.Context(), "ses", store.Change{Create: &session.Info{ID: "ses"}, Aside: "ses~1"}); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Revision(t.Context(), "ses~1"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a session set aside: %v", err)
	}
	for word, hits := range map[string]int{"plover": 1, "heron": 0, "said": 1} {
		found, err := mine.Search(t.Context(), store.Search{Words: word})
		if err != nil || found.Total != hits {
			t.Errorf("%s is found %d times, want %d: %v", word, found.Total, hits, err)
		}
	}
	for _, id := range []string{"ses", "ses~1"} {
		if err := mine.Delete(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	if after, failed := everything(t, other); errors.Join(failed...) != nil || !equal(before, after) {
		t.Errorf("the other tenant had %v, has %v, %v", before, after, failed)
	}
	if found, err := other.Search(t.Context(), store.Search{Words: "heron"}); err != nil || found.Total != 1 {
		t.Errorf("the other tenant finds %+v, %v", found, err)
	}
	if files, err := other.Files(t.Context()); err != nil || len(files) != 1 {
		t.Errorf("the other tenant has files %v, %v", files, err)
	}
}

// Equal contents of tenants are not one: what one deletes the other still has, and no tenant learns
// from the store whether another has a text.
func TestTenant_sharesNoContents(t *testing.T) {
	url := pgtest.Start(t)
	d := open(t, url, postgres.Options{})
	a, b := d.Tenant("a"), d.Tenant("b")
	fill(t, a, "heron")
	fill(t, b, "heron")
	if n := count(t, url, `SELECT count(*) FROM content WHERE tenant = 'a'`); n != 3 || n != count(t, url, `SELECT count(*) FROM content WHERE tenant = 'b'`) {
		t.Errorf("tenant a has %d contents", n)
	}
	if err := a.Delete(t.Context(), "ses"); err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		n := count(t, url, `SELECT count(*) FROM `+table+` WHERE tenant = 'a'`)
		if n != 0 {
			t.Errorf("%s has %d rows of a tenant without sessions", table, n)
		}
		if table == "garbage" || table == "stale" || table == "found" || table == "unindexed" {
			continue
		}
		if n := count(t, url, `SELECT count(*) FROM `+table+` WHERE tenant = 'b'`); table != "receipt" && n == 0 {
			t.Errorf("%s has nothing of the other tenant", table)
		}
	}
}

var tables = []string{"session", "message", "content", "apart", "garbage", "elision", "pin", "undone", "dismissed", "receipt",
	"spend", "source", "piece", "kept", "file", "stale", "found", "unindexed"}

// Every table has the tenant first in its key, and every statement names it.
func TestTenant_isInEveryTableAndStatement(t *testing.T) {
	url := pgtest.Start(t)
	open(t, url, postgres.Options{})
	var names []string
	for _, row := range query(t, url, `SELECT c.relname, a.attname FROM pg_class AS c
		JOIN pg_index AS i ON i.indrelid = c.oid AND i.indisprimary
		JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = i.indkey[0]
		WHERE c.relnamespace = current_schema()::regnamespace AND c.relname NOT IN ('winnow_version', 'winnow_compatible') ORDER BY 1`) {
		names = append(names, row[0].(string))
		if row[1] != "tenant" {
			t.Errorf("the key of %s begins with %s", row[0], row[1])
		}
	}
	want := slices.Sorted(slices.Values(tables))
	if !slices.Equal(names, want) {
		t.Errorf("there are tables %v, the tests know %v", names, want)
	}
}

func TestTenant_withoutAProperNameHasNoStore(t *testing.T) {
	d := open(t, pgtest.Start(t), postgres.Options{})
	for _, name := range []string{"a\x00", "\xff", strings.Repeat("a", 201)} {
		if err := d.Tenant(name).Create(t.Context(), session.Info{ID: "ses"}); err == nil || !strings.Contains(err.Error(), "name of a tenant") {
			t.Errorf("%q: %v", name, err)
		}
	}
}
