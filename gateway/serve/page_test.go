package serve

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/gateway/tenant"
)

// The page is for browsers that may ask, with TLS too; what is relayed and the other routes are as
// without it.
func TestServe_thePage(t *testing.T) {
	token, hash := tenant.NewSecret()
	page := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, r.Method+" "+r.URL.Path+" "+r.Header.Get(ClientHeader)+r.Header.Get(TokenHeader))
	})
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "up") }))
	defer up.Close()
	listeners := map[string]func(http.Handler) *httptest.Server{
		"http": httptest.NewServer, "https": httptest.NewTLSServer}
	other := map[string]string{"http": "https", "https": "http"}
	for _, c := range []struct {
		name, method, path, accept, origin string
		clients                            map[string]string
		page                               http.Handler
		status                             int
		want                               string
	}{
		{"a browser", "GET", "/", "text/html,*/*", "", nil, page, 200, "GET / "},
		{"a program", "GET", "/", "*/*", "", nil, page, 200, "winnow relays to up\n"},
		{"without a page", "GET", "/", "text/html", "", nil, nil, 200, "winnow relays to up\n"},
		{"what belongs to it", "GET", "/~/page.js", "*/*", "", nil, page, 200, "GET /~/page.js "},
		{"an action", "POST", "/~/act", "*/*", "OWN://HOST", nil, page, 200, "POST /~/act "},
		{"of its own host by the other scheme", "POST", "/~/act", "*/*", "OTHER://HOST", nil, page, 404, ""},
		{"of another origin", "POST", "/~/act", "*/*", "http://evil.example", nil, page, 404, ""},
		{"the page of another origin", "GET", "/", "text/html", "http://evil.example", nil, page, 404, ""},
		{"without a page, what would belong to it", "GET", "/~/page.js", "*/*", "", nil, nil, 404, ""},
		{"without a token", "GET", "/~/events", "*/*", "", map[string]string{"ann": hash}, page, 401, ""},
		{"with one", "GET", "/" + token + "/~/events", "*/*", "", map[string]string{"ann": hash}, page, 200, "GET /~/events ann"},
		{"what is relayed", "GET", "/up/x", "text/html", "", nil, page, 200, "up"},
	} {
		h, err := New(Config{Upstreams: map[string]string{"up": up.URL}, Page: c.page, Clients: c.clients})
		if err != nil {
			t.Fatal(err)
		}
		for scheme, start := range listeners {
			s := start(h)
			r, _ := http.NewRequest(c.method, s.URL+c.path, nil)
			r.Header.Set("Accept", c.accept)
			r.Header.Set(ClientHeader, "mallory")
			origin := strings.NewReplacer("OWN", scheme, "OTHER", other[scheme], "HOST", r.Host).Replace(c.origin)
			if origin != "" {
				r.Header.Set("Origin", origin)
			}
			got, err := s.Client().Do(r)
			if err != nil {
				t.Fatal(err)
			}
			text, _ := io.ReadAll(got.Body)
			got.Body.Close()
			s.Close()
			if got.StatusCode != c.status || c.want != "" && string(text) != c.want {
				t.Errorf("%s, %s: %d %q, want %d %q", c.name, scheme, got.StatusCode, text, c.status, c.want)
			}
		}
	}
}
