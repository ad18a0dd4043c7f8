// Package pgtest starts PostgreSQL for tests.
package pgtest

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Variable names a server for tests: the URL of a database in which schemas may be made.
const Variable = "WINNOW_TEST_POSTGRES"

// Start returns the URL of an empty schema, which is dropped when the test ends. It is in the
// database that WINNOW_TEST_POSTGRES names, or else in a cluster of its own, which is made by the
// first test of the process from the PostgreSQL that is installed, does not wait for the disk, and
// goes with the process. The test is skipped, with the reason, if there is neither.
func Start(tb testing.TB) string {
	tb.Helper()
	base := os.Getenv(Variable)
	if base == "" {
		c, err := shared()
		if missing := (*missingError)(nil); errors.As(err, &missing) {
			tb.Skipf("no PostgreSQL to test with: %v (or set %s to the URL of a database)", err, Variable)
		}
		if err != nil {
			tb.Fatal(err)
		}
		base = c.URL()
	}
	return schema(tb, base)
}

// schema makes an empty schema in a database, and returns the URL in which it comes first.
func schema(tb testing.TB, base string) string {
	tb.Helper()
	name := "t" + strings.ToLower(rand.Text())
	run := func(ctx context.Context, sql string) error {
		c, err := pgx.Connect(ctx, base)
		if err != nil {
			return err
		}
		defer c.Close(ctx)
		_, err = c.Exec(ctx, sql)
		return err
	}
	if err := run(tb.Context(), "CREATE SCHEMA "+name); err != nil {
		tb.Fatalf("a schema for the test: %v", err)
	}
	tb.Cleanup(func() {
		if err := run(context.Background(), "DROP SCHEMA "+name+" CASCADE"); err != nil {
			tb.Logf("the schema %s is left: %v", name, err)
		}
	})
	u, err := url.Parse(base)
	if err != nil {
		tb.Fatalf("%s is not the URL of a database", Variable)
	}
	q := u.Query()
	q.Set("search_path", name)
	u.RawQuery = q.Encode()
	return u.String()
}

// shared is the cluster of this process.
var shared = sync.OnceValues(func() (*Cluster, error) { return newCluster(false) })

// missingError says why there is no server to test with.
type missingError struct{ why string }

func (e *missingError) Error() string { return e.why }

// Cluster is a server with its data in a folder of its own. It listens on a socket in that folder,
// not on the network.
type Cluster struct {
	dir, bin string
	guard    *exec.Cmd
	hold     *os.File // closed when this process ends, however it ends
	options  string
	as       *account
}

// NewCluster makes a cluster for one test, which may stop and start it, or is skipped. It waits for
// the disk as in earnest if durable is set.
func NewCluster(tb testing.TB, durable bool) *Cluster {
	tb.Helper()
	return begin(tb, durable)
}

// begin makes a cluster for one test, with settings beside the usual ones.
func begin(tb testing.TB, durable bool, settings ...string) *Cluster {
	tb.Helper()
	c, err := newCluster(durable, settings...)
	if missing := (*missingError)(nil); errors.As(err, &missing) {
		tb.Skipf("no PostgreSQL to test with: %v", err)
	}
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(c.remove)
	return c
}

// URL names the database of the cluster.
func (c *Cluster) URL() string {
	return "postgres://winnow@/postgres?host=" + url.QueryEscape(c.dir)
}

func newCluster(durable bool, options ...string) (_ *Cluster, err error) {
	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	as, err := unprivileged()
	if err != nil {
		return nil, err
	}
	// A socket's path may have about a hundred bytes: the folder of temporary files of a test is
	// too long for it.
	dir, err := os.MkdirTemp("/tmp", "winnow-pg")
	if err != nil {
		return nil, err
	}
	c := &Cluster{dir: dir, bin: bin, as: as}
	c.options = "-c listen_addresses='' -c unix_socket_directories='" + dir + "' -c max_connections=200"
	if !durable {
		c.options += " -c fsync=off -c synchronous_commit=off -c full_page_writes=off"
	}
	for _, option := range options {
		c.options += " -c " + option
	}
	defer func() {
		if err != nil {
			c.remove()
		}
	}()
	if err := as.own(dir); err != nil {
		return nil, err
	}
	if err := c.run("initdb", "-D", c.data(), "-U", "winnow", "-A", "trust", "-E", "UTF8", "--locale=C",
		"-N"); err != nil {
		return nil, err
	}
	if err := c.Up(); err != nil {
		return nil, err
	}
	return c, c.watch()
}

