// Package adaptertest holds an adapter of a Go framework to what all of them promise: less is sent
// of old results, what was sent before is sent again, nothing of the program's is changed, and
// answers and errors are the model's own.
package adaptertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/gateway/transport"
	"github.com/winnowhq/winnow/plan/settings"
	"github.com/winnowhq/winnow/session"
)

// Model is the model behind an adapter: it is sent messages of the framework.
type Model[M any] func(sent []M) (answer M, u session.Usage, err error)

// Adapter is an adapter under test. M is the framework's type of a message.
type Adapter[M any] struct {
	// Make writes a message as the framework has it, Text and Results say what is in one.
	Make    func(m transport.Message) M
	Text    func(m M) string
	Results func(m M) []string
	// Ask sends messages through the adapter to a model, and gives back its answer.
	Ask func(t *testing.T, pruning *transport.Transport, inner Model[M], messages []M) (M, error)
}

// program is a program with a conversation, and what its model was sent.
type program[M any] struct {
	*testing.T
	Adapter[M]
	*rand.Rand
	engine   *winnow.Engine
	pruning  *transport.Transport
	now      time.Time
	messages []M
	calls    int
	sent     []M // of the newest request
	asked    int
	fails    func(sent []M) error // what the model says instead, nil for an answer
}

func start[M any](t *testing.T, a Adapter[M], seed uint64) *program[M] {
	p := &program[M]{T: t, Adapter: a, Rand: rand.New(rand.NewPCG(seed, 5)), now: time.Date(2026, 1, 2, 3, 4, 5, 0,
		time.UTC)}
	set := settings.Default()
	set.Compaction.Auto = false
	var err error
	p.engine, err = winnow.Open(winnow.Config{Settings: &set, Now: p.clock})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.engine.Close() })
	p.pruning = transport.New(p.engine, transport.Options{Now: p.clock})
	p.messages = []M{
		a.Make(transport.Message{Role: "system", Text: "You write code."}),
		a.Make(transport.Message{Role: "user", Text: fmt.Sprintf("Look at all files, %d.", seed)}),
	}
	return p
}

func (p *program[M]) clock() time.Time {
	p.now = p.now.Add(time.Second)
	return p.now
}

// decided is how often something was decided.
func (p *program[M]) decided() (n int) {
	list, err := p.engine.Store().List(p.Context())
	if err != nil {
		p.Fatal(err)
	}
	for _, l := range list {
		state, err := p.engine.Store().State(p.Context(), l.Info.ID)
		if err != nil {
			p.Fatal(err)
		}
		n += len(state.Receipts)
	}
	return n
}

// size is how much text messages have.
func (p *program[M]) size(messages []M) (n int) {
	for _, m := range messages {
		n += len(p.Text(m)) + len(strings.Join(p.Results(m), ""))
	}
	return n
}

// model is what answers: it reads files, mostly two at a time, and often the same ones.
func (p *program[M]) model(sent []M) (answer M, u session.Usage, err error) {
	p.asked++
	same := 0
	for same < min(len(sent), len(p.sent)) && reflect.DeepEqual(sent[same], p.sent[same]) {
		same++
	}
	p.sent = sent
	if p.fails != nil {
		if err := p.fails(sent); err != nil {
			return answer, u, err
		}
	}
	m := transport.Message{Role: "assistant", Text: fmt.Sprintf("Step %d.", p.calls)}
	for range 1 + p.IntN(2) {
		p.calls++
		m.Calls = append(m.Calls, transport.Call{
			ID: fmt.Sprintf("call_%d", p.calls), Name: "read", Arguments: fmt.Sprintf(`{"path":"f%d.go"}`, p.IntN(6)),
		})
	}
	u = session.Usage{Input: p.size(sent[same:]) / 4, Output: 60, Cache: session.CacheUsage{Read: p.size(sent[:same]) / 4}}
	return p.Make(m), u, nil
}

// step asks once, and adds the answer and the results of its calls to the conversation.
func (p *program[M]) step() error {
	before := written(p.T, p.messages)
	calls := p.calls
	answer, err := p.Ask(p.T, p.pruning, p.model, p.messages)
	if after := written(p.T, p.messages); before != after {
		p.Fatal("the program's messages were changed")
	}
	if err != nil {
		return err
	}
	p.messages = append(p.messages, answer)
	for n := calls + 1; n <= p.calls; n++ {
		text := strings.Repeat(fmt.Sprintf("line of file %d\n", p.IntN(6)), 100+p.IntN(400))
		p.messages = append(p.messages, p.Make(transport.Message{Role: "tool", Results: []transport.Result{
			{ID: fmt.Sprintf("call_%d", n), Name: "read", Text: text},
		}}))
	}
	if p.IntN(8) == 0 {
		p.messages = append(p.messages, p.Make(transport.Message{Role: "user", Text: fmt.Sprintf("Go on, %d.",
			p.calls)}))
	}
	return nil
}

