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
//	go run ./internal/gatebench memory -sessions FOLDER
const memoryRole = "memory"

func memories(args []string) {
	f := flag.NewFlagSet(memoryRole, flag.ExitOnError)
	sizes := f.String("sizes", "100000,400000,1000000", "bytes of a body")
	n := f.Int("n", 100, "conversations of each size")
	folder := f.String("sessions", "", "folder of recorded sessions, of any product; \"\" for none")
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
	const steps = 4
	for _, size := range numbers(*sizes) {
		b.hold(func(address string) (held int, bytes int64) {
			for i := range *n {
				talk := sessionOf(size-len(head), uint64(i), 2000, head, true)
				for step := range steps {
					body := talk.body()
					talk.send(address, body)
					talk.grow()
					if step == steps-1 {
						bytes += int64(len(body))
					}
				}
			}
			return *n, bytes
		})
	}
	if *folder == "" {
		return
	}
	s := startScript()
	defer s.Close()
	b.up = &upstream{address: s.URL}
	b.hold(func(address string) (held int, bytes int64) {
		for _, r := range recordings(*folder) {
			if requests, sent := s.playLast(r, steps, address, func() {}); requests > 0 {
				held, bytes = held+1, bytes+sent/int64(requests)
			}
		}
		return held, bytes
	})
}

// hold has a process hold conversations, and prints what they take. ask tells how many there are, and
// the bytes of their bodies.
func (b *bench) hold(ask func(address string) (held int, bytes int64)) {
	s := startServing(b.program, b.home(), store.WithTenant(b.cluster.URL(), fmt.Sprint(b.homes)), b.up.address,
		`"searchIndex": false`, `"memory": 4000000000`)
	defer s.stop()
	_, heap := s.heldBy()
	before, _ := resident(s.cmd.Process.Pid)
	held, bytes := ask(s.address)
	time.Sleep(2 * time.Second) // what comes after the answers
	own, after := s.heldBy()
	now, _ := resident(s.cmd.Process.Pid)
	each := func(bytes float64) string { return bytesOf(bytes / float64(max(1, held))) }
	fmt.Printf("| %d | %s | %s | %s | %s | %.0f MB |\n", held, each(float64(bytes)), each(own), each(after-heap),
		each((now-before)*1024*1024), now)
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
