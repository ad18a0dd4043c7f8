package siege

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/gateway/serve"
	"github.com/winnowhq/winnow/gateway/transport"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/internal/tworuns"
	"github.com/winnowhq/winnow/internal/workday"
	"github.com/winnowhq/winnow/plan/settings"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/cache"
	"github.com/winnowhq/winnow/store/memory"
	"github.com/winnowhq/winnow/token"
	"github.com/winnowhq/winnow/wire"
	"github.com/winnowhq/winnow/wire/anthropic"
	"github.com/winnowhq/winnow/wire/gemini"
	"github.com/winnowhq/winnow/wire/openaichat"
	"github.com/winnowhq/winnow/wire/responses"
)

var long = flag.Bool("siege", false, "take the time that a thorough run needs")

// visitor is a client of the gateway that works through a made-up day, request by request.
type visitor struct {
	protocol llmtest.Protocol
	stream   bool
	session  string // its word for the session; "" if it has none
	log      []session.Message
	http     *http.Client
}

// visit begins the day of a client.
func visit(t testing.TB, p llmtest.Protocol, stream bool, seed uint64, steps int) *visitor {
	way := &http.Transport{DisableCompression: true}
	t.Cleanup(way.CloseIdleConnections)
	return &visitor{protocol: p, stream: stream, log: workday.Make(seed, steps).Messages, http: &http.Client{Transport: way}}
}

// steps are the places of the log before which the client asks.
func (v *visitor) steps() (at []int) {
	for i := range v.log {
		if v.log[i].Role == session.Assistant {
			at = append(at, i)
		}
	}
	return at
}

// stepHeader tells the provider which answer is wanted.
const stepHeader = "X-Test-Step"

// canaryKey is a credential that must be nowhere but at the provider.
const canaryKey = "sk-ant-api03-canarycanarycanarycanary"

var (
	encoders = map[llmtest.Protocol]func([]session.Message, wire.Options) (wire.Body, error){
		llmtest.Anthropic: anthropic.Encode, llmtest.Chat: openaichat.Encode, llmtest.Responses: responses.Encode,
		llmtest.Gemini: gemini.Encode,
	}
	models = map[llmtest.Protocol]string{
		llmtest.Anthropic: "claude-sonnet-4-5", llmtest.Chat: "gpt-4.1", llmtest.Responses: "gpt-4.1",
		llmtest.Gemini: "gemini-2.5-flash",
	}
	tools = map[llmtest.Protocol]string{
		llmtest.Anthropic: `[{"name":"read","input_schema":{"type":"object"}}]`,
		llmtest.Chat:      `[{"type":"function","function":{"name":"read","parameters":{"type":"object"}}}]`,
		llmtest.Responses: `[{"type":"function","name":"read","parameters":{"type":"object"}}]`,
		llmtest.Gemini:    `[{"functionDeclarations":[{"name":"read"}]}]`,
	}
)

// path is where the client asks.
func (v *visitor) path() string {
	switch v.protocol {
	case llmtest.Anthropic:
		return "/v1/messages?beta=true"
	case llmtest.Chat:
		return "/v1/chat/completions"
	case llmtest.Responses:
		return "/v1/responses"
	}
	if v.stream {
		return "/v1beta/models/" + models[v.protocol] + ":streamGenerateContent?alt=sse"
	}
	return "/v1beta/models/" + models[v.protocol] + ":generateContent"
}

// body is what the client sends before the message at a place of its log: cache marks stand at the
// newest messages.
func (v *visitor) body(at int) []byte {
	b := must(encoders[v.protocol](v.log[:at], wire.Options{Model: models[v.protocol], System: "You write code.",
		MaxTokens: 1000, Tools: jsontext.Value(tools[v.protocol])}))
	if v.protocol == llmtest.Anthropic {
		b.Elements = anthropic.Cached(b.Elements)
	}
	text := must(b.JSON())
	if v.stream && v.protocol != llmtest.Gemini {
		text = bytes.Replace(text, []byte("{"), []byte(`{"stream":true,`), 1)
	}
	return text
}

// request is what the client asks at a place of its log.
func (v *visitor) request(ctx context.Context, base string, at int) *http.Request {
	r := must(http.NewRequestWithContext(ctx, "POST", base+v.path(), bytes.NewReader(v.body(at))))
	r.Header = http.Header{
		"Content-Type": {"application/json"}, "X-Api-Key": {canaryKey}, "Authorization": {"Bearer " + canaryKey},
		"X-Goog-Api-Key": {canaryKey}, "Anthropic-Version": {"2023-06-01"}, stepHeader: {strconv.Itoa(at)},
	}
	if v.session != "" {
		r.Header.Set("X-Session-Id", v.session)
	}
	return r
}

// reply is what the model says at a place of the log.
func (v *visitor) reply(at int) (r llmtest.Reply) {
	return llmtest.Said(&v.log[at])
}

// heard is what a client hears.
type heard struct {
	status int // 0 without an answer
	header http.Header
	body   []byte
	err    error
}

// hear sends a request and reads the answer to its end.
func (v *visitor) hear(r *http.Request) (h heard) {
	answer, err := v.http.Do(r)
	if err != nil {
		return heard{err: err}
	}
	defer answer.Body.Close()
	h.status, h.header = answer.StatusCode, answer.Header
	h.body, h.err = io.ReadAll(answer.Body)
	return h
}

