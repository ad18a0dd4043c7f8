package gateway

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/winnowhq/winnow/internal/pgtest"
)

// A store that can be read and not written shows on /readyz and in a metric as soon as a request meets
// that, of whatever tenant, and no longer when it can be written again, without another request.
// Requests are answered meanwhile.
func TestRelay_tellsThatItsStoreCannotBeWritten(t *testing.T) {
	c := pgtest.NewCluster(t, false)
	r, _ := replica(t, c.URL(), &scribe{}, "ann")
	var text bytes.Buffer
	r.log = slog.New(slog.NewTextHandler(&text, nil))
	p := newProvider(t)
	x, _ := r.tenants.known.Load().Tenant("ann")
	m, f, err := r.tenants.open(t.Context(), x)
	if err != nil {
		t.Fatal(err)
	}
	defer m.leave(f)
	conn, err := pgx.Connect(t.Context(), c.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	shows := func(why, metric string) {
		t.Helper()
		switch err := r.ready(t.Context()); {
		case why == "" && err != nil:
			t.Errorf("/readyz says %v", err)
		case why != "" && (err == nil || !strings.Contains(err.Error(), why)):
			t.Errorf("/readyz says %v, want that %s", err, why)
		}
		if text := metricsOf(t, r); !strings.Contains(text, "winnow_store_unwritable "+metric+"\n") {
			t.Errorf("winnow_store_unwritable is not %s", metric)
		}
	}
	ticks := make(chan time.Time)
	upkeep := Upkeep{Ticks: ticks, Look: func() []string { return nil }}
	kept := make(chan struct{})
	ctx, stop := context.WithCancel(t.Context())
	go func() { defer close(kept); upkeep.Run(ctx, r) }()
	defer func() { stop(); <-kept }()
	rounds := 0
	for _, s := range []struct{ name, breaks, mends, why string }{
		{"a full disk", `CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS
			'BEGIN RAISE EXCEPTION ''could not extend file'' USING ERRCODE = ''53100''; END';
			CREATE TRIGGER full_disk BEFORE INSERT ON message EXECUTE FUNCTION full_disk()`,
			`DROP TRIGGER full_disk ON message`, "its disk is full"},
		{"read-only", `ALTER SYSTEM SET default_transaction_read_only = on`,
			`ALTER SYSTEM RESET default_transaction_read_only`, "it is read-only"},
	} {
		t.Run(s.name, func(t *testing.T) {
			do := func(sql string) {
				t.Helper()
				for _, step := range []string{sql, `SELECT pg_reload_conf()`} {
					if _, err := conn.Exec(t.Context(), step); err != nil {
						t.Fatal(err)
					}
				}
			}
			shows("", "0")
			do(s.breaks)
			for range 20 { // the server takes a moment to read its configuration
				rounds++
				ask(t, f.carrier, p, talk("quince", rounds)) // it is answered
				if r.ready(t.Context()) != nil {
					break
				}
				time.Sleep(20 * time.Millisecond)
			}
			shows(s.why, "1")
			for range 20 {
				rounds++
				ask(t, f.carrier, p, talk("quince", rounds))
			}
			do(s.mends)
			until(t, "the mend", func() bool {
				ticks <- time.Time{}
				return r.ready(t.Context()) == nil
			})
			shows("", "0")
			if list, err := f.engine.Store().List(t.Context()); err != nil || len(list) > 1 {
				t.Errorf("%d sessions are left, %v", len(list), err)
			}
			for range 2 { // when the second is taken the first is over
				ticks <- time.Time{}
			}
			said := text.String()
			text.Reset()
			// The first request that meets it, those that fail beside it, and the minute's line.
			if n := strings.Count(said, "level=ERROR"); n == 0 || n > 6 {
				t.Errorf("of 20 requests it says %d times that something failed:\n%.3000s", n, said)
			}
			if n := strings.Count(said, "the store can be written again"); n != 1 {
				t.Errorf("it says %d times that it is over", n)
			}
		})
	}
}
