package command

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/cmd/internal/workbench"
	"github.com/winnowhq/winnow/gateway/shared"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/sqlite"
)

// worked is a desk with a session in its store that worked in a folder: three turns, each of which
// wrote its number into a file.
type worked struct {
	*desk
	app    *cli.App
	folder string
	id     string
	users  []string
}

// app is the program as it runs at the desk, for what is to be found in its folders.
func (d *desk) app() *cli.App {
	return &cli.App{Env: cli.Env{Dir: d.dir, Now: time.Now, Getenv: func(name string) string {
		for _, pair := range d.env {
			if n, value, _ := strings.Cut(pair, "="); n == name {
				return value
			}
		}
		return ""
	}}, Shared: shared.None(errors.New("no database"))}
}

func newWorked(t *testing.T) *worked {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git here; snapshots need it")
	}
	w := &worked{desk: newDesk(t)}
	w.folder = filepath.Join(w.dir, "work")
	if err := os.Mkdir(w.folder, 0o755); err != nil {
		t.Fatal(err)
	}
	w.app = w.desk.app()
	kept, err := sqlite.Open(t.Context(), sqlite.Config{Path: source.StoreAt(w.app)})
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	e, err := winnow.Open(winnow.Config{Store: kept})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	shots, err := workbench.Snapshots(t.Context(), w.app, w.folder)
	if err != nil {
		t.Fatal(err)
	}
	if w.id, err = e.Create(t.Context(), session.Info{Title: "Lamps of the pier", Directory: w.folder}); err != nil {
		t.Fatal(err)
	}
	take := func() string {
		tree, err := shots.Take(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return tree
	}
	for i := range 3 {
		before := take()
		w.write("lamp.txt", fmt.Sprintf("lamp %d\n", i+1))
		w.write(fmt.Sprintf("door%d.txt", i+1), "open\n")
		after := take()
		files, err := shots.Diff(t.Context(), before, after)
		if err != nil {
			t.Fatal(err)
		}
		said := session.Message{MessageInfo: session.MessageInfo{Role: session.User}, Parts: []session.Part{{Type: session.TextPart, Text: fmt.Sprintf("Light lamp %d. Quickly.", i+1)}}}
		if i < 2 { // the last turn was interrupted, and nobody wrote down what it was about
			said.Summary = session.Outline{Title: fmt.Sprintf("Lamp %d", i+1), Body: "It burns.", Diffs: files}.Value()
		}
		all := []session.Message{said, {MessageInfo: session.MessageInfo{Role: session.Assistant, Finish: "stop"}, Parts: []session.Part{
			{Type: session.StepStartPart, Snapshot: before},
			{Type: session.ToolPart, CallID: fmt.Sprint("c", i), Tool: "write", State: &session.ToolState{Status: session.Completed, Input: []byte(`{"filePath":"lamp.txt"}`), Output: "written"}},
			{Type: session.TextPart, Text: "It is lit. Mind the step."},
			{Type: session.StepFinishPart, Reason: "stop", Snapshot: after},
		}}}
		if err := e.Append(t.Context(), w.id, all...); err != nil {
			t.Fatal(err)
		}
		w.users = append(w.users, all[0].ID)
	}
	return w
}

func (w *worked) write(name, text string) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.folder, name), []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w *worked) files() map[string]string {
	w.t.Helper()
	list, err := os.ReadDir(w.folder)
	if err != nil {
		w.t.Fatal(err)
	}
	all := map[string]string{}
	for _, f := range list {
		text, err := os.ReadFile(filepath.Join(w.folder, f.Name()))
		if err != nil {
			w.t.Fatal(err)
		}
		all[f.Name()] = strings.TrimSpace(string(text))
	}
	return all
}

