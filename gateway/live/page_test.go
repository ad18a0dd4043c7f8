package live_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow/gateway/live"
	"github.com/winnowhq/winnow/gateway/tenant"
	"github.com/winnowhq/winnow/gateway/transport"
	"github.com/winnowhq/winnow/look/display"
)

// A session that goes through the gateway is on the page with what it took; what is decided is in
// the feed, and the buttons change what the next request carries.
func TestPage_sessionsDecisionsAndButtons(t *testing.T) {
	s := open(t, set{agents: three()})
	if status, answer := s.ask("one", 60); status != 200 {
		t.Fatalf("%d %s", status, answer)
	}
	s.ask("two", 3)
	c := s.changes("/~/events")
	if !c.Reset || len(c.Sessions) != 2 || c.Mode != "full" {
		t.Fatalf("changes: %+v", c)
	}
	row := find(c, "/home/ann/shopd")
	if row == nil || row.Requests != 60 || row.Client != "claude-cli/2.1.330" || row.LeftOut <= 0 || row.Decisions == 0 ||
		row.Billed <= 0 || row.Prompt <= 0 || row.Title == "" || row.Model != "anthropic/claude-sonnet-4-5" {
		t.Fatalf("the row of the first session: %+v", row)
	}
	sum := live.Group{}
	for _, g := range c.Groups {
		sum.Requests += g.Requests
		sum.Net += g.Net
		sum.Sessions += g.Sessions
	}
	if sum.Requests != 63 || sum.Sessions != 2 {
		t.Errorf("the sums: %+v", sum)
	}
	var decision *live.Entry
	for _, e := range c.Feed {
		if e.Kind == "pruning" {
			decision = e
		}
	}
	if decision == nil || decision.Receipt == "" || decision.Tokens <= 0 || len(decision.Rules) == 0 ||
		len(decision.Parts) == 0 || decision.Parts[0].Because == "" {
		t.Fatalf("the newest pruning: %+v", decision)
	}
	status, _, text := s.get("/~/session?id=" + row.ID)
	var d live.Detail
	if err := json.Unmarshal([]byte(text), &d); err != nil || status != 200 {
		t.Fatalf("%d %v %s", status, err, text)
	}
	if len(d.Bills) != 60 || len(d.Moments) < 60 || len(d.Marks) == 0 || len(d.Decisions) != len(d.Marks) {
		t.Errorf("%d bills, %d moments, %d marks, %d decisions", len(d.Bills), len(d.Moments), len(d.Marks), len(d.Decisions))
	}
	for _, b := range d.Bills {
		sum := b.Read.Dollars + b.Write.Dollars + b.Input.Dollars + b.Output.Dollars
		if diff := sum - b.Pruned; diff > 1e-9 || diff < -1e-9 {
			t.Errorf("the parts of a bill are %v, all of it %v", sum, b.Pruned)
		}
	}
	sent := func() int { r := s.provider.Records(); return len(r[len(r)-1].Body) }
	s.ask("one", 1)
	before := sent()
	act := func(action, want string) {
		t.Helper()
		if status, said := s.act(action, nil); status != 200 || !strings.Contains(said, want) {
			t.Fatalf("%s: %d %s", action, status, said)
		}
	}
	for _, d := range d.Decisions {
		if !d.Undone {
			act(`{"do":"undo","session":"`+row.ID+`","receipt":"`+d.Receipt+`"}`, "Undone")
		}
	}
	s.ask("one", 1)
	if after := sent(); after <= before+10_000 {
		t.Errorf("the request had %d bytes, and %d after everything was undone", before, after)
	}
	c = s.changes("/~/events")
	// What is new may be left out before it is sent first.
	if now := find(c, "/home/ann/shopd"); now.LeftOut > row.LeftOut/4 {
		t.Errorf("%d tokens are left out after everything was undone, and were %d", now.LeftOut, row.LeftOut)
	}
	for _, e := range c.Feed {
		if e.Receipt == decision.Receipt && !e.Undone {
			t.Errorf("the feed does not say that it is undone: %+v", e)
		}
	}
	act(`{"do":"redo","session":"`+row.ID+`","receipt":"`+decision.Receipt+`"}`, "Done again")
	part := decision.Parts[0].Part
	act(`{"do":"pin","session":"`+row.ID+`","part":"`+part+`"}`, "Pinned")
	c = s.changes("/~/events")
	newest := c.Feed[len(c.Feed)-1]
	if newest.Kind != "pin" || newest.Pin == "" {
		t.Fatalf("the newest line: %+v", newest)
	}
	act(`{"do":"unpin","session":"`+row.ID+`","pin":"`+newest.Pin+`"}`, "No longer pinned")
	act(`{"do":"restore","session":"`+row.ID+`","part":"`+decision.Parts[len(decision.Parts)-1].Part+`"}`, "Restored")

	// A turn is discarded: first its effect is told, and nothing done.
	if len(d.Turns) == 0 || len(d.Turns[0].Messages) == 0 || d.Turns[0].Title == "" {
		t.Fatalf("the largest turns: %+v", d.Turns)
	}
	turn := d.Turns[0]
	if turn.Tokens > d.Now || turn.Messages[0].Tokens > turn.Tokens {
		t.Errorf("a turn of %d tokens with a message of %d, in a window of %d", turn.Tokens, turn.Messages[0].Tokens, d.Now)
	}
	name := fmt.Sprintf(`"name":"turn:%d"`, turn.Number)
	s.ask("one", 1)
	before = sent()
	act(`{"do":"foresee","session":"`+row.ID+`",`+name+`}`, "Press again")
	if s.ask("one", 1); sent() < before {
		t.Errorf("a preview makes the request %d bytes of %d", sent(), before)
	}
	before = sent()
	act(`{"do":"discard","session":"`+row.ID+`",`+name+`}`, "Discarded")
	if s.ask("one", 1); sent() >= before {
		t.Errorf("after a turn was discarded the request has %d bytes of %d", sent(), before)
	}
	c = s.changes("/~/events")
	act(`{"do":"undo","session":"`+row.ID+`","receipt":"`+c.Feed[len(c.Feed)-1].Receipt+`"}`, "Undone")
	discarded := sent()
	if s.ask("one", 1); sent() <= discarded+3000 {
		t.Errorf("after that was undone the request has %d bytes, and %d before", sent(), discarded)
	}
}

