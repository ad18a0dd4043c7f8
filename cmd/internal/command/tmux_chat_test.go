package command

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// raw sends bytes as a terminal would.
func (x *terminal) raw(text string) {
	x.t.Helper()
	args := []string{"send-keys", "-H"}
	for _, b := range []byte(text) {
		args = append(args, fmt.Sprintf("%02x", b))
	}
	x.must(args...)
}

// typed types without pressing enter.
func (x *terminal) typed(text string) {
	x.t.Helper()
	x.must("send-keys", "-l", text)
	x.shows(text)
}

// What somebody does around a conversation: name files, look at what changed, copy, find what they
// said, write in an editor, scroll with the wheel, begin anew, and find the transcript in the
// terminal at the end.
func TestTerminal_aroundAConversation(t *testing.T) {
	t.Parallel()
	editor := filepath.Join(t.TempDir(), "editor")
	if err := os.WriteFile(editor, []byte("#!/bin/sh\nprintf 'written elsewhere' > \"$1\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, s := range []struct{ wide, high int }{{120, 40}, {80, 24}, {40, 20}} {
		t.Run(fmt.Sprintf("%dx%d", s.wide, s.high), func(t *testing.T) {
			t.Parallel()
			x := openTerminal(t, s.wide, s.high, []string{"EDITOR=" + editor}, "chat", "--demo")
			x.must("set-option", "-g", "set-clipboard", "on")
			x.shows("This is a demo", "script-16k")
			x.typed("look at @2025-11")
			x.shows("  @logs/2025-11.csv")
			x.press("Tab")
			x.shows("look at @logs/2025-11.csv")
			x.press("C-c")
			x.gone("look at")
			x.say("fix the test")
			x.answers("y", "lamp.sh is repaired")
			x.gone("esc stops")

			x.panel("/diff", "What changed in files", "lamp.sh", "+1 −0", "24 * 60")
			x.say("/copy")
			x.shows("copied: answer, 1 line")
			x.sees("the answer on the clipboard", func(string) bool {
				buffer, err := x.tmux("show-buffer")
				return err == nil && strings.HasPrefix(buffer, "lamp.sh is repaired: when")
			})
			x.press("C-r")
			x.shows("── Said before", "› fix the test")
			x.press("Enter")
			x.gone("Said before")
			x.shows("› fix the test")
			x.press("C-g")
			x.shows("› written elsewhere")
			x.press("C-c")
			x.gone("written elsewhere")

			if s.high < 40 { // there it fits the screen
				x.raw("\x1b[<64;5;5M")
				x.shows("↓ more · end")
				x.raw("\x1b[<65;5;5M")
				x.gone("↓ more · end")
			}

			x.say("/quit")
			x.ends("0")
			left, err := x.tmux("capture-pane", "-p", "-J", "-S", "-")
			if err != nil || !strings.Contains(left, "▌ fix the test") || !strings.Contains(left, "✓ edit lamp.sh") ||
				strings.Contains(left, "esc stops") {
				t.Errorf("%v: in the terminal is left\n%s", err, left)
			}
		})
	}
}

// Colours follow the terminal's background.
func TestTerminal_aLightBackgroundHasDarkColours(t *testing.T) {
	t.Parallel()
	for background, want := range map[string]string{"bg=#ffffff,fg=#000000": "\x1b[38;5;22m", "bg=#202020,fg=#ffffff": "\x1b[32m"} {
		x := openShell(t, 80, 24)
		x.must("set-option", "-g", "window-style", background)
		x.must("send-keys", "-l", "winnow chat --demo")
		x.press("Enter")
		x.shows("This is a demo")
		x.say("fix the test")
		x.answers("n", "lamp.sh is repaired")
		screen := x.must("capture-pane", "-p", "-e")
		if !strings.Contains(screen, want+"✓") {
			t.Errorf("%s: there is no %q in\n%q", background, want, screen)
		}
	}
}
