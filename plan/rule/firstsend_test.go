package rule_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/rule/ruletest"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/token"
)

func TestQuiet(t *testing.T) {
	for name, c := range map[string][2]string{
		"nothing":                         {"a\nb\r\nc", "a\nb\r\nc"},
		"colours":                         {"\x1b[1;32mok\x1b[0m  pier\n\x1b[31mno\x1b[m\n", "ok  pier\nno\n"},
		"a bar that is drawn over":        {"  1%\r 50%\r100%\ndone\r\n", "100%\ndone\r\n"},
		"a line that is cleared":          {"working\x1b[2K\rdone\n", "done\n"},
		"the last state of an open line":  {"1/3\r2/3\r3/3", "3/3"},
		"a title, ended by a bell":        {"\x1b]0;make\amake: up to date", "make: up to date"},
		"a link, ended by ESC \\":         {"\x1b]8;;https://pier.example\x1b\\pier\x1b]8;;\x1b\\", "pier"},
		"a string without an end is text": {"\x1b]0;make and more", "0;make and more"},
		"a character set, a reset":        {"\x1b(Bok\x1bc", "ok"},
		"what was cut in a sequence":      {"ok\x1b[3", "ok"},
		"what is no sequence":             {"ok\x1b[3é", "oké"},
		"an escape alone":                 {"ok\x1b", "ok"},
	} {
		if got := rule.Quiet(c[0]); got != c[1] {
			t.Errorf("%s: %q becomes %q, want %q", name, c[0], got, c[1])
		}
	}
}

// Quieting takes no visible character but those that were printed over, and is done after once.
func TestQuiet_isDoneAfterOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{
			"pier", " ", "\n", "\r\n", "\x1b[31m", "\x1b[0m", "\x1b[2K", "\x1b]0;t\a", "\x1b(B", "é",
		})).Draw(t, "pieces"), "")
		once := rule.Quiet(text)
		if strings.ContainsRune(once, '\x1b') || rule.Quiet(once) != once {
			t.Fatalf("%q becomes %q", text, once)
		}
		if strings.Count(once, "\n") != strings.Count(text, "\n") || strings.Count(once, "pier") != strings.Count(text, "pier") {
			t.Fatalf("%q becomes %q", text, once)
		}
	})
}

var all = rule.FirstSend{Noise: true, Repeats: true, Logs: 1000, Long: 1000}

func coloured(lines int) string {
	return strings.Repeat("\x1b[32mok\x1b[0m  a lamp on the pier\n", lines)
}

