//go:build unix

package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/winnowhq/winnow/internal/arrivals"
	"github.com/winnowhq/winnow/internal/pgtest"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

// arrivalsRole is the first argument that foretells how long requests wait for processors, if they
// come as those of recorded sessions did:
//
//	go run ./internal/gatebench arrivals -sessions FOLDER -winnow 4.3 -database 2.7
//
// The times are those of a request in milliseconds of processor time, as `gatebench cost` measures
// them. With -check the same is measured, at a load that this computer bears.
const arrivalsRole = "arrivals"

// longestPause is after how long without a request a session is not live any more, as the gateway
// counts it.
const longestPause = time.Hour

// stretches are those of the recorded sessions of a folder that have times.
func stretches(folder string) (all []arrivals.Stretch, sessions int) {
	for _, r := range recordings(folder) {
		var times []time.Time
		for i := range r.log {
			if m := &r.log[i]; m.Role == session.Assistant && m.Time.Created > 0 {
				times = append(times, time.UnixMilli(int64(m.Time.Created)))
			}
		}
		if found := arrivals.Stretches(times, longestPause); len(found) > 0 {
			all, sessions = append(all, found...), sessions+1
		}
	}
	return all, sessions
}

func arriving(args []string) {
	f := flag.NewFlagSet(arrivalsRole, flag.ExitOnError)
	folder := f.String("sessions", "", "folder of recorded sessions, of any product")
	live := f.String("live", "1000,100000,1000000", "sessions that are live at a time")
	winnow := f.Float64("winnow", 4.3, "processor time of a request in winnow, in milliseconds")
	database := f.Float64("database", 2.7, "the same in PostgreSQL")
	busy := f.Float64("busy", 0.6, "share of the processors' time that may be used in the minutes that are simulated")
	check := f.Bool("check", false, "compare one point with what is measured on this computer")
	program := f.String("winnow-program", "", "the program (default: it is built)")
	rate := f.Float64("rate", 100, "requests a second of the check")
	lasts := f.Duration("for", 30*time.Second, "how long the check asks")
	_ = f.Parse(args) // it exits
	recorded, sessions := stretches(*folder)
	pauses := arrivals.Pauses(recorded, 0.1, 0.5, 0.9, 0.99)
	fmt.Printf("%d stretches of work of %d recorded sessions: a live session asks every %.1f s; pauses between "+
		"two requests are shorter than "+
		"%.1f / %.1f / %.1f / %.0f s in 10 / 50 / 90 / 99 %% of the cases.\n\n", len(recorded), sessions,
		1/arrivals.Rate(recorded),
		pauses[0].Seconds(), pauses[1].Seconds(), pauses[2].Seconds(), pauses[3].Seconds())
	if len(recorded) == 0 {
		return
	}
	if *check {
		checked(recorded, *program, *rate, *lasts)
		return
	}
	fmt.Println("| live sessions | simulated | requests/s, mean | most in a second | station | cores | busy | " +
		"wait p50 | p99 | longest |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|---|")
	for _, n := range numbers(*live) {
		span := 10 * time.Minute
		if n > 200_000 {
			span = 2 * time.Minute
		}
		for _, s := range []struct {
			name string
			ms   float64
		}{{"winnow", *winnow}, {"PostgreSQL", *database}} {
			cores := max(1, int(0.9999 + arrivals.Rate(recorded)*float64(n)*s.ms/1000 / *busy))
			w := arrivals.Queue(arrivals.Live(recorded, n, span, 1), cores, exponential(s.ms, 2), nil)
			fmt.Printf("| %d | %s | %.0f | %d | %s | %d | %.0f %% | %.2f ms | %.2f ms | %.0f ms |\n", n, span,
				float64(w.Requests)/span.Seconds(), w.Peak,
				s.name, cores, 100*w.Busy, ms(w.P50), ms(w.P99), ms(w.Most))
		}
	}
	day(recorded, *winnow, *busy)
}

// hours are when sessions begin in an office: from eight to six, with a lull at noon.
var hours = [24]float64{8: 1, 9: 2, 10: 2, 11: 2, 12: 1, 13: 2, 14: 2, 15: 2, 16: 1, 17: 0.5}

// day is a day of an office: the same sessions begin from eight to six, with a lull at noon.
func day(recorded []arrivals.Stretch, winnow, busy float64) {
	const n = 20_000
	var by [24]int
	for at := range arrivals.Day(recorded, n, hours, 1) {
		by[at/time.Hour]++
	}
	most, all := 0, 0
	for _, n := range by {
		most, all = max(most, n), all+n
	}
	peak := float64(most) / 3600
	cores := max(1, int(0.9999+peak*winnow/1000/busy))
	w := arrivals.Queue(arrivals.Day(recorded, n, hours, 1), cores, exponential(winnow, 2), nil)
	fmt.Printf("\n%d sessions that begin in a day, from eight to six: %d requests, %.1f a second over the day, "+
		"%.1f in its busiest hour (%.1f times as many); "+
		"%d cores of winnow are %.0f %% busy over the day, waits p50 %.2f ms, p99 %.2f ms, longest %.0f ms.\n",
		n, all, float64(all)/86_400, peak, peak*86_400/float64(all),
		cores, 100*w.Busy, ms(w.P50), ms(w.P99), ms(w.Most))
}

