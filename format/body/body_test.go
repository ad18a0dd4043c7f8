package body

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/internal/outside"
	"github.com/winnowhq/winnow/wire"
)

// Files of other products that are JSON as well: none of them is a request body.
func TestSniff_leavesOtherProductsFilesAlone(t *testing.T) {
	root := outside.Path(t)
	want := map[string]wire.Protocol{"claude-code.jsonl.gz": wire.Anthropic, "opencode.jsonl.gz": wire.Chat, "codex.jsonl.gz": wire.Responses}
	seen := 0
	for _, pattern := range []string{"fixtures/*.json*", "fixtures/http/*", "corpus/*/*.gz", "vectors/prune/*.gz"} {
		paths, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			seen++
			expect := wire.Unknown
			if strings.Contains(pattern, "http") {
				expect = want[filepath.Base(path)]
			}
			if got := Sniff(head(t, path)); got != expect {
				t.Errorf("%s: got %q, want %q", path, got, expect)
			}
		}
	}
	if seen == 0 {
		t.Skip("no files")
	}
}

func head(t *testing.T, path string) []byte {
	t.Helper()
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var r io.Reader = bytes.NewReader(file)
	if strings.HasSuffix(path, ".gz") {
		if r, err = gzip.NewReader(r); err != nil {
			t.Fatal(err)
		}
	}
	text, err := io.ReadAll(io.LimitReader(r, 64<<10))
	if err != nil {
		t.Fatal(err)
	}
	return text
}
