package gateway

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/store"
)

// Whatever an agent starts, logs or reports has its environment: the store's password is not in it,
// and `winnow recall` opens the store all the same.
func TestDiscreet_keepsThePasswordOutOfTheAgentsEnvironment(t *testing.T) {
	t.Setenv("PGPASSFILE", "/nowhere")
	for name, where := range map[string]string{
		"in the URL":      `postgres://ann:canary%3A%5Cp@db.test/winnow?tenant=acme`,
		"as a parameter":  `postgres://ann@db.test/winnow?password=canary:%5Cp&tenant=acme`,
		"without a user":  `postgres://db.test/winnow?user=ann&password=canary:%5Cp&tenant=acme`,
		"which is broken": "postgres://ann:canary%zz@db.test/winnow",
		"of a file":       "/tmp/canary-free.db",
	} {
		for _, told := range []string{"--store", storeVariable} {
			t.Run(name+", by "+told, func(t *testing.T) {
				a, environ := &cli.App{Env: cli.Env{Getenv: func(string) string { return "" }}}, []string{"HOME=/h"}
				if told == storeVariable {
					environ = append(environ, storeVariable+"="+where)
					a.Env.Getenv = func(v string) string { return map[string]string{storeVariable: where}[v] }
				} else {
					a.StoreFile = where
				}
				p := &Plan{Set: map[string]string{}}
				if err := Discreet(p, a); err != nil {
					t.Fatal(err)
				}
				WayBack(p, a)
				got := p.Environ(environ)
				i := slices.IndexFunc(got, func(pair string) bool { return strings.HasPrefix(pair, storeVariable+"=") })
				if i < 0 {
					t.Fatalf("the agent is not told of the store: %q", got)
				}
				told := strings.TrimPrefix(got[i], storeVariable+"=")
				if !store.IsURL(where) {
					if told != where {
						t.Errorf("the store is %s", told)
					}
					return
				}
				if strings.Contains(strings.Join(got, "\n"), "canary") {
					t.Errorf("the agent gets %q", got)
				}
				if strings.Contains(where, "%zz") {
					return
				}
				c, err := pgx.ParseConfig(store.WithoutTenant(told))
				if err != nil || c.Password != `canary:\p` || c.User != "ann" || c.Host != "db.test" {
					t.Errorf("recall opens %q with the user %q and the password %q: %v", told, c.User, c.Password, err)
				}
				dir := p.temp.dir
				if err := p.Remove(); err != nil {
					t.Fatal(err)
				}
				if _, err := os.Stat(dir); err == nil {
					t.Error("the password outlives the agent")
				}
			})
		}
	}
}

// Placeholders name winnow, whichever program relays: the agent's shell finds winnowd by that name.
func TestWayBack_winnowdIsCalledByTheNameOfWinnow(t *testing.T) {
	own := filepath.Join(t.TempDir(), "it's here", "winnowd")
	if err := errors.Join(os.Mkdir(filepath.Dir(own), 0o700),
		os.WriteFile(own, []byte("#!/bin/sh\necho \"$#\" \"$@\"\n"), 0o700)); err != nil {
		t.Fatal(err)
	}
	p := &Plan{Set: map[string]string{}}
	if err := p.callable(own, os.Getenv("PATH")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Remove() })
	cmd := exec.Command("sh", "-c", "winnow recall 'a b'")
	cmd.Env = p.Environ(os.Environ())
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "2 recall a b\n" {
		t.Errorf("it says %q, %v", out, err)
	}
}
