package gateway

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/desk/config"
	"github.com/winnowhq/winnow/gateway/tenant"
	"github.com/winnowhq/winnow/gateway/transport"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/internal/pgtest"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/team"
	"github.com/winnowhq/winnow/team/book"
)

// till is a gateway with one tenant, ann, who has a budget, and a provider that bills on its own
// terms.
type till struct {
	t        *testing.T
	at       string // of the store
	book     tenant.Book
	token    string
	provider *llmtest.Server
	refuses  atomic.Bool      // the provider knows no stream_options
	socket   http.HandlerFunc // answers WebSockets in the provider's place; nil: the provider does
	relays   []*Relay
	log      logged // of all relays
}

// logged is a log that can be read while it is written.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// newTill opens a gateway on a store, "" for a file.
func newTill(t *testing.T, at string, budget tenant.Budget, answer llmtest.Answer) *till {
	t.Helper()
	return openTill(t, at, tenant.Tenant{Name: "ann", Budget: budget}, answer)
}

// openTill is newTill with all settings of ann, for whom the server holds the key "team".
func openTill(t *testing.T, at string, ann tenant.Tenant, answer llmtest.Answer) *till {
	t.Helper()
	if at == "" {
		at = filepath.Join(t.TempDir(), "winnow.db")
	}
	l := &till{t: t, at: at}
	l.provider = llmtest.Start(t, llmtest.Script{Answer: answer, Counter: llmtest.PerToken(3.6), LongestPrefix: true})
	of := at
	if !store.IsURL(at) {
		of = filepath.Join(filepath.Dir(at), "tenants", "book.sqlite")
	}
	var err error
	if l.book, err = book.Open(t.Context(), of, time.Now); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.book.Close() })
	if err := l.book.Add(t.Context(), "test", ann); err != nil {
		t.Fatal(err)
	}
	shown, kept, err := tenant.NewToken("ann", "", tenant.AllScopes(), time.Now(), 0)
	if err == nil {
		err = l.book.AddToken(t.Context(), "test", kept)
	}
	if err != nil {
		t.Fatal(err)
	}
	l.token = shown
	l.relay()
	return l
}

// relay opens one more replica, and starts it.
func (l *till) relay() *Relay {
	l.t.Helper()
	home := l.t.TempDir()
	a := cli.New(cli.Env{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard, Dir: home, Now: time.Now,
		Getenv: func(name string) string {
			return map[string]string{"HOME": home, "WINNOW_STORE": l.at, "TEAM_KEY": "sk-team"}[name]
		}}, "test")
	a.Shared = team.Parts()
	settings := config.Default()
	settings.Gateway.Keys = map[string]config.GatewayKey{"team": {Env: "TEAM_KEY"}}
	r, err := Open(l.t.Context(), a, settings, "127.0.0.1:0", transport.Observe, slog.New(slog.NewTextHandler(&l.log, nil)))
	if err != nil {
		l.t.Fatal(err)
	}
	if err := r.Tenants(l.t.Context(), true); err != nil {
		l.t.Fatal(err)
	}
	r.tenants.patience = time.Minute // of a machine that does other work, too
	to, _ := url.Parse(l.provider.URL)
	before := httputil.NewSingleHostReverseProxy(to)
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if l.socket != nil && r.Header.Get("Upgrade") != "" {
			l.socket(w, r)
			return
		}
		body, _ := io.ReadAll(r.Body)
		if l.refuses.Load() && bytes.Contains(body, []byte("include_usage")) {
			w.WriteHeader(http.StatusBadRequest)
			io.WriteString(w, `{"error":{"message":"unknown field stream_options"}}`)
			return
		}
		if !strings.HasSuffix(r.URL.Path, ":streamGenerateContent") { // as servers do that take other spellings
			r.URL.Path = strings.TrimRight(strings.ToLower(strings.ReplaceAll(r.URL.Path, "//", "/")), "/")
			r.URL.RawPath = ""
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		defer func() { _ = recover() }() // the client left
		before.ServeHTTP(w, r)
	}))
	l.t.Cleanup(up.Close)
	if err := r.Start(l.t.Context(), map[string]string{"up": up.URL}, time.Minute); err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() {
		if err := r.Stop(); err != nil {
			l.t.Error(err)
		}
	})
	l.relays = append(l.relays, r)
	return r
}

