// Package serve relays the requests of agents to their providers: /NAME/rest goes to the upstream
// that is configured under NAME, byte for byte as it came, and the answer comes back as it arrives.
//
// What a request becomes on its way is for the http.RoundTripper that carries it. Nobody but this
// computer gets in: Listen accepts loopback addresses only, the routes that are not relayed check
// Host and Origin, and those that are relayed refuse web pages. A listener at another address
// (ListenOpenly) is for clients with tokens.
package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/gateway/tenant"
)

// Config says what is relayed, and where to.
type Config struct {
	// Upstreams are the addresses of the providers by the name that is the first segment of a
	// path: "anthropic": "https://api.anthropic.com". What stands behind the name in a request is
	// put behind the address. At least one is needed.
	Upstreams map[string]string
	// Transport carries the requests; it ends in Direct, which leaves every byte alone. Default:
	// Direct().
	Transport http.RoundTripper
	// Metrics count, and are what GET /metrics shows. Default: nothing is counted.
	Metrics Metrics
	// Mode is what the transport does, for Detect. Default: "off".
	Mode string
	// Host is the address that the listener is bound to, which requests for its own routes may name
	// beside localhost.
	Host string
	// MaxBody bounds the body of a request in bytes. Default 256 MiB: the largest that a provider
	// of a model accepts is 32 MB, files that are uploaded are larger.
	MaxBody int64
	// Clients are the names of those who may ask, with the hashes of their tokens (see tenant.NewSecret).
	// If there are any, every request needs a token but those for /healthz and /readyz. Default:
	// anyone who reaches the listener may ask.
	Clients map[string]string
	// Admit keeps the request of one of Clients until left is called. The context that it returns
	// is the request's, and ends early when the client may ask no more. Token is the hash of its
	// token. Default: requests end by themselves.
	Admit func(ctx context.Context, c *Client) (_ context.Context, left func())
	// Origins are the origins of web pages whose requests are relayed: "https://agent.example".
	// Those of others are refused, with and without tokens. Default: no page may ask.
	Origins []string
	// Authenticator says who may ask where tenants share the listener, beside Clients. Default: there
	// are no tenants.
	Authenticator Authenticator
	// Ready says why no requests should be sent here, in words that hold no content; what the log
	// should have it tells itself. Default: they may be.
	Ready func(ctx context.Context) error
	// Ending reports that the listener is about to end. GET /healthz says so, and balancers send
	// requests elsewhere. Default: it is not.
	Ending func() bool
	// Page answers GET / for browsers, and everything under /~/; it checks for itself what changes
	// something. What it gets has no token, and says in ClientHeader whose it was. Default: nobody
	// does.
	Page http.Handler
	// Jobs is a page of the work beside requests, under /jobs; of tenants' clients those with the
	// scope Admin may see it, Clients may not. An upstream of that name hides it. Default: there is
	// none.
	Jobs http.Handler
	// Admin answers everything under Administered, for tenants' clients with the scope Admin that
	// show a token. Default: there is nothing.
	Admin http.Handler
	// MCP answers /mcp for this computer's user, where requests need no token. Tenants have their
	// own: Access.MCP. An upstream of that name hides it. Default: there is none.
	MCP http.Handler
	// Log is told of each request: method, upstream, status, times and sizes, never content.
	// Default: nobody.
	Log *slog.Logger
}

// maxBody is the default of Config.MaxBody.
const maxBody = 256 << 20

// Names are the upstreams that everybody has, by name.
func Names() map[string]string {
	return map[string]string{
		"anthropic": "https://api.anthropic.com",
		"openai":    "https://api.openai.com",
		"gemini":    "https://generativelanguage.googleapis.com",
	}
}

