package rpc

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/wire"
)

// Config says what a server tells of itself, and how it ends.
type Config struct {
	Version string // of the program
	Policy  string // the policy in force
	Auto    bool   // compaction.auto
	Store   string // the file of the sessions, "" in memory
	// Grace is how long requests that were received may take once the context of Serve has ended.
	// Default: 4 s.
	Grace time.Duration
	// Now tells the time. Default: time.Now.
	Now func() time.Time
}

// Server serves one client. It is made by New and used for one Serve.
type Server struct {
	config  Config
	auto    bool
	engine  *winnow.Engine
	methods map[string]Method
	boot    string // tells the states of this process from those of an earlier one
	views   atomic.Int64

	lost  chan struct{} // closed if the client cannot be written to
	asked chan struct{} // closed if the client asks to shut down
	idle  chan string   // sessions with requests, for goroutines without one; closed at the end

	writing sync.Mutex
	out     io.Writer
	broken  error // why nothing is written any more

	running  sync.WaitGroup
	watching sync.WaitGroup

	mu           sync.Mutex
	ready        bool  // initialized
	closing      bool  // no request is accepted any more
	last         *call // the request to shut down
	gone         bool  // the client answers nothing any more
	summarize    *format
	calls        map[string]*call   // not yet answered, by id
	queues       map[string][]*call // waiting behind the one that runs, by session
	bytes        int                // of the requests in calls
	requests     map[string]chan message
	number       int // of the last request to the client
	viewers      map[string]*viewer
	readers      map[string]string // the model of the newest view, by session
	watched      map[string]bool
	subscription *winnow.Subscription
}

// call is a request of the client.
type call struct {
	id     jsontext.Value
	method Method
	params jsontext.Value
	size   int
	ctx    context.Context
	cancel context.CancelFunc
}

// New makes a server.
func New(c Config) *Server {
	if c.Now == nil {
		c.Now = time.Now
	}
	c.Grace = cmp.Or(c.Grace, 4*time.Second)
	s := &Server{config: c, auto: c.Auto, methods: map[string]Method{}, boot: rand.Text()[:8] + ".",
		lost: make(chan struct{}), asked: make(chan struct{}), idle: make(chan string),
		calls: map[string]*call{}, queues: map[string][]*call{}, requests: map[string]chan message{},
		viewers: map[string]*viewer{}, readers: map[string]string{}, watched: map[string]bool{}}
	for _, m := range Methods() {
		s.methods[m.Name] = m
	}
	return s
}

// Serve answers the client until its input ends, it asks to shut down, or ctx ends. What was
// received by then is finished and answered first; after ctx has ended, for Grace at most. A
// goroutine that reads input may be left, for a read cannot be interrupted.
func (s *Server) Serve(ctx context.Context, e *winnow.Engine, in io.Reader, out io.Writer) error {
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	s.engine, s.out = e, out
	ended := make(chan error, 1)
	go func() { ended <- s.readLines(work, in) }()
	var err error
	select {
	case err = <-ended:
		s.hangUp()
	case <-s.asked:
	case <-s.lost:
	case <-ctx.Done():
	}
	s.drain(ctx, stop)
	if s.last != nil {
		s.answer(s.last, Nothing{}, nil)
	}
	s.writing.Lock() // nothing is written behind the end
	defer s.writing.Unlock()
	err = errors.Join(err, s.broken)
	s.broken = io.ErrClosedPipe
	return err
}

// drain waits for the requests that were received, and ends the subscription.
func (s *Server) drain(ctx context.Context, stop func()) {
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	done := make(chan struct{})
	go func() {
		s.running.Wait()
		close(done)
	}()
	go func() {
		select {
		case <-done:
		case <-s.lost:
			s.hangUp()
		}
	}()
	select {
	case <-done:
	case <-ctx.Done():
		select {
		case <-done:
		case <-time.After(s.config.Grace):
			stop()
			<-done
		}
	}
	s.mu.Lock()
	if s.subscription != nil {
		s.subscription.Close()
	}
	close(s.idle) // nothing is admitted any more
	s.mu.Unlock()
	s.watching.Wait()
}

// send writes a line. It waits for a client that does not read.
func (s *Server) send(m message) {
	line := m.line()
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.broken != nil {
		return
	}
	if _, err := s.out.Write(line); err != nil {
		s.broken = fmt.Errorf("the client cannot be written to: %w", err)
		close(s.lost)
	}
}

// readLines takes lines until there are none any more.
func (s *Server) readLines(ctx context.Context, in io.Reader) error {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := readLine(r)
		switch {
		case err == errLong:
			s.refuseLong(line)
			continue
		case len(bytes.TrimSpace(line)) > 0:
			s.take(ctx, line)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("the client cannot be read from: %w", err)
		}
	}
}

var errLong = errors.New("a line is too long")

// headBytes is how much of a line that is too long is looked at for its id.
const headBytes = 4 << 10

