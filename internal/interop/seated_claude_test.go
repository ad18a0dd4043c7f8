//go:build interop

package interop

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/internal/outside"
	"github.com/winnowhq/winnow/wire"
)

// seated is Claude Code with winnow's plugin, installed as a user does. The model thinks before each
// call, and works through the commands of a chore when it is told to.
type seated struct {
	*client
	up     *llmtest.Server
	winnow string

	mu     sync.Mutex
	todo   []string // commands that are left
	calls  int
	slow   chan struct{}   // is closed when a command that sleeps is asked for
	before string          // hash of the home folder before the installation
	hold   <-chan struct{} // withholds the next answer
	held   chan struct{}   // is closed when an answer is withheld
}

func newSeated(t *testing.T) *seated {
	t.Helper()
	s := &seated{}
	s.up = provider(t, s.answer)
	s.client = claudeClient(t, s.up)
	if version := s.run(t, "--version"); before(version, 2, 1, 287) {
		t.Skipf("%s has no hooks modules: they came with 2.1.287", version)
	}
	s.winnow = buildWinnow(t, t.TempDir())
	s.before = folderHash(t, s.pluginHome())
	s.ours(t, "install", "claude")
	return s
}

// answer thinks, and calls for the next command of the chore, or says that it is done.
func (s *seated) answer(r llmtest.Request) llmtest.Reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(r.ToolNames()) == 0 {
		return llmtest.Reply{Text: "A title"}
	}
	s.calls++
	if s.hold != nil {
		close(s.held)
		hold := s.hold
		s.hold = nil
		return llmtest.Reply{Text: "Too late.", Hold: hold}
	}
	if len(s.todo) == 0 {
		return llmtest.Reply{Reasoning: fmt.Sprintf("thought %d: nothing is left", s.calls), Text: "The job is done."}
	}
	command := s.todo[0]
	if s.slow != nil && strings.Contains(command, "sleep") {
		close(s.slow)
		s.slow = nil
	}
	s.todo = s.todo[1:]
	if tool, arguments, found := strings.Cut(command, "("); found && strings.HasPrefix(tool, "mcp__") {
		return llmtest.Reply{Calls: []llmtest.Call{{ID: fmt.Sprintf("toolu_%05d", s.calls), Name: tool, Arguments: arguments}}}
	}
	arguments, _ := json.Marshal(map[string]string{"command": command, "description": "a step"}, json.Deterministic(true))
	return llmtest.Reply{Reasoning: fmt.Sprintf("thought %d: run it", s.calls), Text: fmt.Sprintf("Step %d.", s.calls),
		Calls: []llmtest.Call{{ID: fmt.Sprintf("toolu_%05d", s.calls), Name: "Bash", Arguments: string(arguments)}}}
}

// chore gives the model commands to run at the next prompt.
func (s *seated) chore(commands ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.todo = commands
}

// work is a chore of commands, of which some print the same again and some a lot.
func work(word string, n int) (commands []string) {
	for i := range n {
		switch i % 4 {
		case 0:
			commands = append(commands, lines(fmt.Sprintf("%s-%d", word, i), 300))
		case 1, 3:
			commands = append(commands, "cat notes.txt")
		default:
			commands = append(commands, fmt.Sprintf("echo %s-%d", word, i))
		}
	}
	return commands
}

// ours runs winnow in the client's world, and returns what it printed.
func (s *seated) ours(t *testing.T, args ...string) string {
	t.Helper()
	command := exec.Command(s.winnow, args...)
	command.Dir = s.Project
	command.Env = []string{"HOME=" + s.Home, "PATH=" + filepath.Dir(s.bin) + ":" + os.Getenv("PATH")}
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("winnow %q: %v\n%s", args, err, out)
	}
	return string(out)
}

func (s *seated) pluginHome() string { return filepath.Join(s.Home, ".claude", "skills") }

// conversation is the last request of the conversation itself.
func (s *seated) conversation(t *testing.T) llmtest.Request {
	t.Helper()
	return (&claude{up: s.up}).conversation(t)
}

// open is the product with a session open, as a program that drives it has it.
type open struct {
	*seated
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Scanner
	errs *bytes.Buffer
}

