//go:build unix

package command

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow/cmd/internal/change"
	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/model"
)

var inPlaceRuns = flag.Int("inplace-runs", 4, "how often each format's file is compacted in place while a line is added to it every millisecond")

// added is an entry that a product adds to its file, behind another.
func added(format string, n int) string {
	switch format {
	case "claude":
		parent := fmt.Sprintf("10000000-0000-4000-8000-%012d", n-1)
		if n == 0 {
			parent = "00000000-0000-4000-8000-000000000024"
		}
		return fmt.Sprintf(`{"parentUuid":%q,"isSidechain":false,"type":"user","message":{"role":"user","content":"tick %d"},"uuid":"10000000-0000-4000-8000-%012d","timestamp":"2026-03-01T11:00:00.000Z","cwd":"/coast","sessionId":"0f1e2d3c-4b5a-4678-9abc-def012345678","version":"2.1.197"}`, parent, n, n)
	case "pi":
		parent := fmt.Sprintf("t%07d", n-1)
		if n == 0 {
			parent = "00000018"
		}
		return fmt.Sprintf(`{"type":"message","id":"t%07d","parentId":%q,"timestamp":"2026-03-01T11:00:00.000Z","message":{"role":"user","content":[{"type":"text","text":"tick %d"}],"timestamp":1772362800000}}`, n, parent, n)
	}
	return fmt.Sprintf(`{"timestamp":"2026-03-01T11:00:00.000Z","type":"event_msg","payload":{"type":"user_message","message":"tick %d"}}`, n)
}

// addedAround is the first of those lines from a program that goes on from a message that was
// folded, not from the newest one.
func addedAround(format string) string {
	return strings.NewReplacer("00000000-0000-4000-8000-000000000024", "00000000-0000-4000-8000-000000000010",
		`"00000018"`, `"0000000a"`).Replace(added(format, 0))
}

// appendLine adds a line as Claude Code and pi do: the file is opened, written to and closed.
func appendLine(path, line string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line + "\n")
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

// A writer that adds a line every millisecond loses none, whether the command refuses or is forced.
func TestInPlace_aLineEveryMillisecondLosesNone(t *testing.T) {
	for _, name := range []string{"claude", "pi", "codex"} {
		t.Run(name, func(t *testing.T) {
			replaced, refused, written, late, disordered := 0, 0, 0, 0, 0
			for run := range *inPlaceRuns {
				d := newDesk(t)
				path := filepath.Join(d.dir, d.take(name+".jsonl"))
				stop, ended := make(chan bool), make(chan []string)
				go func() {
					var lines []string
					for tick := time.NewTicker(time.Millisecond); ; {
						select {
						case <-stop:
							ended <- lines
							return
						case <-tick.C:
							line := added(name, len(lines))
							if err := appendLine(path, line); err != nil {
								t.Error(err)
							}
							lines = append(lines, line)
						}
					}
				}()
				args := []string{"compact", name + ".jsonl", "--in-place", "--json"}
				if run%4 != 3 {
					args = append(args, "--force")
				}
				o := d.outcome(d.command(args...))
				stop <- true
				lines := <-ended
				switch o.code {
				case cli.ExitDone, cli.ExitPartly:
					replaced++
				case cli.ExitFailed:
					refused++
					o.wants(t, cli.ExitFailed, "was not replaced")
				default:
					t.Fatalf("exit code %d: %s", o.code, o.stderr)
				}
				text := string(d.read(name + ".jsonl"))
				last := 0
				for _, line := range lines {
					if at := strings.Index(text, line+"\n"); at < last {
						disordered++
					} else {
						last = at
					}
					if n := strings.Count(text, line+"\n"); n != 1 {
						t.Fatalf("run %d of %v (exit code %d): a line that was added is there %d times: %s", run, args, o.code, n, line)
					}
				}
				written += len(lines)
				late += carriedLines(o)
			}
			t.Logf("%s: %d runs, %d replaced the file, %d refused; %d lines were added meanwhile, %d of them after the file was read; none is missing, %d stand behind a newer one", name, *inPlaceRuns, replaced, refused, written, late, disordered)
			if disordered > 0 {
				t.Error("lines are not in the order in which they were added")
			}
			if replaced == 0 || written == 0 {
				t.Error("nothing was tried")
			}
		})
	}
}

