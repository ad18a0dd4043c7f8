package serve

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// What leaves is what came: the request line, each header in its spelling with all its values in
// their order, and the body; without what is for the hop to us alone or was said to winnow.
func TestRelay_whatLeavesIsWhatCame(t *testing.T) {
	const hidden = "Connection: close\r\nKeep-Alive: timeout=5\r\nProxy-Authorization: Basic eDp5\r\n" +
		"x-winnow: off\r\nX-Winnow-Session: s1\r\n"
	for _, c := range []struct {
		name, base, line, headers, body string
		want                            string // the request line; "" is that of line, without the name
		more                            []string
	}{
		{name: "a body with its length", line: "POST /anthropic/v1/messages?beta=true HTTP/1.1",
			headers: "Content-Length: 20\r\ncontent-type: application/json", body: `{"a" : 1.0, "a":"é"}`[:20]},
		{name: "odd spellings", line: "POST /anthropic/v1/messages HTTP/1.1",
			headers: "content-LENGTH: 2\r\nX-API-KEY: k\r\nanthropic-version: 2023-06-01\r\naNTHROPIC-bETA: a,b\r\n" +
				"user-agent: claude-cli/2.1\r\nsession_id: s\r\nAccept-Encoding: gzip, br\r\nidempotency-key: i", body: "{}",
			more: []string{"Content-Length: 2"}},
		{name: "repeated headers", line: "GET /anthropic/v1/models HTTP/1.1",
			headers: "x-a: 1\r\nx-b: b\r\nx-a: 0\r\nCookie: c=1\r\nCookie: b=2"},
		{name: "nothing is added", line: "GET /anthropic/v1/models HTTP/1.1", headers: "Accept: */*"},
		{name: "forwarding headers are the client's", line: "GET /anthropic/x HTTP/1.1",
			headers: "X-Forwarded-For: 10.0.0.1\r\nForwarded: for=10.0.0.1\r\nx-forwarded-proto: https"},
		{name: "an encoded path", line: "GET /anthropic/v1/models/a%2Fb%20c%3a?x=%7e&y=a;b&%zz HTTP/1.1"},
		{name: "a path that nobody would write", line: "GET /anthropic/v1/a|b{c}^[d]//e;f=g:h#i?q=|%7C? HTTP/1.1"},
		{name: "no path", line: "HEAD /anthropic HTTP/1.1", want: "HEAD / HTTP/1.1"},
		{name: "an empty query", line: "GET /anthropic/v1? HTTP/1.1"},
		{name: "below a path", base: "/proxy/a%2Fb/", line: "GET /anthropic/v1/x HTTP/1.1",
			want: "GET /proxy/a%2Fb/v1/x HTTP/1.1"},
		{name: "an empty body", line: "POST /anthropic/v1/x HTTP/1.1", headers: "Content-Length: 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			up := rawly(t, drain)
			at := relayed(t, Config{Upstreams: map[string]string{"anthropic": "http://" + up.Addr().String() + c.base}})
			headers := c.headers
			if headers != "" {
				headers += "\r\n"
			}
			answer := talk(t, at, c.line+"\r\nHost: "+at.String()+"\r\n"+hidden+headers+"\r\n"+c.body)
			if !strings.HasPrefix(answer, "HTTP/1.1 200") {
				t.Fatalf("the answer is %q", answer)
			}
			if c.want == "" {
				c.want = strings.Replace(c.line, "/anthropic", "", 1)
			}
			want := c.want + "\r\nHost: " + up.Addr().String() + "\r\n" + headers
			want = strings.Replace(want, "content-LENGTH", "Content-Length", 1) // net/http writes it
			wantHead, _ := cut(strings.TrimSuffix(want, "\r\n") + "\r\n\r\n")
			head, body := up.only(t)
			// Several values of one header stand behind each other; sorting must not hide their
			// order.
			if diff := cmp.Diff(wantHead, head); diff != "" {
				t.Errorf("the head (-want +got):\n%s", diff)
			}
			if body != c.body {
				t.Errorf("the body is %q, want %q", body, c.body)
			}
			if sent := up.got()[0]; strings.Contains(headers, "x-a") &&
				strings.Index(sent, "x-a: 1") > strings.Index(sent, "x-a: 0") {
				t.Errorf("the values of x-a changed places: %q", sent)
			}
		})
	}
}

