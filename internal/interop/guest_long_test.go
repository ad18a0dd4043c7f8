//go:build interop

package interop

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/session"
)

// full is what a provider reports when the window is full: the product compacts by itself.
func full() *session.Usage { return &session.Usage{Input: 199_000, Output: 20} }

// openCodeFull is OpenCode that compacts by itself when its window is full, with a model that sees
// pictures.
func openCodeFull(t *testing.T) *agent {
	a := openCodeOffline(t)
	file := filepath.Join(a.Project, "opencode.json")
	text := strings.Replace(string(readFile(t, file)), `"auto":false`, `"auto":true`, 1)
	putFile(t, file, strings.Replace(text, `"tool_call":true`,
		`"tool_call":true,"attachment":true,"modalities":{"input":["text","image"],"output":["text"]}`, 1))
	return a
}

// piFull is pi with a model that sees pictures.
func piFull(t *testing.T) *agent {
	a := piAgent(t)
	file := filepath.Join(a.Home, ".pi", "agent", "models.json")
	const model = `"id":"scripted"`
	putFile(t, file, strings.Replace(string(readFile(t, file)), model, model+`,"input":["text","image"]`, 1))
	return a
}

// A long chore; the window is full; the session is resumed; the same again; the product is killed
// within a turn, behind a compaction, and between the fold and its record; undo; uninstall.
func TestPi_seatThroughALongChore(t *testing.T)       { seatLong(t, piFull, "pi") }
func TestOpenCode_seatThroughALongChore(t *testing.T) { seatLong(t, openCodeFull, "opencode") }

func seatLong(t *testing.T, start func(*testing.T) *agent, product string) {
	tries(t, "seat", "kill the product")
	s := newGuest(t, start, product)
	s.compactsInTurns(t)
	for turn := range 5 {
		prompt := fmt.Sprintf("Do part %d of the chore. Never touch the Store type. CAPYBARA", turn)
		s.work(t, prompt, chore(fmt.Sprint("part-", turn), 16)...)
	}
	s.compacts(t, "first compaction")
	s.work(t, "Do the next part. TAPIR", chore("second", 20)...)
	s.compacts(t, "second compaction")

	s.work(t, "Do one more part. OKAPI", chore("third", 12)...)
	s.resumes(t, "killed within a turn", 0, s.killed(t, "And three small things. GNU", 3, nil))
	before := size(messagesSent(s.last(t)))
	s.resumes(t, "killed behind a compaction", before, s.killed(t, "And three more. KUDU", 2, full()))
	s.killedInBetween(t)
	s.undoes(t, "last-8-line-299")
	s.leaves(t)
}

// chore are commands, of which some print the same again and some a lot.
func chore(word string, n int) (commands []string) {
	for i := range n {
		switch i % 4 {
		case 0:
			commands = append(commands, lines(fmt.Sprintf("%s-%d", word, i), 300))
		case 1, 3:
			commands = append(commands, "cat list.txt")
		default:
			commands = append(commands, fmt.Sprintf("echo %s-%d", word, i))
		}
	}
	return commands
}

// compacts fills the window in a turn, goes on in the same program, and resumes the session.
func (s *guest) compacts(t *testing.T, name string) {
	t.Helper()
	before, folds := size(messagesSent(s.last(t))), made(t, s.Home, pivot.Compaction)
	s.queue = append(s.queue, s.shell("echo $((40+2))-is-small"), s.shell("echo $((50+1))-is-larger"))
	s.usage = full()
	s.say(t, "Go on with the small things. HERON")
	if n := made(t, s.Home, pivot.Compaction); n != folds+1 {
		t.Errorf("%s: winnow folded %d times", name, n-folds)
	}
	s.resumes(t, name, before, s.last(t))
}

// resumes starts the product again, and compares what it sends with what it sent before it ended.
func (s *guest) resumes(t *testing.T, name string, before int, live llmtest.Request) {
	t.Helper()
	s.up.Forget()
	s.say(t, "And now, OKAPI?")
	s.alike(t, name, before, live, s.asked(t, "And now, OKAPI?"))
}

// alike prints a row of the table: what a product sent before it ended, and what it sends of it once
// it was started again.
func (s *guest) alike(t *testing.T, name string, before int, live, again llmtest.Request) {
	t.Helper()
	was, is := messagesSent(live), messagesSent(again)
	n := common(was, is)
	if len(is) > len(was) {
		is = is[:len(was)]
	}
	off := 100 * float64(size(is)-size(was)) / float64(size(was))
	t.Logf("| %s | %s | %d | %d | %d | %+.2f %% | %d of %d messages to the byte |", s.product, name, before, size(was),
		size(is), off, n, len(was))
	if off > 2 || off < -2 {
		t.Errorf("%s: %d bytes of messages after resuming, %d before", name, size(is), size(was))
	}
	if size(was[:n]) < size(was)*98/100 && n < len(is) {
		t.Errorf("%s: the first message that differs was %.600s\nis %.600s", name, was[n], is[n])
	}
	ours := strings.Contains(strings.Join(was, ""), "Made from the log without a model")
	if before > 0 && (size(was) > before*2/3 || !ours) {
		t.Errorf("%s: no summary of winnow's, or too much: %d bytes, before it %d: %.2000s", name, size(was), before, was)
	}
}