func TestFirstSend(t *testing.T) {
	bash := func(output string) ruletest.Use {
		return ruletest.Use{Tool: "bash", Args: ruletest.Args{"command": "make test"}, Output: output}
	}
	look := func(output string) ruletest.Use {
		return ruletest.Use{Tool: "bash", Args: ruletest.Args{"command": "ls -R"}, Output: output}
	}
	read := func(output string) ruletest.Use {
		return ruletest.Use{Tool: "read", Args: ruletest.Args{"filePath": "a.go"}, Output: output}
	}
	for name, c := range map[string]struct {
		before []ruletest.Use // steps of their own
		now    []ruletest.Use // one step
		rules  string         // of the elisions found
		first  rule.FirstSend
	}{
		"what a terminal understands":         {nil, []ruletest.Use{bash(coloured(30))}, "noise", all},
		"too little of it":                    {nil, []ruletest.Use{bash(coloured(3))}, "", all},
		"of a file nothing is taken":          {nil, []ruletest.Use{read(coloured(30))}, "", all},
		"nor of what was sent":                {[]ruletest.Use{bash(coloured(30))}, []ruletest.Use{read("x")}, "", all},
		"the same again":                      {[]ruletest.Use{read(many("a lamp", 90))}, []ruletest.Use{read(many("a lamp", 90))}, "repeats", all},
		"the same again beside something new": {[]ruletest.Use{read(many("a lamp", 90))}, []ruletest.Use{bash("no"), read(many("a lamp", 90))}, "repeats", all},
		"not the same":                        {[]ruletest.Use{read(many("a lamp", 90))}, []ruletest.Use{read(many("a light", 90))}, "", all},
		"twice in one step":                   {nil, []ruletest.Use{read(many("a lamp", 90)), read(many("a lamp", 90))}, "", all},
		"another call":                        {[]ruletest.Use{read(many("a lamp", 90))}, []ruletest.Use{bash(many("a lamp", 90))}, "", all},
		"changed in between, and changed back": {
			[]ruletest.Use{read(many("a lamp", 90)), read(many("a light", 90)), read(many("a lamp", 90))},
			[]ruletest.Use{read(many("a lamp", 90))}, "repeats", all,
		},
		"long":                    {nil, []ruletest.Use{look(many("a lamp on the pier", 900))}, "long", all},
		"of a file not":           {nil, []ruletest.Use{read(many("a lamp on the pier", 900))}, "", all},
		"nor with a shell":        {nil, []ruletest.Use{ruletest.Use{Tool: "bash", Args: ruletest.Args{"command": "cat a.go"}, Output: many("a lamp on the pier", 900)}}, "", all},
		"nor of another agent":    {nil, []ruletest.Use{ruletest.Use{Tool: "task", Args: ruletest.Args{"prompt": "Look.", "description": "look"}, Output: many("a lamp on the pier", 900)}}, "", all},
		"a test":                  {nil, []ruletest.Use{bash(many("a lamp on the pier", 900))}, "logs", all},
		"a test, looked through":  {nil, []ruletest.Use{ruletest.Use{Tool: "bash", Args: ruletest.Args{"command": "cd /repo && go build ./... && go test ./... 2>&1 | grep -v lamp"}, Output: many("a lamp on the pier", 900)}}, "logs", rule.FirstSend{Logs: 1000}},
		"not alone":               {nil, []ruletest.Use{ruletest.Use{Tool: "bash", Args: ruletest.Args{"command": "cat a.go; go test ./..."}, Output: many("a lamp on the pier", 900)}}, "", rule.FirstSend{Logs: 1000}},
		"nor beside another":      {nil, []ruletest.Use{ruletest.Use{Tool: "bash", Args: ruletest.Args{"command": "node tides.js; go test ./..."}, Output: many("a lamp on the pier", 900)}}, "", rule.FirstSend{Logs: 1000}},
		"what looks is no log":    {nil, []ruletest.Use{look(many("a lamp on the pier", 900))}, "", rule.FirstSend{Logs: 1000}},
		"a test that is not long": {nil, []ruletest.Use{bash(many("a lamp on the pier", 90))}, "", all},
		"nothing is set":          {[]ruletest.Use{bash(coloured(900))}, []ruletest.Use{bash(coloured(900))}, "", rule.FirstSend{}},
	} {
		t.Run(name, func(t *testing.T) {
			l := ruletest.New()
			l.User("Look.")
			for _, u := range c.before {
				l.Use(u, false)
			}
			for i, u := range c.now {
				l.Use(u, i > 0)
			}
			w := l.Window()
			found := w.FirstSend(c.first)
			var rules []string
			for _, e := range found {
				rules = append(rules, e.Rule)
				if !rule.ContainsPlaceholder(e.Shown) || e.Because == "" {
					t.Errorf("%s shows %q because %q", e.Rule, e.Shown, e.Because)
				}
			}
			if got := strings.Join(rules, " "); got != c.rules {
				t.Errorf("found %q, want %q", got, c.rules)
			}
			before, after := view.Tokens(w.Messages, rule.Ledger{}, w.Facts), view.Tokens(w.Messages, rule.NewLedger(found...), w.Facts)
			if before-after != rule.Saves(found) {
				t.Errorf("it claims to save %d tokens, and saves %d", rule.Saves(found), before-after)
			}
		})
	}
}

// What was not sent because it stands above is shown when it is asked for once more.
func TestFirstSend_whatIsAskedForTwiceIsShown(t *testing.T) {
	l := ruletest.New()
	l.User("Look.")
	ask := func() string { return l.Call("read", ruletest.Args{"filePath": "a.go"}, many("a lamp", 90)) }
	ask()
	var ledger rule.Ledger
	var told []bool
	for range 6 {
		part := ask()
		w := l.Window()
		w.Ledger = ledger
		found := w.FirstSend(all)
		ledger = ledger.With(found...)
		told = append(told, ledger.Touches(part))
	}
	for i, was := range told {
		if want := i%2 == 0; was != want {
			t.Errorf("time %d: told that it stands above: %v, want %v", i+2, was, want)
		}
	}
}

