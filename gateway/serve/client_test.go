package serve

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/gateway/tenant"
)

// A token opens the listener from the header or the path, reaches nobody, and is in no log; without
// one every route but those that are probed is closed.
func TestServe_tokens(t *testing.T) {
	var log written
	token, hash := tenant.NewSecret()
	other, _ := tenant.NewSecret()
	if token == other || len(token) < 40 || !strings.HasPrefix(token, "wt_") || strings.Contains(hash, token) {
		t.Fatalf("tokens %q and %q, hash %q", token, other, hash)
	}
	up := rawly(t, drain)
	at := relayed(t, Config{Log: log.log(), Upstreams: map[string]string{"up": "http://" + up.Addr().String() + "/base"},
		Clients: map[string]string{"ann": strings.ToUpper(hash), "bob": strings.Repeat("0", 64), "eve": ""}})
	for _, c := range []struct{ head, status, holds string }{
		{"POST /up/v1/messages HTTP/1.1", "401", `{"type":"error","error":{"type":"authentication_error","message":"winnow knows no client with this token`},
		{"POST /up/v1/messages HTTP/1.1\r\nX-Winnow-Token: " + other, "401", "authentication_error"},
		{"POST /up/v1/messages HTTP/1.1\r\nX-Winnow-Token: ", "401", "authentication_error"},
		{"POST /up/v1/messages HTTP/1.1\r\nX-Winnow-Token: " + hash, "401", "authentication_error"},
		{"POST /" + other + "/up/v1/messages HTTP/1.1", "401", "authentication_error"},
		{"POST /" + other + "/up/v1/messages HTTP/1.1\r\nX-Winnow-Token: " + token, "401", ""}, // the path counts
		{"POST /wt_/up/v1/responses HTTP/1.1", "401", `"code":"winnow"`},
		{"POST /up/v1beta/models/m:generateContent HTTP/1.1", "401", `"status":"UNAUTHENTICATED"`},
		{"GET / HTTP/1.1", "401", ""},
		{"GET /nosuch HTTP/1.1", "401", ""},
		{"GET / HTTP/1.1\r\nX-Winnow-Token: " + token, "200", "winnow relays to up"},
		{"GET /nosuch HTTP/1.1\r\nX-Winnow-Token: " + token, "404", "put one before the path"},
		{"GET /healthz HTTP/1.1", "200", "ok"},
		{"GET /readyz HTTP/1.1", "200", "ok"},
		{"GET /" + token + "/up/../x HTTP/1.1", "400", "no path with"},
		{"POST /up/v1/messages?a=%2f HTTP/1.1\r\nX-Winnow-Token: " + token + "\r\nX-Winnow-Client: bob", "200", ""},
		{"POST /" + token + "/up/v1/a%2Fb?a=%2f HTTP/1.1\r\nx-api-key: " + canary, "200", ""},
	} {
		answer := talk(t, at, c.head+"\r\nHost: h\r\nConnection: close\r\n\r\n")
		refused(t, answer, c.status, c.holds)
		if c.status == "401" && strings.Contains(answer, "wt_") {
			t.Errorf("%s: the answer is %s", c.head, answer)
		}
	}
	got := up.got()
	if len(got) != 2 || !strings.HasPrefix(got[0], "POST /base/v1/messages?a=%2f ") || !strings.HasPrefix(got[1], "POST /base/v1/a%2Fb?a=%2f ") {
		t.Errorf("the upstream got %q", got)
	}
	all := strings.Join(got, "") + log.String()
	if strings.Contains(all, "wt_") || strings.Contains(strings.ToLower(strings.Join(got, "")), "winnow") || strings.Contains(log.String(), "canary") {
		t.Errorf("a token went on: %s", all)
	}
	if strings.Count(log.String(), "client=ann") != 3 || strings.Contains(log.String(), "client=bob") {
		t.Errorf("the log is\n%s", &log.text)
	}
}

// The transport is told which client asks by the listener alone.
func TestServe_tellsTheTransportWhoAsks(t *testing.T) {
	token, hash := tenant.NewSecret()
	var told []string
	carrier := carrierFunc(func(r *http.Request) (*http.Response, error) {
		told = append(told, r.Header.Get(ClientHeader)+r.Header.Get(TokenHeader))
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("")), Request: r}, nil
	})
	for _, clients := range []map[string]string{nil, {"ann": hash}} {
		h, err := New(Config{Upstreams: Names(), Transport: carrier, Clients: clients})
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest("POST", "/anthropic/v1/messages", nil)
		r.Header.Set(ClientHeader, "eve")
		r.Header.Set(TokenHeader, token)
		h.ServeHTTP(httptest.NewRecorder(), r)
	}
	if strings.Join(told, ",") != ",ann" {
		t.Errorf("it was told %q", told)
	}
}