func find(c live.Changes, project string) *live.Row {
	for _, row := range c.Sessions {
		if row.Project == project {
			return row
		}
	}
	return nil
}

// Nothing but the page itself, opened in this run, changes anything.
func TestPage_refusesWhatIsNotThePage(t *testing.T) {
	s := open(t, set{agents: three()})
	s.ask("one", 2)
	id := s.changes("/~/events").Sessions[0].ID
	const undo = `{"do":"undo","session":"SESSION","receipt":"rcp_1"}`
	header := func(name string, values ...string) func(*http.Request) {
		return func(r *http.Request) { r.Header[http.CanonicalHeaderKey(name)] = values }
	}
	for _, c := range []struct {
		name, action string
		change       func(*http.Request)
		want         int
	}{
		{"another origin", undo, header("Origin", "https://evil.example"), 404}, // the listener's own check
		{"the origin null", undo, header("Origin", "null"), 404},
		{"two origins", undo, header("Origin", s.gateway.URL, s.gateway.URL), 404},
		{"no origin", undo, header("Origin"), 403},
		{"another site", undo, header("Sec-Fetch-Site", "cross-site"), 403},
		{"the same site, another origin", undo, header("Sec-Fetch-Site", "same-site"), 403},
		{"another host", undo, func(r *http.Request) { r.Host = "evil.example" }, 404},
		{"no word", undo, header("X-Winnow-Page"), 403},
		{"another word", undo, header("X-Winnow-Page", "x"), 403},
		{"a form", undo, header("Content-Type", "application/x-www-form-urlencoded"), 415},
		{"GET", undo, func(r *http.Request) { r.Method = "GET" }, 405},
		{"PUT", undo, func(r *http.Request) { r.Method = "PUT" }, 405},
		{"no JSON", "undo", nil, 400},
		{"a member that nobody knows", `{"do":"undo","all":true}`, nil, 400},
		{"too long", `{"do":"` + strings.Repeat("x", 5000) + `"}`, nil, 400},
		{"unknown action", `{"do":"delete","session":"SESSION"}`, nil, 400},
		{"no receipt", `{"do":"undo","session":"SESSION"}`, nil, 400},
		{"no part", `{"do":"pin","session":"SESSION"}`, nil, 400},
		{"no message", `{"do":"discard","session":"SESSION"}`, nil, 400},
		{"a part for a message", `{"do":"discard","session":"SESSION","name":"prt_1"}`, nil, 400},
		{"no such turn", `{"do":"foresee","session":"SESSION","name":"turn:999"}`, nil, 404},
		{"unknown receipt", undo, nil, 404},
		{"unknown session", `{"do":"undo","session":"live_0","receipt":"rcp_1"}`, nil, 404},
		{"unknown mode", `{"do":"mode","mode":"fast"}`, nil, 400},
		{"another mode", `{"do":"mode","mode":"observe"}`, nil, 200},
	} {
		if status, said := s.act(strings.ReplaceAll(c.action, "SESSION", id), c.change); status != c.want {
			t.Errorf("%s: %d %s, want %d", c.name, status, said, c.want)
		}
	}
	if len(s.modes) != 1 || s.modes[0] != "observe" {
		t.Errorf("switched to %q", s.modes)
	}
	for _, c := range []struct {
		path, accept string
		want         int
		kind         string
	}{
		{"/", "text/html", 200, "text/html"}, {"/", "*/*", 200, "text/plain"}, {"/~/page.css", "*/*", 200, "text/css"},
		{"/~/page.js", "*/*", 200, "text/javascript"}, {"/~/chart.js", "*/*", 200, "text/javascript"}, {"/~/icon.svg", "*/*", 200, "image/svg"},
		{"/~/page.html", "*/*", 404, "application/json"}, {"/~/../hub.go", "*/*", 404, "application/json"}, {"/~/", "*/*", 404, "application/json"},
		{"/~/session", "*/*", 404, "application/json"}, {"/~/session?id=" + id, "*/*", 200, "application/json"},
	} {
		r := must(http.NewRequest("GET", s.gateway.URL+c.path, nil))
		r.Header.Set("Accept", c.accept)
		got := must(http.DefaultTransport.RoundTrip(r))
		got.Body.Close()
		if got.StatusCode != c.want || !strings.HasPrefix(got.Header.Get("Content-Type"), c.kind) {
			t.Errorf("%s for %s: %d %s", c.path, c.accept, got.StatusCode, got.Header.Get("Content-Type"))
		}
		if policy := got.Header.Get("Content-Security-Policy"); c.kind != "text/plain" && (!strings.Contains(policy, "default-src 'none'") ||
			strings.Contains(policy, "unsafe") || !strings.Contains(policy, "frame-ancestors 'none'")) {
			t.Errorf("%s: policy %q", c.path, policy)
		}
	}
}

