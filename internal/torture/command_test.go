package torture

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format/all"
	"github.com/winnowhq/winnow/internal/outside"
)

// desk is a folder with session files, and the command that works on them.
type desk struct {
	t      *testing.T
	dir    string
	winnow string
	dice   *rand.Rand
}

// newDesk builds the command, and writes a few session files of about that many messages.
func newDesk(t *testing.T, files, messages int) *desk {
	t.Helper()
	if !*long {
		t.Skip("this needs a build of the command; run it with -torture, or `make torture`")
	}
	d := &desk{t: t, dir: t.TempDir(), winnow: filepath.Join(t.TempDir(), "winnow"), dice: rand.New(rand.NewPCG(*seedArg, 5))}
	outside.Build(t, "winnow", d.winnow)
	if err := os.Mkdir(filepath.Join(d.dir, "sessions"), 0o700); err != nil {
		t.Fatal(err)
	}
	for n := range files {
		s, _, _ := someSession(n, rand.New(rand.NewPCG(uint64(n), 9)))
		s.Messages = nil
		for i := 0; len(s.Messages) < messages; i++ {
			for _, m := range someMessages(n*1000+i, rand.New(rand.NewPCG(uint64(n), uint64(i))), 6, 2000) {
				m.SessionID, m.Time.Created = s.Info.ID, 1000
				for j := range m.Parts {
					m.Parts[j].SessionID, m.Parts[j].MessageID = m.SessionID, m.ID
					m.Parts[j].Text = strings.ToValidUTF8(m.Parts[j].Text, "?")
				}
				s.Messages = append(s.Messages, m)
			}
		}
		s.Info.Time.Created, s.Info.Time.Updated = 1000, 2000
		text, err := json.Marshal(s, jsontext.AllowInvalidUTF8(true))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(d.file(n), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

func (d *desk) file(n int) string { return filepath.Join(d.dir, "sessions", fmt.Sprint(n, ".json")) }

func (d *desk) command(args ...string) *exec.Cmd {
	cmd := exec.Command(d.winnow, args...)
	cmd.Dir = d.dir
	cmd.Env = append(os.Environ(), "HOME="+d.dir, "XDG_DATA_HOME="+d.dir, "XDG_CONFIG_HOME="+d.dir, "WINNOW_COMPACTION_PROTECT=200", "WINNOW_COMPACTION_MINIMUM=100")
	return cmd
}

// run runs a command to its end.
func (d *desk) run(args ...string) {
	d.t.Helper()
	if out, err := d.command(args...).CombinedOutput(); err != nil {
		d.t.Fatalf("winnow %v: %v: %s", args, err, out)
	}
}

// kill starts a command and kills it within the time that it usually takes. It reports whether it
// was killed before it ended.
func (d *desk) kill(usual time.Duration, args ...string) bool {
	d.t.Helper()
	cmd := d.command(args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	time.Sleep(time.Duration(d.dice.Float64() * float64(usual)))
	cmd.Process.Kill()
	err := cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		d.t.Fatal(err)
	}
	if code := cmd.ProcessState.ExitCode(); code > 0 && code != 5 { // 5: there was nothing left to do
		d.t.Errorf("winnow %v ended by itself with %d: %s", args, code, &out)
	}
	return cmd.ProcessState.ExitCode() == -1
}

// TestKilledCommands_importAFolder kills `winnow import FOLDER` again and again: every session is
// in the store whole or not at all, and the next run goes on.
func TestKilledCommands_importAFolder(t *testing.T) {
	d := newDesk(t, 24, 40)
	ctx := t.Context()
	began := time.Now()
	d.run("import", "sessions", "--store", "undisturbed.db")
	usual := time.Since(began)
	want, err := reopened(ctx, filepath.Join(d.dir, "undisturbed.db"))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(want.sessions()); n != 24 {
		t.Fatalf("%d sessions of 24 were imported", n)
	}
	killed, partly := 0, 0
	for round := 0; killed < *kills/10; round++ {
		path := filepath.Join(d.dir, fmt.Sprint("round-", round, ".db"))
		for range 3 {
			if d.kill(usual, "import", "sessions", "--store", path) {
				killed++
			}
			if _, err := os.Stat(path); err != nil {
				continue // it was killed before it made the store
			}
			got, err := reopened(ctx, path)
			if err != nil {
				t.Fatal(err)
			}
			for id := range got {
				if got[id] != want[id] {
					t.Fatalf("a session was imported by half: %s", difference(contents{id: want[id]}, contents{id: got[id]}))
				}
			}
			if n := len(got.sessions()); n > 0 && n < len(want.sessions()) {
				partly++
			}
		}
		d.command("import", "sessions", "--store", path).Run() // it ends with 5 when all was there
		got, err := reopened(ctx, path)
		if err != nil {
			t.Fatal(err)
		}
		if !want.equal(got) {
			t.Fatalf("the next run did not make it whole: %s", difference(want, got))
		}
		os.Remove(path)
	}
	t.Logf("%d imports killed within %v; %d left some of the sessions, each of them whole", killed, usual.Round(time.Millisecond), partly)
}

// TestKilledCommands_replaceAFile kills `winnow compact`: a file is the old one or the new one, the
// original of a file that was replaced is there, and what killed runs left is gone after the next
// one.
func TestKilledCommands_replaceAFile(t *testing.T) {
	d := newDesk(t, 1, 1200)
	old, err := os.ReadFile(d.file(0))
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	d.run("compact", d.file(0), "-o", "undisturbed.json")
	usual := time.Since(began)
	killed, replaced, runs := 0, 0, 0
	for n := 0; killed < *kills/10; n++ {
		runs++
		args := []string{"compact", d.file(0), "-o", "out.json", "--force"}
		written := filepath.Join(d.dir, "out.json")
		if n%2 == 0 {
			args, written = []string{"compact", d.file(0), "--in-place"}, d.file(0)
		}
		d.idle(0)
		if d.kill(usual, args...) {
			killed++
		}
		got, err := os.ReadFile(written)
		switch {
		case errors.Is(err, os.ErrNotExist) && n%2 == 1:
		case err != nil:
			t.Fatal(err)
		case bytes.Equal(got, old):
		default:
			replaced++
			if err := d.whole(got, old); err != nil {
				t.Fatalf("%v left half a file: %v", args, err)
			}
			if kept := d.originals(); n%2 == 0 && len(kept) == 0 {
				t.Fatal("the file was replaced, and its original is not there")
			}
		}
		for _, kept := range d.originals() {
			if !bytes.Equal(kept, old) {
				t.Fatalf("half of the original was kept")
			}
		}
		if err := os.WriteFile(d.file(0), old, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(filepath.Join(d.dir, "winnow", "originals")); err != nil {
			t.Fatal(err)
		}
	}
	left := d.unfinished()
	time.Sleep(1100 * time.Millisecond)
	d.idle(0)
	d.run("compact", d.file(0), "--in-place")
	if err := os.WriteFile(d.file(0), old, 0o600); err != nil {
		t.Fatal(err)
	}
	d.run("compact", d.file(0), "-o", "out.json", "--force")
	if now := d.unfinished(); len(now) > 0 {
		t.Errorf("temporary files stay: %v", now)
	}
	t.Logf("%d of %d compactions killed within %v; after %d the file was the new one, whole, else the old one; %d temporary files were left, and are gone after the next run",
		killed, runs, usual.Round(time.Millisecond), replaced, len(left))
}

// idle makes a file one that nobody wrote to in the last minute.
func (d *desk) idle(n int) {
	d.t.Helper()
	then := time.Now().Add(-time.Minute)
	if err := os.Chtimes(d.file(n), then, then); err != nil {
		d.t.Fatal(err)
	}
}

// originals are what is kept of files that were replaced.
func (d *desk) originals() (kept [][]byte) {
	d.t.Helper()
	receipts, err := filepath.Glob(filepath.Join(d.dir, "winnow", "originals", "*.json"))
	if err != nil {
		d.t.Fatal(err)
	}
	for _, receipt := range receipts {
		text, err := os.ReadFile(strings.TrimSuffix(receipt, ".json"))
		if errors.Is(err, os.ErrNotExist) {
			continue // it was killed before it made the link
		}
		if err != nil {
			d.t.Fatal(err)
		}
		kept = append(kept, text)
	}
	return kept
}

// whole checks that a file is a session that was compacted to its end.
func (d *desk) whole(got, old []byte) error {
	doc, err := all.Read(got)
	if err != nil {
		return err
	}
	before, err := all.Read(old)
	if err != nil {
		return err
	}
	if len(doc.Damaged) > 0 || len(doc.Session.Messages) < len(before.Session.Messages)+2 {
		return fmt.Errorf("%d damaged pieces, %d messages where there were %d", len(doc.Damaged), len(doc.Session.Messages), len(before.Session.Messages))
	}
	return nil
}

func (d *desk) unfinished() (names []string) {
	for _, folder := range []string{d.dir, filepath.Join(d.dir, "sessions")} {
		found, err := filepath.Glob(filepath.Join(folder, ".*.unfinished"))
		if err != nil {
			d.t.Fatal(err)
		}
		names = append(names, found...)
	}
	return names
}
