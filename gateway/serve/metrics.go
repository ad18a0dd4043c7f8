package serve

import (
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"sync/atomic"
	"time"
)

// Metrics count what a listener, or one tenant of it, relays, and answer GET /metrics. Package
// team/metrics has them. No label names a session, a client or a path.
type Metrics interface {
	// Answered counts a request whose answer has ended.
	Answered(Answered)
	// Refused counts a request that was not relayed, or got no answer, by one of RefusalCodes.
	Refused(code string)
	// Gauge and Counter add what another part of the program counts. Names begin with winnow_, and
	// labels have few values; a name that is taken panics. The function adds one. The counters of known
	// are shown from the start, at 0: Prometheus sees no increase in a counter that appears at 1.
	Gauge(name, help string, value func() float64)
	Counter(name, help string, labels []string, known ...[]string) (add func(values ...string))
	// ServeHTTP shows them.
	http.Handler
	// WithTenants shows them, and those of tenants with their names.
	WithTenants(tenants map[string]Metrics) http.Handler
}

// RefusalCodes are the codes of Metrics.Refused: those of the listener, then the kinds of
// tenant.Refusal.
var RefusalCodes = [...]string{
	"websocket", "path", "origin", "too_large", "no_answer",
	"rate", "concurrency", "budget", "reserved", "unmetered", "route", "model",
}

// Classes are the values of Answered.Class.
var Classes = [...]string{"1xx", "2xx", "3xx", "4xx", "5xx", "none"}

// Answered is a request whose answer has ended.
type Answered struct {
	Upstream, Class string // one of Classes, by the status; none: the client left before an answer
	Received, Sent  int64  // bytes of the bodies that the client sent and got
	// Before is the time from the arrival of the request until it left, without waiting for the
	// client; Forward that from the first byte of the answer until it was sent on. 0: not known.
	Before, Forward time.Duration
}

// Uncounted are metrics that count nothing.
type Uncounted struct{}

func (Uncounted) Answered(Answered)                   {}
func (Uncounted) Refused(string)                      {}
func (Uncounted) Gauge(_, _ string, _ func() float64) {}
func (Uncounted) Counter(_, _ string, _ []string, _ ...[]string) func(...string) {
	return func(...string) {}
}
func (u Uncounted) WithTenants(map[string]Metrics) http.Handler { return u }
func (Uncounted) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	http.Error(w, "404 metrics are counted by winnowd serve; winnow status shows what was saved", http.StatusNotFound)
}

// passage is the way of one request through winnow, with its times since it arrived.
type passage struct {
	began    time.Time
	received atomic.Int64 // bytes of its body
	waited   atomic.Int64 // nanoseconds for the client to send the body
	left     atomic.Int64 // nanoseconds until a connection to the upstream was wanted first, without waiting
	answered atomic.Int64 // nanoseconds until the first byte of the newest answer
}

// follow notes when a request leaves and when its answer comes. What is not sent by
// [http.Transport] is not noted.
func (p *passage) follow(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) {
			p.left.CompareAndSwap(0, max(1, int64(time.Since(p.began))-p.waited.Load()))
		},
		GotFirstResponseByte: func() { p.answered.Store(int64(time.Since(p.began))) },
	})
}

// incoming is the body of a request as the client sends it.
type incoming struct {
	io.ReadCloser
	passage *passage
}

func (b incoming) Read(data []byte) (int, error) {
	asked := time.Now()
	n, err := b.ReadCloser.Read(data)
	b.passage.waited.Add(int64(time.Since(asked)))
	b.passage.received.Add(int64(n))
	return n, err
}

// ended is a request whose answer has ended, and was seen on its way.
func (p *passage) ended(upstream string, seen *watched) Answered {
	a := Answered{Upstream: upstream, Class: "none", Received: p.received.Load(), Sent: int64(seen.bytes),
		Before: time.Duration(p.left.Load())}
	if seen.status > 0 {
		a.Class = strconv.Itoa(seen.status/100) + "xx"
	}
	if answered := p.answered.Load(); answered > 0 && !seen.first.IsZero() {
		a.Forward = max(1, seen.first.Sub(p.began)-time.Duration(answered))
	}
	return a
}