func carriedLines(o outcome) int {
	var doc compaction
	if json.Unmarshal([]byte(o.stdout), &doc) != nil || doc.InPlace == nil {
		return 0
	}
	return doc.InPlace.CarriedLines
}

// Two commands at once: the second waits, and reads what the first has written.
func TestInPlace_twoAtOnceBothCount(t *testing.T) {
	d := newDesk(t)
	file := d.take("claude.jsonl")
	parts := []string{"toolu_02", "toolu_05"}
	outcomes := make([]outcome, len(parts))
	var both sync.WaitGroup
	for i, part := range parts {
		both.Go(func() { outcomes[i] = d.outcome(d.command("discard", file, part, "--in-place")) })
	}
	both.Wait()
	for _, o := range outcomes {
		o.wants(t, cli.ExitDone)
	}
	o := d.run("inspect", file, "--json")
	o.wants(t, cli.ExitDone)
	for _, part := range parts {
		e := d.run("explain", file, part)
		e.wants(t, cli.ExitDone)
		if !strings.Contains(e.stdout, "left out ") {
			t.Errorf("that %s was discarded has vanished: %s", part, e.stdout)
		}
	}
	if n := len(d.originals()); n != 2 {
		t.Errorf("%d originals are kept", n)
	}
}

func TestInPlace_modeOwnerAndLinkStay(t *testing.T) {
	d := newDesk(t)
	file := d.take("claude.jsonl")
	path := filepath.Join(d.dir, file)
	if err := os.Symlink(file, filepath.Join(d.dir, "link.jsonl")); err != nil {
		t.Skip(err)
	}
	root := os.Getuid() == 0
	if root {
		if err := os.Chown(path, 1234, 2345); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(path, 0o440); err != nil {
		t.Fatal(err)
	}
	before := d.read(file)
	d.run("prune", "link.jsonl", "--in-place").wants(t, cli.ExitDone)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o440 || bytes.Equal(d.read(file), before) {
		t.Errorf("the file is %v, %v", info.Mode(), err)
	}
	if target, err := os.Readlink(filepath.Join(d.dir, "link.jsonl")); err != nil || target != file {
		t.Errorf("the link leads to %q, %v", target, err)
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); root && (!ok || owner.Uid != 1234 || owner.Gid != 2345) {
		t.Errorf("the file belongs to %+v", owner)
	}
	if diff := d.names(); !slices.Equal(diff, []string{file, "link.jsonl"}) {
		t.Errorf("the folder has %v", diff)
	}
	d.run("undo", "link.jsonl", "--in-place").wants(t, cli.ExitDone) // what winnow itself has just written is no agent's work
	if !bytes.Equal(d.read(file), before) {
		t.Error("it is not as it was")
	}
}

// On another disk than winnow's data the original is linked beside the file first, and is copied
// when the file has settled.
func TestInPlace_onAnotherDisk(t *testing.T) {
	d := newDesk(t)
	file := d.take("claude.jsonl")
	other, err := os.MkdirTemp("/dev/shm", "winnow")
	if err != nil {
		t.Skip("there is no other disk: ", err)
	}
	t.Cleanup(func() { os.RemoveAll(other) })
	if err := os.Link(filepath.Join(d.dir, file), filepath.Join(other, "x")); err == nil {
		t.Skip("/dev/shm is the same disk")
	}
	d.env = append(d.env, "XDG_DATA_HOME="+other)
	before := d.read(file)
	o := d.run("prune", file, "--in-place", "--json")
	o.wants(t, cli.ExitDone)
	var doc pruning
	if err := json.Unmarshal([]byte(o.stdout), &doc); err != nil {
		t.Fatal(err)
	}
	if kept := d.originals(); len(kept) != 1 || !bytes.Equal(kept[0], before) || doc.InPlace.Beside || !strings.HasPrefix(doc.InPlace.Original, other) {
		t.Errorf("%d originals are kept: %+v", len(kept), doc.InPlace)
	}
	if names := d.names(); len(names) != 1 {
		t.Errorf("the folder has %v", names)
	}

	// A program that keeps the file open: the link stays beside the file until it is gone.
	w := keepOpen(t, filepath.Join(d.dir, file), "writer")
	d.run("undo", file, "--in-place").wants(t, cli.ExitFailed, "(open)")
	o = d.run("undo", file, "--in-place", "--force", "--json")
	o.wants(t, cli.ExitPartly, "still has the original open")
	var undone change.Document
	if err := json.Unmarshal([]byte(o.stdout), &undone); err != nil {
		t.Fatal(err)
	}
	if !undone.InPlace.Beside || filepath.Dir(undone.InPlace.Original) != d.dir {
		t.Errorf("the original is %+v", undone.InPlace)
	}
	w.say("late")
	d.run("doctor", file).wants(t, cli.ExitPartly)
	if kept := d.originals(); !bytes.HasSuffix(kept[0], []byte("late\n")) {
		t.Error("what was written late is lost")
	}
}

// writer is a program that keeps a file open and writes to it when it is told to.
type writer struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func keepOpen(t *testing.T, path, name string) *writer {
	t.Helper()
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		t.Skip("this system does not show who has a file open")
	}
	w := &writer{t: t, cmd: exec.Command("sh", "-c", `exec 3>>"$0"; echo ready; while read -r l; do printf '%s\n' "$l" >&3; echo done; done`, path)}
	w.cmd.Args[0] = name
	in, err := w.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	w.in, w.out = in, bufio.NewReader(out)
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.end)
	w.heard("ready")
	return w
}

