package command

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/cmd/internal/cli"
)

// asksProvider is a client, the program "asks": it sends what it reads from standard input to
// $ANTHROPIC_BASE_URL + $ASK, with a key, prints the answer, and ends with 7.
func asksProvider() {
	r, err := http.NewRequest(http.MethodPost, os.Getenv("ANTHROPIC_BASE_URL")+os.Getenv("ASK"), os.Stdin)
	if err == nil {
		r.Header.Set("X-Api-Key", wrapKey)
		r.Header.Set("Authorization", "Bearer "+wrapKey)
		r.Header.Set("Content-Type", "application/json")
		var answer *http.Response
		if answer, err = http.DefaultClient.Do(r); err == nil {
			_, err = io.Copy(os.Stdout, answer.Body)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(cli.ExitFailed)
	}
	os.Exit(7)
}

// wrapKey is a credential that must be nowhere but at the provider.
const wrapKey = "sk-ant-api03-canary-canary-canary-canary"

// program puts a program beside the desk, so that a test can start it by its path, and returns the
// path. The test binary is all of them, by their names.
func (d *desk) program(name string) string {
	d.t.Helper()
	self, err := os.Executable()
	if err != nil {
		d.t.Fatal(err)
	}
	at := filepath.Join(d.dir, "..", name)
	if err := os.Symlink(self, at); err != nil {
		d.t.Skip(err)
	}
	return at
}

// taken is a request that a provider got.
type taken struct {
	path, key, body string
}

// providing starts a provider that says hello.
func providing(t *testing.T) (url string, got func() []taken) {
	var mu sync.Mutex
	var all []taken
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && r.URL.Path == "/healthz" { // whether it is a winnow
			http.NotFound(w, r)
			return
		}
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		all = append(all, taken{r.RequestURI, r.Header.Get("X-Api-Key"), string(body)})
		mu.Unlock()
		io.WriteString(w, "hello\n")
	}))
	t.Cleanup(s.Close)
	return s.URL, func() []taken {
		mu.Lock()
		defer mu.Unlock()
		return all
	}
}

