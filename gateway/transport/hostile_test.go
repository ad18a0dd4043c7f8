package transport

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/internal/workday"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/wire"
)

// hostile is a client that does to its history what clients do.
type hostile struct {
	*stage
	*rand.Rand
	history []session.Message
	made    int

	receipts int
	before   []digest // of the request before, as the provider got it
	changed  bool     // the history is another one since then

	asked, sent []byte // by the client since the newest answer that it has, and by the transport
	sentAt      int    // receipts there were then
	again       int    // requests that were asked again to the byte, and nothing was decided in between

	thinks  bool
	madeFor map[string]digest // what the provider had been sent when a thought was made, by signature
}

// user says something.
func (h *hostile) user(text string) session.Message {
	h.made++
	m := session.Message{Parts: []session.Part{{Type: session.TextPart, Text: text}}}
	m.ID, m.Role = fmt.Sprintf("u%d", h.made), session.User
	return m
}

// answer is what the model says next: mostly calls, whose results are long, and often of the same
// file; sometimes the end of a turn.
func (h *hostile) answer() session.Message {
	h.made++
	m := session.Message{}
	m.ID, m.Role = fmt.Sprintf("a%d", h.made), session.Assistant
	if h.thinks {
		m.ModelID, m.ProviderID = h.model, "anthropic"
		m.Parts = append(m.Parts, session.Part{
			Type: session.ReasoningPart, Text: fmt.Sprintf("Thought %d.", h.made),
			Metadata: wire.Metadata("anthropic", "signature", fmt.Sprintf("signed-%d", h.made)),
		})
	}
	if h.IntN(3) == 0 {
		m.Parts = append(m.Parts, session.Part{Type: session.TextPart, Text: fmt.Sprintf("Step %d.", h.made)})
	}
	if h.IntN(8) == 0 {
		m.Parts = append(m.Parts, session.Part{Type: session.TextPart, Text: fmt.Sprintf("Done with %d.", h.made)})
		return m
	}
	for i := range 1 + h.IntN(2) {
		id := fmt.Sprintf("toolu_%d_%d", h.made, i)
		file := h.IntN(6)
		input := fmt.Sprintf(`{"file_path":"/src/f%d.go"}`, file)
		m.Parts = append(m.Parts, session.Part{ID: id, Type: session.ToolPart, CallID: id, Tool: "read", State: &session.ToolState{
			Status: session.Completed, Input: jsontext.Value(input),
			Output: strings.Repeat(fmt.Sprintf("line of file %d\n", file), 20+h.IntN(400)),
		}})
	}
	return m
}

// step asks for the next answer; the client has it then.
func (h *hostile) step() {
	last := &h.history[len(h.history)-1]
	ended := last.Role == session.Assistant && !calls(last.Parts)
	if ended || last.Role == session.Assistant && h.IntN(8) == 0 {
		h.history = append(h.history, h.user(fmt.Sprintf("Go on with %d.", h.made)))
	}
	m := h.answer()
	h.log = append(h.log, m)
	if h.IntN(12) == 0 { // the connection breaks, or the process is killed after the decision
		asked, decided := h.mine(len(h.log)-1), 0
		b := h.options.Base.(*tap)
		b.fail = func() bool { decided = h.stage.receipts(); return true }
		h.transport.RoundTrip(asked)
		b.fail = nil
		h.sentAgain(asked, decided)
		if h.IntN(2) == 0 {
			h.restart()
		}
	}
	for n := range 1 + h.IntN(8)/7 { // a retry after an answer that the client lost
		if n > 0 && h.IntN(2) == 0 { // and another process has it now
			h.restart()
		}
		h.heard(len(h.log) - 1)
	}
	h.asked = nil
	h.history = append(h.history, m)
	h.now = h.now.Add(time.Duration(1+h.IntN(40)) * time.Second)
	if h.IntN(40) == 0 {
		h.now = h.now.Add(2 * time.Hour)
	}
}

func (h *hostile) mine(step int) *http.Request {
	r := h.ask(h.history, step)
	r.Header.Set("X-Session-Id", "s1")
	return r
}

// heard sends the history, and holds what the provider gets against what it got before.
func (h *hostile) heard(step int) {
	h.t.Helper()
	asked := h.mine(step)
	if status, answer := h.send(asked); status != 200 {
		h.t.Fatalf("step %d: %d %s", step, status, answer)
	}
	h.sentAgain(asked, h.decided)
	records := h.server.Records()
	now := chained(records[len(records)-1].Messages)
	if h.decided == h.receipts && !h.changed {
		for k := range min(len(h.before), len(now)) {
			if h.before[k] != now[k] {
				h.t.Fatalf("step %d: message %d is another one, and nothing was decided", step, k)
			}
		}
	}
	h.before, h.receipts, h.changed = now, h.decided, false
	h.bound(records[len(records)-1].Messages, now)
	h.madeFor[fmt.Sprintf("signed-%d", h.made)] = now[len(now)-1]
}

// sentAgain fails the test if the client has asked the same before, to the byte, and other bytes
// were sent then, though nothing was decided in between.
func (h *hostile) sentAgain(asked *http.Request, decided int) {
	h.t.Helper()
	sent := h.options.Base.(*tap).sent
	text, now := must(io.ReadAll(must(asked.GetBody()))), sent[len(sent)-1]
	if bytes.Equal(h.asked, text) && h.sentAt == decided {
		h.again++
		if !bytes.Equal(h.sent, now) {
			h.t.Fatalf("asked again it is another request, %s", difference(h.sent, now))
		}
	}
	h.asked, h.sent, h.sentAt = text, now, decided
}

