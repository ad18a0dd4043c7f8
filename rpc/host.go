package rpc

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/plan/budget"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/session"
	asking "github.com/winnowhq/winnow/summarize/model"
	"github.com/winnowhq/winnow/wire"
)

// Summarize is a request of the server's: the client asks its own model, without tools, and answers
// with what it wrote.
type Summarize struct {
	Of
	// Model is who is to write, "provider/id": the one that reads the session, or compaction.model.
	Model string `json:"model"`
	// As is the format of Messages, the one that the client asked for.
	As string `json:"as"`
	// System is the system prompt, Messages the conversation; its last message asks for the
	// summary.
	System   string           `json:"system"`
	Messages []jsontext.Value `json:"messages"`
	// MaxOutput is how many tokens the answer may have, reasoning included.
	MaxOutput int `json:"maxOutput"`
}

// Summary is the client's answer to summarize. Instead of it the client can answer with an error;
// its data says how the provider refused the request, as a Rejection does, and the engine sends a
// request in another form, or writes the summary without a model.
type Summary struct {
	// Text is the summary.
	Text string `json:"text"`
	// Finish is why the model stopped: "stop" if it is "", "length" if it was cut off, "refused",
	// "tool-calls".
	Finish string `json:"finish,omitzero"`
	// Usage is what the provider reported, in the form of the format asked for.
	Usage jsontext.Value `json:"usage,omitzero"`
	// Cost is in US dollars; it is found by the model's prices if it is missing.
	Cost *float64 `json:"cost,omitzero"`
}

// SummarizerFor makes the summariser that asks the client, for winnow.Config. If the client writes
// no summaries, otherwise says who does; nil is nobody.
func (s *Server) SummarizerFor(otherwise func(model.Model) (pivot.Summarizer, error)) func(model.Model) (
	pivot.Summarizer, error) {
	return func(m model.Model) (pivot.Summarizer, error) {
		s.mu.Lock()
		f := s.summarize
		s.mu.Unlock()
		switch {
		case f != nil && !s.client.left():
			return host{asking.New(nil, m, asking.Options{}), s, f, m, ""}, nil
		case otherwise != nil:
			return otherwise(m)
		}
		return nil, nil
	}
}

// host is the client as a model that can be asked about a session.
type host struct {
	pivot.Summarizer // its name and its limit
	s                *Server
	f                *format
	model            model.Model
	session          string
}

func (h host) Summarize(ctx context.Context, r pivot.Request) (pivot.Answer, error) {
	h.session = r.SessionID
	return asking.New(h, h.model, asking.Options{}).Summarize(ctx, r)
}

// Ask has the client ask its model.
func (h host) Ask(ctx context.Context, r llm.Request) (llm.Answer, error) {
	fail := func(kind llm.Kind, err error) error {
		return &llm.Error{Kind: kind, Provider: r.Model.Provider, Model: r.Model.ID, Message: err.Error(), Err: err}
	}
	elements := new(wire.Elements)
	body, err := elements.Encode(r.Messages, wire.Options{Provider: r.Model.Provider, Model: r.Model.ID}, h.f.Form)
	if err != nil {
		return llm.Answer{}, fail(llm.Rejected, err)
	}
	answer, err := h.s.ask(ctx, "summarize", Summarize{Of: Of{h.session}, Model: r.Model.String(), As: h.f.name,
		System: r.System, Messages: body.Elements, MaxOutput: r.MaxOutput})
	if err != nil {
		return llm.Answer{}, fail(llm.KindOf(err), err)
	}
	if len(answer.Error) > 0 {
		return llm.Answer{}, refusal(r.Model, answer.Error)
	}
	told, err := read[Summary](answer.Result)
	if err != nil {
		return llm.Answer{}, fail(llm.Server, fmt.Errorf("the client's summary does not fit: %w", err))
	}
	a := llm.Answer{Model: r.Model.String(), Finish: llm.Finish(told.Finish),
		Parts: []session.Part{{Type: session.TextPart, Text: told.Text}}}
	if told.Finish == "" {
		a.Finish = llm.Stop
	}
	if len(told.Usage) > 0 {
		if a.Usage, err = usageOf(h.f.name, told.Usage); err != nil {
			return a, fail(llm.Server, fmt.Errorf("the client's usage does not fit: %w", err))
		}
	}
	if a.Cost, _ = r.Model.Cost(bill.Usage(a.Usage)); told.Cost != nil {
		a.Cost = *told.Cost
	}
	return a, nil
}

// refusal is the error that a client answered with.
func refusal(m model.Model, text jsontext.Value) error {
	e := wire.ValueOf(text)
	r := budget.Rejection{Status: e.Get("data", "status").Int(), Code: e.Get("data", "code").String(),
		Message: e.Get("message").String()}
	kind := llm.Server
	if r.Status != 0 || r.Code != "" || budget.Rejected(r) {
		kind = llm.Classify(r)
	}
	return &llm.Error{Kind: kind, Provider: m.Provider, Model: m.ID, Status: r.Status, Code: r.Code, Message: r.Message}
}

// client is the client as it answers requests of the server's.
type client struct {
	mu       sync.Mutex
	requests map[string]chan message // not yet answered, by id
	number   int                     // of the last request
	gone     bool                    // it answers nothing any more
}

var errGone = errors.New("the client is not there any more")

// begin is a new request: its id, and the channel of its answer.
func (c *client) begin() (id string, answer chan message, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone {
		return "", nil, errGone
	}
	c.number++
	id, answer = fmt.Sprintf(`"winnow-%d"`, c.number), make(chan message, 1)
	c.requests[id] = answer
	return id, answer, nil
}

// replied hands an answer to the request that waits for it, and reports whether one does: nobody
// waits for one that was cancelled.
func (c *client) replied(m message) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	waits := c.requests[string(m.ID)]
	if waits != nil {
		waits <- m
		delete(c.requests, string(m.ID))
	}
	return waits != nil
}

// forget ends a request that nobody waits for any more.
func (c *client) forget(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.requests, id)
}

// hangUp ends what waits for an answer.
func (c *client) hangUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone = true
	for id, answer := range c.requests {
		close(answer)
		delete(c.requests, id)
	}
}

// left reports whether the client answers nothing any more.
func (c *client) left() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.gone
}

// ask sends a request to the client and waits for the answer.
func (s *Server) ask(ctx context.Context, method string, params any) (message, error) {
	text, err := write(params)
	if err != nil {
		return message{}, err
	}
	id, answer, err := s.client.begin()
	if err != nil {
		return message{}, err
	}
	s.out.send(message{ID: jsontext.Value(id), Method: method, Params: text})
	select {
	case m, ok := <-answer:
		if !ok {
			return m, errGone
		}
		return m, nil
	case <-ctx.Done():
		s.client.forget(id)
		s.out.send(message{Method: "$/cancelRequest", Params: jsontext.Value(`{"id":` + id + `}`)})
		return message{}, ctx.Err()
	}
}
