package workbench

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A repository may be anybody's: what a link in it leads to is not sent without a question.
func TestInstructions_aLinkOutOfTheRepositoryIsPassedOver(t *testing.T) {
	away, repo := t.TempDir(), t.TempDir()
	folder := filepath.Join(repo, "sub")
	for _, err := range []error{
		os.Mkdir(filepath.Join(repo, ".git"), 0o755), os.Mkdir(folder, 0o755), os.WriteFile(filepath.Join(away, "key"), []byte("secret"), 0o600),
		os.WriteFile(filepath.Join(repo, "house.md"), []byte("In verse."), 0o644), os.Symlink("house.md", filepath.Join(repo, "AGENTS.md")),
		os.Symlink(filepath.Join(away, "key"), filepath.Join(folder, "AGENTS.md")), os.WriteFile(filepath.Join(folder, "CLAUDE.md"), []byte("Briefly."), 0o644),
	} {
		if err != nil {
			t.Skip(err)
		}
	}
	want := []instruction{{filepath.Join(repo, "AGENTS.md"), "In verse."}, {filepath.Join(folder, "CLAUDE.md"), "Briefly."}}
	if got := instructions(folder, ""); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestInstructions_areCutBetweenTwoCharacters(t *testing.T) {
	folder := t.TempDir()
	for n := range 4 {
		text := strings.Repeat("x", n) + strings.Repeat("日", mostInstructions/3+10)
		if err := os.WriteFile(filepath.Join(folder, "AGENTS.md"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		got := instructions(folder, "")
		if len(got) != 1 {
			t.Fatalf("%d instructions with %d bytes before them", len(got), n)
		}
		kept, note, ok := strings.Cut(got[0].text, "\n[")
		if !ok || !strings.HasPrefix(text, kept) || len(kept) < mostInstructions-3 || !strings.Contains(note, "; the rest is in the file]") {
			t.Errorf("with %d bytes before them: %d bytes are kept, and the note is %q", n, len(kept), note)
		}
	}
}

// The model is told that results may be left out and the past folded (S002, the system prompt).
func TestSystemPrompt_tellsAboutPruning(t *testing.T) {
	text := systemPrompt("/home/dev/larder", "linux", time.Unix(0, 0), nil)
	for _, want := range []string{"Results that are no longer needed may be replaced by a line", "the past by a summary",
		"can be read again"} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q", want)
		}
	}
}
