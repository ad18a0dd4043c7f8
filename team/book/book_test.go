package book_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/gateway/tenant"
	"github.com/winnowhq/winnow/internal/pgtest"
	"github.com/winnowhq/winnow/team/book"
)

var noon = time.Date(2026, 5, 31, 12, 0, 0, 0, time.UTC)

// on runs a test on a SQLite file, and on a PostgreSQL database where there can be one.
func on(t *testing.T, test func(t *testing.T, open func() tenant.Book)) {
	each := func(name string, address func(*testing.T) string) {
		t.Run(name, func(t *testing.T) {
			at := address(t)
			test(t, func() tenant.Book {
				b, err := book.Open(t.Context(), at, func() time.Time { return noon })
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { b.Close() })
				return b
			})
		})
	}
	each("sqlite", func(t *testing.T) string { return filepath.Join(t.TempDir(), "below", "book.sqlite") })
	each("postgres", func(t *testing.T) string { return pgtest.Start(t) })
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func TestBook_keepsTenants(t *testing.T) {
	on(t, func(t *testing.T, open func() tenant.Book) {
		b := open()
		ann := tenant.Tenant{Name: "ann", Store: "ann", Limits: tenant.Limits{PerMinute: 60, Concurrent: 4},
			Budget: tenant.Budget{Day: 5, Month: 100, Warn: 0.5}, Retention: 30, Capture: "none", Mode: "safe",
			Keys: map[string]string{"anthropic": "team"}, Routes: []string{"messages"}, Models: []string{"claude-*"}, Created: noon}
		if err := b.Add(t.Context(), "cli:op", ann); err != nil {
			t.Fatal(err)
		}
		if err := b.Add(t.Context(), "cli:op", tenant.Tenant{Name: "ANN"}); !errors.Is(err, tenant.ErrExists) {
			t.Errorf("a name in another case: %v", err)
		}
		got := must[tenant.Tenant](t)(open().Tenant(t.Context(), "ann"))
		if diff := cmp.Diff(ann, got); diff != "" {
			t.Errorf("another process reads: %s", diff)
		}
		before := must[int64](t)(b.Revision(t.Context()))
		refused := errors.New("no")
		if _, err := b.Set(t.Context(), "cli:op", "ann", func(*tenant.Tenant) error { return refused }); !errors.Is(err, refused) {
			t.Errorf("a refused change: %v", err)
		}
		if now := must[int64](t)(b.Revision(t.Context())); now != before {
			t.Error("a refused change counts")
		}
		must[tenant.Tenant](t)(b.Set(t.Context(), "cli:op", "ann", func(x *tenant.Tenant) error { x.Budget.Day = 7; return nil }))
		if now := must[int64](t)(b.Revision(t.Context())); now <= before {
			t.Error("a change does not count")
		}
		if got := must[tenant.Tenant](t)(b.Tenant(t.Context(), "ann")); got.Budget.Day != 7 || got.Budget.Month != 100 {
			t.Errorf("set: %+v", got.Budget)
		}
		if _, err := b.Set(t.Context(), "cli:op", "bob", func(*tenant.Tenant) error { return nil }); !errors.Is(err, tenant.ErrNotFound) {
			t.Errorf("an unknown tenant: %v", err)
		}
		if err := b.Remove(t.Context(), "cli:op", "ann"); err != nil {
			t.Fatal(err)
		}
		if err := b.Remove(t.Context(), "cli:op", "ann"); !errors.Is(err, tenant.ErrNotFound) {
			t.Errorf("removed twice: %v", err)
		}
		var did []string
		for _, e := range must[[]tenant.Entry](t)(b.Audited(t.Context(), "ann", 10)) {
			did = append(did, e.Did)
		}
		if len(did) != 3 { // all at one moment of the test's clock
			t.Errorf("audited: %v", did)
		}
	})
}

// Of several changes at a time none is lost.
func TestBook_changesAtATime(t *testing.T) {
	on(t, func(t *testing.T, open func() tenant.Book) {
		books := []tenant.Book{open(), open()}
		if err := books[0].Add(t.Context(), "", tenant.Tenant{Name: "ann"}); err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				b := books[i%2]
				if _, err := b.Set(t.Context(), "", "ann", func(x *tenant.Tenant) error { x.Retention++; return nil }); err != nil {
					t.Error(err)
				}
				if err := b.Spend(t.Context(), "ann", tenant.Expense{Dollars: 0.25, Requests: 1}, noon); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if got := must[tenant.Tenant](t)(books[0].Tenant(t.Context(), "ann")); got.Retention != 20 {
			t.Errorf("%d of 20 changes", got.Retention)
		}
		if got := must[tenant.Spent](t)(books[1].Spent(t.Context(), "ann", noon)); got != (tenant.Spent{Day: 5, Month: 5}) {
			t.Errorf("spent %+v", got)
		}
	})
}