// killed plays a turn, and kills the product while request n of it waits for its answer. usage is
// what the provider reports with the first answer.
func (s *guest) killed(t *testing.T, prompt string, n int, usage *session.Usage) (at llmtest.Request) {
	t.Helper()
	die, seen := make(chan struct{}), 0
	s.holds = func(r llmtest.Request) <-chan struct{} {
		if seen++; seen < n {
			return nil
		}
		if seen == n {
			at = r
			close(die)
		}
		return t.Context().Done()
	}
	for i := range 4 {
		s.queue = append(s.queue, s.shell(fmt.Sprintf("echo $((80+%d))-is-small", i)))
	}
	s.usage, s.die = usage, die
	s.say(t, prompt)
	s.holds, s.die, s.queue = nil, nil, nil
	if seen < n {
		t.Errorf("%q: the product made %d requests, and was not killed", prompt, seen)
	}
	return at
}

// killedInBetween kills the product when winnow has folded, before the product knows: it is started again
// twice, and sends the fold both times.
func (s *guest) killedInBetween(t *testing.T) {
	t.Helper()
	s.work(t, "Do the last part. IBEX", chore("last", 12)...)
	before, folds := size(messagesSent(s.last(t))), made(t, s.Home, pivot.Compaction)
	real := s.winnow + "-itself"
	if err := os.Rename(s.winnow, real); err != nil {
		t.Fatal(err)
	}
	putFile(t, s.winnow, fmt.Sprintf(`#!/bin/sh
[ "$1" = shape ] || exec %[1]s "$@"
cat >"$HOME/handed"
%[1]s "$@" <"$HOME/handed" >"$HOME/answered"
head -c 100 "$HOME/handed" | grep -q '"event":"compact"' && kill -9 $PPID
cat "$HOME/answered"
`, real))
	if err := os.Chmod(s.winnow, 0o755); err != nil {
		t.Fatal(err)
	}
	s.queue = append(s.queue, s.shell("echo $((40+2))-is-small"), s.shell("echo $((50+1))-is-larger"))
	s.usage, s.die = full(), make(chan struct{})
	s.say(t, "Fill the window. LYNX")
	if len(s.queue) == 0 {
		t.Error("the product was not killed")
	}
	s.die, s.queue = nil, nil
	if err := os.Rename(real, s.winnow); err != nil {
		t.Fatal(err)
	}
	if n := made(t, s.Home, pivot.Compaction); n != folds+1 {
		t.Errorf("winnow folded %d times", n-folds)
	}
	s.up.Forget()
	s.say(t, "And now, LEMMING?")
	s.resumes(t, "killed between the fold and its record", before, s.asked(t, "LEMMING"))
}

// Above 5 MiB: results of 40 KB fill the window again and again, as the provider counts it.
func TestPi_seatAboveFiveMiB(t *testing.T)       { seatLarge(t, piFull, "pi") }
func TestOpenCode_seatAboveFiveMiB(t *testing.T) { seatLarge(t, openCodeFull, "opencode") }

func seatLarge(t *testing.T, start func(*testing.T) *agent, product string) {
	tries(t, "seat")
	s := newGuest(t, start, product)
	s.compactsInTurns(t)
	for turn := range 5 {
		var commands []string
		for i := range 26 {
			commands = append(commands, lines(fmt.Sprintf("LARGE-%d-%d-of-the-outputs", turn, i), 1300))
		}
		s.work(t, fmt.Sprintf("Do part %d of the large chore. CAPYBARA", turn), commands...)
	}
	kept := len(s.save(t))
	t.Logf("%s keeps %d bytes of the session; winnow folded %d times meanwhile", product, kept,
		made(t, s.Home, pivot.Compaction))
	if kept < 5<<20 {
		t.Errorf("the session has %d bytes", kept)
	}
	s.compacts(t, "above 5 MiB")
	s.work(t, "Do the next part. TAPIR", chore("second", 20)...)
	s.compacts(t, "above 5 MiB, second compaction")
}

// A picture in a prompt is still sent behind a compaction, and once the session is resumed.
func TestPi_seatKeepsPictures(t *testing.T) {
	s := newGuest(t, piFull, "pi")
	s.compactsInTurns(t)
	s.pictures(t, func(file string) {
		s.run(t, "--provider", "loopback", "--model", "scripted", "--session", filepath.Join(s.Home, "session.jsonl"), "-p",
			"@"+file, "Look at this WALRUS, and do the part.")
	})
}