// The colours are those of every page.
func TestPage_hasTheTonesOfAllPages(t *testing.T) {
	g := httptest.NewServer(live.New(live.NewHub(false, time.Now()), live.Config{Mode: "off", Modes: []string{"off"}}))
	defer g.Close()
	s := &stage{t: t, gateway: g}
	_, _, sheet := s.get("/~/page.css")
	for _, tone := range display.Tones() {
		for _, want := range []string{"--" + tone.Class + ": #" + tone.Light, "--" + tone.Class + ": #" + tone.Dark, "." + tone.Class + " { fill"} {
			if !strings.Contains(sheet, want) {
				t.Errorf("the style sheet has no %q", want)
			}
		}
	}
}

// In the mode off there is no engine: what is known is shown, and nothing is changed.
func TestPage_withoutAnEngine(t *testing.T) {
	hub := live.NewHub(false, time.Now())
	hub.Watch(transport.Notice{Time: time.Now(), Session: "live_1", Failure: "no answer came"})
	g := httptest.NewServer(live.New(hub, live.Config{Mode: "off", Modes: []string{"off"}}))
	defer g.Close()
	defer hub.Close()
	s := &stage{t: t, gateway: g}
	if c := s.changes("/~/events"); len(c.Sessions) != 1 || c.Mode != "off" {
		t.Errorf("%+v", c)
	}
	if status, _, text := s.get("/~/session?id=live_1"); status != 409 || !strings.Contains(text, "mode off") {
		t.Errorf("the session: %d %s", status, text)
	}
	for action, want := range map[string]int{`{"do":"undo","session":"live_1","receipt":"r"}`: 409, `{"do":"mode","mode":"off"}`: 403} {
		if status, said := s.act(action, nil); status != want {
			t.Errorf("%s: %d %s", action, status, said)
		}
	}
}

// No more pages follow than there may be, and none after the end.
func TestPage_streamsAreBounded(t *testing.T) {
	hub := live.NewHub(false, time.Now())
	g := httptest.NewServer(live.New(hub, live.Config{}))
	defer g.Close()
	follow := func() *http.Response {
		answer := must(http.Get(g.URL + "/~/events"))
		t.Cleanup(func() { answer.Body.Close() })
		return answer
	}
	for i := range 32 {
		if answer := follow(); answer.StatusCode != 200 {
			t.Fatalf("page %d: %d", i, answer.StatusCode)
		}
	}
	if answer := follow(); answer.StatusCode != 503 {
		t.Errorf("one more: %d", answer.StatusCode)
	}
	hub.Close()
	if answer := follow(); answer.StatusCode != 503 {
		t.Errorf("after the end: %d", answer.StatusCode)
	}
}