func TestBook_keepsTokens(t *testing.T) {
	on(t, func(t *testing.T, open func() tenant.Book) {
		b := open()
		shown, kept, err := tenant.NewToken("ann", "laptop", tenant.Scopes{tenant.Relay, tenant.Read}, noon, 48*time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.AddToken(t.Context(), "", kept); !errors.Is(err, tenant.ErrNotFound) {
			t.Errorf("a token of nobody: %v", err)
		}
		if err := b.Add(t.Context(), "", tenant.Tenant{Name: "ann"}); err != nil {
			t.Fatal(err)
		}
		if err := b.AddToken(t.Context(), "", kept); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]tenant.Token{kept}, must[[]tenant.Token](t)(b.Tokens(t.Context(), "ann"))); diff != "" {
			t.Error(diff)
		}
		who := func(token string, at time.Time) string {
			_, by, _ := must[*tenant.Directory](t)(b.Directory(t.Context())).Who(token, at)
			return by.ID
		}
		if got := who(shown, noon); got != kept.ID {
			t.Errorf("who: %q", got)
		}
		if got := who(shown, noon.Add(48*time.Hour)); got != "" {
			t.Errorf("an expired token is that of %q", got)
		}
		second, next, old, err := b.Rotate(t.Context(), "", kept.ID, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			token string
			after time.Duration
			want  string
		}{{shown, time.Minute, old.ID}, {shown, time.Hour, ""}, {second, time.Minute, next.ID}, {second, 47 * time.Hour, next.ID}} {
			if got := who(c.token, noon.Add(c.after)); got != c.want {
				t.Errorf("%v after the rotation: %q, want %q", c.after, got, c.want)
			}
		}
		if _, err := b.Revoke(t.Context(), "", next.ID); err != nil {
			t.Fatal(err)
		}
		if got := who(second, noon); got != "" {
			t.Errorf("a revoked token is that of %q", got)
		}
		if err := b.Used(t.Context(), map[string]time.Time{kept.ID: noon, "tok_gone": noon}); err != nil {
			t.Fatal(err)
		}
		if got := must[tenant.Token](t)(b.Token(t.Context(), kept.ID)); !got.Used.Equal(noon) {
			t.Errorf("used %v", got.Used)
		}
		if err := b.Remove(t.Context(), "", "ann"); err != nil {
			t.Fatal(err)
		}
		if all := must[[]tenant.Token](t)(b.Tokens(t.Context(), "")); len(all) != 0 {
			t.Errorf("tokens of a removed tenant: %v", all)
		}
	})
}

func TestBook_sumsByDayAndMonth(t *testing.T) {
	on(t, func(t *testing.T, open func() tenant.Book) {
		b := open()
		for _, s := range []struct {
			days    int
			dollars float64
		}{{0, 1}, {0, 0.5}, {-1, 2}, {-30, 4}, {-31, 8}, {1, 16}} {
			if err := b.Spend(t.Context(), "ann", tenant.Expense{Dollars: s.dollars, Requests: 2}, noon.AddDate(0, 0, s.days)); err != nil {
				t.Fatal(err)
			}
		}
		want := tenant.Spent{Day: 1.5, Month: 7.5} // the 1st, the 30th and the 31st of May
		if got := must[tenant.Spent](t)(b.Spent(t.Context(), "ann", noon)); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
		for _, least := range []float64{1, 3, 2} {
			if err := b.AtLeast(t.Context(), "ann", least, noon); err != nil {
				t.Fatal(err)
			}
		}
		if got := must[tenant.Spent](t)(b.Spent(t.Context(), "ann", noon)); got != (tenant.Spent{Day: 3, Month: 9}) {
			t.Errorf("at least 3: %+v", got)
		}
		uses := must[map[string]tenant.Use](t)(b.Uses(t.Context(), noon))
		if got := (tenant.Use{Spent: tenant.Spent{Day: 3, Month: 9}, Requests: tenant.Requests{Day: 4, Month: 8}}); uses["ann"] != got || len(uses) != 1 {
			t.Errorf("in all %+v, want %+v of ann alone", uses, got)
		}
	})
}

