package river

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
)

// cluster is a PostgreSQL for the tests of this package: the one of WINNOW_TEST_POSTGRES, or a
// throw-away one on a Unix socket.
var cluster struct {
	once    sync.Once
	address string
	skip    string // why there is none
	stop    func()
	made    atomic.Int64
}

func TestMain(m *testing.M) {
	code := m.Run()
	if cluster.stop != nil {
		cluster.stop()
	}
	os.Exit(code)
}

// database makes an empty database and connects to it.
func database(t *testing.T) *pgxpool.Pool {
	t.Helper()
	cluster.once.Do(begin)
	if cluster.skip != "" {
		t.Skip(cluster.skip)
	}
	name := fmt.Sprintf("jobs_%d_%d", os.Getpid(), cluster.made.Add(1))
	admin, err := pgxpool.New(t.Context(), cluster.address)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := admin.Exec(t.Context(), "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	to, err := url.Parse(cluster.address)
	if err != nil {
		t.Fatal(err)
	}
	to.Path = "/" + name
	pool, err := pgxpool.New(t.Context(), to.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		pool.Close()
		_, _ = admin.Exec(context.Background(), "DROP DATABASE "+name+" WITH (FORCE)")
		admin.Close()
	})
	return pool
}

func begin() {
	if cluster.address = os.Getenv("WINNOW_TEST_POSTGRES"); cluster.address != "" {
		return
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		cluster.skip = "there is no PostgreSQL: install it, or set WINNOW_TEST_POSTGRES"
		return
	}
	dir, err := os.MkdirTemp("", "winnow-jobs-")
	if err != nil {
		cluster.skip = err.Error()
		return
	}
	var as *syscall.SysProcAttr
	if os.Getuid() == 0 { // which PostgreSQL refuses
		owner, err := user.Lookup("postgres")
		if err != nil {
			cluster.skip = "PostgreSQL refuses root, and there is no user postgres"
			return
		}
		uid, _ := strconv.Atoi(owner.Uid)
		gid, _ := strconv.Atoi(owner.Gid)
		if err := os.Chown(dir, uid, gid); err != nil {
			cluster.skip = err.Error()
			return
		}
		as = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	}
	data := filepath.Join(dir, "data")
	run := func(program string, args ...string) {
		if cluster.skip != "" {
			return
		}
		cmd := exec.Command(filepath.Join(filepath.Dir(found[len(found)-1]), program), args...)
		cmd.SysProcAttr, cmd.Dir = as, dir
		if said, err := cmd.CombinedOutput(); err != nil {
			cluster.skip = fmt.Sprintf("%s: %v\n%s", program, err, said)
		}
	}
	run("initdb", "-D", data, "-A", "trust", "-U", "postgres", "-N", "-E", "UTF8", "--locale=C")
	run("pg_ctl", "-D", data, "-w", "-l", filepath.Join(dir, "log"), "-o",
		"-c listen_addresses= -c fsync=off -c max_connections=200 -k "+dir, "start")
	cluster.address = "postgres://postgres@/postgres?host=" + url.QueryEscape(dir)
	cluster.stop = func() {
		run("pg_ctl", "-D", data, "-m", "immediate", "stop")
		os.RemoveAll(dir)
	}
}
