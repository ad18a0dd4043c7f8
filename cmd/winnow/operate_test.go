package main

import (
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
)

// serve --check says what the configuration means, or what is wrong with it, and opens nothing.
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
		{"a password", `{}`, []string{"--store", "postgres://ann:canary@db/winnow"}, 0, "postgres://ann@db/winnow\n"},
		{"another address without tokens", `{"gateway": {"listen": "0.0.0.0:4141"}}`, nil, 2, "winnow serve token add"},
		{"an unknown upstream", `{"gateway": {"upstreams": {"a b": "http://h"}}}`, nil, 2, "cannot name an upstream"},
		{"a drain that is none", `{"gateway": {"drain": "soon"}}`, nil, 2, `"soon" is not an age`},
		{"profiles for everybody", `{"gateway": {"profile": "0.0.0.0:6060"}}`, nil, 2, "not an address of this computer alone"},
		{"an unknown key", `{"gateway": {"drian": "1s"}}`, nil, 2, "drian"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t)
			d.configure(c.configuration)
			cmd := d.command(append([]string{"serve", "--check"}, c.args...)...)
			out, _ := cmd.CombinedOutput()
			if code := cmd.ProcessState.ExitCode(); code != c.code || !strings.Contains(string(out), c.want) || strings.Contains(string(out), "canary") {
				t.Errorf("exit %d, want %d and %q:\n%s", code, c.code, c.want, out)
			}
		})
	}
}

// Profiles are had at an address of their own, by nobody's browser; /metrics tells of the jobs.
func TestServe_profilesAndJobs(t *testing.T) {
	d := newDesk(t)
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
