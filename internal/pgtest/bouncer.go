package pgtest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Bouncer starts PgBouncer before the server of a cluster, which gives connections out by
// transaction, and returns the URL of the cluster's database through it. The test is skipped where
// there is no PgBouncer. settings are lines of its configuration.
func (c *Cluster) Bouncer(tb testing.TB, settings ...string) (url string) {
	tb.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		tb.Skip("no PgBouncer to test with")
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	at := free.Addr().String()
	free.Close()
	_, port, _ := strings.Cut(at, ":")
	dir, err := os.MkdirTemp("/tmp", "winnow-pgb")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { os.RemoveAll(dir) })
	file := filepath.Join(dir, "pgbouncer.ini")
	text := fmt.Sprintf("[databases]\npostgres = host=%s user=winnow dbname=postgres\n"+
		"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = %s\nunix_socket_dir =\nauth_type = any\n"+
		"pool_mode = transaction\ndefault_pool_size = 4\n%s\n", c.dir, port, strings.Join(settings, "\n"))
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
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
	cmd := exec.Command(program, file)
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", log, log
	c.as.run(cmd)
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended by itself
		_ = cmd.Wait()
		if said, err := os.ReadFile(log.Name()); err == nil && tb.Failed() {
			tb.Logf("PgBouncer says\n%s", said)
		}
	})
	for range 200 {
		if conn, err := net.Dial("tcp", at); err == nil {
			conn.Close()
			return "postgres://winnow@" + at + "/postgres?sslmode=disable"
		}
		time.Sleep(20 * time.Millisecond)
	}
	tb.Fatal("PgBouncer does not listen")
	return ""
}
