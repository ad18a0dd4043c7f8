package command

import (
	"os"
	"path/filepath"
	"testing"
)

// A boundary is seen once its whole line is there, and only behind what the file had at first.
func TestBoundaryWatch_readsWholeLinesThatAreNew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.jsonl")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	old := `{"type":"system","subtype":"compact_boundary","uuid":"old"}` + "\n"
	if _, err := f.WriteString(old); err != nil {
		t.Fatal(err)
	}
	w := boundaryWatch{path: path, at: int64(len(old))}
	for i, step := range []struct {
		added       string
		grown, seen bool
	}{
		{"", false, false},
		{`{"type":"user"}` + "\n", true, false},
		{`{"type":"system","subtype":"compact_bou`, false, false},
		{`ndary"}`, false, false},
		{"\n" + `{"type":"us`, true, true},
		{`er"}` + "\n", true, true},
		{"", false, true},
	} {
		if _, err := f.WriteString(step.added); err != nil {
			t.Fatal(err)
		}
		grown, err := w.grown()
		if err != nil || grown != step.grown || w.seen != step.seen {
			t.Errorf("step %d: grown %v, seen %v, %v; want %v, %v", i, grown, w.seen, err, step.grown, step.seen)
		}
	}
	if err := f.Truncate(3); err != nil {
		t.Fatal(err)
	}
	if _, err := w.grown(); err != nil {
		t.Errorf("of a file that somebody made shorter: %v", err)
	}
}