// provider is a scripted one that knows the day of a client. Whatever fault is set, each request
// meets it.
type provider struct {
	*llmtest.Server
	fault atomic.Value         // a llmtest.Fault
	asked chan llmtest.Request // if it is not nil, it is told of each request

	arrived func(llmtest.Request) // called with each request, if it is not nil
}

func provide(t testing.TB, v *visitor) *provider {
	t.Helper()
	script := tworuns.Terms()
	p := &provider{}
	p.fault.Store(llmtest.Fault(""))
	script.Drip = time.Microsecond
	script.Answer = func(q llmtest.Request) llmtest.Reply {
		if p.asked != nil {
			p.asked <- q
		}
		if p.arrived != nil {
			p.arrived(q)
		}
		at, err := strconv.Atoi(q.Header.Get(stepHeader))
		if err != nil {
			return llmtest.Reply{Text: "ok"}
		}
		r := v.reply(at)
		r.Fault = p.fault.Load().(llmtest.Fault)
		return r
	}
	p.Server = llmtest.Start(t, script)
	return p
}

// wiretap stands between the gateway and its provider: it keeps what was sent for one request of
// the client, and what came back each time.
type wiretap struct {
	base http.RoundTripper
	mu   sync.Mutex
	sent [][]byte
	said []*heard
}

// RoundTrip implements http.RoundTripper.
func (w *wiretap) RoundTrip(r *http.Request) (*http.Response, error) {
	body := must(io.ReadAll(r.Body))
	r.Body = io.NopCloser(bytes.NewReader(body))
	w.mu.Lock()
	w.sent = append(w.sent, body)
	w.mu.Unlock()
	answer, err := w.base.RoundTrip(r)
	w.mu.Lock()
	defer w.mu.Unlock()
	h := &heard{err: err}
	w.said = append(w.said, h)
	if err == nil {
		h.status, h.header = answer.StatusCode, answer.Header.Clone()
		answer.Body = &tapped{answer.Body, w, h}
	}
	return answer, err
}

type tapped struct {
	io.ReadCloser
	w *wiretap
	h *heard
}

func (b *tapped) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.w.mu.Lock()
	defer b.w.mu.Unlock()
	b.h.body = append(b.h.body, p[:n]...)
	if err != nil && !errors.Is(err, io.EOF) {
		b.h.err = err
	}
	return n, err
}

// forget begins with the next request.
func (w *wiretap) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent, w.said = nil, nil
}

// seen is what was sent since forget, and what the client is to hear of it: what came back last, or
// the first refusal if the original was refused, too.
func (w *wiretap) seen() (sent [][]byte, hears heard) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, h := range w.said {
		if i == 0 || h.status < 400 || h.status >= 500 {
			hears = *h
		}
	}
	hears.body = slices.Clone(hears.body)
	return slices.Clone(w.sent), hears
}

// gate is a gateway: an engine, a transport and a listener.
type gate struct {
	t     testing.TB
	url   string // of the provider behind it
	store store.Store
	tap   *wiretap
	mode  transport.Mode
	// direct: nothing is tapped, and the clock is the real one.
	direct bool
	log    *slog.Logger
	// patience is how long a request waits for the gateway's own work; 0 is the default.
	patience time.Duration
	counter  token.Counter // nil is the default
	memory   *cache.Pool   // of engine and transport; nil: each has its own
	now      atomic.Int64  // milliseconds; it grows with each look
	way      atomic.Pointer[transport.Transport]
}

// open puts a gateway before a provider. What is zero of it is a good default.
func (g *gate) open(t testing.TB, upstream string) {
	t.Helper()
	g.t = t
	if g.store == nil {
		g.store = memory.New()
	}
	g.tap = &wiretap{base: serve.Direct()}
	g.now.CompareAndSwap(0, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).UnixMilli())
	g.restart()
	handler := must(serve.New(serve.Config{Upstreams: map[string]string{"up": upstream}, Transport: g}))
	l := must(serve.Listen("127.0.0.1:0"))
	g.url = "http://" + l.Addr().String() + "/up"
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- serve.Until(ctx, l, handler, 0, nil) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the listener ended with %v", err)
		}
	})
}

// RoundTrip implements http.RoundTripper.
func (g *gate) RoundTrip(r *http.Request) (*http.Response, error) { return g.way.Load().RoundTrip(r) }

// restart begins with another engine and another transport on the same store.
func (g *gate) restart() {
	g.t.Helper()
	set := settings.Default()
	set.Strategies.BalancedPruning.IdleSteps = 10 // these sessions are short
	set.Compaction.Auto = false
	base, now := http.RoundTripper(g.tap), g.clock
	if g.direct {
		base, now = g.tap.base, time.Now
	}
	engine := must(winnow.Open(winnow.Config{Settings: &set, Store: g.store, Now: now, Counter: g.counter,
		Cache: g.memory}))
	g.way.Store(transport.New(engine, transport.Options{Base: base, Mode: g.mode, Log: g.log, Now: now,
		Patience: g.patience, Cache: g.memory}))
}

func (g *gate) clock() time.Time { return time.UnixMilli(g.now.Add(1)) }

// pass lets time pass.
func (g *gate) pass(d time.Duration) { g.now.Add(d.Milliseconds()) }

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
