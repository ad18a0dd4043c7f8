package command

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/simulation"
	"github.com/winnowhq/winnow/desk/config"
)

// withDays is a desk with a folder of made-up sessions, written an hour ago, and nothing
// configured.
func withDays(t *testing.T, sessions, steps int) (d *desk, folder string) {
	d = newDesk(t)
	d.env = []string{"HOME=" + filepath.Join(d.dir, "..", "home"), "XDG_CACHE_HOME=" + filepath.Join(d.dir, "..", "cache")}
	folder = filepath.Join(d.dir, "days")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	shelfOfDays(t, folder, sessions, steps)
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		before := time.Now().Add(-time.Hour)
		if err := os.Chtimes(file, before, before); err != nil {
			t.Fatal(err)
		}
	}
	return d, folder
}

// results is the file in which results are remembered, and how many lines it has.
func (d *desk) results() (file string, lines int) {
	file = filepath.Join(d.dir, "..", "cache", "winnow", "replay", "results.jsonl")
	text, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		d.t.Fatal(err)
	}
	return file, bytes.Count(text, []byte("\n"))
}

func TestReplay_whatDidNotChangeIsNotReplayedAgain(t *testing.T) {
	d, folder := withDays(t, 3, 35)
	run := func() string {
		o := d.run("replay", folder, "--policy", "nothing,balanced", "--json")
		o.wants(t, cli.ExitDone)
		return o.stdout
	}
	first := run()
	if _, lines := d.results(); lines != 3*(1+2) {
		t.Errorf("%d lines are remembered, want one for each session and one for each of its two policies", lines)
	}
	if again := run(); again != first {
		t.Errorf("the second time it says something else:\n%s\nthe first time:\n%s", again, first)
	}
	if _, lines := d.results(); lines != 9 {
		t.Errorf("the second time more was written: %d lines", lines)
	}
	changed := filepath.Join(folder, "0001.jsonl")
	text, err := os.ReadFile(changed)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(changed, text[:bytes.LastIndexByte(text[:len(text)-1], '\n')+1], 0o644); err != nil {
		t.Fatal(err)
	}
	if run() == first {
		t.Error("a session has lost its last message, and the report is as it was")
	}
}

func TestReplay_isTheSameWhoeverIsDoneFirst(t *testing.T) {
	d, folder := withDays(t, 5, 30)
	alone := d.run("replay", folder, "--json", "--fresh", "--jobs", "1")
	alone.wants(t, cli.ExitDone)
	together := d.run("replay", folder, "--json", "--fresh", "--jobs", "5")
	if together.stdout != alone.stdout {
		t.Error("five at a time give another report than one at a time")
	}
}