// The second request on a connection has its own spelling.
func TestRelay_spellingsAreThoseOfTheRequest(t *testing.T) {
	up := rawly(t, drain)
	at := relayed(t, Config{Upstreams: map[string]string{"up": "http://" + up.Addr().String()}})
	c, err := net.Dial("tcp", at.String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	in := bufio.NewReader(c)
	for i, name := range []string{"x-one", "X-ONE", "X-One"} {
		fmt.Fprintf(c, "POST /up/%d HTTP/1.1\r\nHost: h\r\n%s: v\r\nContent-Length: 7\r\n\r\nx-oNe:1", i, name)
		answer, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
	}
	c.Close()
	requests := up.got()
	for i, name := range []string{"x-one", "X-ONE", "X-One"} {
		if !strings.Contains(requests[i], "\r\n"+name+": v\r\n") {
			t.Errorf("request %d is %q, want %s in it", i, requests[i], name)
		}
	}
}

// A chunked body arrives chunked, with its trailers.
func TestRelay_chunksAndTrailers(t *testing.T) {
	up := rawly(t, drain)
	at := relayed(t, Config{Upstreams: map[string]string{"up": "http://" + up.Addr().String()}})
	talk(t, at, "POST /up/x HTTP/1.1\r\nHost: h\r\nConnection: close\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n"+
		"3\r\nabc\r\n2\r\nde\r\n0\r\nX-Sum: 7\r\n\r\n")
	head, body := up.only(t)
	if diff := cmp.Diff([]string{"POST /x HTTP/1.1", "Host: " + up.Addr().String(), "Trailer: X-Sum", "Transfer-Encoding: chunked"},
		head); diff != "" {
		t.Errorf("the head (-want +got):\n%s", diff)
	}
	if got := strings.NewReplacer("3\r\n", "", "2\r\n", "", "5\r\n", "", "\r\n", "").Replace(body); got != "abcde0X-Sum: 7" {
		t.Errorf("the body is %q", body)
	}
}

// A client that waits for 100 Continue gets it from the upstream, or sends nothing.
func TestRelay_expectContinue(t *testing.T) {
	up := rawly(t, func(w io.Writer, r *http.Request) {
		if r.Header.Get("X-Take") == "no" {
			io.WriteString(w, "HTTP/1.1 413 No\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
			return
		}
		io.WriteString(w, "HTTP/1.1 100 Continue\r\n\r\n")
		drain(w, r)
	})
	at := relayed(t, Config{Upstreams: map[string]string{"up": "http://" + up.Addr().String()}})
	for take, want := range map[string]string{"yes": "HTTP/1.1 100 Continue", "no": "HTTP/1.1 413 "} {
		c, err := net.Dial("tcp", at.String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprintf(c, "POST /up/x HTTP/1.1\r\nHost: h\r\nX-Take: %s\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n", take)
		line, err := bufio.NewReader(c).ReadString('\n')
		if err != nil || !strings.HasPrefix(line, want) {
			t.Errorf("%s: %q, %v; want %s", take, line, err, want)
		}
		if take == "yes" {
			io.WriteString(c, "abc")
			if rest, _ := bufio.NewReader(c).ReadString('k'); !strings.Contains(rest, "200 OK") && rest != "" {
				t.Errorf("after the body: %q", rest)
			}
		}
	}
}

// An answer comes back as it is: its status, headers and body, compressed or not, without a header
// more.
func TestRelay_whatComesBackIsWhatWasAnswered(t *testing.T) {
	for name, answer := range map[string]string{
		"plain":         "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nRequest-Id: r1\r\nAnthropic-Ratelimit-Unified-Reset: 7\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\n\r\nhello",
		"no type":       "HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n<html></html>",
		"compressed":    "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\nContent-Type: application/json\r\n\r\n\x1f\x8b\x08\x00",
		"refused":       "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 3\r\nX-Should-Retry: true\r\nContent-Length: 2\r\n\r\n{}",
		"redirect":      "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://example.com/\r\nContent-Length: 0\r\n\r\n",
		"no content":    "HTTP/1.1 204 No Content\r\nX-A: 1\r\n\r\n",
		"dated":         "HTTP/1.1 200 OK\r\nDate: Mon, 02 Jan 2006 15:04:05 GMT\r\nContent-Length: 0\r\n\r\n",
		"with trailers": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n3\r\nabc\r\n0\r\nX-Sum: 7\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			up := rawly(t, func(w io.Writer, r *http.Request) { io.WriteString(w, answer) })
			at := relayed(t, Config{Upstreams: map[string]string{"up": "http://" + up.Addr().String()}})
			got := talk(t, at, "GET /up/x HTTP/1.1\r\nHost: h\r\nConnection: close\r\nTE: trailers\r\n\r\n")
			wantHead, wantBody := cut(answer)
			head, body := cut(strings.Replace(got, "\r\nConnection: close", "", 1))
			if diff := cmp.Diff(wantHead, head); diff != "" {
				t.Errorf("the head (-want +got):\n%s", diff)
			}
			if body != wantBody {
				t.Errorf("the body is %q, want %q", body, wantBody)
			}
		})
	}
}

// Each piece of a stream arrives when it was sent, split wherever it was split.
func TestRelay_streamsAsItArrives(t *testing.T) {
	step := make(chan string)
	up := rawly(t, func(w io.Writer, r *http.Request) {
		io.WriteString(w, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
		for piece := range step {
			io.WriteString(w, piece)
		}
	})
	at := relayed(t, Config{Upstreams: map[string]string{"up": "http://" + up.Addr().String()}})
	answer, err := http.Get("http://" + at.String() + "/up/v1/messages")
	if err != nil {
		t.Fatal(err)
	}
	defer http.DefaultClient.CloseIdleConnections()
	defer answer.Body.Close()
	for _, piece := range []string{"event: ping\n", "data: {\"a\":\"\xe2\x82", "\xac\"}\n\n", ": comment\n\n"} {
		step <- piece
		got := make([]byte, len(piece))
		if _, err := io.ReadFull(answer.Body, got); err != nil || string(got) != piece {
			t.Fatalf("got %q, %v; want %q", got, err, piece)
		}
	}
	close(step)
	if rest, err := io.ReadAll(answer.Body); err != nil || len(rest) > 0 {
		t.Errorf("at the end: %q, %v", rest, err)
	}
}

// A client that leaves ends the request to the upstream; a stream that breaks is seen to break.
func TestRelay_whoLeavesIsMissed(t *testing.T) {
	left, silent := make(chan error, 1), make(chan struct{})
	up := rawly(t, func(w io.Writer, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/cut") {
			io.WriteString(w, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
			return
		}
		if strings.HasSuffix(r.URL.Path, "/silent") {
			close(silent)
		} else {
			io.WriteString(w, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n")
		}
		_, err := w.(net.Conn).Read(make([]byte, 1))
		left <- err
	})
	at := relayed(t, Config{Upstreams: map[string]string{"up": "http://" + up.Addr().String()}})
	answer, err := http.Get("http://" + at.String() + "/up/stay")
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	gone := func(when string) {
		t.Helper()
		select {
		case <-left:
		case <-time.After(10 * time.Second):
			t.Errorf("the upstream goes on although the client has left %s", when)
		}
	}
	gone("during the answer")
	c, err := net.Dial("tcp", at.String())
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(c, "POST /up/silent HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{}")
	<-silent
	c.Close()
	gone("before the answer")
	answer, err = http.Get("http://" + at.String() + "/up/cut")
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(answer.Body)
	if string(got) != "abc" || err == nil {
		t.Errorf("the cut stream reads %q, %v", got, err)
	}
	answer.Body.Close()
	http.DefaultClient.CloseIdleConnections()
}

// Over HTTP/2, as providers are asked, nothing is added or doubled either.
func TestRelay_overHTTP2(t *testing.T) {
	heads := make(chan http.Header, 1)
	up := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			t.Errorf("the upstream is asked over %s", r.Proto)
		}
		heads <- r.Header
	}))
	up.EnableHTTP2 = true
	up.StartTLS()
	defer up.Close()
	carrier := Direct().(direct)
	carrier.TLSClientConfig = up.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	at := relayed(t, Config{Transport: carrier, Upstreams: map[string]string{"up": up.URL}})
	for headers, want := range map[string]http.Header{
		"":                            {},
		"user-agent: a\r\nx-b: 1\r\n": {"User-Agent": {"a"}, "X-B": {"1"}},
		"User-Agent: a\r\nanthropic-beta: x\r\nAnthropic-Beta: y\r\nx-winnow: off\r\n": {"User-Agent": {"a"}, "Anthropic-Beta": {"x", "y"}},
	} {
		talk(t, at, "GET /up/x HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"+headers+"\r\n")
		if diff := cmp.Diff(want, <-heads); diff != "" {
			t.Errorf("%q (-want +got):\n%s", headers, diff)
		}
	}
}

