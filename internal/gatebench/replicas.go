//go:build unix

package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/winnowhq/winnow/internal/pgtest"
	"github.com/winnowhq/winnow/store"
)

// replicasRole is the first argument that measures the built program with its stores:
//
//	go run ./internal/gatebench replicas -windows 5 -for 10m
//
// The same conversations, made from the number of the window, go in turns through a plain reverse
// proxy, through `winnow serve` on SQLite, on PostgreSQL, and through three of them on one
// PostgreSQL: each request to the next one, and each conversation to one of them. Client, upstream,
// proxies and database share the computer. A window has new conversations, whose first requests are
// not timed; each further request has two messages more than the one before, and every fourth a
// read that is left out.
const replicasRole = "replicas"

// load is how much is asked in a window.
type load struct {
	body, result, head int // bytes at the beginning, bytes that a request is longer by, see headOf
	c                  int // conversations at a time
	rounds, steps      int // one after the other, timed requests of each
}

// loads are the cases. Conversations are short, so that their bodies have the size that is named:
// at the end they are up to a fifth longer, those of 10 KB up to a half.
func loads(sizes, concurrency []int) (all []load) {
	for _, size := range sizes {
		for _, c := range concurrency {
			l := load{body: size, c: c, result: 2000, head: 300, rounds: 1}
			switch {
			case size <= 20_000:
				l.result, l.head, l.steps = 150, 60, 12
				l.rounds = max(1, 160/(12*c))
			case size <= 400_000:
				l.steps = max(10, min(20, 400/c))
				l.rounds = max(1, 80/(l.steps*c))
			default:
				l.steps = max(6, min(60, 400/c))
			}
			all = append(all, l)
		}
	}
	return all
}

// contender is a way to the upstream.
type contender struct {
	name      string
	addresses []string
	pids      []int
	database  bool
	sticks    bool // a conversation stays at one address, else each request goes to the next
	end       func()
	next      atomic.Int64

	p50, p99, addedP50, addedP99, rate []float64 // of each window
	requests                           int
	cpu, cpuOfDatabase                 time.Duration
	sent, forwarded                    int64
}

// to is where the next request of a conversation goes.
func (w *contender) to(conversation int) string {
	if w.sticks {
		return w.addresses[conversation%len(w.addresses)]
	}
	return w.addresses[int(w.next.Add(1))%len(w.addresses)]
}

// bench is one run.
type bench struct {
	program, folder string
	up              *upstream
	cluster         *pgtest.Cluster
	profile         string
	homes           int
	notes           []string
}

func replicas(args []string) {
	f := flag.NewFlagSet(replicasRole, flag.ExitOnError)
	sizes := f.String("sizes", "10000,200000,1000000", "bytes of a body at the start of a conversation")
	concurrency := f.String("c", "1,16,64", "conversations at a time")
	windows := f.Int("windows", 5, "windows of each case; each figure is their median")
	most := f.Duration("for", 10*time.Minute, "how long it takes at most: then cases have fewer windows, one at least")
	program := f.String("winnow", "", "the program (default: it is built)")
	profile := f.String("profile", "",
		"folder for processor profiles of the first replica on PostgreSQL, of each case and way")
	_ = f.Parse(args) // it exits
	folder, err := os.MkdirTemp("", "replicas")
	must(err)
	defer os.RemoveAll(folder)
	cluster, err := pgtest.Make(true)
	must(err)
	defer cluster.Remove()
	b := &bench{program: built(*program, folder), folder: folder, up: startUpstream(), cluster: cluster,
		profile: *profile}
	cases := loads(numbers(*sizes), numbers(*concurrency))
	fmt.Printf("%d cores, %s, %s; %d windows of each case at most.\n\n", runtime.NumCPU(), runtime.Version(),
		version(cluster), *windows)
	fmt.Println("| body at the start | at a time | through | windows × requests | p50, ms | p99, ms | added p50 " +
		"| added p99 | requests/s |" +
		" CPU winnow, ms | CPU database, ms | resident, MB | sent on | parts left out |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|")
	began := time.Now()
	for i, l := range cases {
		left := *most - time.Since(began)
		b.measure(l, *windows, time.Now().Add(left/time.Duration(len(cases)-i)))
	}
	fmt.Println()
	for _, note := range b.notes {
		fmt.Println(note)
	}
	fmt.Printf("It took %s.\n", time.Since(began).Round(time.Second))
}