// bound fails the test if the provider gets a thought behind another prompt than it was made for.
func (h *hostile) bound(messages []session.Message, chain []digest) {
	h.t.Helper()
	for i := range messages {
		for j := range messages[i].Parts {
			signature := wire.ThoughtOf(&messages[i].Parts[j]).Signature
			if made, ok := h.madeFor[signature]; ok && i > 0 && chain[i-1] != made {
				h.t.Fatalf("the thought %s comes back behind another prompt", signature)
			}
		}
	}
}

// rewind takes the history back to some point before an answer.
func (h *hostile) rewind() {
	for at := len(h.history) - 1 - h.IntN(min(10, len(h.history))); at > 1; at-- {
		if h.history[at].Role == session.Assistant {
			h.history, h.changed = slices.Clone(h.history[:at]), true
			return
		}
	}
}

// edit changes what the user said some time ago.
func (h *hostile) edit() {
	for at := len(h.history) - 1; at > 0; at-- {
		if h.history[at].Role == session.User && h.IntN(2) == 0 {
			h.history = slices.Clone(h.history)
			h.history[at] = h.user(fmt.Sprintf("I meant something else, %d.", h.made))
			h.changed = true
			return
		}
	}
}

// beside sends requests that are not of the conversation: for a title, and of a sub-agent.
func (h *hostile) beside() {
	h.t.Helper()
	title := h.ask(h.history[:1], -1)
	title.Header.Set("X-Session-Id", "s1")
	title.Header.Set(stepHeader, "none")
	agent := h.ask([]session.Message{h.user(fmt.Sprintf("You look for things. Task %d.", h.made))}, -1)
	agent.Header.Set("X-Session-Id", "s1")
	agent.Header.Set(stepHeader, "none")
	agent.Header.Set("X-Claude-Code-Agent-Id", "a1")
	for _, r := range []*http.Request{title, agent} {
		if status, answer := h.send(r); status != 200 {
			h.t.Fatalf("%d %s", status, answer)
		}
	}
}

// Whatever the client does to its history, what stands is sent as it was, no provider refuses what
// is sent, and each request gets its answer.
func TestTransport_hostileClients(t *testing.T) {
	for i, p := range llmtest.Protocols() {
		if i > 0 && testing.Short() {
			break
		}
		t.Run(string(p), func(t *testing.T) { walk(t, p, "", 0) })
		t.Run(string(p)+", folded", func(t *testing.T) { walk(t, p, "", 14_000) })
	}
}

// A model that binds its reasoning, and one that is not known, gets each thought back behind the
// prompt that it was made for.
func TestTransport_boundReasoning(t *testing.T) {
	sequential(t)
	for _, model := range []string{"claude-opus-5-5", "acme-large-1"} {
		t.Run(model, func(t *testing.T) { walk(t, llmtest.Anthropic, model, 0) })
		t.Run(model+", folded", func(t *testing.T) { walk(t, llmtest.Anthropic, model, 14_000) })
	}
}

// walk lets hostile clients work for a while. With the name of a model they send its thoughts back;
// with a window, the conversation is folded before it outgrows it.
func walk(t *testing.T, p llmtest.Protocol, thinking string, window int, set ...func(*stage)) {
	requests, decided, again := 0, 0, 0
	steps := 80
	if testing.Short() {
		steps = 40
	}
	for seed := range uint64(*walks) {
		s := play(t, p, 1, Options{Base: &tap{base: http.DefaultTransport}})
		s.log = nil
		if thinking != "" {
			s.model = thinking
		}
		s.window = window
		for _, f := range set {
			f(s)
		}
		s.restart()
		h := &hostile{stage: s, Rand: rand.New(rand.NewPCG(seed, 9)), madeFor: map[string]digest{}, thinks: thinking != ""}
		h.history = []session.Message{h.user("Add logging to the server. " + workday.Make(seed, 1).Info.Title)}
		for range steps {
			switch n := h.IntN(20); {
			case n == 0:
				h.rewind()
			case n == 1 && !h.thinks: // thoughts behind an edit of the client's own do not come back
				h.edit()
			case n == 2:
				h.beside()
			case n == 3:
				h.restart()
			default:
				h.step()
			}
		}
		for _, problem := range h.server.Problems() {
			t.Errorf("seed %d: the provider would refuse: %s", seed, problem)
		}
		requests += len(h.server.Records())
		decided += h.decided
		again += h.again
		h.server.Close() // or it keeps what it was sent until the test ends
		h.server.Forget()
	}
	if decided == 0 && thinking == "" {
		t.Error("nothing was decided")
	}
	if again == 0 {
		t.Error("no request was asked again")
	}
	t.Logf("%d requests, %d decisions, %d asked again", requests, decided, again)
}

var walks = flag.Int("walks", 1, "how many hostile clients of each protocol there are")

// receipts counts what was decided in all sessions.
func (s *stage) receipts() int {
	n := 0
	for _, l := range must(s.store.List(context.Background())) {
		n += len(must(s.store.State(context.Background(), l.Info.ID)).Receipts)
	}
	return n
}
