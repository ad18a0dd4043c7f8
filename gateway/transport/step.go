package transport

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/wire"
)

// Conversation is what a program asks through a library with messages of its own. Where such a
// library takes an HTTP client, a Transport beneath it does more: use that.
type Conversation struct {
	// Model is the name of the model with its provider, as in "anthropic/claude-sonnet-4-5".
	Model string
	Tools bool // there are tools on offer

	messages []Message
}

// Message is one message of a conversation.
type Message struct {
	Role  string // "system", "user", "assistant" or "tool"
	Text  string
	Other string // tells what is neither text nor call nor result, such as a picture
	// Reasons is whether the message holds reasoning that goes back to the model. While one does,
	// and the model binds it to the exact prompt or is unknown, nothing is left out.
	Reasons bool
	Calls   []Call
	Results []Result
}

// Call is a call of a tool. Its id may be empty; then results belong to calls by name and order.
type Call struct{ ID, Name, Arguments string } // Arguments are JSON

// Result is what a call returned.
type Result struct{ ID, Name, Text string }

// shown is a message as it is to be sent.
type shown struct {
	from    int  // its place in the conversation; -1 for a new one, which stands for folded ones
	changed bool // calls or results say something else
	Message      // of one that is new or changed
}

// Step is one request of a conversation, and its answer.
type Step struct {
	sent []shown

	transport *Transport
	x         *exchange // nil: nothing is known of it
	fared     chan bool // as that of an incoming request
	calls     int       // there were so far
	refused   bool
}

// Ask sends the messages of a conversation with what is left out of them left out, once more all of
// them if that is refused, and tells the engine of the answer. It changes nothing of what it is
// given. If something of ours fails, all of it is sent.
//
// read says what a message of the library says. write makes one: a copy of one of the library's,
// with other calls and results, as many and in the same order; or, of the zero value, a new one
// with a role and a text. said is what an answer says, and what it took.
func Ask[M, A any](
	ctx context.Context, t *Transport, c Conversation, messages []M, read func(M) Message, write func(M, Message) M,
	send func([]M) (A, error), said func(A) (Message, session.Usage),
) (A, error) {
	answer, step, err := Begin(ctx, t, c, messages, read, write, send)
	if err == nil {
		step.Answered(said(answer))
	}
	return answer, err
}

// Begin is like [Ask] for an answer that is still to come, such as a stream.
func Begin[M, A any](
	ctx context.Context, t *Transport, c Conversation, messages []M, read func(M) Message, write func(M, Message) M,
	send func([]M) (A, error),
) (A, *Step, error) {
	c.messages = nil
	for _, m := range messages {
		c.messages = append(c.messages, read(m))
	}
	step := t.step(ctx, c)
	sent := make([]M, len(step.sent))
	for i, m := range step.sent {
		if m.from >= 0 {
			sent[i] = messages[m.from]
		}
		if m.from < 0 || m.changed {
			sent[i] = write(sent[i], m.Message)
		}
	}
	answer, err := send(sent)
	if step.isRefused(err) {
		// Refused again, the fault is the program's, and the first refusal says which one.
		if whole, second := send(messages); !isRefusal(second) {
			answer, err = whole, second
		}
	}
	step.sentWith(err)
	return answer, step, err
}

// sentWith notes whether a step was accepted: an answer has come, or has begun.
func (s *Step) sentWith(err error) {
	s.fared <- err == nil
	switch {
	case s.x == nil:
	case err == nil:
		s.transport.accepted(s.x)
	default:
		s.transport.withdraw(s.x)
	}
}

// step decides what is left out of a conversation that is about to be sent.
func (t *Transport) step(ctx context.Context, c Conversation) *Step {
	s := &Step{transport: t, sent: make([]shown, len(c.messages)), fared: make(chan bool, 1)}
	for i := range s.sent {
		s.sent[i].from = i
	}
	provider, name, found := strings.Cut(c.Model, "/")
	if !found {
		provider, name = t.models.Lookup(c.Model).Provider, c.Model
	}
	m := t.models.Lookup(c.Model)
	reasons := slices.ContainsFunc(c.messages, func(m Message) bool { return m.Reasons })
	if t.options.Mode == Off || reasons && (m.BoundReasoning || m.BindingUnknown) {
		return s
	}
	t.guarded("understand a conversation", func() {
		text, err := s.written(c, name)
		if err != nil {
			t.options.Log.Warn("a conversation is sent whole", "error", err)
			return
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, "program://"+provider+"/chat/completions", nil)
		if err != nil {
			return
		}
		p := providerProtocols[wire.Chat]
		p.provider = provider
		x := t.begin(incoming{Request: r, protocol: p, purpose: wire.Generate, original: text, fared: s.fared})
		if x == nil {
			return
		}
		t.release(x.lineage)
		if x.edited {
			if sent, ok := remaining(x.body, text, c); ok {
				s.sent = sent
			} else {
				x.whole(text)
			}
		}
		s.x = x
	})
	return s
}

// element is a message as Chat Completions has it, with its place in the conversation.
type element struct {
	Role       string        `json:"role"`
	At         int           `json:"at"`
	Content    string        `json:"content"`
	ToolCalls  []elementCall `json:"tool_calls,omitzero"`
	ToolCallID string        `json:"tool_call_id,omitzero"`
}

type elementCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// written is a conversation as a body of Chat Completions.
func (s *Step) written(c Conversation, model string) ([]byte, error) {
	var list []element
	var open []Call
	for i, m := range c.messages {
		for _, r := range m.Results {
			at := slices.IndexFunc(open, func(c Call) bool { return c.ID == r.ID || r.ID == "" && c.Name == r.Name })
			if at < 0 {
				return nil, errors.New("a result without its call")
			}
			list = append(list, element{Role: "tool", At: i, Content: r.Text, ToolCallID: open[at].ID})
			open = slices.Delete(open, at, at+1)
		}
		if m.Other != "" {
			m.Text += fmt.Sprintf("[%x]", sha256.Sum256([]byte(m.Other)))
		}
		if len(m.Results) > 0 && m.Text == "" {
			continue
		}
		e := element{Role: m.Role, At: i, Content: m.Text}
		for _, call := range m.Calls {
			made := elementCall{ID: s.id(call), Type: "function"}
			made.Function.Name, made.Function.Arguments = call.Name, cmp.Or(call.Arguments, "{}")
			e.ToolCalls = append(e.ToolCalls, made)
			open = append(open, Call{ID: made.ID, Name: call.Name})
		}
		list = append(list, e)
	}
	declared := []string{} // what the tools are does not count
	if c.Tools {
		declared = append(declared, "declared")
	}
	return json.Marshal(struct {
		Model    string    `json:"model"`
		Tools    []string  `json:"tools,omitempty"`
		Messages []element `json:"messages"`
	}{model, declared, list}, jsontext.AllowInvalidUTF8(true))
}

// id is the id of the next call.
func (s *Step) id(c Call) string {
	s.calls++
	return cmp.Or(c.ID, "call_"+strconv.Itoa(s.calls))
}

// remaining reads what is left of a conversation. It reports false if something else was left out
// than calls, results and whole messages: a program's library may not be able to say it.
func remaining(text, original []byte, c Conversation) (list []shown, ok bool) {
	key := func(e wire.Value) string { return string(e.Get("at").Bytes()) + " " + e.Get("tool_call_id").String() }
	before := map[string]wire.Value{}
	for e := range wire.ValueOf(original).Get("messages").Values() {
		before[key(e)] = e
	}
	results := 0
	for e := range wire.ValueOf(text).Get("messages").Values() {
		content := e.Get("content")
		if e.Get("at").Kind() == 0 {
			said := Message{Role: e.Get("role").String(), Text: content.String() + content.Texts()}
			list = append(list, shown{from: -1, Message: said})
			continue
		}
		was, at := before[key(e)], e.Get("at").Int()
		if n := len(list); n == 0 || list[n-1].from != at {
			m := c.messages[at]
			m.Calls, m.Results = slices.Clone(m.Calls), slices.Clone(m.Results)
			list, results = append(list, shown{from: at, Message: m}), 0
		}
		sent, changed := &list[len(list)-1], !bytes.Equal(was.Bytes(), e.Bytes())
		sent.changed = sent.changed || changed
		switch {
		case e.Get("role").String() == "tool":
			if changed {
				sent.Results[results].Text = content.String()
			}
			results++
		case changed && content.String() != was.Get("content").String():
			return nil, false
		case changed:
			i := 0
			for call := range e.Get("tool_calls").Values() {
				sent.Calls[i].Arguments = call.Get("function", "arguments").String()
				i++
			}
		}
	}
	return list, true
}

// refusals find what an error says about the kind of refusal: its status (no port, no part of a
// name), or its name.
var refusals = regexp.MustCompile(`(?i)(?:^|[^\w:./-]|":)([45]\d\d)\b|\binvalid[_ ](?:request|argument)|\bbad request`)

// isRefused reports whether an error means that the provider refuses what was sent, with 400 or
// 422, and something was left out of it. All of it is sent then, and if that is answered, nothing
// is left out of the conversation from then on.
func (s *Step) isRefused(err error) bool {
	if s.x == nil || !s.x.edited || !isRefusal(err) {
		return false
	}
	s.transport.count(func(all *Totals) { all.Resent++ })
	s.x.edited, s.x.left, s.refused = false, left{}, true
	return true
}

// isRefusal reports whether an error means that the provider refuses what was sent.
func isRefusal(err error) bool {
	if err == nil {
		return false
	}
	said := refusals.FindStringSubmatch(err.Error())
	return said != nil && (said[1] == "" || said[1] == "400" || said[1] == "422")
}

// Answered tells the engine what the model said and what that took. A step that has no answer ends
// without.
func (s *Step) Answered(m Message, u session.Usage) {
	t := s.transport
	if s.x == nil || s.x.replayed {
		return
	}
	t.guarded("record an answer", func() {
		f := t.lineage(s.x.lineage.id)
		defer t.release(f)
		if f != s.x.lineage {
			return // it was forgotten meanwhile; the answer comes with the next request
		}
		if s.refused {
			t.freeze(s.x, "refused")
		}
		a := wire.Answer{Usage: u, Ended: true, Finish: wire.FinishStop}
		if m.Text != "" {
			a.Parts = append(a.Parts, session.Part{Type: session.TextPart, Text: m.Text})
		}
		for _, c := range m.Calls {
			a.Finish = wire.FinishCalls
			a.Parts = append(a.Parts, wire.PendingCall(s.id(c), c.Name, c.Arguments, nil))
		}
		t.heard(s.x, a, took{Usage: a.Usage})
	})
}
