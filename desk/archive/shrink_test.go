package archive_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/desk/archive"
	"github.com/winnowhq/winnow/desk/inplace"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/session"
)

// Lines of a session: a progress record and what hangs on it, and three snapshots of one message.
var deadLines = []string{
	`{"parentUuid":"u-dead","type":"progress","uuid":"p-1","data":{"type":"bash_progress","output":"` + strings.Repeat("wick ", 300) + `"}}`,
	`{"parentUuid":"p-1","type":"user","uuid":"u-2","sessionId":"dead","timestamp":"2026-01-01T00:00:01Z","message":{"role":"user","content":"Trim it"}}`,
	`{"type":"file-history-snapshot","messageId":"u-2","snapshot":{"messageId":"u-2","trackedFileBackups":{}},"isSnapshotUpdate":false}`,
	`{"type":"file-history-snapshot","messageId":"u-2","snapshot":{"messageId":"u-2","trackedFileBackups":{"a":1}},"isSnapshotUpdate":true}`,
	`{"type":"file-history-snapshot","messageId":"u-2","snapshot":{"messageId":"u-2","trackedFileBackups":{"b":2}},"isSnapshotUpdate":true}`,
}

const addedLine = `{"parentUuid":"u-2","type":"user","uuid":"u-3","sessionId":"dead","timestamp":"2026-01-01T00:00:02Z","message":{"role":"user","content":"Again"}}` + "\n"

func (c *computer) shrink(path string, at session.Millis) (archive.Session, error) {
	c.t.Helper()
	f := c.one(path)
	release, left, err := c.Open()
	if err != nil || len(left) > 0 {
		c.t.Fatal(err, left)
	}
	defer release()
	return c.Shrink(c.t.Context(), f, at)
}

// everything lists the archive.
func (c *computer) everything() []archive.Session {
	c.t.Helper()
	list, err := c.Everything()
	if err != nil {
		c.t.Fatal(err)
	}
	return list
}

func (c *computer) restore(s archive.Session) {
	c.t.Helper()
	if err := c.Restore(c.t.Context(), &s, run+9); err != nil {
		c.t.Fatal(err)
	}
}

func TestShrink_restoreBringsBackBytesModeAndTime(t *testing.T) {
	c := newComputer(t)
	path := c.session("lamp", "dead", 3, deadLines...)
	before, info := read(t, path), stat(t, path)
	dead, err := c.Dead(c.one(path))
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.shrink(path, run)
	if err != nil {
		t.Fatal(err)
	}
	after := read(t, path)
	taken := s.Parts.Taken[format.Progress] + s.Parts.Taken[format.Snapshots]
	if int64(len(before)-len(after)) != taken || taken < 1500 || s.Parts.Size != int64(len(after)) || s.Bytes == 0 ||
		dead[format.Progress] != s.Parts.Taken[format.Progress] || dead[format.Snapshots] != s.Parts.Taken[format.Snapshots] {
		t.Errorf("%d bytes are now %d, the receipt says %+v; %v were dead", len(before), len(after), s.Parts, dead)
	}
	if bytes.Contains(after, []byte("p-1")) || bytes.Count(after, []byte("file-history-snapshot")) != 1 {
		t.Errorf("the file is now\n%s", after)
	}
	now := stat(t, path)
	if now.Mode() != info.Mode() || !now.ModTime().Equal(info.ModTime()) {
		t.Errorf("got %v %v, want %v %v", now.Mode(), now.ModTime(), info.Mode(), info.ModTime())
	}
	if originals, err := c.Room.Originals(); err != nil || len(originals) > 0 {
		t.Errorf("originals are left: %v, %v", originals, err)
	}
	if _, err := c.shrink(path, run+1); !errors.Is(err, archive.ErrAlive) {
		t.Errorf("a second time: got %v, want %v", err, archive.ErrAlive)
	}
	if list, err := c.List(); err != nil || len(list) > 0 {
		t.Errorf("it counts as an archived session: %v, %v", list, err)
	}
	named := archive.Named(c.everything(), "claude-code:dead")
	if len(named) != 1 || len(archive.NewestRun(c.everything())) != 1 {
		t.Fatalf("%d are named", len(named))
	}
	c.restore(named[0])
	if now := stat(t, path); !bytes.Equal(read(t, path), before) || now.Mode() != info.Mode() || !now.ModTime().Equal(info.ModTime()) {
		t.Errorf("it is not as it was: %v %v, want %v %v", now.Mode(), now.ModTime(), info.Mode(), info.ModTime())
	}
	if list := c.everything(); len(archive.NewestRun(list)) > 0 || len(archive.Named(list, path)) > 0 {
		t.Errorf("it is not marked as restored: %+v", list)
	}
}

