package transport

import (
	"fmt"
	"testing"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/internal/pgtest"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/postgres"
)

// TestTransport_hostileClientsOfReplicas lets hostile clients work over three gateways that share
// nothing but a database, each request at another of them: the prefix stays as if there were one.
func TestTransport_hostileClientsOfReplicas(t *testing.T) {
	sequential(t)
	url := pgtest.Start(t)
	var databases []*postgres.Database
	for range 3 {
		d, err := postgres.Open(t.Context(), url, postgres.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { d.Close() })
		databases = append(databases, d)
	}
	tenants := 0
	replicated := func(s *stage) {
		tenants++
		type replica struct {
			store     store.Store
			engine    *winnow.Engine
			transport *Transport
		}
		var replicas []replica
		for _, d := range databases {
			s.store = d.Tenant(fmt.Sprint("tenant", tenants))
			s.restart()
			replicas = append(replicas, replica{s.store, s.engine, s.transport})
		}
		at := len(replicas) - 1
		s.turn = func() {
			replicas[at] = replica{s.store, s.engine, s.transport} // it may have been restarted
			at = (at + 1) % len(replicas)
			s.store, s.engine, s.transport = replicas[at].store, replicas[at].engine, replicas[at].transport
		}
	}
	for _, p := range llmtest.Protocols() {
		t.Run(string(p), func(t *testing.T) { walk(t, p, "", 0, replicated) })
		t.Run(string(p)+", folded", func(t *testing.T) { walk(t, p, "", 14_000, replicated) })
	}
	t.Run("bound", func(t *testing.T) { walk(t, llmtest.Anthropic, "claude-opus-5-5", 0, replicated) })
}
