package chat

import (
	"context"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/agent/chat/internal/editor"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/session"
)

// pixel is an image.
var pixel = []byte("\x89PNG\r\n\x1a\n0000IHDR")

// folder is a folder with files, some of them ignored.
func folder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{".gitignore": "*.log\nbuild/\n", "parse/next.go": "x", "parse/next_test.go": "x",
		"a.log": "x", "build/out.go": "x", "docs/größe.md": "x", "shot 1.png": string(pixel), "shot.png": string(pixel),
		"with space.txt": "x", "not.png": "text"} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func in(dir string) func(*Config, *agent.Config) {
	return func(c *Config, _ *agent.Config) { c.Directory = dir }
}

func TestMention_completesFilesThatAreNotIgnored(t *testing.T) {
	b := setUp(t, llmtest.Script{}, in(folder(t)))
	b.types("look at @ne")
	b.shows("  @parse/next.go")
	got := b.look()
	for _, no := range []string{"a.log", "build", "größe", "shot"} {
		if strings.Contains(got, no) {
			t.Errorf("%s is offered:\n%s", no, got)
		}
	}
	b.press("tab", "tab")
	b.shows("› @parse/next_test.go")
	b.press("enter")
	if got, want := b.input.Value(), "look at @parse/next_test.go "; got != want {
		t.Errorf("typed is %q, want %q", got, want)
	}
	b.types("and @GRÖ")
	b.shows("@docs/größe.md")
	b.press("tab")
	if got, want := b.input.Value(), "look at @parse/next_test.go and @docs/größe.md "; got != want {
		t.Errorf("typed is %q, want %q", got, want)
	}
	b.press("ctrl+u")
	b.types("@par")
	b.shows("@parse/")
	b.press("esc")
	if got := b.look(); strings.Contains(got, "@parse/") {
		t.Errorf("esc leaves what is offered:\n%s", got)
	}
	b.press("ctrl+u")
	b.types("mail me@ne")
	if got := b.look(); strings.Contains(got, "next.go") {
		t.Errorf("an address is taken for a file:\n%s", got)
	}
}

func TestLikeness_ranks(t *testing.T) {
	for _, c := range []struct {
		path, typed string
		want        int
	}{{"parse/next.go", "pa", 0}, {"parse/next.go", "ne", 1}, {"parse/next.go", "xt", 2}, {"parse/next.go", "e/n", 3},
		{"parse/next.go", "pnx", 4}, {"parse/next.go", "z", -1}, {"parse/", "", 0}, {"a/parse/", "par", 1}} {
		f := fileOf(c.path)
		if got := likeness(&f, c.typed); got != c.want {
			t.Errorf("%s, %q: %d, want %d", c.path, c.typed, got, c.want)
		}
	}
}

// A pasted path of an image becomes an attachment, which is sent with the message.
func TestPaste_ofAnImagesPathAttachesIt(t *testing.T) {
	dir := folder(t)
	b := setUp(t, llmtest.Script{Answer: llmtest.Text("a lamp")}, in(dir))
	for _, pasted := range []string{filepath.Join(dir, "shot.png"), filepath.Join(dir, `shot\ 1.png`) + " ",
		"'" + filepath.Join(dir, "shot 1.png") + "'", "file://" + filepath.Join(dir, "shot%201.png"), "shot.png"} {
		b.send(tea.PasteMsg{Content: pasted})
		b.until("an attachment of "+pasted, func() bool { return len(b.input.Attached()) == 1 })
		b.shows(" 16 B]")
		b.press("backspace")
		if len(b.input.Attached()) > 0 || !b.input.Empty() {
			t.Errorf("%s: a key does not delete it", pasted)
		}
	}
	for _, pasted := range []string{"not.png", "/nowhere/x.png", "a line\nshot.png", "see shot.png"} {
		b.send(tea.PasteMsg{Content: pasted})
		b.until("the text "+pasted, func() bool { return b.input.Value() == pasted })
		if len(b.input.Attached()) > 0 {
			t.Errorf("%s is attached", pasted)
		}
		b.input.Set("")
	}
	b.send(tea.PasteMsg{Content: "shot.png"})
	b.until("an attachment", func() bool { return len(b.input.Attached()) == 1 })
	b.says(" what is this?")
	b.shows("a lamp")
	b.rests()
	b.shows("[shot.png image/png]")
	records := b.upstream.Records()
	want := base64.StdEncoding.EncodeToString(pixel)
	if body := string(records[len(records)-1].Body); !strings.Contains(body, want) {
		t.Errorf("the image was not sent: %s", body)
	}
	b.says("and @shot.png")
	b.rests()
	b.until("the image twice", func() bool { return strings.Count(b.look(), "[shot.png image/png]") == 2 })
}

