package rule_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/rule/ruletest"
	"github.com/winnowhq/winnow/session"
)

func TestDuplicates_anOlderEqualOutputGoes(t *testing.T) {
	type call struct {
		tool string
		args ruletest.Args
	}
	for _, c := range []struct {
		name         string
		first, again call
		goes         bool
	}{
		{"the same call", call{"grep", ruletest.Args{"pattern": "x", "path": "a"}}, call{"grep", ruletest.Args{"path": "a", "pattern": "x"}}, true},
		{"another tool with the same arguments", call{"grep", ruletest.Args{"pattern": "x"}}, call{"glob", ruletest.Args{"pattern": "x"}}, false},
		{"two tools without arguments", call{"mcp__a__one", ruletest.Args{}}, call{"mcp__a__two", ruletest.Args{}}, false},
		{"a member that is null is none", call{"grep", ruletest.Args{"pattern": "x", "path": nil}}, call{"grep", ruletest.Args{"pattern": "x"}}, true},
		{"a difference at depth two", call{"ask", ruletest.Args{"q": ruletest.Args{"a": 1, "b": 2}}}, call{"ask", ruletest.Args{"q": ruletest.Args{"a": 1, "b": 3}}}, false},
		{"order of members at depth two", call{"ask", ruletest.Args{"q": ruletest.Args{"a": 1, "b": 2}}}, call{"ask", ruletest.Args{"q": ruletest.Args{"b": 2, "a": 1}}}, true},
		{"order of a list", call{"ask", ruletest.Args{"q": []int{1, 2}}}, call{"ask", ruletest.Args{"q": []int{2, 1}}}, false},
		{"in other words, with another limit", call{"bash", ruletest.Args{"command": "ls", "description": "List"}}, call{"bash", ruletest.Args{"command": "ls", "timeout": 5}}, true},
		{"a skill", call{"skill", ruletest.Args{"name": "go"}}, call{"skill", ruletest.Args{"name": "go"}}, false},
		{"a todo list", call{"todoread", ruletest.Args{}}, call{"todoread", ruletest.Args{}}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := ruletest.New()
			first, again := l.Call(c.first.tool, c.first.args, page), l.Call(c.again.tool, c.again.args, page)
			got := l.Found(t, &rule.Duplicates{})
			e, goes := got[first]
			if goes != c.goes {
				t.Fatalf("it goes: %v, want %v", goes, c.goes)
			}
			if goes && (e.By != again || e.Field != rule.Output || !strings.HasSuffix(e.Shown, "; the same again below]") || len(got) != 1) {
				t.Errorf("got %+v, want the output elided because of %s", got, again)
			}
		})
	}
}

func TestDuplicates_outputsMustBeEqual(t *testing.T) {
	l := ruletest.New()
	args := ruletest.Args{"command": "date"}
	a1 := l.Call("bash", args, page)
	b := l.Call("bash", args, page+".")
	a2 := l.Call("bash", args, page)
	got := l.Found(t, &rule.Duplicates{})
	if len(got) != 1 || got[a1].By != a2 {
		t.Errorf("got %+v, want %s alone because of %s; %s says something else", got, a1, a2, b)
	}
}

func TestDuplicates_filesOfTheOutputCount(t *testing.T) {
	l := ruletest.New()
	first := l.Call("read", ruletest.Args{"filePath": "a.png"}, page)
	returned(l, first, session.Part{Mime: "image/png", URL: data("image/png", 10)})
	again := l.Call("read", ruletest.Args{"filePath": "a.png"}, page)
	returned(l, again, session.Part{Mime: "image/png", URL: data("image/png", 11)})
	if got := l.Found(t, &rule.Duplicates{}); len(got) != 0 {
		t.Errorf("another picture came with it, and %v goes", got)
	}
}

func TestDuplicates_inOneStep(t *testing.T) {
	l := ruletest.New()
	first := l.Call("read", ruletest.Args{"filePath": "a.go"}, page)
	again := l.Beside("read", ruletest.Args{"filePath": "a.go"}, page)
	if got := l.Found(t, &rule.Duplicates{}); got[first].By != again || len(got) != 1 {
		t.Errorf("got %+v, want %s because of %s", got, first, again)
	}
	if got := l.Found(t, formOf(true, &rule.Files{})); len(got) != 0 {
		t.Errorf("the letter of files takes %+v of the same step", got)
	}
}

func TestDuplicates_failuresAndOtherFoldersStay(t *testing.T) {
	l := ruletest.New()
	l.Fail("bash", ruletest.Args{"command": "make"}, page)
	l.Fail("bash", ruletest.Args{"command": "make"}, page)
	l.Call("bash", ruletest.Args{"command": "go test"}, "Exit code: 1\n"+page)
	l.Call("bash", ruletest.Args{"command": "go test"}, "Exit code: 1\n"+page)
	l.Call("bash", ruletest.Args{"command": "ls"}, page)
	l.Cwd = "/other"
	l.Call("bash", ruletest.Args{"command": "ls"}, page)
	if got := l.Found(t, &rule.Duplicates{}); len(got) != 0 {
		t.Errorf("got %+v, want nothing", got)
	}
}

// Two calls whose handles would be equal get handles that differ, and each is found by its own.
func TestHandles_tellCollidingCallsApart(t *testing.T) {
	var h rule.Handles
	first := map[string]string{} // by the first characters of a handle
	parts := 0
	for i := 0; i < 1<<18; i++ {
		p := session.Part{ID: fmt.Sprintf("prt_%d", i), CallID: fmt.Sprintf("call_%d", i), Type: session.ToolPart}
		name := h.Of(&p)
		parts++
		if len(name) == rule.HandleLength {
			first[name] = p.ID
			continue
		}
		other := first[name[:rule.HandleLength]]
		if other == "" || h.Part(name) != p.ID || h.Part(name[:rule.HandleLength]) != other {
			t.Fatalf("%s and %s: the handle %s names %s, and %s names %s", p.ID, other, name, h.Part(name), name[:rule.HandleLength], h.Part(name[:rule.HandleLength]))
		}
		return
	}
	t.Errorf("no collision among %d calls", parts)
}
