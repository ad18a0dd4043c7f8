package postgres_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/winnowhq/winnow/internal/pgtest"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/postgres"
)

// ended notes the statements that the server ended with an error.
type ended struct {
	mu    sync.Mutex
	codes []string
}

func (e *ended) note(err error) {
	if told, ok := err.(*pgconn.PgError); ok {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.codes = append(e.codes, told.Code)
	}
}

func (e *ended) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}
func (e *ended) TraceQueryEnd(_ context.Context, _ *pgx.Conn, d pgx.TraceQueryEndData) { e.note(d.Err) }
func (e *ended) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return ctx
}
func (e *ended) TraceBatchQuery(_ context.Context, _ *pgx.Conn, d pgx.TraceBatchQueryData) {
	e.note(d.Err)
}
func (e *ended) TraceBatchEnd(_ context.Context, _ *pgx.Conn, d pgx.TraceBatchEndData) { e.note(d.Err) }

// crossing is a database in which two writers can be made to meet.
type crossing struct {
	t     *testing.T
	url   string
	name  string // of its connections
	s     *postgres.Store
	ended ended
}

func newCrossing(t *testing.T) *crossing {
	c := &crossing{t: t}
	u, err := url.Parse(pgtest.Start(t))
	if err != nil {
		t.Fatal(err)
	}
	values := u.Query()
	c.name = t.Name()[:min(len(t.Name()), 60)] // the server keeps no more
	values.Set("application_name", c.name)
	u.RawQuery = values.Encode()
	c.url = u.String()
	c.s = open(t, c.url, postgres.Options{Tracer: &c.ended}).Tenant("acme")
	return c
}

func (c *crossing) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// waiting waits until so many statements wait for a lock.
func (c *crossing) waiting(n int64) {
	c.t.Helper()
	sql := fmt.Sprintf(`SELECT count(*) FROM pg_stat_activity WHERE application_name = '%s' AND wait_event_type = 'Lock'`,
		c.name)
	for range 500 {
		if count(c.t, c.url, sql) >= n {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	c.t.Fatalf("%d statements do not wait", n)
}

// meet holds a lock, lets two writers run against it, one after the other, and releases it. Neither
// may be ended by a deadlock.
func (c *crossing) meet(lock string, first, second func() error) {
	c.t.Helper()
	conn, err := pgx.Connect(c.t.Context(), c.url)
	c.must(err)
	defer conn.Close(c.t.Context())
	tx, err := conn.Begin(c.t.Context())
	c.must(err)
	_, err = tx.Exec(c.t.Context(), lock)
	c.must(err)
	var all sync.WaitGroup
	all.Go(func() {
		if err := first(); err != nil {
			c.t.Error(err)
		}
	})
	c.waiting(1)
	all.Go(func() {
		if err := second(); err != nil {
			c.t.Error(err)
		}
	})
	c.waiting(2)
	c.must(tx.Rollback(c.t.Context()))
	all.Wait()
	for _, code := range c.ended.codes {
		if code == "40P01" {
			c.t.Error("the server ended a deadlock")
		}
	}
}

// said is a message with a text that is kept apart.
func said(id, text string) session.Message {
	return session.Message{MessageInfo: session.MessageInfo{ID: id, Role: session.User},
		Parts: []session.Part{{ID: "p" + id, Type: session.TextPart, Text: strings.Repeat(text+" ", 1000)}}}
}

// Two changes replace messages of two sessions that share texts, in opposite orders.
func TestApply_doesNotDeadlockOverSharedTexts(t *testing.T) {
	c := newCrossing(t)
	texts := []string{"heron", "stork", "crane"}
	for i, id := range []string{"one", "two"} {
		var log []session.Message
		for k := range texts {
			if i == 1 {
				k = len(texts) - 1 - k
			}
			log = append(log, said(texts[k], texts[k]))
		}
		_, err := c.s.Apply(t.Context(), id, store.Change{Create: &session.Info{ID: id}, Append: log})
		c.must(err)
	}
	replace := func(id string, order ...string) func() error {
		return func() error {
			change := store.Change{Base: 2}
			for _, m := range order {
				change.Update = append(change.Update, said(m, id+" says something else"))
			}
			_, err := c.s.Apply(t.Context(), id, change)
			return err
		}
	}
	stork := query(t, c.url, `SELECT encode(content, 'hex') FROM apart WHERE message = 1 AND session = 1`)[0][0]
	c.meet(fmt.Sprintf(`INSERT INTO garbage VALUES ('acme', '\x%s')`, stork),
		replace("one", "heron", "stork", "crane"), replace("two", "crane", "stork", "heron"))
	for _, id := range []string{"one", "two"} {
		for m, err := range c.s.Messages(t.Context(), id) {
			if err != nil || !strings.HasPrefix(m.Parts[0].Text, id) {
				t.Errorf("session %s has the message %+v, %v", id, m, err)
			}
		}
	}
	if h, err := c.s.Check(t.Context()); err != nil || len(h.Problems) > 0 {
		t.Errorf("it is not sound: %q, %v", h.Problems, err)
	}
}

// A session is deleted while the index takes up a message of it that has changed, and a text that
// was kept for it.
func TestIndex_doesNotDeadlockWithDelete(t *testing.T) {
	for name, change := range map[string]func(c *crossing) error{
		"a message that changed": func(c *crossing) error {
			_, err := c.s.Apply(t.Context(), "ses", store.Change{Base: 2, Update: []session.Message{said("m", "stork")}})
			return err
		},
		"a text that was kept": func(c *crossing) error { return c.s.Keep(t.Context(), "ses", "pm", "stork") },
	} {
		t.Run(name, func(t *testing.T) {
			c := newCrossing(t)
			_, err := c.s.Apply(t.Context(), "ses", store.Change{Create: &session.Info{ID: "ses"},
				Append: []session.Message{said("m", "heron")}})
			c.must(err)
			c.must(c.s.Index(t.Context(), nil))
			c.must(change(c))
			c.meet(`LOCK TABLE found IN SHARE MODE`,
				func() error { return c.s.Delete(t.Context(), "ses") },
				func() error { return c.s.Index(t.Context(), nil) })
			if n := count(t, c.url, `SELECT (SELECT count(*) FROM found) + (SELECT count(*) FROM stale)`); n != 0 {
				t.Errorf("%d rows are left of the index", n)
			}
		})
	}
}

// Two imports remember the same files in opposite orders.
func TestSetFiles_doesNotDeadlock(t *testing.T) {
	c := newCrossing(t)
	set := func(paths ...string) func() error {
		return func() error {
			var files []store.File
			for _, path := range paths {
				files = append(files, store.File{Path: path})
			}
			return c.s.SetFiles(t.Context(), files...)
		}
	}
	c.must(set("/a", "/b", "/c")())
	c.meet(`SELECT FROM file WHERE path = '/b' FOR UPDATE`, set("/a", "/b", "/c"), set("/c", "/b", "/a"))
}