// carrying is a transport of a test.
type carrying func(*http.Request) (*http.Response, error)

func (c carrying) RoundTrip(r *http.Request) (*http.Response, error) { return c(r) }

// The transport sees what is said to winnow, headers as net/http spells them, and the address at
// the provider; what it makes of the body is what leaves.
func TestRelay_whatTheTransportSees(t *testing.T) {
	up := rawly(t, drain)
	base := Direct()
	at := relayed(t, Config{Upstreams: map[string]string{"up": "http://" + up.Addr().String() + "/b"},
		Transport: carrying(func(r *http.Request) (*http.Response, error) {
			if r.Header.Get("X-Winnow") != "off" || r.Header.Get("Anthropic-Beta") != "x" || r.URL.Path != "/b/v1/messages" {
				t.Errorf("it sees %s %v", r.URL, r.Header)
			}
			r = r.Clone(r.Context())
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader("{}")), 2
			defer base.(direct).CloseIdleConnections()
			return base.RoundTrip(r)
		})})
	talk(t, at, "POST /up/v1/messages?q HTTP/1.1\r\nHost: h\r\nConnection: close\r\nx-winnow: off\r\nANTHROPIC-beta: x\r\n"+
		"Content-Length: 4\r\n\r\n{  }")
	head, body := up.only(t)
	want := []string{"POST /b/v1/messages?q HTTP/1.1", "ANTHROPIC-beta: x", "Content-Length: 2", "Host: " + up.Addr().String()}
	if diff := cmp.Diff(want, head); diff != "" || body != "{}" {
		t.Errorf("the body is %q, the head (-want +got):\n%s", body, diff)
	}
}
