package serve

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"
)

// relay carries requests to one upstream.
type relay struct {
	name    string
	to      *url.URL
	maxBody int64
	log     *slog.Logger
	proxy   httputil.ReverseProxy
}

// serve relays a request. rest is what stands behind the upstream's name in its path, as it was
// sent.
func (p *relay) serve(w http.ResponseWriter, r *http.Request, rest string) {
	begun := time.Now()
	seen := &watched{ResponseWriter: w}
	defer func() {
		p.log.Info("relayed", "upstream", p.name, "method", r.Method, "status", seen.status, "bytes", seen.bytes,
			"first_ms", ms(seen.first.Sub(begun)), "took_ms", ms(time.Since(begun)))
	}()
	switch {
	case upgrades(r) && strings.HasSuffix(rest, "/responses"):
		// Codex tries a WebSocket first, and asks over HTTP when it is told to.
		refuse(seen, rest, http.StatusUpgradeRequired, "invalid_request_error",
			"winnow relays Responses over HTTP, not over a WebSocket")
		return
	case climbs(rest):
		refuse(seen, rest, http.StatusBadRequest, "invalid_request_error",
			"winnow relays no path with . or .. in it")
		return
	case r.ContentLength > p.maxBody:
		p.failed(seen, r, &http.MaxBytesError{Limit: p.maxBody})
		return
	}
	in := r.WithContext(context.WithValue(r.Context(), pathKey{}, rest)) // the server keeps an eye on its own
	if r.Body != nil && r.Body != http.NoBody {
		in.Body = http.MaxBytesReader(w, r.Body, p.maxBody)
	}
	in.URL = &url.URL{Path: strings.TrimPrefix(r.URL.Path, "/"+p.name),
		RawPath: strings.TrimPrefix(r.URL.RawPath, "/"+p.name), RawQuery: r.URL.RawQuery, ForceQuery: r.URL.ForceQuery}
	// An answer may begin while the end of the request is still being read; the server would close
	// its body then, and the answer would break off. HTTP/2 needs no word for it.
	_ = http.NewResponseController(w).EnableFullDuplex()
	p.proxy.ServeHTTP(seen, in)
}

// ms is a time in milliseconds, 0 for one that never came.
func ms(d time.Duration) float64 { return float64(max(d, 0).Microseconds()) / 1000 }

// pathKey is the key of the path as it was sent.
type pathKey struct{}

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
	switch {
	case errors.As(err, &large):
		refuse(w, r.URL.Path, http.StatusRequestEntityTooLarge, "request_too_large",
			"the request is larger than winnow relays")
	case r.Context().Err() != nil: // the client has left, or the listener ends
		panic(http.ErrAbortHandler)
	default:
		p.log.Error("no answer", "upstream", p.name, "why", why(err))
		refuse(w, r.URL.Path, http.StatusBadGateway, "api_error", "winnow got no answer from "+p.name+": "+why(err))
	}
}

// upgrades reports whether a request wants to speak another protocol.
func upgrades(r *http.Request) bool { return r.Header.Get("Upgrade") != "" }

// climbs reports whether a path has segments that lead elsewhere, as they are or percent-encoded.
func climbs(path string) bool {
	for segment := range strings.FieldsFuncSeq(path, func(r rune) bool { return r == '/' || r == '\\' }) {
		if name, err := url.PathUnescape(segment); err == nil && (name == "." || name == ".." ||
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
// What is said to winnow, in headers that begin with X-Winnow, stays here.
func Direct() http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
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
