//go:build unix

package main

import (
	"flag"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/winnowhq/winnow/internal/pgtest"
	"github.com/winnowhq/winnow/store"
)

// costRole is the first argument that measures what a request costs one `winnow serve` on
// PostgreSQL and its database, with each byte between them counted:
//
//	go run ./internal/gatebench cost -sessions FOLDER
//
// It asks conversations of 10 KB, 200 KB and 1 MB, then the recorded sessions of a folder, request
// by request. Statements are counted where the extension pg_stat_statements is installed.
const costRole = "cost"

// tap carries the connections of a program to a server of PostgreSQL, and counts.
type tap struct {
	dir      string
	to, from atomic.Int64 // bytes to the server and from it
	trips    atomic.Int64 // times that the program began to speak
	accepted atomic.Int64 // connections
}

func startTap(folder, server string) *tap {
	t := &tap{dir: filepath.Join(folder, "tap")}
	must(os.Mkdir(t.dir, 0o700))
	l, err := net.Listen("unix", filepath.Join(t.dir, ".s.PGSQL.5432"))
	must(err)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.accepted.Add(1)
			go t.carry(c, server)
		}
	}()
	return t
}

func (t *tap) carry(program net.Conn, server string) {
	defer program.Close()
	c, err := net.Dial("unix", server)
	if err != nil {
		return
	}
	defer c.Close()
	var mu sync.Mutex
	answered := true
	go func() {
		defer c.Close()
		_, _ = io.Copy(counter{c, func(n int) {
			mu.Lock()
			if answered {
				t.trips.Add(1)
			}
			answered = false
			mu.Unlock()
			t.to.Add(int64(n))
		}}, program)
	}()
	_, _ = io.Copy(counter{program, func(n int) {
		mu.Lock()
		answered = true
		mu.Unlock()
		t.from.Add(int64(n))
	}}, c)
}

// counter tells how many bytes are written.
type counter struct {
	io.Writer
	told func(n int)
}

func (c counter) Write(data []byte) (int, error) {
	c.told(len(data))
	return c.Writer.Write(data)
}

// figures are what a run has cost so far.
type figures struct {
	winnow, database                         time.Duration
	to, from, trips, connections             int64
	commits, inserted, updated, removed      int64
	walRecords, walBytes, size, calls, elide int64
	flushes                                  int64 // of the WAL, 0 if the server counts them elsewhere
	pages                                    int64 // that are in the WAL as a whole
}

func (f figures) minus(g figures) figures {
	return figures{f.winnow - g.winnow, f.database - g.database, f.to - g.to, f.from - g.from,
		f.trips - g.trips, f.connections - g.connections,
		f.commits - g.commits, f.inserted - g.inserted, f.updated - g.updated, f.removed - g.removed,
		f.walRecords - g.walRecords, f.walBytes - g.walBytes, f.size - g.size, f.calls - g.calls,
		f.elide - g.elide, f.flushes - g.flushes, f.pages - g.pages}
}

// coster is one run.
type coster struct {
	bench
	tap        *tap
	statements bool
	indexRows  []string
}

