package inplace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// desk is a folder with a file, and a room beside it.
type desk struct {
	t    *testing.T
	path string
	room Room
}

func newDesk(t *testing.T, name, content string) *desk {
	t.Helper()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{t: t, path: filepath.Join(folder, "product", name), room: Room{Dir: filepath.Join(folder, "data"), Now: time.Now, Sleep: func(time.Duration) {}}}
	if err := os.Mkdir(filepath.Dir(d.path), 0o700); err != nil {
		t.Fatal(err)
	}
	d.write(content)
	then := time.Now().Add(-time.Minute)
	if err := os.Chtimes(d.path, then, then); err != nil {
		t.Fatal(err)
	}
	return d
}

func (d *desk) write(content string) {
	d.t.Helper()
	if err := os.WriteFile(d.path, []byte(content), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) read(path string) string {
	d.t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		d.t.Fatal(err)
	}
	return string(text)
}

// add appends to the file whatever it is named by now, as a writer does that opens it for each line.
func (d *desk) add(text string) {
	d.t.Helper()
	f, err := os.OpenFile(d.path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		d.t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		d.t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		d.t.Fatal(err)
	}
}

// replace reads the file and puts the content in its place.
func (d *desk) replace(force bool, content string) (Replaced, error) {
	d.t.Helper()
	c, err := d.room.Take(d.t.Context(), d.path, Taking{Command: "test", Force: force})
	if err != nil {
		return Replaced{}, err
	}
	defer c.Close()
	if _, err := c.Read([]byte(d.read(d.path))); err != nil {
		d.t.Fatal(err)
	}
	return c.Replace(d.t.Context(), d.draft(content))
}

func (d *desk) draft(content string) Draft {
	d.t.Helper()
	name := filepath.Join(filepath.Dir(d.path), ".draft")
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		d.t.Fatal(err)
	}
	return Draft{Name: name, Rename: os.Rename}
}

func (d *desk) refused(err error, code Code) {
	d.t.Helper()
	var refusal *Refusal
	if !errors.As(err, &refusal) || refusal.Code != code || refusal.Reason == "" || refusal.Hint == "" {
		d.t.Fatalf("the error is %v, want a refusal with the code %s", err, code)
	}
}

const before = `{"n":1}` + "\n" + `{"n":2}` + "\n"

// What comes between the last look and the rename is in the file that is renamed away.
func TestReplace_carriesOverWhatComesAfterTheLastLook(t *testing.T) {
	d := newDesk(t, "s.jsonl", before)
	d.room.Looked = func() { d.add(`{"n":3}` + "\n" + `{"n":4}` + "\n") }
	done, err := d.replace(false, `{"sum":2}`+"\n")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := d.read(d.path), `{"sum":2}`+"\n"+`{"n":3}`+"\n"+`{"n":4}`+"\n"; got != want || done.CarriedLines != 2 {
		t.Errorf("the file is %q, want %q; %d lines were carried over", got, want, done.CarriedLines)
	}
	if got := d.read(done.Original); got != before+`{"n":3}`+"\n"+`{"n":4}`+"\n" {
		t.Errorf("the original is %q", got)
	}
	list, err := d.room.Originals()
	if err != nil || len(list) != 1 || list[0].Grown != 0 || list[0].Carried != 16 || list[0].Source != d.path || list[0].Command != "test" {
		t.Errorf("originals: %+v, %v", list, err)
	}
}

