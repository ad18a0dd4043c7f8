package transport

import (
	"context"
	"iter"
	"net/http"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/internal/pgtest"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/postgres"
	"github.com/winnowhq/winnow/store/sqlite"
)

// asked counts what a store is asked for: with a database each is a round trip.
type asked struct {
	store.Store
	lists, reads, writes atomic.Int64
}

func (a *asked) List(ctx context.Context) ([]store.Listing, error) {
	a.lists.Add(1)
	a.reads.Add(1)
	return a.Store.List(ctx)
}

func (a *asked) Family(ctx context.Context, id string) ([]session.Info, error) {
	a.reads.Add(1)
	return store.Family(ctx, a.Store, id)
}

func (a *asked) State(ctx context.Context, id string) (store.State, error) {
	a.reads.Add(1)
	return a.Store.State(ctx, id)
}

func (a *asked) Revision(ctx context.Context, id string) (int64, error) {
	a.reads.Add(1)
	return a.Store.Revision(ctx, id)
}

func (a *asked) Messages(ctx context.Context, id string) iter.Seq2[session.Message, error] {
	a.reads.Add(1)
	return a.Store.Messages(ctx, id)
}

func (a *asked) Apply(ctx context.Context, id string, c store.Change) (int64, error) {
	a.writes.Add(1)
	return a.Store.Apply(ctx, id, c)
}

// A request that goes on with a known conversation is one round trip to the database, which adds what
// is new, and each decision one more; its answer is one, what the answer took another, and a tool that
// was never called before a third. A request that adds nothing, as it is asked again, writes that it
// is under way. However long the conversation is.
func TestTransport_takesOneRoundTripForARequest(t *testing.T) {
	sequential(t)
	proxy, database := behindProxy(t)
	for name, window := range map[string]int{"pruned": 0, "folded": 14_000} {
		t.Run(name, func(t *testing.T) {
			s := play(t, llmtest.Anthropic, 60, Options{})
			s.window = window
			a := &asked{Store: database.Tenant(name)}
			s.store = a
			s.restart()
			beside, err := winnow.Open(winnow.Config{Store: a.Store})
			if err != nil {
				t.Fatal(err)
			}
			took := func(at int) (trips, reads, writes int64) {
				t.Helper()
				s.store = nobody{} // what the test itself asks does not count
				trips, reads, writes = proxy.Trips(), a.reads.Load(), a.writes.Load()
				if status, answer := s.send(s.request(at)); status != 200 {
					t.Fatalf("message %d: %d %s", at, status, answer)
				}
				trips, reads, writes = proxy.Trips()-trips, a.reads.Load()-reads, a.writes.Load()-writes
				s.now = s.now.Add(20 * time.Second)
				return trips, reads, writes
			}
			decided := func() int64 {
				s.store = a.Store
				return int64(s.receipts())
			}
			decisions, before := int64(0), int64(0)
			called := map[string]bool{}
			for i, at := range s.steps() {
				if i == 30 { // another process changes the session
					err := beside.Amend(t.Context(), s.transport.Totals().Sessions[0], winnow.Amendment{Title: "Another"})
					if err != nil {
						t.Fatal(err)
					}
				}
				trips, reads, writes := took(at)
				made := decided() - before
				before += made
				most := 3 + made
				for _, p := range s.log[at].Parts {
					if p.Type == session.ToolPart && !called[p.Tool] {
						called[p.Tool], most = true, 4+made
					}
				}
				switch {
				case i < 5: // statements are prepared
				case i == 30:
					if reads == 0 {
						t.Error("what another process wrote was not read")
					}
				case i == 31:
					if reads > 1 {
						t.Errorf("step %d, behind one in which another process wrote: %d reads", i, reads)
					}
				case made > 0 && decisions == 0 && trips == writes+1 && reads == 0 && writes <= most:
					decisions += made // the statements of a decision are prepared
				case reads > 0 || trips != writes || writes > most:
					t.Errorf("step %d: %d round trips, %d reads, %d writes, %d decisions", i, trips, reads, writes, made)
				default:
					decisions += made
				}
				if i%5 == 4 {
					trips, reads, writes = took(at)
					made = decided() - before
					before += made
					if i > 5 && (reads > 0 || trips != writes || writes > 3+made) {
						t.Errorf("step %d again: %d round trips, %d reads, %d writes, %d decisions", i, trips, reads, writes, made)
					}
				}
			}
			if decisions == 0 {
				t.Error("nothing was decided")
			}
			t.Logf("%d decisions", decisions)
		})
	}
}

