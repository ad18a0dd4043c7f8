package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// atFront is a terminal in a folder of which Claude Code has kept a session, with a program of its
// name that says how it was called.
func atFront(t *testing.T, wide, high int, environ []string, args ...string) *terminal {
	t.Helper()
	return openWith(t, wide, high, environ, func(program string) []string {
		dir := filepath.Dir(program)
		folder := filepath.Join(dir, "folder")
		text, err := os.ReadFile(filepath.Join("testdata", "sessions", "claude.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		text = []byte(strings.ReplaceAll(string(text), "/coast", folder))
		kept := filepath.Join(dir, "home", ".claude", "projects", "-coast", "0f1e2d3c-4b5a-4678-9abc-def012345678.jsonl")
		other := strings.ReplaceAll(string(text), "0f1e2d3c-4b5a", "0f1e2d3c-ffff")
		for path, text := range map[string]string{kept: string(text),
			filepath.Join(dir, "home", ".claude", "projects", "-coast", "0f1e2d3c-ffff-4678-9abc-def012345678.jsonl"): other,
			filepath.Join(dir, "bin", "claude"): "#!/bin/sh\necho \"claude was told: $*, in $(basename \"$PWD\")\"\n"} {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := lieIdle(path); err != nil {
				t.Fatal(err)
			}
		}
		then := time.Now().Add(-time.Hour)
		if err := os.Chtimes(strings.ReplaceAll(kept, "4b5a", "ffff"), then, then); err != nil {
			t.Fatal(err)
		}
		return []string{"sh", "-c", `PATH="$1/bin:$PATH" exec "$1/winnow" $2`, "sh", dir, strings.Join(args, " ")}
	})
}

var small = []string{"WINNOW_COMPACTION_PROTECT=200", "WINNOW_COMPACTION_MINIMUM=100"}

func TestFront_aKeyCompactsAndResumes(t *testing.T) {
	for _, size := range append(sizes, struct{ wide, high int }{40, 20}) {
		x := atFront(t, size.wide, size.high, small)
		x.shows("claude-code · ", "window ", "c  compact, and resume", "w  resume, pruned on the way", "o  open its page", "q  leave")
		for line := range strings.Lines(x.screen()) {
			if n := len([]rune(strings.TrimRight(line, "\n"))); n > size.wide {
				t.Errorf("%d columns of %d: %q", n, size.wide, line)
			}
		}
		x.press("x") // which is no key
		x.press("c")
		x.sees("claude to be told", func(screen string) bool {
			one := strings.ReplaceAll(screen, "\n", "") // the terminal breaks long lines
			return strings.Contains(one, "claude was told: --resume 0f1e2d3c-4b5a-4678-9abc-def012345678, in folder")
		})
		x.ends("0")
		written, err := os.ReadFile(filepath.Join(x.dir, "home", ".claude", "projects", "-coast", "0f1e2d3c-4b5a-4678-9abc-def012345678.jsonl"))
		if err != nil || !strings.Contains(string(written), "compact_boundary") {
			t.Errorf("the session was not compacted where it is: %v", err)
		}
	}
}

func TestFront_keysInspectAndOpenThePage(t *testing.T) {
	x := atFront(t, 120, 40, append(small, "NO_COLOR=1"))
	x.shows("q  leave")
	x.press("o")
	x.shows("The page is ", ".html")
	x.press("i")
	x.shows("Could go, by rule")
	x.press("C-c")
	x.ends("130")
}

func TestFront_wrapsTheResumedAgent(t *testing.T) {
	x := atFront(t, 80, 24, append(small, "TERM=dumb"))
	x.shows("q  leave")
	x.press("w")
	x.shows("claude was told: --resume 0f1e2d3c-4b5a")
	x.ends("0")
}

func TestFront_aSessionThatIsAmbiguousIsChosen(t *testing.T) {
	x := atFront(t, 80, 24, small, "show", "claude-code:0f1e", "-q")
	x.shows("begins the ids or titles of 2 sessions", "1  claude-code:0f1e2d3c-4", "2  claude-code:0f1e2d3c-f")
	x.press("3", "2")
	x.ends("0")
	y := atFront(t, 80, 24, small, "show", "claude-code:0f1e")
	y.shows("2  claude-code:0f1e2d3c-f")
	y.press("Escape")
	y.shows("no session was chosen")
	y.ends("5")
}
