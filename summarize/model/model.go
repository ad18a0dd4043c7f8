// Package model writes summaries by asking a model. It turns a request into the messages of a
// conversation, sends them through package llm, and reports in the engine's terms what came back
// and what it cost.
package model

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/wire"
)

// DefaultReserve is how many tokens are reserved for an answer if the model can write that many:
// twice the longest summary, because reasoning counts against the same limit.
const DefaultReserve = 16_000

// DefaultLongest is how long a summary may take: 16,000 tokens at 40 a second are under seven
// minutes, and somebody is waiting.
const DefaultLongest = 10 * time.Minute

// bytesOf is the largest number of bytes of text per token. Words have four; indentation and rules
// of one character have dozens.
const bytesOf = 32

// leastCap is how many bytes an answer may always have. A summary that is merely too long is asked
// for again, shorter; anything larger than this is not a summary.
const leastCap = 1 << 20

// Options say how a model is asked. The zero value is meant to be used.
type Options struct {
	// Reserve is how many tokens the answer may have, including reasoning; they are subtracted from
	// what a request may have. 0 takes DefaultReserve or the model's own output limit if that is
	// smaller, and never more than a quarter of the window.
	Reserve int
	// Longest is how long a summary may take, including failed attempts and the waits between them.
	// 0 takes DefaultLongest.
	Longest time.Duration
	// Temperature is how freely the model words a summary, from 0 to 2; nil takes the provider's
	// default. A model that refuses it is asked again without.
	Temperature *float64
}

// Summarizer asks one model. It is safe for concurrent use if its client is.
type Summarizer struct {
	client  llm.Client
	model   model.Model
	reserve int
	longest time.Duration

	temperature *float64
	refused     atomic.Bool // the temperature was
}

var _ pivot.Summarizer = (*Summarizer)(nil)

// New returns a summariser that asks m through a client. It asks once: wrap the client in llm.Retry
// to retry temporary failures.
func New(client llm.Client, m model.Model, o Options) pivot.Summarizer {
	s := &Summarizer{client: client, model: m, reserve: o.Reserve, longest: o.Longest, temperature: o.Temperature}
	if s.longest <= 0 {
		s.longest = DefaultLongest
	}
	if s.reserve <= 0 {
		s.reserve = DefaultReserve
	}
	if m.Limits.Output > 0 {
		s.reserve = min(s.reserve, m.Limits.Output)
	}
	if m.Limits.Context > 0 {
		s.reserve = min(s.reserve, max(1, m.Limits.Context/4))
	}
	return s
}

// Name is "provider/model".
func (s *Summarizer) Name() string { return s.model.String() }

// Limit is the model's window minus the reserve for the answer, or its limit for prompts if that is
// smaller; 0 if neither is known.
func (s *Summarizer) Limit() int {
	limit := s.model.Limits.Input
	if window := s.model.Limits.Context; window > 0 && (limit <= 0 || limit > window-s.reserve) {
		limit = max(1, window-s.reserve)
	}
	return max(0, limit)
}

// Summarize asks for a summary. An answer that comes with an error lists the calls made. An answer
// that takes too long, or is many times longer than allowed, is an *llm.Error of kind llm.Endless.
func (s *Summarizer) Summarize(ctx context.Context, r pivot.Request) (pivot.Answer, error) {
	if err := ctx.Err(); err != nil {
		return pivot.Answer{}, err
	}
	asked := s.request(r)
	bounded, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	bounded, stop := context.WithTimeoutCause(bounded, s.longest,
		s.endless(fmt.Sprintf("the summary was not complete after %s", s.longest)))
	defer stop()
	asked.Delta, asked.Restart = s.bounded(asked, cancel)
	answer, err := s.ask(bounded, asked)
	if cause := context.Cause(bounded); ctx.Err() == nil && llm.KindOf(cause) == llm.Endless &&
		(err != nil || errors.Is(cause, errTooMuch)) {
		err = cause
	}
	return s.answer(answer, err), explain(err)
}

// ask sends a request, once more without a temperature if the model refuses to have one.
func (s *Summarizer) ask(ctx context.Context, r llm.Request) (llm.Answer, error) {
	answer, err := s.client.Ask(ctx, r)
	if r.Temperature == nil || !aboutTemperature(err) {
		return answer, err
	}
	s.refused.Store(true)
	before := attempts(answer, err)
	r.Temperature = nil
	answer, err = s.client.Ask(ctx, r)
	answer.Attempts = append(before, attempts(answer, err)...)
	return answer, err
}

// aboutTemperature reports whether a provider refused a request because of its temperature.
func aboutTemperature(err error) bool {
	return llm.KindOf(err) == llm.Rejected && aboutForm(err) &&
		strings.Contains(strings.ToLower(err.Error()), "temperature")
}

// attempts are the requests that were made for an answer.
func attempts(a llm.Answer, err error) []llm.Attempt {
	if len(a.Attempts) > 0 {
		return slices.Clone(a.Attempts)
	}
	return []llm.Attempt{{Usage: a.Usage, Cost: a.Cost, Err: err}}
}

