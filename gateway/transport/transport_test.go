package transport

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/internal/lavish"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/internal/workday"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/budget"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/settings"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/cache"
	"github.com/winnowhq/winnow/store/memory"
	"github.com/winnowhq/winnow/wire"
	"github.com/winnowhq/winnow/wire/anthropic"
	"github.com/winnowhq/winnow/wire/gemini"
	"github.com/winnowhq/winnow/wire/openaichat"
	"github.com/winnowhq/winnow/wire/responses"
)

// stage is a client, a transport and a provider.
type stage struct {
	t         testing.TB
	log       []session.Message
	server    *llmtest.Server
	store     store.Store
	engine    *winnow.Engine
	transport *Transport
	options   Options
	protocol  llmtest.Protocol
	model     string
	random    *rand.Rand // of the client's habits
	now       time.Time
	looks     atomic.Int64
	quiet     bool   // errors are expected
	economic  bool   // folds when that pays, not only when the window overflows
	window    int    // of the model, in tokens; 0: so large that nothing is folded
	shell     bool   // the client declares one
	refuse    bool   // its base does: see refusing
	policy    string // "" for the default
	agents    map[string]settings.Agent
	idle      int              // strategies.balancedPruning.idleSteps; 0: 10
	caches    *int             // cache.seconds of all models, nil for the catalogue's
	withholds int              // bytes of what is said that are at hand, where the store does not have it; 0: it has
	decided   int              // receipts there were when the newest request reached the provider
	scribe    pivot.Summarizer // nil: the offline one
	turn      func()           // before each request, if it is not nil: it may put another replica in place
}

const stepHeader = "X-Test-Step"

// play sets the stage for a made-up session of a coding agent.
func play(t testing.TB, p llmtest.Protocol, steps int, o Options) *stage {
	t.Helper()
	s := &stage{
		t: t, log: workday.Make(7, steps).Messages, protocol: p, options: o, store: memory.New(),
		now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), random: rand.New(rand.NewPCG(1, 2)),
	}
	s.model = map[llmtest.Protocol]string{
		llmtest.Anthropic: "claude-sonnet-4-5", llmtest.Chat: "gpt-4.1", llmtest.Responses: "gpt-4.1",
		llmtest.Gemini: "gemini-2.5-flash",
	}[p]
	s.server = llmtest.Start(t, llmtest.Script{
		Now: func() time.Time { return s.now },
		Answer: func(r llmtest.Request) llmtest.Reply {
			s.decided = s.receipts()
			at, err := strconv.Atoi(r.Header.Get(stepHeader))
			if err != nil {
				return llmtest.Reply{Text: "ok"}
			}
			return s.reply(at)
		},
	})
	s.restart()
	return s
}

func TestMain(m *testing.M) { lavish.Run(m) }

// sequential skips a test that does one thing after the other.
func sequential(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("it does one thing after the other: -short is for the race detector")
	}
}

// restart begins with another engine and another transport on the same store.
func (s *stage) restart() {
	s.t.Helper()
	set := settings.Default()
	// These sessions are short: what lies idle in long ones goes here, too.
	idle := cmp.Or(s.idle, 10)
	set.Strategies.BalancedPruning.IdleSteps, set.Strategies.BalancedPruning.IdleInputSteps = idle, 3*idle
	set.Compaction.Auto = s.window > 0 && s.options.Mode != Safe
	if s.options.Mode == Safe {
		set.Schedule = "cold"
	}
	set.Policy, set.Agents = cmp.Or(s.policy, set.Policy), s.agents
	models := model.Default()
	if s.economic {
		set.Compaction.Threshold = budget.Thresholds{"*": budget.Economic}
	}
	if s.window > 0 {
		keep, output := 2_000, 1_000
		set.Compaction.Keep = &keep
		models = models.With(model.Override{Match: "**", Patch: model.Patch{Context: &s.window, Output: &output}})
	}
	if s.caches != nil {
		models = models.With(model.Override{Match: "**", Patch: model.Patch{Cache: model.CachePatch{Seconds: s.caches}}})
	}
	var err error
	kept := s.store
	if s.withholds > 0 {
		kept = Withhold(s.store, cache.NewPool(s.withholds))
	}
	s.engine, err = winnow.Open(winnow.Config{Settings: &set, Store: kept, Now: s.clock, Models: models, Summarizer: s.scribe,
		Hooks: Hooks(winnow.Hooks{})})
	if err != nil {
		s.t.Fatal(err)
	}
	o := s.options
	o.Models = models
	o.Now = s.clock
	if !s.quiet && o.Log == nil {
		o.Log = slog.New(slog.NewTextHandler(complaint{s.t, ""}, &slog.HandlerOptions{Level: slog.LevelWarn}))
	}
	s.transport = New(s.engine, o)
}

