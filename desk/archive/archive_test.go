package archive_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/winnowhq/winnow/desk/archive"
	"github.com/winnowhq/winnow/desk/discover"
	"github.com/winnowhq/winnow/desk/inplace"
	"github.com/winnowhq/winnow/session"
)

// now is the time of the tests; files are older by days.
var now = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

const run = session.Millis(1_795_867_200_000)

// computer is a home folder with sessions of Claude Code.
type computer struct {
	t    *testing.T
	home string
	archive.Archive
}

func newComputer(t *testing.T) *computer {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	room := inplace.Room{Dir: filepath.Join(home, "data"), Home: home, Now: func() time.Time { return now },
		Sleep: func(time.Duration) {}}
	c := &computer{t, home, archive.Archive{Room: room, Unseen: runtime.GOOS != "linux"}}
	return c
}

func (c *computer) path(project, id string) string {
	return filepath.Join(c.home, ".claude", "projects", "-"+project, id+".jsonl")
}

// session writes a session that was last written to so many days ago.
func (c *computer) session(project, id string, days float64, lines ...string) string {
	c.t.Helper()
	path := c.path(project, id)
	text := fmt.Sprintf(`{"parentUuid":null,"type":"user","sessionId":%q,"uuid":"u-%[1]s","cwd":"/home/a/%s",`+
		`"timestamp":"2026-01-01T00:00:00Z","message":{"role":"user","content":"Light the lamp"}}`+"\n", strings.Split(id, "/")[0], project)
	text += strings.Join(append(lines, ""), "\n")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
		c.t.Fatal(err)
	}
	c.age(path, days)
	return path
}

func (c *computer) age(path string, days float64) {
	c.t.Helper()
	then := now.Add(-time.Duration(days * float64(24*time.Hour))).Add(-123456789)
	if err := os.Chtimes(path, then, then); err != nil {
		c.t.Fatal(err)
	}
}

func (c *computer) find() []discover.Found {
	c.t.Helper()
	s := discover.Search{Env: discover.Env{Home: c.home}}
	found, problems, err := s.Find(c.t.Context())
	if err != nil || len(problems) > 0 {
		c.t.Fatal(err, problems)
	}
	return found
}

// one is the session of a file.
func (c *computer) one(path string) discover.Found {
	c.t.Helper()
	for _, f := range c.find() {
		if f.Source == path {
			return f
		}
	}
	c.t.Fatalf("%s is not found", path)
	return discover.Found{}
}

