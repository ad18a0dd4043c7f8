package providers

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/model"
)

// network is a server reached through pipes instead of sockets, so that a test can run in a bubble
// where time is not waited for.
type network struct {
	*http.Transport
	requests atomic.Int32
}

// serve starts a server and stops it with the test.
func serve(t *testing.T, handler http.HandlerFunc) *network {
	t.Helper()
	l := &listener{connections: make(chan net.Conn), closed: make(chan struct{})}
	n := &network{}
	var handled, ended sync.WaitGroup
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.requests.Add(1)
		handled.Add(1)
		defer handled.Done()
		handler(w, r)
	})}
	n.Transport = &http.Transport{DialContext: l.dial}
	ended.Go(func() { server.Serve(l) })
	t.Cleanup(func() {
		n.CloseIdleConnections()
		server.Close()
		ended.Wait()
		handled.Wait()
	})
	return n
}

type listener struct {
	connections chan net.Conn
	closed      chan struct{}
	once        sync.Once
}

func (l *listener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	mine, theirs := net.Pipe()
	select {
	case l.connections <- theirs:
		return mine, nil
	case <-l.closed:
		return nil, errors.New("connection refused")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.connections:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *listener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// key is the key that the tests send, and that must show nowhere.
const key = "sk-secret-0123456789"

// client is a client of a dialect on a network.
func client(t *testing.T, d dialect, transport http.RoundTripper, change ...func(*Provider)) llm.Client {
	t.Helper()
	p := Provider{Protocol: d.protocol, BaseURL: "http://upstream.test/v1", KeyEnv: "THE_KEY"}
	for _, c := range change {
		c(&p)
	}
	s, err := New(func(name string) string { return map[string]string{"THE_KEY": key}[name] },
		map[string]Provider{"house": p})
	if err != nil {
		t.Fatal(err)
	}
	s.Transport = transport
	c, err := s.Client("house")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// events answers with a stream, each event as a packet of its own.
func events(all ...[]string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, list := range all {
			for _, e := range list {
				if _, err := w.Write([]byte(e)); err != nil {
					return
				}
				w.(http.Flusher).Flush()
			}
		}
	}
}

// then answers with the beginning of a stream and goes on with something else.
func then(beginning []string, rest http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		events(beginning)(w, r)
		rest(w, r)
	}
}

// hang is silent until the client is gone.
func hang(_ http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body) // a server notices that the client is gone once it has read the request
	<-r.Context().Done()
}

// drip sends comments for ever.
func drip(w http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body)
	for r.Context().Err() == nil {
		if _, err := w.Write([]byte(": still here\n\n")); err != nil {
			return
		}
		w.(http.Flusher).Flush()
		select {
		case <-r.Context().Done():
		case <-time.After(time.Second):
		}
	}
}

// breakOff closes the connection amid the answer.
func breakOff(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// status answers with an error.
func status(code int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
		w.Write([]byte(body))
	}
}

// page answers with a page.
func page(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Write([]byte(text))
	}
}

var reader = model.Model{
	Provider: "house", ID: "model-a", Limits: model.Limits{Context: 200_000, Output: 8_000},
	Price: model.Price{Input: 1, Output: 10, CacheRead: 0.1, CacheWrite: 2},
}