// A tenant sees and changes what is its own, and switches nothing.
func TestPage_tenantsAreApart(t *testing.T) {
	ann, annHash := tenant.NewSecret()
	bob, bobHash := tenant.NewSecret()
	s := open(t, set{agents: three(), clients: map[string]string{"ann": annHash, "bob": bobHash}})
	if status, answer := s.ask("one", 3, ann); status != 200 {
		t.Fatalf("%d %s", status, answer)
	}
	s.ask("two", 2, bob)
	if status, _, _ := s.get("/"); status != 401 {
		t.Errorf("without a token: %d", status)
	}
	if status, _, _ := s.get("/~/events"); status != 401 {
		t.Errorf("events without a token: %d", status)
	}
	if _, _, html := s.get("/" + ann + "/"); !strings.Contains(html, "<b>ann</b>") || strings.Contains(html, ann) {
		t.Errorf("the page of ann: %s", html)
	}
	of := map[string]*live.Row{}
	for token, project := range map[string]string{ann: "/home/ann/shopd", bob: "/home/ann/site"} {
		c := s.changes("/" + token + "/~/events")
		if len(c.Sessions) != 1 || c.Sessions[0].Project != project || len(c.Groups) != 1 {
			t.Fatalf("%s sees %+v", project, c)
		}
		of[token] = c.Sessions[0]
	}
	word := s.word("/" + bob + "/")
	as := func(token, word string) func(*http.Request) {
		return func(r *http.Request) { r.URL.Path = "/" + token + r.URL.Path; r.Header.Set("X-Winnow-Page", word) }
	}
	for _, c := range []struct {
		name, action, token, word string
		want                      int
	}{
		{"the session of ann", `{"do":"undo","session":"` + of[ann].ID + `","receipt":"x"}`, bob, word, 404},
		{"its own session", `{"do":"undo","session":"` + of[bob].ID + `","receipt":"x"}`, bob, word, 404}, // no such receipt
		{"the mode", `{"do":"mode","mode":"off"}`, bob, word, 403},
		{"the word of bob with the token of ann", `{"do":"undo","session":"` + of[ann].ID + `","receipt":"x"}`, ann, word, 403},
	} {
		if status, said := s.act(c.action, as(c.token, c.word)); status != c.want {
			t.Errorf("%s: %d %s, want %d", c.name, status, said, c.want)
		}
	}
	if status, _, text := s.get("/" + bob + "/~/session?id=" + of[ann].ID); status != 404 {
		t.Errorf("bob looks at ann's session: %d %s", status, text)
	}
	if len(s.modes) > 0 {
		t.Errorf("switched to %q", s.modes)
	}
}

// Whatever a page is shown, no credential is in it; where what is said is withheld, neither is that.
func TestPage_noCredentialAndNoContent(t *testing.T) {
	for _, withheld := range []bool{false, true} {
		s := open(t, set{agents: three(), withheld: withheld})
		s.agents["one"].log[0].Parts[0].Text += " My key is sk-ant-api03-canaryAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA-AAAA."
		s.ask("one", 60)
		c := s.changes("/~/events")
		all := must(json.Marshal(c))
		for _, path := range []string{"/", "/~/session?id=" + c.Sessions[0].ID} {
			status, _, text := s.get(path)
			if status != 200 {
				t.Fatalf("%s: %d %s", path, status, text)
			}
			all = append(all, text...)
		}
		for _, action := range []string{`{"do":"undo","session":"` + c.Sessions[0].ID + `","receipt":"` + c.Feed[0].Receipt + `"}`,
			`{"do":"undo","session":"` + c.Sessions[0].ID + `","receipt":"` + c.Feed[0].Receipt + `"}`} { // the second is done already
			_, said := s.act(action, nil)
			all = append(all, said...)
		}
		if strings.Contains(string(all), "canary") {
			t.Errorf("withheld %v: the page has the key", withheld)
		}
		for _, said := range []string{"/home/ann/shopd", c.Feed[0].Parts[0].Part} {
			if has := strings.Contains(string(all), said); has == withheld && strings.HasPrefix(said, "/") {
				t.Errorf("withheld %v: %s is shown: %v", withheld, said, has)
			}
		}
		said := 0
		for _, m := range s.agents["one"].log {
			for _, p := range m.Parts {
				if p.State != nil {
					var input struct {
						File string `json:"filePath"`
						Path string `json:"file_path"`
					}
					_ = json.Unmarshal(p.State.Input, &input)
					if name := input.File + input.Path; name != "" && strings.Contains(string(all), name) {
						said++
					}
				}
			}
		}
		if (said == 0) != withheld {
			t.Errorf("withheld %v: the names of %d files are shown", withheld, said)
		}
	}
}

// What is only observed is said to be, and is not in what was saved.
func TestPage_observed(t *testing.T) {
	s := open(t, set{agents: three(), mode: transport.Observe})
	s.ask("one", 60)
	c := s.changes("/~/events")
	row := c.Sessions[0]
	if row.Observed != 60 || row.Net != 0 || row.ToSave == 0 || row.LeftOut == 0 {
		t.Errorf("the row: %+v", row)
	}
	observed := 0
	for _, e := range c.Feed {
		if e.Observed {
			observed++
		}
	}
	if observed == 0 || observed != len(c.Feed) {
		t.Errorf("%d of %d decisions were only observed", observed, len(c.Feed))
	}
}
