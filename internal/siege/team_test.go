package siege

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/winnowhq/winnow/gateway/tenant"
	"github.com/winnowhq/winnow/internal/deploy"
	"github.com/winnowhq/winnow/internal/pgtest"
	"github.com/winnowhq/winnow/store/postgres"
	"github.com/winnowhq/winnow/team/book"
)

var (
	asking  = flag.Int("requests", 0, "how many requests hostile clients of a team make at least")
	clients = flag.Int("clients", 0, "how many hostile clients of a team work at a time, instead of 4, or 12 with -siege")
	haproxy = flag.Bool("haproxy", false, "put the HAProxy of deploy/ before a team's gateways")
	bouncer = flag.Bool("bouncer", false, "put PgBouncer before a team's database")
)

// TestTeam_besieged lets hostile clients of several tenants work over three gateways, each a process
// of its own, behind a plain round-robin or HAProxy, on a database that has a standby, with PgBouncer
// before it or without. Meanwhile gateways are killed, processes of the database are killed, it is restarted, and it is failed over by hand.
//
// No prefix diverges: what a provider was sent it is sent again, to the byte if the request is the
// same, unless something was decided in between, or the database was away and the gateway could not
// know what others had decided. No decision is lost: what was in the store when a
// request arrived stays there, and every placeholder that arrives is in the store by then. Nothing
// of one client reaches another. Each error is one that the client understands, and asking again
// helps. No tenant spends more than its budget and what one request costs, and the book has what the
// providers bill.
func TestTeam_besieged(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the program and starts databases")
	}
	requests, faults, crowd := 150, 4, 4
	if *long {
		requests, faults, crowd = 4000, 40, 12
	}
	if *asking > 0 {
		requests = *asking
	}
	if *kills > 0 {
		faults = *kills
	}
	if *clients > 0 {
		crowd = *clients
	}
	m := assemble(t, crowd, requests)
	begun := time.Now()
	var all sync.WaitGroup
	for _, h := range m.clients {
		all.Go(func() {
			defer m.ended()
			for m.goesOn() && h.converse() {
			}
		})
	}
	for n := range faults {
		if !m.until(n * requests / faults) {
			break
		}
		m.strike(n)
		if n%25 == 24 {
			t.Logf("%s: %s", time.Since(begun).Round(time.Second), m)
		}
	}
	m.peace.Store(true)
	m.changed()
	all.Wait()
	m.reports.Wait()
	m.look()
	m.reckon()
	t.Logf("%s: %s", time.Since(begun).Round(time.Second), m)
	if m.count("decisions") == 0 || m.count("placeholders that arrived") == 0 || m.count("asked again to the byte") == 0 {
		t.Error("the test does not show what it is to show")
	}
}

// team is three gateways on one database, tenants and their clients.
type team struct {
	t        *testing.T
	requests int // that are wanted
	pair     *pgtest.Pair
	books    *pgxpool.Pool // looks into the database beside the gateways
	gates    []*replica
	turn     atomic.Int64
	clients  []*hostile
	front    string            // the address of HAProxy, "" for a round-robin without it
	tokens   map[string]string // of the tenants
	stays    int               // how many tenants a client goes to
	dice     *rand.Rand        // of the faults

	trap    atomic.Pointer[func(gate int)] // called with the gateway whose request arrives next
	wrongs  atomic.Int64
	reports sync.WaitGroup // of faults
	struck  atomic.Int64   // when the database was struck last, in Unix nanoseconds
	peace   atomic.Bool    // no fault is to come

	mu      sync.Mutex
	moved   *sync.Cond
	working int // clients
	counts  map[string]int
	bills   map[string]*bill // of the tenants
	ends    []end
}

// replica is a gateway that is killed and started again.
type replica struct {
	*serving
	killed atomic.Int64 // times, counted before it is done
	away   atomic.Bool  // it was killed and does not listen yet
}

// lives tells how often each gateway was killed.
func (m *team) lives() (text string) {
	for _, g := range m.gates {
		text += fmt.Sprint(g.killed.Load(), ",")
	}
	return text
}

// away reports whether a gateway was killed and does not listen yet.
func (m *team) away() bool {
	return slices.ContainsFunc(m.gates, func(g *replica) bool { return g.away.Load() })
}

// perTenant is how many clients of a tenant work at a time. The last of them has no word for its
// session, so that its conversations are told by what is in them alone.
const perTenant = 3

// perStay is how many conversations a client has with one tenant, before it goes to the next.
const perStay = 10

