package gateway

import (
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/winnowhq/winnow/gateway/tenant"
	"github.com/winnowhq/winnow/team/book"
)

// with makes a token of ann's with scopes, which every replica knows.
func (l *till) with(scopes ...tenant.Scope) (shown string, kept tenant.Token) {
	l.t.Helper()
	shown, kept, err := tenant.NewToken("ann", "", scopes, time.Now(), 0)
	if err == nil {
		err = l.book.AddToken(l.t.Context(), "test", kept)
	}
	if err != nil {
		l.t.Fatal(err)
	}
	l.look()
	return shown, kept
}

// get asks for a route of the listener itself.
func (l *till) get(method, path, token, body string) (int, string) {
	l.t.Helper()
	r, err := http.NewRequestWithContext(l.t.Context(), method, "http://"+l.relays[0].Address()+path, strings.NewReader(body))
	if err != nil {
		l.t.Fatal(err)
	}
	r.Header.Set("X-Winnow-Token", token)
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		l.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text)
}

// A token for Prometheus shows the figures of all tenants and opens nothing else.
func TestScopes_metricsAreAllThatPrometheusGets(t *testing.T) {
	l := newTill(t, "", tenant.Budget{}, says)
	if err := l.book.Add(t.Context(), "test", tenant.Tenant{Name: "bob"}); err != nil {
		t.Fatal(err)
	}
	prometheus, _ := l.with("metrics")
	if status, text := l.get("GET", "/~/session?id=none", l.token, ""); status != http.StatusNotFound { // ann is at hand now
		t.Fatalf("%d %s", status, text)
	}
	status, text := l.get("GET", "/metrics", prometheus, "")
	if status != http.StatusOK || !strings.Contains(text, `tenant="ann"`) || !strings.Contains(text, "process_") {
		t.Errorf("the figures: %d %.300s", status, text)
	}
	for path, method := range map[string]string{"/": "GET", "/~/": "GET", "/~/events": "GET", "/~/session?id=x": "GET", "/~t/": "GET",
		"/~t/ann/": "GET", "/~t/bob/metrics": "GET", "/jobs/": "GET", "/mcp": "POST", "/~/act": "POST", "/up/v1/messages": "POST", "/metrics": "POST"} {
		if status, text := l.get(method, path, prometheus, "{}"); status < 400 {
			t.Errorf("%s %s: %d %.200s", method, path, status, text)
		}
	}
}

// Whoever may act on jobs is noted, with what is done, before it is done.
func TestScopes_jobsAreForAnAdminAndAudited(t *testing.T) {
	l := newTill(t, "", tenant.Budget{}, says)
	r := l.relays[0]
	var done []string
	r.jobs = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		done = append(done, r.Method+" "+r.URL.Path+" "+string(body))
	})
	if err := r.Change(t.Context(), r.settings, r.named, r.upstreams); err != nil {
		t.Fatal(err)
	}
	admin, kept := l.with(tenant.Admin)
	others, _ := l.with(tenant.Relay, tenant.Read, tenant.Act)
	if status, _ := l.get("POST", "/jobs/api/jobs/cancel", others, `{"ids":["7"]}`); status != http.StatusForbidden || done != nil {
		t.Errorf("without the scope admin: %d, %v", status, done)
	}
	if status, text := l.get("GET", "/jobs/", admin, ""); status != http.StatusOK {
		t.Errorf("an admin looks: %d %s", status, text)
	}
	if status, text := l.get("POST", "/jobs/api/jobs/cancel", admin, `{"ids":["7"]}`); status != http.StatusOK {
		t.Errorf("an admin cancels: %d %s", status, text)
	}
	if len(done) != 2 || done[1] != `POST /jobs/api/jobs/cancel {"ids":["7"]}` {
		t.Errorf("the page got %q", done)
	}
	all, err := l.book.Audited(t.Context(), "ann", 1)
	if err != nil || len(all) != 1 || all[0].Did != "jobs" || all[0].Who != kept.ID || all[0].What != `POST /jobs/api/jobs/cancel {"ids":["7"]}` {
		t.Errorf("the audit log: %+v %v", all, err)
	}
	here := r.tenants.book.Load()
	away, err := book.Open(t.Context(), filepath.Join(t.TempDir(), "book.sqlite"), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	away.Close()
	r.tenants.book.Store(&reading{away})
	t.Cleanup(func() { r.tenants.book.Store(here) })
	if status, _ := l.get("POST", "/jobs/api/jobs/retry", admin, `{"ids":["7"]}`); status != http.StatusServiceUnavailable || len(done) != 2 {
		t.Errorf("what cannot be noted: %d, %q", status, done)
	}
}
