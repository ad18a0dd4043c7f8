package pgtest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// follower is the name under which a standby follows its primary.
const follower = "winnow_standby"

// Pair is a server and a standby that has all that was committed: a commit is answered when both
// have it. When the first one dies, the other is made the primary by hand. Its methods are for one
// goroutine.
type Pair struct {
	nodes   [2]*Cluster
	primary int
	behind  bool // the standby has not got what was committed since Lag
	before  []*bouncer
}

// NewPair makes a pair for one test, which is skipped if there is no PostgreSQL to make it of.
// Neither waits for the disk, which is there after a process was killed, but for a power cut.
func NewPair(tb testing.TB) *Pair {
	tb.Helper()
	first := begin(tb, false, "synchronous_commit=on", "full_page_writes=on", "wal_keep_size=512MB",
		"wal_retrieve_retry_interval=100ms")
	second, err := first.like()
	if err != nil {
		tb.Fatal(err)
	}
	p := &Pair{nodes: [2]*Cluster{first, second}}
	tb.Cleanup(second.remove)
	if err := p.Follow(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return p
}

// URL names the database of the pair: whichever of the two takes writes.
func (p *Pair) URL() string {
	return "postgres://winnow@/postgres?host=" + url.QueryEscape(p.nodes[0].dir+","+p.nodes[1].dir) +
		"&target_session_attrs=read-write"
}

// Primary is the server that takes writes, or took them until it was killed.
func (p *Pair) Primary() *Cluster { return p.nodes[p.primary] }

// standby is the other one.
func (p *Pair) standby() *Cluster { return p.nodes[1-p.primary] }

// Lag lets the standby fall behind, as one may that no commit waits for: what is committed from now
// on is lost with the primary.
func (p *Pair) Lag(ctx context.Context) error {
	if err := p.Primary().configure(ctx, ""); err != nil {
		return err
	}
	p.behind = true
	return p.standby().Down("fast")
}

// FailOver kills the primary with all its processes, as a machine that loses its power ends, and
// makes the standby the primary. It has no standby until Follow.
func (p *Pair) FailOver() error {
	if err := p.Primary().Kill(); err != nil {
		return err
	}
	next := p.standby()
	if p.behind {
		if err := next.Up(); err != nil {
			return err
		}
		p.behind = false
	}
	if err := next.run("pg_ctl", "-D", next.data(), "-w", "promote"); err != nil {
		return err
	}
	p.primary = 1 - p.primary
	for _, b := range p.before {
		if err := b.turn(p.Primary()); err != nil {
			return err
		}
	}
	return nil
}

// Follow makes the other server a standby of the primary, from a copy of its data, and returns when
// it has all that the primary has: from then on nothing is committed without it.
func (p *Pair) Follow(ctx context.Context) error {
	from, to := p.Primary(), p.standby()
	// Without a standby no commit would end.
	if err := from.configure(ctx, ""); err != nil {
		return err
	}
	if err := os.RemoveAll(to.data()); err != nil {
		return err
	}
	if err := to.run("pg_basebackup", "-D", to.data(), "-R", "-X", "stream", "-c", "fast", "--no-sync",
		"-d", "host="+from.dir+" user=winnow application_name="+follower); err != nil {
		return err
	}
	if err := to.Up(); err != nil {
		return err
	}
	if err := from.configure(ctx, follower); err != nil {
		return err
	}
	return from.followed(ctx)
}

// configure sets whose confirmation a commit waits for: that of a standby, or with "" of none.
func (c *Cluster) configure(ctx context.Context, standby string) error {
	return c.exec(ctx, "ALTER SYSTEM SET synchronous_standby_names = '"+standby+"'", "SELECT pg_reload_conf()")
}

// followed waits until commits wait for the standby, and it has all that was committed before.
func (c *Cluster) followed(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, c.URL())
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	for state := ""; ; {
		err := conn.QueryRow(ctx, `
			SELECT COALESCE(max(sync_state || ' ' || state || ' ' || (flush_lsn >= pg_current_wal_flush_lsn())), '')
			FROM pg_stat_replication WHERE application_name = $1`, follower).Scan(&state)
		if err != nil {
			return err
		}
		if state == "sync streaming true" {
			return nil
		}
		if err := pause(ctx); err != nil {
			return fmt.Errorf("the standby is %q: %w", state, err)
		}
	}
}

func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(10 * time.Millisecond):
		return nil
	}
}

// exec runs statements.
func (c *Cluster) exec(ctx context.Context, statements ...string) error {
	conn, err := pgx.Connect(ctx, c.URL())
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	for _, sql := range statements {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	return nil
}

// like makes the folder of another server with the same options, without data.
func (c *Cluster) like() (*Cluster, error) {
	dir, err := os.MkdirTemp("/tmp", "winnow-pg")
	if err != nil {
		return nil, err
	}
	other := &Cluster{dir: dir, bin: c.bin, as: c.as, options: strings.ReplaceAll(c.options, c.dir, dir)}
	if err := c.as.own(dir); err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	return other, other.watch()
}

// Kill kills the server and all its processes, as a machine that loses its power ends.
func (c *Cluster) Kill() error {
	pid, err := c.Process()
	if err != nil || pid <= 1 {
		return fmt.Errorf("the server in %s is process %d, %v", c.data(), pid, err)
	}
	server, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	workers := children(pid) // they would go on for a moment
	err = server.Kill()
	for _, worker := range append(workers, children(pid)...) {
		if process, err := os.FindProcess(worker); err == nil {
			_ = process.Kill() // it may have ended by itself
		}
	}
	return errors.Join(err, c.clear(pid))
}

// clear waits until a server that was killed has ended, and removes what it had locked: its id is
// still there until somebody has asked how it ended, which may be nobody.
func (c *Cluster) clear(pid int) error {
	for range 1000 {
		if state := status(pid); len(children(pid)) == 0 && (state == "" || state == "Z") {
			for _, path := range []string{"data/postmaster.pid", ".s.PGSQL.5432.lock", ".s.PGSQL.5432"} {
				if err := os.Remove(filepath.Join(c.dir, path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
					return err
				}
			}
			return nil
		}
		time.Sleep(5 * time.Millisecond)
	}
	return fmt.Errorf("the server %d was killed, and is still there", pid)
}
