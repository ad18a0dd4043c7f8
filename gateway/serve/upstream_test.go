package serve

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// rawUpstream is a provider that is nothing but a socket: it keeps the bytes of each request and
// answers with the bytes that a test gives it.
type rawUpstream struct {
	net.Listener
	answer   func(w io.Writer, r *http.Request)
	all      sync.WaitGroup // the connections, and what accepts them
	requests []*bytes.Buffer
}

// rawly starts one. answer reads the request as far as it wants, and writes what it wants.
func rawly(t *testing.T, answer func(w io.Writer, r *http.Request)) *rawUpstream {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	u := &rawUpstream{Listener: l, answer: answer}
	t.Cleanup(func() { u.got() })
	u.all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			seen := new(bytes.Buffer)
			u.requests = append(u.requests, seen)
			u.all.Go(func() { u.serve(c, seen) })
		}
	})
	return u
}

func (u *rawUpstream) serve(c net.Conn, seen io.Writer) {
	defer c.Close()
	in := bufio.NewReader(io.TeeReader(c, seen))
	r, err := http.ReadRequest(in)
	if err != nil {
		return
	}
	u.answer(c, r)
}

// got ends it and returns the requests, in the order of their connections.
func (u *rawUpstream) got() (requests []string) {
	u.Close()
	u.all.Wait()
	for _, r := range u.requests {
		requests = append(requests, r.String())
	}
	return requests
}

// only is the one request that came, its head sorted by lines behind the first, and its body.
func (u *rawUpstream) only(t *testing.T) (head []string, body string) {
	t.Helper()
	requests := u.got()
	if len(requests) != 1 {
		t.Fatalf("the upstream got %d requests, want 1: %q", len(requests), requests)
	}
	return cut(requests[0])
}

func cut(message string) (head []string, body string) {
	text, body, _ := strings.Cut(message, "\r\n\r\n")
	head = strings.Split(text, "\r\n")
	slices.Sort(head[1:])
	return head, body
}

// drain reads a request to its end and answers 200.
func drain(w io.Writer, r *http.Request) {
	io.Copy(io.Discard, r.Body)
	io.WriteString(w, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")
}

// relayed starts a listener that relays to addresses under names, and ends it with the test: after
// that nothing of it may run.
func relayed(t *testing.T, c Config) net.Addr {
	t.Helper()
	before := runtime.NumGoroutine()
	l, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c.Host = l.Addr().String()
	if c.Transport == nil {
		c.Transport = Direct()
	}
	h, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- Until(ctx, l, h, 0, nil) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the listener ended with %v", err)
		}
		if d, ok := c.Transport.(direct); ok {
			d.CloseIdleConnections()
		}
		for range 100 { // the goroutines of connections end when they notice that these are closed
			if runtime.NumGoroutine() <= before {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		var stacks [64 << 10]byte
		t.Errorf("%d goroutines before, %d after:\n%s", before, runtime.NumGoroutine(), stacks[:runtime.Stack(stacks[:], true)])
	})
	return l.Addr()
}

// talk sends bytes on a connection of its own and returns what came back until it is closed.
func talk(t *testing.T, to net.Addr, message string) string {
	t.Helper()
	c, err := net.Dial("tcp", to.String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, message); err != nil {
		t.Fatal(err)
	}
	c.SetReadDeadline(time.Now().Add(20 * time.Second))
	got, err := io.ReadAll(c)
	if err != nil && len(got) == 0 { // who refuses a request does not read it to its end, which is a reset
		t.Fatal(err)
	}
	return string(got)
}

// written is a log that a test looks through.
type written struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (w *written) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(p)
}

func (w *written) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

func (w *written) log() *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug}))
}
