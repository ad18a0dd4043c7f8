package command

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/winnowhq/winnow/cmd/internal/cli"
)

// billing is a provider that answers each request to the Messages API with a text and a usage; each
// costs three dollars. It tells what it got.
func billing(t *testing.T) (url string, got func() []*http.Request) {
	t.Helper()
	var mu sync.Mutex
	var all []*http.Request
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && r.URL.Path == "/healthz" {
			http.NotFound(w, r)
			return
		}
		io.Copy(io.Discard, r.Body)
		mu.Lock()
		all = append(all, r)
		mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-4-5","stop_reason":"end_turn",
			"content":[{"type":"text","text":"done"}],"usage":{"input_tokens":100000,"output_tokens":180000}}`)
	}))
	t.Cleanup(s.Close)
	return s.URL, func() []*http.Request {
		mu.Lock()
		defer mu.Unlock()
		return all
	}
}

// saying is a request that begins a conversation.
func saying(text string) string {
	return fmt.Sprintf(`{"model":"claude-sonnet-4-5","max_tokens":10,"tools":[{"name":"a","input_schema":{"type":"object"}}],
		"messages":[{"role":"user","content":%q}]}`, text)
}

// token makes a tenant's token.
func (d *desk) token(t *testing.T, args ...string) string {
	t.Helper()
	o := d.run(append([]string{"tenant", "token", "add"}, args...)...)
	o.wants(t, cli.ExitDone, "shown this once")
	return strings.TrimSpace(o.stdout)
}

// send sends a request of any kind, and is the whole answer.
func send(t *testing.T, method, url, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	a, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	text, _ := io.ReadAll(a.Body)
	return a, string(text)
}

// Two tenants have stores of their own, and nobody asks without a token.
func TestTenant_twoShareAGateway(t *testing.T) {
	d := newTeamDesk(t)
	url, got := billing(t)
	d.configure(`{"gateway": {"listen": "127.0.0.1:0", "upstreams": {"house": "` + url + `"}}}`)
	d.run("tenant", "list").wants(t, cli.ExitUsage, "there is no tenant yet")
	g := d.gate()
	if status, _ := ask(t, g.url+"/house/v1/messages", saying("hello")); status != 200 {
		t.Errorf("without tenants: %d", status)
	}
	d.run("tenant", "add", "ann").wants(t, cli.ExitDone, "it has no token yet")
	d.run("tenant", "add", "Ann").wants(t, cli.ExitUsage, "exists already")
	d.run("tenant", "add", "bob", "--mode", "bold").wants(t, cli.ExitUsage, "unknown mode")
	d.run("tenant", "add", "bob").wants(t, cli.ExitDone)
	ann, bob := d.token(t, "ann"), d.token(t, "bob")
	g.says("the tenants were read again")
	if status, answer := ask(t, g.url+"/house/v1/messages", saying("hello")); status != 401 {
		t.Errorf("without a token: %d %s", status, answer)
	}
	for _, token := range []string{ann, bob} {
		if status, answer := ask(t, g.url+"/house/v1/messages", saying("it is "+token[:8]), "X-Winnow-Token", token, "X-Api-Key", "own"); status != 200 {
			t.Errorf("%d %s", status, answer)
		}
	}
	if status, _ := ask(t, g.url+"/"+ann+"/house/v1/messages", saying("by the path")); status != 200 {
		t.Errorf("a token in the path: %d", status)
	}
	if status, answer := ask(t, g.url+"/house/v1/messages", saying("no key"), "X-Api-Key", ann); status != 401 || !strings.Contains(answer, "winnow holds no key of house") {
		t.Errorf("a token as a key that nobody holds: %d %s", status, answer)
	}
	for _, r := range got() {
		if all := fmt.Sprint(r.RequestURI, r.Header); strings.Contains(all, "wt_") || strings.Contains(all, "X-Winnow") {
			t.Errorf("the provider got %s", all)
		}
	}
	page := func(token, path string, headers ...string) (int, string) {
		a, text := send(t, "GET", g.url+path, "", append(headers, "X-Winnow-Token", token)...)
		return a.StatusCode, text
	}
	if status, text := page(ann, "/metrics"); status != 200 || !strings.Contains(text, "winnow_answered_requests_total 2") {
		t.Errorf("the figures of ann: %d %s", status, text)
	}
	g.ends()
	for name, want := range map[string]int{"ann": 2, "bob": 1} {
		o := d.run("list", "--json", "--store", filepath.Join(filepath.Dir(d.dir), "home", ".local", "share", "winnow", "tenants", name+".db"))
		if n := strings.Count(o.stdout, `"live_`); n != want {
			t.Errorf("%s has %d sessions, want %d: %s", name, n, want, o.stdout)
		}
	}
	if o := d.run("tenant", "token", "list", "ann"); strings.Contains(o.stdout, "used never") {
		t.Errorf("it is not said when the token was used: %s", o.stdout)
	}
	for _, c := range [][]string{{"$6.00, no budget", "show", "ann"}, {"token add", "audit"}, {"$3.00, no budget", "list"}} {
		if o := d.run(append([]string{"tenant"}, c[1:]...)...); o.code != cli.ExitDone || !strings.Contains(o.stdout, c[0]) {
			t.Errorf("%v does not say %q: %s%s", c[1:], c[0], o.stdout, o.stderr)
		}
	}
}

// The audit log names who ran a command also where no variable does, as in a container.
func TestTenant_theAuditLogNamesTheAccount(t *testing.T) {
	d := newTeamDesk(t)
	d.run("tenant", "add", "ann").wants(t, cli.ExitDone)
	me := strconv.Itoa(os.Getuid())
	if u, err := user.Current(); err == nil {
		me = u.Username
	}
	if o := d.run("tenant", "audit", "ann"); !strings.Contains(o.stdout, "cli:"+me) {
		t.Errorf("it was cli:%s: %s", me, o.stdout)
	}
}
