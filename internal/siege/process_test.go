package siege

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow/gateway/live"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/sqlite"
	"github.com/winnowhq/winnow/text/span"
)

// program is the command, built once.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "winnow")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "winnow")
	out, err := exec.Command("go", "build", "-o", path, "github.com/winnowhq/winnow/cmd/winnowd").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, err
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := program(); built && err == nil {
		os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// built: the program was wanted.
var built bool

// ours is the path of the program of this tree.
func ours(t testing.TB) string {
	t.Helper()
	built = true
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// serving is `winnow serve` as a process, with a home of its own.
type serving struct {
	program     string // its path, "" for the one of this tree
	home, store string
	database    string // the URL of its store, if that is not in a file
	address     string
	cmd         *exec.Cmd
	log         *written
	read        chan struct{} // closed when its log has ended
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

// begin starts the program before a provider, at a free port.
func begin(t testing.TB, upstream string, settings string) *serving {
	t.Helper()
	return beginOn(t, "", upstream, settings)
}

// beginOn starts it on a store in a database, or if that is "" in a file.
func beginOn(t testing.TB, database, upstream, settings string) *serving {
	t.Helper()
	return beginWith(t, database, fmt.Sprintf(`{"gateway": {"upstreams": {"up": %q}%s}}`, upstream, settings))
}

// beginWith starts it with a whole configuration.
func beginWith(t testing.TB, database, settings string) *serving {
	t.Helper()
	return beginBy(t, "", database, settings)
}

// beginBy starts a program of another version, or if that is "" the one of this tree.
func beginBy(t testing.TB, program, database, settings string) *serving {
	t.Helper()
	home := t.TempDir()
	s := &serving{program: program, home: home, store: filepath.Join(home, "data", "winnow", "winnow.db"),
		database: database, address: "127.0.0.1:0", log: &written{}}
	config := filepath.Join(home, "config", "winnow", "winnow.jsonc")
	if err := os.MkdirAll(filepath.Dir(config), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	s.start(t)
	t.Cleanup(s.kill)
	return s
}

var listening = regexp.MustCompile(`listening.*address=http://(\S+)`)

// start starts it at the address that it had before, and waits until it listens.
func (s *serving) start(t testing.TB) {
	t.Helper()
	path := s.program
	if path == "" {
		path = ours(t)
	}
	// If it crashes, the system may write down its memory.
	s.cmd = exec.Command("sh", "-c", `ulimit -c unlimited; exec "$0" serve --listen "$1"`, path, s.address)
	s.cmd.Dir = s.home
	s.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "GOTRACEBACK=crash", "WINNOW_STRATEGIES_BALANCED_PRUNING_IDLE_STEPS=10",
		"HOME=" + s.home, "XDG_CONFIG_HOME=" + filepath.Join(s.home, "config"),
		"XDG_DATA_HOME=" + filepath.Join(s.home, "data"), "XDG_CACHE_HOME=" + filepath.Join(s.home, "cache")}
	if s.database != "" {
		s.cmd.Env = append(s.cmd.Env, "WINNOW_STORE="+s.database)
	}
	out, err := s.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	found := make(chan string, 1)
	s.read = make(chan struct{})
	go func() {
		defer close(s.read)
		defer close(found)
		for in := bufio.NewScanner(out); in.Scan(); {
			fmt.Fprintln(s.log, in.Text())
			if m := listening.FindStringSubmatch(in.Text()); m != nil {
				found <- m[1]
			}
		}
	}()
	address, ok := <-found
	if !ok {
		t.Fatalf("it does not listen: %s", s.log)
	}
	if s.address != address { // others may read it while it starts again
		s.address = address
	}
}

// kill kills it.
func (s *serving) kill() {
	_ = s.cmd.Process.Kill() // it may be dead
	<-s.read
	_ = s.cmd.Wait()
}

func (s *serving) url() string { return "http://" + s.address + "/up" }

// open opens its store beside it.
func (s *serving) open(t testing.TB) store.Store {
	t.Helper()
	kept, err := sqlite.Open(t.Context(), sqlite.Config{Path: s.store})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kept.Close() })
	return kept
}

// decisions counts what was decided in all sessions of a store.
func decisions(ctx context.Context, kept store.Store) int {
	n := 0
	for _, l := range must(kept.List(ctx)) {
		n += len(must(kept.State(ctx, l.Info.ID)).Receipts)
	}
	return n
}

// said is a message as a model reads it.
func said(m *session.Message) string {
	text := string(m.Role)
	for i := range m.Parts {
		p := &m.Parts[i]
		text += fmt.Sprintf("\x00%s\x00%s\x00%s\x00%s", p.Type, p.Text, p.Tool, p.CallID)
		if s := p.State; s != nil {
			text += fmt.Sprintf("\x00%s\x00%s\x00%s", s.Input, s.Output, s.Error)
		}
	}
	return text
}

// around are two bodies where they begin to differ.
func around(a, b []byte) string {
	n := span.Common(a, b)
	piece := func(t []byte) []byte { return t[max(0, n-300):min(len(t), n+300)] }
	return fmt.Sprintf("from byte %d on:\n%s\nwas\n%s", n, piece(b), piece(a))
}

// arrival is a request as the provider got it, and how much had been decided by then.
type arrival struct {
	request llmtest.Request
	decided int
}

// TestProcess_killedAnywhere kills the gateway between requests, while it decides, when its request
// has arrived, in the middle of the answer and behind it, and starts it again: what the provider
// was sent before, it is sent again, cache marks included, unless something was decided in between.
func TestProcess_killedAnywhere(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the program")
	}
	steps := 36
	if *long {
		steps = 150
	}
	for _, protocol := range llmtest.Protocols() {
		t.Run(string(protocol), func(t *testing.T) { killedAnywhere(t, protocol, steps) })
	}
}

