package deploy

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/winnowhq/winnow/internal/outside"
)

// cfg is the configuration of the balancer.
func cfg(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(outside.Root(t), "deploy", "haproxy", "haproxy.cfg"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Balance starts an HAProxy with the shipped configuration, in which only the addresses are others:
// its own, those of replicas by name, and that of the nameserver, "" to leave it. Replicas beside
// the two that are there get lines as theirs, and more are lines for the section of the replicas.
// It returns when a replica answers through it. The test is skipped if there is no HAProxy.
func Balance(t testing.TB, replicas map[string]string, nameserver string, more ...string) (address string) {
	t.Helper()
	program := haproxy(t)
	address = free(t)
	text := cfg(t)
	replace := func(from, to string) {
		if strings.Count(text, from) != 1 {
			t.Fatalf("haproxy.cfg does not have %q once", from)
		}
		text = strings.Replace(text, from, to, 1)
	}
	replace("bind :4141", "bind "+address)
	for name, at := range replicas {
		if there := "server " + name + " " + name + ":4141"; strings.Contains(text, there) {
			replace(there, "server "+name+" "+at)
		} else {
			more = append(slices.Clip(more), "server "+name+" "+at)
		}
	}
	if nameserver != "" {
		replace("parse-resolv-conf", "nameserver test "+nameserver)
	}
	for _, line := range more {
		text += "    " + line + "\n" // the replicas are the last section
	}
	balance(t, program, text, http.DefaultClient, "http://"+address)
	return address
}

// haproxy is the program; the test is skipped where there is none.
func haproxy(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("haproxy")
	if err != nil {
		path = "/usr/sbin/haproxy" // not in everybody's PATH
		if _, err := os.Stat(path); err != nil {
			t.Skip("haproxy is not installed")
		}
	}
	return path
}

// balance starts HAProxy with a configuration, and returns when a replica answers a client through it.
func balance(t testing.TB, program, text string, client *http.Client, at string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "haproxy.cfg")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	said, err := os.Create(file + ".log")
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	// -n: fewer connections than the shipped 20,000, for which not every computer has descriptors.
	cmd := exec.Command(program, "-db", "-n", "1000", "-f", file)
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended by itself
		_ = cmd.Wait()
		if log, err := os.ReadFile(said.Name()); err == nil && t.Failed() {
			t.Logf("HAProxy says\n%s", log[max(0, len(log)-8000):])
		}
	})
	for late := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if a, err := client.Get(at + "/healthz"); err == nil {
			a.Body.Close()
			if a.StatusCode == http.StatusOK {
				return
			}
		}
		if time.Now().After(late) {
			log, _ := os.ReadFile(said.Name())
			t.Fatalf("no replica answers through HAProxy in a minute:\n%s", log)
		}
	}
}

// free is an address at which nobody listens.
func free(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