func TestRevert_bringsBackFilesAndForksTheSession(t *testing.T) {
	sequential(t)
	for _, name := range []string{"by its turn", "by its message"} {
		t.Run(name, func(t *testing.T) {
			w := newWorked(t)
			w.write("mine.txt", "written by hand since")
			now := w.files()
			message := "2"
			if name == "by its message" {
				message = w.users[1]
			}
			dry := w.run("revert", w.id, message, "--dry-run", "--json")
			dry.wants(t, cli.ExitDone)
			if diff := cmp.Diff(now, w.files()); diff != "" {
				t.Fatalf("a dry run changed files:\n%s", diff)
			}
			o := w.run("revert", w.id, message, "--json")
			o.wants(t, cli.ExitDone)
			doc := o.document(t)
			want := []any{"door2.txt", "door3.txt", "lamp.txt", "mine.txt"}
			if diff := cmp.Diff(want, doc["changed"]); diff != "" {
				t.Errorf("changed (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(want, dry.document(t)["changed"]); diff != "" {
				t.Errorf("the dry run said (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(map[string]string{"lamp.txt": "lamp 1", "door1.txt": "open"}, w.files()); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
			fork := doc["session"].(string)
			shown := w.run("show", fork, "--json")
			shown.wants(t, cli.ExitDone)
			log := shown.document(t)["session"].(map[string]any)
			if n := len(log["messages"].([]any)); n != 2 || log["info"].(map[string]any)["parentID"] != w.id {
				t.Errorf("the new session has %d messages, info %v", n, log["info"])
			}
			if old := w.run("show", w.id, "--json"); len(old.document(t)["session"].(map[string]any)["messages"].([]any)) != 6 {
				t.Error("the old session changed")
			}
			// And back, by the command that was printed.
			back := strings.Fields(doc["back"].(string))
			w.run(back[1:]...).says(t, cli.ExitDone, "files were restored")
			if diff := cmp.Diff(now, w.files()); diff != "" {
				t.Errorf("there and back again (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRevert_saysWhatItDid(t *testing.T) {
	w := newWorked(t)
	o := w.run("revert", w.id, "3")
	o.says(t, cli.ExitDone, "2 files were restored", "  door3.txt\n  lamp.txt", "Continue with session ses_", "To have the files as they were: winnow revert "+w.id+" --snapshot ")
	w.run("revert", w.id, "3").says(t, cli.ExitDone, "already as they were then")
	w.write("lamp.txt", "kept")
	w.run("revert", w.id, "1", "--keep-files").says(t, cli.ExitDone, "left as they are", "Continue with session")
	if got := w.files()["lamp.txt"]; got != "kept" {
		t.Errorf("--keep-files left %q", got)
	}
}

func TestRevert_whatCannotBeIsSaidAndChangesNothing(t *testing.T) {
	w := newWorked(t)
	now := w.files()
	answer := "" // an id of another message than the user's
	for _, m := range w.run("show", w.id, "--json").document(t)["session"].(map[string]any)["messages"].([]any) {
		if info := m.(map[string]any)["info"].(map[string]any); info["role"] == "assistant" {
			answer = info["id"].(string)
		}
	}
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{w.id}, cli.ExitUsage, "name a message of yours"},
		{[]string{w.id, "9"}, cli.ExitUsage, "the session has 3"},
		{[]string{w.id, "msg_none"}, cli.ExitFailed, "there is no message"},
		{[]string{w.id, answer}, cli.ExitUsage, w.users[2]},
		{[]string{w.id, "2", "--snapshot", "x"}, cli.ExitUsage, "name a message"},
		{[]string{w.id, "--snapshot", strings.Repeat("a", 40)}, cli.ExitFailed, "not kept here"},
		{[]string{w.id, "--snapshot", "--all"}, cli.ExitFailed, "is not a snapshot"},
		{[]string{w.take("claude.jsonl"), "1"}, cli.ExitUsage, "in the store"},
	} {
		w.run(append([]string{"revert"}, c.args...)...).wants(t, c.code, c.says)
	}
	if diff := cmp.Diff(now, w.files()); diff != "" {
		t.Errorf("files changed:\n%s", diff)
	}
	if err := os.RemoveAll(w.folder); err != nil {
		t.Fatal(err)
	}
	w.run("revert", w.id, "2").wants(t, cli.ExitFailed, "is not there", "--keep-files")
	if n := len(w.run("list", "--json").document(t)["sessions"].([]any)); n != 1 {
		t.Errorf("%d sessions, want the one", n)
	}
}

func TestReverter_goesBackForAChat(t *testing.T) {
	w := newWorked(t)
	kept, err := sqlite.Open(t.Context(), sqlite.Config{Path: source.StoreAt(w.app)})
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	e, err := winnow.Open(winnow.Config{Store: kept})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	id, told, err := workbench.Reverter(w.app, e, nil)(t.Context(), w.id, w.users[2])
	if err != nil || id == "" || id == w.id || !strings.Contains(told, "2 files were restored") {
		t.Errorf("got %q, %q, %v", id, told, err)
	}
	if got := w.files()["lamp.txt"]; got != "lamp 2" {
		t.Errorf("the file is %q", got)
	}
}

func TestSnapshots_ofAHomeThereAreNone(t *testing.T) {
	w := newWorked(t)
	for _, folder := range []string{"/", w.app.Env.Home()} {
		if _, err := workbench.Snapshots(t.Context(), w.app, folder); err == nil {
			t.Errorf("snapshots of %s are taken", folder)
		}
	}
}

func TestExport_hasOutlinesAndSnapshotsAsOpenCodeHasThem(t *testing.T) {
	w := newWorked(t)
	o := w.run("export", w.id)
	o.wants(t, cli.ExitDone)
	messages := o.document(t)["messages"].([]any)
	summary := messages[0].(map[string]any)["info"].(map[string]any)["summary"].(map[string]any)
	diffs := summary["diffs"].([]any)
	if summary["title"] != "Lamp 1" || summary["body"] != "It burns." || len(diffs) != 2 {
		t.Errorf("the summary is %v", summary)
	}
	want := map[string]any{"file": "door1.txt", "before": "", "after": "open\n", "additions": 1.0, "deletions": 0.0, "status": "added"}
	got := diffs[0].(map[string]any)
	delete(got, "patch")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("a diff (-want +got):\n%s", diff)
	}
	parts := messages[1].(map[string]any)["parts"].([]any)
	if first := parts[0].(map[string]any); first["type"] != "step-start" || first["snapshot"] == "" {
		t.Errorf("the first part is %v", first)
	}
}

func TestShow_printsTurnsAndWhatTheyChanged(t *testing.T) {
	w := newWorked(t)
	o := w.run("show", w.id)
	o.says(t, cli.ExitDone, "Lamps of the pier  4 files changed  +4 −0", "  1  Lamp 1\n", "     It burns.\n", "     + door1.txt +1 −0", "  3  Light lamp 3.\n", "     It is lit. Mind the step.\n", "     ~ lamp.txt  +1 −1", w.users[0]+"  user")
	w.run("show", w.id, "--diff").says(t, cli.ExitDone, "-lamp 1\n", "+lamp 2\n", "-lamp 2\n")
	doc := w.run("show", w.id, "--json", "--diff").document(t)
	turns := doc["turns"].([]any)
	third := turns[2].(map[string]any)
	if len(turns) != 3 || third["title"] != "Light lamp 3." || len(third["files"].([]any)) != 2 || !strings.Contains(third["files"].([]any)[1].(map[string]any)["patch"].(string), "+lamp 3") {
		t.Errorf("the turns are %v", turns)
	}
	if files := doc["files"].([]any); len(files) != 4 || files[3].(map[string]any)["status"] != "added" {
		t.Errorf("the files are %v", doc["files"])
	}
}

func TestShow_ofAnExportPrintsTheDiffsThatItCarries(t *testing.T) {
	d := newDesk(t)
	d.put("export.json", []byte(`{"info":{"id":"ses_1","title":"Lamps","time":{"created":1,"updated":1}},"messages":[
		{"info":{"id":"msg_1","sessionID":"ses_1","role":"user","time":{"created":1},"agent":"build","model":{"providerID":"a","modelID":"b"},"summary":{"title":"The first lamp","body":"It burns.","diffs":[
			{"file":"a.txt","patch":"Index: a.txt\n--- a.txt\n+++ a.txt\n@@ -0,0 +1,2 @@\n+one\n+two\n","additions":2,"deletions":0,"status":"added"},
			{"file":"b.txt","before":"x\n","after":"y\n","additions":1,"deletions":1}]}},"parts":[{"id":"prt_1","sessionID":"ses_1","messageID":"msg_1","type":"text","text":"Light it."}]},
		{"info":{"id":"msg_2","sessionID":"ses_1","role":"user","time":{"created":2},"agent":"build","model":{"providerID":"a","modelID":"b"},"summary":{"diffs":[
			{"file":"a.txt","additions":0,"deletions":2,"status":"deleted"}]}},"parts":[{"id":"prt_2","sessionID":"ses_1","messageID":"msg_2","type":"text","text":"Put it out. Now."}]}]}`))
	d.run("show", "export.json", "--diff").says(t, cli.ExitDone, "Lamps  1 file changed  +1 −1", "  1  The first lamp\n", "     + a.txt +2 −0\n", "+one\n", "     ~ b.txt +1 −1\n", "  2  Put it out.\n", "     − a.txt +0 −2\n")
}
