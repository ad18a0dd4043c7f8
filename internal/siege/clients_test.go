package siege

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/store/memory"
)

// TestGateway_clientsThatLeave lets a client leave while it sends its request, before the answer
// begins and in the middle of it: the provider is left, too, and the next request finds the
// conversation as it was.
func TestGateway_clientsThatLeave(t *testing.T) {
	for _, protocol := range llmtest.Protocols() {
		t.Run(string(protocol), func(t *testing.T) {
			v := visit(t, protocol, true, 7, 40)
			up := provide(t, v)
			g := &gate{}
			g.open(t, up.URL)
			for i, at := range v.steps() {
				switch i % 4 {
				case 1: // in the middle of its request
					body := v.body(at)
					c := must(net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(g.url, "http://"), "/up")))
					fmt.Fprintf(c, "POST /up%s HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%s", v.path(), len(body), body[:len(body)/2])
					c.Close()
				case 2, 3:
					fault := llmtest.HangBeforeHeaders
					if i%4 == 3 {
						fault = llmtest.HangMidStream
					}
					up.fault.Store(fault)
					ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
					v.leave(ctx, cancel, g.url, at, up, fault)
					records, err := up.Settled(soon(t))
					if err != nil || !records[len(records)-1].Aborted {
						t.Fatalf("step %d: the provider did not hear that the client has left: %v", at, err)
					}
					up.fault.Store(llmtest.Fault(""))
				}
				before := len(up.Records())
				g.pass(20 * time.Second)
				if h := v.hear(v.request(soon(t), g.url, at)); h.status != 200 || h.err != nil {
					t.Fatalf("step %d: %d %s, %v", at, h.status, h.body, h.err)
				}
				if n := len(up.Records()) - before; n != 1 {
					t.Errorf("step %d: %d requests reached the provider, want 1", at, n)
				}
			}
			if list := must(g.store.List(t.Context())); len(list) != 1 || list[0].Messages < len(v.log)-1 {
				t.Errorf("the store has %d sessions, the first with %d messages of %d", len(list), list[0].Messages, len(v.log))
			}
			if problems := up.Problems(); len(problems) > 0 {
				t.Errorf("the provider finds fault: %s", problems)
			}
		})
	}
}

// ctx2 ends with the test, or when it takes far too long.
func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// TestGateway_slowReaders lets a client read nothing of a long answer while others work, one of
// them on the same conversation: nobody waits for it, and it gets all of it when it reads on.
func TestGateway_slowReaders(t *testing.T) {
	v := visit(t, llmtest.Anthropic, true, 7, 20)
	long := bytes.Repeat([]byte("0123456789abcde\n"), 1<<20) // 16 MiB: more than sockets hold
	up := provide(t, v)
	slow := keepGate(t, up.URL)
	g := &gate{}
	g.open(t, slow.URL)
	steps := v.steps()
	at := steps[10]
	slow.refuse(refusal{status: 200, header: http.Header{"Content-Type": {"text/event-stream"}}, body: string(long)}, 1)
	answer := must(v.http.Do(v.request(soon(t), g.url, at)))
	defer answer.Body.Close()
	first := make([]byte, 1000)
	if _, err := io.ReadFull(answer.Body, first); err != nil {
		t.Fatal(err)
	}
	beside := visit(t, llmtest.Chat, true, 8, 10)
	for _, step := range beside.steps() {
		if h := beside.hear(beside.request(soon(t), g.url, step)); h.status != 200 || h.err != nil {
			t.Fatalf("a client beside it: %d %s, %v", h.status, h.body, h.err)
		}
	}
	if h := v.hear(v.request(soon(t), g.url, at)); h.status != 200 || h.err != nil {
		t.Fatalf("the same conversation: %d %s, %v", h.status, h.body, h.err)
	}
	rest, err := io.ReadAll(answer.Body)
	if got := append(first, rest...); err != nil || !bytes.Equal(got, long) {
		t.Errorf("it read %d bytes, %v; said were %d", len(got), err, len(long))
	}
}

