package transport

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/wire/anthropic"
)

// chore is a session of a coding agent whose commands print colours and bars, and which reads the
// same again and again.
func chore(seed uint64, steps int) []session.Message {
	random := rand.New(rand.NewPCG(seed, 5))
	message := func(role session.Role, parts ...session.Part) session.Message {
		m := session.Message{Parts: parts}
		m.Role = role
		return m
	}
	text := func(s string) session.Part { return session.Part{Type: session.TextPart, Text: s} }
	log := []session.Message{message(session.User, text("Please mend the lamp."))}
	for i := range steps {
		if i%9 == 8 {
			log = append(log, message(session.Assistant, text(fmt.Sprintf("It is mended, %d.", i))),
				message(session.User, text(fmt.Sprintf("And the next one, %d.", i))))
			continue
		}
		var parts []session.Part
		for n := range 1 + random.IntN(2) {
			tool, input, output := "read", `{"file_path":"/repo/lamp.go"}`, strings.Repeat("the lamp on the pier is lit\n", 40)
			switch random.IntN(4) {
			case 0:
				tool, input = "bash", fmt.Sprintf(`{"command":"make test-%d"}`, i)
				output = strings.Repeat(fmt.Sprintf("\x1b[32mok\x1b[0m  lamp %d\n", i), 40) + "10%\r50%\r100%\n"
			case 1:
				tool, input, output = "bash", `{"command":"git status"}`, strings.Repeat("\tmodified: lamp.go\n", 30)
			case 2:
				output += fmt.Sprintf("// %d\n", i)
			}
			parts = append(parts, session.Part{
				Type: session.ToolPart, Tool: tool, CallID: fmt.Sprintf("toolu_%d_%d", i, n),
				State: &session.ToolState{Status: session.Completed, Input: []byte(input), Output: output},
			})
		}
		log = append(log, message(session.Assistant, parts...))
	}
	return log
}

// prompt stands for what a provider binds reasoning to: everything said, but reasoning.
func prompt(messages []session.Message) string {
	hash := sha256.New()
	for i := range messages {
		fmt.Fprintf(hash, "%s\x00", messages[i].Role)
		for _, p := range messages[i].Parts {
			if p.Type == session.ReasoningPart {
				continue
			}
			fmt.Fprintf(hash, "%q %q ", p.Text, p.Tool)
			if p.State != nil {
				fmt.Fprintf(hash, "%s %q", p.State.Input, p.State.Output)
			}
		}
	}
	return hex.EncodeToString(hash.Sum(nil)[:8])
}

// moved are the messages whose reasoning was made for another prompt.
func moved(messages []session.Message) (at []int) {
	for i := range messages {
		for _, p := range messages[i].Parts {
			said, ours := strings.CutPrefix(p.Text, "thought behind ")
			if p.Type == session.ReasoningPart && ours && said != prompt(messages[:i]) {
				at = append(at, i)
			}
		}
	}
	return at
}

// binds is a provider whose reasoning counts only behind the exact prompt that it was made for.
type binds struct {
	*stage
	prompts [][]digest // of each request
	checked int        // thoughts that came back
}

func (b *binds) answer(r llmtest.Request) llmtest.Reply {
	b.decided = b.receipts()
	for _, i := range moved(r.Messages) {
		b.t.Errorf("request %d: the reasoning of message %d was made for another prompt", r.Number, i)
	}
	for i := range r.Messages {
		if reasons(r.Messages[i : i+1]) {
			b.checked++
		}
	}
	b.prompts = append(b.prompts, chained(r.Messages))
	at, err := strconv.Atoi(r.Header.Get(stepHeader))
	if err != nil {
		b.t.Error(err)
		return llmtest.Reply{}
	}
	reply := b.reply(at)
	reply.Reasoning = "thought behind " + prompt(r.Messages)
	return reply
}

// thought is what a client keeps of an answer's reasoning, and gives back to the same model.
func thought(m *session.Message, model, reasoning string) {
	m.ModelID = model
	part := session.Part{Type: session.ReasoningPart, Text: reasoning, Metadata: []byte(`{"anthropic":{"signature":"c2ln"}}`)}
	if len(m.Parts) > 0 && m.Parts[0].Type == session.ReasoningPart {
		m.Parts[0] = part
		return
	}
	m.Parts = append([]session.Part{part}, m.Parts...)
}

