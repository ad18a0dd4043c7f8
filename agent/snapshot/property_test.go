package snapshot

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// Whatever is written, removed, linked and made runnable between snapshots: each of them can be gone back to, from each other one.
func TestRestore_anySnapshotCanBeReachedFromAnyOther(t *testing.T) {
	if testing.Short() {
		t.Skip("it does one thing after the other: -short is for the race detector")
	}
	// Each runs git some thirty times.
	if checks := flag.Lookup("rapid.checks"); checks.Value.String() == checks.DefValue {
		if err := flag.Set("rapid.checks", "30"); err != nil {
			t.Fatal(err)
		}
		defer flag.Set("rapid.checks", checks.DefValue)
	}
	rapid.Check(t, func(rt *rapid.T) {
		f := newField(t, nil)
		names := rapid.SampledFrom([]string{"a", "b", "a/b", "a/b/c", "b/a", "-c", "d e/f", "a/.gitignore", "x.log"})
		texts := rapid.SampledFrom([]string{"", "1\n", "2\n", "#!run\n", "→a", "→..", "→x.log", "\x00\xff"})
		type state struct {
			tree  string
			files map[string]string
		}
		var states []state
		for range rapid.IntRange(2, 4).Draw(rt, "snapshots") {
			for range rapid.IntRange(0, 6).Draw(rt, "changes") {
				name := names.Draw(rt, "name")
				path := filepath.Join(f.dir, name)
				if rapid.Bool().Draw(rt, "removed") {
					if info, err := os.Lstat(filepath.Dir(path)); err == nil && info.IsDir() {
						os.RemoveAll(path)
					}
					continue
				}
				for dir := filepath.Dir(path); dir != f.dir; dir = filepath.Dir(dir) {
					if info, err := os.Lstat(dir); err == nil && !info.IsDir() {
						os.Remove(dir)
					}
				}
				os.RemoveAll(path)
				f.put(map[string]string{name: texts.Draw(rt, "text")})
			}
			states = append(states, state{f.take(), files(t, f.dir)})
		}
		for range 3 {
			to := states[rapid.IntRange(0, len(states)-1).Draw(rt, "to")]
			done, err := f.Restore(t.Context(), to.tree)
			if err != nil {
				rt.Fatal(err)
			}
			if diff := cmp.Diff(to.files, files(t, f.dir)); diff != "" {
				rt.Fatalf("after going back, which changed %q (-want +got):\n%s", done.Changed, diff)
			}
		}
	})
}
