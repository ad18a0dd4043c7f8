package gateway

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/winnowhq/winnow/gateway/job"
	"github.com/winnowhq/winnow/gateway/tenant"
)

// The job asks for the expiry of removed tenants, and erases one when its retention is over, or the
// gateway's if it has none: a day before that everything is there, and afterwards nothing.
func TestExpiry_erasesRemovedTenants(t *testing.T) {
	both(t, tenant.Tenant{Name: "ann", Retention: 7}, says, func(t *testing.T, l *till) {
		if status, text := l.send(request{path: "/v1/messages", body: sentence(secret)}); status != http.StatusOK {
			t.Fatalf("%d %s", status, text)
		}
		l.spent()
		if err := l.book.Remove(t.Context(), "test", "ann"); err != nil {
			t.Fatal(err)
		}
		l.look()
		r := l.relays[0]
		w, queue := jobsOf(t, r, "30d")
		defer w.Close()
		if err := queue.work.Handlers[expiry](t.Context(), job.Attempt{Job: job.Job{Kind: expiry}}); err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(queue.added, func(j job.Job) bool { return j.Kind == expiry && j.Key == "ann" }) {
			t.Errorf("nobody asks for its expiry: %+v", queue.added)
		}
		for _, replica := range l.relays { // they have noticed that the tenant is gone
			replica.tenants.tidy(time.Now())
		}
		day := 24 * time.Hour
		if err := r.tenants.expire(t.Context(), "ann", time.Now().Add(6*day)); err != nil {
			t.Fatal(err)
		}
		if len(l.where(secret)) == 0 {
			t.Error("it is erased a day early")
		}
		for range 2 {
			if err := r.tenants.expire(t.Context(), "ann", time.Now().Add(7*day+time.Minute)); err != nil {
				t.Fatal(err)
			}
		}
		if places := l.where(secret); len(places) > 0 {
			t.Errorf("after its retention it is in %v", places)
		}
		all, err := l.book.Audited(t.Context(), "ann", 10)
		if err != nil || len(all) != 1 || all[0].Did != "tenant erase" {
			t.Errorf("the audit log: %+v, %v", all, err)
		}
	})
}
