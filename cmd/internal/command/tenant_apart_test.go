package command

import (
	"bufio"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/internal/pgtest"
)

func writeFile(path, text string) error { return os.WriteFile(path, []byte(text), 0o600) }

// feed is the first event of a page: everything that it shows.
func (g *gate) feed(path, token string) string {
	g.t.Helper()
	return firstEvent(g.t, g.url+path, "X-Winnow-Token", token)
}

// firstEvent is the data of the first event of a stream.
func firstEvent(t *testing.T, url string, headers ...string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	a, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	for in := bufio.NewReader(a.Body); ; {
		line, err := in.ReadString('\n')
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			return data
		}
		if err != nil {
			t.Fatalf("%d, and no event: %v", a.StatusCode, err)
		}
	}
}

// Two tenants have one conversation each, with a word that nobody else says. Each route is tried
// with the other's token: nothing of it is seen or changed, and what is there is answered as what
// is not there.
func TestTenant_seesNothingOfAnother(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { seesNothing(t, newTeamDesk(t)) })
	t.Run("postgres", func(t *testing.T) {
		d := newTeamDesk(t)
		d.env = append(d.env, "WINNOW_STORE="+pgtest.Start(t))
		seesNothing(t, d)
	})
}

func seesNothing(t *testing.T, d *desk) {
	url, got := billing(t)
	d.configure(`{"gateway": {"listen": "127.0.0.1:0", "upstreams": {"house": "` + url + `"}}}`)
	for _, name := range []string{"ann", "bob"} {
		d.run("tenant", "add", name).wants(t, cli.ExitDone)
	}
	ann, bob, chief := d.token(t, "ann"), d.token(t, "bob"), d.token(t, "ann", "--scopes", "read,act,admin")
	reader, relayer := d.token(t, "bob", "--scopes", "read"), d.token(t, "bob", "--scopes", "relay")
	g := d.gate()
	const secret = "heliotrope"
	bobs := []string{"X-Winnow-Session", "bobs-own-session", "X-Api-Key", "shared"}
	ask(t, g.url+"/house/v1/messages", saying(secret), append(bobs, "X-Winnow-Token", bob)...)
	g.figures(bob)
	id := regexp.MustCompile(`live_[0-9a-f]+`).FindString(g.feed("/~/events", bob))
	if id == "" {
		t.Fatal("bob's page shows no session")
	}
	word := func(token string) string {
		_, page := send(t, "GET", g.url+"/", "", "X-Winnow-Token", token, "Accept", "text/html")
		found := regexp.MustCompile(`name="winnow-page" content="([^"]*)"`).FindStringSubmatch(page)
		if found == nil {
			t.Fatalf("there is no page: %s", page)
		}
		return found[1]
	}
	act := func(token, path, action string) (int, string) {
		a, text := send(t, "POST", g.url+path, action, "X-Winnow-Token", token, "X-Winnow-Page", word(token), "Content-Type", "application/json", "Origin", g.url)
		return a.StatusCode, text
	}
	// What is bob's is answered as what nobody has.
	same := func(what string, route func(id string) (int, string)) {
		t.Helper()
		status, text := route(id)
		none, missing := route("live_00000000000000000000")
		if status != none || strings.ReplaceAll(text, id, "ID") != strings.ReplaceAll(missing, "live_00000000000000000000", "ID") {
			t.Errorf("%s: bob's is answered with %d %s, nobody's with %d %s", what, status, text, none, missing)
		}
		if status < 400 || strings.Contains(text, secret) {
			t.Errorf("%s: %d %s", what, status, text)
		}
	}
	get := func(token, path string, headers ...string) (int, string) {
		a, text := send(t, "GET", g.url+path, "", append(headers, "X-Winnow-Token", token)...)
		return a.StatusCode, text
	}
	// as is bob's session, but for what numbers the page's changes
	detail := func() string {
		status, text := get(bob, "/~/session?id="+id)
		if status != 200 {
			t.Fatalf("bob: %d %s", status, text)
		}
		return regexp.MustCompile(`"seq":\d+`).ReplaceAllString(text, "")
	}
	before := detail()
	same("~/session", func(id string) (int, string) { return get(ann, "/~/session?id="+id) })
	for _, do := range []string{"undo", "redo", "restore", "pin", "unpin"} {
		same(do, func(id string) (int, string) {
			return act(ann, "/~/act", `{"do":"`+do+`","session":"`+id+`","receipt":"r","part":"p","pin":"q"}`)
		})
		if status, text := act(reader, "/~/act", `{"do":"`+do+`","session":"`+id+`","receipt":"r","part":"p","pin":"q"}`); status != 403 {
			t.Errorf("%s with the scope read: %d %s", do, status, text)
		}
	}
	// The word of one page does not count for another, whatever it is shown with.
	if a, text := send(t, "POST", g.url+"/~/act", `{"do":"undo","session":"`+id+`","receipt":"r"}`, "X-Winnow-Token", bob, "X-Winnow-Page", word(ann),
		"Content-Type", "application/json", "Origin", g.url); a.StatusCode != 403 {
		t.Errorf("ann's word on bob's page: %d %s", a.StatusCode, text)
	}
	if status, text := act(ann, "/~/act", `{"do":"mode","mode":"off"}`); status != 403 {
		t.Errorf("a tenant switches the mode: %d %s", status, text)
	}
	for _, below := range []string{"", "~/events", "~/session?id=" + id, "metrics", "~/page.js", "house/v1/messages"} {
		status, text := get(ann, "/~t/bob/"+below, "Accept", "text/html")
		none, missing := get(ann, "/~t/nobody/"+below, "Accept", "text/html")
		if status != 404 || none != 404 || text != missing {
			t.Errorf("/~t/bob/%s: %d %s, of nobody %d %s", below, status, text, none, missing)
		}
	}
	for _, path := range []string{"/~/mcp", "/~/recall?handle=x", "/~sign/in", "/nosuch"} {
		if status, text := get(ann, path); status != 404 || strings.Contains(text, "bob") {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	for path, text := range map[string]string{"events": g.feed("/~/events", ann), "metrics": g.figures(ann), "page": func() string { _, p := get(ann, "/", "Accept", "text/html"); return p }()} {
		if strings.Contains(text, id) || strings.Contains(text, secret) || strings.Contains(text, "bob") || strings.Contains(text, "winnow_answered_requests_total 1") {
			t.Errorf("%s of ann: %s", path, text)
		}
	}
	// The same conversation, with the same session and credential, is another one.
	if status, _ := ask(t, g.url+"/house/v1/messages", saying(secret), append(bobs, "X-Winnow-Token", ann)...); status != 200 {
		t.Errorf("ann asks: %d", status)
	}
	g.figures(ann)
	if text := g.feed("/~/events", ann); strings.Contains(text, id) || !strings.Contains(text, "live_") {
		t.Errorf("ann goes on with bob's conversation: %s", text)
	}
	for token, path := range map[string]string{relayer: "/metrics", "wt_nobodys": "/metrics"} {
		if status, text := get(token, path); status != 403 && status != 401 {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	asked := len(got())
	if status, _ := ask(t, g.url+"/house/v1/messages", saying("x"), "X-Winnow-Token", reader); status != 403 {
		t.Errorf("the scope read relays: %d", status)
	}
	if len(got()) != asked {
		t.Error("it was sent")
	}

	// bob himself, and who may see all, do see it.
	if after := detail(); after != before {
		t.Errorf("bob's session has changed:\n%s\n%s", before, after)
	}
	if status, text := get(chief, "/~t/bob/~/session?id="+id); status != 200 {
		t.Errorf("the admin: %d %s", status, text)
	}
	if text := g.feed("/~t/bob/~/events", chief); !strings.Contains(text, id) {
		t.Errorf("the admin sees %s", text)
	}
	if _, text := get(chief, "/metrics"); !strings.Contains(text, `winnow_billed_dollars_total{tenant="bob"} 3`) || !strings.Contains(text, `tenant="ann"`) || !strings.Contains(text, "go_goroutines") {
		t.Errorf("the metrics of all: %s", text)
	}
	if status, text := get(chief, "/", "Accept", "text/html"); status != 200 || !strings.Contains(text, "~t/bob/") {
		t.Errorf("the admin's page does not lead to bob's: %d %s", status, text)
	}
	if status, text := act(bob, "/~/act", `{"do":"pin","session":"`+id+`","part":"nosuch"}`); status == 404 && strings.Contains(text, "no such session") {
		t.Errorf("bob acts: %d %s", status, text)
	}
	g.ends()
	o := d.run("tenant", "audit", "bob")
	for _, want := range []string{"read", "pin", "tok_"} {
		if !strings.Contains(o.stdout, want) {
			t.Errorf("the audit log of bob has no %s: %s", want, o.stdout)
		}
	}
	if o := d.run("tenant", "audit", "ann"); strings.Contains(o.stdout, id) {
		t.Errorf("the audit log of ann: %s", o.stdout)
	}
}

// What one replica spends counts for the other one, and so do its tokens.
func TestTenant_replicasShareABudget(t *testing.T) {
	d := newTeamDesk(t)
	d.env = append(d.env, "WINNOW_STORE="+pgtest.Start(t))
	url, got := billing(t)
	d.configure(`{"gateway": {"listen": "127.0.0.1:0", "upstreams": {"house": "` + url + `"}}}`)
	d.run("tenant", "add", "ann", "--budget-month", "5").wants(t, cli.ExitDone)
	ann := d.token(t, "ann")
	first, second := d.gate(), d.gate()
	for range 2 {
		if status, text := ask(t, first.url+"/house/v1/messages", saying("hello"), "X-Winnow-Token", ann); status != 200 {
			t.Fatalf("%d %s", status, text)
		}
		first.figures(ann)
	}
	first.ends() // then it has told the book
	status, text := ask(t, second.url+"/house/v1/messages", saying("hello"), "X-Winnow-Token", ann)
	if status != 402 || !strings.Contains(text, "$6.00 of the budget of $5.00 for this month") || len(got()) != 2 {
		t.Errorf("the other replica: %d %s, asked %d times", status, text, len(got()))
	}
	if o := d.run("tenant", "show", "ann"); !strings.Contains(o.stdout, "$6.00 of $5.00") {
		t.Errorf("%s%s", o.stdout, o.stderr)
	}
}
