package command

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/claudecode"
	"github.com/winnowhq/winnow/internal/workday"
)

// shelfOfDays writes made-up sessions of Claude Code into a folder.
func shelfOfDays(t testing.TB, dir string, sessions, steps int) {
	t.Helper()
	for seed := range uint64(sessions) {
		file, err := os.Create(filepath.Join(dir, fmt.Sprintf("%04d.jsonl", seed)))
		if err != nil {
			t.Fatal(err)
		}
		if err := (claudecode.Format{}).Write(file, nil, format.Change{Session: workday.Make(seed, steps)}); err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
