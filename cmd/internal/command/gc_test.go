package command

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/internal/outside"
)

// oldSessions puts two old sessions of a project on the computer of a desk, and a new one. It
// returns their files by name.
func (d *desk) oldSessions() map[string]string {
	d.t.Helper()
	sample, err := os.ReadFile(filepath.Join("testdata", "sessions", "claude.jsonl"))
	if err != nil {
		d.t.Fatal(err)
	}
	folder := filepath.Join(filepath.Dir(d.dir), "home", ".claude", "projects", "-home-keeper-lighthouse")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		d.t.Fatal(err)
	}
	files := map[string]string{}
	for name, days := range map[string]int{"aaaaaaaa": 100, "bbbbbbbb": 60, "cccccccc": 0} {
		id := name + "-0000-4000-8000-000000000000"
		path := filepath.Join(folder, id+".jsonl")
		text := bytes.ReplaceAll(sample, []byte(sampleID(d.t, sample)), []byte(id))
		if err := os.WriteFile(path, text, 0o640); err != nil {
			d.t.Fatal(err)
		}
		then := time.Now().Add(-time.Duration(days) * 24 * time.Hour)
		if err := os.Chtimes(path, then, then); err != nil {
			d.t.Fatal(err)
		}
		files[name] = path
	}
	return files
}

func sampleID(t *testing.T, sample []byte) string { return sampleMember(t, sample, "sessionId") }

// sampleMember is the last value of a member in a sample.
func sampleMember(t *testing.T, sample []byte, name string) string {
	t.Helper()
	name = `"` + name + `":"`
	id, _, ok := bytes.Cut(sample[bytes.LastIndex(sample, []byte(name))+len(name):], []byte{'"'})
	if !ok {
		t.Fatalf("the sample has no %s", name)
	}
	return string(id)
}

// gone reports whether a file is not there.
func gone(path string) bool {
	_, err := os.Lstat(path)
	return os.IsNotExist(err)
}

func TestGC_measuresAndChangesNothing(t *testing.T) {
	d := newDesk(t)
	files := d.oldSessions()
	o := d.run("gc", "--json")
	var doc collected
	if err := json.Unmarshal([]byte(o.stdout), &doc); err != nil || o.code != 0 {
		t.Fatal(o.code, err, o.stderr)
	}
	size := int64(len(outside.Read(t, files["aaaaaaaa"])))
	if doc.Total.Sessions != 3 || doc.Total.Bytes != 3*size || doc.Total.Old != 2 || doc.Total.OldBytes != 2*size {
		t.Errorf("the total is %+v", doc.Total)
	}
	if len(doc.Projects) != 1 || doc.Projects[0].Product != "claude-code" {
		t.Errorf("the projects are %+v", doc.Projects)
	}
	o = d.run("gc")
	for _, want := range []string{"claude-code", "over 30 d", "archived sessions", "winnow gc --archive 30d --dry-run"} {
		if !strings.Contains(o.stdout, want) {
			t.Errorf("%q is not printed:\n%s", want, o.stdout)
		}
	}
	if o := d.run("gc", "--archive", "30d", "--dry-run", "--force"); o.code != 0 ||
		!strings.Contains(o.stdout, "2 sessions would be archived") {
		t.Errorf("code %d: %s%s", o.code, o.stdout, o.stderr)
	}
	for name, path := range files {
		if gone(path) {
			t.Errorf("%s is gone", name)
		}
	}
}

