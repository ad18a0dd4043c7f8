package archive_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/winnowhq/winnow/desk/archive"
)

func TestChoose_oldSessionsExceptTheNewestOfAProject(t *testing.T) {
	c := newComputer(t)
	c.session("lamp", "old-1111", 90)
	c.session("lamp", "older-2222", 100)
	c.session("lamp", "new-3333", 1)
	c.session("horn", "newest-4444", 200)
	c.session("lamp", "busy-5555", 60)
	c.session("lamp", "busy-5555/subagents/agent-1", 2) // of busy-5555
	c.session("lamp", "idle-6666", 60)
	c.session("lamp", "idle-6666/subagents/agent-2", 60)
	linked := c.path("lamp", "linked-7777")
	if err := os.Symlink(c.session("../../../elsewhere/lamp", "linked-7777", 90), linked); err != nil {
		t.Skip(err)
	}
	got := map[string]bool{}
	for _, f := range archive.Choose(c.find(), now, 30*24*time.Hour) {
		got[strings.TrimSuffix(filepath.Base(f.Source), ".jsonl")] = true
	}
	want := []string{"old-1111", "older-2222", "idle-6666", "agent-2"}
	for _, name := range want {
		if !got[name] {
			t.Errorf("%s is not chosen", name)
		}
	}
	if len(got) != len(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestNamed_comesWithItsSubAgents(t *testing.T) {
	list := []archive.Session{
		{Receipt: archive.Receipt{Source: "/a", Product: "codex", ID: "0f1e2d"}},
		{Receipt: archive.Receipt{Source: "/a", Product: "codex", ID: "0f1e2d", Time: 1}}, // an older version
		{Receipt: archive.Receipt{Source: "/b", Product: "codex", ID: "sub", Parent: "0f1e2d"}},
		{Receipt: archive.Receipt{Source: "/c", Product: "pi", ID: "0f1e99"}},
	}
	for word, want := range map[string]int{"0f1e2d": 2, "codex:0f1e": 2, "0f1e": 3, "/c": 1, "0f1": 0, "": 0, "pi:0f1e2": 0} {
		if got := archive.Named(list, word); len(got) != want {
			t.Errorf("%q names %d sessions, want %d", word, len(got), want)
		}
	}
}