func (s *seated) open(t *testing.T, args ...string) *open {
	t.Helper()
	args = append([]string{"-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose",
		"--dangerously-skip-permissions"}, args...)
	o := &open{seated: s, cmd: exec.Command(s.bin, args...), errs: &bytes.Buffer{}}
	o.cmd.Dir = s.Project
	path := filepath.Dir(s.bin) + string(os.PathListSeparator) + os.Getenv("PATH")
	o.cmd.Env = append([]string{"HOME=" + s.Home, "PATH=" + path, "TERM=dumb"}, s.Env...)
	o.cmd.Stderr = o.errs
	var err error
	if o.in, err = o.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := o.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	o.out = bufio.NewScanner(out)
	o.out.Buffer(nil, 64<<20)
	if err := o.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = o.cmd.Process.Kill() })
	return o
}

// send types a prompt.
func (o *open) send(t *testing.T, prompt string) {
	t.Helper()
	line, err := json.Marshal(map[string]any{"type": "user", "message": map[string]string{"role": "user", "content": prompt}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.in.Write(append(line, '\n')); err != nil {
		t.Fatalf("%v\n%s", err, o.errs)
	}
}

// result waits until a prompt is answered, and returns the line that says so.
func (o *open) result(t *testing.T) string {
	t.Helper()
	for o.out.Scan() {
		if line := o.out.Text(); strings.Contains(line, `"type":"result"`) {
			return line
		}
	}
	t.Fatalf("the product ended: %v\n%s", o.out.Err(), o.errs)
	return ""
}

func (o *open) say(t *testing.T, prompt string) string {
	t.Helper()
	o.send(t, prompt)
	return o.result(t)
}

// leave ends the product as a user does.
func (o *open) leave(t *testing.T) {
	t.Helper()
	_ = o.in.Close()
	for o.out.Scan() {
	}
	if err := o.cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, o.errs)
	}
}

// messages are the texts of the messages of a request, cache marks aside.
func messagesOf(r llmtest.Request) (texts []string) {
	for v := range wire.ValueOf(r.Body).Get("messages").Values() {
		texts = append(texts, strings.ReplaceAll(string(v.Bytes()), `,"cache_control":{"type":"ephemeral"}`, ""))
	}
	return texts
}

// sameContext compares what the product sent before it was left with what it sends of it once it is
// resumed, and reports both sizes.
func sameContext(t *testing.T, name string, live, resumed llmtest.Request) {
	t.Helper()
	was, is := messagesOf(live), messagesOf(resumed)
	if len(is) < len(was) {
		t.Errorf("%s: %d messages are sent after resuming, %d were before", name, len(is), len(was))
		return
	}
	is = is[:len(was)]
	a, b := len(strings.Join(was, "")), len(strings.Join(is, ""))
	off := 100 * float64(b-a) / float64(a)
	thoughts := [2]int{strings.Count(strings.Join(was, ""), `"type":"thinking"`), strings.Count(strings.Join(is, ""), `"type":"thinking"`)}
	t.Logf("| %s | %d | %d | %+.2f %% | thoughts %d → %d |", name, a, b, off, thoughts[0], thoughts[1])
	if off > 2 || off < -2 {
		t.Errorf("%s: %d bytes of messages after resuming, %d before: %+.1f %%", name, b, a, off)
	}
	if thoughts[0] != thoughts[1] {
		t.Errorf("%s: %d thoughts after resuming, %d before", name, thoughts[1], thoughts[0])
	}
	checkPairs(t, live)
	checkPairs(t, resumed)
}

// folderHash is a hash over all files of a folder, "" if there is none.
func folderHash(t *testing.T, dir string) string {
	t.Helper()
	sum := sha256.New()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(sum, "%s %v\n", path, info.Mode())
		if d.Type().IsRegular() {
			sum.Write(readFile(t, path))
		}
		return nil
	})
	if os.IsNotExist(err) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