type carrierFunc func(*http.Request) (*http.Response, error)

func (f carrierFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestServe_readiness(t *testing.T) {
	var log written
	var failure error
	at := relayed(t, Config{Upstreams: Names(), Log: log.log(), Ready: func(context.Context) error { return failure }}).String()
	ask := func() string {
		return talk(t, relayedAt{at}, "GET /readyz HTTP/1.1\r\nHost: "+at+"\r\nConnection: close\r\n\r\n")
	}
	refused(t, ask(), "200", "ok")
	failure = errors.New("the store cannot be written")
	refused(t, ask(), "503", "not ready: the store cannot be written")
}

// noTenants is the Authenticator of a team's server that nobody has made a tenant for.
type noTenants struct{ Authenticator }

func (noTenants) Closed() bool                 { return true }
func (noTenants) Empty() bool                  { return true }
func (noTenants) Away() error                  { return nil }
func (noTenants) Client(string) *Client        { return nil }
func (noTenants) Viewer(*http.Request) *Client { return nil }
func (noTenants) SignIn() http.Handler         { return nil }

// Without a tenant nobody may ask, and is told how to make one. Probes are answered, whatever host
// they name.
func TestServe_withoutATenant(t *testing.T) {
	_, hash := tenant.NewSecret()
	for _, c := range []struct {
		clients     map[string]string
		head, holds string
		status      string
	}{
		{nil, "GET /healthz HTTP/1.1\r\nHost: ", "ok", "200"},
		{nil, "GET /readyz HTTP/1.1\r\nHost: 10.244.1.7:4141", "ok", "200"},
		{nil, "GET /metrics HTTP/1.1\r\nHost: localhost", "winnowd tenant add", "401"},
		{nil, "POST /anthropic/v1/messages HTTP/1.1\r\nHost: h", "winnowd tenant token add", "401"},
		{map[string]string{"ann": hash}, "POST /anthropic/v1/messages HTTP/1.1\r\nHost: h", "knows no client", "401"},
	} {
		at := relayed(t, Config{Upstreams: Names(), Authenticator: noTenants{}, Clients: c.clients})
		refused(t, talk(t, at, c.head+"\r\nConnection: close\r\n\r\n"), c.status, c.holds)
	}
}

// Another winnow is known by its own word, and nobody who is not on this computer is asked.
func TestDetect(t *testing.T) {
	winnow := func(mode string) (address string) {
		h, err := New(Config{Upstreams: Names(), Mode: mode})
		if err != nil {
			t.Fatal(err)
		}
		s := httptest.NewServer(h)
		t.Cleanup(s.Close)
		return s.Listener.Addr().String()
	}
	full, off := winnow("full"), winnow("")
	asked := ""
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { asked = r.Method + r.RequestURI }))
	defer other.Close()
	failing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(modeHeader, "full")
		http.NotFound(w, r)
	}))
	defer failing.Close()
	for address, want := range map[string]string{
		"http://" + full: "full", "http://" + full + "/anthropic/v1": "full", "http://" + off: "off", other.URL: "", failing.URL: "",
		"http://127.0.0.1:1": "", "https://" + full: "", "https://api.anthropic.com": "", "http://192.0.2.1:4141": "", "::": "", "": "",
	} {
		if got := Detect(t.Context(), address); got != want {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}
	if asked != "GET/healthz" {
		t.Errorf("another program was asked %q", asked)
	}
}

// The page of jobs, which is about all tenants, is not for clients that the configuration names.
func TestServe_jobsAreNotForClients(t *testing.T) {
	token, hash := tenant.NewSecret()
	jobs := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "jobs") })
	for _, c := range []struct {
		clients map[string]string
		want    int
	}{{nil, 200}, {map[string]string{"ann": hash}, 404}} {
		h, err := New(Config{Upstreams: Names(), Jobs: jobs, Clients: c.clients})
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest("POST", "/jobs/api/jobs/cancel", nil)
		r.Host = "localhost"
		r.Header.Set(TokenHeader, token)
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != c.want {
			t.Errorf("with clients %v: %d %s", c.clients, w.Code, w.Body)
		}
	}
}