// TestGateway_aRefusalThatHangs lets a provider say only the head of a refusal of a pruned request:
// the original goes out all the same.
func TestGateway_aRefusalThatHangs(t *testing.T) {
	v := visit(t, llmtest.Anthropic, true, 7, 60)
	up := provide(t, v)
	g := &gate{}
	g.open(t, up.URL)
	base, steps := g.tap.base, v.steps()
	left := make(chan struct{})
	for i, at := range steps {
		original := v.body(at)
		g.pass(20 * time.Second)
		g.tap.forget()
		refused := false
		if i == 45 {
			g.tap.base = carrier(func(r *http.Request) (*http.Response, error) {
				body := must(io.ReadAll(r.Body))
				r.Body = io.NopCloser(bytes.NewReader(body))
				if bytes.Equal(body, original) {
					return base.RoundTrip(r)
				}
				refused = true
				return &http.Response{StatusCode: 400, Status: "400 Bad Request", Header: http.Header{}, Body: hung{left}, Request: r}, nil
			})
		}
		h := v.hear(v.request(soon(t), g.url, at))
		if h.status != 200 || h.err != nil {
			t.Fatalf("step %d: %d %s, %v", at, h.status, h.body, h.err)
		}
		g.tap.base = base
		if i == 45 && !refused {
			t.Fatal("the request was not pruned: the test does not show what it is to show")
		}
	}
}

type carrier func(*http.Request) (*http.Response, error)

func (c carrier) RoundTrip(r *http.Request) (*http.Response, error) { return c(r) }

// hung is a body that never comes, until it is closed.
type hung struct{ closed chan struct{} }

func (h hung) Read([]byte) (int, error) { <-h.closed; return 0, io.ErrUnexpectedEOF }
func (h hung) Close() error             { close(h.closed); return nil }

// TestGateway_nothingIsSentTwice lets a provider take a request on a connection that it had kept,
// and close it without an answer: net/http would send some such requests again by itself.
func TestGateway_nothingIsSentTwice(t *testing.T) {
	l := must(net.Listen("tcp", "127.0.0.1:0"))
	defer l.Close()
	var requests atomic.Int64
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				in := bufio.NewReader(c)
				for n := 0; ; n++ {
					r, err := http.ReadRequest(in)
					if err != nil {
						return
					}
					io.Copy(io.Discard, r.Body)
					requests.Add(1)
					if n == 1 {
						return
					}
					io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
				}
			}()
		}
	}()
	for _, name := range []string{"", "Idempotency-Key", "X-Idempotency-Key", "idempotency-key"} {
		v := visit(t, llmtest.Anthropic, false, 7, 10)
		g := &gate{}
		g.open(t, "http://"+l.Addr().String())
		requests.Store(0)
		for i, want := range []int{200, 502} {
			r := v.request(soon(t), g.url, v.steps()[2])
			if name != "" {
				r.Header[name] = []string{"i1"}
			}
			if h := v.hear(r); h.status != want {
				t.Errorf("%q: request %d is answered %d, %s, %v", name, i, h.status, h.body, h.err)
			}
		}
		if n := requests.Load(); n != 2 {
			t.Errorf("%q: the provider got %d requests, want 2", name, n)
		}
	}
}

// TestGateway_aStoreThatHangsHoldsUpNoEnd lets the store hang when an answer ends: the client hears
// the end all the same.
func TestGateway_aStoreThatHangsHoldsUpNoEnd(t *testing.T) {
	v := visit(t, llmtest.Anthropic, true, 7, 10)
	up := provide(t, v)
	kept := &sick{Store: memory.New()}
	g := &gate{store: kept, log: slog.New(slog.DiscardHandler)}
	g.open(t, up.URL)
	never := make(chan struct{})
	defer close(never)
	hangs := func(context.Context) error { <-never; return io.ErrClosedPipe }
	answer := must(v.http.Do(v.request(soon(t), g.url, v.steps()[3])))
	defer answer.Body.Close()
	kept.matter.Store(&hangs)
	if _, err := io.ReadAll(answer.Body); err != nil {
		t.Error(err)
	}
}
