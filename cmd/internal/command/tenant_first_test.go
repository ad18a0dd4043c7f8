package command

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/internal/pgtest"
)

// A team's server starts without a tenant and lets nobody in, not even when the clients of its
// configuration are taken out of it while it runs. The first tenant asks without a restart.
func TestServe_beforeTheFirstTenant(t *testing.T) {
	for _, store := range []string{"a file", "a database"} {
		t.Run(store, func(t *testing.T) {
			d := newTeamDesk(t)
			if store == "a database" {
				d.env = append(d.env, "WINNOW_STORE="+pgtest.Start(t))
			}
			url, got := billing(t)
			configure := func(clients string) {
				d.configure(fmt.Sprintf(`{"gateway": {"listen": "0.0.0.0:0", "tls": {"inFront": true}, "clients": {%s}, "upstreams": {"house": "%s"}}}`, clients, url))
			}
			configure(`"ann": "` + strings.Repeat("0", 64) + `"`)
			g := d.gate()
			at := "http://127.0.0.1" + regexp.MustCompile(`:\d+$`).FindString(g.url) + "/house/v1/messages"
			if status, answer := ask(t, at, saying("hello")); status != 401 || !strings.Contains(answer, "knows no client") {
				t.Errorf("without a token: %d %s", status, answer)
			}
			configure("")
			g.says("read again")
			if status, answer := ask(t, at, saying("hello")); status != 401 || !strings.Contains(answer, "winnowd tenant add NAME") {
				t.Errorf("without a client and a tenant: %d %s", status, answer)
			}
			g.ends()
			g = d.gate()
			at = "http://127.0.0.1" + regexp.MustCompile(`:\d+$`).FindString(g.url) + "/house/v1/messages"
			if status, answer := ask(t, at, saying("hello"), "X-Winnow-Token", "wt_any"); status != 401 || !strings.Contains(answer, "winnowd tenant token add NAME") {
				t.Errorf("without a tenant: %d %s", status, answer)
			}
			d.run("tenant", "add", "web").wants(t, cli.ExitDone)
			token := d.token(t, "web")
			g.says("the tenants were read again")
			status, answer := ask(t, at, saying("hello"), "X-Winnow-Token", token, "X-Api-Key", "own")
			for late := time.Now().Add(5 * time.Second); status == 401 && time.Now().Before(late); { // it may have read the tenant alone
				time.Sleep(100 * time.Millisecond)
				status, answer = ask(t, at, saying("hello"), "X-Winnow-Token", token, "X-Api-Key", "own")
			}
			if status != 200 || len(got()) != 1 {
				t.Errorf("the first tenant: %d %s", status, answer)
			}
			if said := g.ends(); !strings.Contains(said, "there is no tenant yet") {
				t.Errorf("the log does not say that there is no tenant:\n%s", said)
			}
		})
	}
}

// A job makes the first tenant with a token that the operator chose, as often as it runs. What was
// changed since stays: limits, and a token that was revoked.
func TestTenant_addIfMissing(t *testing.T) {
	d := newTeamDesk(t)
	before := slices.Clip(d.env)
	chosen := func(token string) { d.env = append(before, "FIRST_TOKEN="+token) }
	add := func(more ...string) outcome {
		return d.run(append([]string{"tenant", "add", "web", "--if-missing", "--token-env", "FIRST_TOKEN"}, more...)...)
	}
	add().wants(t, cli.ExitUsage, "FIRST_TOKEN, which --token-env names, is not set")
	chosen("wt_short")
	add().wants(t, cli.ExitUsage, "at least 32")
	chosen("wt_" + strings.Repeat("a", 32) + " ")
	add().wants(t, cli.ExitUsage, "at least 32")
	chosen("wt_" + strings.Repeat("a", 32))
	add("--token-scopes", "reed").wants(t, cli.ExitUsage, "unknown scope")
	d.run("tenant", "list").wants(t, cli.ExitUsage, "there is no tenant yet")

	if o := add("--per-minute", "7", "--token-scopes", "relay,read"); o.code != cli.ExitDone || strings.Contains(o.stderr, "no token yet") {
		t.Fatalf("exit code %d: %s", o.code, o.stderr)
	}
	d.run("tenant", "set", "web", "--per-minute", "8").wants(t, cli.ExitDone)
	o := add("--per-minute", "9")
	o.wants(t, cli.ExitDone)
	if !strings.Contains(o.stdout, "8 requests a minute") || strings.Count(o.stdout, "relay,read ") != 1 || strings.Contains(o.stdout+o.stderr, "wt_") {
		t.Errorf("again: %s%s", o.stdout, o.stderr)
	}
	id := regexp.MustCompile(`tok_\w+`).FindString(o.stdout)
	d.run("tenant", "token", "revoke", id).wants(t, cli.ExitDone)
	if o := add(); o.code != cli.ExitDone || strings.Contains(o.stdout, "valid") {
		t.Errorf("after the token was revoked: %d %s", o.code, o.stdout)
	}
	d.run("tenant", "add", "web").wants(t, cli.ExitUsage, "exists already")
	d.run("tenant", "add", "ci", "--token-env", "FIRST_TOKEN").wants(t, cli.ExitUsage, "another token")
	d.run("tenant", "show", "ci").wants(t, cli.ExitUsage, "not found")
}
