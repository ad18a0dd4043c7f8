// Package drawtest checks what is drawn for a terminal.
package drawtest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/look/tui"
	"github.com/winnowhq/winnow/text/visible"
)

var update = flag.Bool("update", false, "write the golden files anew")

// Updates reports whether golden files are to be written anew.
func Updates() bool { return *update }

// colour is what the screen itself writes into a line: colours and weights, and nothing else.
var colour = regexp.MustCompile("\x1b\\[[0-9;]*m")

// Line checks a line of the screen: as wide as it is said to be, and nothing in it that a terminal
// obeys.
func Line(t *testing.T, line string, width int, of string) {
	t.Helper()
	plain := colour.ReplaceAllString(line, "")
	if bad := Obeyed(line); bad != "" {
		t.Fatalf("a line has %s: %q of %q", bad, line, of)
	}
	if n := tui.Columns(plain); n > width {
		t.Fatalf("a line has %d columns of %d: %q of %q", n, width, plain, of)
	}
}

// Obeyed is what in a line of the screen a terminal would obey beside our colours, "" for nothing.
func Obeyed(line string) string {
	line = colour.ReplaceAllString(line, "")
	if !utf8.ValidString(line) {
		return "bytes that are no UTF-8"
	}
	for _, r := range line {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || visible.Unseen(r) {
			return fmt.Sprintf("%U", r)
		}
	}
	return ""
}

// Fits fails where lines are not as many, or wider than they may be, or hold what a terminal would
// act on.
func Fits(t testing.TB, lines []string, width, height int) []string {
	t.Helper()
	if len(lines) != height {
		t.Errorf("%d lines at %d×%d, want %d", len(lines), width, height, height)
	}
	out := make([]string, len(lines))
	for i, l := range lines {
		bare := ansi.Strip(l)
		if n := tui.Columns(bare); n > width || ansi.StringWidth(l) > width {
			t.Errorf("line %d has %d columns at %d×%d: %q", i, n, width, height, bare)
		}
		if bad := Obeyed(l); bad != "" {
			t.Errorf("line %d holds %s: %q", i, bad, l)
		}
		out[i] = strings.TrimRight(bare, " ")
	}
	return out
}

// Golden compares a text with a golden file of the package.
func Golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; -update writes it anew):\n%s", file, diff)
	}
}

// Keys are key presses by name.
var Keys = map[string]tea.KeyPressMsg{
	"enter": {Code: tea.KeyEnter}, "esc": {Code: tea.KeyEscape}, "tab": {Code: tea.KeyTab}, "up": {Code: tea.KeyUp},
	"down": {Code: tea.KeyDown},
	"left": {Code: tea.KeyLeft}, "right": {Code: tea.KeyRight}, "home": {Code: tea.KeyHome}, "end": {Code: tea.KeyEnd},
	"pgup": {Code: tea.KeyPgUp}, "pgdown": {Code: tea.KeyPgDown}, "backspace": {Code: tea.KeyBackspace},
	"delete":    {Code: tea.KeyDelete},
	"alt+enter": {Code: tea.KeyEnter, Mod: tea.ModAlt}, "ctrl+j": {Code: 'j', Mod: tea.ModCtrl},
	"ctrl+c": {Code: 'c', Mod: tea.ModCtrl},
	"ctrl+o": {Code: 'o', Mod: tea.ModCtrl}, "ctrl+w": {Code: 'w', Mod: tea.ModCtrl},
	"ctrl+u": {Code: 'u', Mod: tea.ModCtrl}, "ctrl+k": {Code: 'k', Mod: tea.ModCtrl},
	"ctrl+a": {Code: 'a', Mod: tea.ModCtrl}, "ctrl+e": {Code: 'e', Mod: tea.ModCtrl},
	"shift+up":   {Code: tea.KeyUp, Mod: tea.ModShift},
	"shift+down": {Code: tea.KeyDown, Mod: tea.ModShift}, "ctrl+left": {Code: tea.KeyLeft, Mod: tea.ModCtrl},
	"ctrl+r": {Code: 'r', Mod: tea.ModCtrl}, "ctrl+y": {Code: 'y', Mod: tea.ModCtrl},
	"ctrl+g": {Code: 'g', Mod: tea.ModCtrl}, "shift+tab": {Code: tea.KeyTab, Mod: tea.ModShift},
}
