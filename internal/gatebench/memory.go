//go:build unix

package main

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/winnowhq/winnow/internal/pgtest"
	"github.com/winnowhq/winnow/store"
)

// memoryRole is the first argument that measures how much memory conversations at hand take of
// `winnow serve`: by its own account, which gateway.memory bounds, in the heap after garbage was
// collected, and resident:
//
//	go run ./internal/gatebench memory
const memoryRole = "memory"

func memories(args []string) {
	f := flag.NewFlagSet(memoryRole, flag.ExitOnError)
	sizes := f.String("sizes", "100000,400000,1000000", "bytes of a body")
	n := f.Int("n", 200, "conversations")
	program := f.String("winnow", "", "the program (default: it is built)")
	_ = f.Parse(args)                           // it exits
	home, err := os.MkdirTemp("/tmp", "memory") // the path of a socket has a hundred bytes at most
	must(err)
	defer os.RemoveAll(home)
	cluster, err := pgtest.Make(false)
	must(err)
	defer cluster.Remove()
	b := &bench{program: built(*program, home), folder: home, up: startUpstream(), cluster: cluster}
	fmt.Println("| conversations at hand | body, mean | by its own account, each | of the heap, each | resident, each " +
		"| of the process |")
	fmt.Println("|---|---|---|---|---|---|")
	for _, size := range numbers(*sizes) {
		s := startServing(b.program, b.home(), store.WithTenant(cluster.URL(), fmt.Sprint(size)), b.up.address,
			`"searchIndex": false`, `"memory": 4000000000`)
		_, heap := s.heldBy()
		resident0, _ := resident(s.cmd.Process.Pid)
		const steps = 4
		bytes := make([]int, *n)
		for i := range *n {
			talk := sessionOf(size-len(head), uint64(i), 2000, head, true)
			for range steps {
				body := talk.body()
				bytes[i] = len(body)
				talk.send(s.address, body)
				talk.grow()
			}
		}
		mean := 0
		for _, b := range bytes {
			mean += b / *n
		}
		time.Sleep(2 * time.Second) // what comes after the answers
		own, after := s.heldBy()
		now, _ := resident(s.cmd.Process.Pid)
		each := func(n0, n1 float64) string { return bytesOf((n1 - n0) / float64(*n)) }
		fmt.Printf("| %d | %s | %s | %s | %s | %.0f MB |\n", *n, bytesOf(float64(mean)), each(0, own), each(heap, after),
			each(resident0*1024*1024, now*1024*1024), now)
		s.stop()
	}
}

var (
	ownAccount = regexp.MustCompile(`(?m)^winnow_memory_bytes (\S+)$`)
	heapAlloc  = regexp.MustCompile(`(?m)^# HeapAlloc = (\d+)$`)
)

// heldBy is how many bytes a process has at hand by its own account, and how many its heap has after
// garbage was collected.
func (s *serving) heldBy() (own, heap float64) {
	read := func(address string, figure *regexp.Regexp) float64 {
		answer, err := http.Get(address)
		must(err)
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		must(err)
		m := figure.FindSubmatch(text)
		if m == nil {
			must(fmt.Errorf("%s does not say %s", address, figure))
		}
		n, err := strconv.ParseFloat(string(m[1]), 64)
		must(err)
		return n
	}
	heap = read(s.profiles+"/heap?gc=1&debug=1", heapAlloc)
	return read(strings.TrimSuffix(s.address, "/up")+"/metrics", ownAccount), heap
}
