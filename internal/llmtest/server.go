package llmtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/winnowhq/winnow/token"
)

// Script is how an upstream behaves. The zero value answers "ok" to everything that is valid.
type Script struct {
	// Answer decides what is said; nil says "ok".
	Answer Answer
	// Window is the context window of every model, in tokens; 0 has no limit.
	Window int
	// MaxOutput is the most that a request may ask for as the limit of its answer, in tokens; 0 is
	// any.
	MaxOutput int
	// CacheMinimum is the smallest prefix that is cached, in tokens; 0 means the model's own (of
	// claude-haiku-4-5, 4,096), and 1,024 if the name is unknown.
	CacheMinimum int
	// LongestPrefix lets Anthropic's cache find the longest beginning of a prompt that it has, however
	// many blocks before a mark that ends.
	LongestPrefix bool
	// Binds ties Anthropic's thinking to the exact prompt that it was thought for: tools, system
	// prompt and messages. Behind another one it is refused with 400.
	Binds bool
	// CacheLifetime is how long OpenAI's and Gemini's caches remember; 0 means ten minutes and
	// five.
	CacheLifetime time.Duration
	// Now is the clock by which the cache forgets; nil means time.Now.
	Now func() time.Time
	// Counter estimates tokens; nil means token.Linear.
	Counter token.Counter
	// Bare takes a block of a prompt for what the Counter counts in its texts, each for itself, and
	// nothing for the signs around them.
	Bare bool
	// Drip is the pause of the fault SlowDrip between two bits of an event; 0 means 2 ms.
	Drip time.Duration
	// Lenient accepts requests that the provider would refuse. Their problem is recorded all the
	// same.
	Lenient bool
}

// Server is a running upstream.
type Server struct {
	// URL is its root, without a slash at the end: http://127.0.0.1:PORT.
	URL string

	script  Script
	cache   prefixes
	earlier earlier
	count   token.Counter
	http    *http.Server

	ctx   context.Context // ends with Close
	close context.CancelFunc

	asking sync.Mutex // held while the script decides

	mu       sync.Mutex
	changed  chan struct{} // closed and replaced when a request ends
	listener net.Listener  // nil while the server is down
	serving  chan struct{} // closed when the listener of now is left
	closed   bool
	numbers  int
	records  []*Record
	others   []string
	injected []Fault
	conns    map[net.Conn]bool
	busy     sync.WaitGroup // handlers
}

// New starts an upstream on a free port of loopback. It runs until Close.
func New(script Script) (*Server, error) {
	s := &Server{script: script, changed: make(chan struct{}), conns: map[net.Conn]bool{}}
	if s.script.Answer == nil {
		s.script.Answer = Text("ok")
	}
	if s.script.Now == nil {
		s.script.Now = time.Now
	}
	if s.script.Drip == 0 {
		s.script.Drip = 2 * time.Millisecond
	}
	if s.script.Counter == nil {
		s.script.Counter = token.Linear{}
	}
	s.count = token.NewMemo(s.script.Counter, 0)
	s.cache.minimum, s.cache.lifetime = script.CacheMinimum, script.CacheLifetime
	s.cache.longest = script.LongestPrefix
	s.ctx, s.close = context.WithCancel(context.Background())
	s.http = &http.Server{
		Handler:   http.HandlerFunc(s.serve),
		ConnState: s.connection,
		ErrorLog:  log.New(io.Discard, "", 0),
	}
	if err := s.listen("127.0.0.1:0"); err != nil {
		s.close()
		return nil, fmt.Errorf("llmtest: start on loopback: %w", err)
	}
	s.URL = "http://" + s.listener.Addr().String()
	return s, nil
}

func (s *Server) listen(address string) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	done := make(chan struct{})
	s.listener, s.serving = listener, done
	go func() {
		defer close(done)
		s.http.Serve(listener) // returns when the listener or the server is closed
	}()
	return nil
}

// BaseURL is the root as the provider's official client library takes it: with /v1 for OpenAI's,
// bare for the others.
func (s *Server) BaseURL(p Protocol) string {
	if p == Chat || p == Responses {
		return s.URL + "/v1"
	}
	return s.URL
}

// Down closes the port and every connection: further ones are refused until Up.
func (s *Server) Down() {
	s.mu.Lock()
	listener, serving := s.listener, s.serving
	s.listener = nil
	conns := slices.Collect(maps.Keys(s.conns))
	s.mu.Unlock()
	if listener == nil {
		return
	}
	listener.Close()
	<-serving
	for _, c := range conns {
		c.Close()
	}
}

// Up opens the port that Down closed.
func (s *Server) Up() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener != nil || s.closed {
		return nil
	}
	if err := s.listen(s.URL[len("http://"):]); err != nil {
		return fmt.Errorf("llmtest: open %s again: %w", s.URL, err)
	}
	return nil
}

// Close ends the server, hanging requests included, and waits until none is left.
func (s *Server) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		s.busy.Wait()
		return nil
	}
	s.closed = true
	serving := s.serving
	s.mu.Unlock()
	s.close()
	err := s.http.Close()
	<-serving
	s.busy.Wait()
	if errors.Is(err, net.ErrClosed) {
		err = nil
	}
	return err
}

// connection keeps the connections that are open.
func (s *Server) connection(c net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch state {
	case http.StateNew:
		s.conns[c] = true
	case http.StateClosed, http.StateHijacked:
		delete(s.conns, c)
	}
}

// Inject puts faults on the next valid requests, one each, before anything that the script says.
func (s *Server) Inject(faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.injected = append(s.injected, faults...)
}

// Records returns what was asked so far, oldest first, with what became of it.
func (s *Server) Records() []Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	records := make([]Record, len(s.records))
	for i, r := range s.records {
		records[i] = *r
	}
	return records
}

// Problems returns what was wrong with requests that the provider would refuse, oldest first: a
// test asserts that the list is empty.
func (s *Server) Problems() []string {
	var problems []string
	for _, r := range s.Records() {
		if r.Problem != "" {
			problems = append(problems, fmt.Sprintf("request %d (%s): %s", r.Number, r.Protocol, r.Problem))
		}
	}
	return problems
}

// Others returns the method and path of every request outside the protocols; they were answered
// with 404, and HEAD with 200.
func (s *Server) Others() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.others)
}

// Forget drops what was recorded, not what the cache holds. Numbers go on.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records, s.others = nil, nil
}

// Settled waits until every request has ended, and returns the records; the error is the context's.
// A client that has its answer, or has given it up, may be ahead of the server: a test that asserts
// what the server saw of the end waits for it.
func (s *Server) Settled(ctx context.Context) ([]Record, error) {
	for {
		s.mu.Lock()
		open := slices.ContainsFunc(s.records, func(r *Record) bool { return r.Ended.IsZero() })
		changed := s.changed
		s.mu.Unlock()
		if !open {
			return s.Records(), nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return s.Records(), ctx.Err()
		}
	}
}

// update changes a record.
func (s *Server) update(r *Record, change func(*Record)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(r)
}
