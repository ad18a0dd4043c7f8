//go:build unix

package tools

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/plan/call"
)

func TestBash_showsWhatACommandPrinted(t *testing.T) {
	for _, c := range []struct {
		name, command, want string
		exit                int
	}{
		{"output", "echo hello", "hello\n", 0},
		{"errors in their order", "echo a; echo b >&2; echo c; echo d >&2", "a\nb\nc\nd\n", 0},
		{"nothing", "true", "(no output)", 0},
		{"failed", "echo a; exit 3", "a\n[exit code 3]", 3},
		{"failed without newline", "printf a; false", "a\n[exit code 1]", 1},
		{"failed with nothing", "exit 2", "[exit code 2]", 2},
		{"ended by a signal", "kill -9 $$", "[exit code 137]", 137},
		{"not there", "no-such-program-x 2>/dev/null", "[exit code 127]", 127},
		{"Unicode", "printf '日本 🎉\\n'", "日本 🎉\n", 0},
		{"no UTF-8", `printf '\351\n'`, "\uFFFD\n", 0},
		{"no terminal, no colour", `test -t 1 || echo "$TERM $NO_COLOR ${FORCE_COLOR-unset}"`, "dumb 1 unset\n", 0},
		{"no input", "cat", "(no output)", 0},
		{"several lines", "for i in 1 2\ndo echo $i\ndone", "1\n2\n", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			t.Setenv("FORCE_COLOR", "1")
			r := b.run(Bash{}, args{"command": c.command})
			if r.Output != c.want || r.Metadata["exit"] != c.exit || r.Failed != (c.exit != 0) {
				t.Errorf("got %q, exit %v, failed %v; want %q, exit %d", r.Output, r.Metadata["exit"], r.Failed, c.want,
					c.exit)
			}
			did := call.Of(b.part(Bash{}, args{"command": c.command}, r), b.folder)
			if did.Outcome.Exit != c.exit || !did.Outcome.Known {
				t.Errorf("package call understands %+v, want exit %d", did.Outcome, c.exit)
			}
		})
	}
}

func TestBash_runsInItsFolder(t *testing.T) {
	b := newBench(t, "sub/a.txt", "x\n")
	if got := b.run(Bash{}, args{"command": "pwd"}).Output; got != b.folder+"\n" {
		t.Errorf("got %q, want %s", got, b.folder)
	}
	if got := b.run(Bash{}, args{"command": "echo $PWD; ls", "workdir": "sub"}).Output; got != b.at("sub")+"\na.txt\n" {
		t.Errorf("got %q", got)
	}
	b.run(Bash{}, args{"command": "true", "workdir": "/"})
	if p := b.asked[len(b.asked)-1]; p.Inside || p.Action != "run" || p.Target != "true" {
		t.Errorf("asked %+v, want to run outside", p)
	}
	b.fails(Bash{}, args{"command": "true", "workdir": "none"}, "no folder none")
	b.fails(Bash{}, args{"command": " "}, "needs a command")
}

func TestBash_aFileThatItPrintsIsWhatCoverageReads(t *testing.T) {
	b := newBench(t, "a.txt", "one\ntwo\n")
	s := b.shown(Bash{}, args{"command": "cat a.txt"})
	if len(s.Views) != 1 || !s.Views[0].Full || len(s.Views[0].Lines) != 2 || !s.OutputIsViews {
		t.Errorf("got %+v, want the full file", s)
	}
	if s := b.shown(Bash{}, args{"command": "cat a.txt; exit 1"}); len(s.Views) != 0 {
		t.Errorf("of a command that failed: got %+v", s)
	}
}

// alive reports whether a process runs.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z")
}

// gone waits until a process has ended, which somebody else has to notice.
func gone(t *testing.T, text string) {
	t.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		t.Fatalf("no process id: %q", text)
	}
	for range 200 {
		if !alive(pid) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("process %d goes on", pid)
}

func TestBash_childrenThatHoldTheOutputEndWithIt(t *testing.T) {
	b := newBench(t)
	start := time.Now()
	r := b.run(Bash{}, args{"command": "sleep 300 & echo $! > pid; echo done"})
	if r.Output != "done\n" || time.Since(start) > 20*time.Second {
		t.Errorf("got %q after %v", r.Output, time.Since(start))
	}
	gone(t, b.text("pid"))
}

// leaves is a command whose child leaves its group, in a way that can be found or not.
func leaves(how string) string {
	return "command -v setsid >/dev/null || exit 9; " + how +
		" sh -c 'echo $$ > pid; exec sleep 60' & until test -s pid; do sleep 0.02; done; echo done"
}

func TestBash_aChildThatLeftTheGroupEndsWithTheTime(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the environment of other processes is read on Linux alone")
	}
	for _, how := range []string{"setsid", "setsid nohup >/dev/null 2>&1", "setsid sh -c 'setsid \"$@\"' -"} {
		b := newBench(t)
		r := b.run(Bash{}, args{"command": leaves(how) + "; sleep 300", "timeout": 1})
		if r.Metadata["exit"] == 9 {
			t.Skip("no setsid here")
		}
		if want := "done\n[It took longer than 1 s and was ended; timeout can be 600 s at most.]\n[exit code " +
			"124]"; r.Output != want {
			t.Errorf("%s: got %q, want %q", how, r.Output, want)
		}
		gone(t, b.text("pid"))
	}
}

