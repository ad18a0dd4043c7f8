package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/winnowhq/winnow/session"
)

// field is a working folder with its snapshots.
type field struct {
	*Repository
	t   *testing.T
	dir string
}

func newField(t *testing.T, files map[string]string) *field {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git here; snapshots need it")
	}
	f := &field{t: t, dir: filepath.Join(t.TempDir(), "work")}
	if err := os.MkdirAll(f.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	f.put(files)
	f.open(Config{})
	return f
}

func (f *field) open(c Config) {
	f.t.Helper()
	if c.Dir == "" {
		c.Dir = filepath.Join(filepath.Dir(f.dir), "snapshots", "work")
	}
	if c.WorkTree == "" {
		c.WorkTree = f.dir
	}
	r, err := Open(f.t.Context(), c)
	if err != nil {
		f.t.Fatal(err)
	}
	f.Repository = r
}

// put writes files; a text "→x" is a symbolic link to x, and one that begins with "#!" can be run.
func (f *field) put(files map[string]string) {
	f.t.Helper()
	for name, text := range files {
		path := filepath.Join(f.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			f.t.Fatal(err)
		}
		os.Remove(path)
		var err error
		if target, ok := strings.CutPrefix(text, "→"); ok {
			err = os.Symlink(target, path)
		} else if mode := fs.FileMode(0o644); strings.HasPrefix(text, "#!") {
			err = os.WriteFile(path, []byte(text), mode|0o111)
		} else {
			err = os.WriteFile(path, []byte(text), mode)
		}
		if err != nil {
			f.t.Fatal(err)
		}
	}
}

func (f *field) remove(names ...string) {
	f.t.Helper()
	for _, name := range names {
		if err := os.RemoveAll(filepath.Join(f.dir, name)); err != nil {
			f.t.Fatal(err)
		}
	}
}

