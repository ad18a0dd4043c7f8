package command

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/winnowhq/winnow/cmd/internal/cli"
)

// figures are the metrics of a tenant, which wait for what is being counted.
func (g *gate) figures(token string) string {
	g.t.Helper()
	a, text := send(g.t, "GET", g.url+"/metrics", "", "X-Winnow-Token", token)
	if a.StatusCode != 200 {
		g.t.Fatalf("/metrics: %d %s", a.StatusCode, text)
	}
	return text
}

// A budget warns, then stops, in the words of each protocol; it holds over a kill, and a client
// cannot go round it.
func TestTenant_budget(t *testing.T) {
	d := newTeamDesk(t)
	url, got := billing(t)
	d.configure(`{"gateway": {"listen": "127.0.0.1:0", "upstreams": {"house": "` + url + `"}}}`)
	d.run("tenant", "add", "ann", "--budget-day", "5", "--budget-month", "100", "--warn", "0.5").wants(t, cli.ExitDone)
	ann := d.token(t, "ann")
	g := d.gate()
	turn := func(text string, headers ...string) (*http.Response, string) {
		return send(t, "POST", g.url+"/house/v1/messages", saying(text), append(headers, "X-Winnow-Token", ann)...)
	}
	if a, text := turn("one", "X-Winnow", "off"); a.StatusCode != 200 || a.Header.Get("X-Winnow-Budget") != "" {
		t.Errorf("the first: %d %v %s", a.StatusCode, a.Header, text)
	}
	if !strings.Contains(g.figures(ann), "winnow_billed_dollars_total 3\n") {
		t.Error("a request that asks for the mode off was not counted")
	}
	if a, text := turn("two"); a.StatusCode != 200 || !strings.HasPrefix(a.Header.Get("X-Winnow-Budget"), "day; spent=3.0000; limit=5.0000; begins=") {
		t.Errorf("the second: %d %v %s", a.StatusCode, a.Header, text)
	}
	g.says(`budget: \$3.00 of the budget of \$5.00 for this day \(UTC\) are spent.* tenant=ann`)
	g.figures(ann)
	if a, text := send(t, "GET", g.url+"/", "", "X-Winnow-Token", ann, "Accept", "text/html"); a.StatusCode != 200 ||
		!strings.Contains(text, "$6.00 of the budget of $5.00") {
		t.Errorf("the page does not say it: %d %s", a.StatusCode, text)
	}
	stopped := func() {
		t.Helper()
		for path, want := range map[string]string{
			"/v1/messages":                       `{"type":"error","error":{"type":"billing_error","message":"winnow: the tenant ann has reached its budget: $6.00 of the budget of $5.00 for this day (UTC) are spent; it begins again at 20`,
			"/v1/responses":                      `{"error":{"code":"insufficient_quota","type":"insufficient_quota","message":"winnow: the tenant ann has`,
			"/v1/chat/completions":               `{"error":{"code":"insufficient_quota","type":"insufficient_quota","message":"winnow: the tenant ann has`,
			"/v1beta/models/m:generateContent":   `{"error":{"code":402,"message":"winnow: the tenant ann has reached its budget`,
			"/v1beta/models/m:streamGenerateCon": `"status":"FAILED_PRECONDITION"`,
		} {
			a, text := send(t, "POST", g.url+"/house"+path, "{}", "X-Winnow-Token", ann)
			if a.StatusCode != 402 || !strings.Contains(text, want) || a.Header.Get("X-Should-Retry") != "false" {
				t.Errorf("%s: %d %v\n got %s\nwant %s", path, a.StatusCode, a.Header, text, want)
			}
		}
	}
	stopped()
	g.cmd.Process.Kill()
	g.cmd.Wait()
	g = d.gate()
	stopped()
	if n := len(got()); n != 2 {
		t.Errorf("the provider was asked %d times", n)
	}
	d.run("tenant", "set", "ann", "--budget-day", "50").wants(t, cli.ExitDone)
	g.says("the tenants were read again")
	if a, text := turn("three"); a.StatusCode != 200 {
		t.Errorf("with a larger budget: %d %s", a.StatusCode, text)
	}
	d.run("tenant", "set", "ann", "--mode", "off").wants(t, cli.ExitUsage, "a budget cannot be kept")
}

