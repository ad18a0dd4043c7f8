package command

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/draft"
)

// bigSession is a session of Claude Code with the given number of messages, each of about 3,000
// bytes.
func bigSession(messages int) []byte {
	contents := make([]string, messages)
	for i := range contents {
		contents[i] = quoted(fmt.Sprintf("%d ", i) + strings.Repeat("the lamp turns and the tide comes in, ", 75))
	}
	return claudeLines(contents...)
}

// longSession is one that takes long enough to be interrupted in. Under the race detector, which
// -short is for, a quarter of it does.
func longSession() []byte {
	if testing.Short() {
		return bigSession(1500)
	}
	return bigSession(6000)
}

func TestInterrupt_whileReadingAPipeEndsAtOnce(t *testing.T) {
	d := newDesk(t)
	cmd := d.command("compact", "-")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Write(bigSession(100)); err != nil { // more than a pipe holds: it is reading now, and there is more to come
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	wantExit(t, cmd, cli.ExitInterrupted)
	if !strings.Contains(stderr.String(), "interrupted") {
		t.Errorf("stderr: %s", &stderr)
	}
	if names := d.names(); len(names) > 0 {
		t.Errorf("it left %v", names)
	}
}

// wantExit waits for a process.
func wantExit(t *testing.T, cmd *exec.Cmd, codes ...int) int {
	t.Helper()
	err := cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if code := cmd.ProcessState.ExitCode(); !slices.Contains(codes, code) {
		t.Errorf("%v: exit code %d, want one of %v", cmd.Args, code, codes)
	}
	return cmd.ProcessState.ExitCode()
}

func TestInterrupt_atAnyMomentLeavesNothingHalfWritten(t *testing.T) {
	sequential(t)
	d := newDesk(t)
	data := longSession() // 18 MB
	file := d.put("big.jsonl", data)
	interrupted := 0
	for _, after := range []time.Duration{0, 20, 60, 120, 200, 300, 450} {
		os.Remove(filepath.Join(d.dir, "out.jsonl"))
		cmd := d.command("compact", file, "-o", "out.jsonl")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(after*time.Millisecond + 15*time.Millisecond)        // the runtime needs a moment to listen to signals
		cmd.Process.Signal(os.Interrupt)                                // it may have ended
		code := wantExit(t, cmd, cli.ExitDone, cli.ExitInterrupted, -1) // -1: before it listened
		if code == cli.ExitInterrupted {
			interrupted++
		}
		if !bytes.Equal(d.read(file), data) {
			t.Fatal("the source was changed")
		}
		names := d.names()
		if code == cli.ExitDone && !slices.Contains(names, "out.jsonl") {
			t.Error("it ended well and wrote nothing")
		}
		for _, name := range names {
			switch name {
			case file:
			case "out.jsonl": // whole, or not there
				if o := d.run("inspect", name, "--json"); o.code != cli.ExitDone || !bytes.HasPrefix(d.read(name), data[:1000]) {
					t.Errorf("what was written is not whole: %s", o.stderr)
				}
			default:
				t.Errorf("it left %s", name)
			}
		}
	}
	if interrupted == 0 {
		t.Error("no run was interrupted: the session is too small for this machine")
	}
}

func TestInterrupt_ofAnImportLeavesAnIntactStore(t *testing.T) {
	sequential(t)
	d := newDesk(t)
	data := longSession()
	messages := bytes.Count(data, []byte("\n"))
	file := d.put("big.jsonl", data)
	for _, after := range []time.Duration{50, 200, 500} {
		cmd := d.command("import", file)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(after * time.Millisecond)
		cmd.Process.Signal(os.Interrupt)                                         // it may have ended
		wantExit(t, cmd, cli.ExitDone, cli.ExitInterrupted, cli.ExitNothing, -1) // -1: it was not yet listening
	}
	o := d.run("import", file)
	if o.code != cli.ExitDone && o.code != cli.ExitNothing {
		t.Fatalf("the store does not take the session any more: %s", o.stderr)
	}
	if o := d.run("show", "eeee", "--json"); o.code != cli.ExitDone || strings.Count(o.stdout, `"role":`) != messages {
		t.Errorf("exit code %d, %d messages: %s", o.code, strings.Count(o.stdout, `"role":`), o.stderr)
	}
}

func TestClosedOutput_isNoFailure(t *testing.T) {
	d := newDesk(t)
	file := d.put("big.jsonl", bigSession(300))
	for _, args := range [][]string{{"inspect", file, "--as", "text"}, {"inspect", file, "--log"}, {"export", file}, {"config", "models"}} {
		cmd := d.command(args...)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(out, make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		out.Close()
		wantExit(t, cmd, cli.ExitDone)
		if stderr.Len() > 0 {
			t.Errorf("%v: %s", args, &stderr)
		}
	}
}

// fullAfter is a disk that is full after that many bytes.
type fullAfter int

func (f *fullAfter) Write(data []byte) (int, error) {
	if len(data) > int(*f) {
		n := int(*f)
		*f = 0
		return n, syscall.ENOSPC
	}
	*f -= fullAfter(len(data))
	return len(data), nil
}

func TestFullDisk_isAnErrorThatSaysSo(t *testing.T) {
	d := newDesk(t)
	file := d.take("claude.jsonl")
	room := fullAfter(1000)
	o := d.runWith(t.Context(), strings.NewReader(""), &room, "view", file)
	o.wants(t, cli.ExitFailed, "standard output", "no space left")
	if _, err := os.Stat("/dev/full"); err == nil {
		d.run("prune", file, "-o", "/dev/full").wants(t, cli.ExitFailed, "/dev/full", "no space left", "make room")
	}
}

func TestWrite_whatFailsLeavesTheOldFileAndNothingElse(t *testing.T) {
	d := newDesk(t)
	path := filepath.Join(d.dir, d.put("out", []byte("old")))
	var u draft.Files
	if err := u.Write(t.Context(), path, func(w io.Writer) error {
		io.WriteString(w, "new")
		return syscall.ENOSPC
	}); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), path) {
		t.Errorf("the error is %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if err := u.Write(ctx, path, func(w io.Writer) error {
		cancel()
		_, err := io.WriteString(w, "new")
		return err
	}); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	if err := u.Write(t.Context(), path, func(w io.Writer) error {
		_, err := io.WriteString(w, "half")
		u.Abandon()
		return err
	}); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	if got := string(d.read("out")); got != "old" {
		t.Errorf("the file holds %q", got)
	}
	if diff := cmp.Diff([]string{"out"}, d.names()); diff != "" {
		t.Errorf("the folder (-want +got):\n%s", diff)
	}
}

