package serve

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/winnowhq/winnow/gateway/tenant"
)

// canary is a credential that must be nowhere but at the upstream.
const canary = "sk-ant-api03-canarycanarycanarycanary"

// refused is what a test wants of a request that is not relayed.
func refused(t *testing.T, answer, status string, holds ...string) {
	t.Helper()
	if !strings.HasPrefix(answer, "HTTP/1.1 "+status) {
		t.Errorf("the answer is %q, want %s", answer, status)
	}
	for _, want := range holds {
		if !strings.Contains(answer, want) {
			t.Errorf("the answer is %q, want %s in it", answer, want)
		}
	}
	if strings.Contains(answer, canary) {
		t.Errorf("the answer holds the credential: %q", answer)
	}
}

// An upstream that does not answer is an error in the shape of the API that was asked, without what
// the client sent; the log has no more.
func TestRelay_noAnswerIsAnErrorThatClientsUnderstand(t *testing.T) {
	var log written
	dead := rawly(t, nil)
	dead.got()
	odd := rawly(t, func(w io.Writer, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // what is not read when a connection is closed resets it
		fmt.Fprintf(w, "no HTTP %s\r\n", r.Header.Get("X-Api-Key"))
	})
	at := relayed(t, Config{Log: log.log(), Upstreams: map[string]string{
		"dead": "http://" + dead.Addr().String(), "odd": "http://" + odd.Addr().String(), "none": "http://name.invalid"}})
	for path, holds := range map[string][]string{
		"/dead/v1/messages?key=" + canary:   {`{"type":"error","error":{"type":"api_error","message":"winnow got no answer from dead: it refuses connections"}}`},
		"/odd/v1/messages":                  {`what came is not HTTP`},
		"/dead/v1/responses":                {`{"error":{"code":"winnow","type":"api_error","message":`},
		"/dead/v1beta/models/m:countTokens": {`{"error":{"code":502,"message":`, `"status":"UNAVAILABLE"`},
		"/none/v1/chat/completions":         {`its name is not found`},
	} {
		answer := talk(t, at, "POST "+path+" HTTP/1.1\r\nHost: h\r\nConnection: close\r\nX-Api-Key: "+canary+
			"\r\nAuthorization: Bearer "+canary+"\r\nContent-Length: 2\r\n\r\n{}")
		refused(t, answer, "502", append(holds, "Content-Type: application/json")...)
	}
	if text := log.String(); strings.Contains(text, "canary") || strings.Count(text, "no answer") != 5 {
		t.Errorf("the log is:\n%s", text)
	}
}

// What has more than is relayed, leads elsewhere, or would speak WebSocket where the client can do
// without, is refused before anything leaves.
func TestRelay_refusals(t *testing.T) {
	up := rawly(t, drain)
	at := relayed(t, Config{MaxBody: 10, Upstreams: map[string]string{"up": "http://" + up.Addr().String() + "/only/here"}})
	for _, c := range []struct{ request, status, holds string }{
		{"POST /up/v1/messages HTTP/1.1\r\nContent-Length: 11\r\n\r\n01234567890", "413", `"type":"request_too_large"`},
		{"POST /up/v1/messages HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nb\r\n01234567890\r\n0\r\n\r\n", "413", `"type":"error"`},
		{"GET /up/../x HTTP/1.1\r\n\r\n", "400", "no path with"},
		{"GET /up/%2e%2E/x HTTP/1.1\r\n\r\n", "400", "no path with"},
		{"GET /up/x/..%2fy HTTP/1.1\r\n\r\n", "400", "no path with"},
		{"GET /up/..\\x HTTP/1.1\r\n\r\n", "400", "no path with"},
		{"GET /up/./x HTTP/1.1\r\n\r\n", "400", "no path with"},
		{"GET /up/v1/responses HTTP/1.1\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\r\n", "426", "Upgrade: HTTP/1.1"},
		{"GET /up/x HTTP/1.1\r\nX-Large: " + strings.Repeat("x", maxHead+8<<10) + "\r\n\r\n", "431", ""},
		{"POST /up/x HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", "400", ""},
		{"POST /up/x HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: gzip, chunked\r\n\r\nabcde", "501", ""},
		{"GET /up/x HTTP/1.1\r\nX-A : 1\r\n\r\n", "400", ""},
		{"GET /up/x HTTP/9.9\r\n\r\n", "505", ""},
	} {
		request := strings.Replace(c.request, "HTTP/1.1\r\n", "HTTP/1.1\r\nHost: h\r\nConnection: close\r\n", 1)
		if strings.Contains(request, "Upgrade: websocket") {
			request = strings.Replace(request, "Connection: close", "Connection: Upgrade, close", 1)
		}
		refused(t, talk(t, at, request), c.status, c.holds)
	}
	for _, r := range up.got() {
		// A body without its length is read while it is sent; it must not have gone out whole.
		if !strings.Contains(r, "Transfer-Encoding") || strings.HasSuffix(r, "\r\n0\r\n\r\n") {
			t.Errorf("the upstream got %q", r)
		}
	}
}