// What a command leaves behind that came to its end, and what cleared its environment, goes on and
// does not hold up the call.
func TestBash_aChildThatGoesOnDoesNotHoldItUp(t *testing.T) {
	for _, command := range []string{leaves("setsid"), leaves("env -i setsid") + "; sleep 300"} {
		b := newBench(t)
		began := time.Now()
		r := b.run(Bash{}, args{"command": command, "timeout": 1})
		if r.Metadata["exit"] == 9 {
			t.Skip("no setsid here")
		}
		if !strings.HasPrefix(r.Output, "done\n") || time.Since(began) > 10*time.Second {
			t.Errorf("%s: got %q after %v, want done", command, r.Output, time.Since(began))
		}
		pid, err := strconv.Atoi(strings.TrimSpace(b.text("pid")))
		if err != nil || !alive(pid) {
			t.Errorf("%s: process %d does not go on (%v)", command, pid, err)
		}
		if err == nil {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

func TestBash_endsInTime(t *testing.T) {
	b := newBench(t)
	for _, command := range []string{"echo a; sleep 300", "trap '' TERM; echo a; sleep 300; sleep 300"} {
		r := b.run(Bash{}, args{"command": command, "timeout": 1})
		if want := "a\n[It took longer than 1 s and was ended; timeout can be 600 s at most.]\n[exit code " +
			"124]"; r.Output != want || !r.Failed || r.Metadata["timedOut"] != true {
			t.Errorf("got %q, failed %v, want %q", r.Output, r.Failed, want)
		}
	}
	b.fails(Bash{}, args{"command": "true", "timeout": 0}, "timeout")
}

func TestBash_cancelledItEndsAtOnce(t *testing.T) {
	for _, command := range []string{": > started; sleep 300",
		"trap '' TERM; sleep 300 & echo $! > pid; : > started; wait; sleep 300", ": > started; yes"} {
		b := newBench(t)
		if err := syscall.Mkfifo(b.at("started"), 0o600); err != nil {
			t.Skip(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			_, err := Bash{}.Run(ctx, agent.Call{Input: input(t, args{"command": command}), Directory: b.folder,
				Ask: func(context.Context, agent.Permission) error { return nil }})
			ended <- err
		}()
		if _, err := os.ReadFile(b.at("started")); err != nil { // it waits for the command to open it
			t.Fatal(err)
		}
		start := time.Now()
		cancel()
		err := <-ended
		t.Logf("%q: %v", command, time.Since(start))
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%q: got %v, want context.Canceled", command, err)
		}
		if text, err := os.ReadFile(b.at("pid")); err == nil && len(text) > 0 {
			gone(t, string(text))
		}
	}
}

func TestBash_aCancelledCallDoesNotBegin(t *testing.T) {
	b := newBench(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.try(ctx, Bash{}, args{"command": "touch began"}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(b.at("began")); err == nil {
		t.Error("it began")
	}
}

func TestBash_keepsBothEndsOfAnEndlessOutput(t *testing.T) {
	b := newBench(t)
	r := b.run(Bash{}, args{"command": "echo first; head -c 20000000 /dev/zero | tr '\\0' x; echo; echo last"})
	if !strings.HasPrefix(r.Output, "first\nxxx") || !strings.HasSuffix(r.Output, "xxx\nlast\n") ||
		!strings.Contains(r.Output, "[11,611,404 bytes omitted here: only 8,388,608 of an output are kept]") {
		t.Errorf("got %d bytes, %.10q … %q", len(r.Output), r.Output, r.Output[len(r.Output)-20:])
	}
}

func TestEnds_keepsTheFirstAndTheLast(t *testing.T) {
	text := "abcdefghijklmnopqrstuvwxyz"
	for size := 1; size <= len(text); size++ {
		for _, n := range []int{0, 1, 5, 8, 9, 13, 26} {
			e := &ends{most: 8}
			for rest := text[:n]; rest != ""; {
				k := min(size, len(rest))
				e.add([]byte(rest[:k]))
				rest = rest[k:]
			}
			want := text[:n]
			if n > 8 {
				want = fmt.Sprintf("abcd\n[%d bytes omitted here: only 8 of an output are kept]\n%s", n-8, text[n-4:n])
			}
			if got := e.String(); got != want {
				t.Errorf("%d letters, %d at a time: got %q, want %q", n, size, got, want)
			}
		}
	}
}

func TestBash_tellsHowFarItIs(t *testing.T) {
	b := newBench(t)
	var told []string
	_, err := Bash{}.Run(t.Context(), agent.Call{Input: input(t, args{"command": "printf '\\033[31mone\\033[0m\\n'"}),
		Directory: b.folder,
		Ask:       func(context.Context, agent.Permission) error { return nil },
		Progress:  func(text string) { told = append(told, text) }})
	if err != nil || len(told) != 1 || told[0] != "one" {
		t.Errorf("got %q, %v, want one", told, err)
	}
}
