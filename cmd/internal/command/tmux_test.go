package command

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// terminal is the program in a real terminal: a server of tmux of its own, with one window.
type terminal struct {
	t      *testing.T
	dir    string // with the socket
	folder string // in which the program was started
	wide   int
}

// openTerminal starts winnow with these arguments in a terminal of the given size.
func openTerminal(t *testing.T, wide, high int, environ []string, args ...string) *terminal {
	t.Helper()
	return openWith(t, wide, high, environ, func(program string) []string { return append([]string{program}, args...) })
}

// openShell starts a shell in a terminal; winnow is in its path.
func openShell(t *testing.T, wide, high int) *terminal {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("there is no bash")
	}
	return openWith(t, wide, high, []string{"PS1=$ "}, func(program string) []string {
		return []string{"sh", "-c", `PATH="$(dirname "$1"):$PATH" exec bash --norc --noprofile -i`, "sh", program}
	})
}

func openWith(t *testing.T, wide, high int, environ []string, command func(program string) []string) *terminal {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed")
	}
	if testing.Short() {
		t.Skip("it waits for a terminal, and is no faster for being watched")
	}
	dir, err := os.MkdirTemp("", "winnow") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	x := &terminal{t: t, dir: dir, folder: filepath.Join(dir, "folder"), wide: wide}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "winnow") // TestMain looks at the name
	for _, err := range []error{os.Symlink(self, program), os.Mkdir(x.folder, 0o755)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the screen at the end:\n%s", x.screen())
		}
		x.tmux("kill-server")
		os.RemoveAll(dir)
	})
	x.must("start-server", ";", "set-option", "-g", "default-terminal", "xterm-256color", ";",
		"new-session", "-d", "-x", fmt.Sprint(wide), "-y", fmt.Sprint(high), "-c", x.folder,
		"sh -c "+words([]string{"echo $$ > '" + filepath.Join(dir, "pid") + "'; exec env -i " + words(append(append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(dir, "home"), "TERM=xterm-256color",
			"GORACE=" + os.Getenv("GORACE"), "TMPDIR=" + dir}, environ...), command(program)...))})+"; echo \"[ended with $?]\"; exec sleep 600")
	return x
}

// pid is that of the program, or of the shell that was opened.
func (x *terminal) pid() string {
	x.t.Helper()
	pid, err := os.ReadFile(filepath.Join(x.dir, "pid"))
	if err != nil {
		x.t.Fatal(err)
	}
	return strings.TrimSpace(string(pid))
}

// words writes words for a shell.
func words(all []string) string {
	quoted := make([]string, len(all))
	for i, w := range all {
		quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
	}
	return strings.Join(quoted, " ")
}