func TestReplay_interruptedItGoesOn(t *testing.T) {
	sequential(t)
	d, folder := withDays(t, 40, 60)
	cmd := d.command("replay", folder, "--policy", "nothing,balanced,mask:10", "--jobs", "1", "--json")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for range 500 { // until something is remembered
		if _, lines := d.results(); lines > 4 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	cmd.Process.Signal(os.Interrupt)
	wantExit(t, cmd, cli.ExitInterrupted)
	file, before := d.results()
	if before == 0 {
		t.Fatalf("nothing is in %s", file)
	}
	self := d.command("replay", folder, "--policy", "nothing,balanced,mask:10", "--json")
	var out bytes.Buffer
	self.Stdout = &out
	if err := self.Run(); err != nil {
		t.Fatal(err)
	}
	if _, after := d.results(); after != 40*(1+3) {
		t.Errorf("%d lines are remembered, %d of them before it was stopped; want %d: none was found out twice", after, before, 40*(1+3))
	}
	whole := d.command("replay", folder, "--policy", "nothing,balanced,mask:10", "--json", "--fresh")
	again, err := whole.Output()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(again, out.Bytes()) {
		t.Error("the replay that was stopped and went on says something else than one that was not")
	}
}

// ownFile is the user's own configuration.
func ownFile(d *desk) string {
	return filepath.Join(d.dir, "..", "home", ".config", "winnow", "winnow.jsonc")
}

func content(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestReplay_appliesWhatItRecommends(t *testing.T) {
	sequential(t)
	d, folder := withDays(t, 3, 150)
	own := ownFile(d)
	args := []string{"replay", folder, "--policy", "nothing,classic", "--sweep", "compaction.threshold=40k,60k", "--regrets", "90", "--prices", "reference"}
	o := d.run(append(args, "--apply")...)
	o.wants(t, cli.ExitDone)
	for _, want := range []string{"Recommended: balanced threshold=", "3 sessions (450 steps) of 1 source", "home/.config/winnow/winnow.jsonc:\n+ {\n", `"threshold": {"*": `, "Undo with: rm " + own} {
		if !strings.Contains(o.stdout, want) {
			t.Errorf("it does not say %q:\n%s", want, o.stdout)
		}
	}
	for _, want := range []string{"what is chosen on the other sessions costs", "of compact (compaction alone)",
		"Claude Code reads no winnow.jsonc; the gateway does: `winnow wrap claude`. No setting of its own is recommended: no compaction alone at a number of tokens"} {
		if said := strings.Join(strings.Fields(o.stdout), " "); !strings.Contains(said, want) {
			t.Errorf("it does not say %q:\n%s", want, said)
		}
	}
	loaded, err := config.Load(config.Sources{File: own})
	if err != nil || loaded.Settings.Compaction.Threshold["*"] < 40_000 {
		t.Errorf("the configuration has %v: %v", loaded.Settings.Compaction.Threshold, err)
	}
	if strings.Contains(o.stdout, "--apply writes") {
		t.Errorf("it says what --apply would do, and does it:\n%s", o.stdout)
	}
	o = d.run(append(args, "--apply")...)
	o.wants(t, cli.ExitDone)
	if !strings.Contains(o.stdout, "Nothing to write") || strings.Contains(o.stdout, "What is recommended is what") {
		t.Errorf("the second time it says:\n%s", o.stdout)
	}

	// What was set otherwise goes back, comments stay, and the file can be had back.
	before := "{\n\t// mine\n\t\"policy\": \"aggressive\",\n\t\"compaction\": {\"protect\": 7000, \"protectedTools\": [\"read\"]}\n}\n"
	d.configure(before)
	if err := os.Chmod(own, 0o600); err != nil {
		t.Fatal(err)
	}
	o = d.run("replay", folder, "--policy", "nothing,balanced/compact@40k", "--regrets", "90", "--prices", "reference", "--apply", "--json")
	o.wants(t, cli.ExitDone)
	var doc struct {
		Advice struct {
			Policy   string            `json:"policy"`
			Settings map[string]string `json:"settings"`
		} `json:"advice"`
	}
	if err := json.Unmarshal([]byte(o.stdout), &doc); err != nil || doc.Advice.Policy == "" {
		t.Fatalf("the document: %v\n%s", err, o.stdout)
	}
	if !strings.Contains(o.stderr, "Undo with: mv "+own+".orig "+own) {
		t.Errorf("with --json it says on standard error:\n%s", o.stderr)
	}
	for _, name := range []string{own, own + ".orig"} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s can be read by others now: %v, %v", name, info.Mode(), err)
		}
	}
	if got := content(t, own+".orig"); got != before {
		t.Errorf("what was there is kept as\n%s", got)
	}
	loaded, err = config.Load(config.Sources{File: own})
	switch s := loaded.Settings; {
	case err != nil:
		t.Error(err)
	case !strings.Contains(content(t, own), "// mine"):
		t.Error("the comment is gone")
	case s.Policy != "balanced" || s.Compaction.Protect != 40_000 || s.Compaction.Threshold["*"] != 40_000:
		t.Errorf("%s is recommended; in force are %s and a protected zone of %d", doc.Advice.Policy, s.Policy, s.Compaction.Protect)
	case !slices.Contains(s.Compaction.ProtectedTools, "read"):
		t.Errorf("what was protected is not any more: %v", s.Compaction.ProtectedTools)
	}
}