func (c *Cluster) data() string { return filepath.Join(c.dir, "data") }

// Up starts the server, and waits until it answers.
func (c *Cluster) Up() error {
	return c.run("pg_ctl", "-D", c.data(), "-o", c.options, "-l", filepath.Join(c.dir, "log"), "-w", "start")
}

// Down stops the server: "fast" ends its sessions, "immediate" kills it as a power cut does.
func (c *Cluster) Down(mode string) error {
	return c.run("pg_ctl", "-D", c.data(), "-m", mode, "-w", "stop")
}

// Dump writes all of the database into a file in the cluster's folder, as pg_dump -Fc does beside
// whatever is at work on it.
func (c *Cluster) Dump() (path string, err error) {
	path = filepath.Join(c.dir, "dump")
	return path, c.run("pg_dump", "-Fc", "-d", c.URL(), "-f", path)
}

// Restore makes another database of the server from a dump, and returns its URL.
func (c *Cluster) Restore(path, database string) (string, error) {
	restored := "postgres://winnow@/" + database + "?host=" + url.QueryEscape(c.dir)
	if err := c.run("createdb", "-h", c.dir, "-U", "winnow", "-T", "template0", database); err != nil {
		return "", err
	}
	return restored, c.run("pg_restore", "--exit-on-error", "-d", restored, path)
}

// watch starts a process that stops the cluster and removes its folder when this one has ended,
// also if it was killed.
func (c *Cluster) watch() error {
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	defer read.Close()
	c.hold = write
	c.guard = exec.Command("sh", "-c", `cat >/dev/null; "$0" -D "$1" -m immediate -w stop >/dev/null 2>&1; rm -rf "$2"`,
		filepath.Join(c.bin, "pg_ctl"), c.data(), c.dir)
	c.guard.Stdin = read
	c.guard.Dir = "/"
	c.as.run(c.guard)
	return c.guard.Start()
}

// remove stops the server and removes its folder.
func (c *Cluster) remove() {
	if c.guard == nil {
		os.RemoveAll(c.dir)
		return
	}
	c.hold.Close()
	_ = c.guard.Wait() // it ends when it is done
	os.RemoveAll(c.dir)
}

// run runs a program of PostgreSQL.
func (c *Cluster) run(name string, args ...string) error {
	cmd := exec.Command(filepath.Join(c.bin, name), args...)
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
	c.as.run(cmd)
	// Not a pipe: the server would keep it open.
	said, err := os.CreateTemp("", "winnow-pg")
	if err != nil {
		return err
	}
	defer os.Remove(said.Name())
	defer said.Close()
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Run(); err != nil {
		text, _ := os.ReadFile(said.Name())
		log, _ := os.ReadFile(filepath.Join(c.dir, "log"))
		return fmt.Errorf("%s: %w\n%s%s", name, err, text, log[max(0, len(log)-4000):])
	}
	return nil
}

// binaries is the folder with the programs of the newest PostgreSQL that is installed.
func binaries() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil {
		return "", err
	}
	newest := ""
	for _, path := range found {
		dir := filepath.Dir(path)
		if len(dir) > len(newest) || len(dir) == len(newest) && bytes.Compare([]byte(dir), []byte(newest)) > 0 {
			newest = dir
		}
	}
	if newest != "" {
		return newest, nil
	}
	path, err := exec.LookPath("initdb")
	if err != nil {
		return "", &missingError{"there is no initdb in /usr/lib/postgresql/*/bin or PATH"}
	}
	return filepath.Dir(path), nil
}
