package gateway

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/winnowhq/winnow/gateway/tenant"
	"github.com/winnowhq/winnow/internal/pgtest"
)

// A database that is lost under the requests of a tenant is lost in the metrics, and on /readyz, which
// says so at once. A probe that does not wait is no sign of anything.
func TestTenants_aLostDatabaseShows(t *testing.T) {
	cluster := pgtest.NewCluster(t, false)
	l := newTill(t, cluster.URL(), tenant.Budget{}, says)
	r := l.relays[0]
	ask := func() {
		t.Helper()
		if status, text := l.send(request{path: "/v1/messages", body: sentence(secret)}); status != http.StatusOK {
			t.Fatalf("%d %s", status, text)
		}
	}
	ask()
	gone, leave := context.WithCancel(t.Context())
	leave()
	if r.ready(gone); strings.Contains(l.log.String(), "not ready") {
		t.Errorf("a probe that left is logged: %s", l.log.String())
	}
	if err := r.ready(t.Context()); err != nil || r.away() != 0 {
		t.Errorf("with a database: %v, %v", err, r.away())
	}
	if err := cluster.Down("fast"); err != nil {
		t.Fatal(err)
	}
	ask()
	begun := time.Now()
	err := r.ready(t.Context())
	if took := time.Since(begun); err == nil || !strings.Contains(err.Error(), "lost") || took > readyPatience/2 || r.away() != 1 {
		t.Errorf("without one /readyz says %v after %s; winnow_store_lost is %v", err, took, r.away())
	}
	if err := cluster.Up(); err != nil {
		t.Fatal(err)
	}
	for late := time.Now().Add(time.Minute); r.ready(t.Context()) != nil || r.away() != 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(late) {
			t.Fatal("it is not ready again")
		}
	}
}
