package rpc

import (
	"context"
	"errors"
	"fmt"

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
		f, gone := s.summarize, s.gone
		s.mu.Unlock()
		switch {
		case f != nil && !gone:
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
	body, err := elements.Encode(r.Messages, wire.Options{Provider: r.Model.Provider, Model: r.Model.ID}, h.f.form)
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

// ask sends a request to the client and waits for the answer.
func (s *Server) ask(ctx context.Context, method string, params any) (message, error) {
	text, err := write(params)
	if err != nil {
		return message{}, err
	}
	s.mu.Lock()
	if s.gone {
		s.mu.Unlock()
		return message{}, errGone
	}
	s.number++
	id := fmt.Sprintf(`"winnow-%d"`, s.number)
	answer := make(chan message, 1)
	s.requests[id] = answer
	s.mu.Unlock()
	s.send(message{ID: jsontext.Value(id), Method: method, Params: text})
	select {
	case m, ok := <-answer:
		if !ok {
			return m, errGone
		}
		return m, nil
	case <-ctx.Done():
		s.mu.Lock()
		delete(s.requests, id)
		s.mu.Unlock()
		s.send(message{Method: "$/cancelRequest", Params: jsontext.Value(`{"id":` + id + `}`)})
		return message{}, ctx.Err()
	}
}

var errGone = errors.New("the client is not there any more")

// replied hands an answer of the client's to the request that waits for it. Nobody waits for one
// that was cancelled.
func (s *Server) replied(m message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if waits := s.requests[string(m.ID)]; waits != nil {
		waits <- m
		delete(s.requests, string(m.ID))
	}
}

// hangUp ends what waits for an answer of the client's.
func (s *Server) hangUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone = true
	for id, answer := range s.requests {
		close(answer)
		delete(s.requests, id)
	}
}
