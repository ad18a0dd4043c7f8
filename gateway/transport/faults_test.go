package transport

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"iter"
	"log/slog"
	"maps"
	"net/http"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/internal/tworuns"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/memory"
	"github.com/winnowhq/winnow/store/sqlite"
	"github.com/winnowhq/winnow/summarize/offline"
)

// ailing is a store with which something is the matter: with its writes, and with its reads.
type ailing struct {
	store.Store
	writes, reads atomic.Pointer[func(context.Context) error]
	waited        atomic.Int64 // uses for requests that met it
}

func (s *ailing) ail(ctx context.Context, with *atomic.Pointer[func(context.Context) error]) error {
	matter := with.Load()
	if matter == nil {
		return nil
	}
	if store.ReadingOf(ctx) != nil {
		s.waited.Add(1)
	}
	return (*matter)(ctx)
}

func (s *ailing) Family(ctx context.Context, id string) ([]session.Info, error) {
	if err := s.ail(ctx, &s.reads); err != nil {
		return nil, err
	}
	return store.Family(ctx, s.Store, id)
}

func (s *ailing) State(ctx context.Context, id string) (store.State, error) {
	if err := s.ail(ctx, &s.reads); err != nil {
		return store.State{}, err
	}
	return s.Store.State(ctx, id)
}

func (s *ailing) Revision(ctx context.Context, id string) (int64, error) {
	if err := s.ail(ctx, &s.reads); err != nil {
		return 0, err
	}
	return s.Store.Revision(ctx, id)
}

func (s *ailing) Messages(ctx context.Context, id string) iter.Seq2[session.Message, error] {
	if err := s.ail(ctx, &s.reads); err != nil {
		return func(yield func(session.Message, error) bool) { yield(session.Message{}, err) }
	}
	return s.Store.Messages(ctx, id)
}

func (s *ailing) Create(ctx context.Context, info session.Info) error {
	if err := s.ail(ctx, &s.writes); err != nil {
		return err
	}
	return s.Store.Create(ctx, info)
}

func (s *ailing) Apply(ctx context.Context, id string, c store.Change) (int64, error) {
	if err := s.ail(ctx, &s.writes); err != nil {
		return 0, err
	}
	return s.Store.Apply(ctx, id, c)
}

// outageFrom and outageTo are the steps between which the store of an outage fails.
const outageFrom, outageAmid, outageTo = 62, 68, 74

// throughOutage plays a conversation with a provider that binds thinking, whose store fails in the middle,
// after a fold.
func throughOutage(t *testing.T, g *gateway, begins, amid, ends func()) {
	t.Helper()
	s := tworuns.Scene{Model: "claude-opus-5-5", Steps: 90, Session: "s1", Thinks: true, Binds: true}
	s.Before = func(step int) {
		switch step {
		case outageFrom:
			if g.folds() == 0 {
				t.Fatal("nothing is folded before the outage")
			}
			begins()
		case outageAmid:
			amid()
		case outageTo:
			ends()
			for g.Lost() {
				if t.Context().Err() != nil {
					t.Fatal("it is not noticed that the store is back")
				}
				runtime.Gosched()
			}
		}
	}
	run := s.Play(t, g.between)
	if run.Ended >= 0 || len(run.Refused) > 0 {
		t.Fatalf("ended at step %d, refused: %.300q", run.Ended, run.Refused)
	}
	for i := outageFrom; i <= outageTo; i++ {
		before, now := chained(run.Requests[i-1].Messages), chained(run.Requests[i].Messages)
		if len(before) > len(now) || !slices.Equal(before, now[:len(before)]) {
			t.Errorf("request %d: its prefix is not what was sent before", i)
		}
	}
	if got := g.Totals().Resent; got > 0 {
		t.Errorf("%d requests were sent again", got)
	}
	answers := 0
	if g.sessions() != 1 {
		t.Errorf("%d sessions", g.sessions())
	}
	id := must(g.store.List(context.Background()))[0].Info.ID
	for m, err := range g.store.Messages(context.Background(), id) {
		if err != nil {
			t.Fatal(err)
		}
		if isClients(&m) && m.Role == session.Assistant {
			answers++
		}
	}
	if answers != s.Steps {
		t.Errorf("the store has %d answers of %d", answers, s.Steps)
	}
}

// A store that fails, or does not answer, does not break a conversation whose thinking is bound to
// what was sent: what was decided is left out as before, nothing more is, and when the store is back
// the conversation goes on with it.
func TestTransport_anOutageSendsWhatWasDecided(t *testing.T) {
	sequential(t)
	full := func(context.Context) error { return errors.New("the disk is full") }
	hangs := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	panics := func(context.Context) error { panic("an index out of range") }
	for _, c := range []struct {
		name          string
		writes, reads func(context.Context) error
		restarts      bool
		hangs         bool
	}{
		{name: "writes fail, after a restart", writes: full, restarts: true},
		{name: "all fails", writes: full, reads: full},
		{name: "writes panic", writes: panics},
		{name: "writes hang, after a restart", writes: hangs, restarts: true, hangs: true},
		{name: "all hangs", writes: hangs, reads: hangs, hangs: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			kept := &ailing{Store: memory.New()}
			var log safeLog
			g := &gateway{t: t, foldsAt: 25_000, store: kept, options: Options{Patience: 400 * time.Millisecond,
				Log: slog.New(slog.NewTextHandler(&log, nil))}}
			throughOutage(t, g, func() {
				if c.reads != nil {
					kept.reads.Store(&c.reads)
				}
				kept.writes.Store(&c.writes)
			}, func() {
				if c.restarts {
					g.open()
				}
			}, func() {
				kept.writes.Store(nil)
				kept.reads.Store(nil)
			})
			most := int64(2) // one that hangs is waited for once: by a request, or by the end of an answer, too
			if c.restarts {
				most *= 2
			}
			if waited := kept.waited.Load(); waited == 0 || c.hangs && waited > most {
				t.Errorf("it was waited for %d times", waited)
			}
			if c.hangs && !strings.Contains(log.String(), `error="no answer to a `) {
				t.Errorf("the log does not say why the store is lost:\n%.2000s", log.String())
			}
		})
	}
}

