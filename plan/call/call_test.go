package call

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/session"
)

// logOf writes a log of calls by hand.
type logOf struct {
	messages []session.Message
}

// call records a call that ended, in a message of its own; output that begins with "!" is an error.
func (l *logOf) call(tool string, input map[string]any, output string) *logOf {
	args, err := json.Marshal(input, json.Deterministic(true))
	if err != nil {
		panic(err)
	}
	s := &session.ToolState{Status: session.Completed, Input: args, Output: output}
	if text, failed := strings.CutPrefix(output, "!"); failed {
		s.Status, s.Error, s.Output = session.Failed, text, ""
	}
	n := len(l.messages)
	m := session.Message{MessageInfo: session.MessageInfo{ID: fmt.Sprintf("msg_%d", n), Role: session.Assistant, Path: &session.Path{Cwd: "/repo", Root: "/repo"}}}
	m.Parts = []session.Part{{ID: fmt.Sprintf("prt_%d_0", n), Type: session.ToolPart, Tool: tool, CallID: fmt.Sprintf("c%d", n), State: s}}
	l.messages = append(l.messages, m)
	return l
}

// run records a command with its exit status.
func (l *logOf) run(command, output string, exit int) *logOf {
	l.call("bash", map[string]any{"command": command}, output)
	l.messages[len(l.messages)-1].Parts[0].State.Metadata = jsontext.Value(fmt.Sprintf(`{"exit":%d}`, exit))
	return l
}

type args = map[string]any