func TestSeat_claude(t *testing.T) {
	tries(t, "seat")
	s := newSeated(t)
	putFile(t, filepath.Join(s.Project, "notes.txt"), strings.Repeat("What was done so far, line by line.\n", 120))

	o := s.open(t)
	s.chore(work("alpha", 30)...)
	o.say(t, "Do the first chore. Never touch the Store type.")
	s.chore(work("beta", 30)...)
	o.say(t, "Do the second chore.")
	full := len(strings.Join(messagesOf(s.conversation(t)), ""))
	o.say(t, "/compact")
	o.say(t, "Go on, LIVE-ONE.")
	live := s.conversation(t)
	t.Logf("before %d, after %d bytes", full, len(strings.Join(messagesOf(live), "")))
	checkContains(t, live, true, "Made from the log without a model", "Never touch the Store type")
	o.leave(t)
	s.anchored(t)

	o = s.open(t, "-c")
	o.say(t, "Go on, RESUMED-ONE.")
	sameContext(t, "resumed", live, s.conversation(t))

	s.chore(work("gamma", 20)...)
	o.say(t, "Do the third chore.")
	o.say(t, "/compact")
	o.say(t, "Go on, LIVE-TWO.")
	live = s.conversation(t)
	checkContains(t, live, true, "Never touch the Store type")
	o.leave(t)
	s.anchored(t)
	o = s.open(t, "-c")
	o.say(t, "Go on, RESUMED-TWO.")
	sameContext(t, "second compaction", live, s.conversation(t))

	// Killed before the turn ends: nothing of the plugin runs any more.
	s.chore(work("delta", 20)...)
	o.say(t, "Do the fourth chore.")
	o.say(t, "/compact")
	release := make(chan struct{})
	s.mu.Lock()
	s.hold, s.held = release, make(chan struct{})
	s.mu.Unlock()
	o.send(t, "Go on, LIVE-THREE.")
	<-s.held
	live = s.conversation(t)
	waiting, _ := filepath.Glob(filepath.Join(s.Home, ".local/share/winnow/handed/*.json"))
	t.Logf("compactions that wait to be anchored when it is killed: %d", len(waiting))
	if err := o.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = o.cmd.Wait()
	close(release)
	o = s.open(t, "-c")
	o.say(t, "Go on, RESUMED-THREE.")
	sameContext(t, "killed before it was anchored", live, s.conversation(t))
	o.leave(t)
	s.anchored(t)

	t.Log(s.ours(t, "ls", "--store"))
	s.ours(t, "uninstall", "claude")
	if after := folderHash(t, s.pluginHome()); after != s.before {
		t.Error("the plugin's folder is not what it was before")
	}
}

// What the commands say needs no model, and an undo takes effect when the session has ended: all of
// the past is sent again, with what was said since.
func TestSeat_claudeCommands(t *testing.T) {
	tries(t, "seat", "undo at once")
	s := newSeated(t)
	putFile(t, filepath.Join(s.Project, "notes.txt"), strings.Repeat("What was done so far, line by line.\n", 120))
	o := s.open(t)
	s.chore(work("alpha", 12)...)
	o.say(t, "Do the first chore.")
	s.chore(work("beta", 30)...)
	o.say(t, "Do the second chore.")
	whole := s.conversation(t)
	offered := strings.Join(whole.ToolNames(), " ")
	if !strings.Contains(offered, "winnow") && !whole.Contains("mcp__plugin_winnow_winnow__recall") {
		t.Errorf("the tools of winnow's server are not offered: %s", offered)
	}
	asked := len(requestsTo(s.up))
	for command, want := range map[string]string{"/winnow:context": "tokens", "/winnow:why": "By zone"} {
		if said := o.say(t, command); !strings.Contains(said, want) {
			t.Errorf("%s says %s", command, said)
		}
	}
	o.say(t, "/compact")
	if n := len(requestsTo(s.up)); n != asked {
		t.Errorf("%d requests were made for what needs no model", n-asked)
	}
	o.say(t, "Go on, FOLDED.")
	folded := s.conversation(t)
	if said := o.say(t, "/winnow:undo"); !strings.Contains(said, "when this session ends") {
		t.Errorf("/winnow:undo says %s", said)
	}
	o.leave(t)
	o = s.open(t, "-c")
	o.say(t, "Go on, UNDONE.")
	undone := s.conversation(t)
	sameContext(t, "undone", whole, undone)
	checkContains(t, undone, true, "Go on, FOLDED.", "Go on, UNDONE.")
	if a, b := len(messagesOf(folded)), len(messagesOf(undone)); a >= b {
		t.Errorf("%d messages before the undo, %d after it", a, b)
	}
	s.chore(work("gamma", 10)...)
	o.say(t, "Do the third chore.")
	o.say(t, "/compact")
	o.say(t, "Go on, LIVE.")
	live := s.conversation(t)
	o.leave(t)
	o = s.open(t, "-c")
	o.say(t, "Go on, RESUMED.")
	sameContext(t, "compacted after an undo", live, s.conversation(t))
	o.leave(t)
	ids := strings.Fields(s.ours(t, "ls", "--store"))
	t.Log(s.ours(t, "explain", ids[0]))
	t.Log(s.ours(t, "search", "alpha-0-line-7", "--session", ids[0]))
}

