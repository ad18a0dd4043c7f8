package command

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/internal/pgtest"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/postgres"
)

// serve --check says what the configuration means, what it found, or what serve would not start with.
func TestServe_checksItsConfiguration(t *testing.T) {
	for _, c := range []struct {
		name, configuration string
		args                []string
		code                int
		want                string
	}{
		{"as it comes", `{}`, nil, 0, "the configuration is sound\n  listen     127.0.0.1:4141\n  mode       full\n"},
		{"as JSON", `{"gateway": {"upstreams": {"house": "http://127.0.0.1:9"}}}`, []string{"--json"}, 0, `"house": "http://127.0.0.1:9"`},
		{"another mode", `{}`, []string{"--mode", "off"}, 0, "mode       off\n"},
		{"a password", `{}`, []string{"--store", "postgres://ann:canary@db/winnow"}, 0, "postgres://db/winnow\n"},
		{"another address without tokens", `{"gateway": {"listen": "0.0.0.0:4141", "tls": {"inFront": true}}}`, nil, 0, "listen     0.0.0.0:4141\n"},
		{"another address without encryption", `{"gateway": {"listen": "0.0.0.0:4141"}}`, nil, 2, "gateway.tls.inFront"},
		{"an unknown upstream", `{"gateway": {"upstreams": {"a b": "http://h"}}}`, nil, 2, "cannot name an upstream"},
		{"a drain that is not an age", `{"gateway": {"drain": "soon"}}`, nil, 2, `"soon" is not an age`},
		{"profiles for everybody", `{"gateway": {"profile": "0.0.0.0:6060"}}`, nil, 2, "not an address of this computer alone"},
		{"metrics at no address", `{"gateway": {"metrics": "9141"}}`, nil, 2, "not an address to listen at"},
		{"a key without its variable", `{"gateway": {"keys": {"other": {"env": "OTHER_KEY"}}}}`, nil, 2, "gateway.keys.other: the variable OTHER_KEY is not set"},
		{"a key", `{"gateway": {"keys": {"home": {"env": "HOME"}}}}`, nil, 0, "gateway.keys.home: read from the variable HOME\n"},
		{"a sign-in without its files", `{"gateway": {"oidc": {"issuer": "https://id.example.com", "clientID": "w",
			"redirect": "https://w.example.com/~sign/back", "cookieFile": "/nowhere/cookie"}}}`, nil, 2, "gateway.oidc.cookieFile: "},
		{"an address that is not here", `{"gateway": {"listen": "192.0.2.1:4141", "tls": {"inFront": true}}}`, nil, 1, "192.0.2.1:4141"},
		{"metrics at an address that is not here", `{"gateway": {"metrics": "192.0.2.1:9141"}}`, nil, 1, "192.0.2.1:9141"},
		{"an upstream that ends in /v1", `{"gateway": {"upstreams": {"house": "https://h/v1/"}}}`, nil, 0, "warning: gateway.upstreams.house ends in /v1"},
		{"an address in use", `{"gateway": {"listen": "` + inUse(t) + `"}}`, nil, 0, "is in use now"},
		{"an unknown key", `{"gateway": {"drian": "1s"}}`, nil, 2, "drian"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newTeamDesk(t)
			d.configure(c.configuration)
			cmd := d.command(append([]string{"serve", "--check"}, c.args...)...)
			out, _ := cmd.CombinedOutput()
			if code := cmd.ProcessState.ExitCode(); code != c.code || !strings.Contains(string(out), c.want) || strings.Contains(string(out), "canary") {
				t.Errorf("exit %d, want %d and %q:\n%s", code, c.code, c.want, out)
			}
		})
	}
}

// inUse is an address at which something listens.
func inUse(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().String()
}