// Compaction alone is replayed beside what is to be applied, and nothing that costs more is written.
func TestReplay_appliesNothingDearerThanCompactionAlone(t *testing.T) {
	sequential(t)
	d, folder := withDays(t, 3, 150)
	o := d.run("replay", folder, "--policy", "nothing,aggressive", "--regrets", "90", "--prices", "reference", "--apply")
	o.wants(t, cli.ExitNothing)
	if !strings.Contains(o.stdout, " compact ") || !strings.Contains(o.stdout, "No recommendation: ") {
		t.Errorf("it says\n%s", o.stdout)
	}
	if _, err := os.Stat(ownFile(d)); err == nil {
		t.Error("it wrote a configuration")
	}
}

func TestReplay_appliesNothingThatTheFileSaysAlready(t *testing.T) {
	sequential(t)
	d, folder := withDays(t, 3, 150)
	args := []string{"replay", folder, "--policy", "nothing,balanced/compact@economic", "--regrets", "90", "--prices", "reference", "--apply"}
	d.run(args...).wants(t, cli.ExitDone)
	own := ownFile(d)
	before := content(t, own)
	d.env = append(d.env, "WINNOW_COMPACTION_THRESHOLD=90000")
	o := d.run(args...)
	o.wants(t, cli.ExitDone)
	if !strings.Contains(o.stdout, "Nothing to write: "+own+" says it already\nStill set otherwise, `winnow config` shows where: compaction.threshold\n") {
		t.Errorf("it says\n%s", o.stdout)
	}
	if after := content(t, own); after != before {
		t.Errorf("it was\n%s\nand is\n%s", before, after)
	}
	if _, err := os.Stat(own + ".orig"); err == nil {
		t.Error("there is a copy of what did not change")
	}
}

func TestReplay_saysHowToUndoInWordsThatAShellTakes(t *testing.T) {
	sequential(t)
	d, folder := withDays(t, 3, 150)
	d.put("my lamp's.jsonc", []byte("{}"))
	o := d.run("replay", folder, "--policy", "nothing,balanced/compact@economic", "--regrets", "90", "--prices", "reference", "--apply", "--config", filepath.Join(d.dir, "my lamp's.jsonc"))
	o.wants(t, cli.ExitDone)
	_, undo, found := strings.Cut(o.stdout, "Undo with: ")
	if !found {
		t.Fatalf("it does not say how to undo:\n%s", o.stdout)
	}
	cmd := exec.Command("sh", "-c", undo)
	cmd.Dir = d.dir
	if out, err := cmd.CombinedOutput(); err != nil || string(d.read("my lamp's.jsonc")) != "{}" {
		t.Errorf("%s: %v %s", undo, err, out)
	}
}

func TestReplay_aFolderThatMayNotBeReadIsNamed(t *testing.T) {
	if os.Getuid() == 0 || runtime.GOOS == "windows" {
		t.Skip("root reads everything")
	}
	d, folder := withDays(t, 1, 2)
	if err := os.Chmod(folder, 0); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(folder, 0o755)
	o := d.run("replay", folder)
	o.wants(t, cli.ExitFailed)
	if !strings.Contains(o.stderr, "permission denied") || !strings.Contains(o.stderr, folder) {
		t.Errorf("it says %q", o.stderr)
	}
}

func TestReplay_everywhereOnTheComputer(t *testing.T) {
	d := onComputerDesk(t)
	o := d.run("replay", "--everywhere", "--json", "--policy", "nothing")
	o.wants(t, cli.ExitDone)
	var doc simulation.Document
	if err := json.Unmarshal([]byte(o.stdout), &doc); err != nil || doc.Sessions < 3 {
		t.Errorf("%d sessions: %v", doc.Sessions, err)
	}
	products := map[string]bool{}
	for _, s := range doc.Recorded {
		products[s.Product] = true
	}
	if len(products) < 3 {
		t.Errorf("they are of %v", products)
	}
}

func TestReplay_tellsOnATerminalHowFarItIs(t *testing.T) {
	d, folder := withDays(t, 2, 5)
	d.terminal, d.now = true, hasty()
	o := d.run("replay", folder)
	o.wants(t, cli.ExitDone)
	if !strings.Contains(o.stderr, "replaying: 1 of 2 sessions") || !strings.HasSuffix(o.stderr, "\r\x1b[K") {
		t.Errorf("it said %q", o.stderr)
	}
	if quiet := d.run("replay", folder, "-q"); quiet.stderr != "" {
		t.Errorf("with -q it said %q", quiet.stderr)
	}
}