// clock is the clock of engine and transport: time passes with each look at it.
func (s *stage) clock() time.Time {
	return s.now.Add(time.Duration(s.looks.Add(1)) * time.Millisecond)
}

// complaint fails a test for what the transport logs with a word in it.
type complaint struct {
	t    testing.TB
	word string
}

func (c complaint) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte(c.word)) {
		c.t.Errorf("logged: %s", line)
	}
	return len(line), nil
}

// reply is what the session's message says.
func (s *stage) reply(at int) llmtest.Reply {
	var r llmtest.Reply
	for _, p := range s.log[at].Parts {
		switch p.Type {
		case session.TextPart:
			r.Text += p.Text
		case session.ReasoningPart:
			r.Reasoning += p.Text
		case session.ToolPart:
			r.Calls = append(r.Calls, llmtest.Call{ID: p.CallID, Name: p.Tool, Arguments: string(p.State.Input)})
		}
	}
	return r
}

// request is what the client sends before the message at a place of the log.
func (s *stage) request(at int) *http.Request {
	s.t.Helper()
	return s.ask(s.log[:at], at)
}

// ask is a request of a client that has these messages.
func (s *stage) ask(messages []session.Message, step int) *http.Request {
	s.t.Helper()
	o := wire.Options{
		Model: s.model, System: "You write code.", MaxTokens: 1000, Tools: tools[s.protocol],
	}
	if s.shell {
		o.Tools = bytes.Replace(o.Tools, []byte(`"read"`), []byte(`"bash"`), 1)
	}
	encode := map[llmtest.Protocol]func([]session.Message, wire.Options) (wire.Body, error){
		llmtest.Anthropic: anthropic.Encode, llmtest.Chat: openaichat.Encode, llmtest.Responses: responses.Encode,
		llmtest.Gemini: gemini.Encode,
	}[s.protocol]
	body, err := encode(messages, o)
	if err != nil {
		s.t.Fatal(err)
	}
	s.habits(&body)
	text, err := body.JSON()
	if err != nil {
		s.t.Fatal(err)
	}
	path := map[llmtest.Protocol]string{
		llmtest.Anthropic: "/v1/messages?beta=true", llmtest.Chat: "/v1/chat/completions",
		llmtest.Responses: "/v1/responses",
		llmtest.Gemini:    "/v1beta/models/" + s.model + ":streamGenerateContent?alt=sse",
	}[s.protocol]
	if s.protocol != llmtest.Gemini {
		text = bytes.Replace(text, []byte("{"), []byte(streams[s.protocol]), 1)
	}
	r, err := http.NewRequest("POST", s.server.URL+path, bytes.NewReader(text))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header = http.Header{
		"Content-Type": {"application/json"}, "X-Api-Key": {"canary-key"}, "Anthropic-Version": {"2023-06-01"},
		"Authorization": {"Bearer canary-key"}, "X-Goog-Api-Key": {"canary-key"}, stepHeader: {strconv.Itoa(step)},
	}
	return r
}

var streams = map[llmtest.Protocol]string{
	llmtest.Anthropic: `{"stream":true,`, llmtest.Responses: `{"stream":true,`,
	llmtest.Chat: `{"stream":true,"stream_options":{"include_usage":true},`,
}

var tools = map[llmtest.Protocol]jsontext.Value{
	llmtest.Anthropic: jsontext.Value(`[{"name":"read","input_schema":{"type":"object"}}]`),
	llmtest.Chat:      jsontext.Value(`[{"type":"function","function":{"name":"read","parameters":{"type":"object"}}}]`),
	llmtest.Responses: jsontext.Value(`[{"type":"function","name":"read","parameters":{"type":"object"}}]`),
	llmtest.Gemini:    jsontext.Value(`[{"functionDeclarations":[{"name":"read"}]}]`),
}