// Profiles are had at an address of their own, by nobody's browser; /metrics tells of the jobs.
func TestServe_profilesAndJobs(t *testing.T) {
	d := newTeamDesk(t)
	d.configure(`{"gateway": {"listen": "127.0.0.1:0", "profile": "127.0.0.1:0"}}`)
	g := d.gate("--store", "s.db")
	at := ""
	for _, line := range g.said {
		if _, after, ok := strings.Cut(line, "msg=profiles at="); ok {
			at = after
		}
	}
	if at == "" {
		t.Fatalf("it does not say where profiles are:\n%s", strings.Join(g.said, "\n"))
	}
	for _, c := range []struct {
		url, origin string
		want        int
	}{{at + "goroutine?debug=1", "", 200}, {at + "goroutine?debug=1", "http://evil.example", 404}, {g.url + "/debug/pprof/", "", 404}} {
		r, _ := http.NewRequest("GET", c.url, nil)
		if c.origin != "" {
			r.Header.Set("Origin", c.origin)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != c.want {
			t.Errorf("%s from %q: %d, want %d", c.url, c.origin, answer.StatusCode, c.want)
		}
	}
	answer, err := http.Get(g.url + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if text, _ := io.ReadAll(answer.Body); !strings.Contains(string(text), "winnow_store_problems 0") {
		t.Errorf("the metrics are\n%s", text)
	}
	g.cmd.Process.Signal(syscall.SIGTERM)
}

// Figures and probes are had without a token at an address of their own, which relays nothing and
// shows nothing else; at the listener's own address the figures still need a token.
func TestServe_metricsAtTheirOwnAddress(t *testing.T) {
	d := newTeamDesk(t)
	url, _ := billing(t)
	d.configure(`{"gateway": {"listen": "127.0.0.1:0", "metrics": "127.0.0.1:0", "upstreams": {"house": "` + url + `"}}}`)
	d.run("tenant", "add", "ann").wants(t, cli.ExitDone)
	ann, prometheus := d.token(t, "ann"), d.token(t, "ann", "--scopes", "metrics")
	g := d.gate()
	at := ""
	for _, line := range g.said {
		if _, after, ok := strings.Cut(line, "msg=metrics at="); ok {
			at = strings.TrimSuffix(after, "/metrics")
		}
	}
	if at == "" {
		t.Fatalf("it does not say where metrics are:\n%s", strings.Join(g.said, "\n"))
	}
	if status, answer := ask(t, g.url+"/house/v1/messages", saying("hello"), "X-Winnow-Token", ann, "X-Api-Key", "own"); status != 200 {
		t.Fatalf("%d %s", status, answer)
	}
	for _, c := range []struct {
		method, url, token string
		status             int
		text               string
	}{
		{"GET", at + "/metrics", "", 200, `winnow_answered_requests_total{tenant="ann"} 1`},
		{"GET", at + "/healthz", "", 200, "ok"},
		{"GET", at + "/readyz", "", 200, "ok"},
		{"POST", at + "/metrics", "", 405, ""},
		{"GET", at + "/", "", 404, ""},
		{"GET", at + "/~/", "", 404, ""},
		{"GET", at + "/~t/", ann, 404, ""},
		{"GET", at + "/~admin/v1/tenants", ann, 404, ""},
		{"POST", at + "/house/v1/messages", ann, 404, ""},
		{"GET", at + "/" + ann + "/metrics", "", 404, ""},
		{"GET", g.url + "/metrics", "", 401, ""},
		{"GET", g.url + "/metrics", prometheus, 200, `winnow_answered_requests_total{tenant="ann"} 1`},
	} {
		a, text := send(t, c.method, c.url, "", "X-Winnow-Token", c.token)
		if a.StatusCode != c.status || !strings.Contains(text, c.text) {
			t.Errorf("%s %s: %d %.300s, want %d and %q", c.method, c.url, a.StatusCode, text, c.status, c.text)
		}
	}
	g.ends()
}

// store migrate makes all tables of a database beforehand: those of sessions, of tenants and of jobs.
func TestStoreMigrate_makesAllTables(t *testing.T) {
	name := pgtest.Start(t)
	d := newTeamDesk(t)
	for _, args := range [][]string{{"ls", "--store", name}, {"list", "--store", name}, {"status", "--store", name}, {"show", "x", "--store", name},
		{"tenant", "list", "--store", name}, {"tenant", "audit", "--store", name}, {"session", "delete", "x", "--yes", "--store", name}} {
		out, _ := d.command(args...).CombinedOutput()
		if !strings.Contains(string(out), "the database has no tables of winnow") || !strings.Contains(string(out), "winnowd store migrate") {
			t.Errorf("%q says %s", args, out)
		}
	}
	out, err := d.command("store", "migrate", "--store", name).CombinedOutput()
	for _, line := range []string{"are those of this version\n", "  sessions  made, version 8\n", "  tenants   made, version 6\n", "  jobs      made, version "} {
		if err != nil || !strings.Contains(string(out), line) || strings.Contains(string(out), "nothing") {
			t.Errorf("store migrate does not say %q: %v\n%s", line, err, out)
		}
	}
	if out, err := d.command("store", "migrate", "--store", name).CombinedOutput(); err != nil || !strings.HasPrefix(string(out), "nothing to do: ") {
		t.Errorf("store migrate once more: %v\n%s", err, out)
	}
	out, err = d.command("store", "migrate", "--store", name, "--json").CombinedOutput()
	if err != nil || !strings.Contains(string(out), `"tenants": true`) {
		t.Errorf("store migrate: %v\n%s", err, out)
	}
	conn, err := pgx.Connect(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	for _, table := range []string{"session", "book_tenant", "river_job", "winnow_periodic"} {
		var there bool
		if err := conn.QueryRow(t.Context(), "SELECT to_regclass($1) IS NOT NULL", table).Scan(&there); err != nil || !there {
			t.Errorf("there is no table %s, %v", table, err)
		}
	}
}

// On PostgreSQL the jobs are in the database, done by one of the replicas: an old conversation goes,
// and each job is done once for both. The tables are made before by store migrate, as often as one
// likes.
func TestServe_jobsInADatabase(t *testing.T) {
	name := pgtest.Start(t)
	d := newTeamDesk(t)
	for range 2 {
		if out, err := d.command("store", "migrate", "--store", name, "--json").CombinedOutput(); err != nil || !strings.Contains(string(out), `"jobs": true`) {
			t.Fatalf("store migrate: %v\n%s", err, out)
		}
	}
	kept, err := postgres.OpenStore(t.Context(), name, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	old := session.Millis(time.Now().Add(-31 * 24 * time.Hour).UnixMilli())
	info := session.Info{ID: "live_old", Time: session.Lifetime{Created: old, Updated: old}}
	if _, err := kept.Apply(t.Context(), info.ID, store.Change{Create: &info}); err != nil {
		t.Fatal(err)
	}
	d.configure(`{"gateway": {"listen": "127.0.0.1:0", "retention": "30d"}}`)
	first, second := d.gate("--store", name), d.gate("--store", name)
	conn, err := pgx.Connect(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	done := map[string]int{}
	for deadline := time.Now().Add(time.Minute); len(done) < 4; time.Sleep(100 * time.Millisecond) {
		rows, err := conn.Query(t.Context(), "SELECT kind, count(*) FROM river_job WHERE state = 'completed' GROUP BY kind")
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var kind string
			var n int
			if err := rows.Scan(&kind, &n); err != nil {
				t.Fatal(err)
			}
			done[kind] = n
		}
		if time.Now().After(deadline) {
			t.Fatalf("these were done: %v", done)
		}
	}
	if done["expiry"] != 1 || done["search_index"] != 1 || done["store_check"] != 1 || done["costs"] != 1 {
		t.Errorf("done were %v, want each once", done)
	}
	if list, err := kept.List(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("there are %v, %v", list, err)
	}
	for _, c := range []struct {
		method, path, from string
		status             int
		holds              string
	}{
		{"GET", "/jobs/", "", 200, `src="/jobs/`},
		{"GET", "/jobs/api/jobs?state=completed", "", 200, `"kind":"expiry"`},
		{"POST", "/jobs/api/jobs/retry", "http://evil.example", 404, ""}, // by the listener
		{"POST", "/jobs/api/jobs/retry", "", 400, ""},                    // it names no jobs
	} {
		r, _ := http.NewRequest(c.method, first.url+c.path, strings.NewReader(`{"ids":[]}`))
		if c.from != "" {
			r.Header.Set("Origin", c.from)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		if answer.StatusCode != c.status || !strings.Contains(string(text), c.holds) {
			t.Errorf("%s %s: %d, want %d and %q\n%.500s", c.method, c.path, answer.StatusCode, c.status, c.holds, text)
		}
		if csp := answer.Header.Get("Content-Security-Policy"); c.from == "" && !strings.Contains(csp, "default-src 'none'; script-src 'self';") {
			t.Errorf("%s: the policy is %q", c.path, csp)
		}
	}
	for _, g := range []*gate{first, second} {
		g.cmd.Process.Signal(syscall.SIGTERM)
		if err := g.cmd.Wait(); err != nil {
			t.Errorf("a replica ended with %v", err)
		}
	}
}
