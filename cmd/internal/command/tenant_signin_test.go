package command

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow/cmd/internal/cli"
)

// identities is a provider of identities: everybody who asks is the person that it was told last.
type identities struct {
	*httptest.Server
	key *rsa.PrivateKey

	mu      sync.Mutex
	claims  map[string]any
	codes   map[string]url.Values // what each code was asked for with
	wrong   string                // what it does wrong: "nonce", "audience", "key"
	refused []string              // why it gave no token
}

func newIdentities(t *testing.T) *identities {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	p := &identities{key: key, codes: map[string]url.Values{}}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	return p
}

func (p *identities) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	write := func(document any) {
		w.Header().Set("Content-Type", "application/json")
		json.MarshalWrite(w, document)
	}
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		write(map[string]any{"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token",
			"jwks_uri": p.URL + "/keys", "id_token_signing_alg_values_supported": []string{"RS256"}})
	case "/keys":
		write(map[string]any{"keys": []any{map[string]any{"kty": "RSA", "alg": "RS256", "use": "sig", "kid": "1",
			"n": coded(p.key.N.Bytes()), "e": coded(big.NewInt(int64(p.key.E)).Bytes())}}})
	case "/authorize":
		code := rand.Text()
		p.codes[code] = r.URL.Query()
		back, _ := url.Parse(r.URL.Query().Get("redirect_uri"))
		back.RawQuery = url.Values{"code": {code}, "state": {r.URL.Query().Get("state")}}.Encode()
		http.Redirect(w, r, back.String(), http.StatusFound)
	case "/token":
		r.ParseForm()
		asked, verifier := p.codes[r.Form.Get("code")], sha256.Sum256([]byte(r.Form.Get("code_verifier")))
		delete(p.codes, r.Form.Get("code"))
		if asked == nil || asked.Get("code_challenge_method") != "S256" || asked.Get("code_challenge") != coded(verifier[:]) {
			p.refused = append(p.refused, r.Form.Encode())
			http.Error(w, `{"error":"invalid_grant"}`, http.StatusBadRequest)
			return
		}
		claims := map[string]any{"iss": p.URL, "aud": "winnow", "exp": time.Now().Add(time.Hour).Unix(), "iat": time.Now().Unix(), "nonce": asked.Get("nonce")}
		for name, value := range p.claims {
			claims[name] = value
		}
		key := p.key
		switch p.wrong {
		case "nonce":
			claims["nonce"] = "another"
		case "audience":
			claims["aud"] = "another"
		case "key":
			key, _ = rsa.GenerateKey(rand.Reader, 2048)
		}
		body, _ := json.Marshal(claims)
		text := coded([]byte(`{"alg":"RS256","kid":"1"}`)) + "." + coded(body)
		sum := sha256.Sum256([]byte(text))
		signature, _ := rsa.SignPKCS1v15(nil, key, crypto.SHA256, sum[:])
		write(map[string]any{"access_token": "x", "token_type": "Bearer", "id_token": text + "." + coded(signature)})
	default:
		http.NotFound(w, r)
	}
}

func coded(data []byte) string { return base64.RawURLEncoding.EncodeToString(data) }

// becomes says who asks from now on, and what the provider does wrong.
func (p *identities) becomes(email, wrong string, groups ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.claims, p.wrong = map[string]any{"sub": "sub-" + email, "email": email, "email_verified": true, "groups": groups}, wrong
}

// browser keeps cookies and follows redirects.
func browser(t *testing.T) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Jar: jar, Transport: &http.Transport{DisableKeepAlives: true}}
}

func visit(t *testing.T, c *http.Client, method, url, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "text/html")
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	a, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	text, _ := io.ReadAll(a.Body)
	return a, string(text)
}

