package llmtest

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/winnowhq/winnow/wire"
	"github.com/winnowhq/winnow/wire/protocols"
)

// begin counts a handler in; it is false once the server is closed.
func (s *Server) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.busy.Add(1)
	}
	return !s.closed
}

// serve answers one request.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if !s.begin() {
		panic(http.ErrAbortHandler)
	}
	defer s.busy.Done()
	rt, known := routeOf(r.URL.Path)
	if !known || r.Method != http.MethodPost {
		s.other(w, r)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	body, err := readBody(r)
	q := Request{Protocol: rt.protocol, Path: r.URL.Path, Header: r.Header.Clone(), Body: body, ctx: ctx}
	e := &exchange{s: s, w: w, client: r.Context(), record: s.open(q)}
	q.Number = e.record.Number
	defer e.end()
	if err != nil {
		e.fail(q, s.unreadable(q, err))
		return
	}
	s.understand(&q, rt)
	s.update(e.record, func(r *Record) { r.Request = q })
	if refused, bad := s.check(q, r, rt); bad {
		s.update(e.record, func(r *Record) { r.Problem = refused.message })
		if !s.script.Lenient {
			e.fail(q, refused)
			return
		}
	}
	if rt.count {
		e.respond(http.StatusOK, counted(q))
		return
	}
	s.answer(e, q)
}

// answer decides on the answer of a valid request, and gives it.
func (s *Server) answer(e *exchange, q Request) {
	reply, usage := s.decide(q)
	s.update(e.record, func(r *Record) { r.Reply = reply })
	if reply.Hold != nil {
		select {
		case <-reply.Hold:
		case <-q.ctx.Done():
			return
		}
	}
	switch f := reply.Fault; {
	case f == HangBeforeHeaders:
		<-q.ctx.Done()
		return
	case f == Reset:
		e.reset()
		return
	case f == Gateway:
		e.page(http.StatusBadGateway, "<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad "+
			"Gateway</h1></body></html>")
		return
	case f == HTML:
		e.page(http.StatusOK, "<!doctype html><html><head><title>Sign in</title></head><body><p>Sign in to this "+
			"network to go on.</p></body></html>")
		return
	case f == EmptyBody:
		e.page(http.StatusOK, "")
		return
	case f == TooLong, !fits(q, s.script.Window) && !f.refuses(), f == OverflowInStream && !q.Stream:
		if reply.Fault != OverflowInStream {
			reply.Fault = TooLong
		}
		s.update(e.record, func(r *Record) { r.TooLong = true })
		refused := s.refusal(q, reply)
		if s.script.Window > 0 && !fits(q, s.script.Window) {
			refused = tooLong(q, s.script.Window)
		}
		if q.Protocol == Responses && q.Stream {
			e.stream(q, Reply{}, opening(q, refused))
			return
		}
		e.fail(q, refused)
		return
	case f.refuses(), f == ErrorInStream && !q.Stream:
		e.fail(q, s.refusal(q, reply))
		return
	}
	s.cache.learn(usage)
	usage.usage.Output, usage.usage.Reasoning = reply.Output-reply.Reasoned, reply.Reasoned
	if u := reply.Usage; u != nil {
		usage.usage, usage.hour = *u, u.Cache.Write1h
		reply.Output, reply.Reasoned, q.Prompt = u.Output+u.Reasoning, u.Reasoning, u.Prompt()
	}
	usage.usage.Cache.Write1h = usage.hour
	s.update(e.record, func(r *Record) { r.Usage = usage.usage })
	var answer written
	switch q.Protocol {
	case Anthropic:
		answer = writeAnthropic(q, reply, usage)
	case Chat:
		answer = writeChat(q, reply, usage)
	case Responses:
		answer = writeResponses(q, reply, usage)
	case Gemini:
		answer = writeGemini(q, reply, usage)
	}
	if !q.Stream {
		e.whole(q, reply, encode(answer.whole))
		return
	}
	e.stream(q, reply, s.broken(q, reply, answer.events))
}

// decide asks the script, and finds what the prompt costs.
func (s *Server) decide(q Request) (Reply, account) {
	s.mu.Lock()
	var injected Fault
	if len(s.injected) > 0 {
		injected, s.injected = s.injected[0], s.injected[1:]
	}
	s.mu.Unlock()
	s.asking.Lock()
	defer s.asking.Unlock()
	var reply Reply
	if !injected.refuses() {
		reply = s.script.Answer(q)
	}
	if injected != "" {
		reply.Fault = injected
	}
	reply = reply.spoil(q, s.count).complete(q, s.count)
	return reply, s.cache.look(q.Protocol, q.Model, q.prompt, s.script.Now())
}

// opening is a stream that begins and is refused, as Responses refuses what is too long.
func opening(q Request, f failure) []event {
	var w written
	for i, kind := range []string{"response.created", "response.in_progress"} {
		w.send(kind, object{"type": kind, "sequence_number": i, "response": responseHead(q.Number, q.Model,
			"in_progress")})
	}
	return append(w.events, f.events(Responses, q.Number, 2, q.Model)...)
}

