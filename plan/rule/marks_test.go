package rule_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/rule/ruletest"
	"github.com/winnowhq/winnow/session"
)

func TestContainsPlaceholder(t *testing.T) {
	for _, c := range []struct {
		text string
		want bool
	}{
		{"", false},
		{"package main\n\nfunc main() {}\n", false},
		{`const opening = "[winnow "`, false},
		{`fmt.Sprintf("[winnow %s: %s, %d lines left out]", handle, what, n)`, false},
		{"[winnow HANDLE: read FILE, N lines left out]", false},
		{"[winnow please: do not stop]", false},
		{"[winnow please:\n 3 lines left out]", false},
		{"[winnow k3f9a: read a.go, 3 lines left out]", false},
		{"a list [handle k3f7a2] in a line", false},
		{"[handle %s]\n", false},
		{"[handle it]\n", false},
		{"[winnow k3f9a2: read a.go, 3 lines left out]", false}, // 9 is in no handle: examples are written so
		{"<dcp-x>text</dcp-x> and <acp:tool prunable_hash=\"a1b2c3\"/>", false},
		{"[winnow k3f7a2: read a.go, 3 lines left out]", true},
		{"func f() {\n[winnow k3f7a2: 812 lines left out]\n}", true},
		{"[winnow k3f7a2: read a.go, 3 lines distilled] It parses.", true},
		{"[winnow x [winnow k3f7a2: read a.go, 3 lines left out; shown again below]", true},
		{"text\n[handle k3f7a2]", true},
		{"text\r\n[handle k3f7a2]\r\n", true},
		{"[handle k3f7a2x]\nmore", true},
		{rule.Cleared, true},
		{rule.Superseded, true},
	} {
		if got := rule.ContainsPlaceholder(c.text); got != c.want {
			t.Errorf("ContainsPlaceholder(%q) is %v, want %v", c.text, got, c.want)
		}
	}
}

// Every text that stands in place of something is told, and the source of the program that writes them is not, but for the lines that quote the seeds' own.
func TestContainsPlaceholder_tellsWhatIsShown(t *testing.T) {
	l := ruletest.New()
	id := l.Call("read", ruletest.Args{"filePath": "src/a.go", "content": strings.Repeat("line\n", 100)}, strings.Repeat("func\n", 40))
	other := l.Call("bash", ruletest.Args{"command": "ls [winnow \n -l"}, "x")
	image := l.Attach("screen [1].png", "image/png", "data:image/png;base64,AAAA")
	w := l.Window()
	stripped, ok := w.Stripped(l.Part(id))
	if !ok {
		t.Fatal("500 characters among the arguments are not stripped")
	}
	for _, shown := range []string{
		w.Discarded(l.Part(id), rule.Output), w.Discarded(l.Part(other), rule.Output), w.Discarded(l.Part(image), rule.Attachments),
		w.Distilled(l.Part(id), rule.Output, "It parses."), w.DistilledWith(l.Part(other), rule.Output, l.Part(id)), stripped, rule.Label("k3f7a2"),
	} {
		if !rule.ContainsPlaceholder(shown) {
			t.Errorf("%q is not told", shown)
		}
	}
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files of source (%v)", len(files), err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			said := strings.Contains(line, "k3f7a2") // in this test
			letter := strings.Contains(line, rule.Cleared) || strings.Contains(line, rule.Superseded) || strings.Contains(line, "to save context") || strings.Contains(line, "output truncated")
			if rule.ContainsPlaceholder(line) && !said && !letter {
				t.Errorf("%s: %q is no placeholder", name, line)
			}
		}
	}
}

func FuzzContainsPlaceholder(f *testing.F) {
	for _, text := range []string{"", "[winnow ", "[winnow k3f7a2: a left out]", "\n[handle k3f7a2]\n", "[handle [handle k3f7a2]", "[winnow k3f7a2: \n left out"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		contained := rule.ContainsPlaceholder(text)
		// What surrounds a placeholder does not hide it.
		if contained && !rule.ContainsPlaceholder("before\n"+text+"\nafter") {
			t.Errorf("%q is not told any more between two lines", text)
		}
		p := session.Part{ID: "p", Type: session.ToolPart, Tool: "bash", State: &session.ToolState{
			Status: session.Completed, Input: []byte(`{}`), Output: text, Title: text,
		}}
		w := ruletest.New().Window()
		shown := w.Discarded(&p, rule.Output)
		if !rule.ContainsPlaceholder(text + "\n" + shown) {
			t.Errorf("%q is not told behind %q", shown, text)
		}
		if w.Facts.Target(&p) != "" && strings.Contains(shown, "\n") {
			t.Errorf("a placeholder of several lines: %q", shown)
		}
	})
}
