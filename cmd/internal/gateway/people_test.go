package gateway

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/winnowhq/winnow/gateway/tenant"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/internal/pgtest"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	sums "github.com/winnowhq/winnow/store/report"
)

// of makes a token of ann's for a person.
func (l *till) of(person string) string {
	l.t.Helper()
	shown, kept, err := tenant.NewToken("ann", "", tenant.AllScopes(), time.Now(), 0)
	if kept.Owner = person; err == nil {
		err = l.book.AddToken(l.t.Context(), "test", kept)
	}
	if err != nil {
		l.t.Fatal(err)
	}
	l.look()
	return shown
}

// asking is a request that begins a conversation of its own.
func asking(word string) string {
	q := asks(llmtest.Anthropic, false, `,"tools":[{"name":"a","input_schema":{"type":"object"}}]`)
	return strings.Replace(q.body, "The quick", word+" quick", 1)
}

// The people within a tenant are told apart: in the log, in sessions, in what they cost, and in the
// audit log. What a client says of itself does not count.
func TestPeople_areToldApart(t *testing.T) {
	l := newTill(t, "", tenant.Budget{}, says)
	tokens := map[string]string{"ann@example.com": l.of("ann@example.com"), "bob@example.com": l.of("bob@example.com")}
	own := l.token
	for person, token := range tokens {
		l.token = token
		for range 2 {
			status, text := l.ask("POST", "/v1/messages", asking(person), "Anthropic-Version", "2023-06-01",
				"X-Winnow-Person", "eve@example.com")
			if status != http.StatusOK {
				t.Fatalf("%d %s", status, text)
			}
		}
	}
	l.token = own
	l.spent()
	for person := range tokens {
		for !strings.Contains(l.log.String(), "person="+person) && t.Context().Err() == nil {
			time.Sleep(time.Millisecond) // the line is written when the answer has ended
		}
	}
	kept, err := l.relays[0].tenants.stores.Open(t.Context(), "ann")
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	accounts, err := store.Relayed(t.Context(), kept, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	doc := sums.SumRelayed(accounts, session.Millis(0), time.UTC, func(string) int { return 0 })
	if len(doc.People) != 2 || doc.People[0].Person != "ann@example.com" || doc.People[1].Person != "bob@example.com" ||
		doc.People[0].Requests != 2 || doc.People[0].Billed <= 0 {
		t.Errorf("the people are %+v", doc.People)
	}
	for _, s := range doc.Sessions {
		if tokens[s.Person] == "" {
			t.Errorf("session %s is of %q", s.ID, s.Person)
		}
	}
	if len(doc.Sessions) != 2 {
		t.Errorf("%d sessions", len(doc.Sessions))
	}
	if status, _ := l.get("GET", "/~/session?id="+doc.Sessions[0].ID, tokens["bob@example.com"], ""); status != http.StatusOK {
		t.Errorf("bob looks: %d", status)
	}
	all, err := l.book.Audited(t.Context(), "ann", 1)
	if err != nil || len(all) != 1 || all[0].Did != "read" || all[0].Person != "bob@example.com" {
		t.Errorf("the audit log: %+v %v", all, err)
	}
}

// The budget of a person holds like the tenant's: through several replicas and many requests at a
// time it is exceeded by one request at most, and other people go on. A token without an owner is a
// person of its own; what a person spent is not forgotten by a replica that begins.
func TestPeople_haveBudgets(t *testing.T) {
	for kind, replicas := range map[string]int{"sqlite": 1, "postgres": 2} {
		t.Run(kind, func(t *testing.T) {
			at := ""
			if kind == "postgres" {
				at = pgtest.Start(t)
			}
			hold, met := make(chan struct{}), make(chan struct{}, 40)
			u := session.Usage{Input: 3400, Output: 2000}
			one := billOf("claude-sonnet-4-5", u)
			l := openTill(t, at, tenant.Tenant{Name: "ann", Each: tenant.Budget{Day: 2 * one}}, func(llmtest.Request) llmtest.Reply {
				met <- struct{}{}
				return llmtest.Reply{Text: "done", Usage: &u, Hold: hold}
			})
			for range replicas - 1 {
				l.relay()
			}
			bob, eve := l.of("bob@example.com"), l.of("")
			l.token = bob
			go func() {
				for range 10 {
					<-met // at the provider, or refused
				}
				close(hold)
			}()
			var all sync.WaitGroup
			var answered atomic.Int32
			for i := range 10 {
				all.Go(func() {
					q := asks(llmtest.Anthropic, false, "")
					q.through = i % replicas
					switch status, text := l.send(q); {
					case status == http.StatusOK:
						answered.Add(1)
					case status == http.StatusTooManyRequests || status == http.StatusPaymentRequired:
						if !strings.Contains(text, "bob@example.com within the tenant ann") {
							t.Errorf("whose budget is it: %s", text)
						}
						met <- struct{}{}
					default:
						t.Errorf("%d %s", status, text)
					}
				})
			}
			all.Wait()
			l.spent()
			people, err := l.book.People(t.Context(), "ann", time.Now())
			if got := people["bob@example.com"].Day; err != nil || answered.Load() == 0 || got > 3*one+1e-9 || got < one {
				t.Errorf("%d answered: $%.4f of a budget of $%.4f, one costs $%.4f, %v", answered.Load(), got, 2*one, one, err)
			}
			for people["bob@example.com"].Day < 2*one { // up to the end
				if status, text := l.send(asks(llmtest.Anthropic, false, "")); status != http.StatusOK {
					t.Fatalf("with a rest: %d %s", status, text)
				}
				l.spent()
				if people, err = l.book.People(t.Context(), "ann", time.Now()); err != nil {
					t.Fatal(err)
				}
			}
			l.relay() // which has learned nothing by itself
			q := asks(llmtest.Anthropic, false, "")
			q.through = replicas
			if status, text := l.send(q); status != http.StatusPaymentRequired || !strings.Contains(text, "bob@example.com") {
				t.Errorf("at the end: %d %s", status, text)
			}
			l.token = eve
			if status, text := l.send(q); status != http.StatusOK {
				t.Errorf("another person: %d %s", status, text)
			}
			l.spent()
			if people, err := l.book.People(t.Context(), "ann", time.Now()); err != nil || len(people) != 2 {
				t.Errorf("the people: %v %v", people, err)
			}
			refusals := 0
			for line := range strings.Lines(l.log.String()) {
				if strings.Contains(line, "refused: ") {
					if refusals++; !strings.Contains(line, " person=bob@example.com") {
						t.Errorf("the log does not say who was refused: %s", line)
					}
				}
			}
			if refusals == 0 {
				t.Error("no refusal is in the log")
			}
		})
	}
}
