package deploy

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/winnowhq/winnow/internal/pgtest"
)

// program is winnowd, built once as in the image.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "winnow-deploy")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "winnowd")
	out, err := exec.Command("go", "build", "-ldflags", "-s -w", "-o", path,
		"github.com/winnowhq/winnow/cmd/winnowd").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, err
})

// built: the program was wanted.
var built bool

func TestMain(m *testing.M) {
	code := m.Run()
	if built {
		if path, err := program(); err == nil {
			os.RemoveAll(filepath.Dir(path))
		}
	}
	os.Exit(code)
}

// process is a winnowd that runs.
type process struct {
	cmd   *exec.Cmd
	said  written
	ended chan struct{}
	err   error // of its end
}

// written is what a process has said so far.
type written struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (w *written) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(p)
}

func (w *written) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// launch starts winnowd with an environment and nothing else.
func launch(t *testing.T, environ []string, args ...string) *process {
	t.Helper()
	built = true
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: exec.Command(path, args...), ended: make(chan struct{})}
	p.cmd.Env, p.cmd.Dir = environ, t.TempDir()
	p.cmd.Stdout, p.cmd.Stderr = &p.said, &p.said
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { defer close(p.ended); p.err = p.cmd.Wait() }()
	t.Cleanup(func() { p.cmd.Process.Kill(); <-p.ended })
	return p
}

// finish waits for the end of a process, which is to be a success.
func (p *process) finish(t *testing.T) {
	t.Helper()
	select {
	case <-p.ended:
	case <-time.After(time.Minute):
		t.Fatalf("%q does not end:\n%s", p.cmd.Args[1:], &p.said)
	}
	if p.err != nil {
		t.Fatalf("%q: %v\n%s", p.cmd.Args[1:], p.err, &p.said)
	}
}

// stop asks a process to end as Docker and Kubernetes do.
func (p *process) stop(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatalf("it has ended before: %v\n%s", err, &p.said)
	}
	p.finish(t)
}

// within waits until something is so, while a process runs.
func (p *process) within(t *testing.T, what string, so func() bool) {
	t.Helper()
	for late := time.After(time.Minute); !so(); {
		select {
		case <-p.ended:
			t.Fatalf("it has ended instead of %s: %v\n%s", what, p.err, &p.said)
		case <-late:
			t.Fatalf("no %s in a minute:\n%s", what, &p.said)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// moved is an environment with the addresses of this test in the place of those in a container: the
// database, the port, the home folder; and the provider that is asked.
func moved(t *testing.T, environ []string, database, address, upstream string) (all []string) {
	t.Helper()
	_, port, _ := net.SplitHostPort(address)
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		switch {
		case name == "HOME":
			value = t.TempDir()
		case name == "WINNOW_STORE":
			value = database
		case name == "WINNOW_GATEWAY_LISTEN":
			value = strings.Replace(value, ":4141", ":"+port, 1)
		case name == "WINNOW_GATEWAY_METRICS":
			value = "127.0.0.1:0"
		}
		all = append(all, name+"="+value)
	}
	return append(all, fmt.Sprintf(`WINNOW_GATEWAY_UPSTREAMS={"up": %q}`, upstream))
}

// provider answers each request to the Messages API, and counts how often each came.
type provider struct {
	*httptest.Server
	mu   sync.Mutex
	came map[string]int // by the header X-Test-Request
}

func newProvider(t *testing.T) *provider {
	p := &provider{came: map[string]int{}}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			http.NotFound(w, r) // it is no winnow
			return
		}
		io.Copy(io.Discard, r.Body)
		p.mu.Lock()
		p.came[r.Header.Get("X-Test-Request")]++
		p.mu.Unlock()
		time.Sleep(5 * time.Millisecond)
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"id":"m","type":"message","role":"assistant","model":"claude-sonnet-4-5","stop_reason":"end_turn",`+
			`"content":[{"type":"text","text":"hi"}],"usage":{"input_tokens":10,"output_tokens":2}}`)
	}))
	t.Cleanup(p.Close)
	return p
}

// ask asks the provider through a gateway, and is what comes back.
func ask(client *http.Client, gateway, token, number string) (status int, answer string, err error) {
	r, err := http.NewRequest(http.MethodPost, "http://"+gateway+"/up/v1/messages", strings.NewReader(
		`{"model":"claude-sonnet-4-5","max_tokens":10,"tools":[{"name":"a","input_schema":{"type":"object"}}],`+
			`"messages":[{"role":"user","content":"request `+number+`"}]}`))
	if err != nil {
		return 0, "", err
	}
	r.Header = http.Header{"Content-Type": {"application/json"}, "Anthropic-Version": {"2023-06-01"}, "X-Api-Key": {"own"},
		"X-Test-Request": {number}}
	if token != "" {
		r.Header.Set("X-Winnow-Token", token)
	}
	a, err := client.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	return a.StatusCode, string(text), err
}

// asKubelet asks as kubelet does: for the address of the pod.
func asKubelet(t *testing.T, c container, p probe, address string) (status int) {
	t.Helper()
	port := 0
	for _, named := range c.Ports {
		if named.Name == p.HTTPGet.Port {
			port = named.ContainerPort
		}
	}
	if p.HTTPGet.Scheme != "HTTP" || port != 4141 {
		t.Fatalf("it is asked by %s at port %d", p.HTTPGet.Scheme, port)
	}
	r, err := http.NewRequest(http.MethodGet, "http://"+address+p.HTTPGet.Path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = fmt.Sprintf("10.244.1.7:%d", port)
	r.Header = http.Header{"User-Agent": {"kube-probe/1.31"}, "Accept": {"*/*"}}
	r.Close = true
	a, err := http.DefaultClient.Do(r)
	if errors.Is(err, syscall.ECONNREFUSED) {
		return 0 // it does not listen yet
	}
	if err != nil {
		t.Fatal(err)
	}
	a.Body.Close()
	return a.StatusCode
}

// asHAProxy sends the bytes of a health check of HAProxy, which names no Host, for the words behind
// "option httpchk".
func asHAProxy(t *testing.T, check []string, address string) (status int) {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if errors.Is(err, syscall.ECONNREFUSED) {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "%s %s HTTP/1.0\r\n\r\n", check[0], check[1])
	a, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	a.Body.Close()
	return a.StatusCode
}

// scrape is Prometheus's answer from a process that is started with an environment: it asks at a port,
// for a path, as this name, and shows no token.
func (p *process) scrape(t *testing.T, environ []string, port, path, name string) string {
	t.Helper()
	want := "WINNOW_GATEWAY_METRICS=0.0.0.0:" + port
	if !slices.Contains(environ, want) {
		t.Errorf("Prometheus asks %s at port %s, and it is not started with %s", name, port, want)
	}
	said := regexp.MustCompile(`"msg":"metrics","at":"(http://[^/"]+)/metrics"`)
	p.within(t, "address for metrics", func() bool { return said.MatchString(p.said.String()) })
	r, err := http.NewRequest(http.MethodGet, said.FindStringSubmatch(p.said.String())[1]+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = name + ":" + port
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	text, _ := io.ReadAll(a.Body)
	if a.StatusCode != 200 || !strings.Contains(string(text), "winnow_in_flight_requests") {
		t.Errorf("Prometheus gets %d from %s: %.300s", a.StatusCode, name, text)
	}
	return string(text)
}