var dice = flag.Uint64("dice", 11, "seed for when the gateway is killed")

func killedAnywhere(t *testing.T, protocol llmtest.Protocol, steps int) {
	v := visit(t, protocol, true, 7, steps)
	var (
		mu       sync.Mutex
		arrived  []arrival
		onArrive func()
		kept     store.Store
	)
	up := provide(t, v)
	up.arrived = func(q llmtest.Request) {
		mu.Lock()
		defer mu.Unlock()
		arrived = append(arrived, arrival{q, decisions(t.Context(), kept)})
		if onArrive != nil {
			onArrive()
		}
	}
	s := begin(t, up.URL, "")
	kept = s.open(t)
	random := rand.New(rand.NewPCG(*dice, uint64(len(protocol))))
	kills, again := map[string]int{}, 0
	ask := func(at int) heard {
		ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
		defer cancel()
		return v.hear(v.request(ctx, s.url(), at))
	}
	for _, at := range v.steps() {
		before := len(arrived)
		switch how := random.IntN(8); how {
		case 0: // between two requests
			s.kill()
			s.start(t)
			kills["between requests"]++
		case 1: // while it decides, or a little later
			after := time.AfterFunc(time.Duration(random.IntN(12_000))*time.Microsecond, func() { _ = s.cmd.Process.Kill() })
			ask(at)
			after.Stop()
			s.kill()
			s.start(t)
			kills["at any moment of a request"]++
		case 2: // when the provider has the request
			mu.Lock()
			onArrive = func() { _ = s.cmd.Process.Kill(); onArrive = nil }
			mu.Unlock()
			if h := ask(at); h.status == 200 && h.err == nil {
				t.Fatalf("step %d: it was killed, and answers %q", at, h.body)
			}
			s.kill()
			s.start(t)
			kills["when the provider has the request"]++
		case 3: // in the middle of the answer
			up.fault.Store(llmtest.HangMidStream)
			r := v.request(t.Context(), s.url(), at)
			if answer, err := v.http.Do(r); err != nil {
				t.Fatal(err)
			} else {
				answer.Body.Read(make([]byte, 10))
				s.kill()
				answer.Body.Close()
			}
			up.fault.Store(llmtest.Fault(""))
			s.start(t)
			kills["in the middle of an answer"]++
		case 4: // behind an answer, which the client has lost all the same
			ask(at)
			s.kill()
			s.start(t)
			kills["behind an answer"]++
		}
		if h := ask(at); h.status != 200 || h.err != nil {
			t.Fatalf("step %d: %d %s, %v\n%s", at, h.status, h.body, h.err, s.log)
		}
		mu.Lock()
		for i := max(1, before); i < len(arrived); i++ {
			last, now := arrived[i-1], arrived[i]
			if now.decided != last.decided {
				continue
			}
			for k := range min(len(last.request.Messages), len(now.request.Messages)) {
				if said(&last.request.Messages[k]) != said(&now.request.Messages[k]) {
					t.Fatalf("step %d: message %d is another one, and nothing was decided", at, k)
				}
			}
			if i > before { // the same request again
				again++
				if !bytes.Equal(last.request.Body, now.request.Body) {
					t.Fatalf("step %d: asked again it is another one, %s", at, around(last.request.Body, now.request.Body))
				}
			}
		}
		mu.Unlock()
	}
	if n := arrived[len(arrived)-1].decided; n == 0 || len(kills) < 3 {
		t.Errorf("%d decisions, kills %v: the test does not show what it is to show", n, kills)
	}
	if problems := up.Problems(); len(problems) > 0 {
		t.Errorf("the provider finds fault: %s", problems)
	}
	t.Logf("%d requests, %d decisions, killed %v, %d sent again to the byte", len(arrived), arrived[len(arrived)-1].decided, kills, again)
}

