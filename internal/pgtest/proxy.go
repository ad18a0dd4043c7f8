package pgtest

import (
	"io"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// Proxy stands between a store and its server. It counts round trips: how often bytes for the server
// come after bytes of it.
type Proxy struct {
	URL   string // of the server, through the proxy
	trips atomic.Int64
	drop  atomic.Bool
}

// Trips is how many round trips there were.
func (p *Proxy) Trips() int64 { return p.trips.Load() }

// Drop lets the server's next answer be lost, and the connection with it.
func (p *Proxy) Drop() { p.drop.Store(true) }

// NewProxy starts a proxy of the server with a URL. It ends with the test.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	network, address := "tcp", u.Host
	if host := u.Query().Get("host"); strings.HasPrefix(host, "/") {
		network, address = "unix", filepath.Join(host, ".s.PGSQL.5432")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Del("host")
	q.Set("sslmode", "disable")
	u.RawQuery, u.Host = q.Encode(), l.Addr().String()
	p := &Proxy{URL: u.String()}
	var all sync.WaitGroup
	t.Cleanup(func() { l.Close(); all.Wait() })
	all.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial(network, address)
			if err != nil {
				client.Close()
				continue
			}
			var answered atomic.Bool
			answered.Store(true)
			end := sync.OnceFunc(func() { client.Close(); server.Close() })
			all.Go(func() {
				defer end()
				pass(server, client, func() bool {
					if answered.Swap(false) {
						p.trips.Add(1)
					}
					return true
				})
			})
			all.Go(func() {
				defer end()
				pass(client, server, func() bool { answered.Store(true); return !p.drop.Swap(false) })
			})
		}
	})
	return p
}

// pass copies bytes as long as each read may go on.
func pass(to io.Writer, from io.Reader, may func() bool) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			if !may() {
				return
			}
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
