// Package trace tells where the time of a request went, as spans that are sent to a collector by
// the OpenTelemetry protocol (OTLP over HTTP, as JSON). It is as much of OpenTelemetry as that
// takes: its own library with an exporter adds 3.2 MB to a program that is to stay below 60.
package trace

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
)

const (
	// most is how many spans wait to be sent; more are dropped, as requests never wait for them.
	most = 4096
	// batch is how many are sent at a time, and pause how long the first one waits for others.
	batch = 512
	pause = 2 * time.Second
)

// Tracer makes spans and sends them. A nil *Tracer does neither. It is safe for concurrent use.
type Tracer struct {
	endpoint string
	headers  map[string]string
	resource []attribute
	client   *http.Client
	log      *slog.Logger
	now      func() time.Time
	spans    chan span
	stopped  chan struct{}
	once     sync.Once
	done     sync.WaitGroup
}

// FromEnvironment makes a tracer as the usual variables say: OTEL_EXPORTER_OTLP_TRACES_ENDPOINT or
// OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS, OTEL_SERVICE_NAME. nil if no endpoint is
// set, or OTEL_SDK_DISABLED is true. Close it.
func FromEnvironment(getenv func(string) string, log *slog.Logger, now func() time.Time) *Tracer {
	endpoint := getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
	if base := getenv("OTEL_EXPORTER_OTLP_ENDPOINT"); endpoint == "" && base != "" {
		endpoint = strings.TrimSuffix(base, "/") + "/v1/traces"
	}
	if endpoint == "" || strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") {
		return nil
	}
	t := &Tracer{endpoint: endpoint, headers: map[string]string{}, log: log, now: now, spans: make(chan span, most),
		stopped: make(chan struct{}), client: &http.Client{Timeout: 10 * time.Second},
		resource: []attribute{{"service.name", value{cmp.Or(getenv("OTEL_SERVICE_NAME"), "winnow")}}}}
	for pair := range strings.SplitSeq(getenv("OTEL_EXPORTER_OTLP_HEADERS"), ",") {
		name, text, ok := strings.Cut(pair, "=")
		if decoded, err := url.PathUnescape(strings.TrimSpace(text)); ok && err == nil {
			t.headers[strings.TrimSpace(name)] = decoded
		}
	}
	t.done.Go(t.run)
	return t
}

// Close sends what waits, for at most ten seconds.
func (t *Tracer) Close() {
	if t == nil {
		return
	}
	t.once.Do(func() { close(t.stopped) })
	t.done.Wait()
}

// span is a span as OTLP has it.
type span struct {
	Trace      string      `json:"traceId"`
	ID         string      `json:"spanId"`
	Parent     string      `json:"parentSpanId,omitzero"`
	Name       string      `json:"name"`
	Kind       int         `json:"kind"` // 1 internal, 2 server, 3 client
	Start      string      `json:"startTimeUnixNano"`
	End        string      `json:"endTimeUnixNano"`
	Attributes []attribute `json:"attributes,omitempty"`
}

type attribute struct {
	Key   string `json:"key"`
	Value value  `json:"value"`
}

type value struct {
	Text string `json:"stringValue"`
}

type spanKey struct{}

// Start begins a span, a child of the one in the context, and returns a context with it and a
// function that ends it. attributes are names and values in turn: no content, no secrets.
func (t *Tracer) Start(ctx context.Context, name string, attributes ...string) (context.Context, func()) {
	if t == nil {
		return ctx, func() {}
	}
	s := span{Name: name, Kind: 1, ID: random(8), Start: t.stamp()}
	if parent, ok := ctx.Value(spanKey{}).(span); ok {
		s.Trace, s.Parent = parent.Trace, parent.ID
	} else {
		s.Trace = random(16)
	}
	for i := 0; i+1 < len(attributes); i += 2 {
		s.Attributes = append(s.Attributes, attribute{attributes[i], value{attributes[i+1]}})
	}
	return context.WithValue(ctx, spanKey{}, s), sync.OnceFunc(func() {
		s.End = t.stamp()
		select {
		case t.spans <- s:
		default: // the collector is too slow
		}
	})
}

// Request begins the span of a request that came, which goes on with its client's trace if its
// header traceparent names one.
func (t *Tracer) Request(r *http.Request, name string) (*http.Request, func()) {
	if t == nil {
		return r, func() {}
	}
	ctx := r.Context()
	// 00-TRACE-SPAN-FLAGS
	parts := strings.Split(r.Header.Get("Traceparent"), "-")
	if len(parts) == 4 && hexadecimal(parts[1], 32) && hexadecimal(parts[2], 16) {
		ctx = context.WithValue(ctx, spanKey{}, span{Trace: parts[1], ID: parts[2]})
	}
	ctx, end := t.Start(ctx, name, "http.request.method", r.Method)
	return r.WithContext(ctx), end
}

func hexadecimal(text string, n int) bool {
	return len(text) == n && strings.Trim(text, "0123456789abcdef") == "" && strings.Trim(text, "0") != ""
}

func (t *Tracer) stamp() string { return strconv.FormatInt(t.now().UnixNano(), 10) }

func random(n int) string {
	b := make([]byte, n)
	rand.Read(b) // it never fails
	return hex.EncodeToString(b)
}

// run sends spans until it is stopped.
func (t *Tracer) run() {
	var wait []span
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		select {
		case s := <-t.spans:
			if wait = append(wait, s); len(wait) < batch {
				continue
			}
		case <-timer.C:
			timer.Reset(pause)
		case <-t.stopped:
			for len(t.spans) > 0 {
				wait = append(wait, <-t.spans)
			}
			t.send(wait)
			return
		}
		t.send(wait)
		wait = nil
	}
}

type export struct {
	Resources []resourceSpans `json:"resourceSpans"`
}

type resourceSpans struct {
	Resource struct {
		Attributes []attribute `json:"attributes"`
	} `json:"resource"`
	Scopes []scopeSpans `json:"scopeSpans"`
}

type scopeSpans struct {
	Scope struct {
		Name string `json:"name"`
	} `json:"scope"`
	Spans []span `json:"spans"`
}

// send sends spans once; what a collector does not take is lost.
func (t *Tracer) send(spans []span) {
	if len(spans) == 0 {
		return
	}
	var r resourceSpans
	r.Resource.Attributes = t.resource
	s := scopeSpans{Spans: spans}
	s.Scope.Name = "winnow"
	r.Scopes = []scopeSpans{s}
	body, err := json.Marshal(export{[]resourceSpans{r}})
	if err != nil {
		t.log.Warn("traces could not be written", "error", err)
		return
	}
	ask, err := http.NewRequest(http.MethodPost, t.endpoint, bytes.NewReader(body))
	if err != nil {
		t.log.Warn("traces cannot be sent there: see OTEL_EXPORTER_OTLP_ENDPOINT", "error", err)
		return
	}
	ask.Header.Set("Content-Type", "application/json")
	for name, text := range t.headers {
		ask.Header.Set(name, text)
	}
	answer, err := t.client.Do(ask)
	if err != nil {
		t.log.Warn("traces could not be sent", "spans", len(spans), "error", err)
		return
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 64<<10))
	answer.Body.Close()
	if answer.StatusCode/100 != 2 {
		t.log.Warn("the collector refuses traces", "spans", len(spans), "status", answer.StatusCode)
	}
}