// A length beside chunks is not two readings of one body: the chunks count, and the length is not
// sent on.
func TestRelay_oneReadingOfABody(t *testing.T) {
	up := rawly(t, drain)
	at := relayed(t, Config{Upstreams: map[string]string{"up": "http://" + up.Addr().String()}})
	talk(t, at, "POST /up/x HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 50\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
	if head, _ := up.only(t); strings.Contains(strings.Join(head, "\n"), "Content-Length: 50") {
		t.Errorf("the upstream got %q", head)
	}
}

// Any other WebSocket is tunnelled: what is said on it goes through as it is.
func TestRelay_tunnels(t *testing.T) {
	var log written
	up := rawly(t, func(w io.Writer, r *http.Request) {
		io.WriteString(w, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nhi")
		heard := make([]byte, 3)
		io.ReadFull(w.(net.Conn), heard)
		fmt.Fprintf(w, "heard %s", heard)
	})
	at := relayed(t, Config{Log: log.log(), Upstreams: map[string]string{"up": "http://" + up.Addr().String()}})
	c, err := net.Dial("tcp", at.String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	io.WriteString(c, "GET /up/v1/realtime HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nupgrade: websocket\r\n\r\n")
	in := bufio.NewReader(c)
	answer, err := http.ReadResponse(in, nil)
	if err != nil || answer.StatusCode != 101 || answer.Header.Get("Upgrade") != "websocket" {
		t.Fatalf("the answer is %v, %v", answer, err)
	}
	io.WriteString(c, "abc")
	if said, err := io.ReadAll(in); string(said) != "hiheard abc" {
		t.Errorf("through the tunnel came %q, %v", said, err)
	}
	if !strings.Contains(log.String(), "tunnelled") {
		t.Errorf("the log does not say so: %s", &log.text)
	}
}

// The routes that are not relayed answer this computer's user: not another name that leads here,
// nor a page of another origin. Probes are answered whatever name they ask for.
func TestServe_ownRoutesCheckHostAndOrigin(t *testing.T) {
	at := relayed(t, Config{Upstreams: Names()}).String()
	_, port, _ := net.SplitHostPort(at)
	for _, c := range []struct{ method, path, host, origin, status, holds string }{
		{"GET", "/", at, "", "200", "winnow relays to anthropic, gemini, openai"},
		{"GET", "/healthz", "localhost:" + port, "", "200", "ok"},
		{"GET", "/readyz", "[::1]:" + port, "", "200", "ok"},
		{"HEAD", "/healthz", "127.0.0.1", "", "200", ""},
		{"GET", "/", at, "http://" + at, "200", ""},
		{"GET", "/", "evil.example", "", "404", ""},
		{"GET", "/healthz", "10.244.1.7:4141", "", "200", "ok"}, // kubelet names the pod
		{"GET", "/readyz", "winnow-1:4141", "", "200", "ok"},
		{"GET", "/metrics", "10.244.1.7:4141", "", "404", ""},
		{"POST", "/healthz", "winnow-1:4141", "", "405", "Allow: GET, HEAD"},
		{"GET", "/", "127.0.0.1.evil.example", "", "404", ""},
		{"GET", "/", "localhost:" + port + "@evil.example", "", "4", ""},
		{"GET", "/", "localhost:" + port + "/#@x", "", "4", ""},
		{"GET", "/", at, "http://evil.example", "404", ""},
		{"GET", "/", at, "null", "404", ""},
		{"GET", "/", at, "http://localhost:1", "404", ""},
		{"POST", "/", at, "", "405", "Allow: GET, HEAD"},
		{"POST", "/v1/messages", at, "", "404", "http://" + at + "/anthropic/v1/messages"},
		{"POST", "/v1/messages", "evil.example", "", "404", "404 page not found"},
		{"GET", "/%61nthropic/x", at, "", "404", ""},
		{"GET", "//healthz", at, "", "404", ""},
	} {
		request := c.method + " " + c.path + " HTTP/1.1\r\nConnection: close\r\nHost: " + c.host + "\r\n"
		if c.origin != "" {
			request += "Origin: " + c.origin + "\r\n"
		}
		answer := talk(t, relayedAt{at}, request+"\r\n")
		if !strings.HasPrefix(answer, "HTTP/1.1 "+c.status) || !strings.Contains(answer, c.holds) {
			t.Errorf("%s %s of %s from %q: %q, want %s with %q", c.method, c.path, c.host, c.origin, answer, c.status, c.holds)
		}
	}
}

// A page that somebody visits must not use their providers, nor fill their store: what a browser
// says of a request counts on relayed routes, too, with and without tokens.
func TestServe_noWebPageIsRelayed(t *testing.T) {
	token, hash := tenant.NewSecret()
	for _, clients := range []map[string]string{nil, {"ann": hash}} {
		asked := 0
		c := Config{Upstreams: Names(), Clients: clients, Origins: []string{"https://agent.example"},
			Transport: carrying(func(*http.Request) (*http.Response, error) {
				asked++
				return &http.Response{StatusCode: 200, Header: http.Header{}, Body: http.NoBody}, nil
			})}
		at := relayed(t, c).String()
		for i, c := range []struct {
			path, headers string
			refused       bool
		}{
			{"/anthropic/v1/messages", "", false},
			{"/anthropic/v1/messages", "Sec-Fetch-Mode: cors\r\n", false}, // Node
			{"/anthropic/v1/messages", "Origin: https://agent.example\r\nSec-Fetch-Site: cross-site\r\n", false},
			{"/anthropic/v1/messages", "Origin: http://" + at + "\r\nSec-Fetch-Site: same-origin\r\n", false},
			{"/anthropic/v1/messages", "Origin: https://evil.example\r\nSec-Fetch-Site: cross-site\r\n", true},
			{"/openai/v1/responses", "Origin: https://evil.example\r\n", true},
			{"/openai/v1/responses", "Origin: https://agent.example\r\nOrigin: https://evil.example\r\n", true},
			{"/openai/v1/responses", "Origin: null\r\n", true},
			{"/gemini/v1beta/models/m:generateContent", "Origin: http://localhost:3000\r\nSec-Fetch-Site: same-site\r\n", true},
			{"/openai/v1/models", "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\n", true},
			{"/openai/v1/models", "Sec-Fetch-Site: same-site\r\n", true},
			{"/openai/v1/models", "Sec-Fetch-Site: none\r\n", false},
		} {
			before := asked
			answer := talk(t, relayedAt{at}, "POST "+c.path+" HTTP/1.1\r\nConnection: close\r\nHost: "+at+"\r\nX-Winnow-Token: "+
				token+"\r\nContent-Length: 2\r\n"+c.headers+"\r\n{}")
			if got := strings.HasPrefix(answer, "HTTP/1.1 403"); got != c.refused || (asked > before) == c.refused {
				t.Errorf("%d, refused %t, want %t: %.200q", i, got, c.refused, answer)
			}
			if shape := map[string]string{"/anthropic/v1/messages": `{"type":"error","error":{"type":"permission_error"`,
				"/gemini/v1beta/models/m:generateContent": `"PERMISSION_DENIED"`}[c.path]; c.refused && !strings.Contains(answer, shape) {
				t.Errorf("%d is refused with %q", i, answer)
			}
		}
		// A name that leads here makes the page one of the same origin, for the browser.
		if answer := talk(t, relayedAt{at}, "POST /openai/v1/responses HTTP/1.1\r\nConnection: close\r\nHost: evil.example\r\n"+
			"X-Winnow-Token: "+token+"\r\nOrigin: http://evil.example\r\nContent-Length: 2\r\n\r\n{}"); !strings.HasPrefix(answer, "HTTP/1.1 403") {
			t.Errorf("by another name: %.200q", answer)
		}
	}
}

// relayedAt is an address as a text.
type relayedAt struct{ string }

func (relayedAt) Network() string  { return "tcp" }
func (a relayedAt) String() string { return a.string }

func TestListen_atLoopbackAddressesAlone(t *testing.T) {
	for address, want := range map[string]string{
		"0.0.0.0:0": "can be reached from other computers", ":0": "can be reached from other computers",
		"[::]:0": "can be reached from other computers", "192.0.2.1:0": "can be reached from other computers",
		"example.com:0": "can be reached from other computers", "127.0.0.1": "is not an address",
	} {
		l, err := Listen(address)
		if err == nil {
			l.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", address, err, want)
		}
	}
	for _, address := range []string{"127.0.0.1:0", "localhost:0", "127.0.0.2:0"} {
		l, err := Listen(address)
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		l.Close()
	}
}

func TestNew_whatCannotBeAnUpstream(t *testing.T) {
	for name, address := range map[string]string{
		"a": "api.anthropic.com", "b": "ftp://h", "c": "https://", "d": "https://user:" + canary + "@h",
		"e": "https://h/?key=" + canary, "f": "https://h/#x", "": "https://h", "a/b": "https://h", "healthz": "https://h",
		"..": "https://h",
	} {
		if _, err := New(Config{Upstreams: map[string]string{name: address}}); err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("%q: %q is %v", name, address, err)
		}
	}
	if _, err := New(Config{}); err == nil {
		t.Error("a relay to nowhere is one")
	}
}

// When the listener is to end, an answer that is under way comes to its end, and nobody new gets
// in.
func TestUntil_streamsEnd(t *testing.T) {
	finish := make(chan struct{})
	up := rawly(t, func(w io.Writer, r *http.Request) {
		io.WriteString(w, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n")
		<-finish
		io.WriteString(w, "data: 2\n\n")
	})
	for patience, want := range map[time.Duration]string{time.Minute: "data: 1\n\ndata: 2\n\n", 0: "data: 1\n\n"} {
		l, err := Listen("127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		base := Direct()
		h, err := New(Config{Transport: base, Upstreams: map[string]string{"up": "http://" + up.Addr().String()}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- Until(ctx, l, h, patience, nil) }()
		client := &http.Client{Transport: &http.Transport{}}
		answer, err := client.Get("http://" + l.Addr().String() + "/up/x")
		if err != nil {
			t.Fatal(err)
		}
		first := make([]byte, 9)
		io.ReadFull(answer.Body, first)
		stop()
		for err == nil { // it takes no more connections
			var c net.Conn
			if c, err = net.Dial("tcp", l.Addr().String()); err == nil {
				c.Close()
			}
		}
		if patience > 0 {
			finish <- struct{}{}
		}
		rest, err := io.ReadAll(answer.Body)
		if got := string(first) + string(rest); got != want || (err == nil) != (patience > 0) {
			t.Errorf("with patience %s: %q, %v; want %q", patience, got, err, want)
		}
		if err := <-ended; err != nil {
			t.Errorf("it ended with %v", err)
		}
		answer.Body.Close()
		base.(direct).CloseIdleConnections()
		if patience == 0 {
			finish <- struct{}{}
		}
	}
}
