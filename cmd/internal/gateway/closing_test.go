package gateway

import (
	"database/sql"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/winnowhq/winnow/gateway/job"
)

// A tenant whose newest answer is still being recorded is not closed, and nobody waits for it; when
// that is done it is.
func TestTidy_closesATenantWhileNothingIsUnderWay(t *testing.T) {
	at := filepath.Join(t.TempDir(), "store.db")
	r, _ := replica(t, at, &scribe{}, "ann")
	x, _ := r.tenants.known.Load().Tenant("ann")
	m, f, err := r.tenants.open(t.Context(), x)
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(filepath.Dir(at), "tenants", "ann.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	other, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	say := func(words string) {
		if _, err := other.ExecContext(t.Context(), words); err != nil {
			t.Error(err)
		}
	}
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		say("BEGIN IMMEDIATE") // the answer cannot be recorded
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"id":"m","type":"message","role":"assistant","model":"claude-sonnet-4-5","stop_reason":"end_turn",`+
			`"content":[{"type":"text","text":"I see."}],"usage":{"input_tokens":1000,"output_tokens":10}}`)
	}))
	defer up.Close()
	asks, err := http.NewRequest("POST", up.URL+"/v1/messages", strings.NewReader(talk("quince", 1)))
	if err != nil {
		t.Fatal(err)
	}
	asks.Header.Set("X-Api-Key", "k")
	answer, err := f.carrier.RoundTrip(asks)
	if err != nil {
		t.Fatal(err)
	}
	io.Copy(io.Discard, answer.Body)
	answer.Body.Close()
	m.leave(f)
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.tenants.tidy(time.Now().Add(3 * time.Hour))
	}()
	select {
	case <-done:
	case <-time.After(2 * time.Second):
		t.Error("closing it waits for an answer that is being recorded")
	}
	if r.tenants.states["ann"] != m || m.store == nil {
		t.Error("it is closed while an answer is being recorded")
	}
	say("ROLLBACK")
	<-done
	f.carrier.Wait()
	r.tenants.save(t.Context())
	r.tenants.tidy(time.Now().Add(3 * time.Hour))
	if r.tenants.states["ann"] != nil || !m.closed {
		t.Error("it stays open when that is done")
	}
	if s, err := r.tenants.book.Load().Spent(t.Context(), "ann", time.Now()); err != nil || s.Day == 0 {
		t.Errorf("the book knows of $%g, %v", s.Day, err)
	}
}

// Work on all stores opens no tenant: it is neither built nor kept from being closed.
func TestJobs_openNoTenant(t *testing.T) {
	r, w := replica(t, filepath.Join(t.TempDir(), "store.db"), &scribe{}, "ann", "bob")
	handlers := map[string]job.Handler{"search_index": w.index, "store_check": w.check, "expiry": w.expire, "costs": w.sum}
	for kind, h := range handlers {
		for _, key := range []string{"", "ann"} {
			if key != "" && (kind == "search_index" || kind == "store_check") {
				continue
			}
			if err := h(t.Context(), job.Attempt{Job: job.Job{Kind: kind, Key: key}}); err != nil {
				t.Errorf("%s: %v", kind, err)
			}
			if n := len(r.tenants.states); n > 0 {
				t.Errorf("%s %q has opened %d tenants", kind, key, n)
			}
		}
	}
}

// A tenant whose summary is being written beside its requests is not closed until it is written.
func TestTidy_waitsForASummary(t *testing.T) {
	model := &scribe{hold: make(chan struct{}), begun: make(chan struct{}, 1)}
	r, w := replica(t, filepath.Join(t.TempDir(), "store.db"), model, "ann")
	w.Close() // without jobs the engine of the tenant writes it
	p := newProvider(t)
	x, _ := r.tenants.known.Load().Tenant("ann")
	m, f, err := r.tenants.open(t.Context(), x)
	if err != nil {
		t.Fatal(err)
	}
	ask(t, f.carrier, p, talk("quince", 0))
	ask(t, f.carrier, p, talk("quince", 1))
	m.leave(f)
	<-model.begun
	tidy := func() {
		r.tenants.save(t.Context())
		r.tenants.tidy(time.Now().Add(3 * time.Hour))
	}
	if tidy(); r.tenants.states["ann"] != m {
		t.Error("it is closed while its summary is being written")
	}
	close(model.hold)
	r.beside.Wait()
	if tidy(); r.tenants.states["ann"] != nil {
		t.Error("it stays open when that is done")
	}
	if s, err := r.tenants.book.Load().Spent(t.Context(), "ann", time.Now()); err != nil || s.Day < 0.25 {
		t.Errorf("the book knows of $%g, %v", s.Day, err)
	}
}
