package serve

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRelay_smuggling sends what two servers could read in two ways: it is refused, or the provider
// gets one reading of it.
func TestRelay_smuggling(t *testing.T) {
	const chunks = "3\r\nabc\r\n0\r\n\r\n"
	for name, c := range map[string]struct {
		request string
		status  string // "" if one request reaches the provider
		body    string
		head    []string // that the provider must not get
	}{
		"chunks and a length":         {request: "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n" + chunks, body: "abc", head: []string{"Content-Length"}},
		"a length and chunks":         {request: "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks, body: "abc", head: []string{"Content-Length"}},
		"the same length twice":       {request: "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc", body: "abc", head: []string{"Content-Length: 3\nContent-Length"}},
		"two lengths":                 {request: "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", status: "400"},
		"two lengths in one":          {request: "Content-Length: 3, 4\r\n\r\nabcd", status: "400"},
		"a signed length":             {request: "Content-Length: +3\r\n\r\nabc", status: "400"},
		"a negative length":           {request: "Content-Length: -1\r\n\r\nabc", status: "400"},
		"a length in hexadecimal":     {request: "Content-Length: 0x3\r\n\r\nabc", status: "400"},
		"chunked twice":               {request: "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks, status: "501"},
		"chunked, identity":           {request: "Transfer-Encoding: chunked, identity\r\n\r\n" + chunks, status: "501"},
		"a tab before chunked":        {request: "Transfer-Encoding: \x0bchunked\r\nContent-Length: 3\r\n\r\nabc", status: "400"},
		"a space before the colon":    {request: "Transfer-Encoding : chunked\r\nContent-Length: 3\r\n\r\nabc", status: "400"},
		"an unknown encoding":         {request: "Transfer-Encoding: xchunked\r\nContent-Length: 3\r\n\r\nabc", status: "501"},
		"extensions of chunks":        {request: "Transfer-Encoding: chunked\r\n\r\n3;a=b;\"c\r\nabc\r\n0;x\r\n\r\n", body: "abc"},
		"a chunk of a bad size":       {request: "Transfer-Encoding: chunked\r\n\r\n3 x\r\nabc\r\n0\r\n\r\n", status: "4"},
		"a chunk of a huge size":      {request: "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nabc\r\n0\r\n\r\n", status: "4"},
		"a length in the trailers":    {request: "Transfer-Encoding: chunked\r\nTrailer: Content-Length\r\n\r\n3\r\nabc\r\n0\r\nContent-Length: 99\r\n\r\n", status: "400"},
		"a folded header":             {request: "X-A: 1\r\n Content-Length: 9\r\nContent-Length: 3\r\n\r\nabc", body: "abc", head: []string{"Content-Length: 9\r"}},
		"a header without a name":     {request: ": chunked\r\nContent-Length: 3\r\n\r\nabc", status: "400"},
		"a zero byte in a header":     {request: "X-A: a\x00b\r\nContent-Length: 3\r\n\r\nabc", status: "400"},
		"a return within a header":    {request: "X-A: a\rContent-Length: 9\r\nContent-Length: 3\r\n\r\nabc", status: "400"},
		"a second host":               {request: "Host: evil.example\r\nContent-Length: 3\r\n\r\nabc", status: "400"},
		"lines that end in \\n alone": {request: "Content-Length: 3\nX-B: 1\n\nabc", body: "abc"},
		"a request behind a request":  {request: "Content-Length: 3\r\n\r\nabcGET /admin HTTP/1.1\r\nHost: h\r\n\r\n", body: "abc"},
	} {
		t.Run(name, func(t *testing.T) {
			up := rawly(t, drain)
			at := relayed(t, Config{Upstreams: map[string]string{"up": "http://" + up.Addr().String()}})
			answer := talk(t, at, "POST /up/v1/messages HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"+c.request)
			got := up.got()
			if c.status != "" {
				if !strings.HasPrefix(answer, "HTTP/1.1 "+c.status) {
					t.Errorf("the answer is %.300q, want %s", answer, c.status)
				}
				for _, r := range got { // a body without its length is read while it is sent; it must not be whole
					if _, body := cut(r); !strings.Contains(r, "Transfer-Encoding: chunked") || strings.HasSuffix(body, "0\r\n\r\n") {
						t.Errorf("the provider got %q", r)
					}
				}
				return
			}
			if len(got) != 1 || strings.Count(answer, "HTTP/1.1 200") != 1 {
				t.Fatalf("the provider got %d requests, want 1: %q; the answer is %q", len(got), got, answer)
			}
			r, body, _ := strings.Cut(got[0], "\r\n\r\n")
			if body = unchunked(body, r); body != c.body {
				t.Errorf("the provider got the body %q, want %q", body, c.body)
			}
			for _, not := range c.head {
				if strings.Contains(strings.ReplaceAll(r, "\r\n", "\n"), not) {
					t.Errorf("the provider got %q, with %q", r, not)
				}
			}
		})
	}
}

// unchunked is a body whose head may say that it comes in chunks.
func unchunked(body, head string) string {
	if !strings.Contains(head, "Transfer-Encoding: chunked") {
		return body
	}
	return strings.NewReplacer("3\r\n", "", "\r\n0", "", "\r\n", "").Replace(body)
}

// TestRelay_methodsAndTargets sends request lines that lead elsewhere: none reaches a provider.
func TestRelay_methodsAndTargets(t *testing.T) {
	up := rawly(t, drain)
	at := relayed(t, Config{Upstreams: map[string]string{"up": "http://" + up.Addr().String() + "/base"}})
	for line, status := range map[string]string{
		"CONNECT " + up.Addr().String() + " HTTP/1.1":              "404",
		"CONNECT /up/x HTTP/1.1":                                   "405",
		"TRACE /up/x HTTP/1.1":                                     "405",
		"GET http://" + up.Addr().String() + "/up/x HTTP/1.1":      "404",
		"GET http://evil.example/up/x HTTP/1.1":                    "404",
		"GET //up/x HTTP/1.1":                                      "404",
		"GET //evil.example/up/x HTTP/1.1":                         "404",
		"GET /\\up/x HTTP/1.1":                                     "404",
		"GET /up%2fx HTTP/1.1":                                     "404",
		"GET /UP/x HTTP/1.1":                                       "404",
		"GET /%75p/x HTTP/1.1":                                     "404",
		"GET up/x HTTP/1.1":                                        "400",
		"GET *  HTTP/1.1":                                          "400",
		"OPTIONS * HTTP/1.1":                                       "404",
		"GET /up/a/..;/b HTTP/1.1":                                 "400",
		"GET /up/a/%2e%2e%3b/b HTTP/1.1":                           "400",
		"GET /up/a/.%2E HTTP/1.1":                                  "400",
		"GET /up/%5c..%5cx HTTP/1.1":                               "400",
		"GET /up/a%2f..%2f..%2fx HTTP/1.1":                         "400",
		"GET /up/x\x00 HTTP/1.1":                                   "400",
		"GET /up/x HTTP/1.1\r\nX: y\r\nGET /up/y HTTP/1.1":         "400",
		"GE\tT /up/x HTTP/1.1":                                     "400",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00":     "",
		"GET /healthz/../up/x HTTP/1.1":                            "404",
		"GET /" + strings.Repeat("a", maxHead+8<<10) + " HTTP/1.1": "431",
	} {
		answer := talk(t, at, line+"\r\nHost: "+at.String()+"\r\nConnection: close\r\n\r\n")
		if !strings.HasPrefix(answer, "HTTP/1.1 "+status) {
			t.Errorf("%.80q is answered %.200q, want %s", line, answer, status)
		}
	}
	if got := up.got(); len(got) > 0 {
		t.Errorf("the provider got %q", got)
	}
}

// TestRelay_otherProtocols asks for HTTP/2 on a connection, as Java's client does by itself: it is
// not spoken, and the request goes its way.
func TestRelay_otherProtocols(t *testing.T) {
	up := rawly(t, func(w io.Writer, r *http.Request) {
		if r.Header.Get("Upgrade") != "" { // it would go on in frames, past the gateway
			io.WriteString(w, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n")
			io.Copy(io.Discard, w.(net.Conn))
			return
		}
		drain(w, r)
	})
	at := relayed(t, Config{Upstreams: map[string]string{"up": "http://" + up.Addr().String()}})
	answer := talk(t, at, "POST /up/v1/messages HTTP/1.1\r\nHost: h\r\nConnection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\n"+
		"HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\nContent-Length: 2\r\n\r\n{}")
	if !strings.HasPrefix(answer, "HTTP/1.1 200") {
		t.Errorf("the answer is %q", answer)
	}
	head, body := up.only(t)
	want := []string{"POST /v1/messages HTTP/1.1", "Content-Length: 2", "Host: " + up.Addr().String()}
	if diff := cmp.Diff(want, head); diff != "" || body != "{}" {
		t.Errorf("the body is %q, the head (-want +got):\n%s", body, diff)
	}
}