func (c *computer) put(path string) (archive.Session, error) {
	c.t.Helper()
	f := c.one(path)
	release, left, err := c.Open()
	if err != nil || len(left) > 0 {
		c.t.Fatal(err, left)
	}
	defer release()
	return c.Put(c.t.Context(), f, run)
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestPut_restoreBringsBackBytesModeAndTime(t *testing.T) {
	c := newComputer(t)
	path := c.session("lamp", "0f1e2d3c-1111", 90, strings.Repeat(`{"type":"system","x":"abc"}`+"\n", 1000))
	before, info := read(t, path), stat(t, path)
	s, err := c.put(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("the file is still in its place: %v", err)
	}
	sum := sha256.Sum256(before)
	if s.Hash != hex.EncodeToString(sum[:]) || s.Size != int64(len(before)) || s.Bytes >= s.Size || s.Bytes == 0 {
		t.Errorf("the receipt says %+v", s)
	}
	list, err := c.List()
	if err != nil || len(list) != 1 || list[0].Receipt.Source != path {
		t.Fatalf("listed: %+v, %v", list, err)
	}
	if err := list[0].Verify(t.Context()); err != nil {
		t.Error(err)
	}
	named := archive.Named(list, "claude-code:0f1e2d3c")
	if len(named) != 1 {
		t.Fatalf("%d sessions are named", len(named))
	}
	if err := c.Restore(t.Context(), &named[0], run+1); err != nil {
		t.Fatal(err)
	}
	after := stat(t, path)
	if !bytes.Equal(read(t, path), before) {
		t.Error("the bytes are others")
	}
	if after.Mode() != info.Mode() || !after.ModTime().Equal(info.ModTime()) {
		t.Errorf("got %v %v, want %v %v", after.Mode(), after.ModTime(), info.Mode(), info.ModTime())
	}
	if list, _ := c.List(); len(list) != 1 || list[0].Restored != run+1 || len(archive.NewestRun(list)) > 0 {
		t.Errorf("it is not marked as restored: %+v", list)
	}
	// Archived a second time, it is one session in the archive.
	if _, err := c.put(path); err != nil {
		t.Fatal(err)
	}
	if list, _ := c.List(); len(list) != 1 || list[0].Restored != 0 {
		t.Errorf("after the second time: %+v", list)
	}
}

func stat(t *testing.T, path string) os.FileInfo {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func TestPut_leavesAFileAlone(t *testing.T) {
	for name, test := range map[string]struct {
		change func(c *computer, path string)
		code   inplace.Code
	}{
		"open": {func(c *computer, path string) {
			c.Room.Proc = proc(c.t, path)
		}, inplace.Open},
		"opened while it is renamed": {func(c *computer, path string) {
			c.Room.Renamed = func() { addOpener(c.t, c.Room.Proc, path+"/../."+filepath.Base(path)+".away") }
			c.Room.Proc = proc(c.t, "")
		}, inplace.Open},
		"written to while it is renamed": {func(c *computer, path string) {
			c.Room.Renamed = func() {
				away := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".away")
				f, err := os.OpenFile(away, os.O_WRONLY|os.O_APPEND, 0)
				if err != nil {
					c.t.Fatal(err)
				}
				f.WriteString("{}\n")
				f.Close()
				c.age(away, 91)
			}
		}, inplace.Changed},
		"written to since it was found": {func(c *computer, path string) { c.age(path, 80) }, inplace.Changed},
		"a second name": {func(c *computer, path string) {
			if err := os.Link(path, path+".link"); err != nil {
				c.t.Skip(err)
			}
		}, inplace.Foreign},
		"nobody knows whether it is open": {func(c *computer, path string) {
			c.Room.Proc, c.Unseen = filepath.Join(c.home, "no-proc"), false
		}, inplace.Unseen},
	} {
		t.Run(name, func(t *testing.T) {
			c := newComputer(t)
			path := c.session("lamp", "0f1e2d3c-1111", 90)
			f := c.one(path)
			test.change(c, path)
			before := read(t, path)
			release, _, err := c.Open()
			if err != nil {
				t.Fatal(err)
			}
			defer release()
			_, err = c.Put(t.Context(), f, run)
			var refusal *inplace.Refusal
			if !errors.As(err, &refusal) || refusal.Code != test.code {
				t.Fatalf("got %v, want the code %q", err, test.code)
			}
			if !bytes.HasPrefix(read(t, path), before) {
				t.Error("the file is not as it was")
			}
			if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".*")); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

// proc is a /proc with a process that has a file open; "" is none.
func proc(t *testing.T, path string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "self", "fd"), 0o755); err != nil {
		t.Fatal(err)
	}
	if path != "" {
		addOpener(t, dir, path)
	}
	return dir
}

func addOpener(t *testing.T, proc, path string) {
	t.Helper()
	fd := filepath.Join(proc, "4000000", "fd")
	if err := os.MkdirAll(fd, 0o755); err != nil {
		t.Fatal(err)
	}
	real, err := filepath.Abs(filepath.Join(filepath.Dir(path), filepath.Base(path)))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, filepath.Join(fd, "3")); err != nil {
		t.Skip(err)
	}
}

func TestRestore_overwritesNothing(t *testing.T) {
	c := newComputer(t)
	path := c.session("lamp", "0f1e2d3c-1111", 90)
	s, err := c.put(path)
	if err != nil {
		t.Fatal(err)
	}
	c.session("lamp", "0f1e2d3c-1111", 1, "{}")
	if err := c.Restore(t.Context(), &s, run); !errors.Is(err, archive.ErrTaken) {
		t.Errorf("got %v, want %v", err, archive.ErrTaken)
	}
}

