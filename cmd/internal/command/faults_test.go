package command

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/draft"
)

// folder is what the files of a desk hold, by name.
func (d *desk) folder() map[string]string {
	files := map[string]string{}
	for _, name := range d.names() {
		files[name] = string(d.read(name))
	}
	return files
}

func TestFaults_atEveryStepOfWritingAFile(t *testing.T) {
	sequential(t)
	for _, args := range [][]string{
		{"compact", "claude.jsonl", "-o", "out.jsonl", "--force"},
		{"compact", "claude.jsonl", "--in-place"},
		{"prune", "claude.jsonl", "-o", "out.jsonl", "--force"},
		{"prune", "claude.jsonl", "--in-place"},
		{"export", "claude.jsonl", "-o", "out.jsonl", "--force"},
		{"export", "claude.jsonl", "-o", "out.json.gz", "--format", "opencode"},
	} {
		for _, fault := range []error{syscall.ENOSPC, syscall.EIO} {
			t.Run(strings.Join(args[:3], " ")+" "+fault.Error(), func(t *testing.T) {
				d := newDesk(t)
				d.take("claude.jsonl")
				if slices.Contains(args, "out.jsonl") {
					d.put("out.jsonl", []byte("old"))
				}
				before := d.folder()
				for n := 1; ; n++ {
					var steps []string
					d.faults = func(step string) error {
						if steps = append(steps, step); len(steps) == n {
							return &fs.PathError{Op: step, Path: "the disk", Err: fault}
						}
						return nil
					}
					o := d.run(args...)
					if len(steps) < n { // every step was made to fail once
						o.wants(t, cli.ExitDone)
						if n < 6 {
							t.Errorf("there were only %d steps: %v", n-1, steps)
						}
						return
					}
					o.wants(t, cli.ExitFailed, "winnow: ", fault.Error())
					if fault == syscall.ENOSPC {
						o.wants(t, cli.ExitFailed, "make room")
					}
					if strings.Count(o.stderr, fault.Error()) != 1 || strings.Count(o.stderr, "winnow: ") != 1 {
						t.Errorf("step %d, %s: the error is not one: %s", n, steps[n-1], o.stderr)
					}
					after := d.folder()
					if diff := cmp.Diff(before, after); diff != "" {
						t.Fatalf("step %d, %s, changed files:\n%s", n, steps[n-1], diff)
					}
				}
			})
		}
	}
}

// limited runs a command whose files must not become larger than a number of kilobytes: the write
// that goes beyond writes what fits, and fails.
func (d *desk) limited(kilobytes int, args ...string) outcome {
	d.t.Helper()
	shell, err := exec.LookPath("bash")
	if err != nil {
		d.t.Skip("there is no bash that could limit the size of files")
	}
	cmd := d.command(args...)
	cmd.Args = append([]string{"bash", "-c", fmt.Sprintf(`ulimit -f %d && exec -a winnow "$0" "$@"`, kilobytes), cmd.Path}, args...)
	cmd.Path = shell
	return d.outcome(cmd)
}

func TestFileSizeLimit_isAnErrorAndLeavesNothing(t *testing.T) {
	sequential(t)
	d := newDesk(t)
	d.put("big.jsonl", bigSession(600)) // 1.8 MB
	before := d.folder()
	for _, limit := range []int{0, 4, 100} {
		for _, args := range [][]string{{"compact", "big.jsonl", "-o", "out.jsonl"}, {"prune", "big.jsonl", "-o", "out.jsonl"}, {"import", "big.jsonl", "--store", "../store.db"}} {
			o := d.limited(limit, args...)
			if o.code == cli.ExitNothing {
				continue
			}
			o.wants(t, cli.ExitFailed, "winnow: ")
			if strings.Contains(o.stderr, "goroutine") {
				t.Fatalf("%v with files of at most %d KB: it crashed:\n%.600s", args, limit, o.stderr)
			}
			if diff := cmp.Diff(before, d.folder()); diff != "" {
				t.Errorf("%v with files of at most %d KB changed files:\n%.1000s", args, limit, diff)
			}
		}
	}
	d.run("import", "big.jsonl", "--store", "../store.db").wants(t, cli.ExitDone)
	o := d.run("show", "eeee", "--json", "--store", "../store.db")
	if o.code != cli.ExitDone || strings.Count(o.stdout, `"role":`) != 600 {
		t.Errorf("exit code %d, %d messages: %s", o.code, strings.Count(o.stdout, `"role":`), o.stderr)
	}
}

func TestWrite_removesWhatAKilledRunLeft(t *testing.T) {
	d := newDesk(t)
	file := d.take("claude.jsonl")
	path := filepath.Join(d.dir, "out.jsonl")
	// A run that is still alive, one that is not, and files that only look alike.
	var alive draft.Files
	f, err := alive.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, name := range []string{".out.jsonl.123.unfinished", ".out.jsonl.12a.unfinished", ".out.jsonl.123.bak", ".other.jsonl.123.unfinished"} {
		d.put(name, []byte("half"))
	}
	old := time.Now().Add(-time.Minute)
	for _, name := range d.names() {
		if err := os.Chtimes(filepath.Join(d.dir, name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	d.put(".out.jsonl.456.unfinished", []byte("made just now"))
	d.run("export", file, "-o", "out.jsonl").wants(t, cli.ExitDone)
	if !bytes.Equal(d.read("out.jsonl"), d.read(file)) {
		t.Error("it was not written")
	}
	want := []string{filepath.Base(f.Name()), ".out.jsonl.12a.unfinished", ".out.jsonl.123.bak", ".other.jsonl.123.unfinished", ".out.jsonl.456.unfinished", file, "out.jsonl"}
	slices.Sort(want)
	if diff := cmp.Diff(want, d.names()); diff != "" {
		t.Errorf("the folder (-want +got):\n%s", diff)
	}
}

func TestKilled_atAnyMomentLeavesTheOldFileOrTheNewOne(t *testing.T) {
	sequential(t)
	d := newDesk(t)
	data := bigSession(1500) // 4.5 MB
	file := d.put("big.jsonl", data)
	d.run("compact", file, "-o", "whole.jsonl").wants(t, cli.ExitDone)
	killed := 0
	for after := 10 * time.Millisecond; after < 2*time.Second && killed < 8; after += after / 2 {
		d.put("out.jsonl", []byte("old"))
		cmd := d.command("compact", file, "-o", "out.jsonl", "--force")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(after)
		cmd.Process.Kill() // it may have ended
		if err := cmd.Wait(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			killed++
		}
		if !bytes.Equal(d.read(file), data) {
			t.Fatal("the source was changed")
		}
		if got := string(d.read("out.jsonl")); got != "old" {
			if o := d.run("inspect", "out.jsonl", "--json"); o.code != cli.ExitDone || !strings.HasPrefix(got, string(data[:1000])) {
				t.Errorf("what was written is not whole: %s", o.stderr)
			}
		}
	}
	if killed == 0 {
		t.Error("no run was killed: the session is too small for this machine")
	}
}
