package rule_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/rule/ruletest"
)

var pebbleFailure = "Error: the pebble did not fit\n" + strings.Repeat("    at fit (/repo/src/pebble.ts:12:5)\n", 20)

// runExit appends a command that ended with an exit status.
func runExit(l *ruletest.Log, command, output string, exit string) string {
	id := l.Call("bash", ruletest.Args{"command": command}, output)
	l.Part(id).State.Metadata = jsontext.Value(`{"exit":` + exit + `}`)
	return id
}

func TestRetries_anErrorGoesWhenTheSameCallWorkedLater(t *testing.T) {
	type args = ruletest.Args
	for _, c := range []struct {
		name                  string
		tool, retry           string
		first, again          args
		goes, goesByTheLetter bool
	}{
		{"the same", "webfetch", "webfetch", args{"url": "u"}, args{"url": "u"}, true, true},
		{"a reworded description", "bash", "bash", args{"command": "make", "description": "Make it"}, args{"command": "make", "description": "Again"}, true, false},
		{"a longer limit of time", "bash", "bash", args{"command": "make", "timeout": 10}, args{"command": "make", "timeout": 99}, true, false},
		{"other arguments", "bash", "bash", args{"command": "make"}, args{"command": "make all"}, false, false},
		{"the same arguments of another tool", "webfetch", "browse", args{"url": "u"}, args{"url": "u"}, false, false},
		{"null and absent", "webfetch", "webfetch", args{"url": "u", "format": nil}, args{"url": "u"}, true, true},
		{"a difference deep in the arguments", "query", "query", args{"q": args{"a": args{"b": 1}}}, args{"q": args{"a": args{"b": 2}}}, false, false},
	} {
		for _, letter := range []bool{false, true} {
			l := ruletest.New()
			first := l.Fail(c.tool, c.first, pebbleFailure)
			again := l.Call(c.retry, c.again, "made")
			want := c.goes
			if letter {
				want = c.goesByTheLetter
			}
			e, is := l.Found(t, formOf(letter, &rule.Retries{}))[first]
			if is != want {
				t.Errorf("%s, letter %v: it goes: %v, want %v", c.name, letter, is, want)
			}
			if is && (e.Field != rule.Error || e.By != again || e.Saves <= 0) {
				t.Errorf("%s, letter %v: got %+v, want the error elided because of %s", c.name, letter, e, again)
			}
		}
	}
}

func TestRetries_oneLineOfTheFailureStays(t *testing.T) {
	l := ruletest.New()
	first := runExit(l, "npm test", "> pebbles@1.0.0 test\n\nFAIL src/pebble.test.ts\n"+pebbleFailure, "1")
	last := runExit(l, "npm test", "PASS src/pebble.test.ts", "0")
	e := onlyElides(t, l, &rule.Retries{}, first)[first]
	if e.Field != rule.Output || e.By != last {
		t.Errorf("got %+v, want the output elided because of %s", e, last)
	}
	if !strings.HasSuffix(e.Shown, ": bash npm test failed; it worked later: Error: the pebble did not fit]") || !rule.ContainsPlaceholder(e.Shown) {
		t.Errorf("got %q", e.Shown)
	}

	t.Run("of at most 160 characters", func(t *testing.T) {
		l := ruletest.New()
		first := l.Fail("bash", ruletest.Args{"command": "make"}, "error: "+strings.Repeat("pebble ", 100))
		l.Call("bash", ruletest.Args{"command": "make"}, "made")
		if shown := onlyElides(t, l, &rule.Retries{}, first)[first].Shown; strings.Contains(shown, "\n") || len(shown) > 230 {
			t.Errorf("got %d bytes: %q", len(shown), shown)
		}
	})
	t.Run("by the letter a command that ended is no error", func(t *testing.T) { onlyElides(t, l, formOf(true, &rule.Retries{})) })
}

func TestRetries_allFailuresBeforeTheSuccessGo(t *testing.T) {
	build := ruletest.Args{"command": "make"}
	for _, letter := range []bool{false, true} {
		l := ruletest.New()
		first, second := l.Fail("bash", build, pebbleFailure), l.Fail("bash", build, pebbleFailure)
		onlyElides(t, l, formOf(letter, &rule.Retries{}))
		l.Call("bash", build, "made")
		third := l.Fail("bash", build, pebbleFailure)
		onlyElides(t, l, formOf(letter, &rule.Retries{}), first, second)
		l.Call("bash", build, "made")
		onlyElides(t, l, formOf(letter, &rule.Retries{}), first, second, third)
	}
}

func TestRetries_aSuccessBeforeAFailureStays(t *testing.T) {
	for _, letter := range []bool{false, true} {
		l := ruletest.New()
		l.Call("webfetch", ruletest.Args{"url": "u"}, pebbleFailure)
		l.Fail("webfetch", ruletest.Args{"url": "u"}, pebbleFailure)
		onlyElides(t, l, formOf(letter, &rule.Retries{}))
	}
}