// New returns the handler of a listener.
func New(c Config) (http.Handler, error) {
	if len(c.Upstreams) == 0 {
		return nil, errors.New("serve: there is no upstream to relay to")
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Transport == nil {
		c.Transport = Direct()
	}
	if c.MaxBody <= 0 {
		c.MaxBody = maxBody
	}
	if c.Metrics == nil {
		c.Metrics = Uncounted{}
	}
	h := &handler{Config: c, clients: tenant.OfClients(c.Clients), relays: map[string]*relay{}}
	for name, address := range c.Upstreams {
		to, err := Upstream(name, address)
		if err != nil {
			return nil, fmt.Errorf("serve: %w", err)
		}
		r := &relay{name: name, to: to, maxBody: c.MaxBody, log: c.Log, metrics: c.Metrics}
		r.proxy = httputil.ReverseProxy{
			Rewrite: r.rewrite, Transport: c.Transport, FlushInterval: -1, ModifyResponse: r.answered,
			ErrorHandler: r.failed, BufferPool: buffers{},
			ErrorLog: slog.NewLogLogger(c.Log.Handler(), slog.LevelDebug),
		}
		h.relays[name] = r
	}
	return h, nil
}

// Upstream checks the name and the address of an upstream.
func Upstream(name, address string) (*url.URL, error) {
	if name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") != "" ||
		slices.Contains(own, "/"+name) || strings.Trim(name, ".") == "" ||
		strings.HasPrefix(name, tokenPrefix) {
		return nil, fmt.Errorf("%q cannot name an upstream: use letters, digits, - and _, not healthz, metrics, "+
			"readyz, or "+
			"%s first", name, tokenPrefix)
	}
	to, err := url.Parse(address)
	switch {
	case err != nil || to.Host == "" || to.Scheme != "http" && to.Scheme != "https":
		return nil, fmt.Errorf("%s: it is not an address; write one like https://host", name)
	case to.User != nil:
		return nil, fmt.Errorf("%s: a user or password in an address would be kept; the client sends its own", name)
	case to.RawQuery != "" || to.ForceQuery || to.Fragment != "":
		return nil, fmt.Errorf("%s: an address of an upstream ends with its path", name)
	}
	return to, nil
}

// handler tells what is relayed from the routes of the listener itself.
type handler struct {
	Config
	clients *tenant.Directory
	relays  map[string]*relay
}

// own are the routes that are not relayed.
var own = []string{"/", "/healthz", "/metrics", "/readyz"}

// ServeHTTP implements http.Handler. The path is looked at as it was sent: nothing is cleaned or
// redirected.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	sent, _, _ := strings.Cut(r.RequestURI, "?")
	r, path, token, client := h.admitted(r, sent)
	if slices.Contains(probed, path) {
		h.probe(w, r, path)
		return
	}
	name, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	to := h.relays[name]
	if to != nil && h.strange(r) {
		h.Log.Warn("refused: a web page asks", "upstream", name, "origin", r.Header.Get("Origin"))
		h.Metrics.Refused("origin")
		refuse(w, r, "/"+rest, http.StatusForbidden, "permission_error", "winnow relays no requests of web pages: if this "+
			"page is an agent of yours, add its origin to gateway.origins")
		return
	}
	if h.Authenticator != nil && h.authenticate(w, r, path, token, client) {
		return
	}
	if client != "" && h.Admit != nil {
		ctx, left := h.Admit(r.Context(), &Client{Who: client, Token: tenant.HashOf(token)})
		defer left()
		r = r.WithContext(ctx)
	}
	switch {
	case len(h.Clients) > 0 && client == "":
		h.unknown(w, r, path, name)
	case strings.HasPrefix(path, "/") && to != nil:
		to.serve(w, r, strings.TrimPrefix(path, "/"+name), client)
	case len(h.Clients) == 0 && !h.trusted(r):
		h.Log.Warn("refused", "host", r.Host, "origin", r.Header.Get("Origin"))
		http.NotFound(w, r)
	case h.Page != nil && (strings.HasPrefix(path, under) || path == "/" && browses(r)):
		h.Page.ServeHTTP(w, r)
	case h.Jobs != nil && ofJobs(path) && len(h.Clients) == 0:
		h.Jobs.ServeHTTP(w, r)
	case h.MCP != nil && path == forAgents && len(h.Clients) == 0:
		h.MCP.ServeHTTP(w, r)
	case !slices.Contains(own, path):
		h.nowhere(w, r, path)
	case !onlyReads(r):
		useGet(w)
	case path == "/metrics":
		h.Metrics.ServeHTTP(w, r)
	default:
		text(w, "winnow relays to "+h.known()+"\n")
	}
}

// probe answers whatever looks after programs. A balancer or kubelet asks by any name, or by none.
func (h *handler) probe(w http.ResponseWriter, r *http.Request, path string) {
	switch {
	case !onlyReads(r):
		useGet(w)
	case path == "/readyz" && h.Ready != nil:
		if err := h.Ready(r.Context()); err != nil {
			http.Error(w, "not ready: "+err.Error(), http.StatusServiceUnavailable)
			return
		}
		text(w, "ok\n")
	case h.Ending != nil && h.Ending():
		http.Error(w, "winnow is about to end", http.StatusServiceUnavailable)
	default:
		w.Header().Set(modeHeader, cmp.Or(h.Mode, "off"))
		text(w, "ok\n")
	}
}