// Requests a minute and at a time are limited, for one tenant and no other.
func TestTenant_limits(t *testing.T) {
	d := newTeamDesk(t)
	under, release := make(chan struct{}), make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/slow") {
			close(under)
			<-release
		}
		io.WriteString(w, "{}")
	}))
	t.Cleanup(s.Close)
	d.configure(`{"gateway": {"listen": "127.0.0.1:0", "upstreams": {"house": "` + s.URL + `"}}}`)
	d.run("tenant", "add", "ann", "--concurrent", "1").wants(t, cli.ExitDone)
	d.run("tenant", "add", "bob", "--per-minute", "1").wants(t, cli.ExitDone)
	ann, bob := d.token(t, "ann"), d.token(t, "bob")
	g := d.gate()
	done := make(chan int)
	go func() {
		status, _ := ask(t, g.url+"/house/v1/slow", "{}", "X-Winnow-Token", ann)
		done <- status
	}()
	<-under
	refused := func(token, path, want string) {
		t.Helper()
		a, text := send(t, "POST", g.url+"/house"+path, "{}", "X-Winnow-Token", token)
		if a.StatusCode != 429 || a.Header.Get("Retry-After") == "" || !strings.Contains(text, want) {
			t.Errorf("%s: %d %v %s, want %s", path, a.StatusCode, a.Header, text, want)
		}
	}
	refused(ann, "/v1/messages", `{"type":"error","error":{"type":"rate_limit_error","message":"winnow: the tenant ann asks too much at a time: 1 request`)
	refused(ann, "/v1/models/m:generateContent", `"status":"RESOURCE_EXHAUSTED"`)
	if status, text := ask(t, g.url+"/house/v1/messages", "{}", "X-Winnow-Token", bob); status != 200 {
		t.Errorf("another tenant: %d %s", status, text)
	}
	refused(bob, "/v1/responses", `{"error":{"code":"rate_limit_exceeded","type":"rate_limit_error","message":"winnow: the tenant bob asks too much at a time: the limit is 1 `)
	close(release)
	if status := <-done; status != 200 {
		t.Errorf("the slow one: %d", status)
	}
	status := 0
	for range 100 { // an answer may be read before the server is done with its request
		if status, _ = ask(t, g.url+"/house/v1/messages", "{}", "X-Winnow-Token", ann); status != 429 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if status != 200 {
		t.Errorf("when the slow one has ended: %d", status)
	}
}