func TestRetries_aCallThatEndsLaterIsDecidedThen(t *testing.T) {
	fetch := ruletest.Args{"url": "u"}
	l := ruletest.New()
	first := l.Fail("webfetch", fetch, pebbleFailure)
	running := l.Running("webfetch", fetch)
	w, r := l.Window(), &rule.Retries{}
	if found := r.Find(w); len(found.Elisions) > 0 {
		t.Fatalf("got %+v while the retry is running, want nothing", found)
	}
	l.End(running, "made")
	w.Messages = l.Messages
	if found := r.Find(w); len(found.Elisions) != 1 || found.Elisions[0].Part != first {
		t.Errorf("got %+v when it had ended, want %s elided", found, first)
	}
}

func TestRetries_inOneStepNothingGoes(t *testing.T) {
	for _, letter := range []bool{false, true} {
		l := ruletest.New()
		first := l.Fail("webfetch", ruletest.Args{"url": "u"}, pebbleFailure)
		l.Beside("webfetch", ruletest.Args{"url": "u"}, "made")
		onlyElides(t, l, formOf(letter, &rule.Retries{}))
		l.Call("webfetch", ruletest.Args{"url": "u"}, "made")
		onlyElides(t, l, formOf(letter, &rule.Retries{}), first)
	}
}

func TestRetries_whatAPersonRefusedStays(t *testing.T) {
	refused := "The user doesn't want to proceed with this tool use. " + pebbleFailure
	build := ruletest.Args{"command": "make"}
	l := ruletest.New()
	first := l.Fail("bash", build, refused)
	l.Call("bash", build, "made")
	onlyElides(t, l, &rule.Retries{})
	t.Run("by the letter it is an error like others", func(t *testing.T) { onlyElides(t, l, formOf(true, &rule.Retries{}), first) })
}

func TestRetries_aCommandOfUnknownOutcomeProvesNothing(t *testing.T) {
	l := ruletest.New()
	first := runExit(l, "./deploy", pebbleFailure, "3")
	l.Call("bash", ruletest.Args{"command": "./deploy"}, "deploying")
	onlyElides(t, l, &rule.Retries{})
	runExit(l, "./deploy", "deployed", "0")
	onlyElides(t, l, &rule.Retries{}, first)
}

func TestRetries_aFailedEditGoesWhenTheFileWasEditedLater(t *testing.T) {
	type args = ruletest.Args
	edit := func(path, old string) args { return args{"filePath": path, "oldString": old, "newString": "flint"} }
	unfound := "oldString not found in the file. " + strings.Repeat("What is there reads otherwise. ", 20)
	patch := func(files ...string) args {
		text := "*** Begin Patch\n"
		for _, file := range files {
			text += "*** Update File: " + file + "\n@@\n-pebble\n+flint\n"
		}
		return args{"patchText": text + "*** End Patch"}
	}
	for _, c := range []struct {
		name  string
		write func(l *ruletest.Log) (failed string, by []string)
		goes  bool
	}{
		{"by another text", func(l *ruletest.Log) (string, []string) {
			return l.Fail("edit", edit("src/a.go", "pebble"), unfound), []string{l.Call("edit", edit("/repo/src/a.go", "pebbles"), "Edited.")}
		}, true},
		{"by another tool", func(l *ruletest.Log) (string, []string) {
			return l.Fail("edit", edit("src/a.go", "pebble"), unfound), []string{l.Call("write", args{"filePath": "./src/a.go", "content": "flint"}, "Written.")}
		}, true},
		{"another file", func(l *ruletest.Log) (string, []string) {
			return l.Fail("edit", edit("src/a.go", "pebble"), unfound), []string{l.Call("edit", edit("src/b.go", "pebble"), "Edited.")}
		}, false},
		{"an edit that failed too", func(l *ruletest.Log) (string, []string) {
			return l.Fail("edit", edit("src/a.go", "pebble"), unfound), []string{l.Fail("edit", edit("src/a.go", "pebbles"), unfound)}
		}, false},
		{"a read", func(l *ruletest.Log) (string, []string) {
			return l.Fail("edit", edit("src/a.go", "pebble"), unfound), []string{l.Call("read", args{"filePath": "src/a.go"}, "1: flint")}
		}, false},
		{"a command that seems to", func(l *ruletest.Log) (string, []string) {
			return l.Fail("edit", edit("src/a.go", "pebble"), unfound), []string{l.Call("bash", args{"command": "sed -i s/a/b/ src/a.go"}, "")}
		}, false},
		{"one of two files", func(l *ruletest.Log) (string, []string) {
			return l.Fail("apply_patch", patch("a.go", "b.go"), unfound), []string{l.Call("apply_patch", patch("a.go"), "Done.")}
		}, false},
		{"both of two files, one after the other", func(l *ruletest.Log) (string, []string) {
			return l.Fail("apply_patch", patch("a.go", "b.go"), unfound), []string{l.Call("apply_patch", patch("b.go"), "Done."), l.Call("apply_patch", patch("a.go"), "Done.")}
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := ruletest.New()
			failed, by := c.write(l)
			e, goes := l.Found(t, &rule.Retries{})[failed]
			if goes != c.goes {
				t.Fatalf("the failed edit goes: %v, want %v", goes, c.goes)
			}
			if goes && e.By != strings.Join(by, " ") {
				t.Errorf("it goes because of %s, want %s", e.By, by)
			}
			if goes && !strings.Contains(e.Shown, " failed; a later edit worked: oldString not found") {
				t.Errorf("got %q", e.Shown)
			}
		})
	}
}
