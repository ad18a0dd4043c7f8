package rule_test

import (
	"strings"
	"testing"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/rule/letter"
	"github.com/winnowhq/winnow/plan/rule/ruletest"
)

func TestFiles_theLetterTakesAnyOperationOnTheFile(t *testing.T) {
	type op struct {
		tool string
		args ruletest.Args
	}
	read, part := op{"read", ruletest.Args{"filePath": "a.go"}}, op{"read", ruletest.Args{"filePath": "a.go", "offset": 500, "limit": 9}}
	write, edit := op{"write", ruletest.Args{"filePath": "a.go", "content": "x"}}, op{"edit", ruletest.Args{"filePath": "a.go", "oldString": "x", "newString": "y"}}
	patch := func(files ...string) op {
		text := "*** Begin Patch\n"
		for _, f := range files {
			text += "*** Update File: " + f + "\n@@\n-x\n+y\n"
		}
		return op{"apply_patch", ruletest.Args{"patchText": text + "*** End Patch"}}
	}
	for _, c := range []struct {
		name string
		ops  []op
		goes string // one sign an operation: x goes, . stays
	}{
		{"read, read", []op{read, read}, "x."},
		{"read, write, edit, read", []op{read, write, edit, read}, "xxx."},
		{"a part after the whole", []op{read, part}, "x."},
		{"one file by three names", []op{{"read", ruletest.Args{"filePath": "./a.go"}}, {"read", ruletest.Args{"filePath": "/repo/b/../a.go"}}, read}, "xx."},
		{"other files", []op{read, {"read", ruletest.Args{"filePath": "b.go"}}, {"read", ruletest.Args{"filePath": "/other/a.go"}}}, "..."},
		{"a patch of two files, one of them read", []op{patch("a.go", "b.go"), read}, ".."},
		{"both of them read", []op{patch("a.go", "b.go"), read, {"read", ruletest.Args{"filePath": "b.go"}}}, "x.."},
		{"a patch after reading", []op{read, patch("a.go")}, "x."},
		{"a search in it, a command on it", []op{read, {"grep", ruletest.Args{"pattern": "x", "path": "a.go"}}, {"bash", ruletest.Args{"command": "cat a.go"}}}, "..."},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := ruletest.New()
			var ids []string
			for _, o := range c.ops {
				ids = append(ids, l.Call(o.tool, o.args, page))
			}
			found := l.Found(t, formOf(true, &rule.Files{}))
			got := ""
			for _, id := range ids {
				e, goes := found[id]
				switch {
				case !goes:
					got += "."
				case e.Shown != rule.Superseded || e.Field != rule.Output || e.By == "":
					t.Errorf("%s becomes %+v", id, e)
				default:
					got += "x"
				}
			}
			if got != c.goes {
				t.Errorf("got %s, want %s", got, c.goes)
			}
		})
	}
}

func TestFiles_theLetterLooksOnlyAtOperationsThatCompleted(t *testing.T) {
	l := ruletest.New()
	l.Call("read", ruletest.Args{"filePath": "a.go"}, page)
	l.Fail("read", ruletest.Args{"filePath": "a.go"}, page)
	l.Fail("edit", ruletest.Args{"filePath": "a.go"}, page)
	l.Running("write", ruletest.Args{"filePath": "a.go"})
	if got := l.Found(t, formOf(true, &rule.Files{})); len(got) != 0 {
		t.Errorf("got %+v, want nothing", got)
	}
	l.End(l.Messages[len(l.Messages)-1].Parts[1].ID, "Wrote it.")
	if got := l.Found(t, formOf(true, &rule.Files{})); len(got) != 1 {
		t.Errorf("once the write has ended: got %+v, want the read", got)
	}
}

