package serve

import (
	"bytes"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"strings"
	"sync"
)

// conn is a connection of a client. It remembers how the names of headers were spelled: net/http
// knows one spelling alone. If it remembers nothing, that one is sent.
type conn struct {
	net.Conn
	mu   sync.Mutex
	head []byte // of the request that is being read, as far as it was read
	done bool   // the head is whole
}

// maxHead bounds the head of a request. Claude Code and Codex send some thousand bytes.
const maxHead = 1 << 20

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	if n > 0 && !c.done {
		from := max(len(c.head)-3, 0)
		c.head = append(c.head, p[:n]...)
		if at := bytes.Index(c.head[from:], []byte("\r\n\r\n")); at >= 0 {
			c.head, c.done = c.head[:from+at+2], true
		} else if len(c.head) > maxHead {
			c.head, c.done = nil, true
		}
	}
	return n, err
}

// next makes the connection ready for the head of another request.
func (c *conn) next() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.head, c.done = c.head[:0], false
}

// names are the names of the headers of the request by the spelling of net/http.
func (c *conn) names() map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	names := map[string]string{}
	for line := range strings.Lines(string(c.head)) {
		if name, _, ok := strings.Cut(line, ":"); ok && !strings.ContainsAny(name, " \t") {
			names[http.CanonicalHeaderKey(name)] = name
		}
	}
	return names
}

// connKey is the key of the connection that a request came on.
type connKey struct{}

// read are the headers that net/http itself looks at when it sends a request.
var read = map[string]bool{"Host": true, "Content-Length": true, "Expect": true, "Connection": true, "Upgrade": true}

// spelled are the headers of a request as they are sent: those of the client in its own spelling,
// without what was said to winnow.
func spelled(r *http.Request) http.Header {
	var names map[string]string
	if c, ok := r.Context().Value(connKey{}).(*conn); ok {
		names = c.names()
	}
	headers := make(http.Header, len(r.Header)+1)
	for name, values := range r.Header {
		own := names[name]
		switch {
		case strings.HasPrefix(http.CanonicalHeaderKey(name), "X-Winnow"):
		case own == "" || own == name || read[name]:
			headers[name] = values
		case name == "User-Agent":
			headers[name], headers[own] = []string{""}, values // or another one is added
		default:
			headers[own] = values
		}
	}
	if _, ok := headers["User-Agent"]; !ok {
		headers["User-Agent"] = []string{""}
	}
	return headers
}

// listener accepts connections that remember spellings, encrypted if there is a tls.Config.
type listener struct {
	net.Listener
	tls *tls.Config
}

// Accept implements net.Listener.
func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if l.tls != nil {
		c = tls.Server(c, l.tls)
	}
	return &conn{Conn: c}, nil
}

func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// state makes a connection ready for its next request.
func state(c net.Conn, now http.ConnState) {
	if own, ok := c.(*conn); ok && now == http.StateIdle {
		own.next()
	}
}