// everything is what all files below a folder hold.
func everything(t *testing.T, dir string) (text string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		text += path + "\n" + string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// What a wrapped client asks reaches its provider as it was sent; its output and its exit code are
// its own; its key is nowhere.
func TestWrap_relaysAndPassesOn(t *testing.T) {
	for _, mode := range []string{"off", "observe", "safe", "full"} {
		t.Run(mode, func(t *testing.T) {
			d := newDesk(t)
			client := d.program("asks")
			url, got := providing(t)
			d.env = append(d.env, "ANTHROPIC_BASE_URL="+url+"/base", "ASK=/v1/messages?beta=true", "TMPDIR="+filepath.Join(d.dir, ".."))
			cmd := d.command("wrap", "--mode", mode, "--log", "log.json", "--", client)
			const body = `{"model" : "claude-x", "max_tokens":1.0, "messages":[{"role":"user","content":"\u00e9"}]}`
			cmd.Stdin = strings.NewReader(body)
			o := d.outcome(cmd)
			if o.code != 7 || o.stdout != "hello\n" || !strings.HasPrefix(o.stderr, "winnow: 1 request relayed") {
				t.Errorf("exit code %d, stdout %q, stderr %q", o.code, o.stdout, o.stderr)
			}
			if lines := strings.Count(o.stderr, "\n"); lines > 3 {
				t.Errorf("it says %d lines: %s", lines, o.stderr)
			}
			if diff := cmp.Diff([]taken{{"/base/v1/messages?beta=true", wrapKey, body}}, got(), cmp.AllowUnexported(taken{})); diff != "" {
				t.Errorf("the provider got (-want +got):\n%s", diff)
			}
			if kept := everything(t, filepath.Join(d.dir, "..")) + o.stderr; strings.Contains(kept, "canary") {
				t.Error("the key was kept")
			}
			if log := string(d.read("log.json")); !strings.Contains(log, `"upstream":"anthropic","method":"POST","status":200`) {
				t.Errorf("the log is %s", log)
			}
			for _, below := range []string{"home/.claude", "home/.codex", "home/.config"} {
				if _, err := os.Stat(filepath.Join(d.dir, "..", below)); err == nil {
					t.Errorf("it made %s", below)
				}
			}
		})
	}
}

// A provider that does not answer is an error that the client understands, without the key.
func TestWrap_noAnswer(t *testing.T) {
	d := newDesk(t)
	client := d.program("asks")
	d.env = append(d.env, "ASK=/v1/messages?key="+wrapKey)
	o := d.process("wrap", "--mode", "off", "--upstream", "anthropic=http://127.0.0.1:1", "--", client)
	if !strings.Contains(o.stdout, `{"type":"error","error":{"type":"api_error","message":"winnow got no answer from anthropic`) ||
		strings.Contains(o.stdout+o.stderr, "canary") {
		t.Errorf("stdout %q, stderr %q", o.stdout, o.stderr)
	}
}

// If winnow's own store cannot be used, the client runs all the same.
func TestWrap_worksWithoutAStore(t *testing.T) {
	d := newDesk(t)
	client := d.program("asks")
	url, got := providing(t)
	d.env = append(d.env, "ANTHROPIC_BASE_URL="+url)
	d.put("corrupt.db", bytes.Repeat([]byte("no database, "), 1000))
	o := d.process("wrap", "--store", "corrupt.db", "--", client)
	if o.code != 7 || len(got()) != 1 || !strings.Contains(o.stderr, "corrupt.db") || !strings.Contains(o.stderr, "mode off") {
		t.Errorf("exit code %d, %d requests, stderr %s", o.code, len(got()), o.stderr)
	}
}

func needsShell(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("sh"); err != nil || runtime.GOOS == "windows" {
		t.Skip("there is no shell")
	}
}

// Signals reach the client, and its end is that of wrap.
func TestWrap_signalsAndExitCodes(t *testing.T) {
	needsShell(t)
	d := newDesk(t)
	d.env = append(d.env, "PATH="+os.Getenv("PATH"))
	for signal, name := range map[syscall.Signal]string{syscall.SIGINT: "INT", syscall.SIGTERM: "TERM", syscall.SIGHUP: "HUP",
		syscall.SIGQUIT: "QUIT"} {
		cmd := d.command("wrap", "--mode", "off", "-q", "--", "sh", "-c",
			`trap 'echo got `+name+`; exit 9' `+name+`; echo ready; while :; do sleep 0.02; done`)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(out)
		if line, err := lines.ReadString('\n'); line != "ready\n" {
			t.Fatalf("%q, %v", line, err)
		}
		cmd.Process.Signal(signal)
		if rest, _ := io.ReadAll(lines); string(rest) != "got "+name+"\n" {
			t.Errorf("after %s: %q", name, rest)
		}
		wantExit(t, cmd, 9)
	}
	for script, want := range map[string]int{
		"exit 0": 0, "exit 3": 3, "exit 130": 130, "kill -TERM $$": 128 + 15, "kill -KILL $$": 128 + 9,
		"kill -PIPE $$; exit 4":         128 + 13, // a program does not inherit what winnow ignores
		`printf '%s\n' "$0|$1"; exit 5`: 5,
	} {
		o := d.process("wrap", "--mode", "off", "--", "sh", "-c", script, "a b", "--version")
		if o.code != want {
			t.Errorf("%s: exit code %d, want %d; stderr %s", script, o.code, want, o.stderr)
		}
		if want == 5 && o.stdout != "a b|--version\n" {
			t.Errorf("the arguments are %q", o.stdout)
		}
	}
}

// When winnow is killed the client goes on, and its next start works without winnow: nothing of
// ours is left in its way.
func TestWrap_aCrashLeavesNothing(t *testing.T) {
	needsShell(t)
	d := newDesk(t)
	d.env = append(d.env, "PATH="+os.Getenv("PATH"), "TMPDIR="+filepath.Join(d.dir, ".."))
	before := everything(t, filepath.Join(d.dir, ".."))
	cmd := d.command("wrap", "--mode", "off", "--", "sh", "-c", "echo $ANTHROPIC_BASE_URL; read line; echo $line >left")
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	if !strings.HasPrefix(line, "http://127.0.0.1:") {
		t.Errorf("the client is told %q", line)
	}
	cmd.Process.Kill()
	io.WriteString(in, "on\n")
	wantExit(t, cmd, -1)
	for range 500 {
		if left, err := os.ReadFile(filepath.Join(d.dir, "left")); err == nil && string(left) == "on\n" {
			os.Remove(filepath.Join(d.dir, "left"))
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if diff := cmp.Diff(before, everything(t, filepath.Join(d.dir, ".."))); diff != "" {
		t.Errorf("files (-before +after):\n%s", diff)
	}
}

// In a terminal the client has it whole: its size, and a key that interrupts arrives once.
func TestWrap_handsTheTerminalOver(t *testing.T) {
	x := openTerminal(t, 70, 20, nil, "wrap", "--mode", "off", "--", "sh", "-c",
		`stty size; trap 'n=$((n+1)); echo interrupts: $n' INT; echo ready; until read line; do :; done; echo "read: $line"; test -t 0 && test -t 1 && test -t 2 && exit 6`)
	x.shows(" 70")
	x.shows("ready")
	x.press("C-c")
	x.shows("interrupts: 1")
	x.press("abc", "Enter")
	x.shows("read: abc")
	x.ends("6")
	if strings.Contains(x.screen(), "interrupts: 2") {
		t.Error("the key arrived twice")
	}
}

func TestWrap_wrongUse(t *testing.T) {
	d := newDesk(t)
	d.run("wrap").wants(t, cli.ExitUsage, "winnow wrap claude")
	d.run("wrap", "nosuch").wants(t, cli.ExitUsage, `unknown client "nosuch"`, "winnow wrap -- nosuch")
	d.run("wrap", "--", "no-such-program").wants(t, cli.ExitFailed, "not installed")
	d.run("wrap", "--mode", "bold", "claude").wants(t, cli.ExitUsage, "off, observe, safe, full")
	d.run("wrap", "--upstream", "host", "claude").wants(t, cli.ExitUsage, "give a base URL")
	d.run("wrap", "--json", "claude").wants(t, cli.ExitUsage, "leave out --json")
	d.run("wrap", "qwen").wants(t, cli.ExitUsage, "OPENAI_BASE_URL")
	d.run("wrap", "--install-alias", "nosuch").wants(t, cli.ExitUsage, "unknown client")
	o := d.run("wrap", "--install-alias", "pi", "claude")
	o.wants(t, cli.ExitDone)
	if o.stdout != "alias claude='winnow wrap claude'; alias pi='winnow wrap pi'\n" {
		t.Errorf("the line is %q", o.stdout)
	}
}

// serve relays for many until a signal; what is under way comes to its end.
func TestServe_endsInOrder(t *testing.T) {
	d := newDesk(t)
	finish := make(chan struct{})
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "data: 1\n\n")
		w.(http.Flusher).Flush()
		<-finish
		io.WriteString(w, "data: 2\n\n")
	}))
	defer provider.Close()
	d.configure(`{"gateway": {"listen": "127.0.0.1:0", "mode": "off", "upstreams": {"house": "` + provider.URL + `"}}}`)
	cmd := d.command("serve")
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(log)
	line, _ := lines.ReadString('\n')
	found := regexp.MustCompile(`address=(http://\S+) mode=off upstreams="anthropic gemini house openai"`).FindStringSubmatch(line)
	if found == nil {
		t.Fatalf("it says %q", line)
	}
	if health, err := http.Get(found[1] + "/healthz"); err != nil || health.StatusCode != 200 {
		t.Errorf("health: %v, %v", health, err)
	}
	r, _ := http.NewRequest(http.MethodGet, found[1]+"/house/x", nil)
	r.Header.Set("Authorization", "Bearer "+wrapKey)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	first := make([]byte, 9)
	io.ReadFull(answer.Body, first)
	cmd.Process.Signal(syscall.SIGTERM)
	if line, _ = lines.ReadString('\n'); !strings.Contains(line, "ending") {
		t.Errorf("it says %q", line)
	}
	close(finish)
	rest, err := io.ReadAll(answer.Body)
	if string(first)+string(rest) != "data: 1\n\ndata: 2\n\n" || err != nil {
		t.Errorf("the stream is %q%q, %v", first, rest, err)
	}
	said, _ := io.ReadAll(lines)
	if !strings.Contains(string(said), "relayed upstream=house method=GET status=200 bytes=18") || !strings.Contains(string(said), "ended") ||
		strings.Contains(string(said), "canary") {
		t.Errorf("it says %s", said)
	}
	wantExit(t, cmd, cli.ExitDone)
}