// prune goes on until something is left out of what is sent.
func (p *program[M]) prune() {
	p.Helper()
	for range 100 {
		had := p.size(p.messages)
		if err := p.step(); err != nil {
			p.Fatal(err)
		}
		if p.size(p.sent) < had*3/4 {
			return
		}
	}
	p.Fatal("nothing was pruned in 100 steps")
}

func written(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Run runs all tests.
func Run[M any](t *testing.T, a Adapter[M]) {
	t.Run("what was sent stays", func(t *testing.T) { stays(t, a) })
	t.Run("errors are the model's", func(t *testing.T) { errs(t, a) })
	t.Run("a refusal is answered with all of it", func(t *testing.T) { refusal(t, a) })
}

// stays: what was sent is sent again until something is decided, and results alone are shorter.
func stays[M any](t *testing.T, a Adapter[M]) {
	for seed := range uint64(4) {
		p := start(t, a, seed)
		var before []M
		decided, pruned := 0, 0
		for i := range 50 {
			had := p.messages
			if err := p.step(); err != nil {
				t.Fatal(err)
			}
			if len(p.sent) != len(had) {
				t.Fatalf("step %d: %d messages of %d were sent", i, len(p.sent), len(had))
			}
			// what is decided after an answer counts with the next request
			if now := p.decided(); now != decided {
				decided, before = now, nil
				continue
			}
			for k := range before {
				if !reflect.DeepEqual(before[k], p.sent[k]) {
					t.Fatalf("step %d: message %d is another one, and nothing was decided", i, k)
				}
			}
			before = p.sent
			for k := range had {
				if a.Text(had[k]) != a.Text(p.sent[k]) || len(a.Results(had[k])) != len(a.Results(p.sent[k])) {
					t.Fatalf("step %d: message %d says something else", i, k)
				}
			}
			if p.size(p.sent) < p.size(had) {
				pruned++
			}
		}
		t.Logf("seed %d: %d of 50 requests pruned, %d decisions, %+v", seed, pruned, decided, p.pruning.Totals())
		if totals := p.pruning.Totals(); pruned == 0 || totals.Requests != 50 || totals.LeftOut == 0 {
			t.Errorf("seed %d: %d requests pruned, %+v", seed, pruned, totals)
		}
	}
}

// errs: an error of the model's is the program's, as it is, and nothing is sent again.
func errs[M any](t *testing.T, a Adapter[M]) {
	p := start(t, a, 1)
	p.prune()
	limit := errors.New("error, status code: 429, status: 429 Too Many Requests")
	p.fails = func([]M) error { return limit }
	asked := p.asked
	if err := p.step(); !errors.Is(err, limit) || p.asked != asked+1 {
		t.Errorf("%v after %d requests", err, p.asked-asked)
	}
	first := p.sent
	p.fails = nil
	if err := p.step(); err != nil || !reflect.DeepEqual(first, p.sent) {
		t.Errorf("%v; the next try has other messages: %t", err, !reflect.DeepEqual(first, p.sent))
	}
}

// refusal: what is refused because something was left out is sent once more whole, and from then on
// all is.
func refusal[M any](t *testing.T, a Adapter[M]) {
	p := start(t, a, 2)
	p.prune()
	refused := errors.New("error, status code: 400, status: 400 Bad Request, message: no")
	p.fails = func(sent []M) error {
		if p.size(sent) < p.size(p.messages) {
			return refused
		}
		return nil
	}
	asked := p.asked
	if err := p.step(); err != nil || p.asked != asked+2 {
		t.Fatalf("%v after %d requests", err, p.asked-asked)
	}
	if err := p.step(); err != nil || p.asked != asked+3 {
		t.Fatalf("%v after %d requests: it was pruned again", err, p.asked-asked)
	}
	p.fails = func([]M) error { return refused }
	if err := p.step(); !errors.Is(err, refused) || p.asked != asked+4 {
		t.Errorf("%v after %d requests: a refusal of all of it is the program's", err, p.asked-asked)
	}
}
