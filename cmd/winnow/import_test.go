package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/sqlite"
)

// shelf fills a folder with sessions of so many messages each, and returns its name.
func (d *desk) shelf(sessions, messages int) string {
	d.t.Helper()
	if err := os.Mkdir(filepath.Join(d.dir, "shelf"), 0o755); err != nil {
		d.t.Fatal(err)
	}
	for i := range sessions {
		text := strings.ReplaceAll(string(bigSession(messages)), "eeee", fmt.Sprintf("%04d", i))
		d.put(filepath.Join("shelf", fmt.Sprintf("%04d.jsonl", i)), []byte(text))
	}
	return "shelf"
}

// held returns how many messages each session of the store has, by State and by reading them.
func (d *desk) held() map[string]int {
	d.t.Helper()
	s, err := sqlite.Open(d.t.Context(), sqlite.Config{Path: filepath.Join(d.dir, "..", "home", ".local", "share", "winnow", "winnow.db")})
	if err != nil {
		d.t.Fatal(err)
	}
	defer s.Close()
	list, err := s.List(d.t.Context())
	if err != nil {
		d.t.Fatal(err)
	}
	held := map[string]int{}
	for _, l := range list {
		n := 0
		for _, err := range s.Messages(d.t.Context(), l.Info.ID) {
			if err != nil {
				d.t.Fatal(err)
			}
			n++
		}
		source, err := s.Source(d.t.Context(), l.Info.ID)
		if err != nil || source == nil || n != l.Messages {
			d.t.Errorf("session %s has %d messages of %d, source %v, %v", l.Info.ID, n, l.Messages, source != nil, err)
		}
		held[l.Info.ID] = n
	}
	return held
}

// An import that is killed at any moment has whole sessions or none of them, and the next one goes on.
func TestImport_killedGoesOnWhereItWas(t *testing.T) {
	d := newDesk(t)
	const sessions, messages = 40, 60
	folder := d.shelf(sessions, messages)
	last := 0
	for _, after := range []time.Duration{60, 90, 120, 150, 200, 250} {
		cmd := d.command("import", folder)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(after * time.Millisecond)
		cmd.Process.Kill()
		cmd.Wait()
		held := d.held()
		for id, n := range held {
			if n != messages {
				t.Errorf("half a session is seen: %s has %d messages of %d", id, n, messages)
			}
		}
		if len(held) < last {
			t.Errorf("%d sessions are left of %d", len(held), last)
		}
		last = len(held)
		t.Logf("after %d ms: %d sessions", after, last)
	}
	o := d.run("import", folder, "--json")
	if o.code != exitDone && o.code != exitNothing {
		t.Fatalf("the next import: %s", o.stderr)
	}
	doc := o.document(t)
	if doc["files"] != float64(sessions) {
		t.Errorf("%v files were looked at", doc["files"])
	}
	if got := len(d.held()); got != sessions {
		t.Errorf("%d sessions of %d are there in the end", got, sessions)
	}
	o = d.run("import", folder, "--json")
	o.wants(t, exitNothing)
	if doc := o.document(t); doc["unchanged"] != float64(sessions) {
		t.Errorf("%v files of %d are known as they are", doc["unchanged"], sessions)
	}
}

func TestImport_stopsWithItsContext(t *testing.T) {
	d := newDesk(t)
	folder := d.shelf(30, 60)
	ctx, cancel := context.WithTimeout(t.Context(), 80*time.Millisecond)
	defer cancel()
	o := d.runWith(ctx, strings.NewReader(""), new(strings.Builder), "import", folder)
	if o.code != exitInterrupted && o.code != exitDone {
		t.Errorf("exit code %d: %s", o.code, o.stderr)
	}
	time.Sleep(patience) // it may still be at its last transaction
	for id, n := range d.held() {
		if n != 60 {
			t.Errorf("half a session is seen: %s has %d messages", id, n)
		}
	}
}

