package rule_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/rule/ruletest"
)

// both runs one of S002's own tests in the form of its letter and in the sound one.
func both(t *testing.T, check func(t *testing.T, letter bool)) {
	t.Helper()
	for _, letter := range []bool{true, false} {
		name := "sound"
		if letter {
			name = "letter"
		}
		t.Run(name, func(t *testing.T) { check(t, letter) })
	}
}

// becomes fails the test unless a part is shown as S002 says, and in the sound form as one line with a handle.
func becomes(t *testing.T, e rule.Elision, letter bool, want string) {
	t.Helper()
	switch {
	case letter && e.Shown != want:
		t.Errorf("%s becomes %q, want %q", e.Part, e.Shown, want)
	case !letter && (!rule.ContainsPlaceholder(e.Shown) || strings.Contains(e.Shown, "\n")):
		t.Errorf("%s becomes %q, want one line with a handle", e.Part, e.Shown)
	}
}

func TestS002_t38_ofTwoFetchesOfOneURLTheNewerStays(t *testing.T) {
	both(t, func(t *testing.T, letter bool) {
		l := ruletest.New()
		first := l.Call("webfetch", ruletest.Args{"url": "https://a.example/pebbles", "format": "text"}, page)
		search := l.Call("websearch", ruletest.Args{"query": "pebbles"}, page)
		l.Turns(1)
		l.Call("webfetch", ruletest.Args{"url": "https://a.example/sand", "format": "text"}, page)
		again := l.Call("webfetch", ruletest.Args{"url": "https://a.example/pebbles", "format": "text"}, page)
		l.Call("websearch", ruletest.Args{"query": "pebbles"}, page)
		found := onlyElides(t, l, formOf(letter, &rule.URLs{}), first, search)
		becomes(t, found[first], letter, rule.Superseded)
		if found[first].By != again {
			t.Errorf("%s goes because of %s, want %s", first, found[first].By, again)
		}
	})
}

func TestS002_t39_ofEqualStateQueriesTheNewestStays(t *testing.T) {
	both(t, func(t *testing.T, letter bool) {
		l := ruletest.New()
		ask := func(command string) string { return l.Call("bash", ruletest.Args{"command": command}, pebbleListing) }
		first := ask("ls -la")
		ask("git status")
		l.Turns(1)
		files := ask("find . -name '*.go'")
		again := ask("ls -la")
		ask("find . -name '*.go'")
		found := onlyElides(t, l, formOf(letter, &rule.Queries{}), first, files)
		becomes(t, found[first], letter, rule.Superseded)
		if found[first].By != again {
			t.Errorf("%s goes because of %s, want %s", first, found[first].By, again)
		}
	})
}

func TestS002_t40_onlyTheLatestSnapshotStays(t *testing.T) {
	both(t, func(t *testing.T, letter bool) {
		l := ruletest.New()
		first := l.Call("snapshot", nil, pebbleTree)
		second := l.Turns(1).Call("snapshot", nil, pebbleTree)
		third := l.Turns(1).Call("snapshot", nil, pebbleTree)
		found := onlyElides(t, l, formOf(letter, &rule.Snapshots{Keep: 1}), first, second)
		becomes(t, found[first], letter, rule.Superseded)
		if found[second].By != third {
			t.Errorf("%s goes because of %s, want %s", second, found[second].By, third)
		}
	})
}

func TestS002_t41_aFailedAttemptGoesWhenTheRetryWorked(t *testing.T) {
	both(t, func(t *testing.T, letter bool) {
		l := ruletest.New()
		fetch := ruletest.Args{"url": "https://a.example/pebbles"}
		first, second := l.Fail("webfetch", fetch, pebbleFailure), l.Fail("webfetch", fetch, pebbleFailure)
		onlyElides(t, l, formOf(letter, &rule.Retries{}))
		worked := l.Call("webfetch", fetch, page)
		l.Fail("webfetch", ruletest.Args{"url": "https://a.example/sand"}, pebbleFailure)
		found := onlyElides(t, l, formOf(letter, &rule.Retries{}), first, second)
		for _, part := range []string{first, second} {
			becomes(t, found[part], letter, rule.Superseded)
			if e := found[part]; e.By != worked || e.Field != rule.Error {
				t.Errorf("got %+v, want the error elided because of %s", e, worked)
			}
		}
	})
}

func TestS002_t44_anErrorOlderThanThreeTurnsIsTruncated(t *testing.T) {
	both(t, func(t *testing.T, letter bool) {
		failure := "Error: Something failed\nStack trace:\n"
		for i := range 30 {
			failure += fmt.Sprintf("  at /repo/pebble.ts:%d\n", i)
		}
		l := ruletest.New()
		old := l.Fail("bash", ruletest.Args{"command": "make"}, failure)
		l.Turns(1)
		l.Fail("bash", ruletest.Args{"command": "make flint"}, failure)
		l.Turns(2)
		e := onlyElides(t, l, formOf(letter, &rule.Errors{Age: rule.Age{Turns: 3}}), old)[old]
		if first, _, _ := strings.Cut(e.Shown, "\n"); first != "Error: Something failed" || e.Field != rule.Error {
			t.Errorf("the %s begins with %q, want the first line of the error", e.Field, first)
		}
		if want := fmt.Sprintf("Error: Something failed\n[Error output truncated - %d chars total]", len(failure)); letter && e.Shown != want {
			t.Errorf("got %q, want %q", e.Shown, want)
		}
		if !letter && !strings.Contains(e.Shown, "/repo/pebble.ts:29") {
			t.Errorf("got %q, want the places kept", e.Shown)
		}
	})
}