func TestOutput_linksFoldersAndDevices(t *testing.T) {
	d := newDesk(t)
	file := d.take("claude.jsonl")
	original := d.read(file)
	if err := os.Symlink(file, filepath.Join(d.dir, "link.jsonl")); err != nil {
		t.Skip(err)
	}
	d.run("prune", "link.jsonl", "--in-place").wants(t, cli.ExitDone)
	if target, err := os.Readlink(filepath.Join(d.dir, "link.jsonl")); err != nil || target != file {
		t.Errorf("the link leads to %q, %v", target, err)
	}
	if kept := d.originals(); len(kept) != 1 || !bytes.Equal(kept[0], original) || bytes.Equal(d.read(file), original) {
		t.Error("the file behind the link was not replaced with its original kept")
	}
	d.run("undo", "link.jsonl", "-o", "link.jsonl").wants(t, cli.ExitUsage, "--in-place")
	d.run("undo", file, "-o", file).wants(t, cli.ExitUsage, "--in-place")
	d.run("undo", file, "-o", file, "--force").wants(t, cli.ExitDone)
	if !bytes.Equal(d.read(file), original) {
		t.Error("it was not written over itself")
	}
	d.run("prune", file, "-o", ".").wants(t, cli.ExitUsage, "is a folder")
	d.run("prune", file, "-o", "no/such/out.jsonl").wants(t, cli.ExitFailed, "there is no folder", "make the folder")
	d.run("prune", "-", "--in-place").wants(t, cli.ExitInput)
	if os.Getuid() != 0 && runtime.GOOS != "windows" { // root may write anywhere
		if err := os.Mkdir(filepath.Join(d.dir, "locked"), 0o555); err != nil {
			t.Fatal(err)
		}
		d.run("prune", file, "-o", "locked/out.jsonl").wants(t, cli.ExitFailed, "locked/out.jsonl", "permission denied", "who may")
	}
	if info, err := os.Stat(os.DevNull); err == nil {
		d.run("prune", file, "-o", os.DevNull, "--force").wants(t, cli.ExitDone)
		if after, err := os.Stat(os.DevNull); err != nil || after.Mode() != info.Mode() {
			t.Errorf("%s was replaced", os.DevNull)
		}
	}
	d.run("prune", file).wants(t, cli.ExitDone)
	if info, err := os.Stat(filepath.Join(d.dir, "claude.pruned.jsonl")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("a new file may be read by others: %v, %v", info.Mode(), err)
	}
}

func TestStore_whatIsWrongWithItIsSaid(t *testing.T) {
	sequential(t)
	t.Parallel() // it waits for a lock
	d := newDesk(t)
	file := d.take("pi.jsonl")
	d.put("corrupt.db", bytes.Repeat([]byte("no database, "), 1000))
	d.run("list", "--store", "corrupt.db").wants(t, cli.ExitFailed, "corrupt.db", "damaged", "move it away")
	d.run("import", file, "--store", "corrupt.db").wants(t, cli.ExitFailed, "corrupt.db")
	d.run("import", file, "--store", "no/such/folder/x.db") // makes the folder or says why not; it must not panic
	d.run("show", "7d1c", "--store", "missing.db").wants(t, cli.ExitFailed, "there is no store")

	d.run("import", file, "--store", "good.db").wants(t, cli.ExitDone)
	// Another process writes, and does not end.
	db, err := sql.Open("sqlite", filepath.Join(d.dir, "good.db")+"?_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	d.run("show", "7d1c", "--store", "good.db").wants(t, cli.ExitDone) // readers do not mind
	d.run("view", "7d1c", "--store", "good.db").wants(t, cli.ExitDone)
	if !testing.Short() {
		d.run("prune", "7d1c", "--store", "good.db").wants(t, cli.ExitFailed, "good.db", "locked", "try again")
	}
	tx.Rollback()
	d.run("prune", "7d1c", "--store", "good.db").wants(t, cli.ExitDone)
}

func TestStore_thatMustNotBeWrittenCanBeRead(t *testing.T) {
	sequential(t)
	d := newDesk(t)
	d.run("import", d.take("pi.jsonl"), "--store", "good.db").wants(t, cli.ExitDone)
	path := filepath.Join(d.dir, "good.db")
	if err := os.Chmod(path, 0o444); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"list"}, {"show", "7d1c"}, {"inspect", "7d1c"}, {"view", "7d1c"}, {"compact", "7d1c", "--dry-run"}, {"export", "7d1c"}} {
		d.run(append(args, "--store", "good.db")...).wants(t, cli.ExitDone)
	}
	if os.Getuid() != 0 {
		d.run("prune", "7d1c", "--store", "good.db").wants(t, cli.ExitFailed, "good.db", "read-only", "permissions")
	}
}
