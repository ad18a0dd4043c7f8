package transport

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/internal/workday"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

// told is what a library's messages of a session are.
func told(messages []session.Message) (list []Message) {
	for i := range messages {
		m := Message{Role: string(messages[i].Role), Text: messages[i].Text()}
		var results []Message
		for _, p := range messages[i].Parts {
			if p.Type == session.ToolPart {
				m.Calls = append(m.Calls, Call{p.CallID, p.Tool, string(p.State.Input)})
				text := p.State.Result() + "\xff" // not all that tools return is text
				results = append(results, Message{Role: "tool", Results: []Result{{p.CallID, p.Tool, text}}})
			}
		}
		list = append(append(list, m), results...)
	}
	return list
}

// begin is a step with our own messages in the place of a library's, and what was sent at last. The
// model says nothing yet, or fails.
func (s *stage) begin(c Conversation, fails ...error) (step *Step, sent []Message, err error) {
	s.t.Helper()
	_, step, err = Begin(s.t.Context(), s.transport, c, c.messages, func(m Message) Message { return m },
		func(_, m Message) Message { return m }, func(messages []Message) (bool, error) {
			sent = messages
			if len(fails) == 0 {
				return true, nil
			}
			err := fails[0]
			fails = fails[1:]
			return false, err
		})
	return step, sent, err
}

func size(messages []Message) (n int) {
	for _, m := range messages {
		n += len(m.Text)
		for _, r := range m.Results {
			n += len(r.Text)
		}
		for _, c := range m.Calls {
			n += len(c.Arguments)
		}
	}
	return n
}

// usage is about what a provider with a cache would report.
func usage(sent, before []Message) session.Usage {
	same := 0
	for same < min(len(sent), len(before)) && cmp.Equal(sent[same], before[same]) {
		same++
	}
	return session.Usage{Input: size(sent[same:]) / 4, Output: 50, Cache: session.CacheUsage{Read: size(sent[:same]) / 4}}
}

// A program's conversation is pruned like a request: what was sent before is sent again until
// something is decided, also after a restart, every call has its result, and nothing that the
// program has is changed. Ids of calls may be missing.
func TestStep_prunesLikeARequest(t *testing.T) {
	sequential(t)
	for seed := range uint64(5) {
		s := play(t, llmtest.Chat, 1, Options{})
		random := rand.New(rand.NewPCG(seed, 1))
		all := workday.Make(seed, 60).Messages
		var before []Message
		receipts, pruned, commits := 0, 0, 0
		for at := range all {
			if all[at].Role != session.Assistant {
				continue
			}
			messages := told(all[:at])
			if seed%2 == 1 {
				for i := range messages {
					for j := range messages[i].Calls {
						messages[i].Calls[j].ID = ""
					}
					for j := range messages[i].Results {
						messages[i].Results[j].ID = ""
					}
				}
			}
			kept := told(all[:at])
			step, sent, _ := s.begin(Conversation{Model: "openai/gpt-4.1", Tools: true, messages: messages})
			if seed%2 == 0 && !cmp.Equal(kept, messages) {
				t.Fatal("the program's messages were changed")
			}
			if len(sent) != len(messages) {
				t.Fatalf("%d messages of %d are sent", len(sent), len(messages))
			}
			now := s.receipts()
			if now == receipts {
				for k := range before {
					if !cmp.Equal(before[k], sent[k]) {
						t.Fatalf("message %d of %d is another one, and nothing was decided", k, len(sent))
					}
				}
			} else {
				commits++
			}
			for i, m := range sent {
				if len(m.Calls) != len(messages[i].Calls) || len(m.Results) != len(messages[i].Results) {
					t.Fatalf("message %d has lost a call or a result", i)
				}
			}
			if size(sent) < size(messages) {
				pruned++
			}
			answer := told(all[at : at+1])[0]
			if seed%2 == 1 {
				for j := range answer.Calls {
					answer.Calls[j].ID = ""
				}
			}
			step.Answered(answer, usage(sent, before))
			receipts, before = now, sent
			s.now = s.now.Add(20 * time.Second)
			if random.IntN(9) == 0 {
				s.restart()
			}
		}
		totals := s.transport.Totals()
		t.Logf("seed %d: %d pruned, %d commits, %d tokens left out", seed, pruned, commits, totals.LeftOut)
		if pruned == 0 || commits == 0 {
			t.Error("nothing was pruned")
		}
		if list := must(s.store.List(t.Context())); len(list) != 1 {
			t.Errorf("%d sessions", len(list))
		}
	}
}

