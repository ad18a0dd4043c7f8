//go:build interop

package interop

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/winnowhq/winnow/internal/llmtest"
)

// provider starts an upstream. The products are not judged by it: what they send is theirs.
func provider(t *testing.T, answer llmtest.Answer) *llmtest.Server {
	return llmtest.Start(t, llmtest.Script{Answer: answer, Lenient: true})
}

// requestsTo are the requests for answers that an upstream got, oldest first.
func requestsTo(s *llmtest.Server) []llmtest.Request {
	var requests []llmtest.Request
	for _, r := range s.Records() {
		if !strings.HasSuffix(r.Path, "/count_tokens") {
			requests = append(requests, r.Request)
		}
	}
	return requests
}

// client is a real product with a throw-away home and an empty project to work in.
type client struct {
	bin     string
	Home    string   // its HOME
	Project string   // its working folder
	Env     []string // what it is given beside HOME and PATH
	through []string // the command that starts it; empty: it starts by itself
	flags   []string // that Codex is given besides

	// die, if it is not nil, has a run of the product killed when it is closed. Such a run may fail.
	die <-chan struct{}
}

// newClient finds a product under the node_modules folder that WINNOW_CLIENTS names.
func newClient(t *testing.T, name string, env ...string) *client {
	t.Helper()
	modules := os.Getenv("WINNOW_CLIENTS")
	if modules == "" {
		t.Skip("WINNOW_CLIENTS is not set: run interop/run.sh to try the real products")
	}
	bin := filepath.Join(modules, ".bin", name)
	if _, err := os.Stat(bin); err != nil {
		t.Skipf("%s is not installed: %v", name, err)
	}
	// Some products refuse to run where the path has links in it or keep sessions by the resolved
	// path.
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Attr("product", name)
	c := &client{bin: bin, Home: filepath.Join(root, "home"), Project: filepath.Join(root, "project"), Env: env}
	for _, dir := range []string{c.Home, c.Project} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// tries names what a test does with a session between two runs of a product, for the table that
// run.sh prints.
func tries(t *testing.T, operations ...string) {
	for _, operation := range operations {
		t.Attr("operation", operation)
	}
}

// run runs the product to its end and returns what it printed; the test fails when it fails.
func (c *client) run(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute) // of a chore of a hundred calls on a busy machine
	defer cancel()
	command := exec.CommandContext(ctx, c.bin, args...)
	if len(c.through) > 0 {
		command = exec.CommandContext(ctx, c.through[0], slices.Concat(c.through[1:], []string{filepath.Base(c.bin)}, args)...)
	}
	command.Dir = c.Project
	path := filepath.Dir(c.bin) + string(os.PathListSeparator) + os.Getenv("PATH")
	command.Env = append([]string{"HOME=" + c.Home, "PATH=" + path, "TERM=dumb"}, c.Env...)
	// Files, for a product may end before a pipe has taken all that it prints, and leave children
	// that hold the pipe open.
	var said [2]*os.File
	for i, name := range []string{"stdout", "stderr"} {
		file, err := os.Create(filepath.Join(c.Home, name))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		said[i] = file
	}
	command.Stdout, command.Stderr = said[0], said[1]
	err := c.runs(command)
	out := string(readFile(t, said[0].Name()))
	if err != nil && c.die == nil {
		t.Fatalf("%s %q: %v\nstdout: %s\nstderr: %s", filepath.Base(c.bin), args, err, out, readFile(t, said[1].Name()))
	}
	return out
}

// runs runs a command, and kills it with all that it started if it is to die.
func (c *client) runs(command *exec.Cmd) error {
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: c.die != nil}
	if err := command.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-c.die:
			_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL) // it may have ended
		case <-ended:
		}
	}()
	return command.Wait()
}
