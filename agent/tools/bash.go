package tools

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/agent/permission"
	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/text/process"
)

// How long a command may run.
const (
	commandTime     = 120 * time.Second // where the call says nothing
	mostCommandTime = 600 * time.Second
	// graceTime is between asking a group of processes to end and ending it: a cancelled call
	// answers within 100 ms.
	graceTime = 40 * time.Millisecond
	// drainTime is how long is waited for the rest of an output after the group has ended: only a
	// process that left it can hold the pipe open.
	drainTime = 200 * time.Millisecond
)

// Bash runs a command in a shell.
type Bash struct {
	// Policy tells which commands run without anybody having been asked: git runs for those without
	// what a repository names. It also says which of Keys are passed on: those that a rule of the
	// action "env" allows.
	Policy permission.Policy
	// Keys are variables of the environment that commands do not get, beside those that hold the
	// keys of the large providers.
	Keys []string
}

// keys hold what is nobody's but the agent's own. The settings of providers may have keys among
// their headers.
var keys = []string{"WINNOW_PROVIDERS", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY", "GEMINI_API_KEY",
	"GOOGLE_API_KEY"}

func (Bash) Name() string           { return "bash" }
func (Bash) Description() string    { return told("bash").Description }
func (Bash) Schema() jsontext.Value { return told("bash").Schema }
func (Bash) Serial()                {} // files may be changed

func (t Bash) Run(ctx context.Context, c agent.Call) (agent.Result, error) {
	a := argumentsOf(t.Name(), c.Input)
	command := a.need("command")
	seconds := a.whole("timeout", int(commandTime/time.Second), 1)
	folder, title := cmp.Or(a.text("workdir"), c.Directory), cmp.Or(a.text("description"), command)
	switch {
	case a.err != nil:
		return agent.Result{}, a.err
	case strings.TrimSpace(command) == "" || strings.ContainsRune(command, 0):
		return agent.Result{}, errors.New("bash needs a command without NUL in it")
	}
	at, err := locate(c, folder)
	if err != nil {
		return agent.Result{}, err
	}
	want := agent.Permission{Tool: t.Name(), Action: "run", Target: command, Inside: at.inside}
	if home, err := permission.Resolve(c.Directory); err != nil || home != at.path {
		want.Folder = at.path
	}
	if err := ask(ctx, c, at, want); err != nil {
		return agent.Result{}, err
	}
	if info, err := os.Stat(at.path); err != nil || !info.IsDir() {
		return agent.Result{}, fmt.Errorf("there is no folder %s to run in", at.shown)
	}
	limit := min(time.Duration(min(seconds, 1<<20))*time.Second, mostCommandTime)
	ran, err := run(ctx, command, at.path, t.environment(want), limit, c.Progress)
	if err != nil {
		return agent.Result{}, err
	}
	if ran.cancelled {
		return agent.Result{}, context.Cause(ctx)
	}
	return agent.Result{
		Title:    call.Cut(strings.Join(strings.Fields(title), " "), 120),
		Output:   ran.text(limit),
		Failed:   ran.exit != 0,
		Metadata: map[string]any{"exit": ran.exit, "timedOut": ran.late},
	}, nil
}

// ran is what became of a command.
type ran struct {
	output    string
	exit      int // of the shell; 128 + the number of a signal that ended it, 124 when it took too long
	late      bool
	cancelled bool
}

// text is what the model sees: the output as it is, and how it ended where that was not well. A
// command that worked adds nothing, so that a file that it printed is there to the byte.
func (r ran) text(limit time.Duration) string {
	if r.exit == 0 {
		if strings.TrimSpace(r.output) == "" {
			return "(no output)"
		}
		return r.output
	}
	text := r.output
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	if r.late {
		text += fmt.Sprintf("[It took longer than %d s and was ended; timeout can be %d s at most.]\n",
			int(limit.Seconds()), int(mostCommandTime.Seconds()))
	}
	return text + fmt.Sprintf("[exit code %d]", r.exit)
}