// understand reads what a request says.
func (s *Server) understand(q *Request, rt route) {
	if q.json = isJSON(q.Body); !q.json {
		return
	}
	d := protocols.Of(q.Protocol).Decode(q.Body)
	q.Model, q.System, q.Tools, q.Messages, q.MaxTokens = d.Model, d.System, d.Tools, d.Messages, d.MaxTokens
	q.Stream = wire.ValueOf(q.Body).Get("stream").Kind() == 't'
	if q.Protocol == Gemini {
		q.Model, q.Stream = rt.model, rt.stream
	}
	q.prompt = read(q.Protocol, q.Body, s.count, s.script.Bare, &s.earlier)
	q.Prompt, q.binds = q.prompt.tokens, s.script.Binds
}

func (s *Server) open(q Request) *Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.numbers++
	q.Number = s.numbers
	r := &Record{Request: q, Began: time.Now()}
	s.records = append(s.records, r)
	return r
}

// other answers a request that is not for a model.
func (s *Server) other(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.others = append(s.others, r.Method+" "+r.URL.Path)
	s.mu.Unlock()
	if r.Method == http.MethodHead {
		return
	}
	f := failure{status: http.StatusNotFound, kind: "not_found_error", message: "no such path: " + r.URL.Path}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(f.status)
	w.Write(encode(f.body(Anthropic, 0)))
}

func (s *Server) unreadable(q Request, err error) failure {
	status := http.StatusBadRequest
	if errors.As(err, &tooLarge{}) {
		status = http.StatusRequestEntityTooLarge
	}
	return failure{status: status, kind: kindOf(q.Protocol, status), message: err.Error()}
}

func counted(q Request) object {
	if q.Protocol == Gemini {
		return object{"totalTokens": q.Prompt}
	}
	answer := object{"input_tokens": q.Prompt}
	if q.Protocol == Responses {
		answer["object"] = "response.input_tokens"
	}
	return answer
}

// exchange is one request with its answer.
type exchange struct {
	s      *Server
	w      http.ResponseWriter
	client context.Context // ends when the client leaves
	record *Record
	sent   bool // the answer was sent to its end, or as far as its fault goes
}

// end closes the record of an exchange.
func (e *exchange) end() {
	e.s.mu.Lock()
	defer e.s.mu.Unlock()
	e.record.Ended = time.Now()
	if !e.sent && e.client.Err() != nil && e.s.ctx.Err() == nil {
		e.record.Aborted, e.record.Left = true, e.record.Ended
	}
	close(e.s.changed)
	e.s.changed = make(chan struct{})
}

// header sends the head of an answer.
func (e *exchange) header(status int, kind string) {
	e.w.Header().Set("Content-Type", kind)
	id := requestID(e.record.Number)
	e.w.Header().Set("Request-Id", id)
	e.w.Header().Set("X-Request-Id", id)
	e.s.update(e.record, func(r *Record) { r.Status = status })
	e.w.WriteHeader(status)
}

func (e *exchange) respond(status int, value object) {
	e.header(status, "application/json")
	if _, err := e.w.Write(encode(value)); err == nil {
		e.sent = true
	}
}

func (e *exchange) page(status int, text string) {
	kind := "text/html; charset=utf-8"
	if text == "" {
		kind = "text/event-stream"
	}
	e.header(status, kind)
	io.WriteString(e.w, text)
	e.sent = true
}

func (e *exchange) fail(q Request, f failure) {
	for name, values := range f.header {
		e.w.Header()[name] = values
	}
	e.respond(f.status, f.body(q.Protocol, q.Number))
}

// reset ends the connection without an answer, so that the client sees a reset and not an end.
func (e *exchange) reset() {
	e.sent = true
	if h, ok := e.w.(http.Hijacker); ok {
		if c, _, err := h.Hijack(); err == nil {
			if tcp, ok := c.(*net.TCPConn); ok {
				tcp.SetLinger(0)
			}
			c.Close()
			return
		}
	}
	panic(http.ErrAbortHandler)
}

// whole sends an answer that is not streamed.
func (e *exchange) whole(q Request, r Reply, body []byte) {
	half := body[:len(body)/2]
	switch r.Fault {
	case HangMidStream, CutMidEvent, CutClean, BadJSON:
		if r.Fault == CutMidEvent {
			e.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		}
		e.header(http.StatusOK, "application/json")
		e.w.Write(half)
		e.flush()
		switch r.Fault {
		case HangMidStream:
			<-q.ctx.Done()
		case CutMidEvent:
			e.sent = true
			panic(http.ErrAbortHandler)
		default:
			e.sent = true
		}
		return
	}
	e.header(http.StatusOK, "application/json; charset=utf-8")
	if r.Fault == SlowDrip {
		e.sent = e.drip(q, body)
		return
	}
	if _, err := e.w.Write(body); err == nil && q.ctx.Err() == nil {
		e.sent = true
	}
}