// request is one of ann's.
type request struct {
	path, body string
	through    int // of the relays
	events     int // after so many events the client leaves; 0: it stays
}

// send asks, and returns the status and what came.
func (l *till) send(q request) (int, string) {
	l.t.Helper()
	ctx, leave := context.WithCancel(l.t.Context())
	defer leave()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+l.relays[q.through].Address()+"/up"+q.path,
		strings.NewReader(q.body))
	if err != nil {
		l.t.Fatal(err)
	}
	r.Header.Set("X-Winnow-Token", l.token)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Anthropic-Version", "2023-06-01")
	for _, name := range []string{"Authorization", "X-Api-Key", "X-Goog-Api-Key"} {
		r.Header.Set(name, "Bearer key")
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		l.t.Fatal(err)
	}
	defer answer.Body.Close()
	var text strings.Builder
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	for n := 0; lines.Scan(); {
		text.WriteString(lines.Text() + "\n")
		if n += strings.Count(lines.Text(), "data:"); q.events > 0 && n >= q.events {
			break
		}
	}
	return answer.StatusCode, text.String()
}

// spent is what the book says when everything is settled.
func (l *till) spent() tenant.Spent {
	l.t.Helper()
	for _, r := range l.relays {
		for range 20_000 { // requests whose client has left end by themselves
			if r.inFlight.now.Load() == 0 {
				break
			}
			time.Sleep(time.Millisecond)
		}
		for _, m := range r.tenants.all() {
			m.mu.Lock()
			f := m.now
			m.mu.Unlock()
			if f != nil {
				f.carrier.Wait()
			}
		}
		r.tenants.save(l.t.Context())
	}
	s, err := l.book.Spent(l.t.Context(), "ann", time.Now())
	if err != nil {
		l.t.Fatal(err)
	}
	return s
}

// price is what a provider asks for a million tokens: of their own pages.
var price = map[string]struct{ input, output, read, write float64 }{
	"claude-sonnet-4-5": {3, 15, 0.30, 3.75},
	"gpt-4.1":           {2, 8, 0.50, 2},
	"gemini-2.5-flash":  {0.30, 2.50, 0.03, 0.30},
}

func billOf(model string, u session.Usage) float64 {
	p := price[model]
	return (float64(u.Input)*p.input + float64(u.Output+u.Reasoning)*p.output + float64(u.Cache.Read)*p.read +
		float64(u.Cache.Write)*p.write) / 1e6
}

// billed is what the provider asks for all that it answered whole.
func (l *till) billed() (dollars float64) {
	l.t.Helper()
	records, err := l.provider.Settled(l.t.Context())
	if err != nil {
		l.t.Fatal(err)
	}
	for _, r := range records {
		dollars += billOf(r.Model, r.Usage)
	}
	return dollars
}

const prose = "The quick change went through the review without a word, so the test suite is what has to tell us " +
	"whether func (r *Reader) next() keeps its promise: every event is given out once, in the order in which it came. "

// asks is a request in a protocol.
func asks(p llmtest.Protocol, stream bool, more string) request {
	said := strings.Repeat(prose, 60)
	switch p {
	case llmtest.Anthropic:
		return request{path: "/v1/messages", body: fmt.Sprintf(`{"model":"claude-sonnet-4-5","max_tokens":2000,"stream":%v%s,
			"messages":[{"role":"user","content":%q}]}`, stream, more, said)}
	case llmtest.Chat:
		return request{path: "/v1/chat/completions", body: fmt.Sprintf(`{"model":"gpt-4.1","max_tokens":2000,"stream":%v%s,
			"messages":[{"role":"user","content":%q}]}`, stream, more, said)}
	case llmtest.Responses:
		return request{path: "/v1/responses", body: fmt.Sprintf(`{"model":"gpt-4.1","max_output_tokens":2000,"stream":%v%s,
			"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":%q}]}]}`, stream, more, said)}
	}
	return request{path: "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse", body: fmt.Sprintf(
		`{"generationConfig":{"maxOutputTokens":2000}%s,"contents":[{"role":"user","parts":[{"text":%q}]}]}`, more, said)}
}

var (
	plenty = tenant.Budget{Day: 100}
	says   = llmtest.Text(report())
)

