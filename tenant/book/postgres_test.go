package book_test

import (
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// database is the address of a PostgreSQL database of the test's own: on the server that
// WINNOW_TEST_POSTGRES names, else on one that is made for it.
func database(t *testing.T) string {
	if at := os.Getenv("WINNOW_TEST_POSTGRES"); at != "" {
		return at
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		t.Skip("there is no PostgreSQL server; WINNOW_TEST_POSTGRES may name one")
	}
	bin := filepath.Dir(found[len(found)-1])
	dir, err := os.MkdirTemp("", "winnowpg")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	var as *syscall.SysProcAttr
	if os.Getuid() == 0 { // it refuses root
		who, err := user.Lookup("postgres")
		if err != nil {
			t.Skip("there is no user postgres to run the server")
		}
		uid, _ := strconv.Atoi(who.Uid)
		gid, _ := strconv.Atoi(who.Gid)
		as = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
		if err := os.Chown(dir, uid, gid); err != nil {
			t.Fatal(err)
		}
	}
	run := func(name string, args ...string) error {
		cmd := exec.Command(filepath.Join(bin, name), args...)
		cmd.SysProcAttr, cmd.Dir = as, dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Logf("%s: %s", name, strings.TrimSpace(string(out)))
		}
		return err
	}
	data := filepath.Join(dir, "data")
	if run("initdb", "-D", data, "-U", "winnow", "-A", "trust", "-N") != nil {
		t.Skip("no PostgreSQL server can be made here")
	}
	if run("pg_ctl", "-D", data, "-w", "-l", filepath.Join(dir, "log"), "-o",
		"-c listen_addresses= -c fsync=off -k "+dir, "start") != nil {
		t.Skip("no PostgreSQL server can be started here")
	}
	t.Cleanup(func() { run("pg_ctl", "-D", data, "-m", "immediate", "stop") })
	return "postgres://winnow@/postgres?host=" + dir
}
