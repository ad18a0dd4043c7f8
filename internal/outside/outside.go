// Package outside answers: where do tests find material that is not part of the project? A clone alone passes its tests;
// with a folder of vectors, recorded sessions and corpora beside it, they check more.
package outside

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// Path returns a path below ../shared, seen from the root of the module, and skips the test when it is not there.
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
