package rpc

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/settings"
)

// Config says what a server tells of itself, and how it ends.
type Config struct {
	Version string // of the program
	Policy  string // the policy in force
	Auto    bool   // compaction.auto
	Store   string // the file of the sessions, "" in memory
	// Settings decide for messages without a session. Default: settings.Default().
	Settings *settings.Settings
	// Grace is how long requests that were received may take once the context of Serve has ended.
	// Default: 4 s.
	Grace time.Duration
	// Now tells the time. Default: time.Now.
	Now func() time.Time
}

// Server serves one client. It is made by New and used for one Serve.
type Server struct {
	config  Config
	engine  *winnow.Engine
	methods map[string]Method
	out     output
	client  client
	views   views
	events  events

	asked   chan struct{} // closed if the client asks to shut down
	idle    chan string   // sessions with requests, for goroutines without one; closed at the end
	running sync.WaitGroup

	mu        sync.Mutex
	ready     bool  // initialized
	closing   bool  // no request is accepted any more
	last      *call // the request to shut down
	summarize *format
	calls     map[string]*call   // not yet answered, by id
	queues    map[string][]*call // waiting behind the one that runs, by session
	bytes     int                // of the requests in calls
}

// New makes a server.
func New(c Config) *Server {
	if c.Now == nil {
		c.Now = time.Now
	}
	c.Grace = cmp.Or(c.Grace, 4*time.Second)
	s := &Server{config: c, methods: map[string]Method{}, out: output{lost: make(chan struct{})},
		client: client{requests: map[string]chan message{}},
		views:  views{boot: rand.Text()[:8] + ".", viewers: map[string]*viewer{}, readers: map[string]string{}},
		events: events{watched: map[string]bool{}}, asked: make(chan struct{}), idle: make(chan string),
		calls: map[string]*call{}, queues: map[string][]*call{}}
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
	s.engine, s.out.to = e, out
	ended := make(chan error, 1)
	go func() { ended <- s.readLines(work, in) }()
	var err error
	select {
	case err = <-ended:
		s.client.hangUp()
	case <-s.asked:
	case <-s.out.lost:
	case <-ctx.Done():
	}
	s.drain(ctx, stop)
	if s.last != nil {
		s.answer(s.last, Nothing{}, nil)
	}
	return errors.Join(err, s.out.end())
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
		case <-s.out.lost:
			s.client.hangUp()
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
	close(s.idle) // nothing is admitted any more
	s.events.end()
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
