package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/winnowhq/winnow/gateway/tenant"
)

// Authenticator says who may ask, through a listener that tenants share.
type Authenticator interface {
	// Closed reports whether every request needs a token.
	Closed() bool
	// Empty reports whether there is no tenant.
	Empty() bool
	// Away is why nobody can be told apart at the moment, as a database cannot be read, nil if
	// everybody can. Then nobody gets in.
	Away() error
	// Client returns the client that a token belongs to, nil if it is unknown, expired or revoked.
	Client(token string) *Client
	// Viewer is who has signed in with a browser, nil if nobody has. It is not asked about
	// requests that are relayed.
	Viewer(r *http.Request) *Client
	// Enter is asked before a request is answered. relayed requests count for limits and budgets.
	// Either of refused and err says why there is no access; of err the log has been told, and of
	// refused the metrics of the tenant.
	Enter(ctx context.Context, g *Client, relayed bool) (_ *Access, refused *tenant.Refusal, err error)
	// Others are the names of all tenants, for a client who may see them.
	Others() []string
	// List answers who may see all tenants with the list of them. It stands at "/~t/".
	List() http.Handler
	// SignIn answers the routes under "/~sign/", by which browsers sign in and out; nil if they
	// cannot.
	SignIn() http.Handler
	// Audit notes what a client does that belongs to no tenant's sessions. What cannot be noted is
	// not to be done.
	Audit(ctx context.Context, c *Client, did, what string) error
	// Metrics are those of all tenants that are at hand, by name.
	Metrics() map[string]Metrics
}

// Client is who asks.
type Client struct {
	Tenant string
	Who    string // the id of the token, or the person who signed in
	Token  string // its id; "" of somebody who signed in
	// Person is the owner of the token, or who signed in; "" if the token has no owner.
	Person string
	Scopes tenant.Scopes
	// Since is when somebody signed in, to a second; zero of a token.
	Since time.Time
	// Elsewhere reports that a client who may sees another tenant than its own.
	Elsewhere bool
}

// Access is what a client has while a request lasts: everything is its tenant's own.
type Access struct {
	// Context is that of the request. It ends early, with the cause ErrRevoked, when the client may
	// ask no more.
	Context context.Context
	// Carrier carries what is relayed.
	Carrier http.RoundTripper
	Metrics Metrics
	Page    http.Handler // nil if there is none
	MCP     http.Handler // the tools that recall what was left out; nil if there are none
	// Keys are the keys that the server holds for the tenant, by upstream.
	Keys map[string]Key
	// Held reports that the request is sent with a key of the server; known once it is relayed.
	Held bool
	// Allows says why a request may not be sent, nil if it may; held: with a key of the server.
	// nil allows every request.
	Allows func(method, path string, held bool) *tenant.Refusal
	// Counted reports that a budget depends on what requests cost: a client cannot ask for one that
	// is not counted.
	Counted bool
	// Warning is what the budget says, nil for nothing.
	Warning *tenant.Verdict
	// Leave is called when the request has ended.
	Leave func()
}

// Key is a key of a provider that the server holds.
type Key struct {
	Name   string // for people
	Header string // that it is sent in
	Value  string // the whole value of the header; "" if there is none
	Unread error  // why the key cannot be read now; without it and a Value the configuration lacks it
}

// Payer is whom requests count for within the tenant: the person, or the token if it has no owner.
func (c *Client) Payer() string {
	if c == nil {
		return ""
	}
	return cmp.Or(c.Person, c.Token)
}

// ErrRevoked is why a request ends whose token was revoked or has expired, or whose tenant was
// removed, while it was under way.
var ErrRevoked = errors.New("the token counts no more")

// BudgetHeader is in the answers of a tenant whose budget is nearly spent: see
// [tenant.Verdict.Header].
const BudgetHeader = "X-Winnow-Budget"

type (
	accessKey struct{}
	clientKey struct{}
)

// AccessOf is the access within which a request is relayed, nil if it is no tenant's.
func AccessOf(ctx context.Context) *Access {
	s, _ := ctx.Value(accessKey{}).(*Access)
	return s
}

// ClientOf is who asks, nil if it is no tenant's request.
func ClientOf(ctx context.Context) *Client {
	g, _ := ctx.Value(clientKey{}).(*Client)
	return g
}

// signing is where browsers sign in and out, and seenAs where a client who may sees another tenant.
const (
	signing = "/~sign/"
	seenAs  = "/~t/"
)

