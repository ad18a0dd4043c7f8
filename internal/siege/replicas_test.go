package siege

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/internal/pgtest"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/postgres"
)

var (
	first = flag.Uint64("first", 7, "seed of the first clients over replicas")
	kills = flag.Int("kills", 0, "how many kills of replicas and of their database there are at least")
	pairs = flag.Bool("pairs", true, "ask two gateways the same at one moment, too")
)

// TestReplicas_killedAnywhere lets clients work over three gateways on one database, behind a plain
// round-robin, while gateways are killed, connections of the database are ended, and the database
// is restarted and killed: what the provider was sent before, it is sent again, unless something was
// decided in between, no decision is lost, and every error is one that the client understands.
func TestReplicas_killedAnywhere(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the program and starts a database")
	}
	cluster := pgtest.NewCluster(t, true)
	steps, most, protocols := 30, *kills, llmtest.Protocols()[:1]
	if *long {
		steps, protocols = 120, llmtest.Protocols()
	}
	total := map[string]int{}
	for seed := *first; ; seed++ {
		for _, protocol := range protocols {
			t.Run(fmt.Sprint(protocol, " ", seed), func(t *testing.T) {
				r := newReplicas(t, cluster, protocol, seed, steps)
				r.besiege()
				for what, n := range r.counts {
					total[what] += n
				}
			})
		}
		done := 0
		for _, what := range []string{killing, ending, restarting} {
			done += total[what]
		}
		if t.Failed() || done >= most {
			break
		}
	}
	t.Logf("in all %v", total)
}

// What is counted.
const (
	requests   = "requests"
	decided    = "decisions"
	killing    = "gateways killed"
	ending     = "connections of the database ended"
	restarting = "restarts and kills of the database"
	twice      = "requests asked of two gateways at once"
	failing    = "errors that the client heard"
	passing    = "requests that passed as they came"
)

// replicas are three gateways on one database, and a client.
type replicas struct {
	t       *testing.T
	v       *visitor
	dice    *rand.Rand
	cluster *pgtest.Cluster
	up      *provider
	gates   []*serving
	dead    []bool
	next    int
	counts  map[string]int

	mu      sync.Mutex
	arrived []arrival
	loose   bool // what arrives now may come in any order
	first   func()
}

