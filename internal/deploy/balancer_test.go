package deploy

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/winnowhq/winnow/internal/pgtest"
)

// The compose file's services start in their order, answer the balancer's checks and Prometheus, and
// are replaced one after the other while clients ask: none of their requests fails, and none reaches
// the provider twice.
func TestCompose_startsAndIsReplaced(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the program and starts a database")
	}
	database, up, services := pgtest.Start(t), newProvider(t), composed(t, shell())
	addresses := map[string]string{"winnow-1": free(t), "winnow-2": free(t)}
	start := func(name string) *process {
		t.Helper()
		return launch(t, moved(t, services[name].environment(), database, addresses[name], up.URL), services[name].Command...)
	}
	for _, name := range []string{"migrate", "tenant"} {
		start(name).finish(t)
	}
	checks := regexp.MustCompile(`(?m)^\s*option httpchk (\S+) (\S+)$`).FindAllStringSubmatch(cfg(t), -1)
	if len(checks) != 1 {
		t.Fatalf("haproxy.cfg has the checks %q", checks)
	}
	replicas := map[string]*process{}
	healthy := func(name string) {
		t.Helper()
		replicas[name].within(t, "answer to HAProxy's check", func() bool {
			return asHAProxy(t, checks[0][1:], addresses[name]) == 200
		})
	}
	for name := range addresses {
		replicas[name] = start(name)
	}
	asked := scraped(t)
	for name := range addresses {
		healthy(name)
		replicas[name].scrape(t, services[name].environment(), asked[name], "/metrics", name)
		delete(asked, name)
	}
	if len(asked) > 0 {
		t.Errorf("Prometheus asks %v, which are no replicas", asked)
	}
	front := Balance(t, addresses, "")
	load := begin(front, shell()["FIRST_TOKEN"])
	for _, name := range []string{"winnow-1", "winnow-2"} {
		load.more(t, 100)
		replicas[name].stop(t)
		load.more(t, 20) // the other one has all of it
		replicas[name] = start(name)
		healthy(name)
		replicas[name].within(t, "request from the balancer", func() bool {
			return strings.Contains(replicas[name].said.String(), `"msg":"relayed"`)
		})
	}
	load.more(t, 100)
	sent := load.end()
	if len(load.failed) > 0 {
		t.Errorf("of %d requests %d failed, such as\n%s", sent, len(load.failed), strings.Join(load.failed[:min(5, len(load.failed))], "\n"))
	}
	up.mu.Lock()
	defer up.mu.Unlock()
	for number, n := range up.came {
		if n != 1 {
			t.Errorf("request %s reached the provider %d times", number, n)
		}
	}
	t.Logf("%d requests, the slowest took %s", sent, load.slowest.Round(time.Millisecond))
}

// load is clients that ask all the time.
type load struct {
	answered atomic.Int64
	over     atomic.Bool
	working  sync.WaitGroup
	mu       sync.Mutex
	failed   []string
	slowest  time.Duration
}

// begin lets eight clients ask through a gateway, each with a connection that it keeps.
func begin(gateway, token string) *load {
	l := &load{}
	for n := range 8 {
		l.working.Go(func() {
			client := &http.Client{Transport: &http.Transport{}, Timeout: 20 * time.Second}
			defer client.CloseIdleConnections()
			for i := 0; !l.over.Load(); i++ {
				begun := time.Now()
				status, answer, err := ask(client, gateway, token, fmt.Sprint(n, ".", i))
				took := time.Since(begun)
				l.mu.Lock()
				if l.slowest = max(l.slowest, took); status != 200 || err != nil {
					l.failed = append(l.failed, fmt.Sprintf("%d %s %v after %s", status, answer, err, took.Round(time.Millisecond)))
				}
				l.mu.Unlock()
				l.answered.Add(1)
			}
		})
	}
	return l
}

// more waits until so many more requests have ended.
func (l *load) more(t *testing.T, n int64) {
	t.Helper()
	late := time.After(time.Minute)
	for until := l.answered.Load() + n; l.answered.Load() < until; {
		select {
		case <-late:
			t.Fatalf("no %d requests in a minute", n)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// end waits for the clients' last answers, and is how many there were.
func (l *load) end() int64 {
	l.over.Store(true)
	l.working.Wait()
	return l.answered.Load()
}

// replica stands for a gateway: it answers one request on a connection, and closes that when another
// one comes, as a gateway may that ends. If it breaks, it answers nothing but checks.
type replica struct {
	net.Listener
	came atomic.Int64 // requests that are no checks
}

func newReplica(t *testing.T, address string, breaks bool) *replica {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	r := &replica{Listener: l}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				in := bufio.NewReader(c)
				request, err := http.ReadRequest(in)
				if err != nil {
					return
				}
				io.Copy(io.Discard, request.Body)
				if request.Method == http.MethodPost {
					if r.came.Add(1); breaks {
						return
					}
				}
				io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n")
				in.ReadByte() // the next request, or the end
			}()
		}
	}()
	return r
}

