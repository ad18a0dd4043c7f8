package gateway

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/winnowhq/winnow/gateway/tenant"
	"github.com/winnowhq/winnow/internal/llmtest"
)

// says sends a sentence through a replica, in a conversation of its own.
func (l *till) says(token, text string, through int) {
	l.t.Helper()
	before := l.token
	defer func() { l.token = before }()
	l.token = token
	if status, answer := l.send(request{path: "/v1/messages", body: sentence(text), through: through}); status != http.StatusOK {
		l.t.Fatalf("%d %s", status, answer)
	}
}

// forgotten waits until no replica has the state that it had.
func (l *till) forgotten(before []*tenantState) {
	l.t.Helper()
	for i, r := range l.relays {
		for range 500 {
			if before[i] == nil || !slices.Contains(r.tenants.all(), before[i]) {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		if before[i] != nil && slices.Contains(r.tenants.all(), before[i]) {
			l.t.Errorf("replica %d goes on with what it held", i)
		}
	}
}

// states are those of ann in each replica.
func (l *till) states() (all []*tenantState) {
	for _, r := range l.relays {
		all = append(all, r.stateOf("ann"))
	}
	return all
}

// Nothing names an erased person: no table, no byte of a file, no replica. The sessions that the
// person began are gone, the stream ends, the money stays the tenant's; another person keeps
// everything.
func TestEraser_leavesNothingOfAPerson(t *testing.T) {
	const eve, bob = "eve@example.com", "bob@example.com"
	both(t, tenant.Tenant{Name: "ann", Budget: plenty}, says, func(t *testing.T, l *till) {
		eves, bobs := l.of(eve), l.of(bob)
		for through := range l.relays {
			l.says(eves, secret, through)
			l.says(bobs, "The amaranth is bob's.", through)
		}
		spent := l.spent()
		looked := slices.ContainsFunc(l.sessions(), func(id string) bool {
			status, _ := l.get("GET", "/~/session?id="+id, eves, "")
			return status == http.StatusOK
		})
		if !looked {
			t.Error("eve sees no session")
		}
		if len(l.where(eve)) < 2 || len(l.where(secret)) == 0 {
			t.Fatalf("the test looks in the wrong places: %v", l.where(eve))
		}
		before := l.states()
		q := asks(llmtest.Anthropic, true, "")
		l.provider.Inject(llmtest.HangMidStream)
		stream := l.stream(eves, "/up"+q.path, q.body, 0)
		if _, err := l.eraser().Person(t.Context(), "ann", "EVE@example.com"); !errors.Is(err, tenant.ErrNotFound) {
			t.Errorf("nobody is erased: %v", err)
		}
		receipt, err := l.eraser().Person(t.Context(), "ann", eve)
		if err != nil {
			t.Fatal(err)
		}
		select {
		case <-stream:
		case <-time.After(time.Second):
			t.Error("the person's stream goes on")
		}
		if receipt.Sessions == 0 || receipt.Messages == 0 || receipt.Texts == 0 || receipt.Tokens != 1 || receipt.Entries == 0 {
			t.Errorf("the receipt: %+v", receipt)
		}
		l.forgotten(before)
		for _, text := range []string{eve, secret} {
			if places := l.where(text); len(places) > 0 {
				t.Errorf("%q is in %v", text, places)
			}
		}
		if len(l.where(bob)) == 0 || len(l.where("The amaranth is bob's.")) == 0 {
			t.Error("nothing is left of the other one")
		}
		people, err := l.book.People(t.Context(), "ann", time.Now())
		if after := l.spent(); err != nil || len(people) != 1 || people[bob].Month == 0 || after.Month < spent.Month {
			t.Errorf("spent %+v before, %+v now, by %+v, %v", spent, after, people, err)
		}
		all, err := l.book.Audited(t.Context(), "ann", 1)
		if err != nil || len(all) != 1 || all[0].Did != "person erase" || all[0].Who != "cli:test" {
			t.Errorf("the audit log: %+v, %v", all, err)
		}
	})
}

// Nothing of a deleted session is left, in no replica either; the tenant's other sessions stay.
func TestEraser_leavesNothingOfASession(t *testing.T) {
	both(t, tenant.Tenant{Name: "ann", Budget: plenty}, says, func(t *testing.T, l *till) {
		l.says(l.token, "The amaranth stays.", 0)
		l.spent()
		kept := l.sessions()
		l.says(l.token, secret, len(l.relays)-1)
		l.spent()
		ids := slices.DeleteFunc(l.sessions(), func(id string) bool { return slices.Contains(kept, id) })
		if len(ids) != 1 || len(l.where(secret)) == 0 {
			t.Fatalf("the test looks in the wrong places: %v", ids)
		}
		before := l.states()
		receipt, err := l.eraser().Sessions(t.Context(), "ann", ids...)
		if err != nil || receipt.Sessions != 1 || receipt.Messages < 3 || receipt.Bytes == 0 {
			t.Errorf("the receipt: %+v, %v", receipt, err)
		}
		l.forgotten(before)
		if places := l.where(secret); len(places) > 0 {
			t.Errorf("it is in %v", places)
		}
		if got := l.sessions(); !slices.Equal(got, kept) || len(l.where("The amaranth stays.")) == 0 {
			t.Errorf("%v are left, want %v", got, kept)
		}
		all, err := l.book.Audited(t.Context(), "ann", 1)
		if err != nil || len(all) != 1 || all[0].Did != "session delete" || all[0].Session != ids[0] {
			t.Errorf("the audit log: %+v, %v", all, err)
		}
	})
}

// A client that goes on with a conversation while it is deleted has it made anew: the receipt
// counts it once, and says that the client is at work.
func TestEraser_aSessionAtWorkIsCountedOnce(t *testing.T) {
	l := newTill(t, "", plenty, says)
	l.says(l.token, secret, 0)
	l.spent()
	ids := l.sessions()
	kept, err := l.relays[0].tenants.stores.Open(t.Context(), "ann")
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	list, err := kept.List(t.Context())
	if err != nil || len(list) != 1 {
		t.Fatalf("%d sessions, %v", len(list), err)
	}
	before, deleted := l.states(), make(chan tenant.Erasure)
	go func() {
		defer close(deleted)
		e := l.eraser()
		e.Wait = 10 * time.Second
		receipt, err := e.Sessions(t.Context(), "ann", ids...)
		if err != nil {
			t.Error(err)
			return
		}
		deleted <- receipt
	}()
	l.forgotten(before)
	l.says(l.token, secret, 0)
	l.spent()
	if got := l.sessions(); !slices.Equal(got, ids) {
		t.Fatalf("the client has %v made anew, want %v: the test does not show what it is to show", got, ids)
	}
	receipt := <-deleted
	if receipt.Sessions != 1 || receipt.Messages != list[0].Messages {
		t.Errorf("the receipt counts %d sessions, %d messages", receipt.Sessions, receipt.Messages)
	}
	if all := strings.Join(receipt.Remains, "\n"); !strings.Contains(all, ids[0]) {
		t.Errorf("the receipt does not say that its client goes on: %s", all)
	}
	if got := l.sessions(); len(got) > 0 {
		t.Errorf("%v is left", got)
	}
}