// A process that comes between the rename and the carrying over writes behind what is not there yet: the lines are put in order.
func TestReplace_putsLinesInTheirOrder(t *testing.T) {
	d := newDesk(t, "s.jsonl", before)
	c, err := d.room.Take(t.Context(), d.path, Taking{Command: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Read([]byte(before)); err != nil {
		t.Fatal(err)
	}
	once := false
	c.room.Looked = func() {
		if !once {
			d.add(`{"n":3}` + "\n")
		}
	}
	c.room.Renamed = func() {
		if !once {
			d.add(`{"n":4}` + "\n" + `{"n":5}` + "\n")
		}
		once = true
	}
	draft := d.draft(`{"sum":2}` + "\n")
	done, err := c.Replace(t.Context(), draft)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"sum":2}` + "\n" + `{"n":3}` + "\n" + `{"n":4}` + "\n" + `{"n":5}` + "\n"
	if got := d.read(d.path); got != want || done.Disordered || done.CarriedLines != 1 {
		t.Errorf("the file is %q, want %q; %+v", got, want, done)
	}
	if list, err := d.room.Originals(); len(list) != 1 || list[0].Path != done.Original || d.read(done.Original) != before+`{"n":3}`+"\n" || err != nil {
		t.Errorf("originals: %+v, %v", list, err)
	}
	if files, err := os.ReadDir(filepath.Dir(d.path)); len(files) != 1 || err != nil {
		t.Errorf("the folder has %v, %v", files, err)
	}

	// One that comes between each time: nothing is lost, and it is said.
	d = newDesk(t, "s.jsonl", before)
	n := 2
	add := func() { n++; d.add(fmt.Sprintf("{\"n\":%d}\n", n)) }
	d.room.Looked = add
	draft = d.draft(`{"sum":2}` + "\n")
	if c, err = d.room.Take(t.Context(), d.path, Taking{Command: "test"}); err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Read([]byte(before)); err != nil {
		t.Fatal(err)
	}
	c.room.Renamed = add
	if done, err = c.Replace(t.Context(), draft); err != nil || !done.Disordered || len(done.Notes) != 1 {
		t.Errorf("%+v, %v", done, err)
	}
	for i := 3; i <= n; i++ {
		if strings.Count(d.read(d.path), fmt.Sprintf("{\"n\":%d}\n", i)) != 1 {
			t.Errorf("line %d is not there once: %q", i, d.read(d.path))
		}
	}
}

// A writer that holds the file open goes on writing to the original: nothing of it is lost, and doctor can say what it is.
func TestReplace_whatIsWrittenToTheOriginalLaterIsThere(t *testing.T) {
	d := newDesk(t, "s.jsonl", before)
	held, err := os.OpenFile(d.path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	done, err := d.replace(false, `{"sum":2}`+"\n")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := held.WriteString(`{"n":3}` + "\n" + `{"n":`); err != nil {
		t.Fatal(err)
	}
	if got := d.read(done.Original); !strings.HasPrefix(got, before+`{"n":3}`) {
		t.Errorf("the original is %q", got)
	}
	list, err := d.room.Originals()
	if err != nil || len(list) != 1 {
		t.Fatalf("%d originals, %v", len(list), err)
	}
	if lines, torn, err := list[0].Missed([]byte(d.read(d.path))); lines != 1 || torn != 5 || err != nil {
		t.Errorf("%d lines and %d bytes are missing, %v", lines, torn, err)
	}
	if lines, _, err := list[0].Missed([]byte(`{"n":3}` + "\n")); lines != 0 || err != nil {
		t.Errorf("%d lines are missing that are there, %v", lines, err)
	}
}

func TestReplace_refusesAFileThatWasChangedSinceItWasRead(t *testing.T) {
	for name, c := range map[string]struct {
		force  bool
		change func(d *desk)
	}{
		"lines were added": {false, func(d *desk) { d.add(`{"n":3}` + "\n") }},
		"it was rewritten": {true, func(d *desk) { d.write(`{"n":9}` + "\n" + `{"n":2}` + "\n") }},
		"it was cut":       {true, func(d *desk) { d.write(`{"n":1}` + "\n") }},
		"it was removed":   {true, func(d *desk) { os.Remove(d.path) }},
		"another took its place": {true, func(d *desk) {
			if err := errors.Join(os.WriteFile(d.path+".new", []byte(before), 0o600), os.Rename(d.path+".new", d.path)); err != nil {
				d.t.Fatal(err)
			}
		}},
	} {
		for _, moment := range []string{"read", "link", "sync"} {
			t.Run(name+", "+moment, func(t *testing.T) {
				d := newDesk(t, "s.jsonl", before)
				claim, err := d.room.Take(t.Context(), d.path, Taking{Force: c.force})
				if err != nil {
					t.Fatal(err)
				}
				defer claim.Close()
				if _, err := claim.Read([]byte(before)); err != nil {
					t.Fatal(err)
				}
				changed := false
				change := func() {
					if !changed {
						changed = true
						c.change(d)
					}
				}
				if moment == "read" {
					change()
				}
				claim.room.Step = func(step string, do func() error) error {
					if step == moment {
						change()
					}
					return do()
				}
				draft := d.draft("new\n")
				_, err = claim.Replace(t.Context(), draft)
				if name == "it was removed" && moment == "link" {
					if err == nil {
						t.Error("it was replaced")
					}
				} else {
					d.refused(err, Changed)
				}
				if text, err := os.ReadFile(d.path); err == nil && bytes.Contains(text, []byte("new")) {
					t.Error("it was replaced")
				}
				if list, err := d.room.Originals(); len(list) > 0 || err != nil {
					t.Errorf("originals stay: %+v, %v", list, err)
				}
			})
		}
	}
}

func TestReplace_withForceLinesThatWereAddedKeepTheirOrder(t *testing.T) {
	d := newDesk(t, "s.jsonl", before+`{"n":`)
	n := 3
	add := func() { // completes a line, and begins another
		d.add(fmt.Sprintf("%d}\n", n) + `{"n":`)
		n++
	}
	d.room.Step = func(_ string, do func() error) error { add(); return do() }
	d.room.Looked = add
	done, err := d.replace(true, `{"sum":2}`+"\n")
	if err != nil {
		t.Fatal(err)
	}
	want := `{"sum":2}` + "\n"
	for i := 3; i < n; i++ {
		want += fmt.Sprintf(`{"n":%d}`, i) + "\n"
	}
	if got := d.read(d.path); got != want || done.CarriedLines != n-3 || done.Left != 5 || n < 6 {
		t.Errorf("the file is %q, want %q; %+v", got, want, done)
	}
}

// One document, such as a request body, has no lines that could be carried over.
func TestReplace_aDocumentThatGrowsIsRefused(t *testing.T) {
	for _, name := range []string{"s.json", "s.jsonl.gz"} {
		content := "{\n}"
		if strings.HasSuffix(name, ".gz") {
			content = "\x1f\x8b\x08\x00 and more"
		}
		d := newDesk(t, name, content)
		d.room.Step = func(step string, do func() error) error {
			if step == "link" {
				d.add("more\n")
			}
			return do()
		}
		_, err := d.replace(true, "new")
		d.refused(err, Changed)
	}
}

func TestReplace_whereNoLinkCanBeMadeInTheFolderOfOriginals(t *testing.T) {
	d := newDesk(t, "s.jsonl", before)
	d.room.Link = func(from, to string) error {
		if strings.HasPrefix(to, d.room.Dir) {
			return &os.LinkError{Op: "link", Old: from, New: to, Err: syscall.EXDEV}
		}
		return os.Link(from, to)
	}
	d.room.Looked = func() { d.add(`{"n":3}` + "\n") }
	done, err := d.replace(false, `{"sum":2}`+"\n")
	if err != nil {
		t.Fatal(err)
	}
	if done.Beside || d.read(done.Original) != before+`{"n":3}`+"\n" || !strings.HasPrefix(done.Original, d.room.Folder()) {
		t.Errorf("the original is %+v", done)
	}
	if list, err := os.ReadDir(filepath.Dir(d.path)); len(list) != 1 || err != nil {
		t.Errorf("the folder has %v, %v", list, err)
	}

	// No links at all: a copy, and only where it is known that nobody writes.
	d.room.Link = func(from, to string) error { return syscall.EPERM }
	d.room.Looked = func() { d.add(`{"n":4}` + "\n") }
	now := d.read(d.path)
	if done, err = d.replace(false, `{"sum":3}`+"\n"); err != nil {
		t.Fatal(err)
	}
	if got := d.read(done.Original); got != now+`{"n":4}`+"\n" {
		t.Errorf("the original is %q, want %q", got, now)
	}
	if got := d.read(d.path); got != `{"sum":3}`+"\n"+`{"n":4}`+"\n" {
		t.Errorf("the file is %q", got)
	}
	d.room.Proc = t.TempDir()
	d.room.Looked = nil
	_, err = d.replace(false, "new\n")
	d.refused(err, Unlinkable)
	if list, err := d.room.Originals(); len(list) != 2 || err != nil {
		t.Errorf("originals: %+v, %v", list, err)
	}
}

// Killed between the link and the rename: the original is the file itself, and the next replacement tidies up.
func TestReplace_afterOneThatWasBrokenOff(t *testing.T) {
	d := newDesk(t, "s.jsonl", before)
	c, err := d.room.Take(t.Context(), d.path, Taking{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read([]byte(before)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.keep(); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil { // as the system does it for one that was killed
		t.Fatal(err)
	}
	if list, err := d.room.Originals(); len(list) != 1 || !list[0].Linked || list[0].Grown != 0 || err != nil {
		t.Fatalf("originals: %+v, %v", list, err)
	}
	d.add(`{"n":3}` + "\n")
	done, err := d.replace(true, "new\n")
	if err != nil {
		t.Fatal(err)
	}
	list, err := d.room.Originals()
	if err != nil || len(list) != 1 || list[0].Linked || list[0].Path != done.Original || d.read(done.Original) != before+`{"n":3}`+"\n" {
		t.Errorf("originals: %+v, %v", list, err)
	}
}

func TestReplace_keepsEachOriginalOnce(t *testing.T) {
	d := newDesk(t, "s.jsonl", before)
	for range 3 {
		for _, content := range []string{"new\n", before} {
			if _, err := d.replace(true, content); err != nil {
				t.Fatal(err)
			}
		}
	}
	list, err := d.room.Originals()
	if err != nil || len(list) != 2 {
		t.Errorf("originals: %+v, %v", list, err)
	}
	for _, o := range list {
		if same, err := o.Verify(); !same || err != nil {
			t.Errorf("%s is not what was kept, %v", o.Path, err)
		}
	}
}

func TestTake_waitsForWhoeverHasTheFile(t *testing.T) {
	d := newDesk(t, "s.jsonl", before)
	c, err := d.room.Take(t.Context(), d.path, Taking{Command: "compact"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read([]byte(before)); err != nil {
		t.Fatal(err)
	}
	waiting, taken := make(chan string), make(chan error)
	go func() {
		second, err := d.room.Take(t.Context(), d.path, Taking{Waiting: func(holder string) { waiting <- holder }})
		if err == nil {
			err = second.Close()
		}
		taken <- err
	}()
	if holder := <-waiting; holder != fmt.Sprintf("winnow compact (process %d)", os.Getpid()) {
		t.Errorf("it waits for %q", holder)
	}
	if _, err := c.Replace(t.Context(), d.draft("new\n")); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-taken; err != nil { // what was replaced just now is not refused
		t.Error(err)
	}

	c, err = d.room.Take(t.Context(), d.path, Taking{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := d.room.Take(ctx, d.path, Taking{Waiting: func(string) { cancel() }}); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}

func TestTake_refusesWhatWasWrittenJustNow(t *testing.T) {
	d := newDesk(t, "s.jsonl", before)
	info, err := os.Stat(d.path)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		since   time.Duration
		refused bool
	}{{0, true}, {Recent - 1, true}, {Recent, false}, {-time.Second, true}, {-time.Hour, false}} { // a file of the future is one of another clock
		d.room.Now = func() time.Time { return info.ModTime().Add(c.since) }
		claim, err := d.room.Take(t.Context(), d.path, Taking{})
		if c.refused {
			d.refused(err, Fresh)
		} else if err != nil {
			t.Errorf("%v after it was written: %v", c.since, err)
		} else if err := claim.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestPrune_byAgeAndNumber(t *testing.T) {
	d := newDesk(t, "s.jsonl", before)
	now := time.Now()
	for n := range 4 {
		d.room.Now = func() time.Time { return now.Add(time.Duration(n) * time.Hour) }
		if _, err := d.replace(true, fmt.Sprintf("{\"v\":%d}\n", n)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		p    Pruning
		want int
	}{{Pruning{Keep: 4}, 0}, {Pruning{Keep: 3}, 1}, {Pruning{OlderThan: 2 * time.Hour}, 2}, {Pruning{OlderThan: time.Hour, Keep: 2}, 2}, {Pruning{All: true}, 4}} {
		c.p.Dry = true
		if removed, kept, err := d.room.Prune(c.p); len(removed) != c.want || len(kept) > 0 || err != nil {
			t.Errorf("%+v removes %d, want %d; %v", c.p, len(removed), c.want, err)
		}
	}
	if removed, _, err := d.room.Prune(Pruning{Keep: 1}); len(removed) != 3 || err != nil {
		t.Errorf("%d removed, %v", len(removed), err)
	}
	list, err := d.room.Originals()
	if err != nil || len(list) != 1 {
		t.Fatalf("originals: %+v, %v", list, err)
	}
	files, err := os.ReadDir(d.room.Folder())
	if err != nil || len(files) != 2 {
		t.Errorf("the folder has %v, %v", files, err)
	}
	// One with lines that are nowhere else stays.
	f, err := os.OpenFile(list[0].Path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("{}\n"); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if removed, kept, err := d.room.Prune(Pruning{All: true}); len(removed) != 0 || len(kept) != 1 || !strings.Contains(kept[0].Reason, "nowhere else") || err != nil {
		t.Errorf("%d removed, kept %+v, %v", len(removed), kept, err)
	}
	if removed, _, err := d.room.Prune(Pruning{All: true, Force: true}); len(removed) != 1 || err != nil {
		t.Errorf("%d removed, %v", len(removed), err)
	}
}

// Whatever stands in a file and comes to it: nothing is in neither of the two files, and the new one has whole lines alone of what came.
func FuzzReplace(f *testing.F) {
	for _, seed := range [][2]string{{before, `{"n":3}` + "\n"}, {before + `{"n`, `":3}` + "\n" + `{"n":4`}, {`{}`, "\n{}\n"}, {"", "\n\n"}, {"\xef\xbb\xbf{}\n\x00", "x\r\ny"}} {
		f.Add([]byte(seed[0]), []byte(seed[1]))
	}
	f.Fuzz(func(t *testing.T, old, more []byte) {
		d := newDesk(t, "s.jsonl", string(old))
		d.room.Proc = t.TempDir() // nobody else has it
		c, err := d.room.Take(t.Context(), d.path, Taking{Force: true})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		read, err := c.Read(old)
		if err != nil {
			t.Fatal(err)
		}
		c.room.Looked = func() { d.add(string(more)) }
		c.room.Now = time.Now
		done, err := c.Replace(t.Context(), d.draft(string(read)))
		if err != nil {
			t.Fatal(err)
		}
		all := append(bytes.Clone(old), more...)
		if got := d.read(done.Original); got != string(all) {
			t.Fatalf("the original is %q, want %q", got, all)
		}
		got, left := d.read(d.path), all[len(all)-int(done.Left):]
		if plain(got)+plain(string(left)) != plain(string(all)) {
			t.Fatalf("the file is %q and %q is left, of %q", got, left, all)
		}
		if len(got) > len(read) && !strings.HasSuffix(got, "\n") || bytes.Contains(left, []byte("\n")) && len(left) < len(old) {
			t.Fatalf("the file is %q, and %q is left", got, left)
		}
	})
}

// plain is a text without its line breaks.
func plain(text string) string { return strings.ReplaceAll(text, "\n", "") }
