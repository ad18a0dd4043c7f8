package opencodedb

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// folderOf writes files below a new folder, named with slashes.
func folderOf(t testing.TB, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

const (
	harbourSession = `{"id":"ses_h","slug":"s","projectID":"p1","directory":"/port","title":"The harbour","version":"1.0.9","time":{"created":5,"updated":50}}`
	harbourUser    = `{"id":"msg_2","sessionID":"ses_h","role":"user","time":{"created":6},"agent":"build","model":{"providerID":"local","modelID":"m1"}}`
	harbourAnswer  = `{"id":"msg_1","sessionID":"ses_h","role":"assistant","parentID":"msg_2","mode":"build","path":{"cwd":"/port","root":"/port"},"cost":0.5,"tokens":{"input":9,"output":3,"reasoning":0,"cache":{"read":0,"write":0}},"modelID":"m1","providerID":"local","time":{"created":7,"completed":8},"finish":"stop"}`
	harbourText    = `{"id":"prt_1","sessionID":"ses_h","messageID":"msg_2","type":"text","text":"How many boats?"}`
	harbourTool    = `{"id":"prt_2","sessionID":"ses_h","messageID":"msg_1","type":"tool","callID":"c1","tool":"count","state":{"status":"completed","input":{},"output":"seven","title":"","metadata":{},"time":{"start":7,"end":8}}}`
)

func harbour() map[string]string {
	return map[string]string{
		"storage/session/p1/ses_h.json": harbourSession, "storage/message/ses_h/msg_2.json": harbourUser, "storage/message/ses_h/msg_1.json": harbourAnswer,
		"storage/part/msg_2/prt_1.json": harbourText, "storage/part/msg_1/prt_2.json": harbourTool, "storage/part/msg_1/prt_0.json": `{"type":"step-start"`,
		"storage/todo/ses_h.json": `[]`, "storage/migration": "2",
	}
}

func TestFiles_areReadAsTheyWereKeptBeforeTheDatabase(t *testing.T) {
	oldest := map[string]string{}
	for name, text := range harbour() {
		name = strings.NewReplacer("storage/session/p1/", "project/port/storage/session/info/", "storage/message/", "project/port/storage/session/message/",
			"storage/part/", "project/port/storage/session/part/ses_h/").Replace(name)
		oldest[name] = text
	}
	for name, files := range map[string]map[string]string{"newer": harbour(), "oldest": oldest} {
		t.Run(name, func(t *testing.T) {
			root := folderOf(t, files)
			stores, err := Stores(root)
			if err != nil || len(stores) != 1 {
				t.Fatalf("stores %v, %v", stores, err)
			}
			s := open(t, stores[0])
			list, err := s.List(t.Context())
			if err != nil || len(list) != 1 {
				t.Fatalf("%+v, %v", list, err)
			}
			list[0].Project = "" // only the oldest form tells
			want := Listing{ID: "ses_h", Title: "The harbour", Directory: "/port", Version: "1.0.9", Messages: 2, Created: 5, Updated: 50}
			if diff := cmp.Diff(want, list[0]); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			doc, err := s.Read(t.Context(), "ses_h")
			if err != nil {
				t.Fatal(err)
			}
			// By the time at which they were created: the ids say otherwise.
			if got, want := outline(doc.Session.Messages), "user msg_2: text\nassistant msg_1: step-start tool\n"; got != want {
				t.Errorf("got\n%swant\n%s", got, want)
			}
			if len(doc.Damaged) != 1 || !strings.Contains(doc.Damaged[0].Reason, "part prt_0") {
				t.Errorf("damaged: %v, want the part that was cut", doc.Damaged)
			}
			if strings.Count(string(doc.Source), `"id": "msg_1"`) != 1 {
				t.Errorf("an id stands twice:\n%s", doc.Source)
			}
			sizes, err := s.Sizes(t.Context())
			if n := int64(len(harbourUser) + len(harbourAnswer) + len(harbourText) + len(harbourTool) + len(`{"type":"step-start"`)); err != nil || sizes["ses_h"] != n {
				t.Errorf("size %d, want %d; %v", sizes["ses_h"], n, err)
			}
		})
	}
}

func TestStores_databasesComeFirst(t *testing.T) {
	files := harbour()
	files["opencode.db"], files["opencode-next.db"], files["other.db"] = "x", "x", "x"
	root := folderOf(t, files)
	stores, err := Stores(root)
	want := []string{filepath.Join(root, "opencode.db"), filepath.Join(root, "opencode-next.db"), filepath.Join(root, "storage")}
	if diff := cmp.Diff(want, stores); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if stores, err := Stores(filepath.Join(root, "none")); len(stores) > 0 || err != nil {
		t.Errorf("no folder: %v, %v", stores, err)
	}
}

func TestFiles_aSessionWhoseFileIsCutIsListed(t *testing.T) {
	files := harbour()
	files["storage/session/p1/ses_h.json"] = harbourSession[:60]
	s := open(t, filepath.Join(folderOf(t, files), "storage"))
	list, err := s.List(t.Context())
	if err != nil || len(list) != 1 || list[0].ID != "ses_h" || time.Since(time.UnixMilli(int64(list[0].Updated))) > time.Hour {
		t.Fatalf("%+v, %v", list, err)
	}
	doc, err := s.Read(t.Context(), "ses_h")
	if err != nil || len(doc.Session.Messages) != 2 || len(doc.Damaged) != 2 {
		t.Errorf("%v: %d messages, damaged %v", err, len(doc.Session.Messages), doc.Damaged)
	}
}

func TestName_isTakenApart(t *testing.T) {
	path, id, ok := Split(Name("/home/a#b/opencode.db", "ses_1"))
	if path != "/home/a#b/opencode.db" || id != "ses_1" || !ok {
		t.Errorf("%q %q %v", path, id, ok)
	}
	for _, name := range []string{"ses_1", "#ses_1", "/a#b/c"} {
		if _, _, ok := Split(name); ok {
			t.Errorf("%q is no such name", name)
		}
	}
}