// anchored checks that everything behind the newest compaction is marked as what it repeats, and
// that nothing waits.
func (s *seated) anchored(t *testing.T) {
	t.Helper()
	if waiting, _ := filepath.Glob(filepath.Join(s.Home, ".local/share/winnow/handed/*.json")); len(waiting) > 0 {
		t.Errorf("compactions wait to be anchored: %q", waiting)
	}
	files, _ := filepath.Glob(filepath.Join(s.Home, ".claude/projects/*/*.jsonl"))
	text := readFile(t, files[0])
	at := bytes.LastIndex(text, []byte(`"subtype":"compact_boundary"`))
	if at < 0 || !bytes.Contains(text[at:], []byte(`"winnow":{"copy":`)) || !bytes.Contains(text[at:], []byte(`"preservedMessages"`)) {
		t.Errorf("the newest compaction is not anchored: %.2000s", text[max(at-200, 0):])
	}
}

// Killed at the very moment at which the boundary is in the file, nothing of the plugin runs any
// more: what it left behind anchors the compaction, and the first resume has it.
func TestSeat_claudeKilledAtTheBoundary(t *testing.T) {
	tries(t, "seat")
	s := newSeated(t)
	putFile(t, filepath.Join(s.Project, "notes.txt"), strings.Repeat("What was done so far, line by line.\n", 120))
	o := s.open(t)
	for round := range 3 {
		s.chore(work(fmt.Sprint("alpha-", round), 30)...)
		o.say(t, "Do the next chore.")
		whole := len(strings.Join(messagesOf(s.conversation(t)), ""))
		files, _ := filepath.Glob(filepath.Join(s.Home, ".claude/projects/*/*.jsonl"))
		size := len(readFile(t, files[0]))
		o.send(t, "/compact")
		for o.alive() {
			text := readFile(t, files[0])
			if bytes.Contains(text[min(size, len(text)):], []byte(`"subtype":"compact_boundary"`)) {
				break
			}
		}
		if err := o.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = o.cmd.Wait()
		handed := filepath.Join(s.Home, ".local/share/winnow/handed/*.json")
		waiting, _ := filepath.Glob(handed)
		if round == 2 { // nobody starts the product again: it is anchored all the same
			for left := waiting; len(left) > 0 && t.Context().Err() == nil; left, _ = filepath.Glob(handed) {
				time.Sleep(10 * time.Millisecond)
			}
			s.anchored(t)
		}
		o = s.open(t, "-c")
		o.say(t, fmt.Sprintf("Go on, RESUMED-%d.", round))
		first := s.conversation(t)
		checkContains(t, first, true, "Made from the log without a model")
		if n := len(strings.Join(messagesOf(first), "")); n > whole*3/4 {
			t.Errorf("round %d: %d bytes are sent after resuming, %d were before the compaction", round, n, whole)
		}
		t.Logf("round %d: before %d bytes; %d waited when it was killed", round, whole, len(waiting))
		o.leave(t)
		s.anchored(t)
		o = s.open(t, "-c")
		o.say(t, fmt.Sprintf("Go on, AGAIN-%d.", round))
		sameContext(t, fmt.Sprintf("killed at the boundary, round %d", round), first, s.conversation(t))
	}
	o.leave(t)
}

// alive reports whether the product still runs.
func (o *open) alive() bool { return o.cmd.Process.Signal(syscall.Signal(0)) == nil }

// The product's own checks of the plugin: its manifest and sources, and its behaviour with nothing
// beneath it but what the test puts there.
func TestSeat_claudePluginIsValid(t *testing.T) {
	s := newSeated(t)
	plugin := filepath.Join(s.pluginHome(), "winnow")
	t.Log(s.run(t, "plugin", "validate", plugin))
	if err := os.MkdirAll(filepath.Join(plugin, "tests"), 0o755); err != nil {
		t.Fatal(err)
	}
	putFile(t, filepath.Join(plugin, "tests", "register.test.ts"), string(readFile(t, filepath.Join("testdata", "seat", "register.test.ts"))))
	t.Log(s.run(t, "plugin", "test", plugin))
}