func (w *writer) heard(word string) {
	w.t.Helper()
	if got, err := w.out.ReadString('\n'); err != nil || strings.TrimSpace(got) != word {
		w.t.Fatalf("the writer says %q, %v", got, err)
	}
}

func (w *writer) say(line string) {
	w.t.Helper()
	if _, err := io.WriteString(w.in, line+"\n"); err != nil {
		w.t.Fatal(err)
	}
	w.heard("done")
}

func (w *writer) end() {
	w.in.Close()
	w.cmd.Wait()
}

func TestInPlace_aFileThatIsOpenIsRefused(t *testing.T) {
	d := newDesk(t)
	file := d.take("codex.jsonl")
	before := d.read(file)
	w := keepOpen(t, filepath.Join(d.dir, file), "codex")
	d.client = func(model.Model) (llm.Client, error) {
		t.Error("a model is asked for a summary that cannot be used")
		return nil, io.EOF
	}
	d.run("compact", file, "--in-place", "--summarizer", "llm").wants(t, cli.ExitFailed, "it is open in codex (process", "(open)", "end that program", "--force replaces it all the same")
	d.client = nil
	if len(d.originals()) > 0 || !bytes.Equal(d.read(file), before) {
		t.Fatal("something was done")
	}
	var seen diagnosis
	o := d.run("doctor", file, "--json")
	o.wants(t, cli.ExitDone)
	if err := json.Unmarshal([]byte(o.stdout), &seen); err != nil || len(seen.Open) != 1 || !seen.Open[0].Writing {
		t.Errorf("doctor sees %+v, %v", seen.Open, err)
	}

	d.run("compact", file, "--in-place", "--force").wants(t, cli.ExitPartly, "codex (process", "still has the original open", "winnow doctor codex.jsonl")
	line := added("codex", 7)
	w.say(line)
	if kept := d.originals(); len(kept) != 1 || string(kept[0]) != string(before)+line+"\n" {
		t.Error("what was written late is not in the original")
	}
	o = d.run("doctor", file, "--json")
	o.wants(t, cli.ExitPartly)
	if err := json.Unmarshal([]byte(o.stdout), &seen); err != nil || len(seen.Findings) != 1 || seen.Findings[0].Code != grownOriginal || !strings.Contains(seen.Findings[0].What, "has 1 line that") {
		t.Errorf("doctor finds %+v, %v", seen.Findings, err)
	}
	d.run("doctor").wants(t, cli.ExitPartly)
	d.run("originals", "prune", "--all").wants(t, cli.ExitNothing)
	w.end()
	d.run("originals", "prune", "--all").wants(t, cli.ExitNothing) // the line is nowhere else
	if err := appendLine(filepath.Join(d.dir, file), line); err != nil {
		t.Fatal(err)
	}
	d.run("doctor", file).wants(t, cli.ExitDone)
	d.run("originals", "prune", "--all", "--force").wants(t, cli.ExitDone)
}

