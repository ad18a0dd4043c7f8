package command

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/team"
)

// desk is a folder with a store of its own, where a test runs commands.
type desk struct {
	t   *testing.T
	dir string
	env []string // "NAME=value"

	team     bool   // the program is winnowd
	terminal bool   // standard error is one
	keys     string // that a person presses; "" where there is nobody
	client   func(model.Model) (llm.Client, error)
	faults   func(step string) error // see Env.Faults
	openCode string                  // address of an OpenCode server, "" for none
	now      func() time.Time        // nil: as it is
}

// sequential skips a test that does one thing after the other.
func sequential(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("it does one thing after the other: -short is for the race detector")
	}
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	dir := t.TempDir()
	d := &desk{t: t, dir: filepath.Join(dir, "desk"), env: append([]string{"HOME=" + filepath.Join(dir, "home")}, smallSettings...)}
	if err := os.Mkdir(d.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return d
}

// newTeamDesk is one for winnowd.
func newTeamDesk(t *testing.T) *desk {
	t.Helper()
	d := newDesk(t)
	d.team = true
	return d
}

// ours is the program that the desk is for.
func (d *desk) ours() (name string, p Program) {
	if d.team {
		return "winnowd", Program{Shared: team.Parts()}
	}
	return "winnow", Program{}
}

// hasty is a clock for work that is to seem long: each look at it is a second after the one before.
func hasty() func() time.Time {
	var looks atomic.Int64
	began := time.Now()
	return func() time.Time { return began.Add(time.Duration(looks.Add(1)) * time.Second) }
}

// outcome is what a command left.
type outcome struct {
	code           int
	stdout, stderr string
}

// run runs the command in this process.
func (d *desk) run(args ...string) outcome {
	return d.runWith(context.Background(), strings.NewReader(""), new(bytes.Buffer), args...)
}

func (d *desk) runWith(ctx context.Context, in io.Reader, out io.Writer, args ...string) outcome {
	d.t.Helper()
	stderr := new(bytes.Buffer)
	env := cli.System()
	env.Stdin, env.Stdout, env.Stderr, env.Dir, env.Environ = in, out, stderr, d.dir, d.env
	env.StdoutTerminal, env.StderrTerminal, env.Client = false, d.terminal, d.client
	env.Faults, env.Key = d.faults, nil
	if keys := strings.NewReader(d.keys); d.keys != "" {
		env.Key = func(context.Context) (string, error) {
			key, err := keys.ReadByte()
			return string(key), err
		}
	}
	if d.now != nil {
		env.Now = d.now
	}
	env.OpenCode = cmp.Or(d.openCode, "http://127.0.0.1:1") // not that of the person who runs the tests
	env.Getenv = func(name string) string {
		for _, pair := range d.env {
			if n, value, _ := strings.Cut(pair, "="); n == name {
				return value
			}
		}
		return ""
	}
	// A huge session makes the program thrifty for the rest of its life, which is that of one
	// command.
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	defer forgetCompletions(args)()
	_, program := d.ours()
	code := program.Main(ctx, args, env)
	o := outcome{code: code, stderr: stderr.String()}
	if b, ok := out.(*bytes.Buffer); ok {
		o.stdout = b.String()
	}
	return o
}

// command is the same as a process of its own, for signals and closed pipes.
func (d *desk) command(args ...string) *exec.Cmd {
	d.t.Helper()
	self, err := os.Executable()
	if err != nil {
		d.t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Args[0], _ = d.ours() // TestMain looks at the name
	cmd.Dir, cmd.Env = d.dir, append(slices.Clip(d.env), "GORACE="+os.Getenv("GORACE"))
	return cmd
}

// outcome runs a process to its end.
func (d *desk) outcome(cmd *exec.Cmd) outcome {
	d.t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); cmd.ProcessState == nil {
		d.t.Fatal(err)
	}
	return outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// put writes a file and returns its name.
func (d *desk) put(name string, data []byte) string {
	d.t.Helper()
	if err := os.WriteFile(filepath.Join(d.dir, name), data, 0o644); err != nil {
		d.t.Fatal(err)
	}
	return name
}

// take copies a session of testdata.
func (d *desk) take(name string) string {
	d.t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "sessions", name))
	if err != nil {
		d.t.Fatal(err)
	}
	d.put(name, data)
	d.age(name)
	return name
}

// age makes a file one that was not written to in the last minute.
func (d *desk) age(name string) {
	d.t.Helper()
	if err := lieIdle(filepath.Join(d.dir, name)); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) read(name string) []byte {
	d.t.Helper()
	data, err := os.ReadFile(filepath.Join(d.dir, name))
	if err != nil {
		d.t.Fatal(err)
	}
	return data
}

// names lists the folder.
func (d *desk) names() []string {
	d.t.Helper()
	list, err := os.ReadDir(d.dir)
	if err != nil {
		d.t.Fatal(err)
	}
	var names []string
	for _, f := range list {
		names = append(names, f.Name())
	}
	return names
}

// wants checks code and words of standard error.
func (o outcome) wants(t *testing.T, code int, words ...string) {
	t.Helper()
	if o.code != code {
		t.Errorf("exit code %d, want %d; stderr: %s", o.code, code, o.stderr)
	}
	for _, w := range words {
		if !strings.Contains(o.stderr, w) {
			t.Errorf("stderr does not say %q: %s", w, o.stderr)
		}
	}
}

// document parses standard output.
func (o outcome) document(t *testing.T) map[string]any {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal([]byte(o.stdout), &doc); err != nil {
		t.Fatalf("standard output is no JSON document: %v\n%.500s\nstderr: %s", err, o.stdout, o.stderr)
	}
	return doc
}

// originals are what is kept of files that were replaced.
func (d *desk) originals() (kept [][]byte) {
	d.t.Helper()
	o := d.run("originals", "--json")
	if o.code == cli.ExitNothing {
		return nil
	}
	o.wants(d.t, cli.ExitDone)
	var doc originalList
	if err := json.Unmarshal([]byte(o.stdout), &doc); err != nil {
		d.t.Fatal(err)
	}
	for _, original := range doc.Originals {
		data, err := os.ReadFile(original.Path)
		if err != nil {
			d.t.Fatal(err)
		}
		kept = append(kept, data)
	}
	return kept
}