// The repository is a marketplace: the product adds it from a folder, and installs the plugin.
func TestMarketplace_claude(t *testing.T) {
	s := newSeated(t)
	clone := filepath.Join(t.TempDir(), "winnow")
	for _, folder := range []string{".claude-plugin", "desk/seat/claude"} {
		if err := os.CopyFS(filepath.Join(clone, folder), os.DirFS(filepath.Join(outside.Root(t), folder))); err != nil {
			t.Fatal(err)
		}
	}
	t.Log(s.run(t, "plugin", "validate", clone))
	t.Log(s.run(t, "plugin", "marketplace", "add", clone))
	t.Log(s.run(t, "plugin", "install", "winnow@winnow"))
	if list := s.run(t, "plugin", "list"); !strings.Contains(list, "winnow@winnow") {
		t.Errorf("the plugin is not installed:\n%s", list)
	}
}

// What says nothing new is left out before it is sent for the first time; the file keeps it.
func TestSeat_claudeFirstSends(t *testing.T) {
	tries(t, "seat")
	s := newSeated(t)
	putFile(t, filepath.Join(s.Project, "notes.txt"), strings.Repeat("What was done so far, line by line.\n", 160))
	o := s.open(t)
	colours := `for i in $(seq 200); do printf '\033[3%dmline %d\033[0m\n' $((i % 8)) $i; done`
	// The product writes a call into its file a moment after it was made.
	const again = "sleep 1; cat notes.txt"
	s.chore(colours, again, again, again)
	o.say(t, "Do the chore.")
	r := s.conversation(t)
	size := len(strings.Join(messagesOf(r), ""))
	files, _ := filepath.Glob(filepath.Join(s.Home, ".claude/projects/*/*.jsonl"))
	text := readFile(t, files[0])
	t.Logf("%d bytes of messages; the notes are sent %d times, and in the file %d times", size,
		strings.Count(string(r.Body), strings.Repeat("What was done so far, line by line.\\n", 150)),
		strings.Count(string(text), strings.Repeat("What was done so far, line by line.\\n", 150)))
	checkContains(t, r, true, "bytes of terminal codes left out", "the same as in")
	if !bytes.Contains(text, []byte(`\u001b[3`)) {
		t.Error("the file has not kept what the command printed")
	}
	// The store has the whole of each, from before it was sent.
	shortened := regexp.MustCompile(`\[winnow ([a-z0-9]+): [^\]]*(terminal codes left out|the same as in)`).FindAllStringSubmatch(string(r.Body), -1)
	if len(shortened) < 3 {
		t.Fatalf("%d results were shortened, want at least 3", len(shortened))
	}
	notes := string(readFile(t, filepath.Join(s.Project, "notes.txt")))
	for _, found := range shortened {
		whole, want := s.ours(t, "recall", found[1]), notes
		if strings.HasPrefix(found[2], "terminal") {
			want = "\u241b[31mline 1\u241b[0m\n\u241b[32mline 2\u241b[0m\n" // as terminals are shown it
		}
		if !strings.Contains(whole, strings.TrimSpace(want)) {
			t.Errorf("recall %s prints %d bytes, %.80q", found[1], len(whole), whole)
		}
	}
	o.leave(t)
	o = s.open(t, "-c")
	o.say(t, "Go on, RESUMED.")
	sameContext(t, "first sends", r, s.conversation(t))
	s.chore(work("alpha", 20)...)
	o.say(t, "Do the second chore.")
	o.say(t, "/compact")
	o.say(t, "Go on, LIVE.")
	live := s.conversation(t)
	checkContains(t, live, true, "Made from the log without a model")
	o.leave(t)
	s.anchored(t)
	o = s.open(t, "-c")
	o.say(t, "Go on, RESUMED-AGAIN.")
	sameContext(t, "compacted after first sends", live, s.conversation(t))
	o.leave(t)
	id := strings.Fields(s.ours(t, "ls", "--store"))[0]
	for _, found := range shortened {
		if said := s.ours(t, "explain", id, found[1]); !strings.Contains(said, "noise") && !strings.Contains(said, "repeats") {
			t.Errorf("explain %s says %s", found[1], said)
		}
		s.ours(t, "recall", found[1])
	}
	t.Log(s.ours(t, "explain", id, shortened[0][1]))
	shown := s.ours(t, "show", id)
	t.Logf("%.200s", shown[max(0, strings.LastIndex(shown, "eceipt")-100):])
}

