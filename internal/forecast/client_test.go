package forecast

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/gateway/transport"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/internal/tworuns"
	"github.com/winnowhq/winnow/lab"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/settings"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/memory"
	"github.com/winnowhq/winnow/summarize/offline"
	"github.com/winnowhq/winnow/text/span"
	"github.com/winnowhq/winnow/token"
	"github.com/winnowhq/winnow/wire"
	"github.com/winnowhq/winnow/wire/anthropic"
	"github.com/winnowhq/winnow/wire/gemini"
	"github.com/winnowhq/winnow/wire/openaichat"
	"github.com/winnowhq/winnow/wire/responses"
)

// client plays a recorded session as the program would that recorded it: it sends the history with
// each request, waits as long as was waited, and is answered what was answered.
type client struct {
	testing.TB
	protocol  llmtest.Protocol
	model     model.Model
	system    string
	server    *llmtest.Server
	transport *transport.Transport

	log      []session.Message
	elements wire.Elements
	facts    *rule.Facts
	now      time.Time
	due      map[int]timer  // of the transport
	last     session.Millis // when the newest answer was there, by the recording
	looks    atomic.Int64
	reply    llmtest.Reply

	billed float64 // by the provider, in US dollars
	sizes  []int   // of the prompts, in tokens, by the provider
}

var forms = map[llmtest.Protocol]*wire.Form{
	llmtest.Anthropic: anthropic.Form, llmtest.Chat: openaichat.Form, llmtest.Responses: responses.Form,
	llmtest.Gemini: gemini.Form,
}

var vendors = map[llmtest.Protocol]string{
	llmtest.Anthropic: "anthropic", llmtest.Chat: "openai", llmtest.Responses: "openai", llmtest.Gemini: "google",
}

var declared = map[llmtest.Protocol]jsontext.Value{
	llmtest.Anthropic: jsontext.Value(`[{"name":"read","input_schema":{"type":"object"}}]`),
	llmtest.Chat:      jsontext.Value(`[{"type":"function","function":{"name":"read","parameters":{"type":"object"}}}]`),
	llmtest.Responses: jsontext.Value(`[{"type":"function","name":"read","parameters":{"type":"object"}}]`),
	llmtest.Gemini:    jsontext.Value(`[{"functionDeclarations":[{"name":"read"}]}]`),
}

// timer is a call that the transport wants at a time.
type timer struct {
	at   time.Time
	call func()
}

// after is the timers of the client's clock.
func (c *client) after(wait time.Duration, call func()) (stop func() bool) {
	n := int(c.looks.Add(1))
	c.due[n] = timer{c.now.Add(wait), call}
	return func() bool { delete(c.due, n); return true }
}

// pass lets time pass, and the timers end that are due.
func (c *client) pass(until time.Time) {
	for {
		next := 0
		for n, t := range c.due {
			if !t.at.After(until) && (next == 0 || t.at.Before(c.due[next].at)) {
				next = n
			}
		}
		if next == 0 {
			break
		}
		t := c.due[next]
		delete(c.due, next)
		c.now, c.reply = t.at, llmtest.Reply{Pieces: 1, Text: "So", Output: 1}
		t.call()
	}
	c.now = until
}

