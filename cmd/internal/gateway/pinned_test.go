package gateway

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/winnowhq/winnow/gateway/tenant"
	"github.com/winnowhq/winnow/plan/rule"
)

// pin has an agent pin a text at /mcp, in the session that it used last.
func (l *till) pin(text string) {
	l.t.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pin","arguments":{"text":"` + text + `"}}}`
	r, err := http.NewRequestWithContext(l.t.Context(), "POST", "http://"+l.relays[0].Address()+"/mcp", strings.NewReader(body))
	if err != nil {
		l.t.Fatal(err)
	}
	r.Header = http.Header{"X-Winnow-Token": {l.token}, "Content-Type": {"application/json"},
		"Accept": {"application/json, text/event-stream"}}
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		l.t.Fatal(err)
	}
	defer answer.Body.Close()
	if said, _ := io.ReadAll(answer.Body); !strings.Contains(string(said), "Pinned.") {
		l.t.Fatalf("pinning: %d %s", answer.StatusCode, said)
	}
}

// sessions are the ids of ann's.
func (l *till) sessions() (ids []string) {
	l.t.Helper()
	kept, err := l.relays[0].tenants.stores.Open(l.t.Context(), "ann")
	if err != nil {
		l.t.Fatal(err)
	}
	defer kept.Close()
	list, err := kept.List(l.t.Context())
	if err != nil {
		l.t.Fatal(err)
	}
	for _, one := range list {
		ids = append(ids, one.Info.ID)
	}
	return ids
}

// A pin that an agent makes keeps no session longer than the retention, unless the tenant says so;
// one that a person makes does, also if an agent had pinned the same.
func TestExpiry_aPinOfAnAgentKeepsNothing(t *testing.T) {
	l := newTill(t, "", tenant.Budget{}, says)
	d := l.relays[0].tenants
	expired := func(what string, want bool) {
		t.Helper()
		if err := d.expire(t.Context(), "ann", time.Now().Add(31*24*time.Hour)); err != nil {
			t.Fatal(err)
		}
		if gone := len(l.sessions()) == 0; gone != want {
			t.Errorf("%s: gone %v, want %v", what, gone, want)
		}
	}
	ask := func(word string) {
		t.Helper()
		if status, text := l.send(request{path: "/v1/messages", body: asking(word)}); status != http.StatusOK {
			t.Fatalf("%d %s", status, text)
		}
		l.spent()
	}
	keep := func(yes bool) {
		t.Helper()
		if _, err := l.book.Set(t.Context(), "test", "ann", func(x *tenant.Tenant) error { x.KeepPinned = yes; return nil }); err != nil {
			t.Fatal(err)
		}
		l.look()
	}
	ask("quay")
	l.pin("Never push.")
	keep(true)
	expired("pinned by an agent, and the tenant keeps what is pinned", false)
	keep(false)
	expired("pinned by an agent", true)
	ask("bay")
	l.pin("Never push.")
	x, _ := d.known.Load().Tenant("ann")
	m, f, err := d.open(t.Context(), x)
	if err != nil {
		t.Fatal(err)
	}
	id := l.sessions()[0]
	if _, err := f.engine.Pin(t.Context(), id, rule.Pin{Text: "Never push."}); err != nil {
		t.Error(err)
	}
	m.leave(f)
	expired("pinned by a person", false)
}