func TestGC_archivesAndBringsBack(t *testing.T) {
	d := newDesk(t)
	files := d.oldSessions()
	before := map[string][]byte{}
	for name, path := range files {
		before[name] = outside.Read(t, path)
	}
	o := d.run("gc", "--archive", "30d", "--force")
	if o.code != 0 || !strings.Contains(o.stdout, "2 sessions archived") {
		t.Fatalf("code %d: %s%s", o.code, o.stdout, o.stderr)
	}
	if !gone(files["aaaaaaaa"]) || !gone(files["bbbbbbbb"]) || gone(files["cccccccc"]) {
		t.Error("not the old ones were archived")
	}
	if o := d.run("ls"); !strings.Contains(o.stdout, "2 more sessions are archived") {
		t.Errorf("ls does not say so:\n%s", o.stdout)
	}
	if o := d.run("gc", "--archived"); o.code != 0 || strings.Count(o.stdout, "claude-code:") != 2 {
		t.Errorf("code %d: %s", o.code, o.stdout)
	}
	if o := d.run("search", "horn", "--everywhere", "--limit", "100"); o.code != 0 ||
		!strings.Contains(o.stdout, "winnow restore claude-code:aaaaaaaa brings it back") {
		t.Errorf("code %d, it is not found in the archive:\n%s%s", o.code, o.stdout, o.stderr)
	}
	if o := d.run("gc", "--archive", "30d", "--force"); o.code != cli.ExitNothing {
		t.Errorf("a second run ends with %d: %s", o.code, o.stderr)
	}

	if o := d.run("restore", "claude-code:aaaaaaaa"); o.code != 0 {
		t.Fatalf("code %d: %s", o.code, o.stderr)
	}
	if !gone(files["bbbbbbbb"]) {
		t.Error("another session came back too")
	}
	if o := d.run("gc", "--undo"); o.code != 0 {
		t.Fatalf("code %d: %s", o.code, o.stderr)
	}
	for name, path := range files {
		if !bytes.Equal(outside.Read(t, path), before[name]) {
			t.Errorf("%s is not what it was", name)
		}
	}
	if o := d.run("gc", "--undo"); o.code != cli.ExitNothing {
		t.Errorf("a second undo ends with %d", o.code)
	}
}

// dying adds records to a session that its agent never reads again, and returns the file.
func (d *desk) dying(path string) []byte {
	d.t.Helper()
	text := outside.Read(d.t, path)
	for _, line := range []string{
		`{"parentUuid":null,"type":"progress","uuid":"p-1","data":{"type":"bash_progress","output":"` + strings.Repeat("wick ", 500) + `"}}`,
		`{"type":"file-history-snapshot","messageId":"m","snapshot":{"messageId":"m"},"isSnapshotUpdate":false}`,
		`{"type":"file-history-snapshot","messageId":"m","snapshot":{"messageId":"m"},"isSnapshotUpdate":true}`,
	} {
		text = append(append(text, line...), '\n')
	}
	old := time.Now().Add(-3 * time.Hour)
	if err := errors.Join(os.WriteFile(path, text, 0o640), os.Chtimes(path, old, old)); err != nil {
		d.t.Fatal(err)
	}
	return text
}

func TestGC_shrinksAndPutsBack(t *testing.T) {
	d := newDesk(t)
	files := d.oldSessions()
	path := files["aaaaaaaa"]
	whole, size := d.dying(path), int64(0)
	o := d.run("gc", "--shrink", "--dry-run", "--json")
	var doc shrinking
	if err := json.Unmarshal([]byte(o.stdout), &doc); err != nil || o.code != 0 {
		t.Fatal(o.code, err, o.stderr)
	}
	if len(doc.Shrunk) != 1 || doc.Before != int64(len(whole)) || doc.After > doc.Before-2500 || len(doc.Kinds) != 3 {
		t.Errorf("measured: %+v", doc)
	}
	if size = doc.After; !bytes.Equal(outside.Read(t, path), whole) {
		t.Error("--dry-run changed it")
	}
	if o := d.run("gc", "--shrink", "--force"); o.code != 0 || !strings.Contains(o.stdout, "1 session shrunk from") {
		t.Fatalf("code %d: %s%s", o.code, o.stdout, o.stderr)
	}
	if got := len(outside.Read(t, path)); int64(got) != size {
		t.Errorf("it has %d bytes, want %d", got, size)
	}
	if o := d.run("ls"); strings.Contains(o.stdout, "archived") {
		t.Errorf("it counts as archived:\n%s", o.stdout)
	}
	if o := d.run("gc", "--archived"); o.code != 0 || !strings.Contains(o.stdout, "(parts)") {
		t.Errorf("code %d: %s", o.code, o.stdout)
	}
	if o := d.run("gc", "--shrink", "--force"); o.code != cli.ExitNothing {
		t.Errorf("a second run ends with %d: %s", o.code, o.stderr)
	}
	if o := d.run("restore", "claude-code:aaaaaaaa", "--force"); o.code != 0 || !bytes.Equal(outside.Read(t, path), whole) {
		t.Errorf("code %d, it is not as it was: %s", o.code, o.stderr)
	}
}