// People sign in to the page with an account elsewhere, and see what their groups may.
func TestTenant_signingIn(t *testing.T) {
	d := newTeamDesk(t)
	p := newIdentities(t)
	upstream, got := billing(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := l.Addr().String()
	l.Close()
	d.configure(fmt.Sprintf(`{"gateway": {"listen": %q, "upstreams": {"house": %q}, "oidc": {"issuer": %q, "clientID": "winnow",
		"redirect": "http://%s/~sign/back", "access": {"web": {"tenant": "ann", "scopes": ["read"]},
		"ops": {"tenant": "bob", "scopes": ["read", "act", "admin"]}, "gone": {"tenant": "nobody", "scopes": ["read"]}}}}}`, at, upstream, p.URL, at))
	d.run("tenant", "add", "ann").wants(t, cli.ExitDone)
	d.run("tenant", "add", "bob").wants(t, cli.ExitDone)
	g := d.gate()

	p.becomes("amy@example.com", "", "web", "other")
	amy := browser(t)
	a, text := visit(t, amy, "GET", g.url+"/", "")
	if a.StatusCode != 200 || !strings.Contains(text, "sessions of <b>ann</b>") || strings.Contains(text, "~t/bob/") {
		t.Fatalf("signing in: %d %s %v", a.StatusCode, text, p.refused)
	}
	to, _ := url.Parse(g.url)
	var cookie *http.Cookie
	for _, c := range amy.Jar.Cookies(to) {
		cookie = c
	}
	if cookie == nil || cookie.Name != "winnow_visit" {
		t.Fatalf("cookies: %v", amy.Jar.Cookies(to))
	}
	for path, want := range map[string]int{"/~/session?id=x": 404, "/metrics": 200, "/~t/bob/": 404, "/~t/ann/": 200} {
		if a, text := visit(t, amy, "GET", g.url+path, ""); a.StatusCode != want {
			t.Errorf("%s: %d %s", path, a.StatusCode, text)
		}
	}
	if a, _ := visit(t, amy, "POST", g.url+"/~/act", `{}`, "Origin", g.url); a.StatusCode != 403 {
		t.Errorf("who may read acts: %d", a.StatusCode)
	}
	before := len(got())
	if a, _ := visit(t, amy, "POST", g.url+"/house/v1/messages", saying("hello")); a.StatusCode != 401 || len(got()) != before {
		t.Errorf("a browser that has signed in asks a provider: %d", a.StatusCode)
	}

	p.becomes("olga@example.com", "", "web", "ops")
	olga := browser(t)
	if a, text := visit(t, olga, "GET", g.url+"/", ""); a.StatusCode != 200 || !strings.Contains(text, `href="~t/ann/"`) {
		t.Errorf("who may see all: %d %s", a.StatusCode, text)
	}
	if a, text := visit(t, olga, "GET", g.url+"/~t/ann/", ""); a.StatusCode != 200 || !strings.Contains(text, "sessions of <b>ann</b>") {
		t.Errorf("another tenant's page: %d %s", a.StatusCode, text)
	}

	if a, text := visit(t, browser(t), "GET", g.url+"/~t/ann/?q=a", ""); a.StatusCode != 200 ||
		a.Request.URL.RequestURI() != "/~t/ann/?q=a" || !strings.Contains(text, "sessions of <b>ann</b>") {
		t.Errorf("signing in on the way to a page leads to %s: %d", a.Request.URL, a.StatusCode)
	}

	for name, c := range map[string]struct{ wrong, group string }{"another nonce": {"nonce", "web"}, "another client": {"audience", "web"}, "another key": {"key", "web"},
		"no group": {"", "none"}} {
		p.becomes("eve@example.com", c.wrong, c.group)
		if a, text := visit(t, browser(t), "GET", g.url+"/", ""); a.StatusCode != 403 {
			t.Errorf("%s: %d %s", name, a.StatusCode, text)
		}
	}
	p.becomes("eve@example.com", "", "web")
	none := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, Jar: browser(t).Jar}
	a, _ = visit(t, none, "GET", g.url+"/~sign/in", "")
	leads, _ := url.Parse(a.Header.Get("Location"))
	for name, want := range map[string]string{"response_type": "code", "client_id": "winnow", "code_challenge_method": "S256"} {
		if got := leads.Query().Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	set := a.Header.Get("Set-Cookie")
	for _, word := range []string{"HttpOnly", "SameSite=Lax", "Path=/~sign/"} {
		if !strings.Contains(set, word) {
			t.Errorf("the cookie has no %s: %s", word, set)
		}
	}
	a, _ = visit(t, none, "GET", leads.String(), "")
	back := a.Header.Get("Location")
	// The code of one browser in another one, and a state that nobody asked with.
	if a, _ := visit(t, browser(t), "GET", back, ""); a.StatusCode != 403 {
		t.Errorf("another browser ends the sign-in: %d", a.StatusCode)
	}
	if a, _ := visit(t, none, "GET", regexp.MustCompile(`state=\w+`).ReplaceAllString(back, "state=ANOTHER"), ""); a.StatusCode != 403 {
		t.Errorf("another state: %d", a.StatusCode)
	}
	if a, _ := visit(t, none, "GET", back, ""); a.StatusCode != 302 {
		t.Errorf("the sign-in as it was begun: %d", a.StatusCode)
	}
	if a, _ := visit(t, none, "GET", back, ""); a.StatusCode != 403 {
		t.Errorf("the same once more: %d", a.StatusCode)
	}

	for what, value := range map[string]string{"cut": cookie.Value[:len(cookie.Value)-1], "none": "",
		"forged": coded([]byte(`{"t":"bob","w":"oidc:eve","s":["read","admin"],"u":9999999999}`)) + cookie.Value[strings.Index(cookie.Value, "."):]} {
		if a, _ := send(t, "GET", g.url+"/metrics", "", "Cookie", "winnow_visit="+value); a.StatusCode != 401 {
			t.Errorf("a cookie that is %s: %d", what, a.StatusCode)
		}
	}
	if _, text := visit(t, amy, "GET", g.url+"/", "", "Accept", "text/html"); !strings.Contains(text, `amy@example.com <button id="out">`) {
		t.Errorf("the page has no button to sign out: %s", text)
	}
	if a, _ := visit(t, amy, "POST", g.url+"/~sign/out", "", "Origin", "http://elsewhere.example"); a.StatusCode != 404 {
		t.Errorf("another page signs out: %d", a.StatusCode)
	}
	if a, _ := visit(t, amy, "POST", g.url+"/~sign/out", "", "Origin", g.url); a.StatusCode != 200 || len(amy.Jar.Cookies(to)) > 0 {
		t.Errorf("signing out: %d %v", a.StatusCode, amy.Jar.Cookies(to))
	}
	d.run("tenant", "remove", "bob").wants(t, cli.ExitDone)
	g.says("the tenants were read again")
	if a, _ := visit(t, olga, "GET", g.url+"/metrics", "", "Accept", "text/plain"); a.StatusCode != 401 {
		t.Errorf("somebody of a tenant that was removed: %d", a.StatusCode)
	}
	log := g.ends()
	for _, secret := range []string{cookie.Value, "code="} {
		if strings.Contains(log, secret) {
			t.Errorf("the log has %s", secret)
		}
	}
	for _, why := range []string{`the token of ` + p.URL + ` is for another sign-in`, `expected audience`, "failed to verify signature",
		`is in gateway.oidc.access" who=oidc:eve@example.com groups=[none]`} {
		if !strings.Contains(log, why) {
			t.Errorf("the log does not say %q:\n%s", why, log)
		}
	}
}