func TestImport_tellsOnATerminalHowFarItIs(t *testing.T) {
	d := newDesk(t)
	folder := d.shelf(3, 5)
	var stderr strings.Builder
	env := System()
	env.Stdin, env.Stdout, env.Stderr, env.Dir, env.Environ = strings.NewReader(""), new(strings.Builder), &stderr, d.dir, d.env
	env.StdoutTerminal, env.StderrTerminal = false, true
	env.Getenv = func(name string) string {
		if name == "HOME" {
			return filepath.Join(d.dir, "..", "home")
		}
		return ""
	}
	if code := Main(t.Context(), []string{"import", folder}, env); code != exitDone {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	if !strings.Contains(stderr.String(), "importing 1 of 3 files") || !strings.HasSuffix(stderr.String(), "\r\x1b[K") {
		t.Errorf("it said %q", &stderr)
	}
}

func TestGrow_tellsWhatIsNew(t *testing.T) {
	text := func(id string, texts ...string) session.Message {
		m := session.Message{MessageInfo: session.MessageInfo{ID: id, Role: session.User}}
		for i, t := range texts {
			m.Parts = append(m.Parts, session.Part{ID: fmt.Sprint(id, i), Type: session.TextPart, Text: t})
		}
		return m
	}
	call := func(id string, status session.Status, output string) session.Message {
		return session.Message{MessageInfo: session.MessageInfo{ID: id, Role: session.Assistant}, Parts: []session.Part{
			{ID: id + "c", Type: session.ToolPart, Tool: "x", State: &session.ToolState{Status: status, Output: output}}}}
	}
	type log = []session.Message
	a, b, c := text("a", "1"), text("b", "2"), text("c", "3")
	own := text("own", "summary")
	for name, x := range map[string]struct {
		stored, file       log
		taken              int
		appended, updated  []string
		own                int
		rewritten, nothing bool
	}{
		"as it was":                  {stored: log{a, b}, file: log{a, b}, taken: 2, nothing: true},
		"grown":                      {stored: log{a, b}, file: log{a, b, c}, taken: 2, appended: []string{"c"}},
		"of nothing":                 {stored: nil, file: log{a}, taken: 0, appended: []string{"a"}},
		"cut":                        {stored: log{a, b}, file: log{a}, taken: 2, own: 1, nothing: true},
		"a call that ended":          {stored: log{a, call("t", session.Running, "")}, file: log{a, call("t", session.Completed, "out"), c}, taken: 2, updated: []string{"t"}, appended: []string{"c"}},
		"more parts, more text":      {stored: log{a, text("b", "be")}, file: log{a, text("b", "begun", "and more")}, taken: 2, updated: []string{"b"}},
		"folded in the store":        {stored: log{a, b, own}, file: log{a, b, c}, taken: 2, appended: []string{"c"}, own: 1},
		"grown after it was folded":  {stored: log{a, own, b}, file: log{a, b, c}, taken: 2, appended: []string{"c"}, own: 1},
		"another output":             {stored: log{call("t", session.Completed, "one")}, file: log{call("t", session.Completed, "two")}, taken: 1, rewritten: true},
		"another text":               {stored: log{a, b}, file: log{a, text("b", "x")}, taken: 2, rewritten: true},
		"another branch":             {stored: log{a, b}, file: log{a, c}, taken: 2, rewritten: true},
		"another beginning":          {stored: log{a, b}, file: log{c}, taken: 2, rewritten: true},
		"another order":              {stored: log{a, b}, file: log{b, a}, taken: 2, rewritten: true},
		"fewer parts":                {stored: log{text("a", "1", "2")}, file: log{text("a", "1")}, taken: 1, rewritten: true},
		"another role":               {stored: log{a}, file: log{{MessageInfo: session.MessageInfo{ID: "a", Role: session.Assistant}, Parts: a.Parts}}, taken: 1, rewritten: true},
		"an id that comes once more": {stored: log{a, own}, file: log{a, b, own}, taken: 1, rewritten: true},
	} {
		g := grow(x.stored, x.file, x.taken)
		if (g.rewritten != "") != x.rewritten {
			t.Errorf("%s: rewritten %q", name, g.rewritten)
			continue
		}
		if x.rewritten {
			continue
		}
		ids := func(messages log) (ids []string) {
			for _, m := range messages {
				ids = append(ids, m.ID)
			}
			return ids
		}
		if diff := cmp.Diff([]any{x.appended, x.updated, x.own}, []any{ids(g.appended), ids(g.updated), g.own}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if nothing := len(g.appended)+len(g.updated) == 0; nothing != x.nothing {
			t.Errorf("%s: nothing is new: %v", name, nothing)
		}
	}
}
