package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/postgres"
)

// requests are the changes that requests through a gateway make to a session.
func requests(ctx context.Context, s *postgres.Store) map[string]func() error {
	n := 0
	change := func(make func(revision int64) store.Change) func() error {
		return func() error {
			revision, err := s.Revision(ctx, "ses")
			if err != nil {
				return err
			}
			n++
			_, err = s.Apply(ctx, "ses", make(revision))
			return err
		}
	}
	return map[string]func() error{
		"a message is added": change(func(revision int64) store.Change {
			return store.Change{Base: revision, Append: []session.Message{said(fmt.Sprint("new", n), fmt.Sprint("new ", n))},
				Spend: []store.Spend{{Kind: "step"}}}
		}),
		"a message changes": change(func(revision int64) store.Change {
			return store.Change{Base: revision, Update: []session.Message{said("m", fmt.Sprint("changed ", n))}}
		}),
		"a decision": change(func(revision int64) store.Change {
			return store.Change{Base: revision, Commit: []rule.Elision{{Part: "pm", Field: rule.Text}}}
		}),
		"a text is kept":    func() error { n++; return s.Keep(ctx, "ses", "pm", fmt.Sprint("kept ", n)) },
		"the state is read": func() error { _, err := s.State(ctx, "ses"); return err },
		"the log is read": func() error {
			for _, err := range s.Messages(ctx, "ses") {
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// No request writes to the index of words, or waits for who does: here the index takes up a session
// of which a message is new, one has changed and a text was kept, and does not get on.
func TestIndex_holdsUpNoRequest(t *testing.T) {
	c := newCrossing(t)
	_, err := c.s.Apply(t.Context(), "ses", store.Change{Create: &session.Info{ID: "ses"},
		Append: []session.Message{said("m", "heron")}})
	c.must(err)
	c.must(c.s.Index(t.Context(), nil))
	for name, do := range requests(t.Context(), c.s) {
		if err := do(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	query(t, c.url, `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN RAISE EXCEPTION 'the index is written'; END $$`)
	query(t, c.url, `CREATE TRIGGER refuse BEFORE INSERT OR UPDATE OR DELETE ON found EXECUTE FUNCTION refuse()`)
	for name, do := range requests(t.Context(), c.s) {
		if err := do(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	query(t, c.url, `DROP TRIGGER refuse ON found`)

	conn, err := pgx.Connect(t.Context(), c.url)
	c.must(err)
	defer conn.Close(t.Context())
	tx, err := conn.Begin(t.Context())
	c.must(err)
	_, err = tx.Exec(t.Context(), `LOCK TABLE found IN SHARE MODE`) // nobody can write to it
	c.must(err)
	done := make(chan error)
	go func() { done <- c.s.Index(t.Context(), nil) }()
	c.waiting(1)
	for name, do := range requests(t.Context(), c.s) {
		began := time.Now()
		ended := make(chan error, 1)
		go func() { ended <- do() }()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("%s while the index is written: %v", name, err)
			}
		case <-time.After(2 * time.Second):
			t.Errorf("%s waits for the index", name)
		}
		t.Logf("%s: %s", name, time.Since(began).Round(time.Millisecond))
	}
	c.must(tx.Rollback(t.Context()))
	c.must(<-done)
	found, err := c.s.Search(t.Context(), store.Search{Words: "changed"})
	if err != nil || found.Total != 1 || found.Behind != 0 {
		t.Errorf("afterwards it finds %+v, %v", found, err)
	}
}

// An index that is given up leaves nothing on the disk once no tenant has one, and nothing is noted
// for it any more.
func TestKeepIndex_givesItsRoomBack(t *testing.T) {
	c := newCrossing(t)
	other := open(t, c.url, postgres.Options{}).Tenant("other")
	for _, s := range []*postgres.Store{c.s, other} {
		for n := range 45 {
			id := fmt.Sprint("ses", n)
			_, err := s.Apply(t.Context(), id, store.Change{Create: &session.Info{ID: id},
				Append: []session.Message{said("m", fmt.Sprint("heron ", n))}})
			c.must(err)
		}
		c.must(s.Index(t.Context(), nil))
	}
	c.must(c.s.KeepIndex(t.Context(), false))
	if n := count(t, c.url, `SELECT count(*) FROM found WHERE tenant = 'acme'`); n != 0 {
		t.Errorf("%d documents are left", n)
	}
	if found, err := other.Search(t.Context(), store.Search{Words: "heron"}); err != nil || found.Total != 45 || found.Scan != nil {
		t.Errorf("the other tenant finds %d, %v", found.Total, err)
	}
	c.must(other.KeepIndex(t.Context(), false))
	if n := count(t, c.url, `SELECT pg_relation_size('found')`); n != 0 {
		t.Errorf("the documents take %d bytes of the disk", n)
	}
	_, err := c.s.Apply(t.Context(), "ses1", store.Change{Base: 2, Update: []session.Message{said("m", "stork")}})
	c.must(err)
	if n := count(t, c.url, `SELECT count(*) FROM stale`); n != 0 {
		t.Errorf("%d messages are noted for the index", n)
	}
	for _, s := range []*postgres.Store{c.s, other} {
		if h, err := s.Check(t.Context()); err != nil || len(h.Problems) > 0 {
			t.Errorf("it is not sound: %q, %v", h.Problems, err)
		}
	}
}

// A search that comes while somebody else brings the index up to date does not wait for that: it
// finds what is in it, and says how much is not.
func TestSearch_doesNotWaitForTheIndex(t *testing.T) {
	c := newCrossing(t)
	_, err := c.s.Apply(t.Context(), "ses", store.Change{Create: &session.Info{ID: "ses"},
		Append: []session.Message{said("m", "heron")}})
	c.must(err)
	c.must(c.s.Index(t.Context(), nil))
	_, err = c.s.Apply(t.Context(), "ses", store.Change{Base: 2, Append: []session.Message{said("n", "heron")}})
	c.must(err)
	conn, err := pgx.Connect(t.Context(), c.url)
	c.must(err)
	defer conn.Close(t.Context())
	tx, err := conn.Begin(t.Context())
	c.must(err)
	_, err = tx.Exec(t.Context(), `SELECT pg_advisory_xact_lock(hashtextextended('winnow index acme', 0))`)
	c.must(err)
	ctx, stop := context.WithTimeout(t.Context(), 3*time.Second)
	defer stop()
	if err := c.s.Index(ctx, nil); !errors.Is(err, store.ErrLocked) {
		t.Errorf("the index, while somebody is at it: %v", err)
	}
	found, err := c.s.Search(ctx, store.Search{Words: "heron"})
	if err != nil || found.Total != 1 || found.Behind != 1 {
		t.Errorf("it finds %d, %d were not searched, %v", found.Total, found.Behind, err)
	}
	c.must(tx.Rollback(t.Context()))
	found, err = c.s.Search(t.Context(), store.Search{Words: "heron"})
	if err != nil || found.Total != 2 || found.Behind != 0 {
		t.Errorf("afterwards it finds %d, %d were not searched, %v", found.Total, found.Behind, err)
	}
}
