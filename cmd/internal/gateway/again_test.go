package gateway

import (
	"context"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/winnowhq/winnow/gateway/serve"
	"github.com/winnowhq/winnow/gateway/tenant"
	"github.com/winnowhq/winnow/internal/pgtest"
)

// tokenOf makes a token of a tenant, which every replica knows.
func (l *till) tokenOf(name string) string {
	l.t.Helper()
	shown, kept, err := tenant.NewToken(name, "", tenant.AllScopes(), time.Now(), 0)
	if err == nil {
		err = l.book.AddToken(l.t.Context(), "test", kept)
	}
	if err != nil {
		l.t.Fatal(err)
	}
	l.look()
	return shown
}

// look has every replica read the book.
func (l *till) look() {
	l.t.Helper()
	for _, r := range l.relays {
		if _, err := r.tenants.look(l.t.Context(), true); err != nil {
			l.t.Fatal(err)
		}
	}
}

// feed is the first event of a page: everything that it shows.
func (l *till) feed(through int, token string) string {
	l.t.Helper()
	ctx, leave := context.WithTimeout(l.t.Context(), 10*time.Second)
	defer leave()
	r, err := http.NewRequestWithContext(ctx, "GET", "http://"+l.relays[through].Address()+"/~/events", nil)
	if err != nil {
		l.t.Fatal(err)
	}
	r.Header.Set("X-Winnow-Token", token)
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		l.t.Fatal(err)
	}
	defer answer.Body.Close()
	var text strings.Builder
	part := make([]byte, 64<<10)
	for !strings.Contains(text.String(), "\n\n") {
		n, err := answer.Body.Read(part)
		text.Write(part[:n])
		if err != nil {
			break
		}
	}
	return text.String()
}

// A tenant that is added under the name of a removed one inherits nothing, through any replica that
// served the one before: no session, nothing spent, no budget that is used up, no entry of the
// audit log, and no stream that is under way.
func TestTenant_aNameThatComesAgainInheritsNothing(t *testing.T) {
	for kind, replicas := range map[string]int{"sqlite": 1, "postgres": 2} {
		t.Run(kind, func(t *testing.T) {
			at := ""
			if kind == "postgres" {
				at = pgtest.Start(t)
			}
			budget := tenant.Budget{Day: 0.0001} // one request's worth
			l := newTill(t, at, budget, says)
			for range replicas - 1 {
				l.relay()
			}
			if status, text := l.send(request{path: "/v1/messages", body: asking("first")}); status != http.StatusOK {
				t.Fatalf("%d %s", status, text)
			}
			if l.spent().Day == 0 {
				t.Fatal("nothing was spent")
			}
			id := regexp.MustCompile(`live_[0-9a-f]+`).FindString(l.feed(0, l.token))
			for through := range replicas {
				q := request{path: "/v1/messages", body: asking("second"), through: through}
				if status, text := l.send(q); status != http.StatusPaymentRequired {
					t.Errorf("the budget is used up: %d %s", status, text)
				}
			}
			if status, _ := l.get("GET", "/~/session?id="+id, l.token, ""); id == "" || status != http.StatusOK {
				t.Fatalf("ann sees her session %s: %d", id, status)
			}
			for _, do := range []error{l.book.Remove(t.Context(), "test", "ann"),
				l.book.Add(t.Context(), "test", tenant.Tenant{Name: "ann", Budget: budget})} {
				if do != nil {
					t.Fatal(do)
				}
			}
			l.token = l.tokenOf("ann")
			for through := range replicas {
				if text := l.feed(through, l.token); strings.Contains(text, "live_") {
					t.Errorf("the page through %d shows the sessions of the one before: %.300s", through, text)
				}
			}
			if status, text := l.get("GET", "/~/session?id="+id, l.token, ""); status != http.StatusNotFound {
				t.Errorf("a session of the one before: %d %.200s", status, text)
			}
			if _, text := l.get("GET", "/~t/", l.token, ""); !strings.Contains(text, `"spent":{"day":0,"month":0}`) {
				t.Errorf("spent by the one before: %s", text)
			}
			q := request{path: "/v1/messages", body: asking("third"), through: replicas - 1}
			if status, text := l.send(q); status != http.StatusOK {
				t.Errorf("the budget of the one before counts: %d %s", status, text)
			}
		})
	}
}

// signedThen is a sign-in at a time, whatever a browser shows.
type signedThen struct {
	http.Handler
	at time.Time
}

func (s signedThen) Viewer(*http.Request) *serve.Client {
	return &serve.Client{Tenant: "ann", Who: "oidc:eve", Scopes: tenant.Scopes{tenant.Read}, Since: s.at}
}

// A sign-in for a tenant that was removed shows nothing of the one that has its name now.
func TestTenant_aSignInIsForTheTenantOfThatTime(t *testing.T) {
	l := newTill(t, "", plenty, says)
	r := l.relays[0]
	asks, err := http.NewRequest("GET", "/", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.tenants.signIn = signedThen{at: time.Now()}
	if r.tenants.Viewer(asks) == nil {
		t.Error("who has signed in sees nothing")
	}
	r.tenants.signIn = signedThen{at: time.Now().Add(-time.Minute)} // before ann was added
	if r.tenants.Viewer(asks) != nil {
		t.Error("who signed in before ann was added sees her sessions")
	}
}
