// Package signin lets people sign in to the page by OpenID Connect.
package signin

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-json-experiment/json"
	"golang.org/x/oauth2"

	"github.com/winnowhq/winnow/desk/config"
	"github.com/winnowhq/winnow/gateway/serve"
	"github.com/winnowhq/winnow/gateway/tenant"
	"github.com/winnowhq/winnow/llm/upstream"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/text/visible"
)

const (
	// signedFor is how long somebody stays signed in: a working day.
	signedFor = 10 * time.Hour
	// signingFor is how long signing in may take.
	signingFor = 10 * time.Minute
	// visitCookie tells who has signed in, signingCookie what a sign-in that is under way expects.
	visitCookie, signingCookie = "winnow_visit", "winnow_signing"
)

// SignIn lets people sign in: with an authorization code, PKCE, a
// state and a nonce. Who has signed in is in a signed cookie, and nowhere else.
type SignIn struct {
	config.GatewayOIDC
	secret string
	key    []byte
	secure bool
	now    func() time.Time
	log    *slog.Logger

	mu       sync.Mutex
	provider *oidc.Provider // nil before it was found
}

// New makes it. The key seals cookies; the provider is asked when the first person signs in.
func New(o config.GatewayOIDC, secret string, key []byte, now func() time.Time, log *slog.Logger) *SignIn {
	return &SignIn{GatewayOIDC: o, secret: secret, key: key, now: now, log: log,
		secure: strings.HasPrefix(o.Redirect, "https://")}
}

// ServeHTTP implements http.Handler for what stands under /~sign/.
func (s *SignIn) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.Header().Set("X-Frame-Options", "DENY")
	switch {
	case r.URL.Path == "/~sign/in" && r.Method == http.MethodGet:
		s.begin(w, r)
	case r.URL.Path == config.SignedIn && r.Method == http.MethodGet:
		s.back(w, r)
	case r.URL.Path == "/~sign/out" && r.Method == http.MethodPost && s.here(r):
		s.cookie(w, visitCookie, "", "/", -1)
		_, _ = w.Write([]byte("You have signed out.\n"))
	default:
		http.NotFound(w, r)
	}
}

// here reports whether a request comes from a page of this listener.
func (s *SignIn) here(r *http.Request) bool {
	from, err := url.Parse(r.Header.Get("Origin"))
	return err == nil && from.Host != "" && from.Host == r.Host
}

// client is what asks the provider of identities.
func (s *SignIn) client(ctx context.Context) (*oauth2.Config, *oidc.Provider, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.provider == nil {
		// It fetches keys as long as it lives: not with the context of the request.
		asking := oidc.ClientContext(context.WithoutCancel(ctx), &http.Client{Timeout: 10 * time.Second,
			Transport: upstream.Connections()})
		found, err := oidc.NewProvider(asking, s.Issuer)
		if err != nil {
			return nil, nil, err
		}
		s.provider = found
	}
	return &oauth2.Config{ClientID: s.ClientID, ClientSecret: s.secret, Endpoint: s.provider.Endpoint(),
		RedirectURL: s.Redirect, Scopes: []string{oidc.ScopeOpenID, "profile", "email"}}, s.provider, nil
}

// expected is what a sign-in that is under way expects of its end.
type expected struct {
	State    string `json:"s"`
	Nonce    string `json:"n"`
	Verifier string `json:"v"`
	Until    int64  `json:"u"` // seconds since 1970
	To       string `json:"t"` // path that the browser asked for
}

// visit is who has signed in.
type visit struct {
	Tenant string        `json:"t"`
	Who    string        `json:"w"`
	Scopes tenant.Scopes `json:"s"`
	Until  int64         `json:"u"` // seconds since 1970
}