// A file made of a session without its folded pictures has pictures of one pixel, and winnow says
// so.
func TestGC_shrunkPicturesAreTold(t *testing.T) {
	d := newDesk(t)
	path := d.oldSessions()["aaaaaaaa"]
	whole := outside.Read(t, path)
	leaf := sampleMember(t, whole, "uuid")
	for _, line := range []string{
		`{"parentUuid":"` + leaf + `","type":"user","uuid":"v-2","timestamp":"2099-01-01T00:00:01Z","message":{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` +
			strings.Repeat("QUJD", 2000) + `"}}]}}`,
		`{"parentUuid":null,"logicalParentUuid":"v-2","type":"system","subtype":"compact_boundary","uuid":"b","timestamp":"2099-01-01T00:00:02Z","content":"Conversation compacted","compactMetadata":{"trigger":"manual","preTokens":9}}`,
		`{"parentUuid":"b","type":"user","uuid":"v-3","isCompactSummary":true,"timestamp":"2099-01-01T00:00:03Z","message":{"role":"user","content":"The lamp is lit."}}`,
		`{"parentUuid":"v-3","type":"assistant","uuid":"v-4","timestamp":"2099-01-01T00:00:04Z","message":{"id":"m-4","role":"assistant","content":[{"type":"text","text":"Good."}]}}`,
	} {
		whole = append(append(whole, line...), '\n')
	}
	old := time.Now().Add(-3 * time.Hour)
	if err := errors.Join(os.WriteFile(path, whole, 0o640), os.Chtimes(path, old, old)); err != nil {
		t.Fatal(err)
	}
	if o := d.run("gc", "--shrink", "--force"); o.code != 0 || !strings.Contains(o.stdout, "pictures") {
		t.Fatalf("code %d: %s%s", o.code, o.stdout, o.stderr)
	}
	other := filepath.Join(d.dir, "other.jsonl")
	if o := d.run("undo", path, "b", "-o", other); o.code != 0 || !strings.Contains(o.stderr, "are in the archive; winnow restore") {
		t.Errorf("code %d, the pictures are not told of: %s", o.code, o.stderr)
	}
	if o := d.run("undo", path, "b", "--in-place", "--force"); o.code != 0 || !bytes.Contains(outside.Read(t, path), []byte("QUJDQUJD")) {
		t.Errorf("code %d, the picture is not back: %s", o.code, o.stderr)
	}
}

// Before a shrunk file is changed, it is made whole: an undo and the archive then agree.
func TestGC_aShrunkFileIsWholeBeforeItIsChanged(t *testing.T) {
	d := newDesk(t)
	path := d.oldSessions()["aaaaaaaa"]
	whole := d.dying(path)
	if o := d.run("gc", "--shrink", "--force"); o.code != 0 {
		t.Fatal(o.stderr)
	}
	o := d.run("compact", path, "--in-place", "--force")
	if o.code != 0 {
		t.Fatalf("code %d: %s", o.code, o.stderr)
	}
	if !bytes.Contains(outside.Read(t, path), []byte(`"p-1"`)) {
		t.Errorf("the changed file lacks what was taken out: %s%s", o.stdout, o.stderr)
	}
	if o := d.run("gc", "--undo"); o.code != cli.ExitNothing {
		t.Errorf("something is left to put back: %d %s", o.code, o.stderr)
	}
	if o := d.run("undo", path, "--in-place", "--force"); o.code != 0 || !bytes.Equal(outside.Read(t, path), whole) {
		t.Errorf("code %d, it is not as it was: %s", o.code, o.stderr)
	}
}

func TestGC_wrongUse(t *testing.T) {
	d := newDesk(t)
	for _, args := range [][]string{
		{"gc", "x"}, {"gc", "--archive", "x"}, {"gc", "--archive", "1m"}, {"gc", "--archive", "30d", "--undo"},
		{"gc", "--undo", "--archived"}, {"gc", "--shrink", "--archive", "30d"}, {"gc", "--product", "x"}, {"gc", "--undo", "--product", "pi"},
		{"restore", "nothing"},
	} {
		if o := d.run(args...); o.code != cli.ExitUsage {
			t.Errorf("%v ended with %d: %s", args, o.code, o.stderr)
		}
	}
	for _, args := range [][]string{{"gc"}, {"gc", "--archive", "30d"}, {"gc", "--shrink"}, {"gc", "--archived"}, {"gc", "--undo"}} {
		if o := d.run(args...); o.code != cli.ExitNothing {
			t.Errorf("%v without sessions ended with %d: %s", args, o.code, o.stderr)
		}
	}
}