// On a model that binds its reasoning, and on one that winnow does not know, what says nothing new
// is left out while the cache is warm; nothing that was sent changes, and the provider refuses
// nothing: whatever fails on the way, whoever is restarted, and wherever the client goes back to.
func TestTransport_firstSendsAreLeftOutOfBoundConversations(t *testing.T) {
	sequential(t)
	for _, model := range []string{"claude-opus-5-5", "claude-of-tomorrow"} {
		for _, mode := range []Mode{Full, Safe} {
			for seed := range uint64(*walks) {
				t.Run(fmt.Sprintf("%s %s %d", model, mode, seed), func(t *testing.T) {
					testBound(t, model, mode, seed)
				})
			}
		}
	}
}

func testBound(t *testing.T, model string, mode Mode, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 11))
	b := &tap{base: http.DefaultTransport}
	s := play(t, llmtest.Anthropic, 2, Options{Base: b, Mode: mode})
	provider := &binds{stage: s}
	s.log, s.model = chore(seed, 60), model
	s.server = llmtest.Start(t, llmtest.Script{Now: func() time.Time { return s.now }, Answer: provider.answer})
	var before []digest
	steps := s.steps()
	for i := 0; i < len(steps); i++ {
		at := steps[i]
		if random.IntN(6) == 0 {
			s.restart()
		}
		if random.IntN(6) == 0 { // it is decided, and perhaps sent, and no answer comes
			b.fail = func() bool { return true }
			if answer, err := s.transport.RoundTrip(s.request(at)); err == nil {
				answer.Body.Close()
				t.Fatal("the machine did not go away")
			}
			b.fail = nil
			first := b.sent[len(b.sent)-1]
			if random.IntN(2) == 0 {
				s.restart()
			}
			s.send(s.request(at))
			if again := b.sent[len(b.sent)-1]; !bytes.Equal(first, again) {
				t.Fatalf("step %d: other bytes were sent when it was asked for again", i)
			}
		} else if status, answer := s.send(s.request(at)); status != 200 {
			t.Fatalf("step %d: %d %s", i, status, answer)
		}
		now := provider.prompts[len(provider.prompts)-1]
		for k := range min(len(before), len(now)) {
			if before[k] != now[k] {
				t.Fatalf("step %d: message %d is another one", i, k)
			}
		}
		records := s.server.Records()
		thought(&s.log[at], model, records[len(records)-1].Reply.Reasoning)
		before = now[:len(now)-len(now)/8] // the client may go back that far
		if random.IntN(12) == 0 && i > 3 {
			i -= 2
		}
		s.now = s.now.Add(20 * time.Second)
	}
	if problems := s.server.Problems(); len(problems) > 0 {
		t.Errorf("the provider would refuse: %s", strings.Join(problems, "; "))
	}
	totals := s.transport.Totals()
	if totals.Resent > 0 || totals.LeftOut == 0 || provider.checked < len(steps) {
		t.Errorf("%+v, %d thoughts came back", totals, provider.checked)
	}
	rules := map[string]int{}
	for _, l := range must(s.store.List(t.Context())) {
		_, state, err := s.engine.Session(t.Context(), l.Info.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range state.Receipts {
			if r.Trigger != pivot.FirstSend || r.Rewritten != 0 {
				t.Errorf("something was left out because of %q, %d tokens rewritten", r.Trigger, r.Rewritten)
			}
		}
		for _, e := range state.Ledger.All() {
			rules[e.Rule]++
		}
	}
	if rules["noise"] == 0 || rules["repeats"] == 0 {
		t.Errorf("left out was %v", rules)
	}
	t.Logf("%d requests, %v, %d tokens left out of the newest", len(provider.prompts), rules, totals.LeftOut)
}

