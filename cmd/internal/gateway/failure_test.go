package gateway

import (
	"bytes"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/winnowhq/winnow/team/book"
)

// While the book of tenants is away the log has a line when that begins, one a minute, and one at its
// end, for each thing that cannot be done, however often it is tried.
func TestTenants_logAnOutageOnceAMinute(t *testing.T) {
	at := filepath.Join(t.TempDir(), "store.db")
	r, _ := replica(t, at, &scribe{}, "ann")
	var text bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&text, nil))
	r.log, r.tenants.log = log, log
	now := time.Now()
	r.app.Env.Now = func() time.Time { return now }
	d := r.tenants
	x, _ := d.known.Load().Tenant("ann")
	m, f, err := d.open(t.Context(), x)
	if err != nil {
		t.Fatal(err)
	}
	m.leave(f)
	m.charge(1, now)
	d.book.Load().Close()
	const minutes = 5
	for range minutes * 30 {
		d.follow(t.Context())
		d.tick(t.Context())
		d.save(t.Context()) // as after each request
		if _, refused := d.share(t.Context(), m, "ann", 0.01, now); refused != nil {
			t.Fatal(refused)
		}
		now = now.Add(2 * time.Second)
	}
	failing := strings.Count(text.String(), `"level":"ERROR"`)
	if most := 3 * (minutes + 1); failing == 0 || failing > most {
		t.Errorf("in %d minutes there are %d lines, %d at most are wanted; it says\n%.2000s", minutes, failing, most, &text)
	}
	text.Reset()
	again, err := book.Open(t.Context(), filepath.Join(filepath.Dir(at), "tenants", "book.sqlite"), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	d.book.Store(&reading{again})
	for range 3 {
		d.follow(t.Context())
		d.tick(t.Context())
	}
	if n := strings.Count(text.String(), "again"); n < 2 || strings.Contains(text.String(), `"level":"ERROR"`) ||
		!strings.Contains(text.String(), `"lasted":"5m0s"`) {
		t.Errorf("when it is back it says\n%s", &text)
	}
	if s, err := again.Spent(t.Context(), "ann", now); err != nil || s.Day != 1 {
		t.Errorf("the book knows of $%g, %v", s.Day, err)
	}
}