func TestActions_knowTheToolsOfEveryAgent(t *testing.T) {
	type did struct {
		Op             Op
		Path           string
		Added, Removed int
	}
	for _, c := range []struct {
		name, tool string
		input      args
		want       []did
	}{
		{"OpenCode read", "read", args{"filePath": "/repo/a.go"}, []did{{Read, "/repo/a.go", 0, 0}}},
		{"Claude Code read", "Read", args{"file_path": "/repo/./a.go"}, []did{{Read, "/repo/a.go", 0, 0}}},
		{"pi read, relative", "read", args{"path": "a.go"}, []did{{Read, "/repo/a.go", 0, 0}}},
		{"OpenCode edit", "edit", args{"filePath": "/repo/a.go", "oldString": "x\ny\n", "newString": "x\nz\nw\n"}, []did{{Edit, "/repo/a.go", 2, 1}}},
		{"pi edit", "edit", args{"path": "a.go", "oldText": "x", "newText": "y"}, []did{{Edit, "/repo/a.go", 1, 1}}},
		{"MultiEdit", "MultiEdit", args{"file_path": "/repo/a.go", "edits": []args{{"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": ""}}}, []did{{Edit, "/repo/a.go", 1, 2}}},
		{"NotebookEdit", "NotebookEdit", args{"notebook_path": "/repo/n.ipynb", "new_source": "x = 1"}, []did{{Edit, "/repo/n.ipynb", 1, 0}}},
		{"Write", "Write", args{"file_path": "/repo/a.go", "content": "a\nb\n"}, []did{{Create, "/repo/a.go", 2, 0}}},
		{"SWE-agent view", "str_replace_editor", args{"command": "view", "path": "/repo/a.py"}, []did{{Read, "/repo/a.py", 0, 0}}},
		{"SWE-agent create", "str_replace_editor", args{"command": "create", "path": "/repo/a.py", "file_text": "x"}, []did{{Create, "/repo/a.py", 1, 0}}},
		{"SWE-agent replace", "str_replace_editor", args{"command": "str_replace", "path": "/repo/a.py", "old_str": "x", "new_str": "y\nz"}, []did{{Edit, "/repo/a.py", 2, 1}}},
		{"SWE-agent insert", "str_replace_editor", args{"command": "insert", "path": "/repo/a.py", "insert_line": 3, "new_str": "y"}, []did{{Edit, "/repo/a.py", 1, 0}}},
		{"MCP file server", "mcp__files__read_file", args{"path": "a.go"}, []did{{Read, "/repo/a.go", 0, 0}}},
		{"Cline read", "read_files", args{"files": []args{{"path": "a.go"}, {"path": "/repo/b.go", "start_line": 3}}}, []did{{Read, "/repo/a.go", 0, 0}, {Read, "/repo/b.go", 0, 0}}},
		{"Cline edit", "editor", args{"path": "a.go", "old_text": "x", "new_text": "y\nz"}, []did{{Edit, "/repo/a.go", 2, 1}}},
		{"Cline insert", "editor", args{"path": "a.go", "insert_line": 3, "new_text": "y"}, []did{{Edit, "/repo/a.go", 1, 0}}},
		{"Cline create", "editor", args{"path": "a.go", "old_text": nil, "new_text": "y"}, []did{{Create, "/repo/a.go", 1, 0}}},
		{"Cline commands", "run_commands", args{"commands": []string{"ls -la", "rm -rf c.go"}}, []did{{Op: Run}, {Delete, "/repo/c.go", 0, 0}}},
		{"Cline command as a text", "run_commands", args{"commands": "rm -rf c.go"}, []did{{Op: Run}, {Delete, "/repo/c.go", 0, 0}}},
		{"OpenCode patch", "patch", args{"patchText": "*** Begin Patch\n*** Add File: new.go\n+a\n+b\n*** Update File: old.go\n@@\n-x\n+y\n*** Delete File: gone.go\n*** End Patch"},
			[]did{{Create, "/repo/new.go", 2, 0}, {Edit, "/repo/old.go", 1, 1}, {Delete, "/repo/gone.go", 0, 0}}},
		{"Codex apply_patch as a command", "shell", args{"command": []string{"apply_patch", "*** Begin Patch\n*** Update File: a.go\n-x\n+y\n*** End Patch"}}, []did{{Op: Run}, {Edit, "/repo/a.go", 1, 1}}},
		{"Codex apply_patch in a here-document", "exec_command", args{"cmd": "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: a.go\n-x\n+y\n*** End Patch\nEOF\n"}, []did{{Op: Run}, {Edit, "/repo/a.go", 1, 1}}},
		{"Codex shell in a shell", "shell", args{"command": []string{"bash", "-lc", "cd sub && sed -i 's/a/b/' x.go"}}, []did{{Op: Run}, {Edit, "/repo/sub/x.go", 0, 0}}},
		{"Codex workdir", "exec_command", args{"cmd": "cat x.go", "workdir": "/repo/sub"}, []did{{Op: Run}, {Read, "/repo/sub/x.go", 0, 0}}},
		{"heredoc into a file", "bash", args{"command": "cat > notes.md <<EOF\none\ntwo\nEOF"}, []did{{Op: Run}, {Create, "/repo/notes.md", 2, 0}}},
		{"append", "bash", args{"command": "echo x >> .gitignore"}, []did{{Op: Run}, {Edit, "/repo/.gitignore", 0, 0}}},
		{"move and remove", "bash", args{"command": "git mv a.go b.go && rm -rf c.go"}, []did{{Op: Run}, {Move, "/repo/a.go", 0, 0}, {Delete, "/repo/c.go", 0, 0}}},
		{"nothing plain", "bash", args{"command": "rm -rf \"$DIR\"/* ; cat < /dev/null 2>/dev/null"}, []did{{Op: Run}}},
		{"a piece of a file", "bash", args{"command": "sed -n '10,20p' a.go | head -5"}, []did{{Op: Run}, {Read, "/repo/a.go", 0, 0}}},
		{"perl in place", "bash", args{"command": "perl -pi -e 's/a/b/' a.go b.go"}, []did{{Op: Run}, {Edit, "/repo/a.go", 0, 0}, {Edit, "/repo/b.go", 0, 0}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := new(logOf).call(c.tool, c.input, "")
			var got []did
			for _, a := range Calls(l.messages)[0].Actions {
				got = append(got, did{a.Op, a.Path, a.Added, a.Removed})
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTelling_picksPlacesAndCauses(t *testing.T) {
	output := "=== RUN TestA\nlevel=INFO msg=x error=none\n    a_test.go:12: got 3, want 4\n--- FAIL: TestA (0.00s)\nsome noise\n\x1b[31mError: boom\x1b[0m\nnoise\n"
	want := []string{"a_test.go:12: got 3, want 4", "--- FAIL: TestA (0.00s)", "Error: boom"}
	if diff := cmp.Diff(want, ErrorLines(output, 3)); diff != "" {
		t.Errorf("telling lines (-want +got):\n%s", diff)
	}
	if got := ErrorLines("one\ntwo\nthree\nfour", 2); !cmp.Equal(got, []string{"three", "four"}) {
		t.Errorf("without telling lines: got %q, want the last two", got)
	}
}

func TestPlace_findsPathAndLine(t *testing.T) {
	for line, want := range map[string]string{
		"    feed_test.go:45: unfolded text differs": "feed_test.go:45",
		"src/a/b.ts:10:5 - error TS2304":             "src/a/b.ts:10",
		"at 12:30:45 all was well":                   "",
		"http://127.0.0.1:8417/x":                    "",
		"no place":                                   "",
	} {
		if got, _ := Place(line); got != want {
			t.Errorf("%q: got %q, want %q", line, got, want)
		}
	}
}

func TestInvocation_covers(t *testing.T) {
	for _, c := range []struct {
		later, earlier string
		want           bool
	}{
		{"go test ./...", "go test ./a ./b", true},
		{"go test ./a/...", "go test ./a/b", true},
		{"go test ./a", "go test ./...", false},
		{"pytest", "pytest tests/test_a.py", true},
		{"pytest tests", "pytest tests/test_a.py::test_x", true},
		{"pytest tests/test_b.py", "pytest tests/test_a.py", false},
		{"npm run build", "npm run lint", false},
		{"FOO=1 timeout 60 go test ./... 2>&1 | tail", "go test ./x", true},
	} {
		later, earlier := Main(Invocations(c.later)), Main(Invocations(c.earlier))
		if got := later.Covers(earlier); got != c.want {
			t.Errorf("%q covers %q: got %v, want %v", c.later, c.earlier, got, c.want)
		}
	}
}

func TestShorten_isRelativeBelowTheFolderAlone(t *testing.T) {
	for _, c := range [][3]string{{"/repo/a", "/repo", "a"}, {"/repository/a", "/repo", "/repository/a"}, {"/repo", "/repo/", "."}, {`C:\x\a.go`, `C:\x`, "a.go"}, {"a", "", "a"}} {
		if got := Shorten(c[0], c[1]); got != c[2] {
			t.Errorf("Shorten(%q, %q): got %q, want %q", c[0], c[1], got, c[2])
		}
	}
}

// FuzzInvocations holds that what is quoted is one word as it stands, and that what is made of words has names.
func FuzzInvocations(f *testing.F) {
	for _, s := range []string{"go test ./... | tail", "cat <<EOF\nx\nEOF", "bash -lc 'a && b'", "a > b 2>&1 &", "'unclosed", "\"", "<<", "a <<-", ">>", "(((", "a\\ b \"c\\\"d\" # e\nf"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, v := range Invocations(text) {
			if v.Name == "" {
				t.Errorf("%q: a program without name", text)
			}
		}
		if utf8.ValidString(text) && !strings.ContainsAny(text, "'\x00\r") && len(text) < 1000 {
			steps := Steps("run '" + text + "' \"$x\" '' > out && next")
			if len(steps) != 2 || !slices.Equal(steps[0].Words, []string{"run", text, "$x", ""}) || !steps[0].Writes || steps[0].After != "&&" {
				t.Errorf("%q between quotes: %+v", text, steps)
			}
		}
		for _, a := range touched(parseShell(text), "/repo") {
			if a.Path == "" && a.Op != Run && a.To == "" && !a.Exact {
				t.Errorf("%q: an action without path: %+v", text, a)
			}
		}
		told := ErrorLines(text, 5)
		for _, line := range told {
			if len(told) > 5 || line == "" || len(line) > 240+len("…") || strings.Contains(line, "\n") {
				t.Errorf("%q tells %q", text, told)
			}
		}
	})
}

// Sessions that were recorded on Windows name their files as Windows does, in both ways.
func TestPaths_ofWindows(t *testing.T) {
	for _, c := range []struct{ name, cwd, clean, short string }{
		{`C:\repo\pkg\a.go`, `C:\repo`, `C:\repo\pkg\a.go`, `pkg\a.go`},
		{`pkg\a.go`, `C:\repo`, `C:\repo\pkg\a.go`, `pkg\a.go`},
		{`./pkg/a.go`, `C:\repo\`, `C:\repo\pkg\a.go`, `pkg\a.go`},
		{`a.go`, `C:\`, `C:\a.go`, `a.go`},
		{`pkg/a.go`, `C:/repo`, `C:/repo/pkg/a.go`, `pkg/a.go`},
		{`C:/repo/x/../a.go`, ``, `C:/repo/a.go`, `C:/repo/a.go`},
		{`D:\other\a.go`, `C:\repo`, `D:\other\a.go`, `D:\other\a.go`},
		{`C:\repository\a.go`, `C:\repo`, `C:\repository\a.go`, `C:\repository\a.go`},
		{`\\host\share\a.go`, `C:\repo`, `\\host\share\a.go`, `\\host\share\a.go`},
	} {
		clean := Clean(c.name, c.cwd)
		if short := Shorten(clean, c.cwd); clean != c.clean || short != c.short {
			t.Errorf("%s in %s: %s, in short %s; want %s and %s", c.name, c.cwd, clean, short, c.clean, c.short)
		}
	}
}

// BenchmarkHostileTexts reads texts that would be slow if anything in this package were quadratic: 4 MiB should take some milliseconds.
func BenchmarkHostileTexts(b *testing.B) {
	for _, unit := range []string{"a && ", "error: ", "<<a\n", "\x1b[", "FAIL\n", "(", "a.go:1 ", "'", "- "} {
		text := strings.Repeat(unit, 4<<20/len(unit))
		b.Run(fmt.Sprintf("%q", unit), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				ErrorLines(text, 6)
				touched(parseShell(text), "/repo")
				verdict(text)
				Invocations(text)
			}
		})
	}
}

// NumberedErrors has the lines that ErrorLines picks, each with its number in the output; where nothing tells it
// has none, and ErrorLines the last.
func TestTold_numbersWhatTellingPicks(t *testing.T) {
	output := "building\n\n\x1b[31merror: no such pier\x1b[0m\nbuilding\n  tide.go:33: undefined: low\nFAIL\n"
	var lines []string
	for n, line := range NumberedErrors(output, 4) {
		lines = append(lines, line)
		if at := strings.Split(output, "\n")[n-1]; !strings.Contains(Plain(at), line) {
			t.Errorf("line %d is %q, not %q", n, at, line)
		}
	}
	if diff := cmp.Diff(ErrorLines(output, 4), lines); diff != "" || len(lines) < 2 {
		t.Errorf("(-ErrorLines +NumberedErrors):\n%s", diff)
	}
	for n, line := range NumberedErrors("high water\nlow water\n", 4) {
		t.Errorf("line %d tells %q", n, line)
	}
}