// Lines that an agent adds stay, however often the file is shrunk, and in whichever way it is
// archived.
func TestShrink_whatIsAddedStays(t *testing.T) {
	c := newComputer(t)
	path := c.session("lamp", "dead", 3, deadLines...)
	before := read(t, path)
	add := func(text string) {
		t.Helper()
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err == nil {
			_, err = f.WriteString(text)
		}
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		c.age(path, 2)
	}
	if _, err := c.shrink(path, run); err != nil {
		t.Fatal(err)
	}
	more := addedLine + deadLines[4] + "\n" + deadLines[4] + "\n"
	add(more)
	if _, err := c.shrink(path, run+1); err != nil {
		t.Fatal(err)
	}
	add(addedLine)
	release, _, err := c.Open()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Put(t.Context(), c.one(path), run+2); err != nil {
		t.Fatal(err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	named := archive.Named(c.everything(), "dead")
	if len(named) != 3 {
		t.Fatalf("%d are named", len(named))
	}
	for _, s := range []int{0, 1, 2} { // as they are named, the newest first
		c.restore(named[s])
	}
	if want := string(before) + more + addedLine; string(read(t, path)) != want {
		t.Errorf("got\n%s\nwant\n%s", read(t, path), want)
	}
}

func TestShrink_aRewrittenFileIsRefused(t *testing.T) {
	c := newComputer(t)
	path := c.session("lamp", "dead", 3, deadLines...)
	s, err := c.shrink(path, run)
	if err != nil {
		t.Fatal(err)
	}
	other := strings.Replace(string(read(t, path)), "lamp", "horn", 1)
	if err := os.WriteFile(path, []byte(other), 0o640); err != nil {
		t.Fatal(err)
	}
	c.age(path, 1)
	if err := c.Restore(t.Context(), &s, run+1); !errors.Is(err, archive.ErrRewritten) {
		t.Errorf("got %v, want %v", err, archive.ErrRewritten)
	}
	if string(read(t, path)) != other {
		t.Error("the file was changed all the same")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := c.Restore(t.Context(), &s, run+1); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want %v", err, os.ErrNotExist)
	}
	if left := archive.NewestRun(c.everything()); len(left) > 0 {
		t.Errorf("an undo would try it again: %+v", left)
	}
}

func TestShrink_leavesAloneWhatIsOpen(t *testing.T) {
	c := newComputer(t)
	path := c.session("lamp", "dead", 3, deadLines...)
	before := read(t, path)
	c.Room.Proc = proc(t, path)
	var refusal *inplace.Refusal
	if _, err := c.shrink(path, run); !errors.As(err, &refusal) || refusal.Code != inplace.Open {
		t.Errorf("got %v, want %s", err, inplace.Open)
	}
	if _, err := c.Dead(c.one(path)); !errors.As(err, &refusal) || refusal.Code != inplace.Open {
		t.Errorf("measured: got %v, want %s", err, inplace.Open)
	}
	if !bytes.Equal(read(t, path), before) {
		t.Error("it was changed")
	}
}

// Lines that a program writes to the old file while the new one takes its place come into the new
// one.
func TestShrink_carriesOverWhatIsWrittenMeanwhile(t *testing.T) {
	c := newComputer(t)
	path := c.session("lamp", "dead", 3, deadLines...)
	before := read(t, path)
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c.Room.Renamed = func() {
		if _, err := f.WriteString(addedLine); err != nil {
			t.Error(err)
		}
	}
	s, err := c.shrink(path, run)
	if err != nil {
		t.Fatal(err)
	}
	c.Room.Renamed = nil
	if !strings.HasSuffix(string(read(t, path)), addedLine) {
		t.Errorf("it is not carried over:\n%s", read(t, path))
	}
	c.restore(s)
	if want := string(before) + addedLine; string(read(t, path)) != want {
		t.Errorf("got\n%s\nwant\n%s", read(t, path), want)
	}
}

// A picture that is folded is taken out, and put back.
func TestShrink_aFoldedPicture(t *testing.T) {
	c := newComputer(t)
	const head = `"sessionId":"dead","timestamp":"2026-01-01T00:00:01Z",`
	data := strings.Repeat("QUJD", 2000)
	path := c.session("lamp", "dead", 3,
		`{"parentUuid":"u-dead","type":"user","uuid":"u-2",`+head+`"message":{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/jpeg","data":"`+data+`"}}]}}`,
		`{"parentUuid":null,"logicalParentUuid":"u-2","type":"system","subtype":"compact_boundary","uuid":"b",`+head+`"content":"Conversation compacted","compactMetadata":{"trigger":"manual","preTokens":9}}`,
		`{"parentUuid":"b","type":"user","uuid":"u-3","isCompactSummary":true,`+head+`"message":{"role":"user","content":"The lamp is lit."}}`,
		`{"parentUuid":"u-3","type":"user","uuid":"u-4",`+head+`"message":{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"`+strings.Repeat("REVG", 2000)+`"}}]}}`)
	before := read(t, path)
	s, err := c.shrink(path, run)
	if err != nil {
		t.Fatal(err)
	}
	if after := read(t, path); bytes.Contains(after, []byte(data)) || !bytes.Contains(after, []byte("REVGREVG")) || s.Parts.Taken[format.Pictures] < 7000 {
		t.Errorf("taken: %v; the file has %d bytes, before %d", s.Parts.Taken, len(after), len(before))
	}
	c.restore(s)
	if !bytes.Equal(read(t, path), before) {
		t.Error("it is not as it was")
	}
}

// A step that fails leaves the file whole, or shrunk with its parts in the archive; the next run
// cleans up.
func TestShrink_eachStepMayFail(t *testing.T) {
	for fail := 0; ; fail++ {
		c := newComputer(t)
		path := c.session("lamp", "dead", 3, deadLines...)
		before := read(t, path)
		step, failed := 0, ""
		c.Room.Step = func(name string, do func() error) error {
			if step++; step == fail+1 {
				failed = name
				return errors.New("the disk fails")
			}
			return do()
		}
		_, err := c.shrink(path, run)
		c.Room.Step = nil
		if failed == "" {
			if err != nil || fail < 6 {
				t.Fatalf("%d steps, %v", fail, err)
			}
			return
		}
		if err != nil && !bytes.Equal(read(t, path), before) {
			t.Errorf("step %q failed: the file is another one", failed)
		}
		if err == nil && failed != "link" { // the original is then beside the file for a moment
			t.Errorf("step %q failed and nothing is said", failed)
		}
		if _, again := c.shrink(path, run+1); again != nil && err != nil {
			t.Errorf("after step %q: %v", failed, again)
		}
		for _, s := range archive.Named(c.everything(), path) {
			c.restore(s)
		}
		if !bytes.Equal(read(t, path), before) {
			t.Errorf("after step %q it is not brought back", failed)
		}
		if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".*")); len(left) > 0 {
			t.Errorf("after step %q: left %v", failed, left)
		}
	}
}
