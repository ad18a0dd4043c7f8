//go:build unix

package tools

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// What waits for ever when it is opened is not opened, wherever a tool comes across it.
func TestTools_openNoPipe(t *testing.T) {
	b := newBench(t, ".claude/skills/sail/SKILL.md", sailing, "a.txt", "needle\n")
	for _, name := range []string{"pipe", ".gitignore", ".claude/skills/pipe/SKILL.md"} {
		if err := os.MkdirAll(filepath.Dir(b.at(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(b.at(name), 0o600); err != nil {
			t.Skip(err)
		}
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		b.fails(Read{}, args{"filePath": "pipe"}, "a named pipe")
		b.fails(Write{}, args{"filePath": "pipe", "content": "x"}, "a named pipe")
		b.fails(Edit{}, args{"filePath": "pipe", "oldString": "x", "newString": "y"}, "a named pipe")
		b.run(Grep{}, args{"pattern": "needle"})
		if found := FindSkills(b.folder); len(found.found) != 1 {
			t.Errorf("found %d skills, want the one that is a file", len(found.found))
		}
	}()
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Fatal("a tool waits for a pipe")
	}
}
