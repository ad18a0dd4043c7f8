package snapshot

import (
	"bytes"
	"strings"
	"testing"
)

// What git prints, or another program of its name, is files as it says they are or an error, and no more than it printed.
func FuzzGit_whateverItPrints(f *testing.F) {
	const id = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
	raw := ":100644 100644 " + id + " " + id + " M\x00a b\x00:000000 120000 " + id + " " + id + " A\x00:c\nd\x001\t2\ta b\x00-\t-\t:c\nd\x00"
	f.Add([]byte(raw), []byte("diff --git a/a b/a\n@@ -1 +1 @@\n-x\n+diff --git\n"), []byte(id+" blob 3\nabc\n"))
	f.Add([]byte(": : : : :\x00x\x00"), []byte("diff --git \ndiff --git \n"), []byte("x blob 99999999999999999999\n"))
	f.Add([]byte(":\x00\x00"), []byte(""), []byte("missing\n\n"))
	f.Fuzz(func(t *testing.T, listed, patch, files []byte) {
		changes, err := changesOf(listed)
		if err == nil {
			for _, c := range changes {
				if c.status == 0 || !bytes.Contains(listed, []byte(c.name)) {
					t.Errorf("%q says %+v", listed, c)
				}
			}
			sections := sectionsOf(patch, changes)
			if len(sections) != len(changes) {
				t.Errorf("%d patches of %d changes", len(sections), len(changes))
			}
			if all := strings.Join(sections, ""); len(all) > len(patch) {
				t.Errorf("%d bytes of a patch of %d", len(all), len(patch))
			}
		}
		size, taken := 0, 0
		err = blobsOf(files, []string{"one", "two"}, func(_ string, data []byte) error {
			size, taken = size+len(data), taken+1
			return nil
		})
		if size > len(files) || err == nil && taken != 2 {
			t.Errorf("%d files of %d bytes were taken of %q, error %v", taken, size, files, err)
		}
	})
}
