package pgtest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// bouncer is a PgBouncer that gives connections to one server out by transaction.
type bouncer struct {
	address  string
	file     string // its configuration
	settings []string
	cmd      *exec.Cmd
}

// Bouncer starts PgBouncer before the server of a cluster, which gives connections out by
// transaction, and returns the URL of the cluster's database through it. The test is skipped where
// there is no PgBouncer. settings are lines of its configuration.
func (c *Cluster) Bouncer(tb testing.TB, settings ...string) (url string) {
	tb.Helper()
	return bounce(tb, c, settings).url()
}

// Bouncer starts PgBouncer before the pair. When that fails over, PgBouncer is told of the new
// primary, as whoever fails a database over has to.
func (p *Pair) Bouncer(tb testing.TB, settings ...string) (url string) {
	tb.Helper()
	p.before = append(p.before, bounce(tb, p.Primary(), settings))
	return p.before[len(p.before)-1].url()
}

func (b *bouncer) url() string { return "postgres://winnow@" + b.address + "/postgres?sslmode=disable" }

// configure writes which server stands behind.
func (b *bouncer) configure(server *Cluster) error {
	_, port, _ := strings.Cut(b.address, ":")
	text := fmt.Sprintf("[databases]\npostgres = host=%s user=winnow dbname=postgres\n"+
		"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = %s\nunix_socket_dir =\nauth_type = any\n"+
		"pool_mode = transaction\ndefault_pool_size = 4\n%s\n", server.dir, port, strings.Join(b.settings, "\n"))
	return os.WriteFile(b.file, []byte(text), 0o644)
}

// turn lets another server stand behind.
func (b *bouncer) turn(server *Cluster) error {
	if err := b.configure(server); err != nil {
		return err
	}
	return b.cmd.Process.Signal(syscall.SIGHUP)
}

func bounce(tb testing.TB, server *Cluster, settings []string) *bouncer {
	tb.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		tb.Skip("no PgBouncer to test with")
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	free.Close()
	dir, err := os.MkdirTemp("/tmp", "winnow-pgb")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { os.RemoveAll(dir) })
	b := &bouncer{address: free.Addr().String(), file: filepath.Join(dir, "pgbouncer.ini"), settings: settings}
	if err := b.configure(server); err != nil {
		tb.Fatal(err)
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		tb.Fatal(err)
	}
	defer log.Close()
	if err := os.Chmod(dir, 0o755); err != nil {
		tb.Fatal(err)
	}
	b.cmd = exec.Command(program, b.file)
	b.cmd.Dir, b.cmd.Stdout, b.cmd.Stderr = "/", log, log
	server.as.run(b.cmd)
	if err := b.cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = b.cmd.Process.Kill() // it may have ended by itself
		_ = b.cmd.Wait()
		if said, err := os.ReadFile(log.Name()); err == nil && tb.Failed() {
			tb.Logf("PgBouncer says\n%s", said[max(0, len(said)-8000):])
		}
	})
	for range 200 {
		if conn, err := net.Dial("tcp", b.address); err == nil {
			conn.Close()
			return b
		}
		time.Sleep(20 * time.Millisecond)
	}
	tb.Fatal("PgBouncer does not listen")
	return nil
}