// A key that the server holds is sent in the place of what the client shows, to the tenants that
// have it; neither it nor a token is on disk or in the log.
func TestTenant_keysOfTheServer(t *testing.T) {
	d := newTeamDesk(t)
	url, got := billing(t)
	const inFile, inEnv, own, query = "sk-canary-in-a-file", "sk-canary-in-the-environment", "sk-canary-of-the-client", "sk-canary-in-a-query"
	file := filepath.Join(t.TempDir(), "key") // beside what winnow keeps
	if err := writeFile(file, inFile+"\n"); err != nil {
		t.Fatal(err)
	}
	d.env = append(d.env, "HOUSE_KEY="+inEnv)
	d.configure(fmt.Sprintf(`{"gateway": {"listen": "127.0.0.1:0", "upstreams": {"house": "%s", "barn": "%s", "gemini": "%s"},
		"keys": {"first": {"file": %q, "header": "x-api-key"}, "second": {"env": "HOUSE_KEY"}}}}`, url, url, url, file))
	d.run("tenant", "add", "ann", "--key", "house=first,gemini=second,barn=third").wants(t, cli.ExitDone)
	d.run("tenant", "add", "bob", "--key", "house=second").wants(t, cli.ExitDone)
	d.run("tenant", "add", "eve").wants(t, cli.ExitDone)
	ann, bob, eve := d.token(t, "ann"), d.token(t, "bob"), d.token(t, "eve")
	g := d.gate()
	for _, c := range []struct {
		path    string
		headers []string
		status  int
		want    string // header that is sent, and its value
	}{
		{"/house/v1/messages", []string{"X-Api-Key", ann}, 200, "X-Api-Key " + inFile},
		{"/house/v1/messages", []string{"Authorization", "Bearer " + ann}, 200, "X-Api-Key " + inFile},
		{"/" + ann + "/house/v1/messages?key=" + query + "&beta=1", []string{"Authorization", "Bearer " + own}, 200, "X-Api-Key " + inFile},
		{"/gemini/v1beta/models/m:generateContent?key=" + ann, nil, 200, "X-Goog-Api-Key " + inEnv},
		{"/house/v1/chat/completions", []string{"X-Winnow-Token", bob, "Api-Key", own}, 200, "Authorization Bearer " + inEnv},
		{"/house/v1/messages", []string{"X-Winnow-Token", eve, "X-Api-Key", own}, 200, "X-Api-Key " + own},
		{"/house/v1/messages", []string{"X-Api-Key", eve}, 401, ""},
		{"/gemini/v1beta/models/m:generateContent", []string{"X-Goog-Api-Key", bob}, 401, ""},
		{"/barn/v1/messages", []string{"X-Winnow-Token", ann, "X-Api-Key", own}, 503, ""},
	} {
		before := len(got())
		a, text := send(t, "POST", g.url+c.path, saying("hello"), c.headers...)
		if a.StatusCode != c.status {
			t.Errorf("%s: %d %s", c.path, a.StatusCode, text)
		}
		sent := got()[before:]
		if c.want == "" {
			if len(sent) > 0 {
				t.Errorf("%s: it was sent", c.path)
			}
			continue
		}
		if len(sent) != 1 {
			t.Errorf("%s: sent %d times", c.path, len(sent))
			continue
		}
		name, value, _ := strings.Cut(c.want, " ")
		if got := sent[0].Header.Get(name); got != value {
			t.Errorf("%s: %s is %q, want %q", c.path, name, got, value)
		}
		all := sent[0].RequestURI + fmt.Sprint(sent[0].Header)
		if strings.Contains(all, "wt_") || strings.Contains(all, query) || value != own && strings.Contains(all, own) || strings.Contains(all, "X-Winnow") {
			t.Errorf("%s: the provider got %s", c.path, all)
		}
	}
	if err := writeFile(file, "sk-canary-rotated"); err != nil {
		t.Fatal(err)
	}
	d.run("tenant", "add", "zoe").wants(t, cli.ExitDone) // both are looked at together
	g.says("the tenants were read again")
	g.figures(ann)
	log := g.ends()
	home := everything(t, filepath.Join(filepath.Dir(d.dir), "home"))
	for _, canary := range []string{inFile, inEnv, own, query, "sk-canary-rotated", ann[3:], bob[3:], eve[3:]} {
		if strings.Contains(home, canary) {
			t.Errorf("%s… is on disk", canary[:10])
		}
		if strings.Contains(log, canary) {
			t.Errorf("%s… is in the log", canary[:10])
		}
	}
}

// What is kept of a tenant's conversations can change while it asks and while its page is open.
func TestTenant_captureChanges(t *testing.T) {
	d := newTeamDesk(t)
	url, _ := billing(t)
	d.configure(`{"gateway": {"listen": "127.0.0.1:0", "upstreams": {"house": "` + url + `"}}}`)
	d.run("tenant", "add", "ann").wants(t, cli.ExitDone)
	ann := d.token(t, "ann")
	g := d.gate()
	if status, _ := ask(t, g.url+"/house/v1/messages", saying("heliotrope"), "X-Winnow-Token", ann); status != 200 {
		t.Fatal(status)
	}
	g.figures(ann)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, g.url+"/~/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Winnow-Token", ann)
	page, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer page.Body.Close()
	d.run("tenant", "set", "ann", "--capture", "none").wants(t, cli.ExitDone)
	g.says("the tenants were read again")
	if status, _ := ask(t, g.url+"/house/v1/messages", saying("marigold"), "X-Winnow-Token", ann); status != 200 {
		t.Fatal(status)
	}
	if _, err := io.Copy(io.Discard, page.Body); err != nil { // the page is to come again: it has another one now
		t.Error(err)
	}
	g.ends()
	home := everything(t, filepath.Join(filepath.Dir(d.dir), "home"))
	if !strings.Contains(home, "heliotrope") || strings.Contains(home, "marigold") {
		t.Errorf("on disk are what was said before: %v, and after: %v", strings.Contains(home, "heliotrope"), strings.Contains(home, "marigold"))
	}
	if o := d.run("tenant", "show", "ann"); !strings.Contains(o.stdout, "$6.00, no budget") {
		t.Errorf("what was spent: %s", o.stdout)
	}
}
