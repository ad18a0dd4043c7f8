package rpc

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/wire"
)

// call is a request of the client.
type call struct {
	id     jsontext.Value
	method Method
	params jsontext.Value
	size   int
	ctx    context.Context
	cancel context.CancelFunc
}

// request has a request done, behind the others of its session.
func (s *Server) request(ctx context.Context, m message, size int) {
	c := &call{id: m.ID, method: s.methods[m.Method], params: m.Params, size: size}
	queue := ""
	if c.method.queue != "" {
		queue = wire.ValueOf(m.Params).Get(c.method.queue).String()
	}
	c.ctx, c.cancel = context.WithCancel(ctx)
	if why := s.admit(c, queue); why != nil {
		c.cancel()
		s.refuse(c.id, why)
	}
}

// admit starts a request, or says why it is not done.
func (s *Server) admit(c *call, queue string) *Failure {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case c.method.do == nil:
		return failed(UnknownMethod, rule.BadInput, "initialize lists the methods", "there is no such method")
	case s.calls[string(c.id)] != nil:
		return failed(InvalidRequest, rule.BadInput, "", "a request with the id %s is not answered yet", c.id)
	case !s.ready && c.method.Name != "initialize":
		return failed(NotInitialized, rule.BadInput, "", "the first request must be initialize")
	case s.closing:
		return failed(ShuttingDown, rule.Cancelled, "start the engine again; nothing was done",
			"the engine is shutting down")
	case len(s.calls) >= MaxWaiting || len(s.calls) > 0 && s.bytes+c.size > MaxWaitingBytes:
		return failed(Overloaded, rule.Busy, "read the answers first; nothing was done",
			"%d requests are not answered yet", len(s.calls))
	}
	s.calls[string(c.id)] = c
	s.bytes += c.size
	s.running.Add(1)
	if c.method.Name == "initialize" {
		s.mu.Unlock() // later lines are read after it
		s.run(c)
		s.mu.Lock()
		return nil
	}
	if queue == "" {
		go s.run(c)
		return nil
	}
	waiting, busy := s.queues[queue]
	s.queues[queue] = append(waiting, c)
	if busy {
		return nil
	}
	select {
	case s.idle <- queue:
	default:
		go s.worker(queue)
	}
	return nil
}

// worker does the requests of a session, and then of another that has none. A goroutine is kept
// because its stack has grown: each request would grow one anew.
func (s *Server) worker(queue string) {
	for ok := true; ok; queue, ok = <-s.idle {
		s.work(queue)
	}
}

// work does the requests of one session, one after the other.
func (s *Server) work(queue string) {
	for {
		s.mu.Lock()
		waiting := s.queues[queue]
		if len(waiting) == 0 {
			delete(s.queues, queue)
			s.mu.Unlock()
			return
		}
		s.queues[queue] = waiting[1:]
		s.mu.Unlock()
		s.run(waiting[0])
	}
}

// run does a request and answers it.
func (s *Server) run(c *call) {
	defer s.running.Done()
	defer c.cancel()
	if c.ctx.Err() != nil {
		s.answer(c, nil, failed(Cancelled, rule.Cancelled, "nothing was done", "the request was cancelled"))
		return
	}
	result, err := c.method.do(s, c)
	if err == errLater {
		return
	}
	if err != nil && c.ctx.Err() != nil && winnow.CodeOf(err) == winnow.Cancelled {
		e := errorOf(err)
		e.Code, err = Cancelled, e
	}
	s.answer(c, result, err)
}

// answer answers a request.
func (s *Server) answer(c *call, result any, failed error) {
	var text jsontext.Value
	if failed == nil {
		text, failed = write(result)
		if failed != nil {
			failed = &Failure{Code: InternalError, Message: failed.Error(), Data: FailureData{Code: rule.BadInput}}
		}
	}
	s.mu.Lock()
	delete(s.calls, string(c.id))
	s.bytes -= c.size
	s.mu.Unlock()
	if failed != nil {
		s.refuse(c.id, errorOf(failed))
		return
	}
	s.out.send(message{ID: c.id, Result: text})
}

// abort cancels a request that is not answered yet.
func (s *Server) abort(id jsontext.Value) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.calls[string(id)]; c != nil {
		c.cancel()
	}
}

func (s *Server) refuse(id jsontext.Value, err *Failure) {
	if id == nil {
		id = jsontext.Value("null")
	}
	text, _ := write(err) // texts and numbers
	s.out.send(message{ID: id, Error: text})
}