func assemble(t *testing.T, n, requests int) *team {
	m := &team{t: t, pair: pgtest.NewPair(t), dice: rand.New(rand.NewPCG(*first, 5)), counts: map[string]int{},
		tokens: map[string]string{}, requests: requests, bills: map[string]*bill{}}
	m.moved = sync.NewCond(&m.mu)
	m.stays = 2 + requests/(n*perStay*50) // a conversation has some fifty requests
	var ups []string
	for i := range n {
		h := besieger(m, i)
		m.clients = append(m.clients, h)
		ups = append(ups, fmt.Sprintf("%q: %q", h.up, h.provider.URL))
	}
	m.working = n
	// OpenAI's models have a small window here, so that conversations are folded, too.
	settings := fmt.Sprintf(`{"gateway": {"upstreams": {%s}}, "models": {"**gpt-4.1": {"context": 14000, "output": 1000}},
		"compaction": {"keep": 2000}}`, strings.Join(ups, ", "))
	d, err := postgres.Open(t.Context(), m.pair.URL(), postgres.Options{}) // which makes the tables
	if err != nil {
		t.Fatal(err)
	}
	d.Close()
	b := must(book.Open(t.Context(), m.pair.URL(), time.Now))
	defer b.Close()
	for group := range (n + perTenant - 1) / perTenant {
		for stay := range m.stays {
			name := tenantOf(group*perTenant, stay)
			shown, token, err := tenant.NewToken(name, "", tenant.Scopes{tenant.Relay}, time.Now(), 0)
			added := b.Add(t.Context(), "test", tenant.Tenant{Name: name, Budget: tenant.Budget{Month: m.budget(stay)}})
			if err := errors.Join(err, added, b.AddToken(t.Context(), "test", token)); err != nil {
				t.Fatal(err)
			}
			m.tokens[name], m.bills[name] = shown, &bill{budget: m.budget(stay)}
		}
	}
	at, listen := m.pair.URL(), map[string]string{}
	if *bouncer {
		at = m.pair.Bouncer(t, "server_login_retry = 1", "default_pool_size = 20", "ignore_startup_parameters = extra_float_digits")
	}
	for i := range 3 {
		m.gates = append(m.gates, &replica{serving: beginWith(t, at, settings)})
		listen[gateName(i)] = m.gates[i].address
	}
	if *haproxy {
		m.front = deploy.Balance(t, listen, "", "http-send-name-header "+gateHeader)
	}
	m.books = must(pgxpool.New(t.Context(), m.pair.URL()))
	t.Cleanup(m.books.Close)
	return m
}

// tenantOf is the tenant with which a client stays.
func tenantOf(client, stay int) string { return fmt.Sprintf("t%dx%d", client/perTenant, stay) }

// add counts something.
func (m *team) add(what string, n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counts[what] += n
	m.moved.Broadcast()
}

func (m *team) count(what string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.counts[what]
}

// wrong counts what must not be, and fails the test.
func (m *team) wrong(what, format string, args ...any) {
	m.add(what, 1)
	m.wrongs.Add(1)
	if n := m.count(what); n <= 5 {
		m.t.Errorf("%s: %s", what, fmt.Sprintf(format, args...))
	}
}

// latest notes how long after a fault of the database a request did without it.
func (m *team) latest(since time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	what := "milliseconds after a fault of the database, the latest of these"
	m.counts[what] = max(m.counts[what], int(since.Milliseconds()))
}

func (m *team) changed() { m.moved.Broadcast() }

// ended notes that a client works no more.
func (m *team) ended() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.working--
	m.moved.Broadcast()
}

// until waits until that many requests were made; false if nobody makes any.
func (m *team) until(requests int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.counts["requests"] < requests && m.working > 0 {
		m.moved.Wait()
	}
	return m.working > 0
}

// mostWrong is how much may be wrong before nobody goes on.
const mostWrong = 20

// goesOn reports whether more requests are to be made.
func (m *team) goesOn() bool {
	return m.wrongs.Load() < mostWrong && (!m.peace.Load() || m.count("requests") < m.requests)
}

// String is what was counted.
func (m *team) String() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var lines []string
	for _, what := range slices.Sorted(maps.Keys(m.counts)) {
		lines = append(lines, fmt.Sprintf("%7d %s", m.counts[what], what))
	}
	return fmt.Sprintf("%d clients\n%s", len(m.clients), strings.Join(lines, "\n"))
}

// away is for how long after a fault of the database requests may do without it: a gateway does not
// wait for it longer than two seconds, and one that does not know what others have decided about a
// conversation then sends what it knows of it. A database that takes longer than slow for a query of
// the test is one that a gateway under the same load may not wait for.
const (
	away = 10 * time.Second
	slow = 500 * time.Millisecond
)

