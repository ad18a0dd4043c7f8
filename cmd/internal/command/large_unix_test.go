//go:build unix

package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/winnowhq/winnow/internal/outside"
)

// LARGE_MB=1000 inspects sessions of that many megabytes, each in a process of its own, and reports
// its memory: ordinary turns of each product, and extreme shapes.
func TestInspect_ofAHugeFileNeedsLittleMemory(t *testing.T) {
	megabytes, err := strconv.Atoi(os.Getenv("LARGE_MB"))
	if err != nil || megabytes <= 0 {
		t.Skip("set LARGE_MB to a number of megabytes")
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "winnow")
	outside.Build(t, "winnow", program)
	const most = 200 // MB
	for _, c := range []struct {
		name  string
		write func(t *testing.T, path string, size int64)
		most  int64 // MB of memory, 0 for the usual
	}{
		{"claude-code", writeLarge, 0},
		{"codex", func(t *testing.T, path string, size int64) { writeShape(t, path, size, ofCodex{}, turns) }, 0},
		{"pi", func(t *testing.T, path string, size int64) { writeShape(t, path, size, &ofPi{}, turns) }, 0},
		{"one turn", func(t *testing.T, path string, size int64) { writeShape(t, path, size, &ofClaude{}, oneTurn) }, 0},
		{"images", func(t *testing.T, path string, size int64) { writeShape(t, path, size, &ofClaude{}, images) }, 0},
		{"a million short lines", func(t *testing.T, path string, size int64) { writeShape(t, path, size, &ofClaude{}, tiny) }, 0},
		{"a million short lines of codex", func(t *testing.T, path string, size int64) { writeShape(t, path, size, ofCodex{}, tiny) }, 0},
		{"a million short lines of pi", func(t *testing.T, path string, size int64) { writeShape(t, path, size, &ofPi{}, tiny) }, 0},
		// A single line is held raw and decoded while it is read.
		{"one line", func(t *testing.T, path string, size int64) { writeShape(t, path, size*2/5, &ofClaude{}, oneLine) }, most + 4*int64(megabytes)*2/5},
	} {
		for _, flags := range [][]string{nil, {"--json"}} {
			t.Run(strings.Join(append([]string{c.name}, flags...), " "), func(t *testing.T) {
				path := filepath.Join(dir, c.name+".jsonl")
				if flags == nil {
					c.write(t, path, int64(megabytes)<<20)
				} else {
					defer os.Remove(path)
				}
				cmd := exec.Command(program, append([]string{"inspect", path}, flags...)...)
				cmd.Env = append(os.Environ(), "HOME="+dir)
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("%v\n%.2000s", err, out)
				}
				usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
				if !ok {
					t.Skip("this system does not tell how much memory a process took")
				}
				first, _, _ := strings.Cut(string(out), "\n")
				info, _ := os.Stat(path)
				t.Logf("%d MB: %.100s; %d MB of memory, %v", info.Size()>>20, first, usage.Maxrss>>10, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
				if usage.Maxrss>>10 > max(c.most, most) {
					t.Errorf("it took %d MB of memory, more than %d", usage.Maxrss>>10, max(c.most, most))
				}
			})
		}
	}
}
