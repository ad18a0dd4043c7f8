package live_test

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/gateway/live"
	"github.com/winnowhq/winnow/gateway/serve"
	"github.com/winnowhq/winnow/gateway/transport"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/internal/workday"
	"github.com/winnowhq/winnow/plan/settings"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/cache"
	"github.com/winnowhq/winnow/store/memory"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/wire"
	"github.com/winnowhq/winnow/wire/anthropic"
)

// canary is a credential that must be nowhere but at the provider.
const canary = "sk-ant-api03-canarycanarycanarycanary"

// stage is a gateway with a page, between agents and a scripted provider.
type stage struct {
	t        testing.TB
	provider *llmtest.Server
	engine   *winnow.Engine
	hub      *live.Hub
	gateway  *httptest.Server
	agents   map[string]*agent // by the name of the session
	offset   atomic.Int64      // of the clock, nanoseconds
	modes    []string          // that were switched to
}

// agent works through a made-up day.
type agent struct {
	name, client, folder, task string
	log                        []session.Message
	next                       int // place in the log of the answer that it asks for next
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// set is how a stage is set: the rest is as ever.
type set struct {
	mode     transport.Mode
	withheld bool
	clients  map[string]string
	agents   []agent
}

func open(t testing.TB, how set) *stage {
	t.Helper()
	s := &stage{t: t, agents: map[string]*agent{}}
	for i, a := range how.agents {
		a.log = workday.Make(uint64(7+i), 120).Messages
		a.log[0].Parts[0].Text = a.task
		s.agents[a.name] = &a
	}
	s.provider = llmtest.Start(t, llmtest.Script{Now: s.clock, Answer: s.answer})
	o := settings.Default()
	// These sessions are short: what lies idle in long ones goes here, too.
	o.Strategies.BalancedPruning.IdleSteps, o.Strategies.BalancedPruning.IdleInputSteps = 10, 30
	o.Compaction.Auto = false
	var kept store.Store = memory.New()
	if how.withheld {
		kept = transport.Withhold(kept, cache.NewPool(1<<24))
	}
	var err error
	s.engine, err = winnow.Open(winnow.Config{Settings: &o, Store: kept, Now: s.clock, Hooks: transport.Hooks(winnow.Hooks{})})
	if err != nil {
		t.Fatal(err)
	}
	s.hub = live.NewHub(how.withheld, s.clock())
	carrier := transport.New(s.engine, transport.Options{Base: serve.Direct(), Mode: how.mode, Watch: s.hub.Watch, Now: s.clock})
	page := live.New(s.hub, live.Config{Engine: s.engine, Mode: string(cmp.Or(how.mode, transport.Full)), Modes: []string{"off", "observe", "safe", "full"},
		Switch: func(_ context.Context, mode string) error { s.modes = append(s.modes, mode); return nil },
		Tenant: func(r *http.Request) string { return r.Header.Get(serve.ClientHeader) }, Now: s.clock, Every: time.Millisecond})
	h, err := serve.New(serve.Config{Upstreams: map[string]string{"anthropic": s.provider.URL}, Transport: carrier, Page: page,
		Clients: how.clients})
	if err != nil {
		t.Fatal(err)
	}
	s.gateway = httptest.NewServer(h)
	t.Cleanup(s.gateway.Close)
	t.Cleanup(s.hub.Close)
	return s
}

// clock is the time, and what the test has let pass.
func (s *stage) clock() time.Time { return time.Now().Add(time.Duration(s.offset.Load())) }

func (s *stage) answer(q llmtest.Request) (r llmtest.Reply) {
	name, place, _ := strings.Cut(q.Header.Get("X-Test-Step"), " ")
	a, at := s.agents[name], must(strconv.Atoi(place))
	return llmtest.Said(&a.log[at])
}

// ask lets an agent ask for its next answers, and returns what the gateway answered last.
func (s *stage) ask(name string, times int, token ...string) (status int, answer []byte) {
	s.t.Helper()
	a := s.agents[name]
	for range times {
		for a.log[a.next].Role != session.Assistant {
			a.next++
		}
		b := must(anthropic.Encode(a.log[:a.next], wire.Options{Model: "claude-sonnet-4-5", MaxTokens: 1000,
			System: "You write code.\n\nWorking directory: " + a.folder + "\nToday is Friday.",
			Tools:  jsontext.Value(`[{"name":"read","input_schema":{"type":"object"}}]`)}))
		b.Elements = anthropic.Cached(b.Elements)
		text := bytes.Replace(must(b.JSON()), []byte("{"), []byte(`{"stream":true,`), 1)
		r := must(http.NewRequest("POST", s.gateway.URL+"/anthropic/v1/messages", bytes.NewReader(text)))
		r.Header = http.Header{"Content-Type": {"application/json"}, "X-Api-Key": {canary}, "Anthropic-Version": {"2023-06-01"},
			"User-Agent": {a.client + " (external, cli)"}, "X-Session-Id": {a.name},
			"X-Test-Step": {a.name + " " + strconv.Itoa(a.next)}}
		if len(token) > 0 {
			r.Header.Set(serve.TokenHeader, token[0])
		}
		got := must(http.DefaultClient.Do(r))
		status, answer = got.StatusCode, must(io.ReadAll(got.Body))
		got.Body.Close()
		a.next++
		s.offset.Add(int64(20 * time.Second))
	}
	return status, answer
}

// get asks for something of the page as its browser does.
func (s *stage) get(path string) (int, http.Header, string) {
	s.t.Helper()
	r := must(http.NewRequest("GET", s.gateway.URL+path, nil))
	r.Header.Set("Accept", "text/html,*/*")
	got := must(http.DefaultClient.Do(r))
	defer got.Body.Close()
	return got.StatusCode, got.Header, string(must(io.ReadAll(got.Body)))
}

// changes are those that the page is told of first.
func (s *stage) changes(path string) (c live.Changes) {
	s.t.Helper()
	ctx, stop := context.WithCancel(s.t.Context())
	defer stop()
	r := must(http.NewRequestWithContext(ctx, "GET", s.gateway.URL+path, nil))
	got := must(http.DefaultClient.Do(r))
	defer got.Body.Close()
	events := wire.NewEventReader(got.Body)
	e, err := events.Next()
	if err != nil {
		s.t.Fatalf("no event: %v", err)
	}
	if err := json.Unmarshal([]byte(e.Data), &c); err != nil {
		s.t.Fatalf("%v: %s", err, e.Data)
	}
	read := func(g *report.Gain) {
		if a := g.Amounts; a.Billed != nil {
			g.Billed, g.Otherwise.Likely, g.Net = *a.Billed, *a.Without, *a.Net
		}
	}
	for _, row := range c.Sessions {
		read(&row.Gain)
	}
	for _, g := range c.Groups {
		read(&g.Gain)
	}
	return c
}

// word is what the page shows to change something.
func (s *stage) word(path string) string {
	s.t.Helper()
	_, _, html := s.get(path)
	_, rest, _ := strings.Cut(html, `name="winnow-page" content="`)
	word, _, _ := strings.Cut(rest, `"`)
	return word
}

// act asks as a button does; change changes the request before it is sent.
func (s *stage) act(action string, change func(*http.Request)) (int, string) {
	s.t.Helper()
	r := must(http.NewRequest("POST", s.gateway.URL+"/~/act", strings.NewReader(action)))
	r.Header = http.Header{"Content-Type": {"application/json"}, "Origin": {s.gateway.URL}, "X-Winnow-Page": {s.word("/")}}
	if change != nil {
		change(r)
	}
	got := must(http.DefaultClient.Do(r))
	defer got.Body.Close()
	return got.StatusCode, string(must(io.ReadAll(got.Body)))
}

func three() []agent {
	return []agent{{name: "one", client: "claude-cli/2.1.330", folder: "/home/ann/shopd", task: "Add a rate limit to the order API"},
		{name: "two", client: "opencode/1.18.33", folder: "/home/ann/site", task: "Why does the build fail on arm64?"},
		{name: "three", client: "claude-cli/2.1.330", folder: "/home/ann/site", task: "Move the pages to the new layout"}}
}
