package serve

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/winnowhq/winnow/gateway/tenant"
	"github.com/winnowhq/winnow/llm/upstream"
	"github.com/winnowhq/winnow/wire"
)

// relay carries requests to one upstream.
type relay struct {
	name    string
	to      *url.URL
	maxBody int64
	log     *slog.Logger
	metrics Metrics
	proxy   httputil.ReverseProxy
}

// serve relays a request. rest is what stands behind the upstream's name in its path, as it was
// sent; client is who sent it, "" if clients are not told apart.
func (p *relay) serve(w http.ResponseWriter, r *http.Request, rest, client string) {
	begun := time.Now()
	seen, way, metrics := &watched{ResponseWriter: w}, &passage{began: begun}, p.metricsOf(r)
	defer func() {
		metrics.Answered(way.ended(p.name, seen))
		told := []any{"upstream", p.name, "method", r.Method, "status", seen.status, "bytes", seen.bytes,
			"first_ms", ms(seen.first.Sub(begun)), "took_ms", ms(time.Since(begun))}
		if client != "" {
			told = append(told, "client", client)
		}
		if c := ClientOf(r.Context()); c != nil {
			told = append(told, "token", c.Token, "person", c.Person)
		}
		p.log.Info("relayed", told...)
	}()
	if !upgrades(r) { // to HTTP/2, as Java's client asks by itself: a server that does not speak it goes on without
		r.Header.Del("Upgrade")
	}
	switch {
	case r.Method == http.MethodConnect || r.Method == http.MethodTrace:
		refuse(seen, r, rest, http.StatusMethodNotAllowed, "invalid_request_error", "winnow relays no "+r.Method)
		return
	case upgrades(r) && answersUpgrade(rest):
		metrics.Refused("websocket")
		// Codex tries a WebSocket first, and asks over HTTP when it is told to.
		refuse(seen, r, rest, http.StatusUpgradeRequired, "invalid_request_error",
			"winnow relays Responses over HTTP, not over a WebSocket")
		return
	case climbs(rest):
		metrics.Refused("path")
		refuse(seen, r, rest, http.StatusBadRequest, "invalid_request_error",
			"winnow relays no path with . or .. in it")
		return
	case r.ContentLength > p.maxBody:
		p.failed(seen, r, &http.MaxBytesError{Limit: p.maxBody})
		return
	}
	// the server keeps an eye on its own
	in := r.WithContext(way.follow(context.WithValue(r.Context(), pathKey{}, rest)))
	if r.Body != nil && r.Body != http.NoBody {
		body := &sent{ReadCloser: http.MaxBytesReader(w, incoming{r.Body, way}, p.maxBody)}
		in = in.WithContext(context.WithValue(in.Context(), bodyKey{}, body))
		in.Body = body
	}
	in.URL = &url.URL{Path: strings.TrimPrefix(r.URL.Path, "/"+p.name),
		RawPath: strings.TrimPrefix(r.URL.RawPath, "/"+p.name), RawQuery: r.URL.RawQuery, ForceQuery: r.URL.ForceQuery}
	// An answer may begin while the end of the request is still being read; the server would close
	// its body then, and the answer would break off. HTTP/2 needs no word for it.
	_ = http.NewResponseController(w).EnableFullDuplex()
	p.proxy.ServeHTTP(seen, in)
}

// metricsOf are those of the tenant that asks, or of the listener.
func (p *relay) metricsOf(r *http.Request) Metrics {
	if access := AccessOf(r.Context()); access != nil {
		return access.Metrics
	}
	return p.metrics
}

// ms is a time in milliseconds, 0 for one that never came.
func ms(d time.Duration) float64 { return float64(max(d, 0).Microseconds()) / 1000 }

// pathKey is the key of the path as it was sent, and bodyKey that of the body.
type (
	pathKey struct{}
	bodyKey struct{}
)

// rewrite addresses a request to the upstream. ReverseProxy has taken out what is for this hop
// alone; what it takes out besides is put back.
func (p *relay) rewrite(r *httputil.ProxyRequest) {
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if values, ok := r.In.Header[name]; ok {
			r.Out.Header[name] = values
		}
	}
	base := strings.TrimSuffix(p.to.EscapedPath(), "/")
	sent, _ := r.In.Context().Value(pathKey{}).(string)
	to := *p.to
	to.Path, to.RawPath = strings.TrimSuffix(p.to.Path, "/")+r.In.URL.Path, ""
	if r.In.URL.RawPath != "" || to.EscapedPath() != base+sent {
		to.RawPath = base + sent
	}
	if to.EscapedPath() != base+sent && !strings.HasPrefix(base+sent, "//") {
		to.Opaque = base + sent // it is written in no way that url.URL would choose
	}
	to.RawQuery, to.ForceQuery = r.In.URL.RawQuery, r.In.URL.ForceQuery
	r.Out.URL, r.Out.Host = &to, ""
	r.Out.Trailer = r.In.Trailer // it is filled when the body has been read
}

// answered looks at the head of an answer before it is sent on.
func (p *relay) answered(answer *http.Response) error {
	if answer.StatusCode == http.StatusSwitchingProtocols {
		p.log.Warn("tunnelled: winnow sees nothing of it", "upstream", p.name)
	}
	return nil
}

