//go:build interop

package interop

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/wire"
)

// guest is an agent with winnow installed in it.
type guest struct {
	*agent
	start           func(*testing.T) *agent
	winnow, product string
	before          map[string]string // hashes of the files that were there before
}

func newGuest(t *testing.T, start func(*testing.T) *agent, product string, flags ...string) *guest {
	t.Helper()
	s := &guest{agent: start(t), start: start, winnow: buildWinnow(t, t.TempDir()), product: product}
	s.run(t, "--version") // install asks for it, and products make folders then
	s.before = hashes(t, s.Home, s.Project)
	s.tell(t, append([]string{"install", product}, flags...)...)
	return s
}

// compactsInTurns skips a test where the product compacts between turns only: TestPi_seatInItsTerminal
// has the compactions of an older pi.
func (s *guest) compactsInTurns(t *testing.T) {
	t.Helper()
	if version := s.run(t, "--version"); s.product == "pi" && before(version, 0, 87, 1) {
		t.Skipf("pi %s may compact between turns only; 0.73.1 does", strings.TrimSpace(version))
	}
}

// tell runs a command of winnow as the agent's user, and gives what it prints.
func (s *guest) tell(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(s.winnow, args...)
	cmd.Dir, cmd.Env = s.Project, []string{"HOME=" + s.Home, "PATH=" + filepath.Dir(s.bin)}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("winnow %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// TestPi_seat and TestOpenCode_seat: winnow is installed with one command; a chore; a compaction by
// winnow's fold while the product runs; the session is resumed, and compacted once more; undo;
// winnow is uninstalled.
func TestPi_seat(t *testing.T) {
	s := newGuest(t, piAgent, "pi")
	s.compactsInTurns(t)
	s.prunes(t)
	s.folds(t, "first fold", func(t *testing.T, prompt string) {
		s.queue = append(s.queue, s.shell("echo $((40+2))-is-small"), s.shell("echo $((50+1))-is-larger"))
		s.usage = &session.Usage{Input: 199_000, Output: 20} // pi compacts before its next request
		s.say(t, prompt)
	})
	s.more(t)
	s.folds(t, "second fold", func(t *testing.T, prompt string) {
		s.queue = append(s.queue, s.shell("echo $((60+3))-is-large"), s.shell("echo $((70+4))-is-huge"))
		s.usage = &session.Usage{Input: 199_000, Output: 20}
		s.say(t, prompt)
	})
	s.undoes(t, "LAST-line-9")
	s.leaves(t)
}

// messagesSent are the messages of a request but for the system's, as they were sent.
func messagesSent(r llmtest.Request) (sent []string) {
	for m := range wire.ValueOf(r.Body).Get("messages").Values() {
		if m.Get("role").String() != "system" {
			sent = append(sent, string(m.Bytes()))
		}
	}
	return sent
}

// last is the newest request that offers tools.
func (s *guest) last(t *testing.T) llmtest.Request {
	t.Helper()
	for _, r := range slices.Backward(requestsTo(s.up)) {
		if len(r.ToolNames()) > 0 {
			return r
		}
	}
	t.Fatal("no request offers tools")
	return llmtest.Request{}
}

// prunes plays a job, and checks that what came again is left out, and that each request begins
// with the one before it.
func (s *guest) prunes(t *testing.T) {
	t.Helper()
	tries(t, "prune")
	s.job(t)
	if n := strings.Count(string(s.last(t).Body), "line 7 of the list says"); n > 3 {
		t.Errorf("line 7 of the list, which was read four times, is sent %d times", n)
	}
	var before []string
	whole := 0
	for _, r := range requestsTo(s.up) {
		if len(r.ToolNames()) == 0 {
			continue
		}
		sent := messagesSent(r)
		if n := common(before, sent); n < len(before) {
			t.Errorf("a request of %d messages has other bytes than the one before it from message %d on", len(sent), n)
		}
		before, whole = sent, whole+1
	}
	t.Logf("%-14s %d requests, each begins with the one before; the newest has %d bytes of messages", "prune", whole, size(before))
}

// common is how many messages two requests begin with alike.
func common(a, b []string) (n int) {
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

func size(messages []string) (n int) {
	for _, m := range messages {
		n += len(m)
	}
	return n
}

// folds has the product compact in a turn and go on, and resumes the session after it.
func (s *guest) folds(t *testing.T, name string, turn func(t *testing.T, prompt string)) {
	t.Helper()
	tries(t, name)
	before := size(messagesSent(s.last(t)))
	s.up.Forget()
	turn(t, "Go on with the small things. HERON")
	live := messagesSent(s.last(t))
	s.up.Forget()
	s.say(t, "And now, OKAPI?")
	resumed := messagesSent(s.asked(t, "OKAPI"))
	same := size(live[:common(live, resumed)])
	t.Logf("%-14s %7d bytes of messages before, %7d live, %7d of them alike after resuming (%.1f %%)", name, before,
		size(live), same, 100*float64(same)/float64(size(live)))
	if !strings.Contains(strings.Join(live, "\n"), "Made from the log without a model") {
		t.Errorf("%s: the summary is not winnow's: %.2000s", name, live)
	}
	if size(live) > before*2/3 {
		t.Errorf("%s: %d bytes of messages are sent, before it %d", name, size(live), before)
	}
	if same < size(live)*98/100 {
		t.Errorf("%s: after resuming, the request is another one: %.300q, was %.300q", name, resumed[common(live, resumed):],
			live[common(live, resumed):])
	}
	if list := s.tell(t, "ls", "--store", "--json"); strings.Count(list, `"id"`) != 1 {
		t.Errorf("%s: the store has not one session: %s", name, list)
	}
}

// undoes takes the newest compaction back, and checks that the product sends what it stood for, this
// word in it.
func (s *guest) undoes(t *testing.T, word string) {
	t.Helper()
	tries(t, "undo after more turns")
	folded := len(messagesSent(s.last(t)))
	s.tell(t, "undo", s.id(t))
	s.up.Forget()
	s.say(t, "What was that, TAPIR?")
	sent := messagesSent(s.asked(t, "TAPIR"))
	t.Logf("%-14s %7d messages before, %7d after", "undo", folded, len(sent))
	if len(sent) <= folded || !strings.Contains(strings.Join(sent, ""), word) {
		t.Errorf("undone, the request has %d messages, before %d", len(sent), folded)
	}
}

// id is that of the session in the store.
func (s *guest) id(t *testing.T) string {
	t.Helper()
	id, _, _ := strings.Cut(s.tell(t, "ls", "--store"), " ")
	return id
}

// leaves uninstalls winnow, and checks that what is left is what was there before.
func (s *guest) leaves(t *testing.T) {
	t.Helper()
	tries(t, "uninstall")
	s.tell(t, "uninstall", s.product)
	for path := range hashes(t, s.Home, s.Project) {
		if strings.Contains(filepath.Base(path), "winnow") && !strings.Contains(path, ".local/share/winnow") {
			t.Errorf("%s is still there", path)
		}
	}
	fresh := newGuest(t, s.start, s.product)
	fresh.tell(t, "uninstall", s.product)
	if diff := cmp.Diff(fresh.before, hashes(t, fresh.Home, fresh.Project)); diff != "" {
		t.Errorf("uninstalling does not leave what was there before (-before +after):\n%s", diff)
	}
	s.up.Forget()
	s.say(t, "And without it, LEMUR?")
	t.Logf("%-14s %7d files as before; without winnow %d bytes of messages", "uninstall", len(fresh.before),
		size(messagesSent(s.asked(t, "LEMUR"))))
}

// hashes are those of all files below folders, but for winnow's own.
func hashes(t *testing.T, roots ...string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || strings.Contains(path, ".local/share/winnow") {
				return err
			}
			found[path] = "folder"
			if d.Type().IsRegular() {
				found[path] = fmt.Sprintf("%x", sha256.Sum256(readFile(t, path)))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	delete(found, filepath.Join(roots[0], "stdout")) // what the product printed last
	delete(found, filepath.Join(roots[0], "stderr"))
	delete(found, filepath.Join(roots[0], ".local", "share"))
	delete(found, filepath.Join(roots[0], ".local"))
	return found
}

// openCodeOffline is OpenCode that finds the package that plugins may import installed: it fetches it
// otherwise, and waits for that at every start.
func openCodeOffline(t *testing.T) *agent {
	a := openCodeAgent(t)
	const lock = `{"dependencies":{"@opencode-ai/plugin":"*"},"packages":{"":{"dependencies":{"@opencode-ai/plugin":"*"}}}}`
	dir := filepath.Join(a.Home, ".config", "opencode")
	if err := os.MkdirAll(filepath.Join(dir, "node_modules"), 0o755); err != nil {
		t.Fatal(err)
	}
	putFile(t, filepath.Join(dir, "package.json"), lock)
	putFile(t, filepath.Join(dir, "package-lock.json"), lock)
	return a
}

func TestOpenCode_seat(t *testing.T) {
	s := newGuest(t, openCodeOffline, "opencode")
	s.prunes(t)
	turn := func(t *testing.T, prompt string) {
		id, server := s.id(t), serve(t, s.client)
		server.call(t, "/session/"+id+"/summarize", map[string]any{"providerID": "local", "modelID": "m1"})
		s.queue = append(s.queue, s.shell("echo $((40+2))-is-small"))
		server.call(t, "/session/"+id+"/message", map[string]any{"parts": []any{map[string]any{"type": "text", "text": prompt}}})
		server.stop()
	}
	s.folds(t, "first fold", turn)
	s.more(t)
	s.folds(t, "second fold", turn)
	s.undoes(t, "LAST-line-9")
	s.leaves(t)
}

// TestCodex_seat: the server of the Model Context Protocol is registered, results of commands are
// shown without what only a terminal needs, and both go again.
func TestCodex_seat(t *testing.T) {
	s := newGuest(t, codexAgent, "codex")
	s.tell(t, "install", "codex-results")
	s.flags = []string{"--dangerously-bypass-hook-trust"} // a person trusts the hook in Codex's terminal
	tries(t, "first send", "uninstall")
	config := string(readFile(t, filepath.Join(s.Home, ".codex", "config.toml")))
	if !strings.Contains(config, "[mcp_servers.winnow]") {
		t.Errorf("no server is registered: %s", config)
	}
	s.work(t, "Look at the colours. GULL", `printf '\033[31mred %s\033[0m\n' $(seq 1 400)`)
	s.work(t, "Look at them again. TERN", `printf '\033[32mgreen %s\033[0m\n' $(seq 1 400)`)
	sent := string(s.last(t).Body)
	if !strings.Contains(sent, `green 400\n`) || strings.Contains(sent, `\u001b[3`) {
		t.Errorf("the results are sent otherwise: %.2000s", sent)
	}
	id := s.id(t)
	if list := s.tell(t, "ls", "--store"); strings.Count(list, "\n") != 1 {
		t.Errorf("the store has not one session: %s", list)
	}
	handle := regexp.MustCompile(`"handle": ?"(\w+)"`).FindStringSubmatch(s.tell(t, "explain", id, "--handles", "--json"))
	if handle == nil {
		t.Fatal("no handle of a result")
	}
	whole := s.tell(t, "recall", handle[1], "--session", id, "--json")
	if !strings.Contains(whole, `\u001b[`) {
		t.Errorf("the store has not the whole result: %.300s", whole)
	}
	t.Logf("%-14s a request of %d bytes without a colour; the store has the whole results: %s", "first send", len(sent), handle[1])
	s.tell(t, "uninstall", "codex-results")
	s.tell(t, "uninstall", "codex")
	for path, hash := range s.before {
		if is := hashes(t, s.Home, s.Project)[path]; is != hash {
			t.Errorf("%s is another one after uninstalling", path)
		}
	}
	if _, err := os.Stat(filepath.Join(s.Home, ".codex", "hooks.json")); err == nil {
		t.Error("hooks.json is still there")
	}
}

// TestSeats_leaveNothing: installed and taken away again, winnow leaves what was there before.
func TestSeats_leaveNothing(t *testing.T) {
	for product, start := range map[string]func(*testing.T) *agent{"opencode": openCodeOffline, "pi": piAgent, "codex": codexAgent} {
		t.Run(product, func(t *testing.T) {
			s := newGuest(t, start, product)
			s.tell(t, "uninstall", product)
			if diff := cmp.Diff(s.before, hashes(t, s.Home, s.Project)); diff != "" {
				t.Errorf("uninstalling does not leave what was there before (-before +after):\n%s", diff)
			}
		})
	}
}