func TestInPlace_aFileThatWasWrittenJustNowIsRefused(t *testing.T) {
	d := newDesk(t)
	file := d.take("claude.jsonl")
	d.put(file, d.read(file))
	for _, args := range [][]string{{"compact", file, "--in-place"}, {"prune", file, "--in-place"}, {"discard", file, "toolu_02", "--in-place"}, {"restore", file, "toolu_02", "--in-place"}, {"undo", file, "--in-place"}} {
		d.run(args...).wants(t, cli.ExitFailed, "in the last 2 seconds", "(recent)", "wait for 2 seconds", "--force")
	}
	if len(d.originals()) > 0 {
		t.Error("something was done")
	}
	d.run("prune", file, "--in-place", "--force").wants(t, cli.ExitDone)
	d.run("undo", file, "--in-place").wants(t, cli.ExitDone)
	if err := appendLine(filepath.Join(d.dir, file), added("claude", 0)); err != nil {
		t.Fatal(err)
	}
	d.run("prune", file, "--in-place").wants(t, cli.ExitFailed, "(recent)") // it is not as winnow left it
}

func TestInPlace_anIncompleteLastLineIsRefusedAndStaysInTheOriginal(t *testing.T) {
	for _, name := range []string{"claude.jsonl", "pi.jsonl", "codex.jsonl"} {
		d := newDesk(t)
		file := d.take(name)
		whole := d.read(file)
		torn := `{"type":"user","mess`
		d.put(file, append(slices.Clip(whole), torn...))
		d.age(file)
		d.run("compact", file, "--in-place").wants(t, cli.ExitFailed, "its last line is incomplete (20 bytes", "(torn)", "--force")
		d.run("doctor", file).wants(t, cli.ExitPartly)
		d.run("compact", file, "--in-place", "--force").wants(t, cli.ExitPartly, "20 bytes at the end of the original")
		if bytes.Contains(d.read(file), []byte(torn)) {
			t.Errorf("%s: the incomplete line is in the new file", name)
		}
		if kept := d.originals(); len(kept) != 1 || string(kept[0]) != string(whole)+torn {
			t.Errorf("%s: the original is not as it was", name)
		}
		d.run("undo", file, "--in-place").wants(t, cli.ExitDone)
		if !bytes.Equal(d.read(file), whole) {
			t.Errorf("%s: what was undone is not what was there", name)
		}
	}
}

// idle is a running program of a name, in a folder.
func idle(t *testing.T, name, dir string) *exec.Cmd {
	t.Helper()
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		t.Skip("this system does not show which programs run")
	}
	cmd := exec.Command("sleep", "600")
	cmd.Args[0], cmd.Dir = name, dir
	if err := cmd.Start(); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return cmd
}