// TestProcess_noCredentialAtRest lets requests succeed, fail and be refused, and the program crash
// with a trace of all it does while it holds one: the client's key is in nothing that was written,
// and there is no core dump.
func TestProcess_noCredentialAtRest(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the program")
	}
	v := visit(t, llmtest.Anthropic, true, 7, 40)
	up := provide(t, v)
	s := begin(t, up.URL, "")
	steps := v.steps()
	for i, at := range steps {
		faults := append(llmtest.Faults(), "")
		f := faults[i*5%len(faults)]
		if f.Hangs() {
			f = llmtest.Unauthorized
		}
		up.fault.Store(f)
		r := v.request(t.Context(), s.url(), at)
		r.URL.RawQuery = "key=" + canaryKey
		v.hear(r)
		up.fault.Store(llmtest.Fault(""))
		if h := v.hear(v.request(t.Context(), s.url(), at)); h.status != 200 {
			t.Fatalf("step %d: %d %s", at, h.status, h.body)
		}
	}
	for _, shown := range watched(t, s.address) {
		if strings.Contains(shown, "canary") {
			t.Errorf("the page has the key: %.2000s", shown)
		}
	}
	up.Down()
	if h := v.hear(v.request(t.Context(), s.url(), steps[0])); h.status != 502 || bytes.Contains(h.body, []byte(canaryKey)) {
		t.Errorf("without a provider: %d %s", h.status, h.body)
	}
	for _, odd := range []string{"POST /up/../x?key=%s HTTP/1.1\r\nHost: h\r\n\r\n", "GET /%s HTTP/1.1\r\nHost: h\r\n\r\n",
		"POST /up/v1/messages HTTP/1.1\r\nHost: h\r\nX-Api-Key: %s\r\nContent-Length: x\r\n\r\n",
		"POST /up/v1/messages HTTP/1.1\r\nHost: h\r\nX-Api-Key: %s\r\nContent-Length: 9\r\n\r\n{}"} {
		c := must(net.Dial("tcp", s.address))
		fmt.Fprintf(c, odd, canaryKey)
		c.Close()
	}
	// SIGQUIT ends a program of Go with a trace of all its goroutines, some of which carry a request.
	held := make(chan struct{})
	up.Up()
	up.asked = make(chan llmtest.Request)
	go func() {
		defer close(held)
		v.hear(v.request(t.Context(), s.url(), steps[1]))
	}()
	<-up.asked
	if err := s.cmd.Process.Signal(syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	<-s.read
	<-held
	up.asked = nil
	if !strings.Contains(s.log.String(), "goroutine") {
		t.Errorf("there is no trace: %s", s.log)
	}
	if strings.Contains(s.log.String(), "canary") {
		t.Errorf("the log has the key: %s", s.log)
	}
	files := 0
	err := filepath.WalkDir(s.home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		files++
		if bytes.Contains(must(os.ReadFile(path)), []byte("canary")) {
			t.Errorf("%s has the key", path)
		}
		if mode := must(d.Info()).Mode().Perm(); mode&0o077 != 0 {
			t.Errorf("%s is readable by others: %o", path, mode)
		}
		return nil
	})
	if err != nil || files < 2 {
		t.Errorf("%d files were looked through, %v", files, err)
	}
	t.Logf("%d files, a log of %d bytes", files, len(s.log.String()))
}

// watched is all that the page of a gateway shows: itself, its first event, and each session.
func watched(t testing.TB, address string) (shown []string) {
	t.Helper()
	get := func(path string) (*http.Response, *bufio.Reader) {
		r := must(http.NewRequestWithContext(t.Context(), "GET", "http://"+address+path, nil))
		r.Header.Set("Accept", "text/html")
		answer := must(http.DefaultClient.Do(r))
		if answer.StatusCode != 200 {
			t.Fatalf("%s is answered with %d", path, answer.StatusCode)
		}
		return answer, bufio.NewReader(answer.Body)
	}
	answer, stream := get("/~/events")
	defer answer.Body.Close()
	event := ""
	for !strings.HasPrefix(event, "data: ") {
		event = must(stream.ReadString('\n'))
	}
	var changes live.Changes
	if err := json.Unmarshal([]byte(event[len("data: "):]), &changes); err != nil {
		t.Fatal(err)
	}
	shown = append(shown, event)
	paths := []string{"/", "/~/page.js"}
	for _, row := range changes.Sessions {
		paths = append(paths, "/~/session?id="+row.ID)
	}
	if len(changes.Sessions) == 0 || len(changes.Feed) == 0 {
		t.Fatalf("the page shows nothing: %s", event)
	}
	for _, path := range paths {
		answer, body := get(path)
		shown = append(shown, string(must(io.ReadAll(body))))
		answer.Body.Close()
	}
	return shown
}