// exponential are random times with a mean in milliseconds: as uneven as requests of sizes from 10
// KB to 1 MB are.
func exponential(mean float64, seed uint64) func() time.Duration {
	dice := rand.New(rand.NewPCG(seed, 0xcafe))
	return func() time.Duration { return time.Duration(dice.ExpFloat64() * mean * float64(time.Millisecond)) }
}

// checked asks a gateway of this computer as the recorded sessions came, whether it keeps up or
// not, and compares what requests waited with what the simulation says.
func checked(recorded []arrivals.Stretch, program string, rate float64, lasts time.Duration) {
	home, err := os.MkdirTemp("", "arrivals")
	must(err)
	defer os.RemoveAll(home)
	cluster, err := pgtest.Make(true)
	must(err)
	defer cluster.Remove()
	b := &bench{program: built(program, home), folder: home, up: startUpstream(), cluster: cluster}
	s := startServing(b.program, b.home(), store.WithTenant(cluster.URL(), "check"), b.up.address)
	defer s.stop()
	const talks = 128
	l := loads([]int{200_000}, []int{16})[0]
	free := make(chan *conversation, talks)
	for i := range talks {
		c := sessionOf(l.body-len(headOf(l.head)), uint64(i), l.result, headOf(l.head), true)
		c.send(s.address, c.body())
		free <- c
	}
	ask := func() time.Duration {
		c := <-free
		c.grow()
		body := c.body()
		took := c.send(s.address, body)
		free <- c
		return took.whole
	}
	var alone []timed
	for range 200 {
		alone = append(alone, timed{whole: ask()})
	}
	cost := func() time.Duration {
		var own syscall.Rusage
		must(syscall.Getrusage(syscall.RUSAGE_SELF, &own))
		return time.Duration(own.Utime.Nano()+own.Stime.Nano()) + used(s.cmd.Process.Pid) + b.database()
	}
	// How much this computer does at most, beside whatever else it is at.
	full := func() (perSecond float64) {
		var done atomic.Int64
		began := time.Now()
		each(16, func(int) {
			for time.Since(began) < 5*time.Second {
				ask()
				done.Add(1)
			}
		})
		return float64(done.Load()) / time.Since(began).Seconds()
	}
	most := full()
	n := int(rate / arrivals.Rate(recorded))
	before, began := cost(), time.Now()
	var all sync.WaitGroup
	var mu sync.Mutex
	var took []timed
	var late atomic.Int64
	for at := range arrivals.Live(recorded, n, lasts, 7) {
		time.Sleep(time.Until(began.Add(at)))
		if time.Since(began)-at > 5*time.Millisecond {
			late.Add(1)
		}
		all.Go(func() {
			ask()
			d := time.Since(began) - at
			mu.Lock()
			took = append(took, timed{whole: d})
			mu.Unlock()
		})
	}
	all.Wait()
	elapsed := time.Since(began)
	costs := (cost() - before) / time.Duration(max(1, len(took)))
	most = (most + full()) / 2
	const cores = 2
	takes := 1000 * cores / most // milliseconds of one of these servers
	var foretold []timed         // what one waits, and then takes as one of those that were alone
	dice := rand.New(rand.NewPCG(9, 9))
	w := arrivals.Queue(arrivals.Live(recorded, n, lasts, 7), cores, exponential(takes, 3),
		func(wait time.Duration) {
			foretold = append(foretold, timed{whole: wait + alone[dice.IntN(len(alone))].whole})
		})
	fmt.Printf("%d live sessions ask %d times in %s; each request of 200 KB takes %.2f ms of processor time in "+
		"all (client, upstream, winnow, PostgreSQL), on %d cores. Asked as fast as it can, it does %.0f a second.\n",
		n, len(took), elapsed.Round(time.Millisecond), ms(costs), cores, most)
	fmt.Printf("One at a time p50 %.2f ms, p99 %.2f ms. Measured under the load: p50 %.2f ms, p99 %.2f ms; %d "+
		"requests were sent more than 5 ms late.\n",
		percentile(alone, whole, .5), percentile(alone, whole, .99), percentile(took, whole, .5),
		percentile(took, whole, .99), late.Load())
	fmt.Printf("Simulated with that: cores busy %.0f %%, waits p50 %.2f ms, p99 %.2f ms; with what one takes alone "+
		"p50 %.2f ms, p99 %.2f ms.\n",
		100*w.Busy, ms(w.P50), ms(w.P99), percentile(foretold, whole, .5), percentile(foretold, whole, .99))
}