// files are what is in the folder, in the form of put; .git is left out.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if err == nil && d.Name() == ".git" {
				return fs.SkipDir
			}
			return err
		}
		name, _ := filepath.Rel(dir, path)
		if d.Type()&fs.ModeSymlink != 0 {
			target, err := os.Readlink(path)
			all[name] = "→" + target
			return err
		}
		data, err := os.ReadFile(path)
		all[name] = string(data)
		if info, _ := d.Info(); err == nil && (info.Mode()&0o100 != 0) != strings.HasPrefix(string(data), "#!") {
			all[name] += fmt.Sprintf(" (mode %v)", info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func (f *field) take() string {
	f.t.Helper()
	tree, err := f.Take(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	return tree
}

func (f *field) restore(tree string) Restored {
	f.t.Helper()
	done, err := f.Restore(f.t.Context(), tree)
	if err != nil {
		f.t.Fatal(err)
	}
	return done
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(outer(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// What a folder can go through between two snapshots.
var changes = map[string]struct {
	before, then map[string]string
	gone         []string
}{
	"nothing":                   {map[string]string{"a": "1\n"}, nil, nil},
	"an empty folder filled":    {nil, map[string]string{"a": "1\n", "b/c": "2\n"}, nil},
	"a folder emptied":          {map[string]string{"a": "1\n", "b/c": "2\n"}, nil, []string{"a", "b"}},
	"edited, added, removed":    {map[string]string{"a": "1\n", "b": "2\n", "c/d": "3\n"}, map[string]string{"a": "one\n", "e/f": "4\n"}, []string{"b"}},
	"the same size":             {map[string]string{"a": "1\n"}, map[string]string{"a": "2\n"}, nil},
	"odd names":                 {map[string]string{"a b": "1", "-rf": "2", "line\nend": "3", "ü漢🎈": "4", "tab\t\"q\"": "5", "back\\slash": "6", "*": "7", ":(top)x": "8", "git~1": "9", "a?[b]": "10"}, map[string]string{"-rf": "new", "line\nend": "new", "back\\slash": "new", "*": "new"}, []string{"ü漢🎈", "a b", ":(top)x"}},
	"a name that is no UTF-8":   {map[string]string{"caf\xe9": "1"}, map[string]string{"caf\xe9": "2"}, nil},
	"bytes as they are":         {map[string]string{".gitattributes": "* text=auto eol=crlf ident\n*.x filter=none\n", "a": "1\r\n2\n", "b": "$Id$\n", "c.x": "\x00\x01"}, map[string]string{"a": "1\n2\r\n", "c.x": "\x00\x02"}, []string{".gitattributes"}},
	"links and programs":        {map[string]string{"run": "#!/bin/sh\n", "to": "→run", "into": "→dir", "dir/x": "1"}, map[string]string{"run": "no more\n", "to": "→elsewhere", "dir/x": "#!now\n"}, []string{"into"}},
	"a folder where a file was": {map[string]string{"a": "1", "b/c": "2"}, map[string]string{"a/x/y": "3", "a/z": "4"}, []string{"a", "b"}},
	"a file where a folder was": {map[string]string{"a/x/y": "3", "a/z": "4"}, map[string]string{"a": "1"}, []string{"a"}},
	"a link where a folder was": {map[string]string{"a/x": "3", "b/x": "5"}, map[string]string{"a": "→b"}, []string{"a"}},
	"a folder where a link was": {map[string]string{"a": "→b", "b/x": "5"}, map[string]string{"a/x": "3"}, []string{"a"}},
	"rules come":                {map[string]string{"a.log": "1", "b": "2"}, map[string]string{".gitignore": "*.log\n", "b": "3"}, nil},
	"a large file that grew":    {map[string]string{"a": "1"}, map[string]string{"a": strings.Repeat("x", 5<<20)}, nil},
}

func TestRestore_bringsBackWhatWasAndThereAndBackAgain(t *testing.T) {
	for name, c := range changes {
		for _, kind := range []string{"plain", "repository", "subfolder"} {
			t.Run(name+", "+kind, func(t *testing.T) {
				t.Parallel()
				f := newField(t, c.before)
				if kind != "plain" {
					git(t, filepath.Dir(f.dir), "init", "-q")
				}
				if kind == "repository" {
					f.remove("../.git")
					git(t, f.dir, "init", "-q")
				}
				f.open(Config{})
				was := files(t, f.dir)
				first := f.take()
				if name == "a folder where a file was" || name == "a file where a folder was" || name == "a link where a folder was" || name == "a folder where a link was" {
					f.remove(c.gone...)
					f.put(c.then)
				} else {
					f.put(c.then)
					f.remove(c.gone...)
				}
				is := files(t, f.dir)
				second := f.take()
				if (first == second) != cmp.Equal(was, is) {
					t.Errorf("snapshots %s and %s of folders of which %v is true that they are equal", first, second, cmp.Equal(was, is))
				}
				done := f.restore(first)
				if diff := cmp.Diff(was, files(t, f.dir)); diff != "" {
					t.Errorf("after going back (-was +is):\n%s", diff)
				}
				if done.Before != second {
					t.Errorf("before is %s, want the snapshot that was taken last, %s", done.Before, second)
				}
				if again := f.take(); again != first {
					t.Errorf("a snapshot after going back is %s, want %s", again, first)
				}
				f.restore(done.Before)
				if diff := cmp.Diff(is, files(t, f.dir)); diff != "" {
					t.Errorf("there and back again (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func TestDiff_saysWhatBecameOfEachFile(t *testing.T) {
	f := newField(t, map[string]string{"changed": "1\n2\n3\n", "gone": "x\n", "same": "s", "data": "\x00a", "run": "echo\n", "to": "→a"})
	first := f.take()
	f.put(map[string]string{"changed": "1\ntwo\n3\n4\n", "new": "n\n", "data": "\x00b", "to": "now a file\n", "long": strings.Repeat("a line\n", 20_000)})
	f.remove("gone")
	if err := os.Chmod(filepath.Join(f.dir, "run"), 0o755); err != nil {
		t.Fatal(err)
	}
	got, err := f.Diff(t.Context(), first, f.take())
	if err != nil {
		t.Fatal(err)
	}
	want := []session.FileDiff{
		{File: "changed", Before: "1\n2\n3\n", After: "1\ntwo\n3\n4\n", Additions: 2, Deletions: 1, Status: "modified"},
		{File: "data", Status: "modified"},
		{File: "gone", Before: "x\n", Deletions: 1, Status: "deleted"},
		{File: "long", Additions: 20_000, Status: "added"},
		{File: "new", After: "n\n", Additions: 1, Status: "added"},
		{File: "run", Before: "echo\n", After: "echo\n", Status: "modified"},
		{File: "to", Before: "a", After: "now a file\n", Additions: 1, Deletions: 1, Status: "modified"},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(session.FileDiff{}, "Patch")); diff != "" {
		t.Errorf("diff (-want +got):\n%s", diff)
	}
	for name, line := range map[string]string{"changed": "\n-2\n+two\n", "gone": "\n-x\n", "new": "\n+n\n", "run": "\nnew mode 100755\n", "to": "\n+now a file\n"} {
		at := slices.IndexFunc(got, func(d session.FileDiff) bool { return d.File == name })
		if !strings.Contains(got[at].Patch, line) || !strings.HasPrefix(got[at].Patch, "diff --git a/"+name+" ") {
			t.Errorf("the patch of %s is %q, want it to have %q", name, got[at].Patch, line)
		}
	}
	whole, err := f.Patch(t.Context(), first, f.take())
	if err != nil || strings.Count(whole, "\n+a line") != 20_000 {
		t.Errorf("the whole patch has %d lines of the long file, error %v", strings.Count(whole, "\n+a line"), err)
	}
}

func TestDiff_ofManyLargeFilesIsBounded(t *testing.T) {
	many := map[string]string{}
	for i := range 30 {
		many[fmt.Sprintf("%03d", i)] = strings.Repeat("sixteen bytes ..\n", 3000)
	}
	f := newField(t, nil)
	first := f.take()
	f.put(many)
	got, err := f.Diff(t.Context(), first, f.take())
	if err != nil {
		t.Fatal(err)
	}
	size, lines := 0, 0
	for _, d := range got {
		size += len(d.Before) + len(d.After) + len(d.Patch)
		lines += d.Additions
	}
	if len(got) != 30 || lines != 90_000 || size > allTexts || size < allTexts/2 {
		t.Errorf("%d files, %d lines, %d bytes: want 30, 90,000, and nearly %d", len(got), lines, size, allTexts)
	}
}

func TestTake_leavesOutWhatIsIgnoredAndWhatIsLarge(t *testing.T) {
	f := newField(t, map[string]string{".gitignore": "*.log\n/out/\n", "a.go": "1", "x.log": "2", "out/y": "3", "sub/.gitignore": "!keep.log\n", "sub/keep.log": "4", "big": strings.Repeat("b", 3000), "mine.db": "5", "mine.db-wal": "6"})
	f.open(Config{Largest: 2000, Leave: []string{filepath.Join(f.dir, "mine.db*")}})
	names, err := f.run(t.Context(), nil, "ls-tree", "-r", "--name-only", f.take())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{".gitignore", "a.go", "sub/.gitignore", "sub/keep.log"}, strings.Fields(string(names))); diff != "" {
		t.Errorf("what is kept (-want +got):\n%s", diff)
	}
}

func TestTake_heedsTheRulesAboveTheFolder(t *testing.T) {
	f := newField(t, map[string]string{"a.go": "1", "node_modules/x": "2", "secret": "3"})
	up := filepath.Dir(f.dir)
	git(t, up, "init", "-q")
	for name, text := range map[string]string{".gitignore": "node_modules/\n", ".git/info/exclude": "secret\n"} {
		if err := os.WriteFile(filepath.Join(up, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f.open(Config{})
	names, err := f.run(t.Context(), nil, "ls-tree", "-r", "--name-only", "--full-tree", f.take())
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(string(names)); got != "a.go" {
		t.Errorf("%q is kept, want a.go", got)
	}
}

func TestRestore_nothingThatIsNotKeptIsLost(t *testing.T) {
	f := newField(t, map[string]string{".gitignore": "*.env\n", "a": "1", "key.env": "secret", "big": strings.Repeat("b", 3000)})
	f.open(Config{Largest: 2000})
	first := f.take()
	f.put(map[string]string{".gitignore": "", "a": "2", "big": "small now", "more": "m"}) // the key is no longer ignored
	second := f.take()
	done := f.restore(first)
	want := map[string]string{".gitignore": "*.env\n", "a": "1", "key.env": "secret", "big": "small now"}
	if diff := cmp.Diff(want, files(t, f.dir)); diff != "" {
		t.Errorf("after going back (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(Restored{Before: second, Changed: []string{".gitignore", "a", "more"}, Kept: []string{"big", "key.env"}}, done); diff != "" {
		t.Errorf("what was done (-want +got):\n%s", diff)
	}
}

func TestRestore_whatIsInTheWayIsKeptFirst(t *testing.T) {
	f := newField(t, map[string]string{"notes.txt": "old", "data": "small"})
	first := f.take()
	if err := os.Remove(filepath.Join(f.Repository.dir, "index")); err != nil { // what is tracked is forgotten
		t.Fatal(err)
	}
	f.open(Config{Largest: 2000})
	f.put(map[string]string{".gitignore": "*.txt\n", "notes.txt": "new and ignored", "data": strings.Repeat("d", 3000)})
	now := files(t, f.dir)
	done := f.restore(first)
	if diff := cmp.Diff(map[string]string{"notes.txt": "old", "data": "small"}, files(t, f.dir)); diff != "" {
		t.Errorf("after going back (-want +got):\n%s", diff)
	}
	f.restore(done.Before)
	if diff := cmp.Diff(now, files(t, f.dir)); diff != "" {
		t.Errorf("there and back again (-want +got):\n%s", diff)
	}
}

func TestRestore_writesNothingOutside(t *testing.T) {
	f := newField(t, map[string]string{"a/x": "1"})
	outside := t.TempDir()
	first := f.take()
	f.remove("a")
	f.put(map[string]string{"a": "→" + outside, ".gitignore": "a\n"}) // a link that snapshots do not see
	done, err := f.Restore(t.Context(), first)
	if got := files(t, outside); len(got) > 0 {
		t.Errorf("it wrote %v through a link", got)
	}
	if err == nil || done.Before == "" {
		t.Errorf("the link is in the way, and the error is %v, before %q", err, done.Before)
	}
}

func TestTake_repositoriesInsideAreLeftAlone(t *testing.T) {
	f := newField(t, map[string]string{"a": "1", "unborn/x": "2", "born/y": "3", "born/z/w": "4"})
	for _, name := range []string{"unborn", "born"} {
		git(t, filepath.Join(f.dir, name), "init", "-q")
	}
	git(t, filepath.Join(f.dir, "born"), "add", ".")
	git(t, filepath.Join(f.dir, "born"), "commit", "-qm", "b")
	first := f.take()
	f.put(map[string]string{"a": "2", "unborn/x": "changed", "born/y": "changed", "new": "n"})
	done := f.restore(first)
	if diff := cmp.Diff([]string{"a", "new"}, done.Changed); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
	if got := files(t, f.dir)["born/y"]; got != "changed" {
		t.Errorf("a file of a repository inside is %q", got)
	}
}

func TestSnapshots_theUsersRepositoryIsNotWritten(t *testing.T) {
	f := newField(t, map[string]string{"a": "1\n", "b": "2\n", ".gitattributes": "* filter=bad\n"})
	git(t, f.dir, "init", "-q")
	git(t, f.dir, "add", ".")
	git(t, f.dir, "commit", "-qm", "one")
	trap := filepath.Join(t.TempDir(), "trap")
	for _, key := range []string{"core.fsmonitor", "filter.bad.clean", "filter.bad.smudge", "diff.external"} {
		git(t, f.dir, "config", key, "touch "+trap)
	}
	git(t, f.dir, "config", "core.hooksPath", filepath.Join(f.dir, ".git", "hooks"))
	for _, hook := range []string{"post-index-change", "post-checkout", "pre-commit", "reference-transaction"} {
		if err := os.WriteFile(filepath.Join(f.dir, ".git", "hooks", hook), []byte("#!/bin/sh\ntouch "+trap+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	f.put(map[string]string{"b": "staged\n", "c": "3\n"})
	was := repositoryOf(t, f.dir)
	f.open(Config{})
	first := f.take()
	f.put(map[string]string{"a": "one\n", "d": "4\n"})
	if _, err := f.Diff(t.Context(), first, f.take()); err != nil {
		t.Fatal(err)
	}
	f.restore(first)
	if diff := cmp.Diff(was, repositoryOf(t, f.dir)); diff != "" {
		t.Errorf("the user's repository (-before +after):\n%s", diff)
	}
	if _, err := os.Stat(trap); err == nil {
		t.Error("a hook or a program of the user's repository was run")
	}
}

// repositoryOf is a .git folder: every file with its bytes, its mode and the time when it was changed.
func repositoryOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(filepath.Join(dir, ".git"), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		all[path] = fmt.Sprint(info.Mode(), info.ModTime())
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			all[path] += string(data)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestTake_theEnvironmentOfAnotherGitIsNotHeeded(t *testing.T) {
	elsewhere := t.TempDir()
	for _, name := range []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"} {
		t.Setenv(name, elsewhere)
	}
	f := newField(t, map[string]string{"a": "1"})
	if f.take() == empty {
		t.Error("nothing was kept")
	}
	if got := files(t, elsewhere); len(got) > 0 {
		t.Errorf("it wrote %v", got)
	}
}

func TestTake_worksAfterACrash(t *testing.T) {
	for name, damage := range map[string]func(f *field) error{
		"a lock was left": func(f *field) error {
			return os.WriteFile(filepath.Join(f.Repository.dir, "index.lock"), []byte("x"), 0o600)
		},
		"the index is cut off": func(f *field) error { return os.Truncate(filepath.Join(f.Repository.dir, "index"), 20) },
		"the index is garbage": func(f *field) error {
			return os.WriteFile(filepath.Join(f.Repository.dir, "index"), []byte("no"), 0o600)
		},
		"the index is missing":  func(f *field) error { return os.Remove(filepath.Join(f.Repository.dir, "index")) },
		"the repository is new": func(f *field) error { return os.RemoveAll(f.Repository.dir) },
	} {
		t.Run(name, func(t *testing.T) {
			f := newField(t, map[string]string{"a": "1", "b/c": "2"})
			first := f.take()
			if err := damage(f); err != nil {
				t.Fatal(err)
			}
			f.open(Config{})
			if got := f.take(); got != first {
				t.Errorf("a snapshot of the same files is %s, want %s", got, first)
			}
		})
	}
}

func TestTake_severalAtOnceAgree(t *testing.T) {
	f := newField(t, map[string]string{"a": "1"})
	for i := range 50 {
		f.put(map[string]string{fmt.Sprintf("d%d/f", i): fmt.Sprint(i)})
	}
	want := f.take()
	f.put(map[string]string{"b": "2"})
	f.remove("b")
	var wait sync.WaitGroup
	for i := range 8 {
		r := f.Repository
		if i%2 == 0 { // as another process has it
			f.open(Config{})
			r = f.Repository
		}
		wait.Go(func() {
			for range 3 {
				if got, err := r.Take(t.Context()); err != nil || got != want {
					t.Errorf("a snapshot beside others is %s, error %v, want %s", got, err, want)
				}
			}
		})
	}
	wait.Wait()
}

func TestTake_endsWithItsContext(t *testing.T) {
	f := newField(t, map[string]string{"a": "1"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Take(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	f.take()
}

func TestPack_keepsEverySnapshot(t *testing.T) {
	f := newField(t, nil)
	first := f.take()
	for i := range 600 {
		f.put(map[string]string{fmt.Sprintf("d%d/%d", i%20, i): fmt.Sprint(i)})
	}
	second := f.take()
	f.many = 500
	if err := f.Pack(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(filepath.Join(f.Repository.dir, "objects", "17")); err == nil && len(left) > 0 {
		t.Errorf("%d files are still loose in one folder", len(left))
	}
	got, err := f.Diff(t.Context(), first, second)
	if err != nil || len(got) != 600 {
		t.Errorf("%d files differ, error %v, want 600", len(got), err)
	}
}

func TestPack_thatIsStoppedLeavesNothingLyingAbout(t *testing.T) {
	f := newField(t, map[string]string{"a": "1"})
	f.take()
	f.many = 0
	pack := filepath.Join(f.Repository.dir, "objects", "pack")
	if err := os.MkdirAll(pack, 0o755); err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(pack, "tmp_pack_killed")
	if err := os.WriteFile(left, []byte("half a pack"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	f.git = "/bin/false" // it fails, as one that is stopped does
	defer cancel(nil)
	if err := f.Pack(ctx); err != nil {
		if _, err := os.Stat(left); err == nil {
			t.Error("what the stopped one had begun is still there")
		}
		return
	}
	t.Skip("nothing was packed")
}

func TestRestore_ofWhatIsNoSnapshotChangesNothing(t *testing.T) {
	f := newField(t, map[string]string{"a": "1"})
	for _, tree := range []string{"", "HEAD", "--help", strings.Repeat("0", 40), strings.Repeat("a", 40)} {
		if _, err := f.Restore(t.Context(), tree); err == nil {
			t.Errorf("%q was restored", tree)
		}
	}
	if diff := cmp.Diff(map[string]string{"a": "1"}, files(t, f.dir)); diff != "" {
		t.Error(diff)
	}
}

func TestOpen_withoutGitSaysSo(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := Open(t.Context(), Config{Dir: t.TempDir(), WorkTree: t.TempDir()}); !errors.Is(err, ErrNoGit) {
		t.Errorf("the error is %v, want ErrNoGit", err)
	}
}

func TestTake_theRepositoryInsideTheFolderIsNotKept(t *testing.T) {
	f := newField(t, map[string]string{"a": "1"})
	f.open(Config{Dir: filepath.Join(f.dir, ".data", "snapshots", "x")})
	first := f.take()
	if second := f.take(); second != first {
		t.Error("a snapshot holds what snapshots are made of")
	}
}