// What fills the window by itself is compacted by winnow too, in the middle of a turn, and is
// resumed as it was left. What was left out is recalled through the plugin's server.
func TestSeat_claudeCompactsByItself(t *testing.T) {
	tries(t, "seat")
	s := newSeated(t)
	putFile(t, filepath.Join(s.Project, "notes.txt"), strings.Repeat("What was done so far, line by line.\n", 120))
	o := s.open(t, "--settings", `{"autoCompactWindow":100000}`)
	s.chore(work("alpha", 80)...)
	o.say(t, "Do the long chore. Never touch the Store type.")
	files, _ := filepath.Glob(filepath.Join(s.Home, ".claude/projects/*/*.jsonl"))
	if text := readFile(t, files[0]); !bytes.Contains(text, []byte(`"trigger":"auto"`)) {
		t.Fatal("the product has not compacted by itself")
	}
	o.say(t, "Go on, LIVE.")
	live := s.conversation(t)
	checkContains(t, live, true, "Made from the log without a model", "Never touch the Store type")
	o.leave(t)
	s.anchored(t)
	o = s.open(t, "-c")
	o.say(t, "Go on, RESUMED.")
	resumed := s.conversation(t)
	sameContext(t, "an automatic compaction", live, resumed)
	handle := regexp.MustCompile(`\[winnow ([a-z0-9]+): Bash `).FindStringSubmatch(string(resumed.Body))
	if handle == nil {
		t.Fatal("nothing of the request names a handle")
	}
	s.chore(`mcp__plugin_winnow_winnow__recall({"handle":"` + handle[1] + `"}`)
	o.say(t, "Recall it.")
	asked := s.conversation(t)
	texts := messagesOf(asked)
	if last := texts[len(texts)-1]; !strings.Contains(last, "What was done so far, line by line.") {
		t.Errorf("recall of %s through the server gives %.600s", handle[1], last)
	}
	o.leave(t)
}

// Installed for the user and for the project, and uninstalled, everything of the product is what it
// was before: its folders, its settings, their modes.
func TestSeat_claudeUninstalls(t *testing.T) {
	s := newSeated(t)
	s.ours(t, "uninstall", "claude")
	if text := folderHash(t, s.pluginHome()); text != s.before {
		t.Error("the plugin's folder is not what it was before")
	}
	o := s.open(t)
	o.say(t, "Say that you are there.") // makes the product's own files
	o.leave(t)
	putFile(t, filepath.Join(s.Home, ".claude", "settings.json"), "{\n  // mine\n  \"cleanupPeriodDays\": 30\n}\n")
	for _, below := range []string{filepath.Join(s.Home, ".claude", "skills", "mine"), filepath.Join(s.Project, ".claude")} {
		if err := os.MkdirAll(below, 0o750); err != nil {
			t.Fatal(err)
		}
	}
	putFile(t, filepath.Join(s.Home, ".claude", "skills", "mine", "SKILL.md"), "---\nname: mine\n---\n")
	putFile(t, filepath.Join(s.Project, ".claude", "settings.local.json"), `{"permissions":{"allow":["Bash(ls:*)"]}}`)
	hash := func() [3]string {
		sum := sha256.Sum256(readFile(t, filepath.Join(s.Home, ".claude.json")))
		return [3]string{folderHash(t, filepath.Join(s.Home, ".claude")), folderHash(t, s.Project), hex.EncodeToString(sum[:])}
	}
	before := hash()
	s.ours(t, "install", "claude")
	s.ours(t, "install", "claude", "--project")
	if between := hash(); between[0] == before[0] || between[1] == before[1] {
		t.Error("nothing was installed")
	}
	s.ours(t, "uninstall", "claude", "--project")
	s.ours(t, "uninstall", "claude")
	if after := hash(); after != before {
		t.Errorf("after: %q, before: %q", after, before)
	}
	t.Logf("~/.claude, the project and ~/.claude.json, before and after: %q", before)
}