// report is an answer of which no piece is there twice.
func report() string {
	var b strings.Builder
	for i := range 200 {
		fmt.Fprintf(&b, "File %d was read, and %d lines of it changed. ", 1000+i, 3000+7*i)
	}
	return b.String()
}

// equal checks that the book says what the provider bills, to the hundredth of a cent.
func (l *till) equal(what string, estimated bool) {
	l.t.Helper()
	got, want := l.spent(), l.billed()
	if math.Abs(got.Day-want) > 1e-7 || (got.Estimated > 0) != estimated {
		l.t.Errorf("%s: the book has $%.6f, of it $%.6f estimated, the provider bills $%.6f", what, got.Day, got.Estimated, want)
	}
}

// A stream of Chat Completions is asked for a report, and its client sees nothing of that.
func TestBudget_countsStreamsThatReportNothing(t *testing.T) {
	l := newTill(t, "", plenty, says)
	for _, p := range llmtest.Protocols() {
		for _, more := range []string{"", `,"stream_options":{"include_usage":false}`, `,"stream_options":null`} {
			if more != "" && p != llmtest.Chat {
				continue
			}
			status, text := l.send(asks(p, true, more))
			if status != http.StatusOK || p == llmtest.Chat && (strings.Contains(text, "usage") || !strings.Contains(text, "[DONE]")) {
				t.Errorf("%s: %d %.300s", p, status, text)
			}
			l.equal(string(p)+more, false)
		}
	}
	_, text := l.send(asks(llmtest.Chat, true, `,"stream_options":{"include_usage":true}`))
	if !strings.Contains(text, `"usage":{`) || !strings.Contains(text, `"usage":null`) {
		t.Errorf("what the client asked for is missing: %.300s", text)
	}
	l.equal("asked for by the client", false)
}

// A provider that refuses to report is asked once, and its streams are estimated.
func TestBudget_estimatesWhereTheReportIsRefused(t *testing.T) {
	l := newTill(t, "", plenty, says)
	l.refuses.Store(true)
	for i := range 3 {
		q := asks(llmtest.Chat, true, "")
		q.body = strings.Replace(q.body, "The quick", fmt.Sprint("The ", i, " quick"), 1) // no prefix of another one
		if status, text := l.send(q); status != http.StatusOK {
			t.Fatalf("%d %s", status, text)
		}
	}
	records, _ := l.provider.Settled(t.Context())
	if len(records) != 3 {
		t.Errorf("%d requests", len(records))
	}
	l.near("estimated", 0)
}

// near checks that the book is within 95 and 115 % of what the provider bills, beside what it
// reported.
func (l *till) near(what string, reported float64, more ...float64) {
	l.t.Helper()
	got, want := l.spent(), l.billed()
	if len(more) > 0 {
		want = more[0]
	}
	if share := (got.Day - reported) / (want - reported); !(share >= 0.95 && share <= 1.15) || math.Abs(got.Estimated-got.Day+reported) > 1e-7 {
		l.t.Errorf("%s: the book has $%.6f, of it $%.6f estimated, the provider bills $%.6f, of it $%.6f reported: %.1f %%",
			what, got.Day, got.Estimated, want, reported, 100*share)
	}
}