// A request of a conversation that stays here only asks whether another process has changed it. Its
// messages are written with the answer and the usage, in one round trip.
func TestTransport_writesAStepBehindInOneRoundTrip(t *testing.T) {
	sequential(t)
	proxy, database := behindProxy(t)
	s := play(t, llmtest.Anthropic, 60, Options{Later: true, Behind: true, Shared: true, After: never})
	a := &asked{Store: database.Tenant("behind")}
	s.store = a
	s.restart()
	undecided, before := 0, int64(0)
	called := map[string]bool{}
	for i, at := range s.steps() {
		s.store = nobody{} // what the test itself asks does not count
		trips, reads, writes := proxy.Trips(), a.reads.Load(), a.writes.Load()
		if status, answer := s.send(s.request(at)); status != 200 {
			t.Fatalf("message %d: %d %s", at, status, answer)
		}
		leaving := a.writes.Load() - writes
		s.transport.Wait()
		trips, reads, writes = proxy.Trips()-trips, a.reads.Load()-reads, a.writes.Load()-writes
		s.now = s.now.Add(20 * time.Second)
		s.store = a.Store
		decided := int64(s.receipts()) - before
		before += decided
		for _, p := range s.log[at].Parts {
			if p.Type == session.ToolPart && !called[p.Tool] {
				called[p.Tool], decided = true, decided+1 // tools are noted
			}
		}
		if i <= inARow || decided > 0 {
			continue
		}
		if undecided++; leaving != 0 || reads > 2 || writes != 1 || i > 10 && trips != reads+writes {
			t.Errorf("step %d: %d round trips, %d reads, %d writes, of these %d before its answer", i, trips, reads, writes,
				leaving)
		}
	}
	if undecided < 20 {
		t.Errorf("%d steps without a decision", undecided)
	}
}

// behindProxy starts a database behind a proxy that counts round trips.
func behindProxy(t *testing.T) (*pgtest.Proxy, *postgres.Database) {
	t.Helper()
	proxy := pgtest.NewProxy(t, pgtest.Start(t))
	database, err := postgres.Open(t.Context(), proxy.URL, postgres.Options{Connections: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { database.Close() })
	return proxy, database
}

// nobody is a store without sessions.
type nobody struct{ store.Store }

func (nobody) List(context.Context) ([]store.Listing, error) { return nil, nil }

// Of two gateways that get the requests of a conversation by turns each reads it once for a request:
// whether it has changed, and what it is now. The list of all conversations is not read for that.
func TestTransport_readsAConversationThatAnotherGatewayWentOnWith(t *testing.T) {
	s := play(t, llmtest.Anthropic, 60, Options{})
	a := &asked{Store: s.store}
	s.store = a
	both := []*Transport{nil, nil}
	for i := range both {
		s.restart()
		both[i] = s.transport
	}
	s.store = nobody{}
	for i, at := range s.steps() {
		s.transport = both[i%2]
		reads, lists := a.reads.Load(), a.lists.Load()
		if status, answer := s.send(s.request(at)); status != 200 {
			t.Fatalf("message %d: %d %s", at, status, answer)
		}
		reads, lists = a.reads.Load()-reads, a.lists.Load()-lists
		if i > 3 && (lists > 0 || reads != 3) {
			t.Errorf("step %d: %d reads, %d of them of the list", i, reads, lists)
		}
		s.now = s.now.Add(20 * time.Second)
	}
	s.store = a.Store
	if log, state := s.only(); len(clients(log.Messages)) < len(s.steps()) || len(state.Receipts) == 0 {
		t.Errorf("%d messages, %d decisions", len(log.Messages), len(state.Receipts))
	}
}

// The other sessions of a store are not read, neither for a new conversation, nor for one that was
// rewound, nor after a restart.
func TestTransport_readsNoListOfSessions(t *testing.T) {
	s := play(t, llmtest.Anthropic, 20, Options{})
	file := must(sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "s.db")}))
	t.Cleanup(func() { file.Close() })
	a := &asked{Store: file}
	restart := func() {
		s.store = a
		s.restart()
		s.store = nobody{} // what the test itself asks does not count
	}
	restart()
	send := func(r *http.Request) {
		t.Helper()
		if status, answer := s.send(r); status != 200 {
			t.Fatal(status, answer)
		}
	}
	steps := s.steps()
	for _, at := range steps {
		send(s.request(at))
	}
	rewound := slices.Clone(s.log[:steps[5]])
	rewound[len(rewound)-1].Parts = slices.Clone(rewound[len(rewound)-1].Parts)
	rewound[len(rewound)-1].Parts[0].Text += "And something else."
	send(s.ask(rewound, 5))
	restart()
	send(s.request(steps[len(steps)-1]))
	if n := a.lists.Load(); n > 0 {
		t.Errorf("the list of sessions was read %d times", n)
	}
	if found := must(file.List(t.Context())); len(found) != 2 {
		t.Errorf("there are %d sessions, want the conversation and the one that left it", len(found))
	}
}