func (s *SignIn) begin(w http.ResponseWriter, r *http.Request) {
	o, _, err := s.client(r.Context())
	if err != nil {
		s.refuse(w, http.StatusBadGateway, "The provider of identities does not answer; try again later.", err)
		return
	}
	e := expected{rand.Text(), rand.Text(), oauth2.GenerateVerifier(), s.now().Add(signingFor).Unix(),
		pathHere(r.URL.Query().Get("to"))}
	s.cookie(w, signingCookie, s.sealed(signingCookie, e), "/~sign/", int(signingFor.Seconds()))
	to := o.AuthCodeURL(e.State, oidc.Nonce(e.Nonce), oauth2.S256ChallengeOption(e.Verifier))
	http.Redirect(w, r, to, http.StatusFound)
}

// mostPath is how long a path may be to which a sign-in leads back: a cookie holds it.
const mostPath = 1000

// pathHere is a path at this listener, with its query, and "/" for whatever else a browser might
// follow elsewhere, or a path of signing in.
func pathHere(to string) string {
	u, err := url.Parse(to)
	odd := func(r rune) bool { return r <= ' ' || r > '~' || r == '\\' }
	if err != nil || u.Scheme != "" || u.Host != "" || len(to) > mostPath || !strings.HasPrefix(to, "/") ||
		strings.HasPrefix(to, "//") || strings.ContainsFunc(to, odd) || strings.HasPrefix(u.Path, "/~sign/") {
		return "/"
	}
	return to
}

// back ends a sign-in: the provider has sent the browser back.
func (s *SignIn) back(w http.ResponseWriter, r *http.Request) {
	var e expected
	q := r.URL.Query()
	if !s.open(r, signingCookie, &e) || e.Until < s.now().Unix() ||
		!hmac.Equal([]byte(e.State), []byte(q.Get("state"))) {
		s.refuse(w, http.StatusForbidden, "This sign-in was not begun here, or too long ago: open the page again.", nil)
		return
	}
	s.cookie(w, signingCookie, "", "/~sign/", -1) // it counts once
	o, provider, err := s.client(r.Context())
	if err != nil {
		s.refuse(w, http.StatusBadGateway, "The provider of identities does not answer; try again later.", err)
		return
	}
	ctx, stop := context.WithTimeout(r.Context(), 15*time.Second)
	defer stop()
	token, err := o.Exchange(ctx, q.Get("code"), oauth2.VerifierOption(e.Verifier))
	if err != nil {
		s.refuse(w, http.StatusForbidden, "The provider of identities did not confirm who you are.", err)
		return
	}
	raw, _ := token.Extra("id_token").(string)
	id, err := provider.Verifier(&oidc.Config{ClientID: s.ClientID, Now: s.now}).Verify(ctx, raw)
	if err == nil && !hmac.Equal([]byte(id.Nonce), []byte(e.Nonce)) {
		err = errors.New("the token of " + s.Issuer + " is for another sign-in")
	}
	if err != nil {
		s.refuse(w, http.StatusForbidden, "The provider of identities did not confirm who you are.", err)
		return
	}
	v, groups, ok := s.visitOf(id)
	if !ok {
		s.refuse(w, http.StatusForbidden,
			"You are signed in, but none of your groups may see anything here: ask the operator of winnow.",
			errors.New("no group of the claim "+s.claim()+" is in gateway.oidc.access"), "who", v.Who,
			"groups", groups[:min(len(groups), mostGroups)])
		return
	}
	s.cookie(w, visitCookie, s.sealed(visitCookie, v), "/", int(signedFor.Seconds()))
	s.log.Info("signed in", "who", v.Who, "tenant", v.Tenant, "scopes", v.Scopes.String())
	http.Redirect(w, r, pathHere(e.To), http.StatusFound)
}

