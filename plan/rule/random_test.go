package rule_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/rule/ruletest"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/token"
)

// everyRule in one form, each new.
func everyRule(letter bool, age rule.Age) []rule.Rule {
	all := []rule.Rule{
		formOf(letter, &rule.Files{Age: age}), formOf(letter, &rule.URLs{Age: age}), formOf(letter, &rule.Queries{Age: age}), formOf(letter, &rule.Snapshots{Age: age, Keep: 1}),
		formOf(letter, &rule.Retries{Age: age}), formOf(letter, &rule.Inputs{Age: age}), formOf(letter, &rule.Errors{Age: age}), formOf(letter, &rule.CodeBlocks{Age: age}),
		formOf(letter, &rule.AttachedFiles{Age: age}),
	}
	if !letter {
		all = append(all, &rule.Duplicates{Age: age}, &rule.Todos{Age: age}, &rule.Idle{Outputs: 1 + age.Steps, Inputs: 2 + age.Turns, Least: 20},
			&rule.Idle{Outputs: 5 * (1 + age.Steps), Inputs: 8, Least: 5})
	}
	return all
}

// grow appends something at random.
func grow(t *rapid.T, l *ruletest.Log) {
	pick := func(label string, of ...string) string { return rapid.SampledFrom(of).Draw(t, label) }
	file := ruletest.Args{"filePath": pick("file", "a.go", "./a.go", "b.go")}
	output := pick("output", page, page+"More.\n", "Done.")
	call := l.Call
	if m := l.Messages[len(l.Messages)-1]; m.Role == session.Assistant && rapid.Bool().Draw(t, "beside") {
		call = l.Beside
	}
	url := pick("picture", data("image/png", 40), data("image/png", 50), "file:///a.png")
	switch rapid.IntRange(0, 12).Draw(t, "what") {
	case 0:
		l.User("Go on.\n```go\n" + codeOf(rapid.IntRange(1, 9).Draw(t, "lines")) + "```\n")
		if rapid.Bool().Draw(t, "attached") {
			l.Attach("a.png", "image/png", url)
		}
	case 1:
		returned(l, call("screenshot", ruletest.Args{}, output), session.Part{Mime: "image/png", URL: url})
	case 2, 3:
		call("read", file, pick("shown", output, wholeFile(30), wholeFile(40)))
	case 4:
		file["content"] = output
		call("write", file, "Done.")
	case 5:
		file["oldString"], file["newString"] = output, "x"
		call("edit", file, output)
	case 6:
		call("webfetch", ruletest.Args{"url": pick("url", "https://a.example", "https://b.example"), "format": pick("format", "html", "text")}, output)
	case 7:
		call("bash", ruletest.Args{"command": pick("command", "ls", "ls -la", "git status", "make"), "description": pick("words", "x", "y")}, output)
	case 8:
		l.Fail("bash", ruletest.Args{"command": pick("command", "make", "ls")}, "Error: no\n"+page)
	case 9:
		call("todowrite", ruletest.Args{"todos": todos(rapid.IntRange(0, 6).Draw(t, "todos"))}, output)
	case 10:
		call("browser_snapshot", ruletest.Args{}, output)
	case 11:
		l.Running("read", file)
	case 12:
		call("snapshot", ruletest.Args{}, output)
	}
}

// However a log grew and whatever was committed and undone on the way: the rules find what they
// would find in it at once, say the same twice, leave out only what something shown covers, and
// claim what is measured.
func TestRules_findTheSameHoweverTheLogGrew(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		letter := rapid.Bool().Draw(t, "letter")
		age := rule.Age{Turns: rapid.IntRange(0, 2).Draw(t, "turns"), Steps: rapid.IntRange(0, 3).Draw(t, "steps")}
		facts, rules, ledger := rule.NewFacts(token.Chars4{}), everyRule(letter, age), rule.Ledger{}
		l := ruletest.New()
		running := ""
		for range rapid.IntRange(1, 25).Draw(t, "length") {
			if running != "" && rapid.Bool().Draw(t, "ends") {
				l.End(running, page)
			} else {
				grow(t, l)
			}
			running = ""
			for _, p := range l.Messages[len(l.Messages)-1].Parts {
				if p.State != nil && !p.State.Final() {
					running = p.ID
				}
			}
			w := l.Window()
			w.Facts, w.Ledger = facts, ledger
			var all rule.Found
			for i, fresh := range everyRule(letter, age) {
				grown := rules[i].Find(w)
				if diff := cmp.Diff(grown, rules[i].Find(w)); diff != "" {
					t.Fatalf("%s says something else when asked again:\n%s", fresh.Name(), diff)
				}
				once := l.Window()
				once.Ledger = ledger
				if diff := cmp.Diff(fresh.Find(once), grown); diff != "" {
					t.Fatalf("%s over a log that grew (-at once +grown):\n%s", fresh.Name(), diff)
				}
				all.Elisions = append(all.Elisions, grown.Elisions...)
			}
			settled := rule.Resolve([]rule.Found{all}, ledger, func(rule string) bool { return rule == "idle" }).Elisions
			after := ledger.With(settled...)
			for _, e := range settled {
				if e.Saves <= 0 {
					t.Fatalf("it saves %d: %+v", e.Saves, e)
				}
				for _, by := range e.Covers() {
					if after.Touches(by) {
						t.Fatalf("%s went because of %s, which went too: %v", e.Part, by, after.Of(by))
					}
				}
			}
			sizes := rule.NewFacts(token.Chars4{})
			if saved := view.Tokens(l.Messages, ledger, sizes) - view.Tokens(l.Messages, after, sizes); saved != rule.Saves(settled) {
				t.Fatalf("claimed %d tokens, measured %d: %s", rule.Saves(settled), saved, fmt.Sprint(settled))
			}
			switch rapid.IntRange(0, 5).Draw(t, "then") {
			case 0, 1, 2:
				ledger = after
			case 3:
				if all := ledger.All(); len(all) > 0 { // somebody takes back what was done
					ledger = ledger.Without(all[rapid.IntRange(0, len(all)-1).Draw(t, "undone")].Key())
				}
			}
		}
	})
}
