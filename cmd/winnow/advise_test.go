package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/recall"
)

// What the instructions of a project say is read from its folder; one that is too large, or no file,
// says nothing.
func TestAdvise_whatIsWrittenInAProject(t *testing.T) {
	folder := t.TempDir()
	if got := written(folder); recall.Key(got) != "" {
		t.Errorf("an empty folder says %q", got)
	}
	if err := os.WriteFile(filepath.Join(folder, "CLAUDE.md"), []byte("- Never commit to the main branch.\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(folder, "AGENTS.md"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got := recall.Key(written(folder)); !strings.HasSuffix(got, " never commit to the main branch") {
		t.Errorf("the folder says %q", got)
	}
	large := strings.Repeat("x", mostWritten+1)
	if err := os.WriteFile(filepath.Join(folder, "GEMINI.md"), []byte(large), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := written(folder); len(got) > 100 {
		t.Errorf("%d bytes were read", len(got))
	}
}

func TestAdvise_belowAFolder(t *testing.T) {
	for folder, want := range map[string]bool{"/work/app": true, "/work/app/sub": true, "/work/apple": false, "/work": false,
		"": false, "/work/app/..hidden": true} {
		if got := below(folder, "/work/app"); got != want {
			t.Errorf("%q below /work/app: %v, want %v", folder, got, want)
		}
	}
}