// onlyReads reports whether a request changes nothing.
func onlyReads(r *http.Request) bool {
	return r.Method == http.MethodGet || r.Method == http.MethodHead
}

// useGet answers a request that would change what can only be read.
func useGet(w http.ResponseWriter) {
	w.Header().Set("Allow", "GET, HEAD")
	http.Error(w, "405 use GET", http.StatusMethodNotAllowed)
}

// unknown answers a request that shows no token that anybody has. name is the upstream that it
// asks.
func (h *handler) unknown(w http.ResponseWriter, r *http.Request, path, name string) {
	h.Log.Warn("refused: no client has the token", "from", r.RemoteAddr)
	w.Header().Set("WWW-Authenticate", "Winnow")
	message := "winnow knows no client with this token: show one in the header x-winnow-token, or before the " +
		"upstream in the path, as in /TOKEN/" + cmp.Or(name, "NAME") + "/…"
	if len(h.Clients) == 0 && h.Authenticator.Empty() {
		message = "winnow has no tenant yet, so nobody may ask: its operator makes one with `winnowd tenant add " +
			"NAME`, and its token with `winnowd tenant token add NAME`"
	}
	refuse(w, r, path, http.StatusUnauthorized, "authentication_error", message)
}

// nowhere answers a request for a path that leads to no upstream.
func (h *handler) nowhere(w http.ResponseWriter, r *http.Request, path string) {
	refuse(w, r, path, http.StatusNotFound, "not_found_error", fmt.Sprintf(
		"winnow relays to the upstreams %s: put one before the path, as in http://%s/%s%s",
		h.known(), r.Host, slices.Sorted(maps.Keys(h.relays))[0], "/"+strings.TrimPrefix(path, "/")))
}

// known lists the upstreams.
func (h *handler) known() string { return strings.Join(slices.Sorted(maps.Keys(h.relays)), ", ") }

// under is where what belongs to the page stands. No upstream has such a name.
const under = "/~/"

// forAgents is where the server of the Model Context Protocol is.
const forAgents = "/mcp"

// ofJobs reports whether a path is of the page of jobs.
func ofJobs(path string) bool { return path == "/jobs" || strings.HasPrefix(path, "/jobs/") }

// browses reports whether a request is a browser's for a page.
func browses(r *http.Request) bool { return strings.Contains(r.Header.Get("Accept"), "text/html") }

// probed are the routes that need no token and check no Host: what looks after programs asks them,
// and they tell nothing.
var probed = []string{"/healthz", "/readyz"}

func text(w http.ResponseWriter, line string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write([]byte(line)) // who asked may have left
}

// trusted reports whether a request for a route of our own may come from this computer's user: it
// names this computer, so that no page reaches it by a name that leads here, and no page of another
// origin sent it.
func (h *handler) trusted(r *http.Request) bool {
	if !h.names(r.Host) {
		return false
	}
	scheme := "http://"
	if r.TLS != nil {
		scheme = "https://"
	}
	origins := r.Header.Values("Origin")
	return len(origins) == 0 || len(origins) == 1 && origins[0] == scheme+r.Host
}

// strange reports whether a browser says that a page sent a request that is none of ours, nor one
// that is configured. Agents that are no pages say nothing of the kind.
func (h *handler) strange(r *http.Request) bool {
	if origins := r.Header.Values("Origin"); len(origins) > 0 {
		return !h.trusted(r) && (len(origins) > 1 || !slices.Contains(h.Origins, origins[0]))
	}
	site := r.Header.Get("Sec-Fetch-Site")
	return site == "cross-site" || site == "same-site" // as of another port of this computer
}

// names reports whether a Host is one of this computer.
func (h *handler) names(host string) bool {
	if host != "" && host == h.Host {
		return true
	}
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		name, port = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"), ""
	}
	return strings.Trim(port, "0123456789") == "" && loopback(name)
}

// loopback reports whether a name or an address is one of this computer that no other one reaches.
func loopback(name string) bool {
	ip := net.ParseIP(name)
	return strings.EqualFold(name, "localhost") || ip != nil && ip.IsLoopback()
}
