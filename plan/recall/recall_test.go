package recall

import (
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/session"
)

// logOf writes a log by hand: "user: text", "assistant: text", and calls.
type logOf struct {
	messages []session.Message
}

func (l *logOf) add(role session.Role, parts ...session.Part) *logOf {
	m := session.Message{MessageInfo: session.MessageInfo{ID: fmt.Sprintf("msg_%d", len(l.messages)), Role: role}}
	if role == session.Assistant {
		m.Path = &session.Path{Cwd: "/repo", Root: "/repo"}
	}
	for i, p := range parts {
		p.ID = fmt.Sprintf("prt_%d_%d", len(l.messages), i)
		m.Parts = append(m.Parts, p)
	}
	l.messages = append(l.messages, m)
	return l
}

func (l *logOf) user(text string) *logOf {
	return l.add(session.User, session.Part{Type: session.TextPart, Text: text})
}
func (l *logOf) says(text string) *logOf {
	return l.add(session.Assistant, session.Part{Type: session.TextPart, Text: text})
}

// call records a call that ended; output that begins with "!" is an error.
func (l *logOf) call(tool string, input map[string]any, output string) *logOf {
	args, err := json.Marshal(input, json.Deterministic(true))
	if err != nil {
		panic(err)
	}
	s := &session.ToolState{Status: session.Completed, Input: args, Output: output}
	if text, failed := strings.CutPrefix(output, "!"); failed {
		s.Status, s.Error, s.Output = session.Failed, text, ""
	}
	return l.add(session.Assistant,
		session.Part{Type: session.ToolPart, Tool: tool, CallID: fmt.Sprintf("c%d", len(l.messages)), State: s})
}

func (l *logOf) run(command, output string, exit int) *logOf {
	l.call("bash", map[string]any{"command": command}, output)
	l.messages[len(l.messages)-1].Parts[0].State.Metadata = jsontext.Value(fmt.Sprintf(`{"exit":%d}`, exit))
	return l
}

type args = map[string]any

func TestCalls_lineEditorChangesTheOpenFile(t *testing.T) {
	l := new(logOf).call("bash", args{"command": "open src/a.py 12\n"}, "[File: /repo/src/a.py]").
		call("bash", args{"command": "edit 3:4\nx = 1\ny = 2\nend_of_edit"}, "[File: /repo/src/a.py]")
	files := Files(call.Calls(l.messages))
	if len(files) != 1 || files[0].Path != "/repo/src/a.py" || files[0].Edits != 1 || files[0].Added != 2 ||
		files[0].Reads != 1 {
		t.Errorf("got %+v, want one read and one edit of two lines of /repo/src/a.py", files)
	}
}

func TestConstraints_keepRulesVerbatim(t *testing.T) {
	for _, c := range []struct {
		sentence         string
		rule, preference bool
	}{
		{"Never touch the Store type.", true, false},
		{"And only use the standard library, no new modules.", true, false},
		{"Only change files below internal/.", true, false},
		{"Please always run the tests before you commit.", true, false},
		{"Don't push.", true, false},
		{"Make sure that the port stays 8417.", true, false},
		{"I prefer slog over log.Printf.", false, true},
		{"Please use tabs.", false, true},
		{"Fass die Datei store.go niemals an.", true, false},
		{"Verwende nur die Standardbibliothek, bitte keine neuen Module.", true, false},
		{"Ich hätte lieber kurze Funktionen.", false, true},
		{"Ne touche jamais au fichier store.go.", true, false},
		{"Il faut que le port reste 8417.", true, false},
		{"Je préfère des fonctions courtes.", false, true},
		{"Nunca toques el tipo Store.", true, false},
		{"Hay que usar siempre la biblioteca estándar.", true, false},
		{"Prefiero funciones cortas.", false, true},
		{"不要修改 store.go。", true, false},
		{"必ずテストを実行してください。", true, false},
		{"No console logs!", true, false},
		{"Keine neuen Dateien.", true, false},
		{"Pas de nouveaux modules.", true, false},
		{"Keep it small.", false, true},
		{"I don't want a new dependency.", true, false},
		{"No idea.", false, false},
		{"No, the other one.", false, false},
		{"I don't know why this fails.", false, false},
		{"It never worked on my machine.", false, false},
		{"Why don't you use a map?", false, false},
		{"Das ist immer noch kaputt.", false, false},
		{"Add a button to the page.", false, false},
		{"The list shows only three entries.", false, false},
	} {
		rule, preference := Instruction(c.sentence)
		if rule != c.rule || !rule && preference != c.preference {
			t.Errorf("%q: got rule %v, preference %v; want %v, %v", c.sentence, rule, preference, c.rule, c.preference)
		}
	}
}

