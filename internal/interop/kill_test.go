//go:build interop

package interop

import (
	"bufio"
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// `winnow serve` is killed three times while a product works through it, and started again at the
// same address: the product's own retries bring the chore to the end that it has without winnow,
// and the provider's cache has what it would have had.
func TestClaudeCode_itsGatewayIsKilled(t *testing.T) { gatewayKilled(t, claudeAgent) }
func TestCodex_itsGatewayIsKilled(t *testing.T)      { gatewayKilled(t, codexAgent) }
func TestOpenCode_itsGatewayIsKilled(t *testing.T)   { gatewayKilled(t, openCodeAgent) }
func TestPi_itsGatewayIsKilled(t *testing.T)         { gatewayKilled(t, piAgent) }

func gatewayKilled(t *testing.T, start func(*testing.T) *agent) {
	tries(t, "kill the gateway")
	alone, through := start(t), start(t)
	g := openGateway(t, through)
	through.leadTo(t, g.url())
	requests, killed := 0, 0
	through.arrived = func() {
		if requests++; requests%30 == 20 && killed < 3 {
			killed++
			g.kill()
			back := 300 * time.Millisecond * time.Duration(killed) // some retries come too early
			time.AfterFunc(back, func() { g.start() })
		}
	}
	alone.arrived = func() {}
	for _, a := range []*agent{alone, through} {
		a.oneChore(t)
	}
	if killed < 3 {
		t.Fatalf("winnow was killed %d times", killed)
	}
	if diff := cmp.Diff(files(t, alone), files(t, through)); diff != "" {
		t.Errorf("the project is another one (-alone +through winnow):\n%.2000s", diff)
	}
	if a, b := alone.up.Problems(), through.up.Problems(); len(b) > len(a) {
		t.Errorf("the provider finds fault with %d requests, without winnow with %d: %s", len(b), len(a), b[len(b)-1])
	}
	decided := made(t, g.home)
	if a, b := busts(alone), busts(through); b > a+decided {
		t.Errorf("%d times the cache had less than before, without winnow %d times, and there were %d decisions", b, a, decided)
	}
	t.Logf("%s: %d requests, %d of them when winnow was killed; %d decisions; billed %s alone, %s through winnow",
		filepath.Base(alone.bin), len(requestsTo(through.up)), killed, decided, bills(alone), bills(through))
}

// oneChore has a hundred commands run in one turn.
func (a *agent) oneChore(t *testing.T) {
	t.Helper()
	var commands []string
	for n := range 100 {
		commands = append(commands, fmt.Sprintf("%s | tee out-%d.txt | tail -%d", lines(fmt.Sprintf("OUT-%d", n%7), 150), n, 10+n%5*30))
	}
	a.work(t, "Do the chore. CAPYBARA", commands...)
}

// leadTo makes a product ask another address than its provider's.
func (a *agent) leadTo(t *testing.T, url string) {
	t.Helper()
	for i := range a.Env {
		a.Env[i] = strings.ReplaceAll(a.Env[i], a.up.URL, url)
	}
	for _, dir := range []string{a.Home, a.Project} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			text := readFile(t, path)
			if changed := bytes.ReplaceAll(text, []byte(a.up.URL), []byte(url)); !bytes.Equal(text, changed) {
				putFile(t, path, string(changed))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// busts counts the requests of which the provider's cache had less than of the one before.
func busts(a *agent) (n int) {
	before := 0
	for _, r := range a.up.Records() {
		if len(r.ToolNames()) == 0 || r.Usage.Prompt() == 0 {
			continue
		}
		if r.Usage.Cache.Read < before {
			n++
		}
		before = r.Usage.Cache.Read
	}
	return n
}

// gateway is `winnow serve`, with a home of its own.
type gateway struct {
	t       *testing.T
	bin     string
	home    string
	address string
	cmd     *exec.Cmd
}

func openGateway(t *testing.T, a *agent) *gateway {
	t.Helper()
	g := &gateway{t: t, home: t.TempDir(), address: "127.0.0.1:0"}
	g.bin = buildWinnow(t, g.home)
	folder := filepath.Join(g.home, ".config", "winnow")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	putFile(t, filepath.Join(folder, "winnow.jsonc"), fmt.Sprintf(`{"gateway": {"mode": "full", "upstreams": {"up": %q}}}`, a.up.URL))
	g.start()
	t.Cleanup(g.kill)
	return g
}

func (g *gateway) url() string { return "http://" + g.address + "/up" }

var listens = regexp.MustCompile(`listening.*address=http://(\S+)`)

// start starts it at the address that it had before.
func (g *gateway) start() {
	g.cmd = exec.Command(g.bin, "serve", "--listen", g.address)
	g.cmd.Env = []string{"HOME=" + g.home, "PATH=" + os.Getenv("PATH")}
	out, err := g.cmd.StderrPipe()
	if err != nil {
		g.t.Error(err)
		return
	}
	if err := g.cmd.Start(); err != nil {
		g.t.Error(err)
		return
	}
	found := make(chan string, 1)
	go func() {
		defer close(found)
		for in := bufio.NewScanner(out); in.Scan(); {
			if m := listens.FindStringSubmatch(in.Text()); m != nil {
				found <- m[1]
			}
		}
	}()
	if address, ok := <-found; ok {
		g.address = address
	} else {
		g.t.Error("winnow serve does not listen")
	}
}

func (g *gateway) kill() {
	_ = g.cmd.Process.Kill()
	_ = g.cmd.Wait() // it was killed
}