// errTooMuch is the cause if an answer was cut off because it is longer than any summary.
var errTooMuch = errors.New("it says more than it was allowed")

func (s *Summarizer) endless(message string) *llm.Error {
	return &llm.Error{Kind: llm.Endless, Provider: s.model.Provider, Model: s.model.ID, Message: message}
}

// bounded listens to the text of an answer and ends the request once it is longer than the allowed
// tokens can be.
func (s *Summarizer) bounded(asked llm.Request, end context.CancelCauseFunc) (delta func(string), restart func()) {
	most, heard := max(bytesOf*asked.MaxOutput, leastCap), 0
	delta = func(text string) {
		if heard += len(text); heard > most {
			tooMuch := s.endless(fmt.Sprintf("the summary has more than %d bytes, and was allowed %d tokens", most,
				asked.MaxOutput))
			tooMuch.Err = errTooMuch
			end(tooMuch)
			return
		}
		if asked.Delta != nil {
			asked.Delta(text)
		}
	}
	restart = func() {
		heard = 0
		if asked.Restart != nil {
			asked.Restart()
		}
	}
	return delta, restart
}

// request builds what the model is sent: the conversation's own prefix and one more message, or the
// messages to fold between the two layers of the prompt.
func (s *Summarizer) request(r pivot.Request) llm.Request {
	reserve := s.reserve
	if r.Limit > 0 { // the window is smaller than it was believed to be; the answer has its quarter of it
		reserve = min(reserve, max(1, r.Limit/3))
	}
	asked := llm.Request{Model: s.model, MaxOutput: reserve, Delta: r.Delta, Restart: r.Restart}
	if !s.refused.Load() {
		asked.Temperature = s.temperature
	}
	r.Budget = min(r.Budget, max(1, reserve/2)) // the stated budget must not cut the answer off
	if p := r.Prefix; p != nil {
		asked.System, asked.Tools, asked.Cache = p.System, p.Tools, true
		asked.Messages = with(p.Messages, message(session.User, r.Aligned()))
		return asked
	}
	asked.System = r.System
	var before []session.Message
	if r.Previous != "" {
		before = []session.Message{message(session.User, wire.Question), message(session.Assistant, r.Previous)}
	}
	folded := r.Messages
	if s.model.BoundReasoning {
		folded = withoutReasoning(folded)
	}
	asked.Messages = with(append(before, folded...), message(session.User, wire.Question, r.Asks()))
	return asked
}

// with appends one message to a copy.
func with(messages []session.Message, last session.Message) []session.Message {
	return append(messages[:len(messages):len(messages)], last)
}

// withoutReasoning drops reasoning, which is only valid after the exact prompt that it was made
// for.
func withoutReasoning(messages []session.Message) []session.Message {
	reasons := func(p session.Part) bool { return p.Type == session.ReasoningPart }
	kept := slices.Clone(messages)
	for i := range kept {
		if slices.ContainsFunc(kept[i].Parts, reasons) {
			kept[i].Parts = slices.DeleteFunc(slices.Clone(kept[i].Parts), reasons)
		}
	}
	return kept
}

// message returns a message of texts.
func message(role session.Role, texts ...string) session.Message {
	m := session.Message{MessageInfo: session.MessageInfo{Role: role}}
	if role == session.Assistant {
		m.Finish = "stop"
	}
	for _, text := range texts {
		m.Parts = append(m.Parts, session.Part{Type: session.TextPart, Text: text, Synthetic: role == session.User})
	}
	return m
}

// answer translates a model's answer into the engine's terms.
func (s *Summarizer) answer(a llm.Answer, err error) pivot.Answer {
	said, thought := withoutThoughts(a.Text())
	answer := pivot.Answer{
		Text: said, Finish: string(a.Finish), Model: s.Name(),
		CalledTools: a.Finish == llm.Calls || a.Has(session.ToolPart), Refused: a.Finish == llm.Refused,
	}
	answer.ReasoningOnly = answer.Text == "" && !answer.CalledTools && (thought || a.Has(session.ReasoningPart))
	for _, made := range attempts(a, err) {
		call := pivot.Call{Usage: made.Usage, Cost: made.Cost}
		if made.Err != nil {
			call.Failed = made.Err.Error()
		}
		answer.Calls = append(answer.Calls, call)
		answer.Usage = answer.Usage.Add(call.Usage)
		answer.Cost += call.Cost
	}
	return answer
}

// explain marks errors that another form of the request may avoid.
func explain(err error) error {
	if err == nil {
		return nil
	}
	switch kind := llm.KindOf(err); {
	case kind == llm.Overflow:
		return fmt.Errorf("%w: %w", pivot.ErrTooLong, err)
	case kind == llm.Rejected && aboutForm(err):
		return fmt.Errorf("%w: %w", pivot.ErrForm, err)
	}
	return err
}

// aboutForm reports whether a rejection may be about the form of the request: a wrong model name is
// not.
func aboutForm(err error) bool {
	var e *llm.Error
	return errors.As(err, &e) && (e.Status == 0 || e.Status == 400 || e.Status == 422)
}
