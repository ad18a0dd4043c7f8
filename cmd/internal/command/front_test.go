package command

import (
	"os"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/internal/llmtest"
)

// A session in OpenCode's database is compacted into a copy, which OpenCode imports before it goes
// on; nothing is written to the database.
func TestFront_aSessionInOpenCodesDatabase(t *testing.T) {
	d, database, id := withOpenCode(t)
	listed := d.run("list", "--everywhere", "--json").document(t)["sessions"].([]any)
	folder := ""
	for _, s := range listed {
		if s := s.(map[string]any); strings.HasSuffix(s["source"].(string), "#"+id) {
			folder, _ = s["project"].(string)
		}
	}
	if folder == "" {
		t.Fatalf("the session has no folder: %v", listed)
	}
	before, err := os.ReadFile(database)
	if err != nil {
		t.Fatal(err)
	}
	env := cli.System()
	var out strings.Builder
	env.Stdin, env.Stdout, env.Stderr, env.Dir, env.Environ = strings.NewReader(""), &out, &out, folder, d.env
	env.Key, env.StdoutTerminal, env.StderrTerminal = nil, false, false
	env.Getenv = func(name string) string {
		for _, pair := range d.env {
			if value, ok := strings.CutPrefix(pair, name+"="); ok {
				return value
			}
		}
		return ""
	}
	if code := (Program{}).Main(t.Context(), []string{}, env); code != cli.ExitDone {
		t.Fatalf("exit code %d:\n%s", code, out.String())
	}
	for _, want := range []string{"opencode · ", "compact   winnow compact latest -o ", " && opencode import ",
		" && opencode --session " + id, "wrap      winnow wrap opencode --session " + id} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing:\n%s", want, out.String())
		}
	}
	told := d.run("compact", "opencode:"+id, "-o", "smaller.json", "--json").document(t)
	if resume, _ := told["resume"].(string); !strings.HasPrefix(resume, "cd "+folder+" && opencode import /") ||
		!strings.HasSuffix(resume, "/smaller.json && opencode --session "+id) {
		t.Errorf("resume: %q", resume)
	}
	if after, err := os.ReadFile(database); err != nil || string(after) != string(before) {
		t.Errorf("the database was written to: %v", err)
	}
}

// A session that began in winnow's own store is among them, and goes on in winnow chat.
func TestFront_aSessionOfOurOwn(t *testing.T) {
	d, _ := agentDesk(t, llmtest.Sequence(llmtest.Reply{Text: "Nine gulls."}))
	d.run("run", "--yes", "Count the gulls.").wants(t, cli.ExitDone)
	doc := d.run("--json").document(t)
	now, _ := doc["session"].(map[string]any)
	if now["product"] != "winnow" || now["read"] != true || now["source"] != now["id"] {
		t.Fatalf("got %v", now)
	}
	id := now["id"].(string)
	if text := d.run("-q").stdout; !strings.Contains(text, "resume    winnow chat --session "+id) ||
		!strings.Contains(text, "compact   nothing to save: ") || strings.Contains(text, "wrap") {
		t.Errorf("it says\n%s", text)
	}
	d.run("show", "latest").wants(t, cli.ExitDone)
	d.run("inspect", "latest").wants(t, cli.ExitDone)
	if text := d.run("__complete", "inspect", "").stdout; !strings.Contains(text, id) {
		t.Errorf("completion offers\n%s", text)
	}
}