// A client that leaves early pays for the prompt, and for what it was answered by then.
func TestBudget_countsClientsThatLeave(t *testing.T) {
	for _, p := range llmtest.Protocols() {
		t.Run(string(p), func(t *testing.T) {
			l := newTill(t, "", plenty, says)
			l.send(asks(p, true, "")) // a report to go by
			l.equal("reported", false)
			reported := l.spent().Day
			whole, err := l.provider.Settled(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			middle := whole[0].Events / 2
			l.provider.Inject(llmtest.HangMidStream)
			q := asks(p, true, "")
			q.body = strings.Replace(q.body, "The quick", "Another quick", 1) // no prefix of the first
			q.events = middle
			_, text := l.send(q)
			records, err := l.provider.Settled(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			left := records[1].Usage
			said := 0
			for i := range len(records[1].Reply.Text) { // as far as it was sent
				if !strings.Contains(text, lastWords(records[1].Reply.Text[:i+1])) {
					continue
				}
				said = i + 1
			}
			left.Output = llmtest.PerToken(3.6).Count(records[1].Reply.Text[:said])
			l.near("left", reported, reported+billOf(records[1].Model, left))
		})
	}
}

// lastWords are the end of what was said by then.
func lastWords(text string) string { return text[max(0, len(text)-60):] }

// However the path is spelled, it is metered.
func TestBudget_countsEverySpelling(t *testing.T) {
	l := newTill(t, "", plenty, says)
	for _, path := range []string{"/v1/messages/", "//v1/messages", "/v1/%6dessages", "/V1/Messages", "/v1/messages//"} {
		q := asks(llmtest.Anthropic, false, "")
		q.path = path
		if status, text := l.send(q); status != http.StatusOK {
			t.Errorf("%s: %d %.300s", path, status, text)
		}
		l.equal(path, false)
	}
	if n := len(l.provider.Records()); n != 5 {
		t.Errorf("%d requests", n)
	}
}

// What spends and cannot be counted is refused with a sentence.
func TestBudget_refusesWhatCannotBeCounted(t *testing.T) {
	l := newTill(t, "", plenty, says)
	for path, want := range map[string]string{
		"/v1/messages/batches":   "POST /v1/messages/batches: winnow cannot tell what it costs",
		"/v1/embeddings/":        "winnow cannot tell what it costs",
		"/v1/images/generations": "winnow cannot tell what it costs",
		"/v1/messages":           "the price of anthropic/nobody-knows-me is not known",
		"/v1/chat/completions":   "the price of openai/nobody-knows-me is not known",
	} {
		status, text := l.send(request{path: path, body: `{"model":"nobody-knows-me","messages":[{"role":"user","content":"a"}]}`})
		if status != http.StatusForbidden || !strings.Contains(text, "winnow: the tenant ann has a budget") || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	if status, _ := l.send(request{path: "/v1/messages/count_tokens", body: asks(llmtest.Anthropic, false, "").body}); status != http.StatusOK {
		t.Errorf("a count: %d", status)
	}
	if others := l.provider.Others(); len(others) > 1 { // the look whether it is a winnow
		t.Errorf("the provider was asked %v", others)
	}
	if got := l.spent(); got != (tenant.Spent{}) {
		t.Errorf("spent %+v", got)
	}
}

// The service that answered has its own price, whatever was asked for.
func TestBudget_countsServices(t *testing.T) {
	for _, c := range []struct {
		protocol llmtest.Protocol
		tier     string
		factor   float64
	}{
		{llmtest.Chat, "priority", 1.75}, {llmtest.Chat, "flex", 0.5}, {llmtest.Chat, "default", 1},
		{llmtest.Responses, "priority", 1.75}, {llmtest.Anthropic, "priority", 1}, {llmtest.Anthropic, "batch", 0.5},
	} {
		for _, stream := range []bool{false, true} {
			l := newTill(t, "", plenty, func(llmtest.Request) llmtest.Reply {
				return llmtest.Reply{Text: prose, Tier: c.tier}
			})
			if status, text := l.send(asks(c.protocol, stream, `,"service_tier":"auto"`)); status != http.StatusOK {
				t.Fatalf("%s: %d %s", c.protocol, status, text)
			}
			if got, want := l.spent(), c.factor*l.billed(); math.Abs(got.Day-want) > 1e-7 || got.Estimated > 0 {
				t.Errorf("%s %s, stream %v: the book has $%.6f, the provider bills $%.6f", c.protocol, c.tier, stream, got.Day, want)
			}
		}
	}
}

// Many requests at a time, through one replica or several, exceed a budget by one at most.
func TestBudget_holdsForManyAtATime(t *testing.T) {
	for _, c := range []struct {
		name     string
		at       func(*testing.T) string
		replicas int
	}{
		{"one", func(*testing.T) string { return "" }, 1},
		{"two on a file", func(*testing.T) string { return "" }, 2},
		{"three on PostgreSQL", func(t *testing.T) string { return pgtest.Start(t) }, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			hold, met := make(chan struct{}), make(chan struct{}, 20)
			go func() {
				for range 20 {
					<-met // at the provider, or refused
				}
				close(hold)
			}()
			u := session.Usage{Input: 3400, Output: 2000} // about as much as it may cost at most
			one := billOf("claude-sonnet-4-5", u)
			l := newTill(t, c.at(t), tenant.Budget{Day: 3 * one}, func(llmtest.Request) llmtest.Reply {
				met <- struct{}{}
				return llmtest.Reply{Text: "done", Usage: &u, Hold: hold}
			})
			for range c.replicas - 1 {
				l.relay()
			}
			var all sync.WaitGroup
			var answered, waits, stopped atomic.Int32
			for i := range 20 {
				all.Go(func() {
					q := asks(llmtest.Anthropic, false, "")
					q.through = i % c.replicas
					switch status, text := l.send(q); {
					case status == http.StatusOK:
						answered.Add(1)
					case status == http.StatusTooManyRequests && strings.Contains(text, "requests under way may cost $"):
						waits.Add(1)
						met <- struct{}{}
					case status == http.StatusPaymentRequired:
						stopped.Add(1)
						met <- struct{}{}
					default:
						t.Errorf("%d %s", status, text)
					}
				})
			}
			all.Wait()
			got := l.spent()
			if n := answered.Load(); n == 0 || got.Day > 4*one+1e-9 || math.Abs(got.Day-l.billed()) > 1e-9 {
				t.Errorf("%d answered, %d to come again, %d stopped: $%.4f of a budget of $%.4f, one costs $%.4f", n,
					waits.Load(), stopped.Load(), got.Day, 3*one, one)
			}
		})
	}
}

// A book that does not answer holds nobody back, and costs one wait.
func TestBudget_holdsWithoutItsBook(t *testing.T) {
	l := newTill(t, "", tenant.Budget{Day: 1}, says)
	d := l.relays[0].tenants
	away, err := book.Open(t.Context(), filepath.Join(t.TempDir(), "book.sqlite"), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	away.Close()
	here := d.book.Load()
	t.Cleanup(func() { d.book.Store(here) })
	m := d.newState(tenant.Tenant{Name: "ann", Store: "ann", Budget: tenant.Budget{Day: 1}})
	d.book.Store(&reading{away})
	reserve := d.reserving(m)
	var settle []func(transport.Charge)
	for range 2 {
		done, err := reserve(t.Context(), transport.Quote{Most: 0.6})
		if err != nil {
			t.Fatal(err)
		}
		settle = append(settle, done)
	}
	var refused *tenant.Refusal
	if _, err := reserve(t.Context(), transport.Quote{Most: 0.6}); !errors.As(err, &refused) || refused.Kind != "reserved" {
		t.Errorf("the third of a budget for two: %v", err)
	}
	if d.unshared.Load() == 0 {
		t.Error("others wait for the book, too")
	}
	settle[0](transport.Charge{Dollars: 0.5})
	settle[1](transport.Charge{Dollars: 0.1, Estimated: true})
	d.book.Store(here)
	if err := m.save(t.Context(), here); err != nil {
		t.Fatal(err)
	}
	if got := l.spent(); got != (tenant.Spent{Day: 0.6, Month: 0.6, Estimated: 0.1}) {
		t.Errorf("%+v", got)
	}
	if _, err := reserve(t.Context(), transport.Quote{Most: 0.1}); err != nil {
		t.Errorf("with a rest of 40 cents: %v", err)
	}
}

// A client that leaves before the answer begins pays for the prompt.
func TestBudget_countsClientsThatLeaveAtOnce(t *testing.T) {
	var leave context.CancelFunc
	l := newTill(t, "", plenty, func(llmtest.Request) llmtest.Reply {
		if leave != nil {
			leave()
			return llmtest.Reply{Fault: llmtest.HangBeforeHeaders}
		}
		return llmtest.Reply{Text: report()}
	})
	l.send(asks(llmtest.Chat, false, ""))
	reported := l.spent().Day
	ctx, cancel := context.WithCancel(t.Context())
	leave = cancel
	q := asks(llmtest.Chat, false, "")
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+l.relays[0].Address()+"/up"+q.path, strings.NewReader(q.body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Winnow-Token", l.token)
	r.Header.Set("Authorization", "Bearer key")
	r.Header.Set("Content-Type", "application/json")
	if answer, err := http.DefaultClient.Do(r); err == nil {
		t.Fatalf("it was answered: %s", answer.Status)
	}
	records, err := l.provider.Settled(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	l.near("left at once", reported, reported+billOf("gpt-4.1", session.Usage{Input: records[1].Prompt}))
}