// A request that has reached a replica is not sent to another one, as a provider may have been paid
// for it. One whose replica does not take the connection is. None is sent on a connection that was
// kept, which its replica may be closing.
func TestBalancer_sendsNothingTwice(t *testing.T) {
	for _, breaks := range []bool{true, false} {
		both := []*replica{newReplica(t, free(t), breaks), newReplica(t, free(t), breaks)}
		front := Balance(t, map[string]string{"winnow-1": both[0].Addr().String(), "winnow-2": both[1].Addr().String()}, "")
		if !breaks {
			both[0].Close() // HAProxy does not know it yet
		}
		// To a client whose connection it kept HAProxy tells a failure by closing that.
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: breaks}}
		var got []int
		for i := range 6 {
			status, _, err := ask(client, front, "", fmt.Sprint(i))
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, status)
		}
		want := 200
		if breaks {
			want = 502
		}
		if came := both[0].came.Load() + both[1].came.Load(); came != 6 || slices.ContainsFunc(got, func(s int) bool { return s != want }) {
			t.Errorf("replicas that break %v: six requests came %d times, and were answered %v", breaks, came, got)
		}
	}
}

// A client that leaves before its answer begins is left by its replica, too, which leaves the provider.
func TestBalancer_leavesWithTheClient(t *testing.T) {
	came, left := make(chan struct{}), make(chan struct{})
	replica := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			io.Copy(io.Discard, r.Body)
			close(came)
			<-r.Context().Done()
			close(left)
		}
	}))
	t.Cleanup(replica.Close)
	at := replica.Listener.Addr().String()
	front := Balance(t, map[string]string{"winnow-1": at, "winnow-2": at}, "")
	ctx, leave := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+front+"/up/v1/messages", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	go func() { <-came; leave() }()
	if a, err := http.DefaultClient.Do(r); err == nil {
		t.Fatalf("it is answered with %d", a.StatusCode)
	}
	select {
	case <-left:
	case <-time.After(20 * time.Second):
		replica.CloseClientConnections()
		t.Fatal("the replica does not hear that the client has left")
	}
}

// names answers for the addresses of names, as Docker does for the containers of a network.
func names(t *testing.T, addresses *sync.Map) (nameserver string) {
	t.Helper()
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	go func() {
		for packet := make([]byte, 4096); ; {
			n, from, err := c.ReadFrom(packet)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(packet[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			q := m.Questions[0]
			m.Response, m.Additionals = true, nil
			if ip, ok := addresses.Load(strings.TrimSuffix(q.Name.String(), ".")); ok && q.Type == dnsmessage.TypeA {
				head := dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET, TTL: 1}
				m.Answers = []dnsmessage.Resource{{Header: head, Body: &dnsmessage.AResource{A: ip.(netip.Addr).As4()}}}
			}
			if answer, err := m.Pack(); err == nil {
				c.WriteTo(answer, from)
			}
		}
	}()
	return c.LocalAddr().String()
}

// The balancer starts before its replicas have addresses, and follows one that gets another address
// as its container is replaced.
func TestBalancer_followsReplicas(t *testing.T) {
	_, port, _ := net.SplitHostPort(free(t))
	if l, err := net.Listen("tcp", "127.0.0.2:"+port); err != nil {
		t.Skipf("this computer has one loopback address: %v", err)
	} else {
		l.Close()
	}
	var addresses sync.Map
	addresses.Store("winnow-1", netip.MustParseAddr("127.0.0.1"))
	before := newReplica(t, "127.0.0.1:"+port, false)
	front := Balance(t, map[string]string{"winnow-1": "winnow-1:" + port, "winnow-2": "winnow-2:" + port}, names(t, &addresses))
	before.Close()
	after := newReplica(t, "127.0.0.2:"+port, false)
	addresses.Store("winnow-1", netip.MustParseAddr("127.0.0.2"))
	for late := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		status, _, err := ask(http.DefaultClient, front, "", "0")
		if err == nil && status == 200 && after.came.Load() > 0 {
			break
		}
		if time.Now().After(late) {
			t.Fatalf("it does not find the replica at its new address: %d, %v", status, err)
		}
	}
}

// A client hears why its request is refused, however large that is: the replica answers when it has
// all of it, and not while the balancer still sends.
func TestBalancer_tellsWhyARequestIsRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the program and starts a database")
	}
	database, services := pgtest.Start(t), composed(t, shell())
	at := free(t)
	start := func(name string) *process {
		t.Helper()
		return launch(t, moved(t, services[name].environment(), database, at, "http://127.0.0.1:1"), services[name].Command...)
	}
	for _, name := range []string{"migrate", "tenant"} {
		start(name).finish(t)
	}
	start("winnow-1")
	front := Balance(t, map[string]string{"winnow-1": at, "winnow-2": at}, "")
	client := &http.Client{Transport: &http.Transport{}}
	for i := range 200 {
		body := strings.NewReader(strings.Repeat("x", 1000*i))
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+front+"/anthropic/v1/messages", body)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Winnow-Token", "wt_of_nobody")
		a, err := client.Do(r)
		if err != nil {
			t.Fatalf("%d bytes: %v", 1000*i, err)
		}
		text, _ := io.ReadAll(a.Body)
		a.Body.Close()
		if a.StatusCode != http.StatusUnauthorized || !strings.Contains(string(text), "no client with this token") {
			t.Fatalf("%d bytes: %d %s", 1000*i, a.StatusCode, text)
		}
	}
}