// version is that of the server.
func version(c *pgtest.Cluster) (v string) {
	must(query(c, "SHOW server_version", &v))
	return "PostgreSQL " + v
}

// home is a new folder.
func (b *bench) home() string {
	b.homes++
	path := filepath.Join(b.folder, fmt.Sprint(b.homes))
	must(os.Mkdir(path, 0o700))
	return path
}

// contenders starts the ways. Each has a store, or a tenant, of its own.
func (b *bench) contenders(l load) []*contender {
	proxy := startRelay("plain", b.up.address, "")
	all := []*contender{{name: "plain proxy", addresses: []string{proxy.address},
		pids: []int{proxy.cmd.Process.Pid}, end: proxy.stop}}
	for _, kind := range []struct {
		name     string
		replicas int
		database bool
		sticks   bool
	}{{"SQLite", 1, false, false}, {"PostgreSQL", 1, true, false}, {"three replicas, in turns", 3, true, false},
		{"three replicas, a conversation at one", 3, true, true}} {
		w := &contender{name: kind.name, database: kind.database, sticks: kind.sticks}
		at := ""
		if kind.database {
			at = store.WithTenant(b.cluster.URL(), fmt.Sprintf("%d-%d-%d-%t", l.body, l.c, kind.replicas,
				kind.sticks))
		}
		var ends []func()
		for i := range kind.replicas {
			s := startServing(b.program, b.home(), at, b.up.address)
			w.addresses, w.pids, ends = append(w.addresses, s.address), append(w.pids, s.cmd.Process.Pid),
				append(ends, s.stop)
			if b.profile != "" && kind.database && i == 0 {
				ends = append([]func(){func() { b.profiled(l, w, s) }}, ends...)
			}
		}
		w.end = func() {
			for _, end := range ends {
				end()
			}
		}
		all = append(all, w)
	}
	return all
}

// measure measures one case, and prints its rows. It begins no further window after a time.
func (b *bench) measure(l load, windows int, until time.Time) {
	all := b.contenders(l)
	for n := range windows {
		if n > 0 && time.Now().After(until) {
			break
		}
		// Who is first takes turns; what a window adds is compared with the plain proxy's of this
		// window.
		for i := range all {
			b.window(l, all[(i+n)%len(all)], n)
		}
		for _, w := range all {
			w.addedP50 = append(w.addedP50, w.p50[n]-all[0].p50[n])
			w.addedP99 = append(w.addedP99, w.p99[n]-all[0].p99[n])
		}
	}
	for _, w := range all {
		added50, added99, decided, database, memory := "–", "–", "–", "–", 0.0
		for _, pid := range w.pids {
			_, most := resident(pid)
			memory = max(memory, most)
		}
		if w != all[0] {
			added50, added99 = fmt.Sprintf("%.2f", median(w.addedP50)), fmt.Sprintf("%.2f", median(w.addedP99))
			decided = fmt.Sprint(w.decisions())
		}
		each := func(d time.Duration) float64 { return ms(d) / float64(max(1, w.requests)) }
		if len(w.pids) == 1 && w.database && w.cpu > 0 {
			b.notes = append(b.notes, fmt.Sprintf("One replica on PostgreSQL, %d KB, %d at a time: %.0f requests/s "+
				"with client, upstream and database on the same cores; two cores of its own would do %.0f/s by its processor time "+
				"(calculated).", l.body/1000, l.c, median(w.rate), 2000/each(w.cpu)))
		}
		if w.database {
			database = fmt.Sprintf("%.2f", each(w.cpuOfDatabase))
		}
		fmt.Printf("| %d KB | %d | %s | %d × %d | %.2f | %.2f | %s | %s | %.0f | %.2f | %s | %.0f | %.0f %% | %s |\n",
			l.body/1000, l.c, w.name, len(w.p50), l.rounds*l.c*l.steps, median(w.p50), median(w.p99), added50, added99,
			median(w.rate), each(w.cpu), database, memory, 100*float64(w.forwarded)/float64(max(1, w.sent)), decided)
	}
	for _, w := range all {
		w.end()
	}
}

