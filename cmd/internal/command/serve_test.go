package command

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/sqlite"
)

// gate is a `winnow serve` that runs.
type gate struct {
	t     *testing.T
	cmd   *exec.Cmd
	url   string
	lines chan string
	said  []string // lines that were read so far
}

// gate starts one, and waits until it listens.
func (d *desk) gate(args ...string) *gate {
	d.t.Helper()
	g := &gate{t: d.t, cmd: d.command(append([]string{"serve"}, args...)...), lines: make(chan string, 1000)}
	log, err := g.cmd.StderrPipe()
	if err != nil {
		d.t.Fatal(err)
	}
	if err := g.cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { g.cmd.Process.Kill(); g.cmd.Wait() })
	go func() {
		defer close(g.lines)
		for in := bufio.NewScanner(log); in.Scan(); {
			g.lines <- in.Text()
		}
	}()
	g.url = g.says(`address=(https?://\S+)`)[1]
	return g
}

// says waits for a line that matches.
func (g *gate) says(pattern string) []string {
	g.t.Helper()
	late := time.After(time.Minute)
	for {
		select {
		case line, ok := <-g.lines:
			if found := regexp.MustCompile(pattern).FindStringSubmatch(line); found != nil {
				g.said = append(g.said, line)
				return found
			}
			if !ok {
				g.t.Fatalf("it ended, and did not say %s:\n%s", pattern, strings.Join(g.said, "\n"))
			}
			g.said = append(g.said, line)
		case <-late:
			g.t.Fatalf("it does not say %s:\n%s", pattern, strings.Join(g.said, "\n"))
		}
	}
}

// ends lets it end, and is all that it said.
func (g *gate) ends() string {
	g.t.Helper()
	g.cmd.Process.Signal(syscall.SIGTERM)
	for line := range g.lines {
		g.said = append(g.said, line)
	}
	wantExit(g.t, g.cmd, cli.ExitDone)
	return strings.Join(g.said, "\n")
}

// ask sends a request, with headers as name and value, and is what is answered.
func ask(t *testing.T, url, body string, headers ...string) (status int, answer string) {
	t.Helper()
	r, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	a, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	text, _ := io.ReadAll(a.Body)
	return a.StatusCode, string(text)
}

const asking = `{"model":"claude-sonnet-4-5","max_tokens":10,"tools":[{"name":"a"},{"name":"b"}],"messages":[{"role":"user","content":"hello %d"}]}`