func costs(args []string) {
	f := flag.NewFlagSet(costRole, flag.ExitOnError)
	folder := f.String("sessions", "", "folder of recorded sessions, of any product; \"\" for none")
	sizes := f.String("sizes", "10000,200000,1000000", "bytes of a body of made-up conversations; \"\" for none")
	most := f.Int("most", 3000, "requests of recorded sessions at most; whole sessions")
	program := f.String("winnow", "", "the program (default: it is built)")
	_ = f.Parse(args)                         // it exits
	home, err := os.MkdirTemp("/tmp", "cost") // the path of a socket has a hundred bytes at most
	must(err)
	defer os.RemoveAll(home)
	c := &coster{}
	if libraries, _ := filepath.Glob("/usr/lib/postgresql/*/lib/pg_stat_statements.so"); len(libraries) > 0 {
		c.statements = true
		c.cluster, err = pgtest.Make(true, "shared_preload_libraries=pg_stat_statements")
	} else {
		c.cluster, err = pgtest.Make(true)
	}
	must(err)
	defer c.cluster.Remove()
	if c.statements {
		must(execute(c.cluster, "CREATE EXTENSION pg_stat_statements"))
	}
	c.program, c.folder, c.up = built(*program, home), home, startUpstream()
	c.tap = startTap(home, c.cluster.Socket())
	nothing := func(string, func()) (int, int64) { return 0, 0 }
	c.run("beginning", nothing, nil) // the schema is made
	const idle = 20 * time.Second
	still := c.run("idle", func(string, func()) (int, int64) { time.Sleep(idle); return 0, 0 }, nil)
	start := c.run("beginning and end", nothing, nil)
	idled := still.minus(start)
	fmt.Printf("%s. Beginning and ending costs %.0f ms of processor time in winnow, %.0f in the database, and "+
		"is not in the table. "+
		"A replica without requests costs, a second: %.2f ms in winnow, %.2f in the database, %.1f statements, "+
		"%s of WAL.\n\n", version(c.cluster),
		ms(start.winnow), ms(start.database), ms(idled.winnow)/idle.Seconds(), ms(idled.database)/idle.Seconds(),
		float64(idled.calls)/idle.Seconds(), bytesOf(float64(max(0, idled.walBytes))/idle.Seconds()))
	fmt.Println("| conversations | requests | body, mean | CPU winnow, ms | CPU database, ms | to the database " +
		"| from it | round trips | statements | " +
		"transactions | rows written | decisions | WAL | its flushes | disk | connections at most |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|")
	made := []load{}
	if *sizes != "" {
		made = loads(numbers(*sizes), []int{16})
	}
	for _, l := range made {
		c.measure(fmt.Sprintf("16 of %d KB, each of %d requests", l.body/1000, l.steps+1), start, l.c,
			func(address string, answered func()) (int, int64) { return c.talk(l, address, answered) })
	}
	if *folder != "" {
		s := startScript()
		defer s.Close()
		c.up = &upstream{address: s.URL}
		c.measure("recorded sessions, one after the other", start, 1,
			func(address string, answered func()) (requests int, bytes int64) {
				for _, r := range recordings(*folder) {
					if requests+r.steps() > *most {
						continue
					}
					n, sent := s.play(r, address, answered)
					requests, bytes = requests+n, bytes+sent
				}
				return requests, bytes
			})
	}
	fmt.Println("\nBytes of a request; the index of words is made once at the end, or in steps, as the job makes it.")
	fmt.Println()
	fmt.Println("| conversations | disk | WAL | disk of the index, made once | WAL of that (whole pages) | disk of the documents, in " +
		"steps | of their words | WAL of the steps (whole pages) |")
	fmt.Println("|---|---|---|---|---|---|---|---|")
	fmt.Println(strings.Join(c.indexRows, "\n"))
}

// measure runs conversations without an index, which it makes at the end, and once more with one that
// is made in steps.
func (c *coster) measure(name string, start figures, conversations int,
	ask func(address string, answered func()) (int, int64)) {
	requests, bytes := 0, int64(0)
	used := c.run(name, func(address string, answered func()) (int, int64) {
		requests, bytes = ask(address, answered)
		return requests, bytes
	}, nil).minus(start)
	c.row(name, requests, bytes, used)
	before := weigh(c.cluster)
	(&indexing{cluster: c.cluster, tenant: name}).index()
	once := weigh(c.cluster).minus(before)
	must(execute(c.cluster, "TRUNCATE found")) // so that the next one begins with none

	before = weigh(c.cluster)
	steps := &indexing{cluster: c.cluster, tenant: name + ", in steps", every: stepRequests * int64(conversations)}
	c.run(steps.tenant, ask, steps)
	steps.index()
	all := weigh(c.cluster).minus(before)
	all.wal -= used.walBytes + start.walBytes
	all.pages -= used.pages + start.pages
	c.indexRow(name, requests, used, once, all)
	must(execute(c.cluster, "TRUNCATE found"))
}