func TestRestore_ofADamagedCopyChangesNothing(t *testing.T) {
	c := newComputer(t)
	path := c.session("lamp", "0f1e2d3c-1111", 90, strings.Repeat("{}\n", 10_000))
	s, err := c.put(path)
	if err != nil {
		t.Fatal(err)
	}
	data := read(t, s.Path)
	for _, bad := range [][]byte{data[:len(data)/2], append(bytes.Clone(data), data...), []byte("x"), nil} {
		if err := os.WriteFile(s.Path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := c.Restore(t.Context(), &s, run); err == nil {
			t.Errorf("%d bytes of %d are brought back", len(bad), len(data))
		}
		if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) > 0 {
			t.Errorf("left: %v, %v", entries, err)
		}
	}
}

// A process that dies between the rename and the removal leaves the file under another name; the
// next run puts it back.
func TestOpen_putsBackWhatAnInterruptedRunLeft(t *testing.T) {
	c := newComputer(t)
	path := c.session("lamp", "0f1e2d3c-1111", 90)
	before := read(t, path)
	c.Room.Step = func(name string, do func() error) error {
		if name == "remove" {
			return errors.Join(errors.New("killed"), os.Chmod(c.home, 0o700))
		}
		return do()
	}
	c.Room.Link = func(string, string) error { return errors.New("killed") } // so that it is not put back at once
	if _, err := c.put(path); err == nil {
		t.Fatal("nothing failed")
	}
	away := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".away")
	if _, err := os.Lstat(path); err == nil { // a rename put it back: the state of the kill is made by hand
		if err := os.Rename(path, away); err != nil {
			t.Fatal(err)
		}
	}
	c.Room.Step, c.Room.Link = nil, nil
	release, left, err := c.Open()
	if err != nil || len(left) > 0 {
		t.Fatal(err, left)
	}
	release()
	if !bytes.Equal(read(t, path), before) {
		t.Error("the bytes are others")
	}
	if _, err := os.Lstat(away); err == nil {
		t.Error("the other name is still there")
	}
}

func TestOpen_oneAtATime(t *testing.T) {
	c := newComputer(t)
	release, _, err := c.Open()
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.Open(); !errors.Is(err, archive.ErrBusy) {
		t.Errorf("got %v, want %v", err, archive.ErrBusy)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	if release, _, err = c.Open(); err != nil {
		t.Fatal(err)
	}
	release()
}

// Whichever bytes a receipt or a compressed file has, listing and bringing back end with an error or with
// the file that the receipt describes.
func FuzzRestore(f *testing.F) {
	f.Add([]byte(`{"source":"x"}`), []byte("\x28\xb5\x2f\xfd"))
	f.Add([]byte(`{"source":"x","hash":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","size":0}`),
		[]byte{0x28, 0xb5, 0x2f, 0xfd, 0x04, 0x00, 0x01, 0x00, 0x00})
	f.Fuzz(func(t *testing.T, receipt, data []byte) {
		dir := t.TempDir()
		a := archive.Archive{Room: inplace.Room{Dir: dir, Now: func() time.Time { return now },
			Step: func(_ string, do func() error) error { return do() }}}
		if err := os.MkdirAll(a.Folder(), 0o700); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(a.Folder(), "one"+archive.Ending)
		if err := errors.Join(os.WriteFile(path, data, 0o600), os.WriteFile(path+".json", receipt, 0o600)); err != nil {
			t.Fatal(err)
		}
		list, err := a.List()
		if err != nil || len(list) != 1 || list[0].Size > 1<<20 {
			return
		}
		s := list[0]
		s.Source = filepath.Join(dir, "back")
		if a.Restore(context.Background(), &s, run) != nil {
			return
		}
		got, err := os.ReadFile(s.Source)
		if err != nil {
			t.Fatal(err)
		}
		if sum := sha256.Sum256(got); hex.EncodeToString(sum[:]) != s.Hash {
			t.Error("another file was brought back")
		}
	})
}