// links are what Kubernetes sets in a pod for a service called winnow, should service links be on.
var links = []string{"WINNOW_SERVICE_HOST=10.96.7.1", "WINNOW_SERVICE_PORT=4141", "WINNOW_SERVICE_PORT_HTTP=4141",
	"WINNOW_PORT=tcp://10.96.7.1:4141", "WINNOW_PORT_4141_TCP=tcp://10.96.7.1:4141", "WINNOW_PORT_4141_TCP_PROTO=tcp",
	"WINNOW_PORT_4141_TCP_PORT=4141", "WINNOW_PORT_4141_TCP_ADDR=10.96.7.1"}

// The chart's deployment starts on a database that has tables alone, is ready for kubelet, and says
// how to make a tenant. The chart's job makes one while it runs.
func TestChart_starts(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the program and starts a database")
	}
	database, up := pgtest.Start(t), newProvider(t)
	token := shell()["FIRST_TOKEN"]
	secrets := map[string]string{"winnow-store/url": database, "winnow-first/token": token}
	all := rendered(t, everything, nil)
	job, c := the(t, "Job", all).Spec.Template.Spec, the(t, "Deployment", all).Spec.Template.Spec.Containers[0]
	address := free(t)
	start := func(c container) *process {
		return launch(t, append(moved(t, c.environment(t, secrets), database, address, up.URL), links...), c.Args...)
	}
	for _, c := range job.InitContainers {
		start(c).finish(t)
	}
	p := start(c)
	p.within(t, "success of the startup probe", func() bool { return asKubelet(t, c, c.StartupProbe, address) == 200 })
	ready := c.ReadinessProbe
	ready.HTTPGet.Path = "/readyz"
	for _, probe := range []probe{c.LivenessProbe, c.ReadinessProbe, ready} {
		if status := asKubelet(t, c, probe, address); status != 200 {
			t.Errorf("kubelet asks for %s and gets %d", probe.HTTPGet.Path, status)
		}
	}
	monitored := the(t, "ServiceMonitor", all).Spec.Endpoints[0]
	p.scrape(t, c.environment(t, secrets), c.port(t, monitored.Port), monitored.Path, "10.244.1.7")
	if status, answer, err := ask(http.DefaultClient, address, token, "0"); status != 401 || !strings.Contains(answer, "winnowd tenant add") {
		t.Errorf("without a tenant: %d %s, %v", status, answer, err)
	}
	for range 2 { // at the next upgrade it runs again
		start(job.Containers[0]).finish(t)
	}
	p.within(t, "answer for the first tenant", func() bool {
		status, _, _ := ask(http.DefaultClient, address, token, "1")
		return status == 200
	})
	if status, _, err := ask(http.DefaultClient, address, "wt_"+strings.Repeat("x", 64), "2"); status != 401 {
		t.Errorf("with another token: %d, %v", status, err)
	}
	if !strings.Contains(p.said.String(), "WINNOW_PORT_4141_TCP") {
		t.Errorf("it does not say that it ignores service links:\n%s", &p.said)
	}
	p.stop(t)
}