// pruning is a step of which something is left out, and its messages.
func pruning(t *testing.T, s *stage) (*Step, []Message) {
	all := workday.Make(1, 60).Messages
	for at := range all {
		if all[at].Role != session.Assistant {
			continue
		}
		messages := told(all[:at])
		step, sent, _ := s.begin(Conversation{Model: "openai/gpt-4.1", Tools: true, messages: messages})
		if at > len(all)*2/3 && size(sent) < size(messages) {
			return step, messages
		}
		step.Answered(told(all[at : at+1])[0], usage(messages, messages[:len(messages)-1]))
		s.now = s.now.Add(20 * time.Second)
	}
	t.Fatal("nothing was pruned")
	return nil, nil
}

// A refusal of what was pruned is answered with all of it, once, and the conversation is whole from
// then on. Other errors are the program's.
func TestStep_aRefusalIsAnsweredWithAllOfIt(t *testing.T) {
	s := play(t, llmtest.Chat, 1, Options{})
	_, messages := pruning(t, s)
	c := Conversation{Model: "openai/gpt-4.1", Tools: true, messages: messages}
	for _, want := range []error{
		errors.New("error, status code: 429, status: 429 Too Many Requests, message: try in 400 ms"),
		errors.New(`POST "http://127.0.0.1:400/v1": 529 `), errors.New("unexpected EOF"), errors.New("Error 404, Message: no"),
	} {
		if _, sent, err := s.begin(c, want, nil); err != want || size(sent) >= size(messages) {
			t.Errorf("%v counts as a refusal", want)
		}
	}
	refused := errors.New("error, status code: 400, status: 400 Bad Request, message: no")
	second := errors.New("error, status code: 400, status: 400 Bad Request, message: of all of it")
	if _, sent, err := s.begin(c, refused, second, nil); err != refused || !cmp.Equal(sent, messages) {
		t.Errorf("after two refusals: %v", err)
	}
	step, sent, err := s.begin(c, refused, nil)
	if err != nil || !cmp.Equal(sent, messages) {
		t.Fatalf("after a refusal: %v", err)
	}
	answer := Message{Role: "assistant", Text: "Well."}
	step.Answered(answer, session.Usage{Input: 100, Output: 10})
	s.restart()
	c.messages = append(slices.Clone(messages), answer, Message{Role: "user", Text: "Go on."})
	if _, sent, _ := s.begin(c); !cmp.Equal(sent, c.messages) {
		t.Error("something is left out again")
	}
}

type unreadable struct{ store.Store }

func (unreadable) List(context.Context) ([]store.Listing, error) { return nil, errBroken }

// Where something may go wrong, all of it is sent.
func TestStep_sendsAllOfIt(t *testing.T) {
	sequential(t)
	for name, change := range map[string]func(*stage, *Conversation){
		"the store cannot be read": func(s *stage, c *Conversation) {
			s.store, s.quiet = unreadable{s.store}, true
			s.restart()
		},
		"observed":                     func(s *stage, c *Conversation) { s.options.Mode = Observe; s.restart() },
		"off":                          func(s *stage, c *Conversation) { s.options.Mode = Off; s.restart() },
		"reasoning of a model unknown": func(s *stage, c *Conversation) { c.Model, c.messages[1].Reasons = "acme/large", true },
		"reasoning that is bound": func(s *stage, c *Conversation) {
			c.Model, c.messages[1].Reasons = "anthropic/claude-opus-5-5", true
		},
		"a result without its call": func(s *stage, c *Conversation) {
			s.quiet = true
			s.restart()
			c.messages[1].Calls = nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := play(t, llmtest.Chat, 1, Options{})
			_, messages := pruning(t, s)
			c := Conversation{Model: "openai/gpt-4.1", Tools: true, messages: messages}
			change(s, &c)
			step, sent, _ := s.begin(c)
			if !cmp.Equal(sent, c.messages) {
				t.Error("something is left out")
			}
			step.Answered(Message{Text: "Well."}, session.Usage{Input: 1, Output: 1})
			if totals := s.transport.Totals(); name == "observed" && totals.LeftOut == 0 {
				t.Errorf("nothing would be left out: %+v", totals)
			}
		})
	}
}

// What a user folds is folded in the program's next request: a new message stands for it.
func TestStep_folded(t *testing.T) {
	s := play(t, llmtest.Chat, 1, Options{})
	_, messages := pruning(t, s)
	c := Conversation{Model: "openai/gpt-4.1", Tools: true, messages: messages}
	_, sent, _ := s.begin(c)
	before := size(sent)
	list := must(s.store.List(t.Context()))
	must(s.engine.Compact(t.Context(), list[0].Info.ID, winnow.CompactOptions{}))
	step, sent, _ := s.begin(c)
	at := slices.IndexFunc(step.sent, func(m shown) bool { return m.from < 0 })
	if at < 0 || size(sent) >= before || !strings.Contains(sent[at].Text, "#") {
		t.Errorf("%d bytes before, %d sent, new message at %d", before, size(sent), at)
	}
	if last := step.sent[len(step.sent)-1]; last.from != len(messages)-1 {
		t.Errorf("the newest message is %d", last.from)
	}
}