// What is said while it works takes its files along.
func TestMention_ofAnImageWhileItWorks(t *testing.T) {
	hold := make(chan struct{})
	b := setUp(t, llmtest.Script{Answer: llmtest.Sequence(llmtest.Reply{Text: "first", Hold: hold},
		llmtest.Reply{Text: "a lamp"})}, in(folder(t)))
	b.says("one")
	b.until("a request", func() bool { return len(b.upstream.Records()) > 0 })
	b.says("and @shot.png, what is it?")
	b.shows("↥ waits: and @shot.png")
	close(hold)
	b.shows("a lamp")
	b.rests()
	records := b.upstream.Records()
	want := base64.StdEncoding.EncodeToString(pixel)
	if body := string(records[len(records)-1].Body); !strings.Contains(body, want) {
		t.Errorf("the image was not sent: %s", body)
	}
}

// A pin that is set in /context is in the bar when the panel is closed.
func TestContext_whatIsDoneInItIsInTheBar(t *testing.T) {
	b := setUp(t, llmtest.Script{Answer: llmtest.Text(strings.Repeat("a long answer ", 300))}, nil)
	b.says("one")
	b.shows("a long answer")
	b.rests()
	b.says("/context")
	b.shows("answer: a long answer")
	b.types("jjjjkkp")
	b.settles()
	b.press("esc")
	b.until("a pin in the bar", func() bool { return b.session.gauge.Pinned > 0 })
}

func TestEditor_whatIsWrittenElsewhereKeepsAttachments(t *testing.T) {
	var e editor.Editor
	e.Insert("see ")
	e.Attach(session.Part{Type: session.FilePart, Filename: "a.png"}, "[a.png 16 B]")
	e.Attach(session.Part{Type: session.FilePart, Filename: "b.png"}, "[b.png 16 B]")
	e.Edited("now [a.png 16 B] alone")
	if got := e.Attached(); len(got) != 1 || got[0].Filename != "a.png" || e.Value() != "now [a.png 16 B] alone" {
		t.Errorf("%q with %v", e.Value(), got)
	}
}

func TestCompose_takesOverWhatWasWritten(t *testing.T) {
	b := setUp(t, llmtest.Script{}, nil)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "message.md"), []byte("written\nelsewhere\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.send(composedMsg{folder: dir})
	if got, want := b.input.Value(), "written\nelsewhere"; got != want {
		t.Errorf("typed is %q, want %q", got, want)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the file is left behind: %v", err)
	}
	b.send(composedMsg{folder: dir, err: os.ErrPermission})
	b.shows("the editor failed")
	if got := b.input.Value(); got != "written\nelsewhere" {
		t.Errorf("after a failure typed is %q", got)
	}
}

// What was said in any session of the folder is found again, the newest first; other folders are
// left alone.
func TestSaid_isFoundOverSessionsOfTheFolder(t *testing.T) {
	b := setUp(t, llmtest.Script{Answer: llmtest.Text("yes")}, nil)
	for _, text := range []string{"light the lamp", "mend the parser"} {
		b.says(text)
		b.shows("▌ " + text)
		b.rests()
		b.says("/clear")
		b.shows("is kept")
	}
	if err := b.store.Create(t.Context(), session.Info{ID: "ses_other", Directory: "/elsewhere"}); err != nil {
		t.Fatal(err)
	}
	b.press("ctrl+r")
	b.shows("› ")
	b.shows("light the lamp")
	b.golden("said")
	b.types("lam")
	b.press("enter")
	b.until("the text in the line", func() bool { return b.input.Value() == "light the lamp" })
}

func TestDiff_showsWhatTheSessionChanged(t *testing.T) {
	b := setUp(t, llmtest.Script{Answer: llmtest.Text("yes")}, nil)
	b.says("one")
	b.rests()
	b.says("/diff")
	b.shows("what changed in files is not known")
	b.config.Changes = changes
	b.says("/diff")
	b.shows("2 files, +3 −1")
	b.golden("diff")
}

func changes(context.Context, string) ([]session.FileDiff, error) {
	return []session.FileDiff{
		{File: "lamp.sh", Status: "modified", Additions: 1, Deletions: 1,
			Patch: "diff --git a/lamp.sh b/lamp.sh\n--- a/lamp.sh\n+++ b/lamp.sh\n@@ -1,2 +1,2 @@\n #!/bin/sh\n-echo off\n+echo on\n"},
		{File: "docs/new.md", Status: "added", Additions: 2,
			Patch: "diff --git a/docs/new.md b/docs/new.md\nnew file mode 100644\n--- /dev/null\n+++ b/docs/new.md\n@@ -0,0 +1,2 @@\n+# New\n+\ttext\n"},
	}, nil
}
