//go:build unix

// Command gatebench measures what winnow adds to the requests of growing sessions: the same bodies
// go through a plain reverse proxy and through winnow in turns, each in a process of its own, to an
// upstream that answers at once. Client and upstream share the machine with them.
//
//	go run ./internal/gatebench -sizes 1000000 -c 1,16 -n 400
//
//	go run ./internal/gatebench replicas
//
// measures the built program with its stores, one process and three: see replicas.go. "cost",
// "memory", "arrivals" and "needs" measure for docs/scale.md: see the files of these names.
//
// Times are those of the client, in milliseconds. Added is the difference to the plain proxy: with
// one session at a time of the two ways of one body, else of the percentiles.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"log"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) > 1 && os.Args[1] == relayRole {
		relay(os.Args[2:])
		return
	}
	roles := map[string]func([]string){replicasRole: replicas, costRole: costs, arrivalsRole: arriving, needsRole: needs,
		memoryRole: memories}
	if len(os.Args) > 1 && roles[os.Args[1]] != nil {
		roles[os.Args[1]](os.Args[2:])
		return
	}
	sizes := flag.String("sizes", "10000,200000,1000000,5000000", "bytes of a body at the start of a session")
	concurrency := flag.String("c", "1,16,64", "sessions at a time")
	n := flag.Int("n", 400, "requests of a case through each of the two; fewer where bodies are large and many")
	profile := flag.String("profile", "", "folder for processor profiles of winnow, one a case, from the second "+
		"request of each session on")
	flag.Parse()
	up := startUpstream()
	fmt.Printf("%9s %3s | %-15s | %-15s | %-15s | %-6s | %-13s | %-13s | %s\n", "bytes", "c", "plain p50   p99",
		"winnow p50  p99", "added p50   p99", "1st b.", "cold: p. / w.", "CPU: p. / w.", "winnow: MB, sent on")
	for _, size := range numbers(*sizes) {
		for _, c := range numbers(*concurrency) {
			requests := min(*n, max(4*c, 4_000_000_000/(size*c))) // bodies of all sessions must fit into memory
			if size*c > 160_000_000 {
				continue
			}
			measure(up, size, c, requests, *profile)
		}
	}
}

func numbers(list string) (all []int) {
	for text := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n <= 0 {
			log.Fatalf("%q is not a number above 0", text)
		}
		all = append(all, n)
	}
	return all
}

// timed is what one request took.
type timed struct{ first, whole time.Duration }

// way is one of the two ways to the upstream, with what its requests took.
type way struct {
	*child
	cold, warm []timed
	sent       int64
}

// measure measures one case.
func measure(up *upstream, size, c, n int, profile string) {
	if profile != "" {
		profile = fmt.Sprintf("%s/winnow-%d-%d.pprof", profile, size, c)
	}
	ways := [2]*way{{child: startRelay("plain", up.address, "")}, {child: startRelay("winnow", up.address, profile)}}
	defer ways[0].stop()
	defer ways[1].stop()
	sessions := make([]*conversation, c)
	for i := range sessions {
		sessions[i] = newSession(size, uint64(i))
	}
	var forwarded int64
	var used [2]time.Duration
	for step := range max(3, n/c) {
		bodies := make([][]byte, c)
		for i, s := range sessions {
			if step > 0 {
				s.grow()
			}
			bodies[i] = s.body()
		}
		for turn := range ways {
			at := (turn + step) % 2 // who is first takes turns
			w := ways[at]
			before, received := w.cpu(), up.received.Load()
			took := make([]timed, c)
			var all sync.WaitGroup
			for i, s := range sessions {
				all.Go(func() { took[i] = s.send(w.address, bodies[i]) })
			}
			all.Wait()
			if step == 0 {
				w.cold = took
				w.asked(warm)
				continue
			}
			w.warm = append(w.warm, took...)
			used[at] += w.cpu() - before
			if at == 1 {
				forwarded += up.received.Load() - received
				for _, b := range bodies {
					w.sent += int64(len(b))
				}
			}
		}
	}
	p, w := ways[0], ways[1]
	added := func(of func(timed) time.Duration, q float64) float64 {
		if c > 1 {
			return percentile(w.warm, of, q) - percentile(p.warm, of, q)
		}
		pairs := make([]timed, len(w.warm))
		for i := range pairs {
			pairs[i] = timed{w.warm[i].first - p.warm[i].first, w.warm[i].whole - p.warm[i].whole}
		}
		return percentile(pairs, of, q)
	}
	each := func(d time.Duration) float64 { return ms(d) / float64(len(w.warm)) }
	fmt.Printf("%9d %3d | %7.2f %7.2f | %7.2f %7.2f | %7.2f %7.2f | %6.2f | %5.1f / %5.1f | %5.2f / %5.2f | %5.0f "+
		"%5.1f %%\n",
		size, c, percentile(p.warm, whole, .5), percentile(p.warm, whole, .99),
		percentile(w.warm, whole, .5), percentile(w.warm, whole, .99), added(whole, .5), added(whole, .99),
		added(first, .5), percentile(p.cold, whole, .5), percentile(w.cold, whole, .5), each(used[0]), each(used[1]),
		w.memory(), 100*float64(forwarded)/float64(w.sent))
}

func first(t timed) time.Duration { return t.first }
func whole(t timed) time.Duration { return t.whole }

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func percentile(all []timed, of func(timed) time.Duration, q float64) float64 {
	sorted := slices.SortedFunc(slices.Values(all), func(a, b timed) int { return cmp.Compare(of(a), of(b)) })
	return ms(of(sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]))
}