// refuseLong answers a line that was too long, of which this is the beginning: the request that
// it is, or the request of this server's that it is the answer to.
func (s *Server) refuseLong(head []byte) {
	why := failed(InvalidRequest, rule.TooLarge, "send less at a time",
		"a line is longer than %d bytes; it was skipped", MaxLine)
	id := idIn(head)
	s.mu.Lock()
	_, asked := s.requests[string(id)]
	s.mu.Unlock()
	if asked {
		text, _ := write(why) // texts and numbers
		s.replied(message{ID: id, Error: text})
		return
	}
	s.refuse(id, why)
}

// idIn is the id that an object begins with, before a member that is not read whole; nil without.
func idIn(head []byte) jsontext.Value {
	d := jsontext.NewDecoder(bytes.NewReader(head), session.ReadOptions())
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return nil
	}
	for {
		name, err := d.ReadToken()
		if err != nil || name.Kind() != '"' {
			return nil
		}
		member := name.String()
		value, err := d.ReadValue()
		if err != nil {
			return nil
		}
		if member == "id" && (value.Kind() == '"' || value.Kind() == '0') {
			return value.Clone()
		}
	}
}

// readLine reads a line of at most MaxLine bytes. Of a longer one it returns the beginning, with
// errLong.
func readLine(r *bufio.Reader) (line []byte, err error) {
	long := false
	for {
		piece, err := r.ReadSlice('\n')
		if long = long || len(line)+len(piece) > MaxLine; long {
			line = bytes.Clone(line[:min(len(line), headBytes)])
		} else {
			line = append(line, piece...)
		}
		switch {
		case err == bufio.ErrBufferFull:
		case long && (err == nil || err == io.EOF):
			return line, errLong
		default:
			return line, err
		}
	}
}

func (s *Server) refuse(id jsontext.Value, err *Failure) {
	if id == nil {
		id = jsontext.Value("null")
	}
	text, _ := write(err) // texts and numbers
	s.send(message{ID: id, Error: text})
}

// take takes one line.
func (s *Server) take(ctx context.Context, line []byte) {
	var m message
	if err := json.Unmarshal(line, &m, session.ReadOptions()); err != nil {
		switch text := jsontext.Value(line); {
		case !text.IsValid(session.ReadOptions()):
			s.refuse(nil, failed(ParseError, rule.BadInput, "send one JSON object a line",
				"the line is not JSON: %v", err))
		case text.Kind() == '[':
			s.refuse(nil, failed(InvalidRequest, rule.BadInput, "send one request a line", "batches are not supported"))
		default:
			s.refuse(nil, failed(InvalidRequest, rule.BadInput, "", "the line is not a request: %v", err))
		}
		return
	}
	known := len(m.ID) > 0 && (m.ID.Kind() == '"' || m.ID.Kind() == '0')
	switch {
	case m.Method == "" && known:
		s.replied(m)
	case m.Version != "2.0" || m.Method == "":
		s.refuse(nil, failed(InvalidRequest, rule.BadInput, "", `a request has "jsonrpc": "2.0", an id and a method`))
	case m.Method == "$/cancelRequest":
		s.abort(wire.ValueOf(m.Params).Get("id").Raw())
	case len(m.Method) > 2 && m.Method[:2] == "$/": // notifications that may be ignored
	case !known:
		s.refuse(nil, failed(InvalidRequest, rule.BadInput, "give it an id, a text or a number",
			"%s has no id, and nobody would learn what became of it: it was not done", m.Method))
	default:
		s.request(ctx, m, len(line))
	}
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
		s.mu.Unlock() // what comes behind it is read after it
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
	s.send(message{ID: c.id, Result: text})
}

// abort cancels a request that is not answered yet.
func (s *Server) abort(id jsontext.Value) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.calls[string(id)]; c != nil {
		c.cancel()
	}
}

func (s *Server) initialize(_ *call, p Initialize) (Initialized, error) {
	if !slices.Contains(p.Protocols, Protocol) {
		hint := fmt.Sprintf("use a client of protocol %d, or another version of winnow", Protocol)
		return Initialized{}, badInput(hint, "the client speaks the protocols %v, this is %d", p.Protocols, Protocol)
	}
	var f *format
	if p.Summarize != "" {
		var err error
		if f, err = formatOf(p.Summarize); err != nil {
			return Initialized{}, err
		}
	}
	s.mu.Lock()
	s.ready, s.summarize = true, f
	s.mu.Unlock()
	is := Initialized{Protocol: Protocol, Server: s.config.Version, Formats: formatNames(), Policy: s.config.Policy,
		Store: s.config.Store, MaxLine: MaxLine, MaxWaiting: MaxWaiting}
	for _, m := range Methods() {
		is.Methods = append(is.Methods, m.Name)
	}
	return is, nil
}

// Shutdown asks the server to end once all other requests are answered.
type Shutdown struct{}

// errLater is the end of a request that is answered last of all.
var errLater = errors.New("it is answered at the end")

func (s *Server) shutdown(c *call, _ Shutdown) (Nothing, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last != nil {
		return Nothing{}, failed(ShuttingDown, rule.Cancelled, "", "the engine is shutting down")
	}
	s.last, s.closing = c, true
	close(s.asked)
	return Nothing{}, errLater
}
