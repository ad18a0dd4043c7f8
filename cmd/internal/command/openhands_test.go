package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/cmd/internal/cli"
)

const orchardID = "5d2e0000-0000-4000-8000-000000000007"

// says checks what was printed.
func (o outcome) says(t *testing.T, code int, phrases ...string) {
	t.Helper()
	o.wants(t, code)
	for _, phrase := range phrases {
		if !strings.Contains(o.stdout, phrase) {
			t.Errorf("%q is not printed:\n%s", phrase, o.stdout)
		}
	}
}

// withOpenHands is a desk whose home has a conversation of OpenHands, and one of a sub-agent in it.
func withOpenHands(t *testing.T) (d *desk, folder string) {
	t.Helper()
	d = newDesk(t)
	folder = filepath.Join(filepath.Dir(d.dir), "home", ".openhands", "conversations", "5d2e0000000040008000000000000007")
	if err := os.CopyFS(folder, os.DirFS("../../../format/openhands/testdata/conversations/5d2e0000000040008000000000000007")); err != nil {
		t.Fatal(err)
	}
	return d, folder
}

func TestOpenHandsFolder_aConversationIsASource(t *testing.T) {
	sequential(t)
	d, folder := withOpenHands(t)
	for _, n := range []string{"00003", "00005"} { // much to fold
		names, err := filepath.Glob(filepath.Join(folder, "events", "event-"+n+"-*"))
		if err != nil || len(names) != 1 {
			t.Fatal(names, err)
		}
		text, err := os.ReadFile(names[0])
		if err != nil {
			t.Fatal(err)
		}
		text = []byte(strings.Replace(string(text), "dense", strings.Repeat("dense as ever, and denser in the middle\\n", 2000), 1))
		if err := os.WriteFile(names[0], text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	joined := ""
	names, err := filepath.Glob(filepath.Join(folder, "events", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append([]string{filepath.Join(folder, "base_state.json")}, names...) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		joined += string(text) + "\n"
	}
	d.put("joined.jsonl", []byte(joined))
	want := d.run("inspect", "joined.jsonl", "--json").document(t)
	delete(want, "source")
	for _, src := range []string{folder, folder + "/", "openhands:" + orchardID, "openhands:5d2e"} {
		out := d.run("inspect", src, "--json")
		out.wants(t, cli.ExitDone)
		got := out.document(t)
		delete(got, "source")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("inspect %s differs from that of its files in one (-file +folder):\n%s", src, diff)
		}
	}
	if out := d.run("view", folder); out.stdout == "" || out.stdout != d.run("view", "joined.jsonl").stdout {
		t.Errorf("view shows %s", out.stdout)
	}
	d.run("show", folder, "--json").says(t, cli.ExitDone, "rows/north.txt")
	d.run("list", "--everywhere").says(t, cli.ExitDone, "openhands:5d2e0000", "Which trees want pruning?", "1 session of a sub-agent")

	d.run("compact", folder, "--in-place").wants(t, cli.ExitUsage, "never written to")
	d.run("compact", folder).wants(t, cli.ExitFailed, "--format")
	d.run("compact", folder, "--format", "opencode").says(t, cli.ExitDone, orchardID+".compacted.json")
	d.run("compact", "joined.jsonl", "--format", "opencode", "-o", "from-file.json").wants(t, cli.ExitDone)
	if got := d.run("view", orchardID+".compacted.json").stdout; got == "" || got != d.run("view", "from-file.json").stdout {
		t.Error("compacted from the folder it is another session than compacted from the files in one")
	}
}

func TestOpenHandsFolder_isImportedOnceAndGoesOn(t *testing.T) {
	sequential(t)
	d, folder := withOpenHands(t)
	kept := filepath.Dir(folder)
	doc := d.run("inspect", kept, "--json").document(t)
	if sessions, _ := doc["sessions"].([]any); len(sessions) != 2 {
		t.Errorf("inspect of all conversations lists %v", doc)
	}
	doc = d.run("import", filepath.Dir(kept), "--json").document(t)
	if sessions, failed := doc["sessions"].([]any), doc["failed"].([]any); len(sessions) != 2 || len(failed) != 0 || doc["files"] != 2.0 {
		t.Fatalf("imported %v", doc)
	}
	d.run("list").says(t, cli.ExitDone, orchardID, "6e3f0000-0000-4000-8000-000000000008", "2 messages")
	doc = d.run("import", kept, "--json").document(t)
	if doc["unchanged"] != 2.0 {
		t.Errorf("the second time: %v", doc)
	}
	event := `{"id":"n","source":"user","kind":"MessageEvent","llm_message":{"role":"user","content":"Thanks."}}`
	if err := os.WriteFile(filepath.Join(folder, "events", "event-00010-0a0a0a0a.json"), []byte(event), 0o644); err != nil {
		t.Fatal(err)
	}
	d.run("import", folder).says(t, cli.ExitDone, "1 of 7 messages are new")
	d.run("view", orchardID).says(t, cli.ExitDone, "Thanks.")
	d.run("export", orchardID, "-o", "out.json").wants(t, cli.ExitDone)
	d.run("inspect", "out.json").wants(t, cli.ExitDone)
}

func TestOpenHandsFolder_anUnreadableEventIsDamage(t *testing.T) {
	d, folder := withOpenHands(t)
	names, err := filepath.Glob(filepath.Join(folder, "events", "event-00005-*"))
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	if err := os.WriteFile(names[0], []byte(`{"id":"x","kind":"Obs`), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"inspect", folder}, {"view", folder}, {"import", folder}} {
		out := d.run(args...)
		out.wants(t, cli.ExitPartly)
		if text := out.stdout + out.stderr; !strings.Contains(text, filepath.Base(names[0])) || !strings.Contains(text, "cut short") {
			t.Errorf("%v does not name the file:\n%s", args, text)
		}
	}
	damaged, _ := d.run("inspect", folder, "--json").document(t)["damaged"].([]any)
	if len(damaged) != 1 {
		t.Errorf("damaged: %v", damaged)
	}
	d.run("view", folder).says(t, cli.ExitPartly, "In February")
}