func (x *terminal) tmux(args ...string) (string, error) {
	cmd := exec.Command("tmux", append([]string{"-S", filepath.Join(x.dir, "socket"), "-f", os.DevNull}, args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8", "HOME=" + x.dir}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (x *terminal) must(args ...string) string {
	x.t.Helper()
	out, err := x.tmux(args...)
	if err != nil {
		x.t.Fatalf("tmux %v: %v: %s", args, err, out)
	}
	return out
}

// screen is what stands on it, and how it ended where it has.
func (x *terminal) screen() string {
	out, err := x.tmux("capture-pane", "-p")
	if err != nil {
		return fmt.Sprintf("(%v) %s", err, out)
	}
	return out
}

// press presses keys, by their names in tmux.
func (x *terminal) press(keys ...string) {
	x.t.Helper()
	x.must(append([]string{"send-keys"}, keys...)...)
}

// say types a text and presses enter once it stands there.
func (x *terminal) say(text string) {
	x.t.Helper()
	x.must("send-keys", "-l", text)
	x.sees("what was typed", func(screen string) bool { return strings.Contains(screen, "› "+text) })
	x.press("Enter")
	x.sees("what was typed to go", func(screen string) bool { return !strings.Contains(screen, "› "+text) })
}

// endurance is how long a test waits for something. It is generous: other tests run beside it.
const endurance = 60 * time.Second

// sees waits until the screen is as it should be.
func (x *terminal) sees(what string, so func(screen string) bool) string {
	x.t.Helper()
	for deadline := time.Now().Add(endurance); ; time.Sleep(25 * time.Millisecond) {
		screen := x.screen()
		if so(screen) {
			return screen
		}
		if time.Now().After(deadline) {
			x.t.Fatalf("waited for %s in vain", what)
		}
	}
}

// shows waits for texts.
func (x *terminal) shows(texts ...string) string {
	x.t.Helper()
	return x.sees(fmt.Sprintf("%q", texts), func(screen string) bool {
		for _, text := range texts {
			if !strings.Contains(screen, text) {
				return false
			}
		}
		return true
	})
}

// gone waits until a text is on the screen no more.
func (x *terminal) gone(text string) {
	x.t.Helper()
	x.sees(fmt.Sprintf("%q to go", text), func(screen string) bool { return !strings.Contains(screen, text) })
}

// ends waits for the program's end, with an exit code.
func (x *terminal) ends(code string) {
	x.t.Helper()
	x.shows("[ended with " + code + "]")
}

// paste pastes a text as a terminal does.
func (x *terminal) paste(text string) {
	x.t.Helper()
	file := filepath.Join(x.dir, "pasted")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		x.t.Fatal(err)
	}
	x.must("load-buffer", file)
	x.must("paste-buffer", "-p", "-d")
}

var sizes = []struct{ wide, high int }{{80, 24}, {140, 40}}

// eachSize runs a test in terminals of both sizes.
func eachSize(t *testing.T, environ []string, test func(t *testing.T, x *terminal), args ...string) {
	for _, s := range sizes {
		t.Run(fmt.Sprintf("%dx%d", s.wide, s.high), func(t *testing.T) {
			t.Parallel()
			test(t, openTerminal(t, s.wide, s.high, environ, args...))
		})
	}
}

// answers presses a key for each question until a text stands on the screen.
func (x *terminal) answers(key, until string) {
	x.t.Helper()
	for asked := true; asked; {
		screen := x.sees("a question, or "+until, func(screen string) bool { return strings.Contains(screen, question) || strings.Contains(screen, until) })
		if asked = strings.Contains(screen, question); !asked {
			return
		}
		x.press(key)
		// It may have come too soon after another key to count, or another question have taken its
		// place.
		for again := time.Now().Add(3 * time.Second); time.Now().Before(again) && strings.Contains(x.screen(), question); {
			time.Sleep(25 * time.Millisecond)
		}
	}
}

const question = "wants to run"

// panel opens a panel with a command, looks at it, and closes it.
func (x *terminal) panel(command string, texts ...string) {
	x.t.Helper()
	x.say(command)
	x.shows(append([]string{"── " + texts[0] + " ──"}, texts[1:]...)...)
	x.leave(texts[0])
}

func (x *terminal) leave(title string) {
	x.t.Helper()
	x.press("Escape")
	x.gone("── " + title + " ──")
}

func TestTerminal_aSessionWithEveryCommand(t *testing.T) {
	t.Parallel()
	eachSize(t, nil, func(t *testing.T, x *terminal) {
		x.shows("This is a demo", "script-16k")
		x.panel("/help", "Help", "/compact")
		x.say("fix the test")
		x.shows(question, "sh test.sh")
		x.answers("y", "lamp.sh is repaired")
		x.shows("of 12,000")

		x.say("/title The lamp")
		x.shows("── The lamp ──")
		x.panel("/cost", "Cost", "requests")
		x.panel("/sessions", "Sessions", "The lamp", "demo/script-16k")
		x.panel("/model", "Models", "demo/script-200k")
		x.say("/model demo/script-200k")
		x.shows("── demo/script-200k", "answers from now on")
		x.say("/model demo/script-16k")
		x.shows("─ demo/script-16k")

		x.say("read the logs")
		x.answers("y", "I have read the four logs")

		x.say("/context")
		x.shows("── Context ──", "largest first")
		x.press("/")
		x.must("send-keys", "-l", "2025-11") // the last thing read, which the pruning at the end of the turn leaves alone
		x.shows("/2025-11")
		x.press("Enter")
		x.shows("› ", "read logs/2025-11.csv")
		x.press("Enter")
		x.shows("tokens in the log", "output:")
		x.press("Enter")
		x.gone("tokens in the log")
		x.press("e")
		x.shows("is left out")
		x.press("r")
		x.shows("is shown whole again")
		x.press("p")
		x.shows("is pinned")
		x.press("u")
		x.shows("taken back")
		x.press("Escape") // ends the filter
		x.shows("system prompt")
		x.leave("Context")

		x.say("/prune")
		x.sees("what became of it", func(screen string) bool {
			return strings.Contains(screen, "✂ pruned") || strings.Contains(screen, "nothing to prune")
		})
		x.say("/compact the nights with fog")
		x.shows("── What /compact would do ──", "→", "enter fold")
		x.press("Enter")
		x.gone("What /compact would do")
		x.gone("folding the past")
		x.shows("≡ folded", "/receipt")
		x.panel("/receipt", "Receipts", "folded", "dollars", "u undo")
		x.say("/undo")
		x.shows("↶ undone: the folding")
		x.say("/export lamp.json")
		x.shows("exported to ", "lamp.json")
		if data, err := os.ReadFile(filepath.Join(x.folder, "lamp.json")); err != nil || !strings.Contains(string(data), "The lamp") {
			t.Errorf("what was exported: %v, %.200s", err, data)
		}
		x.say("/revert")
		x.shows("── Go back to before a message ──", "read the logs", "fix the test")
		x.press("Enter")
		x.gone("Go back to before a message")
		x.shows("stays as it is", "› read the logs") // to be said otherwise
		x.press("C-c")
		x.gone("› read the logs")
		x.say("/nonsense")
		x.shows("there is no /nonsense")
		x.say("/quit")
		x.ends("0")
	}, "chat", "--demo")
}

func TestTerminal_withoutColourThereIsNone(t *testing.T) {
	t.Parallel()
	x := openTerminal(t, 80, 24, []string{"NO_COLOR=1"}, "chat", "--demo", "fix the test")
	x.shows(question)
	x.answers("n", "lamp.sh is repaired")
	if screen := x.must("capture-pane", "-p", "-e"); colored.MatchString(screen) {
		t.Errorf("there is colour:\n%q", screen)
	}
}

// colored are the sequences that choose a colour.
var colored = regexp.MustCompile(`\x1b\[(?:[0-9]+;)*(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])(?:;[0-9]+)*m`)

func TestTerminal_aPasteOfAMegabyteIsTakenAtOnce(t *testing.T) {
	t.Parallel()
	x := openTerminal(t, 80, 24, nil, "chat", "--demo")
	x.shows("This is a demo")
	text := strings.Repeat("The lamp turns, and the tide comes in.\n", 1<<20/39)
	x.paste(text)
	x.shows("[pasted 1,048,554 bytes")
	x.press("C-c") // empties the line
	x.gone("[pasted")
	x.say("/help")
	x.shows("/compact")
}

func TestTerminal_atAnotherSizeItIsDrawnAnew(t *testing.T) {
	t.Parallel()
	x := openTerminal(t, 80, 24, nil, "chat", "--demo", "fix the test")
	x.shows(question)
	x.answers("n", "lamp.sh is repaired")
	for _, s := range []struct{ wide, high int }{{40, 12}, {140, 40}, {60, 20}} {
		x.must("resize-window", "-x", fmt.Sprint(s.wide), "-y", fmt.Sprint(s.high))
		x.sees("a rule across the screen", func(screen string) bool {
			for line := range strings.Lines(screen) {
				if line = strings.TrimRight(line, "\n"); strings.HasPrefix(line, "── ") && strings.Contains(line, "script-16k") {
					return utf8.RuneCountInString(line) == s.wide
				}
			}
			return false
		})
	}
}

func TestTerminal_escStopsAndEnterGoesOn(t *testing.T) {
	t.Parallel()
	x := openTerminal(t, 80, 24, nil, "chat", "--demo", "read the logs")
	x.shows("logs/2025-10.csv")
	x.press("Escape")
	x.shows("interrupted")
	x.press("Enter")
	x.answers("y", "I have read the four logs")
	x.press("C-c")
	x.shows("ctrl+c again quits")
	x.press("C-c")
	x.ends("0")
}

func TestTerminal_isAsItWasAfterASignal(t *testing.T) {
	t.Parallel()
	x := openShell(t, 80, 24)
	x.must("send-keys", "-l", "winnow chat --demo read the logs; echo it ended with $?, and; stty -a | grep -ow -e -echo -e echo")
	x.press("Enter")
	x.shows("logs/2025-10.csv")
	if out, err := exec.Command("pkill", "-TERM", "-P", x.pid()).CombinedOutput(); err != nil {
		t.Skipf("nothing could be told to end: %v: %s", err, out)
	}
	screen := x.shows("it ended with 130, and\necho")
	if strings.Contains(screen, "esc stops") {
		t.Errorf("the chat still stands on the screen:\n%s", screen)
	}
}

func TestTerminal_goesBackToTheShellForAWhile(t *testing.T) {
	t.Parallel()
	x := openShell(t, 80, 24)
	x.must("send-keys", "-l", "winnow chat --demo")
	x.press("Enter")
	x.shows("This is a demo")
	x.press("C-z")
	x.shows("Stopped")
	x.gone("This is a demo")
	x.must("send-keys", "-l", "fg")
	x.press("Enter")
	x.shows("This is a demo", "script-16k")
	x.say("/quit")
	x.gone("This is a demo")
}

func TestTerminal_withoutAShellThereIsNoGoingBackToIt(t *testing.T) {
	t.Parallel()
	x := openTerminal(t, 80, 24, nil, "chat", "--demo")
	x.shows("This is a demo")
	x.press("C-z")
	x.shows("there is no shell to go back to")
	x.say("/help")
	x.shows("/compact")
}

func TestTerminal_itEndsWithItsTerminal(t *testing.T) {
	t.Parallel()
	x := openTerminal(t, 80, 24, nil, "chat", "--demo", "read the logs")
	x.shows("logs/2025-10.csv")
	if out, err := exec.Command("kill", "-HUP", x.pid()).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	x.ends("130")
	left, err := filepath.Glob(filepath.Join(x.dir, "winnow-demo-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("it left %v (%v)", left, err)
	}
}
