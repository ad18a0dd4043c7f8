package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/desk/config"
	"github.com/winnowhq/winnow/gateway/job"
	"github.com/winnowhq/winnow/gateway/serve"
	"github.com/winnowhq/winnow/gateway/shared"
	"github.com/winnowhq/winnow/gateway/tenant"
	"github.com/winnowhq/winnow/gateway/transport"
	"github.com/winnowhq/winnow/internal/pgtest"
	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/budget"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/team"
)

// scribe is a model that writes summaries: of whatever it is asked about it says the secret words
// that occur in it.
type scribe struct {
	mu    sync.Mutex
	asked int
	fails int           // how many requests it refuses first
	hold  chan struct{} // if it is not nil, it answers when this is closed
	begun chan struct{}
}

func (s *scribe) Ask(ctx context.Context, r llm.Request) (llm.Answer, error) {
	s.mu.Lock()
	s.asked++
	fails, hold := s.fails >= s.asked, s.hold
	s.mu.Unlock()
	select {
	case s.begun <- struct{}{}:
	default:
	}
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return llm.Answer{}, &llm.Error{Err: ctx.Err()}
		}
	}
	if fails {
		return llm.Answer{}, &llm.Error{Err: errors.New("the model is out of order")}
	}
	said, _ := json.Marshal(r.Messages)
	text := "## Goal\n\nThe lamps are counted."
	for _, word := range []string{"heliotrope", "quince"} {
		if strings.Contains(string(said), word) {
			text += " It is about the " + word + "."
		}
	}
	return llm.Answer{Parts: []session.Part{{Type: session.TextPart, Text: text}}, Finish: llm.Stop,
		Model: r.Model.String(), Usage: session.Usage{Input: 1000, Output: 50}, Cost: 0.25}, nil
}

func (s *scribe) times() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// provider answers everything, and counts a token for four bytes. It notes what it was sent.
type provider struct {
	*httptest.Server
	mu   sync.Mutex
	sent []string
}

func newProvider(t *testing.T) *provider {
	p := &provider{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		p.mu.Lock()
		p.sent = append(p.sent, string(body))
		p.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-4-5","stop_reason":"end_turn",`+
			`"content":[{"type":"text","text":"I see."}],"usage":{"input_tokens":%d,"output_tokens":10}}`, len(body)/4)
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *provider) newest() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sent[len(p.sent)-1]
}

