package rule_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/rule/ruletest"
	"github.com/winnowhq/winnow/session"
)

func TestStripped_keepsEveryArgumentAndWhatIdentifies(t *testing.T) {
	long := strings.Repeat("line\n", 200)
	l := ruletest.New()
	p := *l.Part(l.Call("write", nil, "ok"))
	state := *p.State
	p.State = &state
	for _, c := range []struct{ name, input, want string }{
		{"write", `{"filePath":"a.go","content":"LONG","mode":420}`, `{"filePath":"a.go","content":"MARK","mode":420}`},
		{"nested", `{"edits":[{"old":"LONG","new":"x"},{"old":"y","new":"LONG"}],"id":12345678901234567890}`, `{"edits":[{"old":"MARK","new":"x"},{"old":"y","new":"MARK"}],"id":12345678901234567890}`},
	} {
		state.Input = jsontext.Value(strings.ReplaceAll(c.input, "LONG", strings.ReplaceAll(long, "\n", `\n`)))
		got, ok := l.Window().Stripped(&p)
		marker := "[winnow " + (&rule.Handles{}).Of(&p) + ": 200 lines left out]"
		if want := strings.ReplaceAll(c.want, "MARK", marker); !ok || got != want {
			t.Errorf("%s: got %s, want %s", c.name, got, want)
		}
	}
	for _, input := range []string{`{"filePath":"a.go"}`, `{}`, `null`, `{"broken`, `["` + strings.Repeat("x", 1000) + `"]`, `{"` + strings.Repeat("x", 1000) + `":1}`} {
		state.Input = jsontext.Value(input)
		if got, ok := l.Window().Stripped(&p); ok {
			t.Errorf("%.40s became %s", input, got)
		}
	}
}

func TestStripped_ofAPatchTheFilesStay(t *testing.T) {
	l := ruletest.New()
	patch := "*** Begin Patch\n*** Update File: a.go\n" + strings.Repeat("+line\n", 200) + "*** Delete File: b.go\n*** End Patch"
	got, ok := l.Window().Stripped(l.Part(l.Call("apply_patch", ruletest.Args{"input": patch}, "ok")))
	if !ok || !strings.Contains(got, "*** Update File: a.go") || !strings.Contains(got, "*** Delete File: b.go") || strings.Contains(got, "+line") {
		t.Errorf("the patch became %s", got)
	}
}

func TestWorth(t *testing.T) {
	big := strings.Repeat("word", 300)
	l := ruletest.New()
	for _, c := range []struct {
		name string
		part string
		want bool
	}{
		{"a big output", l.Call("read", ruletest.Args{"filePath": "a"}, big), true},
		{"big arguments", l.Call("write", ruletest.Args{"content": big}, "ok"), true},
		{"a big error", l.Fail("bash", ruletest.Args{"command": "x"}, big), true},
		{"a small call", l.Call("read", ruletest.Args{"filePath": "a"}, "few"), false},
		{"an image", l.Attach("a.png", "image/png", "data:,"), true},
		{"what lists the context", l.Call(rule.ToolList, ruletest.Args{}, big), false},
		{"the same by way of a server", l.Call("mcp__winnow__context_list", ruletest.Args{}, big), false},
		{"a long text", l.User(big), true},
	} {
		if got := rule.Worth(l.Part(c.part), rule.HandleMinimum); got != c.want {
			t.Errorf("%s: worth a handle %v, want %v", c.name, got, c.want)
		}
	}
}

func TestDistilled_saysWhatItStandsFor(t *testing.T) {
	l := ruletest.New()
	a := l.Part(l.Call("read", ruletest.Args{"filePath": "src/a.go"}, strings.Repeat("line\n", 412)))
	b := l.Part(l.Call("grep", ruletest.Args{"pattern": "func"}, strings.Repeat("hit\n", 80)))
	w := l.Window()
	var h rule.Handles
	ha, hb := h.Of(a), h.Of(b)
	if got, want := w.Distilled(a, rule.Output, " It parses.\n"), "[winnow "+ha+": read src/a.go, 412 lines distilled] It parses."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	with := w.DistilledWith(b, rule.Output, a)
	if want := "[winnow " + hb + ": grep func, 80 lines left out; distilled with " + ha + "]"; with != want {
		t.Errorf("got %q, want %q", with, want)
	}
	if e := (rule.Elision{Rule: rule.Distill, Shown: with}); !w.LeansOn(e, a) || w.LeansOn(e, b) {
		t.Errorf("%q leans on %s: %v, on itself: %v", with, ha, w.LeansOn(e, a), w.LeansOn(e, b))
	}
	text := &session.Part{ID: "t", Type: session.TextPart, Text: "one\ntwo"}
	if got, want := w.Discarded(text, rule.Text), "[winnow "+h.Of(text)+": text, 2 lines left out]"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