// window sends the conversations of a window through a way.
func (b *bench) window(l load, w *contender, n int) {
	var took []timed
	var elapsed time.Duration
	for round := range l.rounds {
		talks := make([]*conversation, l.c)
		each(len(talks), func(i int) {
			talks[i] = sessionOf(l.body-len(headOf(l.head)), uint64((n*l.rounds+round)*l.c+i), l.result,
				headOf(l.head), true)
			talks[i].send(w.to(i), talks[i].body()) // it is seen for the first time
		})
		received, cpu, database := b.up.received.Load(), used(w.pids...), b.database()
		took = append(took, make([]timed, l.c*l.steps)...)
		part := took[len(took)-l.c*l.steps:]
		var sent atomic.Int64
		began := time.Now()
		each(len(talks), func(i int) {
			for step := range l.steps {
				talks[i].grow()
				body := talks[i].body()
				sent.Add(int64(len(body)))
				part[i*l.steps+step] = talks[i].send(w.to(i), body)
			}
		})
		elapsed += time.Since(began)
		w.cpu += used(w.pids...) - cpu
		w.cpuOfDatabase += b.database() - database
		w.sent += sent.Load()
		w.forwarded += b.up.received.Load() - received
	}
	w.requests += len(took)
	w.p50 = append(w.p50, percentile(took, whole, .5))
	w.p99 = append(w.p99, percentile(took, whole, .99))
	w.rate = append(w.rate, float64(len(took))/elapsed.Seconds())
}

// each does something n times at once, and waits.
func each(n int, do func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { do(i) })
	}
	all.Wait()
}

// database is the processor time that the server took so far.
func (b *bench) database() time.Duration {
	pid, err := b.cluster.Process()
	must(err)
	return used(family(pid)...)
}

// decisions are how many parts the replicas of a way left out, as they count them themselves.
func (w *contender) decisions() (n int) {
	for _, address := range w.addresses {
		answer, err := http.Get(strings.TrimSuffix(address, "/up") + "/metrics")
		must(err)
		text, err := io.ReadAll(answer.Body)
		must(err)
		answer.Body.Close()
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "winnow_decisions_total{") {
				var count float64
				fmt.Sscan(line[strings.LastIndexByte(line, ' ')+1:], &count)
				n += int(count)
			}
		}
	}
	return n
}

// profiled takes a processor profile of a replica while conversations of a case go on.
func (b *bench) profiled(l load, w *contender, s *serving) {
	path := filepath.Join(b.profile, fmt.Sprintf("%d-%d-%s.pprof", l.body, l.c, strings.NewReplacer(" ", "-",
		",", "").Replace(w.name)))
	talks := make([]*conversation, l.c)
	each(len(talks), func(i int) {
		talks[i] = sessionOf(l.body-len(headOf(l.head)), uint64(1_000_000+i), l.result, headOf(l.head), true)
		talks[i].send(w.to(i), talks[i].body())
	})
	stopped, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		each(len(talks), func(i int) {
			for {
				select {
				case <-stopped:
					return
				default:
					talks[i].grow()
					talks[i].send(w.to(i), talks[i].body())
				}
			}
		})
	}()
	answer, err := http.Get(s.profiles + "profile?seconds=5")
	must(err)
	text, err := io.ReadAll(answer.Body)
	must(err)
	answer.Body.Close()
	close(stopped)
	<-done
	must(os.WriteFile(path, text, 0o600))
	top, err := exec.Command("go", "tool", "pprof", "-top", "-cum", "-nodecount", "60", path).Output()
	if err != nil {
		log.Print(err)
	}
	must(os.WriteFile(path+".txt", top, 0o600))
}

func median(all []float64) float64 {
	sorted := slices.Sorted(slices.Values(all))
	if len(sorted) == 0 {
		return 0
	}
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}