func TestInputs_theLetterStripsToMetadata(t *testing.T) {
	long := strings.Repeat("A", 5000)
	for _, c := range []struct {
		name, tool string
		args       ruletest.Args
		want       string // "" when nothing goes
	}{
		{"a write", "write", ruletest.Args{"filePath": "a.go", "content": long}, `{"filePath":"a.go"}`},
		{"an edit", "edit", ruletest.Args{"filePath": "a.go", "oldString": "short", "newString": long, "replaceAll": true}, `{"filePath":"a.go","replaceAll":true}`},
		{"many edits", "multiedit", ruletest.Args{"file_path": "a.go", "edits": []ruletest.Args{{"old_string": "x", "new_string": "y"}}}, `{"file_path":"a.go"}`},
		{"unknown arguments by their size", "edit", ruletest.Args{"filePath": "a.go", "why": "a word", "blob": long, "n": 7, "extra": ruletest.Args{"k": 1}}, `{"filePath":"a.go","n":7,"why":"a word"}`},
		{"a path stays however long", "write", ruletest.Args{"filePath": "/repo/" + strings.Repeat("d/", 150) + "../" + strings.Repeat("../", 149) + "a.go", "content": long},
			`{"filePath":"/repo/` + strings.Repeat("d/", 150) + "../" + strings.Repeat("../", 149) + `a.go"}`},
		{"nothing to strip", "read", ruletest.Args{"filePath": "a.go", "offset": 5}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := ruletest.New()
			old := l.Call(c.tool, c.args, "Done.")
			again := l.Call("read", ruletest.Args{"filePath": "a.go"}, page)
			window := l.Window()
			found := formOf(true, &rule.Inputs{}).Find(window)
			if c.want == "" {
				if len(found.Elisions)+len(found.Refusals) != 0 {
					t.Errorf("got %+v, want nothing", found)
				}
				return
			}
			if len(found.Elisions) != 1 {
				t.Fatalf("got %+v, want one elision", found)
			}
			if e := found.Elisions[0]; e.Part != old || e.Field != rule.Input || e.By != again || e.Shown != c.want {
				t.Errorf("got %+v, want the input of %s shown as %s because of %s", e, old, c.want, again)
			}
		})
	}
}

func TestInputs_theLetterFollowsTheOtherRules(t *testing.T) {
	prompt := ruletest.Args{"url": "https://a.example", "options": []string{strings.Repeat("wide ", 60)}}
	l := ruletest.New()
	first := l.Call("webfetch", prompt, page)
	l.Call("webfetch", prompt, page)
	if got := l.Found(t, formOf(true, &rule.Inputs{})); len(got) != 1 || got[first].Shown != `{"url":"https://a.example"}` {
		t.Errorf("got %+v, want the arguments of %s stripped", got, first)
	}
}

// S002 says "older than 5 turns" and "older than 3 turns", its tests "5+ turns of work" (t43) and that errors of
// less than 3 turns stay (t44): what counts is how many messages the user has written behind a part.
func TestLetter_whatOlderThanMeans(t *testing.T) {
	long := "Error: no such pebble\n" + strings.Repeat("  at Object.sort (beach.ts:7)\n", 30)
	for _, c := range []struct {
		name  string
		rule  rule.Rule
		turns int // after which it goes
		log   func(*ruletest.Log) string
	}{
		{"code", letter.Code(5), 5, func(l *ruletest.Log) string { return l.User("```go\n" + codeOf(15) + "```") }},
		{"errors", letter.Errors(3), 3, func(l *ruletest.Log) string {
			return l.Fail("bash", ruletest.Args{"command": "make"}, long)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := ruletest.New()
			part := c.log(l)
			l.Turns(c.turns - 1)
			if _, goes := l.Found(t, c.rule)[part]; goes {
				t.Errorf("it goes after %d turns", c.turns-1)
			}
			l.Turns(1)
			if _, goes := l.Found(t, c.rule)[part]; !goes {
				t.Errorf("it stays after %d turns", c.turns)
			}
		})
	}
}

// What S002 10 calls legacy, and has where aggressiveFilePrune is off.
func TestWrites_onlyAReadSupersedesAWrite(t *testing.T) {
	l := ruletest.New()
	file := ruletest.Args{"filePath": "a.go"}
	read := l.Call("read", file, page)
	wrote := l.Call("write", ruletest.Args{"filePath": "a.go", "content": page}, "Wrote file successfully.")
	l.Fail("read", file, "no such file")
	if got := l.Found(t, letter.Writes()); len(got) != 0 {
		t.Errorf("before anything has read it: %+v", got)
	}
	edited := l.Call("edit", ruletest.Args{"filePath": "a.go", "oldString": "x", "newString": "y"}, "Edit applied successfully.")
	l.Call("read", ruletest.Args{"filePath": "b.go"}, page)
	again := l.Call("read", ruletest.Args{"filePath": "/repo/a.go", "offset": 3, "limit": 1}, "00003| x")
	got := l.Found(t, letter.Writes())
	if e := got[wrote]; len(got) != 1 || e.Shown != rule.Superseded || e.By != again {
		t.Errorf("got %+v, want %s because of %s, and neither %s nor %s", got, wrote, again, read, edited)
	}
	inputs := l.Found(t, letter.Inputs(letter.On{}))
	if e := inputs[wrote]; len(inputs) != 1 || e.Shown != `{"filePath":"a.go"}` {
		t.Errorf("of the arguments %+v, want those of %s stripped", inputs, wrote)
	}
}