// No token is in the file, and others cannot read it.
func TestBook_theFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "book.sqlite")
	b := must[tenant.Book](t)(book.Open(t.Context(), path, func() time.Time { return noon }))
	if err := b.Add(t.Context(), "", tenant.Tenant{Name: "ann"}); err != nil {
		t.Fatal(err)
	}
	shown, kept, _ := tenant.NewToken("ann", "", tenant.AllScopes(), noon, 0)
	if err := b.AddToken(t.Context(), "", kept); err != nil {
		t.Fatal(err)
	}
	second, _, _, err := b.Rotate(t.Context(), "", kept.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	b.Close()
	files, _ := filepath.Glob(path + "*")
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", file, info.Mode(), err)
		}
		data, _ := os.ReadFile(file)
		for _, token := range []string{shown, second} {
			if strings.Contains(string(data), token[3:]) {
				t.Errorf("%s has a token", file)
			}
		}
	}
	if len(files) == 0 {
		t.Error("there is no file")
	}
}

// The version before reads no scope that it does not know: it would read no token at all.
func TestBook_theVersionBeforeReadsItsTokens(t *testing.T) {
	path := filepath.Join(t.TempDir(), "book.sqlite")
	b := must[tenant.Book](t)(book.Open(t.Context(), path, func() time.Time { return noon }))
	defer b.Close()
	if err := b.Add(t.Context(), "", tenant.Tenant{Name: "ann"}); err != nil {
		t.Fatal(err)
	}
	hashes := map[string]string{}
	for _, scopes := range []tenant.Scopes{{"relay", "read"}, {"metrics"}, {"read", "metrics"}} {
		shown, kept, err := tenant.NewToken("ann", "", scopes, noon, 0)
		if err == nil {
			err = b.AddToken(t.Context(), "", kept)
		}
		if err != nil {
			t.Fatal(err)
		}
		_, by, ok := must[*tenant.Directory](t)(b.Directory(t.Context())).Who(shown, noon)
		if !ok || by.Scopes.String() != scopes.String() {
			t.Errorf("the token with %s is read as %+v", scopes, by)
		}
		hashes[scopes.String()] = kept.Hash
	}
	db := must[*sql.DB](t)(sql.Open("sqlite", path))
	defer db.Close()
	rows := must[*sql.Rows](t)(db.QueryContext(t.Context(), `SELECT hash, scopes FROM book_token ORDER BY scopes, hash`))
	defer rows.Close()
	var got []string
	for rows.Next() {
		var hash, scopes string
		if err := rows.Scan(&hash, &scopes); err != nil {
			t.Fatal(err)
		}
		for of, known := range hashes {
			hash = strings.Replace(hash, known, "the hash of "+of, 1)
		}
		got = append(got, scopes+": "+hash)
	}
	want := []string{"read: -the hash of metrics", "read: the hash of read,metrics", "relay,read: the hash of relay,read"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A token that is rotated once more during the overlap gives the new one its own lifetime, not the
// rest of the overlap, through whatever tokens took its place meanwhile.
func TestRotate_twiceKeepsTheLifetime(t *testing.T) {
	on(t, func(t *testing.T, open func() tenant.Book) {
		b := open()
		if err := b.Add(t.Context(), "", tenant.Tenant{Name: "ann"}); err != nil {
			t.Fatal(err)
		}
		for _, lasts := range []time.Duration{0, 90 * 24 * time.Hour} {
			_, first, err := tenant.NewToken("ann", "", tenant.Scopes{tenant.Relay}, noon, lasts)
			if err != nil {
				t.Fatal(err)
			}
			if err := b.AddToken(t.Context(), "", first); err != nil {
				t.Fatal(err)
			}
			_, second, _, err := b.Rotate(t.Context(), "", first.ID, time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			_, third, _, err := b.Rotate(t.Context(), "", second.ID, time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			for _, id := range []string{first.ID, second.ID} {
				_, again, old, err := b.Rotate(t.Context(), "", id, 48*time.Hour)
				if err != nil || !again.Expires.Equal(third.Expires) || again.Expires.IsZero() != (lasts == 0) {
					t.Errorf("made of one that lasts %v: it expires %v, want %v, %v", lasts, again.Expires, third.Expires, err)
				}
				if want := noon.Add(time.Hour); !old.Expires.Equal(want) {
					t.Errorf("the rotated one is valid until %v, want %v", old.Expires, want)
				}
			}
		}
	})
}