// visitOf is what a person may see: what the first of their groups may, by name, and before the
// others one that may see all tenants. groups are those that the provider sent.
func (s *SignIn) visitOf(id *oidc.IDToken) (v visit, groups []string, ok bool) {
	var claims map[string]any
	if id.Claims(&claims) != nil {
		return v, nil, false
	}
	who, _ := claims["email"].(string)
	if confirmed, said := claims["email_verified"].(bool); said && !confirmed {
		who = ""
	}
	v = visit{Who: "oidc:" + cmp.Or(who, id.Subject), Until: s.now().Add(signedFor).Unix()}
	switch listed := claims[s.claim()].(type) {
	case string:
		groups = []string{listed}
	case []any:
		for _, one := range listed {
			if name, is := one.(string); is {
				groups = append(groups, name)
			}
		}
	}
	for _, group := range slices.Sorted(maps.Keys(s.Access)) {
		if !slices.Contains(groups, group) {
			continue
		}
		access := s.Access[group]
		scopes, err := tenant.ParseScopes(strings.Join(access.Scopes, ","))
		if err == nil && (!ok || scopes.Has(tenant.Admin) && !v.Scopes.Has(tenant.Admin)) {
			v.Tenant, v.Scopes, ok = access.Tenant, scopes, true
		}
	}
	return v, groups, ok
}

// claim is the one that lists a person's groups.
func (s *SignIn) claim() string { return cmp.Or(s.Groups, "groups") }

// mostGroups is how many groups of a person are logged at most.
const mostGroups = 50

// Viewer is who has signed in with the browser that sends a request, nil if nobody has.
func (s *SignIn) Viewer(r *http.Request) *serve.Client {
	var v visit
	if !s.open(r, visitCookie, &v) || v.Until < s.now().Unix() || v.Scopes.Has(tenant.Relay) {
		return nil
	}
	return &serve.Client{Tenant: v.Tenant, Who: v.Who, Person: strings.TrimPrefix(v.Who, "oidc:"), Scopes: v.Scopes,
		Since: time.Unix(v.Until, 0).Add(-signedFor)}
}

// refuse tells a person why they are not signed in, and the log why, and more about it.
func (s *SignIn) refuse(w http.ResponseWriter, status int, text string, err error, more ...any) {
	s.log.Warn("not signed in", append([]any{"status", status, "why", s.why(err)}, more...)...)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text + "\n"))
}

// mostWhy is how many characters of a provider's words are logged.
const mostWhy = 200

// why says what went wrong with a provider of identities, without what was sent to it.
func (s *SignIn) why(err error) string {
	var unreached *url.Error
	var refused *oauth2.RetrieveError
	switch {
	case errors.As(err, &unreached):
		to, parsed := url.Parse(unreached.URL)
		if parsed != nil {
			return serve.Cause(err)
		}
		return to.Host + ": " + serve.Cause(err)
	case errors.As(err, &refused) && refused.Response != nil:
		return strings.TrimSpace(refused.Response.Request.URL.Host + ": " + refused.Response.Status + " " +
			visible.Line(refused.ErrorCode))
	case err != nil:
		return rule.Shorten(visible.Line(err.Error()), mostWhy)
	}
	return "it was not begun here, or too long ago"
}

func (s *SignIn) cookie(w http.ResponseWriter, name, value, path string, seconds int) {
	http.SetCookie(w, &http.Cookie{Name: name, Value: value, Path: path, MaxAge: seconds, HttpOnly: true,
		Secure: s.secure, SameSite: http.SameSiteLaxMode}) // Strict would not be sent on the way back from the provider
}

// sealed is a value with its signature, which counts for one name of a cookie alone.
func (s *SignIn) sealed(name string, v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	body := base64.RawURLEncoding.EncodeToString(text)
	return body + "." + s.signature(name, body)
}

func (s *SignIn) signature(name, body string) string {
	mac := hmac.New(sha256.New, s.key)
	mac.Write([]byte(name + "\x00" + body))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// open reads a cookie, and reports whether it is there and was sealed here.
func (s *SignIn) open(r *http.Request, name string, v any) bool {
	c, err := r.Cookie(name)
	if err != nil {
		return false
	}
	body, signature, ok := strings.Cut(c.Value, ".")
	if !ok || !hmac.Equal([]byte(signature), []byte(s.signature(name, body))) {
		return false
	}
	text, err := base64.RawURLEncoding.DecodeString(body)
	return err == nil && json.Unmarshal(text, v) == nil
}