// known sends what is meant for Anthropic's host to the scripted provider.
func (c *client) known(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host = "http", strings.TrimPrefix(c.server.URL, "http://")
	return http.DefaultTransport.RoundTrip(r)
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// play sends a trace through a transport to a scripted provider.
func play(t testing.TB, trace *lab.Trace, p llmtest.Protocol, s settings.Settings, m mode) *client {
	t.Helper()
	c := &client{TB: t, protocol: p, model: trace.Model, log: trace.Session().Messages, due: map[int]timer{},
		facts: rule.NewFacts(token.Linear{}), now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	c.begin(trace.Base, trace.Session().Info.Directory)
	engine, err := winnow.Open(winnow.Config{
		Settings: &s, Store: memory.New(), Now: c.clock, Counter: token.Linear{}, Summarizer: offline.New(),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	c.transport = transport.New(engine, transport.Options{Mode: m.mode, Now: c.clock, After: c.after, KeepWarm: m.warm,
		Base: roundTrip(c.known), Log: slog.New(slog.NewTextHandler(logged{t}, nil))})
	for i := range c.log {
		if c.log[i].Role == session.Assistant {
			c.step(i)
		}
	}
	c.pass(c.now.Add(24 * time.Hour))
	c.bill("after the last message")
	return c
}

type logged struct{ testing.TB }

func (l logged) Write(line []byte) (int, error) {
	if !bytes.Contains(line, []byte("level=INFO")) {
		l.Errorf("logged: %s", line)
	}
	return len(line), nil
}

// begin starts the provider, with a system prompt that names the working folder and takes so many
// tokens together with the tools.
func (c *client) begin(base int, folder string) {
	c.Helper()
	said := session.Message{Parts: []session.Part{{Type: session.TextPart, Text: "Hello."}}}
	said.Role = session.User
	probe := llmtest.Start(c, llmtest.Script{Bare: true})
	c.system, c.server = "You write code.", probe
	if folder != "" {
		c.system += " <cwd>" + folder + "</cwd>"
	}
	if answer, err := http.DefaultClient.Do(c.request([]session.Message{said})); err != nil {
		c.Fatal(err)
	} else {
		answer.Body.Close()
	}
	count := token.Linear{}.Count
	besides := probe.Records()[0].Prompt - count(c.system) - count("Hello.")
	for range 100 {
		if off := base - besides - count(c.system); off > 0 {
			c.system += strings.Repeat(" Take care.", max(1, off/4))
		} else {
			break
		}
	}
	// The forecast is in units of our own; what the provider's are is another test's matter.
	script := tworuns.Terms()
	script.Counter, script.Bare, script.CacheLifetime = token.Linear{}, true, c.model.CacheLifetime()
	script.Now = func() time.Time { return c.now }
	script.Answer = func(llmtest.Request) llmtest.Reply { return c.reply }
	c.server = llmtest.Start(c, script)
	c.elements = wire.Elements{}
}

// clock is that of engine and transport: time passes with each look at it.
func (c *client) clock() time.Time {
	return c.now.Add(time.Duration(c.looks.Add(1)) * time.Microsecond)
}

// wait lets the time pass that lay between the answer before a message and the message. Answers take
// no time: a cache counts from the request, and a recording tells when an answer was there.
func (c *client) wait(m *session.Message) {
	pause := time.Second
	if c.last > 0 && m.Time.Created > c.last {
		pause = time.Duration(m.Time.Created-c.last) * time.Millisecond
	}
	c.pass(c.now.Add(pause))
	c.last = max(c.last, m.Time.Created, m.Time.Completed)
}

// step asks for the answer at a place of the log.
func (c *client) step(at int) {
	c.Helper()
	m := &c.log[at]
	c.wait(m)
	c.reply = c.answer(m)
	r := c.request(c.log[:at])
	if c.protocol == llmtest.Anthropic {
		r.URL.Scheme, r.URL.Host = "https", "api.anthropic.com"
		r.Header.Del("Authorization") // the key alone: what may be a subscription is never kept warm
	}
	answer, err := c.transport.RoundTrip(r)
	if err != nil {
		c.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		c.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		c.Fatalf("message %d: %d %s", at, answer.StatusCode, text)
	}
	c.bill(fmt.Sprintf("message %d", at))
}

// bill adds what the provider was asked for since.
func (c *client) bill(when string) {
	c.Helper()
	for _, r := range c.server.Records() {
		cost, _ := c.model.Cost(bill.Usage(r.Usage))
		c.billed += cost
		c.sizes = append(c.sizes, r.Usage.Prompt())
		if r.Problem != "" {
			c.Errorf("%s: the provider would refuse: %s", when, r.Problem)
		}
	}
	c.server.Forget()
}

// answer is what the provider says.
func (c *client) answer(m *session.Message) llmtest.Reply {
	r := llmtest.Reply{Pieces: 1}
	for i := range m.Parts {
		p := &m.Parts[i]
		size := c.facts.Size(p)
		switch p.Type {
		case session.TextPart:
			r.Text += p.Text
			r.Output += size.Total()
		case session.ToolPart:
			r.Calls = append(r.Calls, llmtest.Call{ID: p.CallID, Name: p.Tool, Arguments: string(p.State.Input)})
			r.Output += size.Input
		}
	}
	return r
}

// request is the request of a client that has these messages.
func (c *client) request(messages []session.Message) *http.Request {
	c.Helper()
	o := wire.Options{Model: c.model.ID, MaxTokens: 32_000, Tools: declared[c.protocol]}
	head := `{"stream":true,`
	path := ""
	switch c.protocol {
	case llmtest.Anthropic:
		path = "/v1/messages?beta=true"
		head += fmt.Sprintf(`"system":[{"type":"text","text":%s%s}],`, span.Quote(c.system), anthropic.CacheControl)
	case llmtest.Chat:
		path, o.System = "/v1/chat/completions", c.system
		head += `"stream_options":{"include_usage":true},`
	case llmtest.Responses:
		path, o.System = "/v1/responses", c.system
	case llmtest.Gemini:
		path, o.System, head = "/v1beta/models/"+c.model.ID+":streamGenerateContent?alt=sse", c.system, "{"
	}
	body, err := c.elements.Encode(messages, o, forms[c.protocol])
	if err != nil {
		c.Fatal(err)
	}
	if c.protocol == llmtest.Anthropic {
		body.Elements = marked(body.Elements)
	}
	text, err := body.JSON()
	if err != nil {
		c.Fatal(err)
	}
	text = bytes.Replace(text, []byte("{"), []byte(head), 1)
	r, err := http.NewRequest("POST", c.server.URL+path, bytes.NewReader(text))
	if err != nil {
		c.Fatal(err)
	}
	r.Header = http.Header{
		"Content-Type": {"application/json"}, "X-Api-Key": {"any"}, "Anthropic-Version": {"2023-06-01"},
		"Authorization": {"Bearer any"}, "X-Goog-Api-Key": {"any"},
	}
	return r
}

// marked are the messages of a body with a cache mark on the last block, as Claude Code and pi set
// theirs.
func marked(messages []jsontext.Value) []jsontext.Value {
	messages = slices.Clone(messages)
	newest := &messages[len(messages)-1]
	var last wire.Value
	for block := range wire.ValueOf(*newest).Get("content").Values() {
		last = block
	}
	*newest = span.Splice(*newest, anthropic.Mark(last)...)
	return messages
}

// usual are models for recordings of one that no price is known of.
var usual = map[llmtest.Protocol]string{
	llmtest.Anthropic: "anthropic/claude-sonnet-4-5", llmtest.Chat: "openai/gpt-4.1",
	llmtest.Responses: "openai/gpt-4.1", llmtest.Gemini: "google/gemini-2.5-flash",
}

// spoken is the protocol of the program that recorded a session, and the model that answers it.
func spoken(product string, s session.Session, catalogue *model.Catalogue) (llmtest.Protocol, model.Model) {
	var ref session.ModelRef
	for i := range s.Messages {
		if a := s.Messages[i].Answers(); a != nil && a.ID+a.ModelID != "" {
			ref = *a
		}
	}
	name := cmp.Or(ref.ModelID, ref.ID)
	p := map[string]llmtest.Protocol{
		"claude-code": llmtest.Anthropic, "codex": llmtest.Responses, "gemini-cli": llmtest.Gemini,
	}[product]
	switch {
	case p != "":
	case strings.HasPrefix(name, "claude"):
		p = llmtest.Anthropic
	case strings.HasPrefix(name, "gemini"):
		p = llmtest.Gemini
	case strings.HasPrefix(name, "gpt") && product == "opencode":
		p = llmtest.Responses
	default:
		p = llmtest.Chat
	}
	m := catalogue.Lookup(vendors[p] + "/" + name)
	if m.Unknown || !m.Price.Known() {
		m = catalogue.Lookup(usual[p])
	}
	return p, m
}

// sent is a recording as its client sends it to a provider: it begins with the user, a call that
// never ended has a result that says so, and arguments have neither spaces nor needless escapes.
// What a product keeps beside that nobody is sent: the status with which a command ended, who wrote
// a text in the user's name, where it worked later, ids of its own. In OpenAI's protocols a failed
// call has a result like any other.
func sent(s session.Session, to llmtest.Protocol) session.Session {
	s.Messages = slices.Clone(s.Messages)
	s.Info.Directory = cmp.Or(s.Info.Directory, call.Directory(s.Messages))
	if len(s.Messages) > 0 && s.Messages[0].Role == session.Assistant {
		begins := session.Message{Parts: []session.Part{{Type: session.TextPart, Text: wire.Beginning}}}
		begins.Role, begins.Time.Created = session.User, s.Messages[0].Time.Created
		s.Messages = slices.Insert(s.Messages, 0, begins)
	}
	for i := range s.Messages {
		m := &s.Messages[i]
		m.Parts, m.Path = slices.Clone(m.Parts), nil
		if s.Info.Directory != "" {
			m.Path = &session.Path{Cwd: s.Info.Directory}
		}
		for j := range m.Parts {
			p := &m.Parts[j]
			if p.Type == session.TextPart && m.Role == session.User {
				p.Synthetic = wire.Injected(p.Text) || p.Text == wire.Beginning
			}
			if p.State == nil {
				continue
			}
			state := *p.State
			p.ID, p.State = p.CallID, &state
			if !state.Final() {
				state.Status, state.Output = session.Completed, wire.Interrupted
			}
			state.Metadata = nil
			if state.Status == session.Failed && (to == llmtest.Chat || to == llmtest.Responses) {
				state.Status, state.Output, state.Error = session.Completed, state.Error, ""
			}
			if input, err := json.Marshal(state.Input, session.ReadOptions()); err == nil {
				state.Input = input
			}
		}
	}
	return s
}
