package postgres_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/winnowhq/winnow/internal/pgtest"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/postgres"
)

// TestPlans_ofATenantWhoIsNew holds that a method reads the rows of its session alone, whatever the
// server knows of the tables: it may have looked at them before the tenant had any rows, and then
// believes that there are none, and that all ways to them cost the same.
func TestPlans_ofATenantWhoIsNew(t *testing.T) {
	for name, c := range map[string]struct{ old, looked bool }{
		"nothing is known":         {},
		"known when empty":         {looked: true},
		"known of another tenant":  {old: true, looked: true},
		"nothing is known of many": {old: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			planned(t, c.old, c.looked)
		})
	}
}

func planned(t *testing.T, old, looked bool) {
	cluster := pgtest.NewCluster(t, false)
	query(t, cluster.URL(), `ALTER SYSTEM SET autovacuum = off`)
	query(t, cluster.URL(), `SELECT pg_reload_conf()`)
	const sessions, messages = 20, 60
	large := strings.Repeat("a text that is kept apart. ", 200)
	grow := func(tenant string) {
		d := open(t, cluster.URL(), postgres.Options{})
		defer d.Close()
		s := d.Tenant(tenant)
		for n := range sessions {
			log := make([]session.Message, messages)
			for i := range log {
				id := fmt.Sprint("m", i)
				log[i] = session.Message{MessageInfo: session.MessageInfo{ID: id, Role: session.User}, Parts: []session.Part{
					{ID: "p" + id, Type: session.TextPart, Text: fmt.Sprint(tenant, n, i, large)}}}
			}
			id := fmt.Sprint("ses", n)
			if _, err := s.Apply(t.Context(), id, store.Change{Create: &session.Info{ID: id}, Append: log}); err != nil {
				t.Fatal(err)
			}
		}
	}
	// What a query reads: rows of tables, and entries of indexes, which the server counts when a
	// connection ends.
	read := func() map[string]int64 {
		for count(t, cluster.URL(), `SELECT count(*) FROM pg_stat_activity
			WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`) > 0 {
			time.Sleep(10 * time.Millisecond)
		}
		all := map[string]int64{}
		for _, row := range query(t, cluster.URL(), `SELECT relname::text, (seq_tup_read + coalesce(idx_tup_fetch, 0) + (
			SELECT coalesce(sum(idx_tup_read), 0) FROM pg_stat_user_indexes AS i WHERE i.relid = t.relid))::bigint
			FROM pg_stat_user_tables AS t`) {
			all[row[0].(string)] = row[1].(int64)
		}
		return all
	}
	open(t, cluster.URL(), postgres.Options{}).Close()
	if old {
		grow("old")
	}
	if looked {
		query(t, cluster.URL(), `ANALYZE`)
	}
	grow("new")
	uses := map[string]func(s *postgres.Store, id string) error{
		"Update": func(s *postgres.Store, id string) error {
			revision, err := s.Revision(t.Context(), id)
			if err == nil {
				_, err = s.Apply(t.Context(), id, store.Change{Base: revision, Update: []session.Message{{
					MessageInfo: session.MessageInfo{ID: "m7", Role: session.User},
					Parts:       []session.Part{{ID: "pm7", Type: session.TextPart, Text: id + large}}}}})
			}
			return err
		},
		"Append": func(s *postgres.Store, id string) error {
			_, err := s.Apply(t.Context(), id, store.Change{Append: []session.Message{{
				MessageInfo: session.MessageInfo{ID: "new", Role: session.User},
				Parts:       []session.Part{{ID: "pnew", Type: session.TextPart, Text: id + large + large}}}}})
			return err
		},
		"Commit": func(s *postgres.Store, id string) error {
			revision, err := s.Revision(t.Context(), id)
			if err == nil {
				_, err = s.Apply(t.Context(), id, store.Change{Base: revision,
					Commit: []rule.Elision{{Part: "pm7", Field: rule.Text}}})
			}
			return err
		},
		"State": func(s *postgres.Store, id string) error { _, err := s.State(t.Context(), id); return err },
		"Messages": func(s *postgres.Store, id string) error {
			for _, err := range s.Messages(t.Context(), id) {
				if err != nil {
					return err
				}
			}
			return nil
		},
		"Family":                 func(s *postgres.Store, id string) error { _, err := s.Family(t.Context(), id); return err },
		"index what was updated": func(s *postgres.Store, id string) error { return s.Index(t.Context(), nil) },
		"Keep":                   func(s *postgres.Store, id string) error { return s.Keep(t.Context(), id, "pm7", large) },
	}
	for _, name := range slices.Sorted(maps.Keys(uses)) {
		before := read()
		d := open(t, cluster.URL(), postgres.Options{Connections: 1})
		for n := range sessions {
			if err := uses[name](d.Tenant("new"), fmt.Sprint("ses", n)); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		d.Close()
		// Of each message a handful of rows at most: itself, what is apart, the content, in a table
		// and in an index, for a few statements. A wrong plan read ten times that.
		for table, rows := range read() {
			if rows -= before[table]; rows > sessions*messages*8 {
				t.Errorf("%s of %d sessions with %d messages each reads %d rows of %s", name, sessions, messages, rows, table)
			}
		}
	}
}