// failed answers a request that did not get an answer.
func (p *relay) failed(w http.ResponseWriter, r *http.Request, err error) {
	var large *http.MaxBytesError
	var refused *tenant.Refusal
	switch {
	case errors.As(err, &refused):
		p.turnedAway(w, r, refused)
	case errors.As(err, &large):
		p.metricsOf(r).Refused("too_large")
		refuse(w, nil, r.URL.Path, http.StatusRequestEntityTooLarge, "request_too_large",
			"the request is larger than winnow relays")
	case errors.Is(context.Cause(r.Context()), ErrRevoked):
		refuse(w, r, r.URL.Path, http.StatusUnauthorized, "authentication_error", "winnow: "+ErrRevoked.Error())
	case r.Context().Err() != nil: // the client has left, or the listener ends
		panic(http.ErrAbortHandler)
	case broken(r.Context()):
		refuse(w, r, r.URL.Path, http.StatusBadRequest, "invalid_request_error", "the request's body cannot be read")
	default:
		p.metricsOf(r).Refused("no_answer")
		p.log.Error("no answer", "upstream", p.name, "why", Cause(err))
		refuse(w, r, r.URL.Path, http.StatusBadGateway, "api_error", "winnow got no answer from "+p.name+": "+Cause(err))
	}
}

// mostUnread is how much of a request that is refused is read all the same: as much as net/http
// reads.
const mostUnread = 256 << 10

// turnedAway answers a request of a tenant whose budget does not allow it.
func (p *relay) turnedAway(w http.ResponseWriter, r *http.Request, refused *tenant.Refusal) {
	c, name := ClientOf(r.Context()), ""
	if c != nil {
		name = c.Tenant
	}
	logRefused(p.log, c, refused)
	p.metricsOf(r).Refused(refused.Kind)
	if r.Body != nil { // a connection that ends with something unread may take the answer with it
		_, _ = io.CopyN(io.Discard, r.Body, mostUnread)
	}
	turnAway(w, r, r.URL.Path, name, refused)
}

// sent is the body of a request, and whether it could be read.
type sent struct {
	io.ReadCloser
	failed atomic.Bool
}

// Read implements io.Reader.
func (b *sent) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF && !errors.Is(err, http.ErrBodyReadAfterClose) {
		b.failed.Store(true)
	}
	return n, err
}

// broken reports whether there is no answer because of how the request was sent.
func broken(ctx context.Context) bool {
	b, ok := ctx.Value(bodyKey{}).(*sent)
	return ok && b.failed.Load()
}

// upgrades reports whether a request wants to speak WebSocket.
func upgrades(r *http.Request) bool { return strings.EqualFold(r.Header.Get("Upgrade"), "websocket") }

// answersUpgrade reports whether a WebSocket at a path is answered here: see relay.serve.
func answersUpgrade(rest string) bool { return strings.HasSuffix(wire.Route(rest), "/responses") }

// climbs reports whether a path has segments that lead elsewhere, as they are or percent-encoded.
func climbs(path string) bool {
	for segment := range strings.FieldsFuncSeq(path, func(r rune) bool { return r == '/' || r == '\\' }) {
		name, err := url.PathUnescape(segment)
		name, _, _ = strings.Cut(name, ";") // some servers take what follows for parameters of the segment
		if err == nil && (name == "." || name == ".." ||
			strings.Contains("/"+strings.ReplaceAll(name, `\`, "/")+"/", "/../")) {
			return true
		}
	}
	return false
}

// watched is the way back to a client, and what went along it.
type watched struct {
	http.ResponseWriter
	status int
	bytes  int
	first  time.Time
}

// Unwrap lets http.ResponseController flush and take over the connection.
func (w *watched) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *watched) WriteHeader(status int) {
	if status >= 200 || status == http.StatusSwitchingProtocols {
		w.status, w.first = status, time.Now()
		for _, name := range []string{"Content-Type", "Date"} { // the server would add them
			if h := w.Header(); h[name] == nil {
				h[name] = nil
			}
		}
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *watched) Write(data []byte) (int, error) {
	n, err := w.ResponseWriter.Write(data)
	w.bytes += n
	return n, err
}

// buffers are what answers are copied through.
type buffers struct{}

var free = sync.Pool{New: func() any { return new([32 << 10]byte) }}

func (buffers) Get() []byte     { return free.Get().(*[32 << 10]byte)[:] }
func (buffers) Put(data []byte) { free.Put((*[32 << 10]byte)(data)) }

// Direct carries requests to their upstreams and changes nothing: it asks for no compression, so
// that nothing is decoded, spells the names of headers as the client did, and follows no redirect.
// Connections that are dead are given up: see [upstream.Connections].
// What is said to winnow, in headers that begin with X-Winnow, stays here.
func Direct() http.RoundTripper {
	t := upstream.Connections()
	t.DisableCompression = true
	t.MaxIdleConnsPerHost = 64
	t.DialContext = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	return direct{t}
}

type direct struct{ *http.Transport }

// RoundTrip implements http.RoundTripper.
func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	out := *r
	out.Header = spelled(r)
	return d.Transport.RoundTrip(&out)
}