// strike lets a fault happen, and mends what it broke.
func (m *team) strike(n int) {
	if n%40 == 6 || n%20 == 4 || n%20 == 14 || n%5 == 2 || n%10 == 3 {
		m.struck.Store(time.Now().UnixNano())
		defer func() { m.struck.Store(time.Now().UnixNano()) }()
	}
	switch {
	case n%40 == 6:
		m.failOver()
	case n%20 == 4:
		m.add("restarts of the database", 1)
		m.mended("fast")
	case n%20 == 14:
		m.add("immediate ends of the database", 1)
		m.mended("immediate")
	case n%5 == 2:
		m.add("processes of the database killed", 1)
		m.killProcess()
	case n%10 == 3:
		m.add("connections of the database ended", 1)
		m.sql(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'winnow'`)
	case n%2 == 0:
		g := m.dice.IntN(len(m.gates))
		m.kill(g)
		m.start(g)
	default: // the one whose request arrives next, now or in the middle of the answer
		hit := make(chan int)
		after := time.Duration(m.dice.IntN(3)*m.dice.IntN(10)) * time.Millisecond
		trap := func(gate int) {
			kill := func() { m.kill(gate); hit <- gate }
			if after == 0 {
				go kill()
				return
			}
			time.AfterFunc(after, kill)
		}
		m.trap.Store(&trap)
		m.start(<-hit)
	}
}

// kill kills a gateway.
func (m *team) kill(gate int) {
	g := m.gates[gate]
	g.killed.Add(1)
	g.away.Store(true)
	g.kill()
	m.killed(gate, g.log.String())
	m.add("gateways killed", 1)
}

// start starts a gateway again.
func (m *team) start(gate int) {
	m.gates[gate].start(m.t)
	m.gates[gate].away.Store(false)
}

// mended ends the database and starts it again.
func (m *team) mended(mode string) {
	server := m.pair.Primary()
	if err := server.Down(mode); err != nil {
		m.t.Error(err)
	}
	if err := server.Up(); err != nil {
		m.t.Error(err)
	}
}

// failOver kills the database, goes on with its standby, and gives that another one.
func (m *team) failOver() {
	m.add("failovers of the database", 1)
	if err := m.pair.FailOver(); err != nil {
		m.t.Error(err)
	}
	if err := m.pair.Follow(m.t.Context()); err != nil {
		m.t.Error(err)
	}
}

// killProcess kills the process of the database that serves one connection of a gateway: it ends
// all others itself, and recovers.
func (m *team) killProcess() {
	var pids []int
	var err error
	for late := time.Now().Add(away); len(pids) == 0 && time.Now().Before(late); time.Sleep(10 * time.Millisecond) {
		err = m.row(m.t.Context(), `SELECT array_agg(pid) FROM pg_stat_activity WHERE application_name = 'winnow'`).Scan(&pids)
	}
	if err != nil || len(pids) == 0 {
		m.t.Errorf("the processes of the database: %v, %v", pids, err)
		return
	}
	if err := pgtest.KillProcess(pids[m.dice.IntN(len(pids))]); err != nil {
		m.t.Error(err)
	}
}

// sql runs a statement behind everybody, if the database answers.
func (m *team) sql(text string) {
	_, _ = m.books.Exec(m.t.Context(), text) // it may be this connection that ends
}

// look looks through all that the tenants have in the store.
func (m *team) look() {
	d, err := postgres.Open(m.t.Context(), m.pair.URL(), postgres.Options{ReadOnly: true})
	if err != nil {
		m.t.Error(err)
		return
	}
	defer d.Close()
	m.add("tenants", len(m.tokens))
	for name := range m.tokens {
		kept := d.Tenant(name)
		list, err := kept.List(m.t.Context())
		if err != nil {
			m.t.Error(err)
		}
		m.add("conversations in the store", len(list))
		for _, l := range list {
			state, err := kept.State(m.t.Context(), l.Info.ID)
			if err != nil {
				m.t.Error(err)
			}
			m.add("decisions", len(state.Receipts))
			text := fmt.Sprintf("%+v", state)
			for message, err := range kept.Messages(m.t.Context(), l.Info.ID) {
				if err != nil {
					m.t.Error(err)
					break
				}
				text += said(&message)
			}
			for _, word := range canaries.FindAllString(text, -1) {
				if !strings.HasPrefix(word, "canary-"+name+"-") {
					m.wrong("leaks", "the store of %s has %s", name, word)
				}
			}
		}
	}
	if n := len(must(d.Tenant("").List(m.t.Context()))); n > 0 {
		m.wrong("leaks", "%d conversations are kept without a tenant", n)
	}
}

// standing are the decisions about a conversation that are in the store, and what is shown in the
// place of what was left out.
type standing struct {
	receipts []string
	shown    map[string]bool
}

// within is how long a look into the database may take, whatever happens to it.
const within = 2 * time.Minute

// row runs a query until the database answers.
func (m *team) row(ctx context.Context, query string, args ...any) pgx.Row {
	return again{func(into ...any) error {
		ctx, stop := context.WithTimeout(ctx, within)
		defer stop()
		for {
			err := m.books.QueryRow(ctx, query, args...).Scan(into...)
			if err == nil || ctx.Err() != nil {
				return err
			}
			m.books.Reset()
			time.Sleep(20 * time.Millisecond) // it is being started
		}
	}}
}

// again is a row that is read again until that is done.
type again struct{ scan func(...any) error }

// Scan implements pgx.Row.
func (a again) Scan(into ...any) error { return a.scan(into...) }