func newReplicas(t *testing.T, cluster *pgtest.Cluster, protocol llmtest.Protocol, seed uint64, steps int) *replicas {
	v := visit(t, protocol, true, seed, steps)
	r := &replicas{t: t, v: v, dice: rand.New(rand.NewPCG(seed, uint64(len(protocol)))), cluster: cluster,
		dead: make([]bool, 3), counts: map[string]int{}}
	tenant := fmt.Sprint(protocol, " ", seed)
	d, err := postgres.Open(t.Context(), cluster.URL(), postgres.Options{Wait: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	r.up = provide(t, v)
	r.up.arrived = func(q llmtest.Request) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if a := (arrival{q, decisions(context.Background(), d.Tenant(tenant))}); !r.loose {
			r.arrived = append(r.arrived, a)
		}
		if r.first != nil {
			r.first()
			r.first = nil
		}
	}
	for range r.dead {
		r.gates = append(r.gates, beginOn(t, store.WithTenant(cluster.URL(), tenant), r.up.URL, ""))
	}
	return r
}

// ask asks the next gateway that takes a connection.
func (r *replicas) ask(ctx context.Context, at int) heard {
	for range r.gates {
		g := r.gates[r.next%len(r.gates)]
		r.next++
		h := r.v.hear(r.v.request(ctx, g.url(), at))
		if h.status != 0 || ctx.Err() != nil {
			return h
		}
		if r.dead[(r.next-1)%len(r.gates)] {
			continue // a round-robin asks the next one
		}
		return h
	}
	return heard{}
}

// sql runs a statement behind everybody, if the database answers.
func (r *replicas) sql(text string) {
	c, err := pgx.Connect(context.Background(), r.cluster.URL())
	if err != nil {
		return
	}
	defer c.Close(context.Background())
	_, _ = c.Exec(context.Background(), text) // it may be this connection that ends
}

func (r *replicas) besiege() {
	t := r.t
	for i, at := range r.v.steps() {
		before := len(r.arrived)
		revive := -1
		var beside sync.WaitGroup
		faulty := true
		how := r.dice.IntN(8)
		if i == 8 {
			how = 3
		}
		switch how {
		case 0: // a gateway is killed at some moment of the request, or another one is
			revive = r.dice.IntN(len(r.gates))
			g := r.gates[revive]
			running := g.cmd.Process // not the one that takes its place, if the request ends before
			time.AfterFunc(time.Duration(r.dice.IntN(20_000))*time.Microsecond, func() { _ = running.Kill() })
			r.dead[revive] = true
			r.counts[killing]++
		case 1: // the one that has sent the request is killed
			revive = r.next % len(r.gates)
			g := r.gates[revive]
			r.mu.Lock()
			r.first = func() { _ = g.cmd.Process.Kill() }
			r.mu.Unlock()
			r.dead[revive] = true
			r.counts[killing]++
		case 2: // the connections of the database end
			beside.Go(func() {
				r.sql(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'winnow'`)
			})
			r.counts[ending]++
		case 3: // the database is restarted or killed
			if i != 8 && r.dice.IntN(3) > 0 {
				faulty = false
				break
			}
			mode := []string{"fast", "immediate"}[r.dice.IntN(2)]
			beside.Go(func() {
				if err := r.cluster.Down(mode); err != nil {
					t.Error(err)
				}
				if err := r.cluster.Up(); err != nil {
					t.Error(err)
				}
			})
			r.counts[restarting]++
		case 4: // two gateways get it at once
			if !*pairs {
				faulty = false
				break
			}
			r.mu.Lock()
			r.loose = true
			r.mu.Unlock()
			for range 2 {
				g := r.gates[r.next%len(r.gates)]
				r.next++
				beside.Go(func() {
					if h := r.v.hear(r.v.request(t.Context(), g.url(), at)); h.status != 200 || h.err != nil {
						t.Errorf("step %d, asked twice: %d %s, %v", at, h.status, h.body, h.err)
					}
				})
			}
			beside.Wait()
			r.mu.Lock()
			r.loose = false
			r.mu.Unlock()
			r.counts[twice]++
		default:
			faulty = false
		}
		if faulty {
			ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
			r.heard(at, r.ask(ctx, at))
			cancel()
		}
		beside.Wait()
		if revive >= 0 {
			r.gates[revive].kill()
			r.gates[revive].start(t)
			r.dead[revive] = false
			r.mu.Lock()
			r.first = nil
			r.mu.Unlock()
		}
		ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
		if h := r.ask(ctx, at); h.status != 200 || h.err != nil {
			t.Fatalf("step %d: %d %s, %v\n%s", at, h.status, h.body, h.err, r.logs())
		}
		cancel()
		r.compare(at, before)
	}
	r.counts[requests], r.counts[decided] = len(r.arrived), r.arrived[len(r.arrived)-1].decided
	if r.counts[decided] == 0 {
		t.Error("nothing was decided")
	}
	if problems := r.up.Problems(); len(problems) > 0 {
		t.Errorf("the provider finds fault: %s", problems)
	}
	t.Logf("%v", r.counts)
}

// heard holds the answer of a request that met a fault to what a client understands.
func (r *replicas) heard(at int, h heard) {
	switch {
	case h.status == 200 && h.err == nil:
		return
	case h.status == 0 || h.err != nil: // the connection ended with its gateway
		for _, dead := range r.dead {
			if dead {
				r.counts[failing]++
				return
			}
		}
		r.t.Errorf("step %d: no gateway was killed, and the connection ends: %v", at, h.err)
	case !bytes.Contains(h.body, []byte(`"error"`)):
		r.t.Errorf("step %d: an error that no client understands: %d %s", at, h.status, h.body)
	default:
		r.counts[failing]++
	}
}

// compare holds what arrived at a step against what had arrived before it.
func (r *replicas) compare(at, before int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := max(1, before); i < len(r.arrived); i++ {
		last, now := r.arrived[i-1], r.arrived[i]
		if now.decided < last.decided {
			r.t.Fatalf("step %d: there were %d decisions, there are %d", at, last.decided, now.decided)
		}
		if now.decided > 0 && bytes.Equal(now.request.Body, r.v.body(at)) {
			r.counts[passing]++
		}
		if now.decided != last.decided {
			continue
		}
		for k := range min(len(last.request.Messages), len(now.request.Messages)) {
			if said(&last.request.Messages[k]) != said(&now.request.Messages[k]) {
				r.t.Fatalf("step %d: message %d of %d is another one, and nothing was decided (%v)\n%s", at, k,
					len(now.request.Messages), r.counts, r.logs())
			}
		}
	}
}

func (r *replicas) logs() (text string) {
	for _, g := range r.gates {
		log := g.log.String()
		text += g.address + ":\n" + log[max(0, len(log)-3000):] + "\n"
	}
	return text
}