// habits writes a body as clients do: cache marks that move, texts as lists of one.
func (s *stage) habits(b *wire.Body) {
	switch s.protocol {
	case llmtest.Anthropic:
		b.Elements = anthropic.Cached(b.Elements)
	case llmtest.Chat:
		for i, e := range b.Elements {
			content := wire.ValueOf(e).Get("content")
			role := wire.ValueOf(e).Get("role").String()
			if content.Kind() == '"' && role == "user" && s.random.IntN(2) == 0 {
				list := fmt.Sprintf(`[{"type":"text","text":%s}]`, content.Bytes())
				b.Elements[i] = bytes.Replace(e, content.Bytes(), []byte(list), 1)
			}
		}
	}
}

// send sends a request and reads its answer.
func (s *stage) send(r *http.Request) (status int, answer string) {
	s.t.Helper()
	if s.turn != nil {
		s.turn()
	}
	a, err := s.transport.RoundTrip(r)
	if err != nil {
		s.t.Fatal(err)
	}
	text, err := io.ReadAll(a.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := a.Body.Close(); err != nil {
		s.t.Fatal(err)
	}
	return a.StatusCode, string(text)
}

// steps are the places of the log before which the client asks.
func (s *stage) steps() []int {
	var at []int
	for i := range s.log {
		if s.log[i].Role == session.Assistant {
			at = append(at, i)
		}
	}
	return at
}

// only is the one session that the store has, and what was decided about it.
func (s *stage) only() (session.Session, store.State) {
	s.t.Helper()
	list, err := s.store.List(context.Background())
	if err != nil || len(list) != 1 {
		s.t.Errorf("the store has %d sessions, %v", len(list), err)
	}
	log, state, err := s.engine.Session(context.Background(), list[0].Info.ID)
	if err != nil {
		s.t.Fatal(err)
	}
	return log, state
}

// What was sent before is sent again to the byte, unless something was decided in between: whatever
// the client does to its cache marks, and whoever is restarted.
func TestTransport_thePrefixStays(t *testing.T) {
	sequential(t)
	for _, p := range llmtest.Protocols() {
		t.Run(string(p), func(t *testing.T) { thePrefixStays(t, p, 0) })
		t.Run(string(p)+", folded", func(t *testing.T) { thePrefixStays(t, p, 14_000) })
	}
}

func thePrefixStays(t *testing.T, p llmtest.Protocol, window int) {
	steps := 80
	if testing.Short() {
		steps = 50
	}
	s := play(t, p, steps, Options{})
	s.window = window
	s.restart()
	receipts, commits := 0, 0
	var before []digest
	for i, at := range s.steps() {
		if i%11 == 10 {
			s.restart()
		}
		if status, answer := s.send(s.request(at)); status != 200 {
			t.Fatalf("step %d: %d %s", i, status, answer)
		}
		s.now = s.now.Add(20 * time.Second)
		records := s.server.Records()
		now := chained(records[len(records)-1].Messages)
		if s.decided > receipts {
			commits++
		} else {
			for k := range min(len(before), len(now)) {
				if before[k] != now[k] {
					t.Fatalf("step %d: message %d is another one, and nothing was decided", i, k)
				}
			}
		}
		receipts, before = s.decided, now
	}
	if problems := s.server.Problems(); len(problems) > 0 {
		t.Errorf("the provider would refuse: %s", strings.Join(problems, "; "))
	}
	log, _ := s.only()
	if len(clients(log.Messages)) < len(s.steps()) {
		t.Errorf("the log has %d messages of %d", len(log.Messages), len(s.log))
	}
	t.Logf("%d steps, %d commits, %+v", len(s.steps()), commits, s.transport.Totals())
	if commits == 0 {
		t.Error("nothing was decided in the whole session")
	}
	if folds := s.folds(); (folds > 0) != (window > 0) {
		t.Errorf("folded %d times", folds)
	}
}

// folds counts the summaries that stand for what was said.
func (s *stage) folds() (n int) {
	_, state := s.only()
	for i := range state.Receipts {
		if r := &state.Receipts[i]; r.Kind == pivot.Compaction && !state.Undone[r.Marker] {
			n++
		}
	}
	return n
}