// Claude Code opens its file for each line and leaves a trace of what runs: an agent that sits idle
// in the session is found by that.
func TestInPlace_aLivingAgentIsRefused(t *testing.T) {
	d := newDesk(t)
	home := filepath.Join(filepath.Dir(d.dir), "home")
	project, sessions := filepath.Join(home, ".claude", "projects", "-coast"), filepath.Join(home, ".claude", "sessions")
	for _, folder := range []string{project, sessions} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(project, "0f1e2d3c-4b5a-4678-9abc-def012345678.jsonl")
	if err := os.Rename(filepath.Join(d.dir, d.take("claude.jsonl")), file); err != nil {
		t.Fatal(err)
	}
	trace := func(pid int, id string) {
		t.Helper()
		text := fmt.Sprintf(`{"pid":%d,"sessionId":%q,"cwd":"/coast","startedAt":1772362800000,"kind":"interactive"}`, pid, id)
		if err := os.WriteFile(filepath.Join(sessions, fmt.Sprint(pid, ".json")), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	agent := idle(t, "claude", d.dir)
	trace(agent.Process.Pid, "0f1e2d3c-4b5a-4678-9abc-def012345678")
	d.run("compact", file, "--in-place").wants(t, cli.ExitFailed, fmt.Sprintf("claude (process %d)", agent.Process.Pid), "(agent)", "end the agent", "--force")
	trace(agent.Process.Pid, "another")
	d.run("prune", file, "--in-place").wants(t, cli.ExitDone)
	other := idle(t, "vi", d.dir) // the number was given out again
	trace(other.Process.Pid, "0f1e2d3c-4b5a-4678-9abc-def012345678")
	d.run("undo", file, "--in-place").wants(t, cli.ExitDone)
	d.run("prune", file, "--in-place").wants(t, cli.ExitDone)
}

// Of other products it is only seen that one runs in the session's folder: that is said, and no
// more.
func TestInPlace_aClientInTheProjectIsSaid(t *testing.T) {
	d := newDesk(t)
	file := d.put("pi.jsonl", bytes.ReplaceAll(mustRead(t, filepath.Join("testdata", "sessions", "pi.jsonl")), []byte("/coast"), []byte(d.dir)))
	d.age(file)
	agent := idle(t, "pi", d.dir)
	o := d.run("prune", file, "--in-place")
	o.wants(t, cli.ExitDone, fmt.Sprintf("pi (process %d) is running in %s", agent.Process.Pid, d.dir), "end it")
}

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// An agent that sat idle goes on from before the compaction.
func TestDoctor_aCompactionThatIsGoneRound(t *testing.T) {
	sequential(t)
	for _, name := range []string{"claude", "pi"} {
		d := newDesk(t)
		file := d.take(name + ".jsonl")
		d.run("compact", file, "--in-place").wants(t, cli.ExitDone)
		compacted := d.read(file)
		d.run("doctor", file).wants(t, cli.ExitDone)
		path := filepath.Join(d.dir, file)
		for _, line := range []string{addedAround(name), added(name, 1)} {
			if err := appendLine(path, line); err != nil {
				t.Fatal(err)
			}
		}
		o := d.run("doctor", file, "--json")
		o.wants(t, cli.ExitPartly)
		var doc diagnosis
		if err := json.Unmarshal([]byte(o.stdout), &doc); err != nil {
			t.Fatal(err)
		}
		lines := bytes.Count(compacted, []byte("\n"))
		if len(doc.Findings) != 1 || doc.Findings[0].Code != bypassedFold || doc.Healthy || doc.Findings[0].Bypass.First != lines+1 || doc.Findings[0].Bypass.Entries != 2 {
			t.Errorf("%s: doctor finds %+v", name, doc.Findings)
		}

		// What goes on from the newest message is sound in Claude Code: it stays behind the
		// summary. In pi it is a branch from before the compaction.
		d.put(file, append(slices.Clip(compacted), added(name, 0)+"\n"...))
		d.run("doctor", file).wants(t, map[string]int{"claude": cli.ExitDone, "pi": cli.ExitPartly}[name])

		// So is what goes on from the summary, and a file of lines in their order.
		last := struct {
			UUID string `json:"uuid"`
			ID   string `json:"id"`
		}{}
		text := bytes.Split(bytes.TrimSpace(compacted), []byte("\n"))
		if err := json.Unmarshal(text[len(text)-1], &last); err != nil {
			t.Fatal(err)
		}
		line := strings.NewReplacer("00000000-0000-4000-8000-000000000024", last.UUID, `"00000018"`, fmt.Sprintf("%q", last.ID)).Replace(added(name, 0))
		d.put(file, append(slices.Clip(compacted), line+"\n"...))
		d.run("doctor", file).wants(t, cli.ExitDone)
	}
	d := newDesk(t)
	file := d.take("codex.jsonl")
	d.run("compact", file, "--in-place").wants(t, cli.ExitDone)
	if err := appendLine(filepath.Join(d.dir, file), added("codex", 0)); err != nil {
		t.Fatal(err)
	}
	d.run("doctor", file).wants(t, cli.ExitDone)
}

// What came while the file was replaced, and leads round the compaction, is told at once.
func TestInPlace_carriedLinesThatGoRoundTheCompactionAreTold(t *testing.T) {
	sequential(t)
	d := newDesk(t)
	file := d.take("claude.jsonl")
	line := addedAround("claude")
	once := false
	d.faults = func(step string) error {
		if step == "link" && !once { // the file was read and summarised, and is not replaced yet
			once = true
			return appendLine(filepath.Join(d.dir, file), line)
		}
		return nil
	}
	d.run("compact", file, "--in-place").wants(t, cli.ExitFailed, "it was written to since it was read", "(changed)", "--force")
	if !bytes.HasSuffix(d.read(file), []byte(line+"\n")) || len(d.originals()) > 0 {
		t.Fatal("the file was changed")
	}
	once = false
	d.take(file)
	o := d.run("compact", file, "--in-place", "--force", "--json")
	o.wants(t, cli.ExitPartly, "has no effect", "bypass it")
	var doc compaction
	if err := json.Unmarshal([]byte(o.stdout), &doc); err != nil || doc.InPlace.CarriedLines != 1 || len(doc.InPlace.Notes) != 1 {
		t.Errorf("%+v, %v", doc.InPlace, err)
	}
	if !bytes.HasSuffix(d.read(file), []byte(line+"\n")) {
		t.Error("the line is lost")
	}
}

func TestInPlace_minusOOverSRCIsInPlaceToo(t *testing.T) {
	d := newDesk(t)
	file := d.take("claude.jsonl")
	before := d.read(file)
	for _, args := range [][]string{{"prune", file, "-o", file, "--force"}, {"export", file, "-o", "./" + file, "--force", "--format", "opencode"}} {
		d.run(args...).wants(t, cli.ExitDone)
	}
	if kept := d.originals(); len(kept) != 2 || !bytes.Equal(kept[1], before) {
		t.Errorf("%d originals are kept", len(kept))
	}
}

func TestInPlace_withoutAHomeThereIsNoPlaceForOriginals(t *testing.T) {
	d := newDesk(t)
	file := d.take("claude.jsonl")
	d.env = smallSettings
	d.run("prune", file, "--in-place").wants(t, cli.ExitUsage, "no home folder", "XDG_DATA_HOME")
}

func TestInPlace_aPipeIsNotReplaced(t *testing.T) {
	d := newDesk(t)
	if err := syscall.Mkfifo(filepath.Join(d.dir, "pipe.jsonl"), 0o600); err != nil {
		t.Skip(err)
	}
	data := mustRead(t, filepath.Join("testdata", "sessions", "claude.jsonl"))
	go func() {
		if f, err := os.OpenFile(filepath.Join(d.dir, "pipe.jsonl"), os.O_WRONLY, 0); err == nil {
			f.Write(data)
			f.Close()
		}
	}()
	o := d.run("prune", "pipe.jsonl", "--in-place")
	if o.code == cli.ExitDone || slices.Contains(d.names(), "pipe.pruned.jsonl") {
		t.Errorf("exit code %d, and the folder has %v", o.code, d.names())
	}
}
