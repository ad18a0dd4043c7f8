package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/winnowhq/winnow/internal/pgtest"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/postgres"
)

func equal(a, b any) bool { return reflect.DeepEqual(a, b) }

// query reads rows behind the store.
func query(t testing.TB, url, sql string) (all [][]any) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	rows, err := c.Query(t.Context(), sql)
	if err != nil {
		t.Fatal(err)
	}
	all, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) ([]any, error) { return row.Values() })
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func count(t testing.TB, url, sql string) int64 { return query(t, url, sql)[0][0].(int64) }

// TestTrips_areOneForARequestAndOneForADecision counts on the wire.
func TestTrips_areOneForARequestAndOneForADecision(t *testing.T) {
	p := pgtest.NewProxy(t, pgtest.Start(t))
	s := open(t, p.URL, postgres.Options{Connections: 1}).Tenant("acme")
	fill(t, s, "heron")
	revision, err := s.Revision(t.Context(), "ses")
	if err != nil {
		t.Fatal(err)
	}
	next := func() store.Change {
		n := revision
		return store.Change{Base: n,
			Append: []session.Message{{MessageInfo: session.MessageInfo{ID: fmt.Sprint("m", n), Role: session.User},
				Parts: []session.Part{{ID: fmt.Sprint("p", n), Type: session.TextPart, Text: strings.Repeat(fmt.Sprint(n, " text "), 1000)}}}},
			Update: []session.Message{{MessageInfo: session.MessageInfo{ID: "m", Role: session.User}}},
			Commit: []rule.Elision{{Part: fmt.Sprint("p", n), Field: rule.Text}}, Undo: []string{fmt.Sprint(n)},
			Spend: []store.Spend{{Kind: "step"}}, Pin: []rule.Pin{{ID: "pin"}}, Restore: []rule.Key{{Part: "p", Field: rule.Text}}}
	}
	do := map[string]func() error{
		"Revision": func() error { _, err := s.Revision(t.Context(), "ses"); return err },
		"State":    func() error { _, err := s.State(t.Context(), "ses"); return err },
		"Source":   func() error { _, err := s.Source(t.Context(), "ses"); return err },
		"Kept":     func() error { _, err := s.Kept(t.Context(), "ses", "p"); return err },
		"List":     func() error { _, err := s.List(t.Context()); return err },
		"Apply": func() (err error) {
			revision, err = s.Apply(t.Context(), "ses", next())
			return err
		},
	}
	for name, do := range do {
		for range 2 { // each statement is prepared once on a connection
			if err := do(); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		before := p.Trips()
		if err := do(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if n := p.Trips() - before; n != 1 {
			t.Errorf("%s takes %d round trips", name, n)
		}
	}
}

// A search of an index that has everything looks whether it has, finds places, and reads what is there.
func TestSearch_takesThreeRoundTrips(t *testing.T) {
	p := pgtest.NewProxy(t, pgtest.Start(t))
	s := open(t, p.URL, postgres.Options{Connections: 1}).Tenant("acme")
	fill(t, s, "heron")
	for i := range 3 {
		before := p.Trips()
		found, err := s.Search(t.Context(), store.Search{Words: "heron"})
		if err != nil || len(found.Hits) == 0 {
			t.Fatalf("found %+v, %v", found, err)
		}
		if n := p.Trips() - before; i == 2 && n != 3 { // the statements are prepared by then
			t.Errorf("a search takes %d round trips", n)
		}
	}
}

// TestApply_isNotWrittenTwice loses the answers of changes: each is written once, and the store says
// so.
func TestApply_isNotWrittenTwice(t *testing.T) {
	p := pgtest.NewProxy(t, pgtest.Start(t))
	s := open(t, p.URL, postgres.Options{Connections: 1}).Tenant("acme")
	p.Drop()
	if err := s.Create(t.Context(), session.Info{ID: "ses"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Apply(t.Context(), "ses", store.Change{}); err != nil { // it is prepared
		t.Fatal(err)
	}
	for i := range int64(20) {
		c := store.Change{Append: []session.Message{{MessageInfo: session.MessageInfo{ID: fmt.Sprint(i)}}}}
		if i%2 == 0 {
			c.Base = i + 2
		}
		p.Drop()
		revision, err := s.Apply(t.Context(), "ses", c)
		if err != nil || revision != i+3 {
			t.Fatalf("change %d: revision %d, %v", i, revision, err)
		}
	}
	state, err := s.State(t.Context(), "ses")
	if err != nil || state.Messages != 20 || state.Revision != 22 {
		t.Errorf("after 20 changes there are %d messages at revision %d, %v", state.Messages, state.Revision, err)
	}
	p.Drop()
	if _, err := s.Apply(t.Context(), "new", store.Change{Create: &session.Info{ID: "new"}}); err != nil {
		t.Errorf("creating with a change: %v", err)
	}
	p.Drop()
	if err := s.Delete(t.Context(), "ses"); err != nil {
		t.Errorf("deleting: %v", err)
	}
}

// TestStore_outlivesItsServer ends the server's processes, kills and restarts it: what was asked
// meanwhile is done.
func TestStore_outlivesItsServer(t *testing.T) {
	if testing.Short() {
		t.Skip("it restarts a server")
	}
	c := pgtest.NewCluster(t, false)
	s := open(t, c.URL(), postgres.Options{}).Tenant("")
	if err := s.Create(t.Context(), session.Info{ID: "ses"}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	written := make(chan int)
	go func() {
		n := 0
		for base := int64(1); ctx.Err() == nil; n++ {
			revision, err := s.Apply(t.Context(), "ses", store.Change{Base: base, Spend: []store.Spend{{Kind: "step"}}})
			if err != nil {
				t.Errorf("change %d: %v", n, err)
				break
			}
			base = revision
		}
		written <- n
	}()
	for range 20 {
		query(t, c.URL(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'winnow'`)
	}
	for range 2 {
		if err := c.Down("fast"); err != nil {
			t.Error(err)
		}
		if err := c.Up(); err != nil {
			t.Error(err)
		}
	}
	stop()
	n := <-written
	state, err := s.State(t.Context(), "ses")
	if err != nil || len(state.Spent) != n || n == 0 {
		t.Errorf("%d changes were written, %d are there, %v", n, len(state.Spent), err)
	}
	t.Logf("%d changes", n)
}

// Errors say what to do, and never a password.
func TestOpen_errorsHaveNoPassword(t *testing.T) {
	good := pgtest.Start(t)
	base, err := url.Parse(good)
	if err != nil {
		t.Fatal(err)
	}
	with := func(change func(*url.URL)) string {
		u := *base
		u.User = url.UserPassword(u.User.Username(), "canary")
		change(&u)
		return u.String()
	}
	for name, c := range map[string]struct{ url, want string }{
		"no such database": {with(func(u *url.URL) { u.Path = "/nosuch" }), "createdb"},
		"no such user":     {with(func(u *url.URL) { u.User = url.UserPassword("nosuch", "canary") }), "user"},
		"no server":        {"postgres://me:canary@127.0.0.1:1/x", "check that the server runs"},
		"no URL":           {"postgres://me:canary@127.0.0.1:x/x", "not the URL"},
		"bad parameter":    {"postgres://me:canary@127.0.0.1/x?sslmode=canary", "not the URL"},
	} {
		_, err := postgres.Open(t.Context(), c.url, postgres.Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if shown := postgres.Redacted("postgres://me:canary@h:6000/db?password=canary&tenant=acme"); shown != "postgres://h:6000/db?tenant=acme" {
		t.Errorf("it is shown as %s", shown)
	}
}

func TestOpen_refusesWhatIsNewerAndUpgradesOnce(t *testing.T) {
	at := pgtest.Start(t)
	if _, err := postgres.Open(t.Context(), at, postgres.Options{ReadOnly: true}); err == nil || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("read-only without tables: %v", err)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			d, err := postgres.Open(context.Background(), at, postgres.Options{})
			if err != nil {
				t.Error(err)
				return
			}
			d.Close()
		})
	}
	all.Wait()
	read := open(t, at, postgres.Options{ReadOnly: true}).Tenant("")
	if err := read.Create(t.Context(), session.Info{ID: "ses"}); err == nil || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("a change of what is read-only: %v", err)
	}
	query(t, at, `INSERT INTO winnow_version (version_id, is_applied) VALUES (999, true) RETURNING id`)
	if _, err := postgres.Open(t.Context(), at, postgres.Options{}); err == nil || !strings.Contains(err.Error(), "newer version") {
		t.Errorf("tables of version 999: %v", err)
	}
}

// TestApply_besideAnOlderGateway writes to one session with the function that gateways call which
// began before version 6 of the tables, and with a batch.
func TestApply_besideAnOlderGateway(t *testing.T) {
	url := pgtest.Start(t)
	s := open(t, url, postgres.Options{}).Tenant("acme")
	if err := s.Create(t.Context(), session.Info{ID: "ses"}); err != nil {
		t.Fatal(err)
	}
	given := `CASE name WHEN '_tenant' THEN quote_literal('acme') WHEN '_id' THEN quote_literal('ses') WHEN '_base' THEN '%d'
		WHEN '_spend' THEN quote_literal('{"{\"kind\":\"old\"}"}') WHEN '_spend_relayed' THEN quote_literal('{NULL}')
		ELSE CASE WHEN format_type(type, NULL) LIKE '%%[]' THEN quote_literal('{}') ELSE 'NULL' END END`
	for revision := int64(1); revision < 9; revision += 2 {
		arguments := query(t, url, fmt.Sprintf(`SELECT string_agg(`+given+`, ',' ORDER BY place) FROM pg_proc,
			unnest(proargtypes, proargnames) WITH ORDINALITY AS a(type, name, place)
			WHERE proname = 'winnow_apply' AND pronamespace = current_schema()::regnamespace`, revision))[0][0]
		if n := count(t, url, fmt.Sprintf(`SELECT winnow_apply(%s)`, arguments)); n != revision+1 {
			t.Fatalf("the older gateway wrote revision %d after %d", n, revision)
		}
		for _, base := range []int64{revision, revision + 1} {
			n, err := s.Apply(t.Context(), "ses", store.Change{Base: base, Spend: []store.Spend{{Kind: "new"}}})
			if stale := base == revision; stale != errors.Is(err, store.ErrConflict) || !stale && n != revision+2 {
				t.Fatalf("a change of revision %d: revision %d, %v", base, n, err)
			}
		}
	}
	state, err := s.State(t.Context(), "ses")
	if err != nil || len(state.Spent) != 8 || state.Spent[6].Kind != "old" || state.Spent[7].Kind != "new" {
		t.Errorf("it was spent %+v, %v", state.Spent, err)
	}
}

// Many tenants of a database ask it something once at a time, and a question ends with the database,
// not with who waits for it.
func TestStore_asksOnce(t *testing.T) {
	d := open(t, pgtest.Start(t), postgres.Options{})
	var asked atomic.Int64
	answer := make(chan struct{})
	ask := func(ctx context.Context) {
		asked.Add(1)
		select {
		case <-answer:
		case <-ctx.Done():
		}
	}
	var all []<-chan struct{}
	for _, tenant := range []string{"ann", "bob", "cara"} {
		all = append(all, d.Tenant(tenant).Once("read", ask))
	}
	answer <- struct{}{}
	for _, ended := range all {
		<-ended
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("it was asked %d times", n)
	}
	again, other := d.Tenant("ann").Once("read", ask), d.Tenant("ann").Once("write", ask)
	d.Close()
	<-again
	<-other
	if n := asked.Load(); n != 3 {
		t.Errorf("it was asked %d times, want 3", n)
	}
}