// The configuration is read again when its file changes, and at SIGHUP; a broken one leaves the one
// before in force; requests under way are not touched.
func TestServe_readsTheConfigurationAgain(t *testing.T) {
	d := newDesk(t)
	url, got := providing(t)
	const first = `{"gateway": {"listen": "127.0.0.1:0", "mode": "off", "upstreams": {"house": "%s"}}}`
	d.configure(fmt.Sprintf(first, url))
	g := d.gate()

	under, release := make(chan struct{}), make(chan struct{})
	slow := http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			io.WriteString(w, "first ")
			w.(http.Flusher).Flush()
			close(under)
			<-release
			io.WriteString(w, "last")
		}
	})}
	l, _ := net.Listen("tcp", "127.0.0.1:0")
	go slow.Serve(l)
	defer slow.Close()

	if status, _ := ask(t, g.url+"/barn/v1/messages", "{}"); status != 404 {
		t.Errorf("an unknown upstream is answered with %d", status)
	}
	d.configure(fmt.Sprintf(`{"gateway": {"listen": "127.0.0.1:1", "mode": "full", "tools": {"drop": ["b"]},
		"upstreams": {"barn": "%s", "slow": "http://%s"}}}`, url, l.Addr()))
	g.says("gateway.listen and whether gateway.tls.cert is set count from the next start on")
	g.says(`read again.* mode=full upstreams="anthropic barn gemini openai slow"`)
	if status, _ := ask(t, g.url+"/house/v1/messages", "{}"); status != 404 {
		t.Errorf("an upstream that has gone is answered with %d", status)
	}
	if status, answer := ask(t, g.url+"/barn/v1/messages", fmt.Sprintf(asking, 1)); status != 200 {
		t.Errorf("%d %s", status, answer)
	}
	if all := got(); strings.Contains(all[len(all)-1].body, `"b"`) {
		t.Errorf("a tool that is to be left out was sent: %s", all[len(all)-1].body)
	}

	answered := make(chan string)
	go func() {
		_, answer := ask(t, g.url+"/slow/v1/messages", fmt.Sprintf(asking, 2))
		answered <- answer
	}()
	<-under
	d.configure(`{"gateway": {"mode": "bold"}}`)
	g.says(`the one before stays in force.* unknown mode`)
	d.configure(`{"gateway": `)
	g.cmd.Process.Signal(syscall.SIGHUP)
	g.says(`the one before stays in force`)
	if status, _ := ask(t, g.url+"/barn/v1/messages", fmt.Sprintf(asking, 3)); status != 200 {
		t.Errorf("after a broken configuration: %d", status)
	}
	d.configure(fmt.Sprintf(first, url))
	g.cmd.Process.Signal(syscall.SIGHUP)
	g.says(`read again.* mode=off upstreams="anthropic gemini house openai"`)
	close(release)
	if answer := <-answered; answer != "first last" {
		t.Errorf("the answer that was under way is %q", answer)
	}
	if all := g.ends(); strings.Contains(all, "hello") || strings.Contains(all, "canary") {
		t.Errorf("the log has content:\n%s", all)
	}
}

// Tokens say who may ask; they are nowhere but with the client.
func TestServe_tokens(t *testing.T) {
	d := newDesk(t)
	url, got := providing(t)
	d.configure(`{"gateway": {"listen": "127.0.0.1:0", "upstreams": {"house": "` + url + `"}}}`)
	g := d.gate()
	if status, _ := ask(t, g.url+"/house/v1/messages", "{}"); status != 200 {
		t.Errorf("without tokens: %d", status)
	}
	o := d.run("serve", "token", "add", "ann")
	o.wants(t, cli.ExitDone, "shown this once")
	token := strings.TrimSpace(o.stdout)
	g.says("read again.* clients=1")
	for path, want := range map[string]string{
		"/house/v1/messages": `{"type":"error","error":{"type":"authentication_error","message":"winnow knows no client with this token`, "/house/v1/responses": `{"error":{"code":"winnow","type":"authentication_error"`,
		"/house/v1beta/models/m:generateContent": `"status":"UNAUTHENTICATED"`, "/": "authentication_error", "/nosuch": "authentication_error",
		"/wt_wrong/house/v1/messages": "authentication_error",
	} {
		if status, answer := ask(t, g.url+path, "{}", "x-winnow-token", "wt_wrong"); status != 401 || !strings.Contains(answer, want) {
			t.Errorf("%s: %d %s, want %s", path, status, answer, want)
		}
	}
	before := len(got())
	for _, c := range [][]string{{"/house/v1/messages?a=b", "x-winnow-token", token}, {"/" + token + "/house/v1/messages?a=b"}} {
		if status, answer := ask(t, g.url+c[0], fmt.Sprintf(asking, 1), append(c[1:], "x-api-key", wrapKey, "x-winnow-client", "eve")...); status != 200 {
			t.Errorf("%v: %d %s", c, status, answer)
		}
		g.says(`relayed upstream=house .* client=ann`)
	}
	for _, r := range got()[before:] {
		if r.path != "/v1/messages?a=b" || r.key != wrapKey {
			t.Errorf("the provider got %+v", r)
		}
	}
	d.run("serve", "token", "add", "ann").wants(t, cli.ExitUsage, "has a token already")
	d.run("serve", "token", "add", "a.b").wants(t, cli.ExitUsage, "cannot name a client")
	d.run("serve", "token", "list").wants(t, cli.ExitDone)
	d.run("serve", "token", "remove", "bob").wants(t, cli.ExitUsage, "bob has no token")
	if o := d.run("serve", "token", "remove", "ann", "--json"); o.stdout != "{\n  \"clients\": []\n}\n" {
		t.Errorf("after removing it: %s%s", o.stdout, o.stderr)
	}
	g.says("read again.* clients=0")
	d.run("serve", "token", "list").wants(t, cli.ExitNothing, "anybody who reaches the listener")
	if all := g.ends() + everything(t, filepath.Join(d.dir, "..")); strings.Contains(all, token) || strings.Contains(all, "canary") {
		t.Error("a token or a key was kept")
	}
}

