package claudecode

import (
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestY(t *testing.T) {
	fs, _ := filepath.Glob("/work/shared/corpus/claude-code*/*.gz")
	fs = append(fs, "/work/shared/fixtures/claude-code-compacted.jsonl.gz")
	idx, _ := os.ReadFile("/work/shared/corpus/INDEX.tsv")
	for _, f := range fs {
		h, _ := os.Open(f)
		g, _ := gzip.NewReader(h)
		src, _ := io.ReadAll(g)
		doc, err := Format{}.Read(src)
		if err != nil {
			t.Fatal(err)
		}
		var want string
		for _, l := range strings.Split(string(idx), "\n") {
			if strings.HasPrefix(l, strings.TrimPrefix(f, "/work/shared/corpus/")) {
				x := strings.Split(l, "\t")
				want = x[2] + " " + x[3]
			}
		}
		fin := 0
		for _, m := range doc.Session.Messages {
			if m.Finish != "" {
				fin++
			}
		}
		fmt.Printf("%s %+v log %d dam %d want %s fin %d\n", filepath.Base(f)[:8], doc.Counts, len(doc.Session.Messages), len(doc.Damaged), want, fin)
	}
}
func BenchmarkX(b *testing.B) {
	src, _ := os.ReadFile("/work/shared/fixtures/claude-code.jsonl")
	b.SetBytes(int64(len(src)))
	for range b.N {
		if _, err := (Format{}).Read(src); err != nil {
			b.Fatal(err)
		}
	}
}