// authenticate answers a request where tenants share the listener. It reports whether it did: a
// client of Config.Clients goes on as ever.
func (h *handler) authenticate(w http.ResponseWriter, r *http.Request, path, shown, client string) bool {
	name, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	to := h.relays[name]
	if client != "" {
		return false
	}
	if why := h.Authenticator.Away(); why != nil {
		w.Header().Set("Retry-After", "5")
		refuse(w, r, path, http.StatusServiceUnavailable, "api_error",
			"winnow cannot read who may ask, as its database does not answer: try again soon")
		return true
	}
	if !h.Authenticator.Closed() {
		return false
	}
	if in := h.Authenticator.SignIn(); in != nil && strings.HasPrefix(path, signing) {
		in.ServeHTTP(w, r)
		return true
	}
	asKey := shownAsKey(r)
	if shown == "" {
		shown = asKey
	}
	var g *Client
	if shown != "" {
		g = h.Authenticator.Client(shown)
	} else if to == nil && !forTokens(path) {
		g = h.Authenticator.Viewer(r)
	}
	if g == nil {
		if shown == "" && to == nil && !forTokens(path) && browses(r) && r.Method == http.MethodGet &&
			h.Authenticator.SignIn() != nil {
			http.Redirect(w, r, signing+"in?to="+url.QueryEscape(r.URL.RequestURI()), http.StatusFound)
			return true
		}
		h.unknown(w, r, path, name)
		return true
	}
	r = r.WithContext(context.WithValue(r.Context(), clientKey{}, g))
	r.Header = r.Header.Clone()
	r.Header.Set(ClientHeader, g.Tenant)
	r.Header.Set(PersonHeader, g.Person)
	if to != nil {
		h.relayed(w, r, g, to, strings.TrimPrefix(path, "/"+name))
		return true
	}
	h.show(w, r, g, path)
	return true
}

// relayed relays the request of a client.
func (h *handler) relayed(w http.ResponseWriter, r *http.Request, g *Client, to *relay, rest string) {
	if !g.Scopes.Has(tenant.Relay) {
		h.forbid(w, r, rest, g, tenant.Relay)
		return
	}
	access, refused, err := h.Authenticator.Enter(r.Context(), g, true)
	switch {
	case err != nil:
		refuse(w, r, rest, http.StatusServiceUnavailable, "api_error", "winnow cannot serve this tenant now; its log "+
			"says why")
		return
	case refused != nil:
		logRefused(h.Log, g, refused)
		turnAway(w, r, rest, g.Tenant, refused)
		return
	}
	defer access.Leave()
	r = r.WithContext(context.WithValue(access.Context, accessKey{}, access))
	if access.Counted {
		r.Header.Del("X-Winnow")
	}
	key, held := access.Keys[to.name]
	access.Held = held
	if why := notAllowed(access, r, rest, held); why != nil {
		logRefused(h.Log, g, why)
		access.Metrics.Refused(why.Kind)
		turnAway(w, r, rest, g.Tenant, why)
		return
	}
	if held && key.Value == "" {
		h.lacksKey(w, r, g, to.name, rest, key)
		return
	}
	if !authorize(r, key) {
		refuse(w, r, rest, http.StatusUnauthorized, "authentication_error", fmt.Sprintf("winnow holds no key of %s for "+
			"the tenant %s: send the provider's own key, and winnow's token in the header x-winnow-token or in the "+
			"path",
			to.name, g.Tenant))
		return
	}
	if access.Warning != nil {
		w.Header().Set(BudgetHeader, access.Warning.Header())
	}
	to.serve(w, r, rest, g.Tenant)
}

// overrides are headers by which servers take a request for one of another method.
var overrides = []string{"X-Http-Method-Override", "X-Http-Method", "X-Method-Override"}

// notAllowed says why a tenant's request may not be sent, nil if it may.
func notAllowed(access *Access, r *http.Request, rest string, held bool) *tenant.Refusal {
	if upgrades(r) && !answersUpgrade(rest) && held {
		return &tenant.Refusal{Kind: "route", Message: "a WebSocket is none of its routes, as the server holds its key"}
	}
	if access.Allows == nil || upgrades(r) && answersUpgrade(rest) {
		return nil
	}
	for _, name := range overrides {
		if method := r.Header.Get(name); method != "" {
			if why := access.Allows(method, rest, held); why != nil {
				return why
			}
		}
	}
	return access.Allows(r.Method, rest, held)
}

// forbid tells a client that its token does not allow it.
func (h *handler) forbid(w http.ResponseWriter, r *http.Request, rest string, g *Client, needed tenant.Scope) {
	h.Log.Warn("refused: the token does not allow it", "tenant", g.Tenant, "who", g.Who, "needs", needed)
	refuse(w, r, rest, http.StatusForbidden, "permission_error",
		fmt.Sprintf("this token allows %s: for this one with the scope %s is needed", g.Scopes, needed))
}