// pixel is a picture of one pixel.
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// A picture that the user pasted, and what was typed while the model worked, are still there after a
// compaction and a resume.
func TestSeat_claudeKeepsPicturesAndQueuedPrompts(t *testing.T) {
	tries(t, "seat")
	s := newSeated(t)
	putFile(t, filepath.Join(s.Project, "notes.txt"), strings.Repeat("What was done so far, line by line.\n", 120))
	o := s.open(t)
	s.chore(work("alpha", 30)...)
	o.say(t, "Do the first chore.")
	s.chore(append([]string{"cat notes.txt", "sleep 4; cat notes.txt"}, work("beta", 6)...)...)
	content := []any{map[string]any{"type": "text", "text": "Do the second chore, see the picture."},
		map[string]any{"type": "image", "source": map[string]string{"type": "base64", "media_type": "image/png", "data": pixel}}}
	running := make(chan struct{})
	s.slow = running
	o.sendContent(t, content)
	<-running
	o.send(t, "And mind the QUEUED-WORDS.")
	o.result(t)
	if r := s.conversation(t); !r.Contains("QUEUED-WORDS") {
		o.result(t) // it was a turn of its own
	}
	files, _ := filepath.Glob(filepath.Join(s.Home, ".claude/projects/*/*.jsonl"))
	t.Logf("queued prompts in the file: %d", bytes.Count(readFile(t, files[0]), []byte(`"type":"queued_command"`)))
	whole := s.conversation(t)
	checkContains(t, whole, true, "QUEUED-WORDS", pixel)
	o.say(t, "/compact")
	o.say(t, "Go on, LIVE.")
	live := s.conversation(t)
	checkContains(t, live, true, "QUEUED-WORDS", pixel)
	t.Logf("before %d, after %d bytes; the picture is sent: %v", len(strings.Join(messagesOf(whole), "")),
		len(strings.Join(messagesOf(live), "")), live.Contains(pixel))
	o.leave(t)
	s.anchored(t)
	o = s.open(t, "-c")
	o.say(t, "Go on, RESUMED.")
	resumed := s.conversation(t)
	sameContext(t, "picture and queued prompt", live, resumed)
	if live.Contains(pixel) != resumed.Contains(pixel) {
		t.Errorf("the picture: %v before, %v after resuming", live.Contains(pixel), resumed.Contains(pixel))
	}
	checkContains(t, resumed, true, "QUEUED-WORDS")
	o.leave(t)
}

// sendContent types a prompt with more than text.
func (o *open) sendContent(t *testing.T, content any) {
	t.Helper()
	line, err := json.Marshal(map[string]any{"type": "user", "message": map[string]any{"role": "user", "content": content}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.in.Write(append(line, '\n')); err != nil {
		t.Fatalf("%v\n%s", err, o.errs)
	}
}

// Above 5 MiB the product reads nothing before a boundary without anchors.
func TestSeat_claudeLargeFiles(t *testing.T) {
	tries(t, "seat")
	s := newSeated(t)
	putFile(t, filepath.Join(s.Project, "notes.txt"), strings.Repeat("What was done so far, line by line.\n", 120))
	o := s.open(t)
	s.chore(work("alpha", 16)...)
	o.say(t, "Do the first chore.")
	o.leave(t)
	files, _ := filepath.Glob(filepath.Join(s.Home, ".claude/projects/*/*.jsonl"))
	text := readFile(t, files[0])
	record := `{"type":"api-request-blob","sessionId":"s","data":"` + strings.Repeat("the gulls cry ", 6000) + "\"}\n"
	first := bytes.IndexByte(text, '\n') + 1
	putFile(t, files[0], string(text[:first])+strings.Repeat(record, 1+(5<<20)/len(record))+string(text[first:]))

	for i, name := range []string{"above 5 MiB", "above 5 MiB, second compaction"} {
		o = s.open(t, "-c")
		s.chore(work(fmt.Sprint("beta-", i), 24)...)
		o.say(t, "Do the next chore.")
		whole := len(strings.Join(messagesOf(s.conversation(t)), ""))
		o.say(t, "/compact")
		o.say(t, "Go on, LIVE.")
		live := s.conversation(t)
		t.Logf("before %d, after %d bytes, the file has %d", whole, len(strings.Join(messagesOf(live), "")), len(readFile(t, files[0])))
		o.leave(t)
		s.anchored(t)
		o = s.open(t, "-c")
		o.say(t, "Go on, RESUMED.")
		sameContext(t, name, live, s.conversation(t))
		o.leave(t)
	}
}