// talk asks conversations of a size, first requests included.
func (c *coster) talk(l load, address string, answered func()) (requests int, bytes int64) {
	var n, sent atomic.Int64
	each(l.c, func(i int) {
		talk := sessionOf(l.body-len(headOf(l.head)), uint64(i), l.result, headOf(l.head), true)
		for step := range l.steps + 1 {
			if step > 0 {
				talk.grow()
			}
			body := talk.body()
			talk.send(address, body)
			n.Add(1)
			sent.Add(int64(len(body)))
			answered()
		}
	})
	return int(n.Load()), sent.Load()
}

// run starts the program as a tenant of its own, does something with it and ends it, and is what
// all that cost. There is no index of words unless it is made in steps.
func (c *coster) run(tenant string, do func(address string, answered func()) (int, int64), steps *indexing) figures {
	before := c.look()
	answered, settings := func() {}, `"searchIndex": false`
	if steps != nil {
		answered, settings = steps.answered, `"searchIndex": true`
	}
	s := startServing(c.program, c.home(), store.WithTenant(
		strings.Replace(c.cluster.URL(), url.QueryEscape(filepath.Dir(c.cluster.Socket())),
			url.QueryEscape(c.tap.dir), 1), tenant), c.up.address, settings)
	do(s.address, answered)
	s.stop() // then the server has counted everything
	after := c.look().minus(before)
	after.winnow = s.cmd.ProcessState.UserTime() + s.cmd.ProcessState.SystemTime()
	return after
}

// look reads what is counted.
func (c *coster) look() (f figures) {
	must(query(c.cluster, `SELECT d.xact_commit, d.tup_inserted, d.tup_updated, d.tup_deleted, w.wal_records, w.wal_bytes::bigint, w.wal_fpi,
		(SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace),
		CASE WHEN to_regclass('elision') IS NULL THEN 0 ELSE (xpath('/row/n/text()', query_to_xml('SELECT count(*) AS n FROM elision', false, true, '')))[1]::text::bigint END
		FROM pg_stat_database d, pg_stat_wal w WHERE d.datname = current_database()`,
		&f.commits, &f.inserted, &f.updated, &f.removed, &f.walRecords, &f.walBytes, &f.pages, &f.size, &f.elide))
	if c.statements {
		must(query(c.cluster, "SELECT coalesce(sum(calls), 0)::bigint FROM pg_stat_statements", &f.calls))
	}
	if query(c.cluster, "SELECT wal_sync FROM pg_stat_wal", &f.flushes) != nil { // PostgreSQL 18 counts it elsewhere
		f.flushes = 0
	}
	f.database = c.database()
	f.to, f.from, f.trips, f.connections = c.tap.to.Load(), c.tap.from.Load(), c.tap.trips.Load(), c.tap.accepted.Load()
	return f
}

func (c *coster) row(name string, requests int, bytes int64, f figures) {
	n := float64(max(1, requests))
	statements := "–"
	if c.statements {
		statements = fmt.Sprintf("%.1f", float64(f.calls)/n)
	}
	fmt.Printf("| %s | %d | %s | %.2f | %.2f | %s | %s | %.1f | %s | %.1f | %.1f | %.2f | %s | %.1f | %s | %d "+
		"|\n", name, requests, bytesOf(float64(bytes)/n),
		ms(f.winnow)/n, ms(f.database)/n, bytesOf(float64(f.to)/n), bytesOf(float64(f.from)/n),
		float64(f.trips)/n, statements,
		float64(f.commits)/n, float64(f.inserted+f.updated+f.removed)/n, float64(f.elide)/n,
		bytesOf(float64(f.walBytes)/n),
		float64(f.flushes)/n, bytesOf(float64(f.size)/n), f.connections)
}