// certificate writes a certificate for this computer, and its key.
func certificate(t *testing.T, cert, key string, serial int64) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "winnow test"},
		NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, c, c, k.Public(), k)
	if err != nil {
		t.Fatal(err)
	}
	bytes, _ := x509.MarshalPKCS8PrivateKey(k)
	for name, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: bytes}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// Another address than a loopback one demands tokens, and a certificate or the word that something
// else has one.
func TestServe_atAnotherAddress(t *testing.T) {
	d := newDesk(t)
	url, got := providing(t)
	d.configure(`{"gateway": {"listen": "0.0.0.0:0", "upstreams": {"house": "` + url + `"}}}`)
	d.run("serve").wants(t, cli.ExitUsage, "winnow serve token add NAME")
	token := strings.TrimSpace(d.run("serve", "token", "add", "ann").stdout)
	d.run("serve").wants(t, cli.ExitUsage, "gateway.tls.inFront")
	cert, key := filepath.Join(d.dir, "c.pem"), filepath.Join(d.dir, "k.pem")
	d.run("config", "set", "gateway.tls.cert", cert).wants(t, cli.ExitDone)
	d.run("serve").wants(t, cli.ExitUsage, "belong together")
	d.run("config", "set", "gateway.tls.key", key).wants(t, cli.ExitDone)
	d.run("serve").wants(t, cli.ExitUsage, "gateway.tls: ", "there is no such file")
	certificate(t, cert, key, 1)

	g := d.gate()
	at := regexp.MustCompile(`:\d+$`).FindString(g.url)
	if !strings.HasPrefix(g.url, "https://") {
		t.Errorf("it listens at %s", g.url)
	}
	if status, _ := ask(t, "https://127.0.0.1"+at+"/house/v1/messages", "{}"); status != 401 {
		t.Errorf("without a token: %d", status)
	}
	if status, answer := ask(t, "https://127.0.0.1"+at+"/house/v1/messages", fmt.Sprintf(asking, 1), "X-Winnow-Token", token); status != 200 || len(got()) != 1 {
		t.Errorf("with a token: %d %s", status, answer)
	}
	serial := func() int64 {
		c, err := tls.Dial("tcp", "127.0.0.1"+at, &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		return c.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	if n := serial(); n != 1 {
		t.Errorf("the certificate is number %d", n)
	}
	certificate(t, cert, key, 2)
	g.says("read again")
	if n := serial(); n != 2 {
		t.Errorf("the new certificate is number %d", n)
	}
	plain, err := net.Dial("tcp", "127.0.0.1"+at)
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(plain, "GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n")
	if answer, _ := io.ReadAll(plain); strings.Contains(string(answer), "ok") {
		t.Errorf("what is not encrypted is answered %q", answer)
	}
	plain.Close()
	g.ends()

	d.configure(`{"gateway": {"listen": "0.0.0.0:0", "tls": {"inFront": true}, "clients": {"ann": "` + strings.Repeat("0", 64) + `"}}}`)
	g = d.gate()
	if status, _ := ask(t, "http://127.0.0.1"+regexp.MustCompile(`:\d+$`).FindString(g.url)+"/anthropic/v1/messages", "{}"); status != 401 {
		t.Errorf("with something in front: %d", status)
	}
	g.ends()
}

// A gateway behind a balancer goes on for a while when it is to end: its probes say so, so that the
// balancer sends requests elsewhere, and those that come all the same are answered.
func TestServe_endsAfterNotice(t *testing.T) {
	d := newTeamDesk(t)
	d.configure(`{"gateway": {"listen": "0.0.0.0:0", "tls": {"inFront": true}}}`)
	g := d.gate()
	at := "http://127.0.0.1" + regexp.MustCompile(`:\d+$`).FindString(g.url)
	probe := func(path string) int {
		a, _ := send(t, http.MethodGet, at+path, "")
		return a.StatusCode
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if status := probe(path); status != 200 {
			t.Errorf("%s: %d", path, status)
		}
	}
	g.cmd.Process.Signal(syscall.SIGTERM)
	g.says("msg=\"ending: ")
	for _, path := range []string{"/healthz", "/readyz"} {
		if status := probe(path); status != 503 {
			t.Errorf("%s of one that ends: %d", path, status)
		}
	}
	if status, answer := ask(t, at+"/anthropic/v1/messages", "{}"); status != 401 {
		t.Errorf("a request that comes late: %d %s", status, answer)
	}
	g.says("msg=ended")
	wantExit(t, g.cmd, cli.ExitDone)
}

// Of two winnows in a row the outer one steps aside, and says so.
func TestWrap_insideAnotherWinnow(t *testing.T) {
	sequential(t)
	for _, mode := range []string{"full", "observe", "off"} {
		d := newDesk(t)
		client := d.program("asks")
		url, got := providing(t)
		d.configure(`{"gateway": {"listen": "127.0.0.1:0", "mode": "` + mode + `", "upstreams": {"anthropic": "` + url + `"}}}`)
		g := d.gate()
		d.env = append(d.env, "ANTHROPIC_BASE_URL="+g.url+"/anthropic", "ASK=/v1/messages")
		cmd := d.command("wrap", "--store", "other.db", "--mode", "full", "--", client)
		cmd.Stdin = strings.NewReader(fmt.Sprintf(asking, 1))
		o := d.outcome(cmd)
		if o.code != 7 || len(got()) != 1 {
			t.Errorf("%s: exit code %d, %d requests: %s", mode, o.code, len(got()), o.stderr)
		}
		if aside := strings.Contains(o.stderr, "another winnow already"); aside != (mode != "off") {
			t.Errorf("a winnow in mode %s behind it, and it says %s", mode, o.stderr)
		}
		for file, want := range map[string]bool{"other.db": mode == "off", "": mode != "off"} {
			kept := strings.Contains(d.run("list", "--store", file).stdout, "live_")
			if file == "" {
				kept = strings.Contains(d.run("list").stdout, "live_")
			}
			if kept != want {
				t.Errorf("a winnow in mode %s behind it: the conversation is in the store %q: %v, want %v", mode, file, kept, want)
			}
		}
		g.ends()
	}
	d := newDesk(t)
	url, got := providing(t)
	d.env = append(d.env, "ANTHROPIC_BASE_URL="+url, "ASK=/v1/messages")
	cmd := d.command("wrap", "--store", "outer.db", "--", d.program("winnow"), "wrap", "--store", "inner.db", "--", d.program("asks"))
	cmd.Stdin = strings.NewReader(fmt.Sprintf(asking, 1))
	o := d.outcome(cmd)
	if o.code != 7 || len(got()) != 1 || strings.Count(o.stderr, "another winnow already") != 1 || strings.Count(o.stderr, "mode off: nothing was pruned") != 1 {
		t.Errorf("a wrap inside a wrap: exit code %d, %d requests: %s", o.code, len(got()), o.stderr)
	}
	if outer := d.run("list", "--store", "outer.db").stdout; !strings.Contains(outer, "live_") || strings.Contains(d.run("list", "--store", "inner.db").stdout, "live_") {
		t.Errorf("the outer one keeps %s", outer)
	}

	d = newDesk(t)
	d.configure(`{"gateway": {"listen": "127.0.0.1:41419", "upstreams": {"house": "http://127.0.0.1:41419/house"}}}`)
	if o := d.run("serve"); o.code != cli.ExitUsage || !strings.Contains(o.stderr, "this listener itself") {
		t.Errorf("a listener that relays to itself: %d %s", o.code, o.stderr)
	}
}

// Conversations that nobody goes on with are deleted with all that belongs to them, and no others,
// unless somebody has said that none shall be.
func TestServe_retention(t *testing.T) {
	for said, deletes := range map[string]bool{``: true, `, "retention": "30d"`: true, `, "retention": "never"`: false,
		`, "retention": ""`: false} {
		t.Run(said, func(t *testing.T) { retains(t, said, deletes) })
	}
}

func retains(t *testing.T, said string, deletes bool) {
	d := newDesk(t)
	kept, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(d.dir, "s.db")})
	if err != nil {
		t.Fatal(err)
	}
	old, now := session.Millis(time.Now().Add(-40*24*time.Hour).UnixMilli()), session.Millis(time.Now().UnixMilli())
	for id, s := range map[string]struct {
		parent, message string
		updated         session.Millis
	}{
		"live_old": {"", "m0001", old}, "ses_fork_of_old": {"live_old", "m0001", old},
		"live_new":      {"", "m0001", now},
		"live_going_on": {"", "m0001", old}, "ses_fork_going_on": {"live_going_on", "m0001", now},
		"live_pinned": {"", "m0001", old}, "ses_own": {"", "m0001", old},
		"live_continued": {"", "msg_by_hand", old},
	} {
		info := session.Info{ID: id, ParentID: s.parent, Time: session.Lifetime{Created: s.updated, Updated: s.updated}}
		m := session.Message{MessageInfo: session.MessageInfo{ID: s.message, Role: session.User}, Parts: []session.Part{{Type: session.TextPart, Text: "hi"}}}
		if _, err := kept.Apply(t.Context(), id, store.Change{Create: &info, Append: []session.Message{m}, Info: &info}); err != nil {
			t.Fatal(err)
		}
	}
	kept.Close()
	d.run("pin", "--store", "s.db", "live_pinned", "--text", "hi")
	d.configure(`{"gateway": {"listen": "127.0.0.1:0"` + said + `}}`)
	g := d.gate("--store", "s.db")
	if deletes {
		g.says(`deleted old conversations" sessions=2`)
	}
	g.ends()
	left := d.run("list", "--store", "s.db").stdout
	for id, want := range map[string]bool{"live_old": !deletes, "ses_fork_of_old": !deletes, "live_new": true, "live_going_on": true, "ses_fork_going_on": true,
		"live_pinned": true, "ses_own": true, "live_continued": true} {
		if strings.Contains(left, id) != want {
			t.Errorf("%s: want it there: %v; there are\n%s", id, want, left)
		}
	}
}

