// Package outside finds test material that is not part of the project, and builds its programs. A
// clone alone passes its tests; with a folder of vectors, recorded sessions and corpora beside it,
// they check more.
package outside

import (
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Path returns a path below ../shared, seen from the root of the module, and skips the test when it
// is not there.
func Path(t testing.TB, name ...string) string {
	t.Helper()
	root := Root(t)
	path := filepath.Join(append([]string{root, "..", "shared"}, name...)...)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("%s is not here; this check needs it", path)
	}
	return path
}

// Root is the folder that holds go.mod.
func Root(t testing.TB) string {
	t.Helper()
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			return folder
		}
		up := filepath.Dir(folder)
		if up == folder {
			t.Fatal("no go.mod above the test")
		}
		folder = up
	}
}

// Build builds a program of this module, winnow or winnowd, at a path.
func Build(t testing.TB, program, path string) {
	t.Helper()
	build := exec.Command("go", "build", "-o", path, "./cmd/"+program)
	build.Dir = Root(t)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// Read returns the content of a file, without its gzip compression.
func Read(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		return data
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return plain
}

// Sessions are all recorded sessions that are at hand, sorted within each folder; it skips the test
// when there are none.
//
// Folders of recorded HTTP traffic are left out: a request repeats the conversation so far in the
// words of a protocol, and a stream is a piece of an answer. Neither is a file that a product goes
// on with, and most are in no format that is read.
func Sessions(t testing.TB) []string {
	t.Helper()
	var found []string
	for _, folder := range []string{"corpus", "fixtures"} {
		root := Path(t, folder)
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && (d.Name() == "traffic" || d.Name() == "http"):
				return filepath.SkipDir
			case d.Type().IsRegular() && filepath.Ext(path) != ".md" && filepath.Ext(path) != ".tsv":
				found = append(found, path)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}

// Spoken are those of Sessions in which people and models speak. In the others, of corpus/dev,
// every word was replaced by one that means nothing, those of the products too: what calls did and
// printed can be checked there, and no prose.
func Spoken(t testing.TB) []string {
	t.Helper()
	return slices.DeleteFunc(Sessions(t),
		func(path string) bool { return strings.Contains(filepath.ToSlash(path), "/corpus/dev/") })
}