func TestOpenCode_seatKeepsPictures(t *testing.T) {
	s := newGuest(t, openCodeFull, "opencode")
	s.pictures(t, func(file string) {
		s.run(t, "run", "Look at this WALRUS, and do the part.", "-s", s.id(t), "-f", file)
	})
}

func (s *guest) pictures(t *testing.T, show func(file string)) {
	t.Helper()
	tries(t, "seat")
	file := filepath.Join(s.Project, "walrus.png")
	picture, err := base64.StdEncoding.DecodeString(pixel)
	if err != nil {
		t.Fatal(err)
	}
	putFile(t, file, string(picture))
	s.work(t, "Do the first part. CAPYBARA", chore("first", 30)...)
	before := size(messagesSent(s.last(t)))
	s.queue = append(s.queue, s.shell("echo $((40+2))-is-small"), s.shell("echo $((50+1))-is-larger"))
	folds := made(t, s.Home, pivot.Compaction)
	s.up.Forget()
	s.usage = full()
	show(file)
	if n := made(t, s.Home, pivot.Compaction); n != folds+1 {
		t.Errorf("winnow folded %d times", n-folds)
	}
	const data = "data:image/png;base64,"
	live := s.last(t)
	s.resumes(t, "a picture in the newest prompt", before, live)
	if again := s.last(t); strings.Contains(string(live.Body), data) != strings.Contains(string(again.Body), data) ||
		!strings.Contains(string(again.Body), data) {
		t.Errorf("the picture is sent: %v before, %v after resuming", strings.Contains(string(live.Body), data),
			strings.Contains(string(again.Body), data))
	}
}

// In the terminal of the product: a chore, a prompt that is typed while a command runs, the product's
// own command to compact, more turns; the session is resumed there.
func TestPi_seatInItsTerminal(t *testing.T) {
	s := newGuest(t, piFull, "pi")
	args := []string{"--provider", "loopback", "--model", "scripted", "--session", filepath.Join(s.Home, "session.jsonl")}
	s.inTerminal(t, "scripted", "/quit", func() []string { return args })
}

func TestOpenCode_seatInItsTerminal(t *testing.T) {
	s := newGuest(t, openCodeFull, "opencode")
	s.inTerminal(t, "ctrl+p", "/exit", func() []string { return []string{"-s", s.id(t)} })
}

func (s *guest) inTerminal(t *testing.T, ready, leave string, session func() []string) {
	t.Helper()
	tries(t, "seat")
	s.work(t, "Do the first part. CAPYBARA", chore("first", 40)...)
	x := openTerminal(t, s.client, session()...)
	x.shows(ready)
	s.typed(t, x, "Do the second part, and mind the GNU.", chore("second", 20)...)

	// A prompt that is typed while a command of the turn before it runs.
	release, held := make(chan struct{}), make(chan struct{})
	s.holds = func(llmtest.Request) <-chan struct{} {
		s.holds = nil
		close(held)
		return release
	}
	s.queue = append(s.queue, s.shell("echo $((40+2))-is-small"), s.shell("echo $((50+1))-is-larger"))
	x.types("Two small things. KUDU")
	<-held
	x.types("And mind the QUEUED-WORDS.")
	close(release)
	s.answered(t, x, "QUEUED-WORDS")
	before := size(messagesSent(s.last(t)))

	folds := made(t, s.Home, pivot.Compaction)
	x.types("/compact")
	x.waits("the fold", func() bool { return made(t, s.Home, pivot.Compaction) > folds })
	s.typed(t, x, "Go on, LIVE.")
	live := s.last(t)
	checkContains(t, live, true, "QUEUED-WORDS")
	x.types(leave)
	x.shows("[ended]")

	s.up.Forget()
	x = openTerminal(t, s.client, session()...)
	x.shows(ready)
	s.typed(t, x, "Go on, RESUMED.")
	s.alike(t, "in its terminal, with a prompt typed meanwhile", before, live, s.asked(t, "RESUMED"))
	x.types(leave)
	x.shows("[ended]")
	s.leaves(t)
}

// typed plays a turn in a terminal.
func (s *guest) typed(t *testing.T, x *terminal, prompt string, commands ...string) {
	t.Helper()
	for _, command := range commands {
		s.queue = append(s.queue, s.shell(command))
	}
	x.types(prompt)
	s.answered(t, x, prompt)
}

// answered waits until a prompt was sent, and a request with it was answered without a call.
func (s *guest) answered(t *testing.T, x *terminal, prompt string) {
	t.Helper()
	x.waits("the end of the turn "+prompt, func() bool {
		records := s.up.Records()
		for i := len(records) - 1; i >= 0 && len(s.queue) == 0; i-- {
			if r := records[i]; len(r.ToolNames()) > 0 {
				return r.Contains(prompt) && r.Reply.Text == "The job is done." && !r.Ended.IsZero()
			}
		}
		return false
	})
}