// readyz says that nothing can be kept, without naming what.
func TestServe_isReadyIfTheStoreIs(t *testing.T) {
	d := newDesk(t)
	d.configure(`{"gateway": {"listen": "127.0.0.1:0"}}`)
	g := d.gate("--store", "s.db")
	if status, text := g.ready(); status != 200 || text != "ok\n" {
		t.Errorf("%d %q", status, text)
	}
	// Not truncated first: a connection that opens an empty file unlinks the log, which the others keep.
	for _, name := range []string{"s.db", "s.db-wal", "s.db-shm"} {
		f, err := os.OpenFile(filepath.Join(d.dir, name), os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		f.WriteString(strings.Repeat("no database", 5000))
		f.Close()
	}
	if status, text := g.ready(); status != 503 || text != "not ready: the store cannot be written\n" {
		t.Errorf("with a store that was overwritten: %d %q", status, text)
	}
	g.cmd.Process.Signal(syscall.SIGTERM)
}

// ready is what it says to what looks after it.
func (g *gate) ready() (status int, text string) {
	g.t.Helper()
	a, err := http.Get(g.url + "/readyz")
	if err != nil {
		g.t.Fatal(err)
	}
	defer a.Body.Close()
	said, _ := io.ReadAll(a.Body)
	return a.StatusCode, string(said)
}

// Where the store cannot be opened, serve relays what comes as it came, and says so; when it can be
// opened, conversations are kept again, without a restart.
func TestServe_beginsWithoutItsStore(t *testing.T) {
	d := newDesk(t)
	url, got := providing(t)
	d.configure(fmt.Sprintf(`{"gateway": {"listen": "127.0.0.1:0", "upstreams": {"house": %q}}}`, url))
	path := filepath.Join(d.dir, "s.db")
	if err := os.WriteFile(path, []byte(strings.Repeat("no database", 5000)), 0o600); err != nil {
		t.Fatal(err)
	}
	g := d.gate("--store", "s.db")
	if said := strings.Join(g.said, "\n"); !strings.Contains(said, "the store cannot be opened: until it can, requests are "+
		"relayed as they came, in mode off") || !strings.Contains(said, "mode=off") {
		t.Errorf("it says %s", said)
	}
	request := fmt.Sprintf(asking, 1)
	if status, _ := ask(t, g.url+"/house/v1/messages", request); status != 200 {
		t.Errorf("a request without a store: %d", status)
	}
	if came := got(); len(came) != 1 || came[0].body != request {
		t.Errorf("the provider got %v", came)
	}
	const lacks = "not ready: the store cannot be opened: requests are relayed as they came\n"
	if status, text := g.ready(); status != 503 || text != lacks {
		t.Errorf("%d %q", status, text)
	}
	if o := d.run("doctor", "--store", "s.db"); !strings.Contains(o.stdout, "relays everything whole") {
		t.Errorf("doctor says\n%s", o.stdout)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	g.says(`the store can be opened again" mode=full`)
	if status, text := g.ready(); status != 200 {
		t.Errorf("with its store: %d %q", status, text)
	}
	if status, _ := ask(t, g.url+"/house/v1/messages", fmt.Sprintf(asking, 2)); status != 200 {
		t.Errorf("a request with a store: %d", status)
	}
	g.ends()
	if left := d.run("list", "--store", "s.db").stdout; !strings.Contains(left, "live_") {
		t.Errorf("the store has\n%s", left)
	}
}

// serve shows browsers a page, unless gateway.page is false.
func TestServe_thePage(t *testing.T) {
	d := newDesk(t)
	url, _ := providing(t)
	d.configure(fmt.Sprintf(`{"gateway": {"listen": "127.0.0.1:0", "mode": "observe", "upstreams": {"house": "%s"}}}`, url))
	g := d.gate()
	browse := func(path string) (status int, text string) {
		r, _ := http.NewRequest(http.MethodGet, g.url+path, nil)
		r.Header.Set("Accept", "text/html")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, _ := io.ReadAll(answer.Body)
		return answer.StatusCode, string(body)
	}
	if line := g.said[len(g.said)-1]; !strings.Contains(line, "page="+g.url+"/") {
		t.Errorf("it does not say where the page is: %s", line)
	}
	if status, html := browse("/"); status != 200 || !strings.Contains(html, "<option selected>observe</option>") {
		t.Errorf("%d %s", status, html)
	}
	if status, _ := ask(t, g.url+"/~/act", `{"do":"mode","mode":"off"}`); status != 403 {
		t.Errorf("a program switches the mode: %d", status)
	}
	d.configure(fmt.Sprintf(`{"gateway": {"listen": "127.0.0.1:0", "page": false, "upstreams": {"house": "%s"}}}`, url))
	g.says("read again")
	if status, text := browse("/"); status != 200 || !strings.HasPrefix(text, "winnow relays to ") {
		t.Errorf("without a page: %d %s", status, text)
	}
	g.ends()
}