// show answers what is not relayed.
func (h *handler) show(w http.ResponseWriter, r *http.Request, g *Client, path string) {
	seen := *g
	if h.Admin != nil && strings.HasPrefix(path, Administered) {
		h.administer(w, r, g)
		return
	}
	if path == seenAs && g.Scopes.Has(tenant.Admin) {
		if onlyReads(r) {
			h.Authenticator.List().ServeHTTP(w, r)
		} else {
			useGet(w)
		}
		return
	}
	if rest, ok := strings.CutPrefix(path, seenAs); ok {
		name, below, found := strings.Cut(rest, "/")
		if !found || !g.Scopes.Has(tenant.Admin) && name != g.Tenant || !slices.Contains(h.Authenticator.Others(), name) {
			http.NotFound(w, r) // whether there is such a tenant is not for everybody
			return
		}
		seen.Tenant, seen.Elsewhere, path = name, true, "/"+below
		r.URL = &url.URL{Path: path, RawQuery: r.URL.RawQuery}
		r.Header.Set(ClientHeader, name)
		r = r.WithContext(context.WithValue(r.Context(), clientKey{}, &seen))
	}
	needed := tenant.Read
	if !onlyReads(r) {
		needed = tenant.Act
	}
	paged := strings.HasPrefix(path, under) || path == "/" && browses(r)
	known := slices.Contains(own, path)
	switch {
	case h.Jobs != nil && ofJobs(path):
		if !g.Scopes.Has(tenant.Admin) {
			h.forbid(w, r, path, g, tenant.Admin)
			return
		}
		h.work(w, r, g, path)
	case path == forAgents && !seen.Elsewhere:
		h.recall(w, r, g)
	case !paged && !known:
		h.nowhere(w, r, path)
	case known && !paged && needed == tenant.Act:
		useGet(w)
	case path == "/" && !paged && len(g.Scopes) == 1 && g.Scopes.Has(tenant.Metrics):
		h.forbid(w, r, path, g, needed)
	case path == "/" && !paged:
		text(w, "winnow relays to "+h.known()+"\n")
	case path == "/metrics" && (g.Scopes.Has(tenant.Admin) || g.Scopes.Has(tenant.Metrics)) && !seen.Elsewhere:
		h.Metrics.WithTenants(h.Authenticator.Metrics()).ServeHTTP(w, r)
	case !g.Scopes.Has(needed):
		h.forbid(w, r, path, g, needed)
	default:
		h.within(w, r, &seen, func(access *Access, r *http.Request) {
			switch {
			case path == "/metrics":
				access.Metrics.ServeHTTP(w, r)
			case access.Page == nil:
				http.NotFound(w, r)
			default:
				access.Page.ServeHTTP(w, r)
			}
		})
	}
}

// mostNoted is how many bytes of an action on the page of jobs are in the audit log: the ids of
// some hundred jobs.
const mostNoted = 2 << 10

// work answers with the page of jobs. An action on it is noted before it is done.
func (h *handler) work(w http.ResponseWriter, r *http.Request, g *Client, path string) {
	if !onlyReads(r) {
		var body strings.Builder // it is noted as it came, and not read
		if _, err := io.Copy(&body, io.LimitReader(r.Body, mostNoted+1)); err != nil || body.Len() > mostNoted {
			http.Error(w, fmt.Sprintf("413 name fewer jobs at a time: an action is at most %d bytes", mostNoted),
				http.StatusRequestEntityTooLarge)
			return
		}
		r.Body = io.NopCloser(strings.NewReader(body.String()))
		what := strings.TrimSpace(r.Method + " " + path + " " + strings.ToValidUTF8(body.String(), "\uFFFD"))
		if err := h.Authenticator.Audit(r.Context(), g, "jobs", what); err != nil {
			h.Log.Error("an action on the page of jobs cannot be noted", "who", g.Who, "why", err)
			http.Error(w, "503 this cannot be noted in the audit log, so it was not done",
				http.StatusServiceUnavailable)
			return
		}
	}
	h.Jobs.ServeHTTP(w, r)
}

// within answers with what a client has that asks for nothing that is relayed.
func (h *handler) within(w http.ResponseWriter, r *http.Request, g *Client, answer func(*Access, *http.Request)) {
	access, _, err := h.Authenticator.Enter(r.Context(), g, false)
	if err != nil {
		http.Error(w, "503 winnow cannot serve this tenant now; its log says why", http.StatusServiceUnavailable)
		return
	}
	defer access.Leave()
	answer(access, r.WithContext(access.Context))
}

// recall answers an agent that asks for what was left out of its tenant's sessions. Its tools look
// at the scopes themselves: without the scope Read there are none.
func (h *handler) recall(w http.ResponseWriter, r *http.Request, g *Client) {
	if !ofItself(r) {
		h.Log.Warn("refused: another page asks", "origin", r.Header.Get("Origin"), "tenant", g.Tenant)
		http.Error(w, "403 a page of another origin asked for this", http.StatusForbidden)
		return
	}
	if !g.Scopes.Has(tenant.Read) {
		h.forbid(w, r, forAgents, g, tenant.Read)
		return
	}
	h.within(w, r, g, func(access *Access, r *http.Request) {
		if access.MCP == nil {
			http.Error(w, "404 nothing is kept of this tenant's sessions: its mode is off, or it captures none",
				http.StatusNotFound)
			return
		}
		access.MCP.ServeHTTP(w, r)
	})
}
