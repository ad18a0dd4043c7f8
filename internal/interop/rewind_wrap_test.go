//go:build interop

package interop

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/plan/pivot"
)

// wrapped has an agent start through `winnow wrap`, which folds its requests early.
func (a *agent) wrapped(t *testing.T, threshold string) {
	a.through = []string{"/usr/bin/env", "WINNOW_COMPACTION_THRESHOLD=" + threshold, "WINNOW_COMPACTION_KEEP=3200",
		buildWinnow(t, t.TempDir()), "wrap", "--mode", "full"}
}

// starts is the command that starts a product.
func (c *client) starts(args ...string) *exec.Cmd {
	cmd := exec.Command(c.bin, args...)
	if len(c.through) > 0 {
		cmd = exec.Command(c.through[0], slices.Concat(c.through[1:], []string{filepath.Base(c.bin)}, args)...)
	}
	cmd.Dir = c.Project
	path := filepath.Dir(c.bin) + string(os.PathListSeparator) + os.Getenv("PATH")
	cmd.Env = append([]string{"HOME=" + c.Home, "PATH=" + path, "TERM=dumb"}, c.Env...)
	return cmd
}

// talks starts a product that is spoken to in lines of JSON. It ends with the test, or when it is
// stopped.
func (c *client) talks(t *testing.T, args ...string) (in io.Writer, lines chan []byte, stop func()) {
	t.Helper()
	cmd := c.starts(args...)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines = make(chan []byte, 10_000)
	go func() {
		defer close(lines)
		for r := bufio.NewReader(out); ; {
			line, err := r.ReadBytes('\n')
			if err != nil {
				return
			}
			lines <- line
		}
	}()
	stop = func() {
		stdin.Close()
		late := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait() // it ends when nobody speaks to it
		late.Stop()
	}
	t.Cleanup(stop)
	return stdin, lines, stop
}

// holds checks what is left of the turns of the past up to one: a summary of some of the first,
// once, and the others, each once; or all of them. Of later turns nothing is there, nor in the summary.
// It returns how many turns were folded.
func holds(t *testing.T, r llmtest.Request, upTo int) (folded int) {
	t.Helper()
	said, gave, summaries := spoken(r)
	for i, turn := range past {
		n, outputs := strings.Count(said, turn.prompt), strings.Count(gave, turn.output+"-line-150")
		switch {
		case i >= upTo:
			if r.Contains(turn.prompt) || r.Contains(turn.output+"-line") {
				t.Errorf("turn %d was left, and the request says something of it", i+1)
			}
		case n == 0 && folded == i:
			folded++
			if outputs > 0 {
				t.Errorf("turn %d is folded, and its output is beside the summary", i+1)
			}
		case n != 1 || outputs > 1:
			t.Errorf("turn %d: the request has its prompt %d times, its output %d times", i+1, n, outputs)
		}
	}
	if want := map[bool]int{true: 1}[folded > 0]; summaries != want {
		t.Errorf("%d turns are folded, and the request has %d summaries", folded, summaries)
	}
	return folded
}

// goesBackThroughWrap plays the past of a product through winnow's gateway, which folds some of it
// meanwhile. Then the product forks the session, or goes back to the end of a turn: goes does it and
// says something.
func goesBackThroughWrap(t *testing.T, a *agent, threshold string,
	goes func(t *testing.T, at int, fork bool, prompt string)) {
	a.wrapped(t, threshold)
	a.plays(t, 0, len(past))
	folds := made(t, a.Home, pivot.Compaction)
	folded := holds(t, a.asked(t, "ZEBRA"), len(past))
	if folds == 0 || folded == 0 || folded == len(past) {
		t.Fatalf("winnow folded %d times, %d turns", folds, folded)
	}
	saved := t.TempDir()
	a.keeps(t, saved)
	for _, at := range slices.Compact([]int{len(past), folded + 1, folded, 1}) {
		for _, fork := range []bool{true, false} {
			name := past[at-1].output
			if fork {
				name += ", forked"
			}
			t.Run(name, func(t *testing.T) {
				tries(t, "wrap", "rewind")
				a.restores(t, saved)
				a.up.Forget()
				goes(t, at, fork, "And now, OKAPI?")
				now := holds(t, a.asked(t, "OKAPI"), at)
				a.paired(t)
				t.Logf("%s: %d of %d turns are folded, before %d", name, now, at, folded)
			})
		}
	}
}

// paired checks that the provider found no fault with what it was sent, such as a result without a
// call.
func (a *agent) paired(t *testing.T) {
	t.Helper()
	for _, problem := range a.up.Problems() {
		t.Errorf("the provider refuses it: %s", problem)
	}
}

func TestClaudeCode_rewindsThroughWrap(t *testing.T) {
	a := claudeAgent(t)
	goesBackThroughWrap(t, a, "14500", func(t *testing.T, at int, fork bool, prompt string) {
		claudeGoes(t, a, at, fork, prompt)
	})
}

func TestPi_goesBackThroughWrap(t *testing.T) {
	a := piAgent(t)
	file := filepath.Join(a.Home, "session.jsonl")
	goesBackThroughWrap(t, a, "6000", func(t *testing.T, at int, fork bool, prompt string) {
		s, stop := servePi(t, a.client, file)
		piGoes(t, s, a.save(t), at, fork)
		s.call(map[string]any{"type": "prompt", "message": prompt}, "agent_end")
		stop()
	})
}

func TestCodex_goesBackThroughWrap(t *testing.T) {
	a := codexAgent(t)
	goesBackThroughWrap(t, a, "12000", func(t *testing.T, at int, fork bool, prompt string) {
		thread := codexThread(t, a)
		s, stop := serveCodex(t, a.client)
		s.says(codexGoes(t, s, thread, at, fork), prompt)
		stop()
		codexPaired(t, a.asked(t, prompt))
	})
}

func TestOpenCode_goesBackThroughWrap(t *testing.T) {
	a := openCodeAgent(t)
	goesBackThroughWrap(t, a, "12000", a.onAServer())
}