// What stands for others that were not sent lies idle no sooner than they would.
func TestIdle_countsWhatWasNotSentBecauseOfIt(t *testing.T) {
	l := ruletest.New()
	l.User("Look.")
	first := l.Call("read", ruletest.Args{"filePath": "a.go"}, many("a lamp on the pier", 90))
	l.Quiet(8)
	l.Call("read", ruletest.Args{"filePath": "a.go"}, many("a lamp on the pier", 90))
	w := l.Window()
	ledger := rule.NewLedger(w.FirstSend(all)...)
	if ledger.Len() != 1 {
		t.Fatal("the second read is sent")
	}
	idle := []rule.Rule{&rule.Idle{Outputs: 10, Least: 50}}
	taken := func() bool {
		w := l.Window()
		w.Ledger = ledger
		for _, e := range rule.Decide(w, idle).Elisions {
			if e.Part == first {
				return true
			}
		}
		return false
	}
	l.Quiet(5)
	if taken() {
		t.Error("it is taken 5 steps after it was asked for again")
	}
	l.Quiet(8)
	if !taken() {
		t.Error("it stays 13 steps after it was asked for again")
	}
}

// What is shown in part goes as a whole when its time has come, in the place of what was left out
// of it.
func TestPartial_makesRoomForTheWhole(t *testing.T) {
	l := ruletest.New()
	l.User("Look.")
	part := l.Call("bash", ruletest.Args{"command": "make test"}, coloured(60))
	w := l.Window()
	ledger := rule.NewLedger(w.FirstSend(all)...)
	l.Quiet(12)
	w = l.Window()
	w.Ledger = ledger
	found := rule.Decide(w, []rule.Rule{&rule.Idle{Outputs: 10, Least: 50}}).Elisions
	if len(found) != 1 || found[0].Part != part {
		t.Fatalf("found %+v", found)
	}
	standing := ledger.Partial(found)
	if len(standing) != 1 || standing[0].Rule != "noise" {
		t.Fatalf("it takes the place of %+v", standing)
	}
	next := ledger.Without(standing[0].Key()).With(found...)
	before, after := view.Tokens(w.Messages, rule.Ledger{}, w.Facts), view.Tokens(w.Messages, next, w.Facts)
	if before-after != rule.Saves(next.All()) {
		t.Errorf("it claims to save %d tokens, and saves %d", rule.Saves(next.All()), before-after)
	}
}

func TestFirstSend_leavesWhatIsPinnedOrGuarded(t *testing.T) {
	l := ruletest.New()
	l.User("Look.")
	pinned := l.Call("bash", ruletest.Args{"command": "make test"}, coloured(90))
	l.Beside("bash", ruletest.Args{"command": "make lint"}, coloured(91))
	w := l.Window()
	w.Pins, w.Guard = []rule.Pin{{ID: "pin", Part: pinned}}, &rule.Guard{Tools: []string{"bash"}}
	if found := w.FirstSend(all); len(found) != 0 {
		t.Errorf("found %+v", found)
	}
	w.Guard = nil
	if found := w.FirstSend(all); len(found) != 1 || found[0].Part == pinned {
		t.Errorf("found %+v", found)
	}
}

// However a session goes, only outputs of its newest step are found, and what they are left out
// for stands above in full.
func TestFirstSend_takesOnlyWhatWasNeverSent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var log []session.Message
		for _, event := range ruletest.Sessions(30).Draw(t, "session") {
			log = event.On(log)
		}
		w := rule.Window{Messages: log, Facts: rule.NewFacts(token.Linear{})}
		unsent := map[string]bool{}
		for i := session.Unsent(w.Messages); i < len(w.Messages); i++ {
			unsent[w.Messages[i].ID] = true
		}
		for _, e := range w.FirstSend(all) {
			if !unsent[e.Message] || e.Field != rule.Output && e.Field != rule.Error {
				t.Fatalf("%s takes the %s of %s", e.Rule, e.Field, e.Part)
			}
			for _, by := range e.Covers() {
				if _, p := session.FindPart(w.Messages, by); p == nil || p.State.Result() == "" {
					t.Fatalf("%s is not shown", by)
				}
			}
		}
	})
}
