package command

import (
	"bytes"
	"context"
	"database/sql"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/mattn/go-runewidth"

	"github.com/winnowhq/winnow/cmd/internal/cli"
)

// openCodeDatabase puts an export into a database such as OpenCode's, and one more session beside
// it.
func openCodeDatabase(t *testing.T, path string, export []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	do := func(query string, args ...any) {
		t.Helper()
		if _, err := db.Exec(query, args...); err != nil {
			t.Fatalf("%.80s: %v", query, err)
		}
	}
	do(`CREATE TABLE session (id text PRIMARY KEY, parent_id text, project_id text, slug text, directory text, title text, version text, cost real, tokens_input integer, tokens_output integer, time_created integer, time_updated integer);
		CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created integer, time_updated integer, data text);
		CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text, time_updated integer, data text);`)
	var doc struct {
		Info struct {
			ID        string `json:"id"`
			ProjectID string `json:"projectID"`
			Slug      string `json:"slug"`
			Directory string `json:"directory"`
			Title     string `json:"title"`
			Version   string `json:"version"`
			Time      struct {
				Created int64 `json:"created"`
				Updated int64 `json:"updated"`
			} `json:"time"`
		} `json:"info"`
		Messages []struct {
			Info  jsontext.Value   `json:"info"`
			Parts []jsontext.Value `json:"parts"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(export, &doc); err != nil {
		t.Fatal(err)
	}
	i := doc.Info
	do(`INSERT INTO session VALUES (?, NULL, ?, ?, ?, ?, ?, 1.5, 1000, 100, ?, ?)`, i.ID, i.ProjectID, i.Slug, i.Directory, i.Title, i.Version, i.Time.Created, i.Time.Updated)
	do(`INSERT INTO session VALUES ('ses_beside', ?, 'p', 's', '/coast', 'Look below', '1.18.33', 0.25, 10, 1, 1, 1)`, i.ID)
	do(`INSERT INTO message VALUES ('msg_beside', 'ses_beside', 1, 1, '{"role":"user","time":{"created":1}}')`)
	do(`INSERT INTO part VALUES ('prt_beside', 'msg_beside', 'ses_beside', 1, '{"type":"text","text":"Is there a wreck?"}')`)
	type ids struct {
		ID   string `json:"id"`
		Time struct {
			Created float64 `json:"created"`
		} `json:"time"`
	}
	for _, m := range doc.Messages {
		var of, part ids
		if err := json.Unmarshal(m.Info, &of); err != nil {
			t.Fatal(err)
		}
		do(`INSERT INTO message VALUES (?, ?, ?, ?, ?)`, of.ID, i.ID, of.Time.Created, of.Time.Created, string(m.Info))
		for _, p := range m.Parts {
			if err := json.Unmarshal(p, &part); err != nil {
				t.Fatal(err)
			}
			do(`INSERT INTO part VALUES (?, ?, ?, ?, ?)`, part.ID, of.ID, i.ID, of.Time.Created, string(p))
		}
	}
}

// withOpenCode is a desk whose home has a database of OpenCode with the session of testdata, whose
// id is returned.
func withOpenCode(t *testing.T) (d *desk, database, id string) {
	t.Helper()
	d = newDesk(t)
	d.take("opencode.json")
	export := jsontext.Value(d.read("opencode.json"))
	if err := export.Indent(jsontext.WithIndent("  ")); err != nil { // as the product prints it
		t.Fatal(err)
	}
	d.put("opencode.json", export)
	database = filepath.Join(filepath.Dir(d.dir), "home", ".local", "share", "opencode", "opencode.db")
	openCodeDatabase(t, database, export)
	id, _ = d.run("inspect", "opencode.json", "--json").document(t)["id"].(string)
	if id == "" {
		t.Fatal("the session of testdata has no id")
	}
	return d, database, id
}

func TestOpenCodeDatabase_aSessionInItIsASource(t *testing.T) {
	sequential(t)
	d, database, id := withOpenCode(t)
	before, err := os.ReadFile(database)
	if err != nil {
		t.Fatal(err)
	}
	want := d.run("inspect", "opencode.json", "--json").document(t)
	delete(want, "source")
	for _, src := range []string{database + "#" + id, database + "#" + id[:len(id)-4], "opencode:" + id, "opencode:" + id[:len(id)-4]} {
		out := d.run("inspect", src, "--json")
		out.wants(t, cli.ExitDone)
		got := out.document(t)
		delete(got, "source")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("inspect %s differs from that of the export (-export +database):\n%s", src, diff)
		}
	}
	// Compacted, it is a file that `opencode import` takes, named for the session.
	d.run("compact", "opencode.json", "-o", "from-export.json").wants(t, cli.ExitDone)
	d.run("compact", database+"#"+id).wants(t, cli.ExitDone)
	a := d.run("view", "from-export.json").stdout
	if b := d.run("view", id+".compacted.json").stdout; a == "" || a != b {
		t.Errorf("compacted from the database it is another session than compacted from the export (-export +database):\n%s", cmp.Diff(a, b))
	}
	d.run("undo", id+".compacted.json", "-o", "undone.json").wants(t, cli.ExitDone)

	for _, command := range []string{"compact", "prune"} {
		d.run(command, database+"#"+id, "--in-place").wants(t, cli.ExitUsage, "never written to")
	}
	d.run("compact", database).wants(t, cli.ExitUsage, "holds 2 sessions", "opencode.db#")
	d.run("inspect", database+"#ses_none").wants(t, cli.ExitFailed, "there is no such session", "winnow ls")
	d.run("inspect", "opencode:nobody").wants(t, cli.ExitFailed, "no session of opencode")
	d.run("inspect", "opencode:").wants(t, cli.ExitDone)
	d.run("inspect", "opencode:ses_").wants(t, cli.ExitUsage, "begins the ids or titles of 2 sessions")
	after, err := os.ReadFile(database)
	if err != nil {
		t.Fatal(err)
	}
	if string(before) != string(after) {
		t.Error("the database was written to")
	}
	if files, err := os.ReadDir(filepath.Dir(database)); err != nil || len(files) != 1 {
		t.Errorf("%d files are where the database was alone", len(files))
	}
}

func TestOpenCodeDatabase_allOfItIsInspectedAndImported(t *testing.T) {
	sequential(t)
	d, database, id := withOpenCode(t)
	doc := d.run("inspect", database, "--json").document(t)
	if sessions, _ := doc["sessions"].([]any); len(sessions) != 2 {
		t.Errorf("inspect lists %v", doc)
	}
	d.run("import", database).wants(t, cli.ExitDone)
	if out := d.run("list"); !strings.Contains(out.stdout, id) || !strings.Contains(out.stdout, "ses_beside") {
		t.Errorf("the store has\n%s", out.stdout)
	}
	d.run("import", filepath.Dir(database)).wants(t, cli.ExitNothing, "in the store already") // the same by its folder
	d.run("export", id, "-o", "out.json").wants(t, cli.ExitDone)
	if got := d.run("view", "out.json").stdout; got == "" || got != d.run("view", "opencode.json").stdout {
		t.Error("what was imported from the database and exported says something else")
	}
	d.run("import", database+"#"+id, "--store", "other.db").wants(t, cli.ExitDone) // one of them, by its whole name
	d.run("import", database+"#ses_none", "--store", "other.db").wants(t, cli.ExitFailed, "there is no such session")
	// Winnow's own store is an SQLite database too.
	own := filepath.Join(filepath.Dir(d.dir), "home", ".local", "share", "winnow", "winnow.db")
	d.run("inspect", own).wants(t, cli.ExitInput, "not an OpenCode store")
	d.run("compact", own).wants(t, cli.ExitInput, "not an OpenCode store")
}

func TestOpenCodeDatabase_whatDidNotChangeIsNotReadAgain(t *testing.T) {
	sequential(t)
	d, database, _ := withOpenCode(t)
	db, err := sql.Open("sqlite", database)
	if err != nil {
		t.Fatal(err)
	}
	do := func(query string, args ...any) {
		t.Helper()
		if _, err := db.Exec(query, args...); err != nil {
			t.Fatal(err)
		}
	}
	defer db.Close()
	step := func(what string, read, unchanged float64, args ...string) map[string]any {
		t.Helper()
		doc := d.run(append([]string{"import", "--json", database}, args...)...).document(t)
		if doc["files"] != 2.0 || doc["read"] != read || doc["unchanged"] != unchanged {
			t.Errorf("%s: %v of %v were read, %v unchanged, want %v and %v", what, doc["read"], doc["files"], doc["unchanged"], read, unchanged)
		}
		return doc
	}
	do(`UPDATE part SET data = '{"type":"text","text":"Is there a wreck?","metadata":{"at":"noon"}}' WHERE id = 'prt_beside'`)
	step("the first time", 2, 0)
	step("the second time", 0, 2)
	step("as it was, with --update", 2, 0, "--update")
	step("after that", 0, 2)

	// A turn goes on: the session's own time of update stays as it is, and so does the length of
	// the part.
	do(`UPDATE part SET data = replace(data, 'noon', 'dusk'), time_updated = 5 WHERE id = 'prt_beside'`)
	step("a part went on", 1, 1)
	step("after that", 0, 2)
	do(`INSERT INTO message VALUES ('msg_more', 'ses_beside', 9, 9, '{"role":"user","time":{"created":9}}')`)
	do(`INSERT INTO part VALUES ('prt_more', 'msg_more', 'ses_beside', 9, '{"type":"text","text":"Or a reef?","metadata":{"at":"noon"}}')`)
	doc := step("a message came", 1, 1)
	added := 0.0
	for _, s := range doc["sessions"].([]any) {
		n, _ := s.(map[string]any)["added"].(float64)
		added += n
	}
	if added != 1 {
		t.Errorf("%v messages were added, want 1: %v", added, doc)
	}
	do(`UPDATE session SET title = 'Look above', time_updated = 10 WHERE id = 'ses_beside'`)
	step("it has another title", 1, 1)

	// What was written within the tick before it was looked at may have been written to once more.
	do(`UPDATE part SET data = replace(data, 'noon', 'dawn'), time_updated = ? WHERE id = 'prt_more'`, time.Now().Add(time.Hour).UnixMilli())
	step("a part was written just now", 1, 1)
	step("and nothing since, as far as the clock tells", 1, 2)
	do(`UPDATE part SET time_updated = 11 WHERE id = 'prt_more'`)
	step("it is long ago", 1, 2)
	step("and known", 0, 2)
}

// onComputerDesk has sessions of several products, changed at known times.
func onComputerDesk(t *testing.T) *desk {
	t.Helper()
	d, _, _ := withOpenCode(t)
	home := filepath.Join(filepath.Dir(d.dir), "home")
	for i, f := range [][2]string{
		{"claude.jsonl", ".claude/projects/-coast/0f1e2d3c-4b5a-4678-9abc-def012345678.jsonl"}, {"codex.jsonl", ".codex/sessions/2026/03/01/rollout-1.jsonl"},
		{"pi.jsonl", ".pi/agent/sessions/--coast--/1.jsonl"},
	} {
		text, err := os.ReadFile(filepath.Join("testdata", "sessions", f[0]))
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(home, filepath.FromSlash(f[1]))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(-time.Duration(i+1) * time.Hour)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

func TestListEverywhere_showsWhatIsOnThisComputer(t *testing.T) {
	d := onComputerDesk(t)
	out := d.run("list", "--everywhere")
	out.wants(t, cli.ExitDone)
	for _, want := range []string{"claude-code:0f1e2d3c", "codex:", "pi:", "opencode:ses_", "1 session of a sub-agent", "product", "total", "$0.59"} {
		if !strings.Contains(out.stdout, want) {
			t.Errorf("%q is not shown:\n%s", want, out.stdout)
		}
	}
	if strings.Contains(out.stdout, "ses_beside") || !strings.Contains(d.run("list", "--everywhere", "--all").stdout, "opencode:ses_besi") {
		t.Error("a sub-agent's session is listed with --all, and only then")
	}
	// Every word of the first column names its session.
	listed := 0
	for _, line := range strings.Split(out.stdout, "\n") {
		word, _, _ := strings.Cut(line, " ")
		if !strings.Contains(word, ":") || strings.HasPrefix(line, "product") {
			continue
		}
		listed++
		d.run("inspect", word).wants(t, cli.ExitDone)
	}
	if listed != 4 {
		t.Errorf("%d words were tried, want 4", listed)
	}
	for _, line := range strings.Split(d.wide(80, "list", "--everywhere", "--all"), "\n") {
		if n := runewidth.StringWidth(line); n > 80 {
			t.Errorf("a line of %d columns: %s", n, line)
		}
	}
}

func TestListEverywhere_inOrderAsJSON(t *testing.T) {
	d := onComputerDesk(t)
	for by, member := range map[string]string{"updated": "updated", "size": "bytes", "tokens": "tokens", "cost": "cost"} {
		doc := d.run("list", "--everywhere", "--json", "--sort", by).document(t)
		sessions, _ := doc["sessions"].([]any)
		if len(sessions) != 5 {
			t.Fatalf("%d sessions, want 5: %v", len(sessions), doc)
		}
		last := -1.0
		for i := len(sessions) - 1; i >= 0; i-- {
			v, _ := sessions[i].(map[string]any)[member].(float64)
			if v < last {
				t.Errorf("--sort %s: %v after %v", by, last, v)
			}
			last = v
		}
	}
	quick := d.run("list", "--everywhere", "--quick", "--json").document(t)
	if total, _ := quick["total"].(map[string]any); total["sessions"] != 4.0 || total["subAgents"] != 1.0 {
		t.Errorf("--quick: %v", quick["total"])
	}
	d.run("list", "--all").wants(t, cli.ExitUsage, "--everywhere")
	d.run("list", "--everywhere", "--sort", "weight").wants(t, cli.ExitUsage, "updated, size, tokens, cost")
	d.run("list", "--everywhere", "--quick", "--sort", "cost").wants(t, cli.ExitUsage, "--quick")
	newDesk(t).run("list", "--everywhere").wants(t, cli.ExitNothing, "no agent has kept a session")
}

func TestListEverywhere_whatCannotBeReadIsTold(t *testing.T) {
	d := onComputerDesk(t)
	broken := filepath.Join(filepath.Dir(d.dir), "home", ".local", "share", "opencode", "opencode-dev.db")
	if err := os.WriteFile(broken, []byte(strings.Repeat("no database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	out := d.run("list", "--everywhere", "--json")
	out.wants(t, cli.ExitPartly, "opencode-dev.db", "1 file was not read")
	doc := out.document(t)
	if problems, _ := doc["problems"].([]any); len(problems) != 1 || len(doc["sessions"].([]any)) != 5 {
		t.Errorf("%v", doc["problems"])
	}
}

func TestListEverywhere_sumsSayOfHowManySessionsTheyHaveNoCost(t *testing.T) {
	d, database, _ := withOpenCode(t)
	out := d.run("list", "--everywhere")
	if strings.Contains(out.stdout, "unknown cost") {
		t.Errorf("each session has a cost:\n%s", out.stdout)
	}
	db, err := sql.Open("sqlite", database)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(`UPDATE session SET cost = 0, time_updated = time_updated + 1 WHERE id = 'ses_beside'`); err != nil {
		t.Fatal(err)
	}
	if out := d.run("list", "--everywhere"); !strings.Contains(out.stdout, "1 session has requests of unknown cost") {
		t.Errorf("one session has none:\n%s", out.stdout)
	}
	doc := d.run("list", "--everywhere", "--json").document(t)
	if total, _ := doc["total"].(map[string]any); total["uncosted"] != 1.0 || math.Abs(total["cost"].(float64)-0.08472) > 1e-9 {
		t.Errorf("%v", doc["total"])
	}
}

func TestInspect_ofAFolderTellsWhatCannotBeReadAndShowsTheRest(t *testing.T) {
	d, database, _ := withOpenCode(t)
	folder := filepath.Dir(database)
	text, err := os.ReadFile(database)
	if err != nil {
		t.Fatal(err)
	}
	for i := 4096; i < len(text); i++ {
		text[i] = 0xff
	}
	if err := os.WriteFile(filepath.Join(folder, "opencode-dev.db"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	out := d.run("inspect", folder, "--json")
	out.wants(t, cli.ExitPartly, "opencode-dev.db", "damaged", "1 file was not read")
	doc := out.document(t)
	if sessions, _ := doc["sessions"].([]any); len(sessions) != 2 {
		t.Errorf("%d sessions are shown, want 2", len(sessions))
	}
	if problems, _ := doc["problems"].([]any); len(problems) != 1 {
		t.Errorf("problems: %v", doc["problems"])
	}
	d.run("import", folder).wants(t, cli.ExitPartly, "opencode-dev.db", "1 file was not read")
	d.run("inspect", "opencode:ses_no").wants(t, cli.ExitFailed, "among what can be read", "opencode-dev.db")
}

func TestFolders_whatMayNotBeReadIsToldAndHidesNothingElse(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may read every file")
	}
	d := newDesk(t)
	d.take("claude.jsonl")
	d.take("pi.jsonl")
	for _, name := range []string{"closed", "shut"} {
		if err := os.Mkdir(filepath.Join(d.dir, name), 0); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"pi.jsonl", "opencode.db"} {
		d.put(name, d.read("pi.jsonl"))
	}
	for _, name := range []string{"pi.jsonl", "opencode.db"} {
		if err := os.Chmod(filepath.Join(d.dir, name), 0); err != nil {
			t.Fatal(err)
		}
	}
	for _, command := range []string{"inspect", "import"} {
		out := d.run(command, ".")
		out.wants(t, cli.ExitPartly, "4 files were not read", "closed: permission denied", "shut: permission denied", "pi.jsonl: permission denied", "opencode.db: permission denied")
		if !strings.Contains(out.stdout, "claude.jsonl") {
			t.Errorf("%s does not show what can be read:\n%s", command, out.stdout)
		}
	}
}

// wide runs the command as if on a terminal of the given width, and returns what it printed.
func (d *desk) wide(columns int, args ...string) string {
	d.t.Helper()
	stdout := new(bytes.Buffer)
	env := cli.System()
	env.Stdin, env.Stdout, env.Stderr, env.Dir, env.Environ, env.Width = strings.NewReader(""), stdout, new(bytes.Buffer), d.dir, d.env, columns
	env.StdoutTerminal, env.StderrTerminal = false, true
	env.Getenv = func(name string) string {
		for _, pair := range d.env {
			if n, value, _ := strings.Cut(pair, "="); n == name {
				return value
			}
		}
		return ""
	}
	if code := (Program{}).Main(context.Background(), args, env); code != cli.ExitDone {
		d.t.Fatalf("%v: exit code %d: %s", args, code, env.Stderr)
	}
	return stdout.String()
}

func TestListEverywhere_aPageOfTheWeek(t *testing.T) {
	d := onComputerDesk(t)
	out := d.run("list", "--everywhere", "--json", "--html", "week.html", "--days", "366")
	out.wants(t, cli.ExitDone)
	doc := out.document(t)
	path, _ := doc["page"].(string)
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"The last 366 days", "By product", "Most expensive sessions", "winnow inspect ", "Savings of the gateway"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	// What was spent by hour and model is what each session cost.
	for _, one := range doc["sessions"].([]any) {
		s := one.(map[string]any)
		sum := 0.0
		spent, _ := s["spent"].([]any)
		for _, x := range spent {
			sum += x.(map[string]any)["cost"].(float64)
		}
		if cost, _ := s["cost"].(float64); math.Abs(cost-sum) > 1e-9 {
			t.Errorf("%v cost %v, by hour and model %v", s["id"], cost, sum)
		}
	}
	if got := d.run("list", "--everywhere", "--html", "week.html"); !strings.Contains(got.stdout, "The page is ") {
		t.Errorf("it does not say where the page is:\n%s", got.stdout)
	}
	if again, err := os.ReadFile(path); err != nil || !strings.Contains(string(again), "The week") {
		t.Errorf("the page of before stays: %v", err)
	}
	if err := os.WriteFile(path, []byte("my notes"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.run("list", "--everywhere", "--html", "week.html").wants(t, cli.ExitUsage, "--force")
	d.run("list", "--html", "week.html").wants(t, cli.ExitUsage, "--everywhere")
	d.run("list", "--everywhere", "--days", "3").wants(t, cli.ExitUsage, "--html")
	d.run("list", "--everywhere", "--html", "new.html", "--days", "0").wants(t, cli.ExitUsage, "from 1 to 366")
	d.run("list", "--everywhere", "--html", "new.html", "--quick").wants(t, cli.ExitUsage, "--quick")
	d.run("list", "--everywhere", "--html", "-", "--json").wants(t, cli.ExitUsage, "standard output")
	if got := d.run("list", "--everywhere", "--html", "-"); !strings.HasPrefix(got.stdout, "<!doctype html>") || !strings.HasSuffix(got.stdout, "</html>\n") {
		t.Errorf("the page on standard output: %.80s … %.80s", got.stdout, got.stdout[max(0, len(got.stdout)-80):])
	}
}
