package gateway

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/winnowhq/winnow/gateway/serve"
	"github.com/winnowhq/winnow/gateway/tenant"
	"github.com/winnowhq/winnow/internal/llmtest"
)

// damage puts something that is no store in the place of a tenant's file, until it is mended.
func damage(t *testing.T, at, name string) (mend func()) {
	t.Helper()
	file := filepath.Join(filepath.Dir(at), "tenants", name+".db")
	if err := os.WriteFile(file, []byte(strings.Repeat("this is no database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
}

// A tenant whose file cannot be opened is on /readyz, and once in the log, however often it asks and
// the probe is asked; when the file is mended all is well without a request.
func TestTenants_whoCannotBeServedIsOnReadyz(t *testing.T) {
	l := newTill(t, "", tenant.Budget{}, says)
	mend := damage(t, l.at, "ann")
	q := asks(llmtest.Anthropic, false, "")
	for range 20 {
		if status, text := l.get("POST", "/up"+q.path, l.token, q.body); status != 503 {
			t.Fatalf("%d %s", status, text)
		}
		if status, text := l.get("GET", "/metrics", l.token, ""); status != 200 { // those of all tenants
			t.Fatalf("%d %s", status, text)
		}
		if status, text := l.get("GET", "/~/events", l.token, ""); status != 503 {
			t.Fatalf("%d %s", status, text)
		}
		if status, text := l.get("GET", "/readyz", "", ""); status != 503 || text != "not ready: a tenant cannot be served: the log says which, and why\n" {
			t.Errorf("/readyz: %d %s", status, text)
		}
	}
	if n := strings.Count(l.log.String(), "a tenant cannot be served\" tenant=ann"); n != 1 {
		t.Errorf("the log says %d times that ann cannot be served:\n%.2000s", n, l.log.String())
	}
	if n := strings.Count(l.log.String(), `msg="not ready"`); n != 1 {
		t.Errorf("the log says %d times that it is not ready:\n%.2000s", n, l.log.String())
	}
	mend()
	for late := time.After(10 * time.Second); ; {
		status, text := l.get("GET", "/readyz", "", "")
		if status == 200 {
			break
		}
		select {
		case <-late:
			t.Fatalf("the file is mended, and /readyz says %d %s", status, text)
		case <-time.After(100 * time.Millisecond):
		}
	}
	for _, want := range []string{`msg="a tenant can be served again" tenant=ann`, `msg="ready again"`} {
		if n := strings.Count(l.log.String(), want); n != 1 {
			t.Errorf("the log says %d times %s:\n%.2000s", n, want, l.log.String())
		}
	}
}

// The log has one line a minute for each tenant that cannot be served, with how often it asked.
func TestTenants_logWhoCannotBeServedOnceAMinute(t *testing.T) {
	at := filepath.Join(t.TempDir(), "store.db")
	r, _ := replica(t, at, &scribe{}, "ann", "bob")
	var text bytes.Buffer
	d := r.tenants
	d.log = slog.New(slog.NewTextHandler(&text, nil))
	now := time.Now()
	r.app.Env.Now = func() time.Time { return now }
	damage(t, at, "ann")
	damage(t, at, "bob")
	const minutes = 3
	for range minutes * 60 {
		for _, name := range []string{"ann", "bob"} {
			if _, _, err := d.Enter(t.Context(), &serve.Client{Tenant: name}, true); err == nil {
				t.Fatalf("%s is served", name)
			}
		}
		now = now.Add(time.Second)
	}
	for _, name := range []string{"ann", "bob"} {
		if n := strings.Count(text.String(), "tenant="+name); n != minutes {
			t.Errorf("in %d minutes there are %d lines about %s:\n%s", minutes, n, name, &text)
		}
	}
	if !strings.Contains(text.String(), "tries=121") {
		t.Errorf("it does not say how often somebody asked:\n%s", &text)
	}
}