// run runs a command in a folder and waits until it and its group have ended.
func run(ctx context.Context, command, folder string, env []string, limit time.Duration, progress func(string)) (ran,
	error) {
	if err := ctx.Err(); err != nil {
		return ran{cancelled: true}, nil
	}
	in, out, err := os.Pipe()
	if err != nil {
		return ran{}, err
	}
	defer in.Close()
	cmd := exec.Command("sh", "-c", command)
	mark := rand.Text()
	cmd.Dir, cmd.Env = folder, environment(env, folder, mark)
	cmd.Stdout, cmd.Stderr = out, out // one pipe: what is printed stays in its order
	process.Group(cmd)
	err = cmd.Start()
	out.Close()
	if err != nil {
		return ran{}, err
	}
	kept := &ends{most: mostOutput}
	read := make(chan struct{})
	go func() {
		defer close(read)
		copyTo(kept, in, progress)
	}()
	waited := make(chan struct{})
	go func() {
		defer close(waited)
		cmd.Wait() // what it says is in ProcessState
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	var r ran
	select {
	case <-waited:
	case <-timer.C:
		r.late = true
	case <-ctx.Done():
		r.cancelled = true
	}
	drain := drainTime
	if r.late || r.cancelled {
		drain = graceTime / 2
		process.End(cmd, false)
		select {
		case <-waited:
		case <-time.After(graceTime):
		}
	}
	// The group goes with its leader. Where the leader has been waited for, its number is taken by
	// nobody else as long as one process is in the group.
	process.End(cmd, true)
	if r.late || r.cancelled {
		endStrays(mark) // a command that came to its end may leave a server that it started behind
	}
	<-waited
	in.SetReadDeadline(time.Now().Add(drain))
	<-read
	r.exit = process.Status(cmd.ProcessState)
	if r.late {
		r.exit = 124
	}
	r.output = strings.ToValidUTF8(kept.String(), "\uFFFD")
	return r, nil
}

// copyTo keeps what comes, and tells its newest line five times a second at most.
func copyTo(kept *ends, from io.Reader, progress func(string)) {
	buffer := make([]byte, 32<<10)
	var told time.Time
	for {
		n, err := from.Read(buffer)
		kept.add(buffer[:n])
		if now := time.Now(); n > 0 && progress != nil && now.Sub(told) > 200*time.Millisecond {
			told = now
			if lines := call.Lines(string(buffer[:n])); len(lines) > 0 {
				progress(call.Cut(strings.ToValidUTF8(lines[len(lines)-1], "\uFFFD"), 200))
			}
		}
		if err != nil {
			return
		}
	}
}

// environment is the program's own, without keys, and for a command that nobody was asked about
// with what keeps git from running what a repository names.
func (t Bash) environment(want agent.Permission) []string {
	withheld := slices.DeleteFunc(append(slices.Clone(keys), t.Keys...), t.Policy.Passes)
	env := slices.DeleteFunc(os.Environ(), func(s string) bool {
		name, _, _ := strings.Cut(s, "=")
		return slices.Contains(withheld, name)
	})
	if t.Policy.Guarded(want) {
		env = permission.Guard(env)
	}
	return env
}

// commandMark is the variable by which a command's processes are known, wherever they went. It has
// the marks of the commands around it too.
const commandMark = "WINNOW_COMMAND"

// environment is that of a command: the program's own, without what makes programs colour their
// output, ask questions or open a pager.
func environment(own []string, folder, mark string) []string {
	set := []string{"NO_COLOR=1", "CLICOLOR=0", "TERM=dumb", "PAGER=cat", "GIT_PAGER=cat", "MANPAGER=cat",
		"GIT_TERMINAL_PROMPT=0", "DEBIAN_FRONTEND=noninteractive", "PWD=" + folder}
	for _, s := range own {
		if around, ok := strings.CutPrefix(s, commandMark+"="); ok {
			mark = around + " " + mark
		}
	}
	set = append(set, commandMark+"="+mark)
	drop := map[string]bool{"FORCE_COLOR": true, "CLICOLOR_FORCE": true, "COLORTERM": true, "LS_COLORS": true,
		"GREP_COLORS": true, "GREP_COLOR": true, "OLDPWD": true}
	for _, s := range set {
		name, _, _ := strings.Cut(s, "=")
		drop[name] = true
	}
	env := make([]string, 0, len(own)+len(set))
	for _, s := range own {
		if name, _, _ := strings.Cut(s, "="); !drop[name] {
			env = append(env, s)
		}
	}
	return append(env, set...)
}
