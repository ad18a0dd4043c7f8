package transfer_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/internal/pgtest"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/memory"
	"github.com/winnowhq/winnow/store/postgres"
	"github.com/winnowhq/winnow/store/sqlite"
	"github.com/winnowhq/winnow/store/transfer"
)

// full fills a store with sessions that have everything.
func full(t *testing.T, s store.Store) {
	t.Helper()
	for i := range 5 {
		id := fmt.Sprintf("ses\x00\xff%d", i)
		var log []session.Message
		for n := range 40 {
			m := session.Message{MessageInfo: session.MessageInfo{ID: fmt.Sprint("m", n%38), Role: session.User}}
			m.Parts = []session.Part{{ID: fmt.Sprint("p", n), Type: session.TextPart,
				Text: strings.Repeat("\x00\xfftext ", 100*n)}}
			log = append(log, m)
		}
		c := store.Change{Create: &session.Info{ID: id, Title: "t\x00"}, Append: log,
			Commit:   []rule.Elision{{Part: "b", Field: rule.Output, Shown: "x"}, {Part: "a", Field: rule.Output}},
			Undo:     []string{"m1\xff", "m2"},
			Pin:      []rule.Pin{{ID: "z", Text: "never"}, {ID: "a"}},
			Dismiss:  []string{"always\x00"},
			Receipts: []pivot.Receipt{{ID: "r2"}, {ID: "r1", Gone: map[string]int{"x": 1}}},
			Spend:    []store.Spend{{Time: 2, Kind: "step", Live: &store.Live{Billed: 0.1}}, {Time: 1, Kind: "summary"}},
			Source:   &store.Source{Format: "pi", Path: "/a\xff", Data: []byte(strings.Repeat("source ", 300_000))},
			File:     &store.File{Path: fmt.Sprint("/file\xff", i), Size: 3, Session: id, Hash: [32]byte{1}}}
		if _, err := s.Apply(t.Context(), id, c); err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{"p1", "not in the log\xff"} {
			if err := s.(store.Keeper).Keep(t.Context(), id, part, part+strings.Repeat(" kept", 1000)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// stores opens an empty store of each kind.
func stores(t *testing.T) map[string]func() store.Store {
	n := 0
	url := pgtest.Start(t)
	d, err := postgres.Open(t.Context(), url, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return map[string]func() store.Store{
		"memory": func() store.Store { return memory.New() },
		"sqlite": func() store.Store {
			n++
			s, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "s.db")})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { s.Close() })
			return s
		},
		"postgres": func() store.Store { n++; return d.Tenant(fmt.Sprint("tenant", n)) },
	}
}

func copied(t *testing.T, from, to store.Store, o transfer.Options, want transfer.Result) {
	t.Helper()
	got, err := transfer.Copy(t.Context(), from, to, o)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func ids(t *testing.T, s store.Store) (ids []string) {
	t.Helper()
	list, err := s.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range list {
		ids = append(ids, l.Info.ID+" "+l.Origin)
	}
	return ids
}

func TestCopy_everythingIsThereAndTwiceIsOnce(t *testing.T) {
	all := stores(t)
	for a, from := range all {
		for b, to := range all {
			t.Run(a+" to "+b, func(t *testing.T) {
				from, to := from(), to()
				full(t, from)
				copied(t, from, to, transfer.Options{}, transfer.Result{Copied: 5, Kept: 10, Files: 5})
				copied(t, from, to, transfer.Options{}, transfer.Result{Same: 5})
				copied(t, to, from, transfer.Options{}, transfer.Result{Same: 5})
				if diff := cmp.Diff(ids(t, from), ids(t, to)); diff != "" {
					t.Errorf("the lists (-from +to):\n%s", diff)
				}
			})
		}
	}
}

func TestCopy_leavesWhatDiffersUnlessItIsToldTo(t *testing.T) {
	from, to := memory.New(), memory.New()
	full(t, from)
	copied(t, from, to, transfer.Options{}, transfer.Result{Copied: 5, Kept: 10, Files: 5})
	id := "ses\x00\xff3"
	if _, err := to.Apply(t.Context(), id, store.Change{Spend: []store.Spend{{Kind: "step"}}}); err != nil {
		t.Fatal(err)
	}
	copied(t, from, to, transfer.Options{}, transfer.Result{Same: 4, Different: []string{id}})
	copied(t, from, to, transfer.Options{Update: true}, transfer.Result{Same: 4, Updated: 1, Kept: 2, Files: 1})
	copied(t, from, to, transfer.Options{}, transfer.Result{Same: 5})
}

// ending is a store that ends a context after some writes.
type ending struct {
	*memory.Store
	left int
	end  func()
}

func (e *ending) Apply(ctx context.Context, id string, c store.Change) (int64, error) {
	if e.left--; e.left < 0 {
		e.end()
	}
	return e.Store.Apply(ctx, id, c)
}

func TestCopy_goesOnWhereItStopped(t *testing.T) {
	from := memory.New()
	full(t, from)
	ctx, end := context.WithCancel(t.Context())
	to := &ending{memory.New(), 2, end}
	if _, err := transfer.Copy(ctx, from, to, transfer.Options{}); !errors.Is(err, context.Canceled) {
		t.Fatalf("it ended with %v", err)
	}
	copied(t, from, to.Store, transfer.Options{}, transfer.Result{Same: 2, Copied: 3, Kept: 6, Files: 5})
}

func TestCopy_ofWhatIsReadBackOtherwiseIsAnError(t *testing.T) {
	from := memory.New()
	full(t, from)
	_, err := transfer.Copy(t.Context(), from, forgetful{memory.New()}, transfer.Options{})
	if err == nil || !strings.Contains(err.Error(), "otherwise") {
		t.Errorf("it ended with %v", err)
	}
}

// forgetful is a store that loses pins.
type forgetful struct{ *memory.Store }

func (f forgetful) Apply(ctx context.Context, id string, c store.Change) (int64, error) {
	c.Pin = nil
	return f.Store.Apply(ctx, id, c)
}