// In the mode Observe the same is decided, everything passes as it came, and the bill is said that
// there would have been.
func TestTransport_observeDecidesAboutFirstSends(t *testing.T) {
	sequential(t)
	var left []int
	var bills []float64
	for _, mode := range []Mode{Full, Observe} {
		b := &tap{base: http.DefaultTransport}
		s := play(t, llmtest.Anthropic, 2, Options{Base: b, Mode: mode})
		s.log, s.model = chore(3, 40), "claude-opus-5-5"
		for _, at := range s.steps() {
			r := s.request(at)
			original := must(io.ReadAll(must(r.GetBody())))
			s.send(r)
			if mode == Observe && !bytes.Equal(b.sent[len(b.sent)-1], original) {
				t.Fatal("a request was changed")
			}
			s.now = s.now.Add(20 * time.Second)
		}
		totals := s.transport.Totals()
		left, bills = append(left, totals.LeftOut), append(bills, float64(totals.Billed))
		if mode == Observe {
			bills[1] = totals.Otherwise.Likely
		}
	}
	if ratio := bills[1] / bills[0]; ratio < 0.975 || ratio > 1.025 {
		t.Errorf("billed are $%.4f, and would be $%.4f", bills[0], bills[1])
	}
	t.Logf("billed are $%.4f, and would be $%.4f", bills[0], bills[1])
	if left[0] == 0 || left[0] != left[1] {
		t.Errorf("left out are %d tokens, and %d would be", left[0], left[1])
	}
}

// A conversation that was only observed until now was sent whole, and its reasoning is bound to
// that. If what was decided about it meets a refusal, it goes on whole, after a restart too.
func TestTransport_whatWasOnlyObservedIsSentWholeAgain(t *testing.T) {
	sequential(t)
	s := play(t, llmtest.Anthropic, 2, Options{Mode: Observe, Log: slog.New(slog.DiscardHandler)})
	provider := &binds{stage: s}
	s.log, s.model = chore(5, 60), "claude-opus-5-5"
	s.server = llmtest.Start(t, llmtest.Script{Now: func() time.Time { return s.now }, Answer: provider.answer})
	s.options.Base = &refuser{base: http.DefaultTransport, on: true, refuses: func(body []byte) bool {
		return len(moved(anthropic.Decode(body).Messages)) > 0
	}}
	s.restart()
	left := map[int]int{}
	for i, at := range s.steps() {
		switch i {
		case 20:
			s.options.Mode = Full
			s.restart()
		case 40:
			s.restart()
		}
		if status, answer := s.send(s.request(at)); status != 200 {
			t.Fatalf("step %d: %d %s", i, status, answer)
		}
		records := s.server.Records()
		thought(&s.log[at], s.model, records[len(records)-1].Reply.Reasoning)
		s.now = s.now.Add(20 * time.Second)
		left[i] = s.transport.Totals().LeftOut
		if resent := s.transport.Totals().Resent; resent > 0 != (i >= 20 && i < 40) || resent > 1 {
			t.Fatalf("step %d: %d requests were sent again", i, resent)
		}
	}
	if left[19] == 0 || left[39] != 0 || left[len(left)-1] != 0 {
		t.Errorf("left out are %d tokens when it is observed, %d once it was refused, %d in the end", left[19], left[39], left[len(left)-1])
	}
}

// In every protocol what says nothing new is left out, at once, and nothing that was sent changes.
func TestTransport_firstSendsInEveryProtocol(t *testing.T) {
	sequential(t)
	for _, p := range llmtest.Protocols() {
		t.Run(string(p), func(t *testing.T) {
			s := play(t, p, 2, Options{Mode: Safe})
			s.log = chore(9, 40)
			var before []digest
			for i, at := range s.steps() {
				if status, answer := s.send(s.request(at)); status != 200 {
					t.Fatalf("step %d: %d %s", i, status, answer)
				}
				s.now = s.now.Add(20 * time.Second)
				records := s.server.Records()
				now := chained(records[len(records)-1].Messages)
				for k := range min(len(before), len(now)) {
					if before[k] != now[k] {
						t.Fatalf("step %d: message %d is another one", i, k)
					}
				}
				before = now
				for _, m := range records[len(records)-1].Messages {
					for _, part := range m.Parts {
						if part.State != nil && strings.ContainsAny(part.State.Output, "\x1b") {
							t.Fatalf("step %d: terminal codes were sent", i)
						}
					}
				}
			}
			if problems := s.server.Problems(); len(problems) > 0 {
				t.Errorf("the provider would refuse: %s", strings.Join(problems, "; "))
			}
			_, state := s.only()
			if rules := map[string]bool{}; state.Ledger.Len() > 0 {
				for _, e := range state.Ledger.All() {
					rules[e.Rule] = true
				}
				if !rules["noise"] || !rules["repeats"] || len(rules) != 2 {
					t.Errorf("left out was something by the rules %v", rules)
				}
			} else {
				t.Error("nothing was left out")
			}
		})
	}
}