func TestConstraints_leaveOutCodeQuotesAndWhatProgramsWrote(t *testing.T) {
	l := new(logOf).user("Fix the build.\n```\n// never call this twice\n```\n> you must not quote this\n<system-reminder>\nYou must always be brief.\n</system-reminder>\nDo not change go.mod.").
		says("You must never trust an assistant.").user("Do not change go.mod.")
	var got []string
	for _, c := range Constraints(l.messages) {
		got = append(got, c.MessageID+" "+c.Text)
	}
	if diff := cmp.Diff([]string{"msg_0 Do not change go.mod."}, got); diff != "" {
		t.Errorf("constraints (-want +got):\n%s", diff)
	}
}

func TestTodos_newestListCounts(t *testing.T) {
	for _, c := range []struct {
		name string
		log  *logOf
		want []string
	}{
		{"OpenCode", new(logOf).call("todowrite", args{"todos": []args{{"content": "old", "status": "pending"}}}, "").
			call("todowrite", args{"todos": []args{{"content": "a", "status": "completed"},
				{"content": "b", "status": "in_progress"}}}, ""), []string{"completed a", "in_progress b"}},
		{"Codex", new(logOf).call("update_plan",
			args{"plan": []args{{"step": "a", "status": "in_progress"}, {"step": "b", "status": "pending"}}},
			"Plan updated"), []string{"in_progress a", "pending b"}},
		{"item by item", new(logOf).call("TaskCreate", args{"subject": "a"}, "").call("TaskCreate",
			args{"subject": "b"}, "").call("TaskUpdate", args{"taskId": "1", "status": "completed"}, ""),
			[]string{"completed a", "pending b"}},
		{"a list that failed", new(logOf).call("todowrite",
			args{"todos": []args{{"content": "a", "status": "pending"}}}, "").call("todowrite",
			args{"todos": []args{{"content": "b"}}}, "!invalid"), []string{"pending a"}},
		{"an empty list", new(logOf).call("todowrite", args{"todos": []args{{"content": "a"}}}, "").call("todowrite",
			args{"todos": []args{}}, ""), nil},
	} {
		var got []string
		for _, todo := range Todos(c.log.messages) {
			got = append(got, todo.Status+" "+todo.Text)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestFiles_countWhatSucceeded(t *testing.T) {
	l := new(logOf).call("read", args{"filePath": "/repo/a.go"}, "1: x").
		call("edit", args{"filePath": "./a.go", "oldString": "x", "newString": "y"}, "ok").
		call("edit", args{"filePath": "/repo/a.go", "oldString": "q", "newString": "r"}, "!not found").
		call("write", args{"filePath": "b.go", "content": "b\n"}, "ok").
		run("git mv b.go c.go", "", 0).
		run("rm d.go", "rm: cannot remove 'd.go': No such file or directory", 1)
	type state struct {
		Path                             string
		Reads, Creates, Edits, Dels, Bad int
		Last                             call.Op
		Message                          string
	}
	var got []state
	for _, f := range Files(call.Calls(l.messages)) {
		got = append(got, state{call.Shorten(f.Path, "/repo"), f.Reads, f.Creates, f.Edits, f.Deletes, f.Failed, f.Last,
			f.MessageID})
	}
	want := []state{
		{"a.go", 1, 0, 1, 0, 1, call.Edit, "msg_1"},
		{"b.go", 0, 1, 0, 0, 0, call.Delete, "msg_4"},
		{"c.go", 0, 1, 0, 0, 0, call.Move, "msg_4"},
		{"d.go", 0, 0, 0, 1, 0, call.Delete, "msg_5"}, // a shell command may have done something before it failed
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestFailures_endWithASuccessOfTheSame(t *testing.T) {
	for _, c := range []struct {
		name string
		log  *logOf
		want []string
	}{
		{"a test that passes later", new(logOf).run("go test ./a", "--- FAIL: TestX (0.0s)\nFAIL", 1).run("go test ./a",
			"ok  \ta\t0.1s", 0), nil},
		{"a wider test passes", new(logOf).run("go test ./a -v", "--- FAIL: TestX", 1).run("cd /repo && go test ./...",
			"ok  \ta\t0.1s", 0), nil},
		{"a narrower test passes", new(logOf).run("go test ./...", "--- FAIL: TestX", 1).run("go test ./b", "ok  \tb",
			0), []string{"go test ./..."}},
		{"another test of the same package passes",
			new(logOf).run("go test ./a", "--- FAIL: TestX", 1).run("go test ./a -run TestY", "ok  \ta", 0),
			[]string{"go test ./a"}},
		{"it fails again", new(logOf).run("npm test", "1 failing", 1).run("npm test", "2 failing", 1),
			[]string{"npm test"}},
		{"tests that pass compile", new(logOf).run("go build ./...", "a.go:1:2: undefined: x", 1).run("go test ./...",
			"ok  \ta", 0), nil},
		{"a masked failure", new(logOf).run("go test ./... | tail -3", "--- FAIL: TestX\nFAIL", 0),
			[]string{"go test ./... | tail -3"}},
		{"an edit that works later", new(logOf).call("edit", args{"filePath": "/repo/a.go", "oldString": "x"},
			"!not found").call("edit", args{"filePath": "a.go", "oldString": "y"}, "ok"), nil},
		{"an edit that does not", new(logOf).call("edit", args{"filePath": "/repo/a.go", "oldString": "x"},
			"!not found"), []string{"/repo/a.go"}},
		{"another installer brings it",
			new(logOf).run("npm install -g tool", "npm error code ENOTFOUND", 1).run("bun install -g tool",
				"installed tool", 0), nil},
		{"grep that finds nothing", new(logOf).run("grep -r foo .", "", 1), nil},
		{"the user said no", new(logOf).call("Bash", args{"command": "git push"},
			"!The user doesn't want to proceed with this tool use."), nil},
		{"an exit status in the text", new(logOf).call("exec_command", args{"cmd": "make check"},
			"Process exited with code 2\nOutput:\nmake: *** [check] Error 1"), []string{"make check"}},
	} {
		var got []string
		for _, f := range Failures(c.log.messages, call.Calls(c.log.messages)) {
			got = append(got, f.Target)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestFailures_oldLooksAreForgotten(t *testing.T) {
	l := new(logOf).call("read", args{"filePath": "/repo/missing.go"}, "!File not found")
	if n := len(Failures(l.messages, call.Calls(l.messages))); n != 1 {
		t.Fatalf("a read that just failed: got %d failures, want 1", n)
	}
	for range Exploring {
		l.run("echo", "x", 0)
	}
	if n := len(Failures(l.messages, call.Calls(l.messages))); n != 0 {
		t.Errorf("a read that failed %d calls ago: got %d failures, want none", Exploring+1, n)
	}
}

func TestSkills_areListedOnce(t *testing.T) {
	l := new(logOf).call("skill", args{"name": "go-service"}, "text").call("Skill", args{"skill": "go-service"},
		"text").
		call("read", args{"filePath": "/repo/AGENTS.md"}, "text").call("read", args{"filePath": "/repo/sub/CLAUDE.md"},
		"!missing").run("cat docs/SKILL.md", "text", 0)
	var got []string
	for _, s := range Skills(call.Calls(l.messages)) {
		got = append(got, s.Name+call.Shorten(s.Path, "/repo")+" "+s.MessageID)
	}
	if diff := cmp.Diff([]string{"go-service msg_1", "AGENTS.md msg_2", "docs/SKILL.md msg_4"}, got); diff != "" {
		t.Errorf("skills (-want +got):\n%s", diff)
	}
}

func TestPending_isTheQuestionAtTheEnd(t *testing.T) {
	for _, c := range []struct {
		name string
		log  *logOf
		want string
	}{
		{"a question", new(logOf).user("do it").says("Done so far. Should I keep the old file?"),
			"Should I keep the old file?"},
		{"a question and a courtesy", new(logOf).user("do it").says("Which port? I can also wait."), "Which port?"},
		{"answered", new(logOf).user("do it").says("Which port?").user("80"), ""},
		{"work went on", new(logOf).user("do it").says("Which port?").run("ls", "", 0), ""},
		{"a statement", new(logOf).user("do it").says("Why did it fail? Because of the port. I changed it. It works. All is well."), ""},
		{"in code only", new(logOf).user("do it").says("Done.\n```\nwhat?\n```"), ""},
	} {
		q, ok := Pending(c.log.messages)
		if q.Text != c.want || ok != (c.want != "") {
			t.Errorf("%s: got %q, %v; want %q", c.name, q.Text, ok, c.want)
		}
	}
}

func TestPending_findsTheToolThatAsks(t *testing.T) {
	l := new(logOf).user("do it").call("AskUserQuestion", args{"questions": []args{{"question": "Which colour?"}}}, "")
	l.messages[1].Parts[0].State.Status = session.Running
	if q, ok := Pending(l.messages); !ok || q.Text != "Which colour?" {
		t.Errorf("got %q, %v", q.Text, ok)
	}
}

func TestSentences_splitWhereSentencesEnd(t *testing.T) {
	for text, want := range map[string][]string{
		"One. Two! Three?":                       {"One.", "Two!", "Three?"},
		"Use e.g. a map, see store.go for v1.2.": {"Use e.g. a map, see store.go for v1.2."},
		"- first\n* second\n## Third":            {"first", "second", "Third"},
		"1. Do this\n2. Do that":                 {"1. Do this", "2. Do that"},
		"Er sagte \"nein.\" Dann ging er.":       {"Er sagte \"nein.\"", "Dann ging er."},
		"不要改。好的。":                                {"不要改。", "好的。"},
		"...\n---\n":                             nil,
		// Who says for how long something holds goes on to say what.
		"Good. For the rest of this session. don't push. Go on.": {"Good.", "For the rest of this session. don't push.", "Go on."},
		"This is an important constraint: from now on. Ask me.":  {"This is an important constraint: from now on. Ask me."},
		"From now on.\nAsk me.":                                  {"From now on.", "Ask me."},
		"For the tests. I ran them.":                             {"For the tests.", "I ran them."},
	} {
		if diff := cmp.Diff(want, Sentences(text)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

// FuzzSentences holds that sentences have all the letters of a text, in their order, and no line
// end.
func FuzzSentences(f *testing.F) {
	for _, seed := range []string{"No. Never do e.g. this, z.B. 3. not?", "- # a\n* b (c. d) \"e.\" f\n1. g",
		"不要。是吗？\r\nx\x1b[31my\xff", ". . .a.b...", "# # #\n## 1.\nNo. 5 is not."} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		letters := func(text string) string {
			return strings.Map(func(r rune) rune {
				if unicode.IsLetter(r) {
					return r
				}
				return -1
			}, text)
		}
		prose := Prose(text)
		all := Sentences(prose)
		for _, s := range all {
			if letters(s) == "" || s != strings.TrimSpace(s) || strings.Contains(s, "\n") || !utf8.ValidString(s) {
				t.Errorf("%q is a sentence of %q", s, text)
			}
		}
		want := ""
		for line := range strings.Lines(prose) {
			want += letters(call.Plain(strings.ToValidUTF8(line, "\uFFFD")))
		}
		if got := letters(strings.Join(all, " ")); got != want {
			t.Errorf("of %q the sentences have the letters %q, want %q", prose, got, want)
		}
	})
}

// BenchmarkHostileTexts reads texts that would be slow if anything in this package were quadratic:
// 4 MiB should take some milliseconds.
func BenchmarkHostileTexts(b *testing.B) {
	for _, unit := range []string{"<", "<skill>\n\n", "`", "a:", ". ", "e.g. ", "don't ", "不要", "?", "- "} {
		text := strings.Repeat(unit, 4<<20/len(unit))
		b.Run(fmt.Sprintf("%q", unit), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				Sentences(Prose(text))
				Instruction(text)
			}
		})
	}
}

// What may not have been reached is not told as done; what came later tells.
func TestFiles_whatPerhapsHappened(t *testing.T) {
	l := new(logOf).call("read", args{"filePath": "/repo/a.go"}, "1: x").
		run("if test -f a.go; then rm a.go; fi", "", 0).
		run("ls x || rm b.go", "", 0).
		run("cat b.go", "package b\n", 0).
		run("false || mv c.go d.go", "", 0).
		run("rm e.go; false || touch e.go", "", 0)
	var got []string
	for _, f := range Files(call.Calls(l.messages)) {
		text := call.Shorten(f.Path, "/repo")
		if f.Gone() {
			text += " gone"
		}
		if f.Perhaps != "" {
			text += " perhaps " + Past(f.Perhaps)
		}
		got = append(got, text)
	}
	want := []string{"a.go perhaps deleted", "b.go", "c.go perhaps moved", "d.go perhaps created",
		"e.go gone perhaps created"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}
