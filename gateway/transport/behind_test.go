package transport

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/settings"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/memory"
)

// countedStore is a store that counts its changes.
type countedStore struct {
	store.Store
	changes atomic.Int64
}

func (c *countedStore) Apply(ctx context.Context, id string, change store.Change) (int64, error) {
	c.changes.Add(1)
	return c.Store.Apply(ctx, id, change)
}

// between does something while a request is under way.
type between struct {
	base http.RoundTripper
	do   func()
}

func (b *between) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.do != nil {
		b.do()
	}
	return b.base.RoundTrip(r)
}

// chat is a client whose history grows by a call and its result with each request.
type chat struct {
	t        *testing.T
	messages string
	step     int
}

func newChat(t *testing.T) *chat {
	return &chat{t: t, messages: `{"role":"user","content":"Look around."}`}
}

func (c *chat) request() *http.Request {
	body := `{"model":"claude-sonnet-4-5","max_tokens":100,"messages":[` + c.messages + `]}`
	request, err := http.NewRequest(http.MethodPost, "https://provider.example/v1/messages", strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	return request
}

func (c *chat) ask(r *Transport) {
	c.t.Helper()
	answer, err := r.RoundTrip(c.request())
	if err != nil {
		c.t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		c.t.Fatal(err)
	}
	answer.Body.Close()
	c.messages += fmt.Sprintf(`,{"role":"assistant","content":[{"type":"text","text":"ok"},{"type":"tool_use","id":"t%d","name":"read","input":{"file_path":"f%d"}}]}`+
		`,{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%d","content":"%d words"}]}`, c.step, c.step, c.step, c.step)
	c.step++
}

func onStore(t *testing.T, kept store.Store, base http.RoundTripper) (*Transport, *winnow.Engine) {
	t.Helper()
	set := settings.Default()
	set.Compaction.Auto = false
	engine, err := winnow.Open(winnow.Config{Settings: &set, Store: kept})
	if err != nil {
		t.Fatal(err)
	}
	return New(engine, Options{Base: base, Later: true, Behind: true, After: never}), engine
}

// never is a time that does not come: what waits is written when the test says so, however slow the
// machine is.
func never(time.Duration, func()) func() bool { return func() bool { return true } }

// logOf is the log of the only session: each message once, in the client's order.
func logOf(t *testing.T, kept store.Store) (id string, log []session.Message) {
	t.Helper()
	all, err := kept.List(t.Context())
	if err != nil || len(all) != 1 {
		t.Fatalf("%d sessions, %v", len(all), err)
	}
	id = all[0].Info.ID
	for m, err := range kept.Messages(t.Context(), id) {
		if err != nil {
			t.Fatal(err)
		}
		log = append([]session.Message{m}, log...)
	}
	return id, log
}

// inOrder wants the calls of a log to be those of the client's steps, each once and with its result.
func inOrder(t *testing.T, log []session.Message, steps int) {
	t.Helper()
	var got, want []string
	for i := range log {
		for _, p := range log[i].Parts {
			if p.Type == session.ToolPart && p.State.Final() {
				got = append(got, p.CallID+" "+p.State.Output)
			}
		}
	}
	for n := range steps {
		want = append(want, fmt.Sprintf("t%d %d words", n, n))
	}
	if strings.Join(got, ", ") != strings.Join(want, ", ") {
		t.Errorf("the log has %q, want %q", got, want)
	}
}

// A request that decides nothing leaves before anything is written, and is written once, with its
// answer.
func TestBehind_aRequestIsWrittenWithItsAnswer(t *testing.T) {
	kept := &countedStore{Store: memory.New()}
	base := &between{base: &echo{kind: "text/event-stream", answer: []byte(sseAnswer)}}
	r, _ := onStore(t, kept, base)
	c := newChat(t)
	for range 3 {
		c.ask(r)
	}
	r.Wait()
	for range 20 {
		before, leaving := kept.changes.Load(), int64(0)
		base.do = func() { leaving = kept.changes.Load() }
		c.ask(r)
		r.Wait()
		if after := kept.changes.Load(); leaving != before || after != before+1 {
			t.Fatalf("%d changes, %d when the request left, %d after its answer", before, leaving, after)
		}
	}
	_, log := logOf(t, kept)
	inOrder(t, log, c.step-1) // the last result was not sent yet
}

// What a client does within the time that its requests may wait is written at once.
func TestBehind_quickStepsAreWrittenTogether(t *testing.T) {
	kept := &countedStore{Store: memory.New()}
	r, _ := onStore(t, kept, &echo{kind: "text/event-stream", answer: []byte(sseAnswer)})
	c := newChat(t)
	for range 3 { // until its tools are known
		c.ask(r)
	}
	r.Wait()
	var due []func()
	r.options.After = func(_ time.Duration, call func()) func() bool {
		due = append(due, call)
		return func() bool { return true }
	}
	before := kept.changes.Load()
	for range 10 {
		c.ask(r)
		r.recording.wait()
	}
	if after := kept.changes.Load(); after != before || len(due) != 1 {
		t.Fatalf("%d changes were written before their time, and %d are due", after-before, len(due))
	}
	due[0]()
	if after := kept.changes.Load(); after != before+1 {
		t.Errorf("%d changes were written", after-before)
	}
	id, log := logOf(t, kept)
	inOrder(t, log, c.step-1)
	billed(t, kept, id, c.step)
}

// A transport that is closed writes before it ends.
func TestBehind_isWrittenAtTheEnd(t *testing.T) {
	kept := memory.New()
	r, _ := onStore(t, kept, &echo{kind: "text/event-stream", answer: []byte(sseAnswer)})
	c := newChat(t)
	for range 3 {
		c.ask(r)
	}
	r.Close()
	id, log := logOf(t, kept)
	inOrder(t, log, c.step-1)
	billed(t, kept, id, c.step)
}

// A process that is killed before it has written a request loses nothing: the client says it again.
func TestBehind_whatWasNotWrittenIsSaidAgain(t *testing.T) {
	kept := memory.New()
	base := &echo{kind: "text/event-stream", answer: []byte(sseAnswer)}
	c := newChat(t)
	for range 4 {
		r, _ := onStore(t, kept, base)
		for range 4 {
			c.ask(r)
			r.Wait()
		}
		_, before := logOf(t, kept)
		// It is killed while its request is under way: nobody hears the answer, and no time passes.
		if _, err := r.RoundTrip(c.request()); err != nil {
			t.Fatal(err)
		}
		if _, after := logOf(t, kept); len(after) != len(before) {
			t.Fatalf("%d messages are written, of %d before: the test kills nothing", len(after), len(before))
		}
	}
	r, _ := onStore(t, kept, base)
	c.ask(r)
	r.Wait()
	_, log := logOf(t, kept)
	inOrder(t, log, c.step-1)
}

// billed wants the requests of a session to be written, each once.
func billed(t *testing.T, kept store.Store, id string, want int) {
	t.Helper()
	state, err := kept.State(t.Context(), id)
	if err != nil || len(state.Spent) != want {
		t.Errorf("%d requests are written of %d, %v", len(state.Spent), want, err)
	}
}

// Somebody else changes the session while a request waits to be written: neither is lost, and the
// session goes on.
func TestBehind_somebodyElseWritesMeanwhile(t *testing.T) {
	kept := memory.New()
	base := &between{base: &echo{kind: "text/event-stream", answer: []byte(sseAnswer)}}
	r, engine := onStore(t, kept, base)
	_, other := onStore(t, kept, base)
	c := newChat(t)
	for n := range 24 {
		base.do = nil
		if n > 2 && n%3 == 0 {
			base.do = func() {
				id, _ := logOf(t, kept)
				who := other
				if n%2 == 0 {
					who = engine // the page of this process
				}
				if _, err := who.Pin(t.Context(), id, rule.Pin{Text: fmt.Sprintf("pin %d", n)}); err != nil {
					t.Error(err)
				}
				// What adds nothing to the log leaves the waiting messages as they are.
				if err := who.Amend(t.Context(), id, winnow.Amendment{Title: fmt.Sprint(n)}); err != nil {
					t.Error(err)
				}
			}
		}
		c.ask(r)
		if n%4 == 0 {
			r.Wait()
		}
	}
	r.Wait()
	base.do = nil
	c.ask(r)
	r.Wait()
	id, log := logOf(t, kept)
	inOrder(t, log, c.step-1)
	state, err := kept.State(t.Context(), id)
	if err != nil || len(state.Pins) != 7 {
		t.Errorf("%d pins, %v", len(state.Pins), err)
	}
	billed(t, kept, id, c.step)
}

// Two processes take the requests of a conversation in turns.
func TestBehind_twoProcessesInTurns(t *testing.T) {
	kept := memory.New()
	base := &echo{kind: "text/event-stream", answer: []byte(sseAnswer)}
	a, _ := onStore(t, kept, base)
	b, _ := onStore(t, kept, base)
	c := newChat(t)
	for n := range 30 {
		r := a
		if n%2 == 1 {
			r = b
		}
		c.ask(r)
		if n%5 > 1 {
			r.Wait()
		}
	}
	a.Wait()
	b.Wait()
	c.ask(a)
	a.Wait()
	id, log := logOf(t, kept)
	inOrder(t, log, c.step-1)
	billed(t, kept, id, c.step)
}

// Of a store that is shared, a conversation waits only where its newest requests all came; another
// process that takes one finds all of it in the store.
func TestBehind_replicas(t *testing.T) {
	kept := &countedStore{Store: memory.New()}
	base := &between{base: &echo{kind: "text/event-stream", answer: []byte(sseAnswer)}}
	a, _ := onStore(t, kept, base)
	b, _ := onStore(t, kept, base)
	a.options.Shared, b.options.Shared = true, true
	c := newChat(t)
	in := func(r *Transport) (leaving, after int64) {
		before := kept.changes.Load()
		base.do = func() { leaving = kept.changes.Load() - before }
		c.ask(r)
		r.recording.wait()
		return leaving, kept.changes.Load() - before
	}
	for n := range 20 {
		r := a
		if n%2 == 1 {
			r = b
		}
		if leaving, after := in(r); n > 0 && (leaving == 0 || after == leaving) { // the first has no answer yet
			t.Fatalf("request %d in turns: %d changes when it left, %d after its answer", n, leaving, after)
		}
	}
	for range inARow {
		in(a)
	}
	for n := range 10 {
		if leaving, after := in(a); leaving+after != 0 {
			t.Fatalf("request %d of one process: %d changes when it left, %d after its answer", n, leaving, after)
		}
	}
	in(b) // it knows nothing of what waits
	id, log := logOf(t, kept)
	inOrder(t, log, c.step-1)
	a.Wait()
	billed(t, kept, id, c.step) // with nothing more asked
	in(a)
	_, log = logOf(t, kept)
	inOrder(t, log, c.step-1)
	a.Wait()
	billed(t, kept, id, c.step)
}
