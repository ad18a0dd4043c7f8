package gateway

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/winnowhq/winnow/gateway/tenant"
)

// open opens a WebSocket through a replica, and returns the connection when the provider has echoed
// a word on it.
func (l *till) open(token, path string, through int) net.Conn {
	l.t.Helper()
	c, err := net.Dial("tcp", l.relays[through].Address())
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		l.t.Fatal(err)
	}
	fmt.Fprintf(c, "GET /up%s HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nAuthorization: Bearer own\r\n"+
		"X-Winnow-Token: %s\r\n\r\n", path, token)
	in := bufio.NewReader(c)
	answer, err := http.ReadResponse(in, nil)
	if err != nil || answer.StatusCode != http.StatusSwitchingProtocols {
		l.t.Fatalf("%+v, %v", answer, err)
	}
	io.WriteString(c, "word\n")
	if word, err := in.ReadString('\n'); err != nil || word != "word\n" {
		l.t.Fatalf("%q comes back, %v", word, err)
	}
	return c
}

// A WebSocket ends within two seconds when its token is revoked or its tenant removed, at both ends
// and through every replica; that of another tenant goes on.
func TestToken_endsItsWebSockets(t *testing.T) {
	for what, do := range map[string]func(tenant.Book, tenant.Token) error{
		"revoked": func(b tenant.Book, k tenant.Token) error { _, err := b.Revoke(t.Context(), "test", k.ID); return err },
		"removed": func(b tenant.Book, k tenant.Token) error { return b.Remove(t.Context(), "test", k.Tenant) },
	} {
		t.Run(what, func(t *testing.T) {
			l := openTill(t, "", tenant.Tenant{Name: "ann"}, says)
			l.relay()
			left := make(chan string, 4) // by whom the provider was left
			l.socket = func(w http.ResponseWriter, r *http.Request) {
				c, both, err := w.(http.Hijacker).Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				defer c.Close()
				io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
				io.Copy(c, both)
				left <- r.URL.Path
			}
			if err := l.book.Add(t.Context(), "test", tenant.Tenant{Name: "bob"}); err != nil {
				t.Fatal(err)
			}
			shown, kept, err := tenant.NewToken("bob", "", tenant.AllScopes(), time.Now(), 0)
			if err == nil {
				err = l.book.AddToken(t.Context(), "test", kept)
			}
			if err != nil {
				t.Fatal(err)
			}
			l.look()
			others := l.open(l.token, "/v1/others", 0)
			var sockets []net.Conn
			for through := range l.relays {
				sockets = append(sockets, l.open(shown, "/v1/realtime", through))
			}
			if err := do(l.book, kept); err != nil {
				t.Fatal(err)
			}
			late := time.Now().Add(endsWithin)
			for i, c := range sockets {
				if err := c.SetReadDeadline(late); err != nil {
					t.Fatal(err)
				}
				if n, err := c.Read(make([]byte, 1)); err == nil || strings.Contains(err.Error(), "timeout") {
					t.Errorf("through replica %d: %d bytes, %v", i, n, err)
				}
				select {
				case path := <-left:
					if path != "/v1/realtime" {
						t.Errorf("the provider was left at %s", path)
					}
				case <-time.After(time.Until(late)):
					t.Errorf("the provider's end of WebSocket %d is open after %v", i, endsWithin)
				}
			}
			io.WriteString(others, "on\n")
			if word, err := bufio.NewReader(others).ReadString('\n'); err != nil || word != "on\n" {
				t.Errorf("that of another tenant: %q, %v", word, err)
			}
		})
	}
}
