package openhands

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/format"
)

const orchard = "testdata/conversations/5d2e0000000040008000000000000007"

// copied is a conversation of testdata that a test may change.
func copied(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), filepath.Base(orchard))
	if err := os.CopyFS(dir, os.DirFS(orchard)); err != nil {
		t.Fatal(err)
	}
	return dir
}

func eventFile(t *testing.T, dir, prefix string) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "events", prefix+"*"))
	if err != nil || len(names) != 1 {
		t.Fatalf("%s*: %v %v", prefix, names, err)
	}
	return names[0]
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func readFolder(t *testing.T, dir string) *format.Document {
	t.Helper()
	f, ok := Conversation(dir)
	if !ok {
		t.Fatalf("%s is no conversation", dir)
	}
	doc, err := f.Read()
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestFolder_isReadAsItsFilesOneBehindTheOther(t *testing.T) {
	doc := readFolder(t, orchard)
	want := `oh_000002 user  | text "Which trees want pruning?"
oh_000003 assistant tool-calls [400 40 0 0 0] | text "I look at the rows." | tool "" terminal {"command": "cat rows/north.txt"} completed "quince: dense\npear: open"
oh_000005 assistant tool-calls [480 20 0 0 0] | tool "" terminal {"command": "cat rows/south.txt"} completed "medlar: dense\nplum: open"
oh_000007 assistant stop [540 15 0 0 0] | text "The quince and the medlar."
oh_000008 user  | text "And when?"
oh_000009 assistant stop [570 18 0 0 0] | text "In February, before the buds swell."
`
	if diff := cmp.Diff(want, outline(doc.Session.Messages)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if i := doc.Session.Info; i.ID != "5d2e0000-0000-4000-8000-000000000007" || i.Directory != "/srv/orchard" || len(doc.Damaged) != 0 {
		t.Errorf("info %+v, damaged %+v", i, doc.Damaged)
	}
	if diff := cmp.Diff(doc.Session, read(t, doc.Source).Session); diff != "" {
		t.Errorf("read again from its source it is another (-folder +source):\n%s", diff)
	}
	cost := 0.0
	for _, m := range doc.Session.Messages {
		if m.Cost != nil {
			cost += *m.Cost
		}
	}
	if cost < 0.0299 || cost > 0.0301 {
		t.Errorf("cost %v, want 0.03", cost)
	}
	f, _ := Conversation(orchard)
	if f.ID() != doc.Session.Info.ID || f.Empty() || f.Size() != int64(len(doc.Source)-11) || f.Modified().IsZero() {
		t.Errorf("id %s, size %d of %d", f.ID(), f.Size(), len(doc.Source))
	}
	glance, err := f.Glance(300)
	if err != nil || len(glance.Session.Messages) != 1 || glance.Session.Info.ID != doc.Session.Info.ID || len(glance.Damaged) != 0 {
		t.Errorf("at a glance: %v %v", glance, err)
	}
}

func TestFolder_anEventThatCannotBeReadIsDamageAndHidesNoOther(t *testing.T) {
	whole := readFolder(t, orchard)
	for name, c := range map[string]struct {
		text, reason string
	}{
		"cut in a text":    {`{"id":"x","source":"environment","kind":"ObservationEvent","observation":{"content":[{"type":"text","text":"quin`, "the file is cut short"},
		"cut in a list":    {`{"id":"x","source":"environment","extended_content":[`, "the file is cut short"},
		"cut at a member":  {`{"id":"x","source":`, "the file is cut short"},
		"empty":            {"", "it is empty"},
		"zeros":            {strings.Repeat("\x00", 40), "invalid character"},
		"no JSON":          {"oops\n", "invalid character"},
		"a comma":          {",", "there is no event in it"},
		"white space":      {" \n", "there is no event in it"},
		"another object":   {`{"a":1}`, "not an event"},
		"not an object":    {`12`, "not an object"},
		"of a wrong shape": {`{"kind":"MessageEvent","source":7}`, "source"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := copied(t)
			path := eventFile(t, dir, "event-00003")
			write(t, path, c.text)
			doc := readFolder(t, dir)
			if len(doc.Session.Messages) != len(whole.Session.Messages) || doc.Counts.ToolResults != whole.Counts.ToolResults-1 {
				t.Errorf("%d messages, %d results", len(doc.Session.Messages), doc.Counts.ToolResults)
			}
			if len(doc.Damaged) != 1 {
				t.Fatalf("damaged %+v, want one", doc.Damaged)
			}
			d := doc.Damaged[0]
			if !strings.HasPrefix(d.Reason, "events/"+filepath.Base(path)+": ") || !strings.Contains(d.Reason, c.reason) || d.Offset != 0 || d.Line != 0 || d.Bytes > len(c.text) {
				t.Errorf("%+v, want %q in it", d, c.reason)
			}
		})
	}
}

func TestFolder_missingEventsAndAMissingStateAreSurvived(t *testing.T) {
	dir := copied(t)
	for _, gone := range []string{"event-00002", "event-00003"} {
		if err := os.Remove(eventFile(t, dir, gone)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join(dir, "base_state.json")); err != nil {
		t.Fatal(err)
	}
	doc := readFolder(t, dir)
	if len(doc.Damaged) != 1 || doc.Damaged[0].Reason != "events: the events 2 to 3 are missing" {
		t.Errorf("damaged %+v", doc.Damaged)
	}
	if doc.Session.Info.ID != filepath.Base(dir) || doc.Session.Messages[0].SessionID != doc.Session.Info.ID || len(doc.Session.Messages) != 5 {
		t.Errorf("%+v, %d messages", doc.Session.Info, len(doc.Session.Messages))
	}
	write(t, filepath.Join(dir, "base_state.json"), `{"id":"cut`)
	doc = readFolder(t, dir)
	if len(doc.Damaged) != 2 || !strings.HasPrefix(doc.Damaged[1].Reason, "base_state.json: ") || len(doc.Session.Messages) != 5 {
		t.Errorf("damaged %+v", doc.Damaged)
	}
}

func TestFolder_eventsStandInTheOrderOfTheirNumbers(t *testing.T) {
	message := func(text string) string {
		return `{"source":"user","kind":"MessageEvent","llm_message":{"role":"user","content":"` + text + `"}}`
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "base_state.json"), `{"id":"far","execution_status":"idle"}`)
	write(t, filepath.Join(dir, "events", "event-100000-0a.json"), message("last"))
	write(t, filepath.Join(dir, "events", "event-99999-0b.json"), message("first"))
	write(t, filepath.Join(dir, "events", ".eventlog.lock"), "")
	write(t, filepath.Join(dir, "events", "event-1-0b.json"), message("no event's name"))
	doc := readFolder(t, dir)
	if m := doc.Session.Messages; len(m) != 2 || m[0].Text() != "first" || m[1].Text() != "last" {
		t.Errorf("%s", outline(m))
	}
	old := t.TempDir()
	for name, text := range map[string]string{"10": "last", "9": "first"} {
		write(t, filepath.Join(old, "events", name+".json"), `{"id":`+name+`,"timestamp":"2025-01-01T00:00:00","source":"user","message":"`+text+`","action":"message","args":{"content":"`+text+`"}}`)
	}
	if m := readFolder(t, old).Session.Messages; len(m) != 2 || m[0].Text() != "first" {
		t.Errorf("up to 0.x: %s", outline(m))
	}
}

func TestConversation_otherFoldersAreNone(t *testing.T) {
	calendar := t.TempDir()
	write(t, filepath.Join(calendar, "events", "1.json"), `{"title":"Fair","date":"2026-05-01"}`)
	empty := t.TempDir()
	write(t, filepath.Join(empty, "events", "notes.txt"), "")
	for _, dir := range []string{calendar, empty, t.TempDir(), filepath.Join(calendar, "none"), filepath.Join(orchard, "events"), "testdata/conversations"} {
		if _, ok := Conversation(dir); ok {
			t.Errorf("%s is taken for a conversation", dir)
		}
	}
	begun := t.TempDir()
	write(t, filepath.Join(begun, "base_state.json"), `{"id":"new","execution_status":"idle"}`)
	write(t, filepath.Join(begun, "events", ".eventlog.lock"), "")
	f, ok := Conversation(begun)
	if !ok || !f.Empty() {
		t.Errorf("a conversation that was begun: %v %v", f, ok)
	}
	if _, err := f.Read(); err == nil || !strings.Contains(err.Error(), begun) {
		t.Errorf("reading it: %v", err)
	}
}

func FuzzJoined(f *testing.F) {
	good := `{"id":"a","source":"user","kind":"MessageEvent","llm_message":{"role":"user","content":"Hello."}}`
	for _, bad := range []string{"", "{", `{"a":[`, `"`, "[1]", "\x00", good + good, good[:40], `{"history":[` + good + `]}`} {
		f.Add([]byte(bad), []byte(good))
		f.Add([]byte(good), []byte(bad))
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		var j joined
		j.add("base_state.json", []byte(`{"id":"x","execution_status":"idle"}`))
		j.add("first", first)
		j.add("second", second)
		j.add("third", []byte(good))
		sizes := map[string]int64{"first": int64(len(first)), "second": int64(len(second))}
		doc, err := j.read("x")
		if err != nil {
			t.Fatalf("a whole event stands at the end, and: %v", err)
		}
		if m := doc.Session.Messages; len(m) == 0 || m[len(m)-1].Text() != "Hello." || strings.Contains(fmt.Sprint(doc.Damaged), "third") {
			t.Errorf("the event behind them is lost: %+v", doc.Damaged)
		}
		for _, d := range doc.Damaged {
			name, _, _ := strings.Cut(d.Reason, ":")
			if size, ok := sizes[name]; !ok || d.Offset < 0 || d.Offset > size || d.Bytes < 0 || d.Offset+int64(d.Bytes) > size {
				t.Errorf("%+v of a file of %d bytes", d, size)
			}
		}
	})
}