// safeLog is a log that can be read while it is written.
type safeLog struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *safeLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *safeLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// swamped is a store whose server is so busy with others that it does not answer in time whether it
// answers. A request meets that once.
type swamped struct {
	store.Store
	asked    atomic.Int64 // probes that timed out
	answered atomic.Int64
	met      atomic.Bool
}

func (s *swamped) Lost() error { return nil }

func (s *swamped) Answered() (reads, writes int64) { n := s.answered.Add(1); return n, n }

func (s *swamped) Once(name string, ask func(context.Context)) <-chan struct{} {
	return store.Once(s.Store, name, ask)
}

func (s *swamped) Revision(ctx context.Context, id string) (int64, error) {
	if id == noSession {
		defer s.asked.Add(1)
		<-ctx.Done()
		return 0, ctx.Err()
	}
	return s.Store.Revision(ctx, id)
}

func (s *swamped) Apply(ctx context.Context, id string, c store.Change) (int64, error) {
	switch {
	case id == noSession:
		<-ctx.Done()
		return 0, ctx.Err()
	case !s.met.Swap(true):
		for s.asked.Load() < 3 && ctx.Err() == nil {
			runtime.Gosched()
		}
	}
	return s.Store.Apply(ctx, id, c)
}

// A store that answers others is not lost, however long it takes to say so itself: its requests are
// decided about.
func TestTransport_aStoreThatAnswersOthersIsNotLost(t *testing.T) {
	sequential(t)
	kept := &swamped{Store: memory.New()}
	g := &gateway{t: t, foldsAt: 25_000, store: kept, options: Options{Patience: 40 * time.Millisecond}}
	s := tworuns.Scene{Model: "claude-opus-5-5", Steps: 4, Session: "s1"}
	s.Play(t, g.between)
	if g.Lost() {
		t.Error("it is lost")
	}
	if got := g.Totals(); got.Passed > 0 || got.Requests != s.Steps {
		t.Errorf("%d requests, %d passed as they came", got.Requests, got.Passed)
	}
	if asked := kept.asked.Load(); asked < 3 {
		t.Errorf("a request gave up after it was asked %d times", asked)
	}
}

// silent is a store that never says whether it answers, but does.
type silent struct{ store.Store }

func (s *silent) Revision(ctx context.Context, id string) (int64, error) {
	if id == noSession {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	return s.Store.Revision(ctx, id)
}

// What a request begins, and did not wait for, fares as the request: the conversation stays if the
// provider accepted it, as the next request goes on with it, and goes if not.
func TestTransport_whatIsBegunTooLateFaresAsItsRequest(t *testing.T) {
	sequential(t)
	for _, c := range []struct {
		status int
		err    error
		want   int // sessions
	}{{http.StatusOK, nil, 1}, {http.StatusBadRequest, nil, 0}, {0, errors.New("the connection is reset"), 0}} {
		kept := memory.New()
		left := make(chan struct{})
		provider := tripper(func(r *http.Request) (*http.Response, error) {
			close(left)
			return &http.Response{StatusCode: c.status, Header: http.Header{}, Body: http.NoBody, Request: r}, c.err
		})
		engine := must(winnow.Open(winnow.Config{Store: &silent{kept}, Summarizer: offline.New()}))
		g := New(engine, Options{Base: provider, Patience: 40 * time.Millisecond,
			Stage: func(_ context.Context, name string) func() {
				return func() {
					if name == "splice" {
						<-left
					}
				}
			}})
		r := must(http.NewRequestWithContext(t.Context(), http.MethodPost, "http://provider/v1/messages", strings.NewReader(
			`{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"hello"},`+
				`{"role":"assistant","content":"hi"},{"role":"user","content":"go on"}]}`)))
		if answer, err := g.RoundTrip(r); err == nil {
			answer.Body.Close()
		}
		for used := true; used; runtime.Gosched() { // the step goes on by itself
			g.mu.Lock()
			used = g.overdue.Load() > 0 || slices.ContainsFunc(slices.Collect(maps.Values(g.lineages)),
				func(f *lineage) bool { return f.uses > 0 })
			g.mu.Unlock()
		}
		if got := len(must(kept.List(t.Context()))); got != c.want {
			t.Errorf("after %d %v there are %d sessions, want %d", c.status, c.err, got, c.want)
		}
		g.Close()
	}
}

// A store on disk that another process has locked is read, and what was decided is sent.
func TestTransport_aLockedFileSendsWhatWasDecided(t *testing.T) {
	sequential(t)
	path := filepath.Join(t.TempDir(), "winnow.db")
	kept := must(sqlite.Open(t.Context(), sqlite.Config{Path: path}))
	defer kept.Close()
	db := must(sql.Open("sqlite", path))
	defer db.Close()
	other := must(db.Conn(t.Context()))
	defer other.Close()
	say := func(words string) {
		if _, err := other.ExecContext(t.Context(), words); err != nil {
			t.Fatal(err)
		}
	}
	g := &gateway{t: t, foldsAt: 25_000, store: kept, options: Options{Patience: 400 * time.Millisecond}}
	throughOutage(t, g, func() { say("BEGIN IMMEDIATE") }, g.open, func() { say("ROLLBACK") })
}