// A second signal does not wait for what is under way.
func TestServe_endsAtOnceWhenItMust(t *testing.T) {
	d := newDesk(t)
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	defer provider.Close()
	d.configure(`{"gateway": {"listen": "127.0.0.1:0", "mode": "off", "upstreams": {"house": "` + provider.URL + `"}}}`)
	cmd := d.command("serve", "--json")
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(log)
	line, _ := lines.ReadString('\n')
	found := regexp.MustCompile(`"address":"(http://[^"]*)"`).FindStringSubmatch(line)
	if found == nil {
		t.Fatalf("it says %q", line)
	}
	answer, err := http.Get(found[1] + "/house/x")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	cmd.Process.Signal(syscall.SIGTERM)
	if line, _ = lines.ReadString('\n'); !strings.Contains(line, "ending") {
		t.Errorf("it says %q", line)
	}
	over := make(chan struct{})
	go func() { defer close(over); io.ReadAll(lines) }()
	for ended := false; !ended; { // the first ones may come before it listens
		cmd.Process.Signal(syscall.SIGINT)
		select {
		case <-over:
			ended = true
		case <-time.After(10 * time.Millisecond):
		}
	}
	wantExit(t, cmd, cli.ExitInterrupted)
}

func TestServe_refusals(t *testing.T) {
	d := newDesk(t)
	d.run("serve", "--listen", "0.0.0.0:0").wants(t, cli.ExitUsage, "can be reached from other computers")
	d.run("serve", "--mode", "bold").wants(t, cli.ExitUsage, "unknown mode")
	d.configure(`{"gateway": {"upstreams": {"a/b": "https://h"}}}`)
	d.run("serve").wants(t, cli.ExitUsage, "cannot name an upstream")
	d.configure(`{"gateway": {"upstreams": {"h": "https://u:hidden@h"}}}`)
	if o := d.run("serve"); o.code != cli.ExitUsage || !strings.Contains(o.stderr, "leave out the user") || strings.Contains(o.stderr, "hidden") {
		t.Errorf("exit code %d: %s", o.code, o.stderr)
	}
	d.configure(`{}`)
	d.put("winnow.jsonc", []byte(`{"gateway": {"upstreams": {"anthropic": "https://evil.example"}, "listen": "127.0.0.1:0"}}`))
	if o := d.run("config"); !strings.Contains(o.stdout, "it decides where your keys and sessions are sent") {
		t.Errorf("a project's file says who is asked: %s", o.stdout)
	}
}

// On a terminal wrap says where its page is before the client has the screen; in a pipe, where its
// lines may be read by a program, and with --quiet it does not.
func TestWrap_saysWhereThePageIsOnATerminal(t *testing.T) {
	x := openTerminal(t, 80, 24, nil, "wrap", "--", "sh", "-c", "echo the client")
	x.shows("winnow: live page: http://127.0.0.1:", "the client")
	x.ends("0")
	x = openTerminal(t, 80, 24, nil, "wrap", "--quiet", "--", "sh", "-c", "echo the client")
	x.ends("0")
	if screen := x.screen(); strings.Contains(screen, "page") {
		t.Errorf("with --quiet:\n%s", screen)
	}
	d := newDesk(t)
	if o := d.run("wrap", "--", "sh", "-c", "true"); strings.Contains(o.stderr, "page") {
		t.Errorf("in a pipe: %s", o.stderr)
	}
}
