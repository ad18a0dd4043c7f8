package discover

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// link makes a link, or skips the test where links cannot be made.
func (h home) link(target, name string) {
	h.t.Helper()
	path := filepath.Join(h.path, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := os.Symlink(target, path); err != nil {
		h.t.Skip(err)
	}
}

// walked are the files that a walk visits, from root on.
func walked(t *testing.T, root string) (files, problems []string) {
	t.Helper()
	err := Walk(root, func(path string, d fs.DirEntry) error {
		if rel, err := filepath.Rel(root, path); err != nil {
			t.Error(err)
		} else if d.Name() != filepath.Base(path) {
			t.Errorf("%s is visited under the name %s", path, d.Name())
		} else if !d.IsDir() {
			files = append(files, filepath.ToSlash(rel))
		}
		return nil
	}, func(path string, err error) { problems = append(problems, path+": "+err.Error()) })
	if err != nil {
		t.Fatal(err)
	}
	return files, problems
}

func TestWalk_eachFileIsVisitedOnceWhateverLinksLeadToIt(t *testing.T) {
	h, elsewhere := newHome(t), newHome(t)
	h.put("p/a", nil, 1)
	h.put("q/b", nil, 1)
	elsewhere.put("far/inner/c", nil, 1)
	elsewhere.put("far/d", nil, 1)
	h.link("..", "p/up")
	h.link("self", "p/self")
	h.link("nowhere", "p/nothing")
	h.link(filepath.Join(h.path, "q"), "p/sideways")
	h.link(filepath.Join(elsewhere.path, "far", "inner"), "m/inner")
	h.link(filepath.Join(elsewhere.path, "far"), "n/far")
	h.link(filepath.Join(elsewhere.path, "far", "d"), "o/file")
	elsewhere.link(h.path, "far/back")
	files, problems := walked(t, h.path)
	if diff := cmp.Diff([]string{"m/inner/c", "n/far/d", "p/a", "q/b"}, files); diff != "" || len(problems) > 0 {
		t.Errorf("(-want +got):\n%s%v", diff, problems)
	}
}

func TestWalk_everyFolderThatCannotBeListedIsTold(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may list every folder")
	}
	h := newHome(t)
	for _, name := range []string{"a", "b", "c"} {
		folder := filepath.Dir(h.put(name+"/1", nil, 1))
		if name != "b" {
			if err := os.Chmod(folder, 0); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.Chmod(folder, 0o755) }) // so that the test's folder can be removed
		}
	}
	files, problems := walked(t, h.path)
	if diff := cmp.Diff([]string{"b/1"}, files); diff != "" || len(problems) != 2 {
		t.Errorf("(-want +got):\n%stold: %v", diff, problems)
	}
}

func TestFind_whatCannotBeListedIsTold(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may list every folder")
	}
	h := everything(t)
	var closed []string
	for _, name := range []string{".claude/projects/-coast", ".codex/sessions/2026", ".local/share/opencode"} {
		folder := filepath.Join(h.path, filepath.FromSlash(name))
		if err := os.Chmod(folder, 0); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(folder, 0o755) })
		closed = append(closed, folder)
	}
	found, problems, err := h.search().Find(t.Context())
	if err != nil || len(found) != 1 {
		t.Errorf("%d sessions, want that of pi alone; %v", len(found), err)
	}
	told := ""
	for _, p := range problems {
		told += p.Error() + "\n"
	}
	for _, folder := range closed {
		if !strings.Contains(told, folder+": permission denied") {
			t.Errorf("%s is not told:\n%s", folder, told)
		}
	}
}

func TestFind_aFolderThatIsLinkedInIsLookedInto(t *testing.T) {
	h, elsewhere := newHome(t), newHome(t)
	elsewhere.put("kept/1.jsonl", sample(t, "claude.jsonl"), 1)
	h.put(".claude/projects/p/2.jsonl", sample(t, "claude.jsonl"), 2)
	h.link(filepath.Join(elsewhere.path, "kept"), ".claude/projects/linked")
	found, problems, err := h.search().Find(t.Context())
	if err != nil || len(problems) > 0 || len(found) != 2 || found[0].Source != filepath.Join(h.path, ".claude", "projects", "linked", "1.jsonl") {
		t.Errorf("%+v %v %v", found, problems, err)
	}
}

func TestFind_inOpenCodesOlderFoldersOneThatCannotBeReadHidesNoOther(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may list every folder")
	}
	h := newHome(t)
	const storage = ".local/share/opencode/storage/"
	for _, id := range []string{"ses_a", "ses_b", "ses_c", "ses_d"} {
		h.put(storage+"session/p"+id+"/"+id+".json", []byte(`{"id":"`+id+`","title":"Nets","time":{"created":1,"updated":1}}`), 1)
		h.put(storage+"message/"+id+"/msg_"+id+".json", []byte(`{"id":"msg_`+id+`","role":"user","time":{"created":1}}`), 1)
		h.put(storage+"part/msg_"+id+"/prt_1.json", []byte(`{"id":"prt_1","type":"text","text":"Which net is the longest?"}`), 1)
	}
	closed := []string{"session/pses_a", "message/ses_b", "part/msg_ses_c"}
	for _, name := range closed {
		folder := filepath.Join(h.path, filepath.FromSlash(storage+name))
		if err := os.Chmod(folder, 0); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(folder, 0o755) })
	}
	s := h.search()
	found, problems, err := s.Find(t.Context())
	if err != nil || len(found) != 3 {
		t.Fatalf("%d sessions, want 3; %v %v", len(found), problems, err)
	}
	more, err := s.Measure(t.Context(), found)
	if err != nil {
		t.Fatal(err)
	}
	told := ""
	for _, p := range append(problems, more...) {
		told += p.Error() + "\n"
	}
	for _, name := range closed {
		if strings.Count(told, filepath.FromSlash(name)+": permission denied") != 1 {
			t.Errorf("%s is not told once:\n%s", name, told)
		}
	}
}
