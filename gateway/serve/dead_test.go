package serve

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// A VPN that ends or a NAT that forgets drops a connection without a word: what is sent on it
// arrives nowhere, and nothing says so.
func TestDirect_givesUpADeadConnection(t *testing.T) {
	up := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		io.WriteString(w, r.Proto)
	}))
	up.EnableHTTP2 = true
	up.StartTLS()
	defer up.Close()
	way := forgets(t, up.Listener.Addr().String())
	carrier := Direct().(direct)
	if carrier.HTTP2 == nil {
		t.Fatal("connections are never asked whether they live")
	}
	carrier.HTTP2.SendPingTimeout, carrier.HTTP2.PingTimeout = 20*time.Millisecond, 200*time.Millisecond
	carrier.TLSClientConfig = up.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	defer carrier.CloseIdleConnections()
	at := relayed(t, Config{Transport: carrier, Upstreams: map[string]string{"up": "https://" + way.addr()}})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	ask := func() (status int, body string) {
		r, _ := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+at.String()+"/up/v1/messages", strings.NewReader("{}"))
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatalf("it waits for ever: %v", err)
		}
		defer answer.Body.Close()
		text, _ := io.ReadAll(answer.Body)
		return answer.StatusCode, string(text)
	}
	if status, body := ask(); status != 200 || body != "HTTP/2.0" {
		t.Fatalf("the first request: %d %s", status, body)
	}
	way.forget()
	before := way.opened()
	status, body := ask()
	if status == http.StatusBadGateway && strings.Contains(body, "winnow got no answer") {
		status, body = ask() // as every client does
	}
	if status != 200 || way.opened() == before {
		t.Errorf("the retry: %d %s, after %d connections and then %d", status, body, before, way.opened())
	}
}

// way is what leads to an upstream. What it forgets stays open at both ends.
type way struct {
	net.Listener
	mu        sync.Mutex
	count     int
	forgotten chan struct{} // of the connections that there are
}

func forgets(t *testing.T, to string) *way {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &way{Listener: l, forgotten: make(chan struct{})}
	var all []net.Conn
	t.Cleanup(func() {
		l.Close()
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, c := range all {
			c.Close()
		}
	})
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				in.Close()
				continue
			}
			w.mu.Lock()
			w.count++
			all = append(all, in, out)
			forgotten := w.forgotten
			w.mu.Unlock()
			go carry(in, out, forgotten)
			go carry(out, in, forgotten)
		}
	}()
	return w
}

// carry copies until the way is forgotten; then it takes what comes, and says nothing.
func carry(from, to net.Conn, forgotten chan struct{}) {
	data := make([]byte, 32<<10)
	for {
		n, err := from.Read(data)
		if err != nil {
			break
		}
		select {
		case <-forgotten:
		default:
			to.Write(data[:n])
		}
	}
	select {
	case <-forgotten:
	default:
		to.Close()
	}
}

func (w *way) addr() string { return w.Addr().String() }

func (w *way) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.forgotten)
	w.forgotten = make(chan struct{})
}

func (w *way) opened() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.count
}