// replica is a gateway on a store, as `winnow serve` opens it.
func replica(t *testing.T, at string, s *scribe, tenants ...string) (*Relay, *Jobs) {
	t.Helper()
	a := cli.New(cli.Env{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard, Dir: t.TempDir(), Now: time.Now,
		Getenv: func(name string) string { return map[string]string{"WINNOW_STORE": at, "HOME": t.TempDir()}[name] },
		Client: func(model.Model) (llm.Client, error) { return s, nil }}, "test")
	a.Shared = team.Parts()
	settings := config.Default()
	settings.Compaction.Threshold = budget.Thresholds{"*": 20_000}
	settings.Compaction.Prune = false // so that nothing but a fold helps
	settings.Compaction.Summarizer, settings.Compaction.Model = "llm", "anthropic/claude-haiku-4-5"
	if len(tenants) > 0 {
		b, err := source.OpenBook(t.Context(), a, source.Making)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range tenants {
			if err := b.Add(t.Context(), "test", tenant.Tenant{Name: name}); err != nil && !errors.Is(err, tenant.ErrExists) {
				t.Fatal(err)
			}
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
	l, err := serve.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r, err := OpenAt(t.Context(), a, settings, l, transport.Full, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	if len(tenants) > 0 {
		if err := r.Tenants(t.Context(), false); err != nil {
			t.Fatal(err)
		}
	}
	w, err := r.Jobs(t.Context(), func() string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return r, w
}

// works does jobs until the function that it returns is called, or the test ends.
func works(t *testing.T, w *Jobs) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// talk is a request of a conversation about a word, near its threshold; rounds are how often the
// user went on.
func talk(word string, rounds int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"model":"claude-sonnet-4-5","max_tokens":100,"tools":[{"name":"read"}],"messages":[`+
		`{"role":"user","content":"Count the lamps of the %s."}`, word)
	for i := range 12 {
		fmt.Fprintf(&b, `,{"role":"assistant","content":[{"type":"tool_use","id":"t%d","name":"read","input":{"path":"/src/%s%d.go"}}]}`+
			`,{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%d","content":%q}]}`, i, word, i, i,
			strings.Repeat(fmt.Sprintf("line %d of %s\n", i, word), 6000/(len(word)+12)))
	}
	for i := range rounds {
		fmt.Fprintf(&b, `,{"role":"assistant","content":"I see."},{"role":"user","content":"Go on %d."}`, i)
	}
	return b.String() + "]}"
}

// ask sends a request and waits until its answer is recorded.
func ask(t *testing.T, through *transport.Transport, p *provider, body string) {
	t.Helper()
	r, err := http.NewRequest("POST", p.URL+"/v1/messages", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Api-Key", "k")
	answer, err := through.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if text, err := io.ReadAll(answer.Body); err != nil || answer.StatusCode != 200 {
		t.Fatalf("%d %s, %v", answer.StatusCode, text, err)
	}
	through.Wait()
}

// only is the one session of a store.
func only(t *testing.T, kept store.Store) store.State {
	t.Helper()
	list, err := kept.List(t.Context())
	if err != nil || len(list) != 1 {
		t.Fatalf("there are %d sessions, %v", len(list), err)
	}
	state, err := kept.State(t.Context(), list[0].Info.ID)
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// until waits until something is so.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for late := time.After(time.Minute); !is(); {
		select {
		case <-ticker.C:
		case <-late:
			t.Fatal("it never came: " + what)
		}
	}
}

// folded asserts that the one session was folded once, by a summary that was prepared and paid once.
func folded(t *testing.T, kept store.Store, p *provider, s *scribe, calls int) {
	t.Helper()
	state := only(t, kept)
	var all []pivot.Receipt
	for _, r := range state.Receipts {
		if r.Kind == pivot.Compaction {
			all = append(all, r)
		}
	}
	if len(all) != 1 || !all[0].Prepared || all[0].Trigger != "background" || all[0].Cost != 0.25 {
		t.Errorf("the compactions are %+v", all)
	}
	paid := 0.0
	for _, spent := range state.Spent {
		if spent.Kind == "summary" && !spent.Failed {
			paid += spent.Cost
		}
	}
	if paid != 0.25 || s.times() != calls || state.Prepared != nil {
		t.Errorf("$%g were paid, the model was asked %d times, want %d; prepared is %+v", paid, s.times(), calls, state.Prepared)
	}
	if sent := p.newest(); !strings.Contains(sent, "The lamps are counted.") || len(sent) > 40_000 {
		t.Errorf("the request has %d bytes: %.300s", len(sent), sent)
	}
}

// month is what a tenant has spent in this one.
func month(m *tenantState) float64 {
	spent, _ := m.gate.Now(time.Now())
	return spent.Month
}

func written(t *testing.T, kept store.Store) func() bool {
	return func() bool { p := only(t, kept).Prepared; return p != nil && p.Written != "" }
}

// A summary that one replica asks for is there although that replica is killed: another one writes
// it, and a third one makes it count.
func TestSummary_outlivesItsReplica(t *testing.T) {
	at, s, p := pgtest.Start(t), &scribe{}, newProvider(t)
	first, _ := replica(t, at, s)
	ask(t, first.now.carrier, p, talk("quince", 0))
	if got := only(t, first.store).Prepared; got == nil || !got.Wanted() {
		t.Fatalf("no summary is wanted: %+v", got)
	}
	// The first one does nothing any more: it is not even closed.
	second, jobs := replica(t, at, s)
	works(t, jobs)
	until(t, "the summary", written(t, second.store))
	third, _ := replica(t, at, s)
	ask(t, third.now.carrier, p, talk("quince", 1))
	folded(t, third.store, p, s, 1)
	for i, r := range []*Relay{second, first, third} { // the one that comes next sends the same
		ask(t, r.now.carrier, p, talk("quince", 2+i))
	}
	folded(t, third.store, p, s, 1)
}

// However many ask for a summary, one is paid for.
func TestSummary_isWrittenOnce(t *testing.T) {
	at, p := pgtest.Start(t), newProvider(t)
	s := &scribe{hold: make(chan struct{}), begun: make(chan struct{}, 1)}
	var all []*Relay
	for range 3 {
		r, jobs := replica(t, at, s)
		works(t, jobs)
		all = append(all, r)
	}
	ask(t, all[0].now.carrier, p, talk("quince", 0))
	<-s.begun
	for _, r := range all { // each of them sees that it is wanted
		ask(t, r.now.carrier, p, talk("quince", 0))
	}
	id := only(t, all[0].store).Info.ID
	for range 3 {
		if err := all[1].work.Load().current().Add(t.Context(), summaryOf("", id, "", time.Now())); err != nil {
			t.Error(err)
		}
	}
	close(s.hold)
	until(t, "the summary", written(t, all[0].store))
	ask(t, all[2].now.carrier, p, talk("quince", 1))
	folded(t, all[0].store, p, s, 1)
}

// A model that fails at first is asked again; what that cost stands in the bill as paid in vain.
func TestSummary_isTriedAgain(t *testing.T) {
	at, p, s := pgtest.Start(t), newProvider(t), &scribe{fails: 1}
	r, jobs := replica(t, at, s)
	works(t, jobs)
	ask(t, r.now.carrier, p, talk("quince", 0))
	until(t, "the summary", written(t, r.store))
	ask(t, r.now.carrier, p, talk("quince", 1))
	folded(t, r.store, p, s, 2)
}

// If the model always fails, the conversation goes on as it is. Nobody asks again in its turn, and
// no offline summary takes the place of one that may still come when the fold must.
func TestSummary_thatNobodyCanWrite(t *testing.T) {
	at, p, s := pgtest.Start(t), newProvider(t), &scribe{fails: 1000}
	r, w := replica(t, at, s)
	ask(t, r.now.carrier, p, talk("quince", 0))
	state := only(t, r.store)
	for number := range summaryAttempts {
		a := job.Attempt{Job: summaryOf("", state.Info.ID, "", time.Now()).WithDefaults(), Number: number + 1}
		if err := w.summarize(t.Context(), a); err == nil {
			t.Errorf("attempt %d has not failed", number+1)
		}
	}
	state = only(t, r.store)
	if got := state.Prepared; got == nil || !got.Failed || len(state.Receipts) > 0 {
		t.Errorf("prepared is %+v, and there are %d receipts", got, len(state.Receipts))
	}
	other, _ := replica(t, at, s)
	ask(t, other.now.carrier, p, talk("quince", 0))
	if got := only(t, r.store).Prepared; got == nil || got.Wanted() {
		t.Errorf("it is asked for again in the same turn: %+v", got)
	}
	ask(t, other.now.carrier, p, talk("quince", 1))
	if got := only(t, r.store).Prepared; got == nil || !got.Wanted() {
		t.Errorf("it is not asked for in the next turn: %+v", got)
	}
}

// Each tenant's summary is written by the tenant's engine, into the tenant's store. A job that
// names one tenant and a session of another one does nothing.
func TestSummary_isItsTenantsOwn(t *testing.T) {
	for _, kind := range []string{"postgres", "sqlite"} {
		t.Run(kind, func(t *testing.T) {
			at := filepath.Join(t.TempDir(), "store.db")
			if kind == "postgres" {
				at = pgtest.Start(t)
			}
			s, p := &scribe{}, newProvider(t)
			r, w := replica(t, at, s, "ann", "bob")
			rooms := map[string]*tenantState{}
			for name, word := range map[string]string{"ann": "heliotrope", "bob": "quince"} {
				found, ok := r.tenants.known.Load().Tenant(name)
				if !ok {
					t.Fatalf("there is no tenant %s", name)
				}
				m, f, err := r.tenants.open(t.Context(), found)
				if err != nil {
					t.Fatal(err)
				}
				defer m.leave(f)
				rooms[name] = m
				ask(t, f.carrier, p, talk(word, 0))
			}
			anns := only(t, rooms["ann"].store).Info.ID
			for _, name := range []string{"bob", "", "nobody"} {
				a := job.Attempt{Job: summaryOf(name, anns, "", time.Now()), Number: 1}
				if err := w.summarize(t.Context(), a); err != nil || s.times() > 0 {
					t.Errorf("as %q: %v, the model was asked %d times", name, err, s.times())
				}
			}
			works(t, w)
			for name, m := range rooms {
				until(t, "the summary of "+name, written(t, m.store))
			}
			for name, word := range map[string]string{"ann": "heliotrope", "bob": "quince"} {
				text := only(t, rooms[name].store).Prepared.Written
				if !strings.Contains(text, "about the "+word) || strings.Count(text, "about the") != 1 {
					t.Errorf("%s has %.400s", name, text)
				}
				until(t, "what it cost", func() bool { return month(rooms[name]) >= 0.25 })
				before := month(rooms[name])
				ask(t, rooms[name].now.carrier, p, talk(word, 1))
				if took := month(rooms[name]) - before; took >= 0.25 {
					t.Errorf("%s paid $%g for a request that used what was prepared", name, took)
				}
				folded(t, rooms[name].store, p, s, 2)
			}
		})
	}
}

// On SQLite the process itself writes summaries; one that was wanted when it was killed is found by
// the next step.
func TestSummary_onSQLite(t *testing.T) {
	at, s, p := filepath.Join(t.TempDir(), "store.db"), &scribe{}, newProvider(t)
	killed, _ := replica(t, at, s) // it does no jobs
	ask(t, killed.now.carrier, p, talk("quince", 0))
	r, jobs := replica(t, at, s)
	works(t, jobs)
	ask(t, r.now.carrier, p, talk("quince", 0))
	until(t, "the summary", written(t, r.store))
	ask(t, r.now.carrier, p, talk("quince", 1))
	folded(t, r.store, p, s, 1)
}

// The key of a job names its tenant, session and pivot, whatever is in their names.
func TestSummaryOf(t *testing.T) {
	now := time.Now()
	for _, names := range [][3]string{{"", "live_1", ""}, {"ann", "a/b", "msg%2F1"}, {"a b", "ü", "\n"}} {
		j := summaryOf(names[0], names[1], names[2], now)
		tenant, session, pivot, ok := summaryNamed(j.Key)
		if got := [3]string{tenant, session, pivot}; !ok || got != names || j.Check() != nil || !j.Until.After(now) {
			t.Errorf("%q is %q, %t, %v", j.Key, got, ok, j.Check())
		}
	}
	for _, key := range []string{"", "a/b", "a/b/c/d", "%zz//"} {
		if _, _, _, ok := summaryNamed(key); ok {
			t.Errorf("%q names something", key)
		}
	}
}

// A gateway that begins without its database does its jobs by itself, and takes the queue up once
// the database is there.
func TestJobs_areSharedOnceTheDatabaseIsThere(t *testing.T) {
	if testing.Short() {
		t.Skip("it stops and starts a database")
	}
	cluster := pgtest.NewCluster(t, false)
	if err := cluster.Down("fast"); err != nil {
		t.Fatal(err)
	}
	s, p := &scribe{}, newProvider(t)
	r, w := replica(t, cluster.URL(), s)
	r.upstreams = map[string]string{"house": p.URL}
	works(t, w)
	if _, is := w.current().(shared.Queue); is || r.store != nil {
		t.Fatal("it has a database that is down")
	}
	if err := cluster.Up(); err != nil {
		t.Fatal(err)
	}
	until(t, "the queue in the database", func() bool {
		if r.retryDue(time.Now()) {
			r.retry(t.Context())
		}
		_, is := w.current().(shared.Queue)
		return is
	})
	request := httptest.NewRequest("GET", "/jobs/", nil)
	request.Host = r.Address()
	answer := httptest.NewRecorder()
	r.now.handler.ServeHTTP(answer, request)
	if answer.Code != 200 {
		t.Errorf("/jobs/ is answered with %d", answer.Code)
	}
	ask(t, r.now.carrier, p, talk("quince", 0))
	until(t, "the summary", written(t, r.store))
	ask(t, r.now.carrier, p, talk("quince", 1))
	folded(t, r.store, p, s, 1)
}
