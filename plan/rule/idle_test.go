package rule_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/rule/ruletest"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/token"
)

// idle is the rule as balanced has it.
func idle() *rule.Idle { return &rule.Idle{Outputs: 10, Inputs: 20, Least: 50} }

// tideLines is a text of the given number of lines, each of them long enough to be told again.
func tideLines(from, lines int) string {
	var b strings.Builder
	for n := from; n < from+lines; n++ {
		fmt.Fprintf(&b, "\thigh water number %d comes at the pier\n", n)
	}
	return b.String()
}

func readTide(l *ruletest.Log, file string, from int) string {
	return l.Call("read", ruletest.Args{"filePath": file}, tideLines(from, 20))
}

func writeTide(l *ruletest.Log, file string, from int) string {
	return l.Call("write", ruletest.Args{"filePath": file, "content": tideLines(from, 20)}, "Wrote file successfully.")
}

// gone are the parts that the rule finds, with the fields.
func gone(t *testing.T, l *ruletest.Log, r rule.Rule) []string {
	t.Helper()
	var all []string
	for _, e := range r.Find(l.Window()).Elisions {
		all = append(all, e.Part+" "+string(e.Field))
	}
	return all
}

// waits checks that a part stays up to the last of so many quiet steps, and goes then.
func waits(t *testing.T, l *ruletest.Log, r rule.Rule, what, part string, steps int) {
	t.Helper()
	l.Quiet(steps - 1)
	if slices.Contains(gone(t, l, r), part) {
		t.Errorf("%s goes after %d quiet steps, want %d", what, steps-1, steps)
	}
	if l.Quiet(1); !slices.Contains(gone(t, l, r), part) {
		t.Errorf("%s stays after %d quiet steps", what, steps)
	}
}

func TestIdle_outputsGoAfterTenStepsAndArgumentsAfterTwenty(t *testing.T) {
	for steps, want := range map[int]string{9: "", 10: "output", 19: "output", 20: "output input", 30: "output input"} {
		l := ruletest.New()
		output := readTide(l, "a.go", 1)
		l.Quiet(steps)
		if got := slices.Contains(gone(t, l, idle()), output+" output"); got != strings.Contains(want, "output") {
			t.Errorf("an output after %d steps goes: %v, want %v", steps, got, !got)
		}
		l = ruletest.New()
		input := writeTide(l, "a.go", 1)
		l.Quiet(steps)
		if got := slices.Contains(gone(t, l, idle()), input+" input"); got != strings.Contains(want, "input") {
			t.Errorf("arguments after %d steps go: %v, want %v", steps, got, !got)
		}
	}
}

func TestIdle_zeroStepsLeaveAFieldAlone(t *testing.T) {
	l := ruletest.New()
	output, input := readTide(l, "a.go", 1), writeTide(l, "b.go", 100)
	l.Quiet(40)
	for _, c := range []struct {
		outputs, inputs int
		want            []string
	}{{10, 0, []string{output + " output"}}, {0, 20, []string{input + " input"}}, {0, 0, nil}} {
		if diff := cmp.Diff(c.want, gone(t, l, &rule.Idle{Outputs: c.outputs, Inputs: c.inputs})); diff != "" {
			t.Errorf("outputs %d, inputs %d (-want +got):\n%s", c.outputs, c.inputs, diff)
		}
	}
}

func TestIdle_whatIsQuotedWaitsAgain(t *testing.T) {
	quoting := map[string]func(l *ruletest.Log){
		"an edit of a line": func(l *ruletest.Log) {
			l.Call("edit", ruletest.Args{"filePath": "a.go", "oldString": "high water number 7 comes at the pier", "newString": "x"}, "Edit applied successfully.")
		},
		"a write that repeats a line": func(l *ruletest.Log) {
			l.Call("write", ruletest.Args{"filePath": "b.go", "content": "package b\n\n" + tideLines(7, 1)}, "Wrote file successfully.")
		},
		"a patch that takes a line out": func(l *ruletest.Log) {
			l.Call("apply_patch", ruletest.Args{"input": "*** Begin Patch\n*** Update File: a.go\n@@\n-" + tideLines(7, 1) + "+x\n*** End Patch"}, "Success.")
		},
		"a patch that has a line beside what it changes": func(l *ruletest.Log) {
			l.Call("apply_patch", ruletest.Args{"input": "*** Begin Patch\n*** Update File: a.go\n@@\n " + tideLines(7, 1) + "+x\n*** End Patch"}, "Success.")
		},
		"a command with a line in it": func(l *ruletest.Log) {
			l.Call("bash", ruletest.Args{"command": "cat >> b.go <<'EOF'\n" + tideLines(7, 1) + "EOF"}, "")
		},
		"arguments deep inside": func(l *ruletest.Log) {
			l.Call("multiedit", ruletest.Args{"filePath": "a.go", "edits": []any{ruletest.Args{"oldString": tideLines(7, 1), "newString": "x"}}}, "Done.")
		},
		"a call that failed": func(l *ruletest.Log) {
			l.Fail("edit", ruletest.Args{"filePath": "a.go", "oldString": tideLines(7, 1), "newString": "x"}, "oldString found twice")
		},
	}
	for what, quote := range quoting {
		t.Run(what, func(t *testing.T) {
			l := ruletest.New()
			part := readTide(l, "a.go", 1)
			l.Quiet(8)
			quote(l)
			goes := func() bool { return slices.Contains(gone(t, l, idle()), part+" output") }
			if l.Quiet(2); goes() {
				t.Errorf("it goes 2 steps after it was quoted")
			}
			if l.Quiet(1); !goes() {
				t.Errorf("it stays 3 steps after it was quoted")
			}
			// Already found, and nobody committed it.
			if quote(l); goes() {
				t.Errorf("it goes in the step in which it is quoted again")
			}
			if l.Quiet(3); !goes() {
				t.Errorf("it stays 3 steps after it was quoted again")
			}
		})
	}
}

func TestIdle_lessThanALineQuotesNothing(t *testing.T) {
	for what, args := range map[string]ruletest.Args{
		"a piece of a line":   {"filePath": "a.go", "oldString": "number 7 comes at the pier", "newString": "x"},
		"the path of it":      {"filePath": "a.go", "oldString": "", "newString": "x"},
		"the name of a value": {"filePath": "a.go", "high water number 7 comes at the pier": "x"},
	} {
		l := ruletest.New()
		part := readTide(l, "a.go", 1)
		l.Quiet(8)
		l.Call("edit", args, "Edit applied successfully.")
		if l.Quiet(2); !slices.Contains(gone(t, l, idle()), part+" output") {
			t.Errorf("%s: it stays", what)
		}
	}
}

// What a short line of a program says stands anywhere.
func TestIdle_shortLinesQuoteNothing(t *testing.T) {
	l := ruletest.New()
	part := l.Call("read", ruletest.Args{"filePath": "a.go"}, strings.Repeat("\t}\n\treturn nil\n", 30))
	l.Quiet(8)
	l.Call("edit", ruletest.Args{"filePath": "b.go", "oldString": "\treturn nil\n\t}", "newString": "x"}, "Edit applied successfully.")
	if l.Quiet(2); !slices.Contains(gone(t, l, idle()), part+" output") {
		t.Error("it stays")
	}
}

// Of several texts with the line the newest is quoted: it shows it as well as the others do.
func TestIdle_theNewestWithTheLineIsQuoted(t *testing.T) {
	l := ruletest.New()
	older, newer := readTide(l, "a.go", 1), readTide(l, "copy.go", 1)
	l.Quiet(8)
	l.Call("edit", ruletest.Args{"filePath": "a.go", "oldString": tideLines(7, 1), "newString": "x"}, "Edit applied successfully.")
	l.Quiet(2)
	if diff := cmp.Diff([]string{older + " output"}, gone(t, l, idle())); diff != "" {
		t.Errorf("of %s and %s, read in this order (-want +got):\n%s", older, newer, diff)
	}
}

// What was used waits a quarter as long: a view whose file was changed since, whatever the change
// quoted, and what a command printed. Arguments that were quoted wait half as long; what another agent
// reported was not used because it was read.
func TestIdle_whatWasUsedGoesSooner(t *testing.T) {
	read := func(l *ruletest.Log) string { return readTide(l, "a.go", 1) + " output" }
	change := func(l *ruletest.Log) {
		l.Call("edit", ruletest.Args{"filePath": "a.go", "oldString": "", "newString": "x"}, "Edit applied successfully.")
	}
	for _, test := range []struct {
		what string
		make func(l *ruletest.Log) string
		then func(l *ruletest.Log)
		goes int // after how many steps
	}{
		{"a view", read, func(l *ruletest.Log) { l.Quiet(1) }, 40},
		{"a view of a file that was changed", read, change, 10},
		{"a view of another file", func(l *ruletest.Log) string { return readTide(l, "b.go", 1) + " output" }, change, 40},
		{"what a command printed", func(l *ruletest.Log) string {
			return l.Call("bash", ruletest.Args{"command": "make"}, tideLines(1, 20)) + " output"
		}, change, 10},
		{"another agent's report", func(l *ruletest.Log) string {
			return l.Call("Task", ruletest.Args{"prompt": "Look."}, tideLines(1, 20)) + " output"
		}, change, 40},
	} {
		l := ruletest.New()
		part := test.make(l)
		test.then(l)
		r := &rule.Idle{Outputs: 40, Inputs: 80, Least: 50}
		waits(t, l, r, test.what, part, test.goes-1)
	}
}

// From 1,000 tokens on a text waits the less the more it costs to carry, and never less than three steps.
func TestIdle_largeTextsGoSooner(t *testing.T) {
	for _, test := range []struct{ lines, goes int }{{20, 40}, {400, 9}, {4000, 3}} {
		l := ruletest.New()
		part := l.Call("read", ruletest.Args{"filePath": "a.go"}, tideLines(1, test.lines)) + " output"
		r := &rule.Idle{Outputs: 40, Least: 50}
		waits(t, l, r, fmt.Sprintf("a text of %d lines", test.lines), part, test.goes)
	}
}

// Of a long command its first line stays: it says what is done, and what follows is a script or a file.
func TestIdle_longCommandsKeepTheirFirstLine(t *testing.T) {
	l := ruletest.New()
	long := l.Call("bash", ruletest.Args{"command": "cat > a.go <<'EOF'\n" + tideLines(1, 40) + "EOF"}, "")
	l.Call("bash", ruletest.Args{"command": "echo " + strings.Repeat("deep/", 400)}, "")
	l.Quiet(40)
	found := idle().Find(l.Window()).Elisions
	if len(found) != 1 || found[0].Part != long || !strings.Contains(found[0].Shown, `"cat > a.go <<'EOF'\n[winnow `) {
		t.Errorf("found %+v, want %s with its first line", found, long)
	}
}

// An edit that is long is a text of its own: the next edit quotes it, and not what it was made from.
func TestIdle_editsQuoteEarlierEdits(t *testing.T) {
	l := ruletest.New()
	file := readTide(l, "a.go", 1)
	l.Quiet(4)
	first := l.Call("edit", ruletest.Args{"filePath": "a.go", "oldString": tideLines(1, 8), "newString": tideLines(101, 8)}, "Edit applied successfully.")
	l.Quiet(15)
	l.Call("edit", ruletest.Args{"filePath": "a.go", "oldString": tideLines(101, 2), "newString": "x"}, "Edit applied successfully.")
	l.Quiet(9)
	if diff := cmp.Diff([]string{file + " output"}, gone(t, l, idle())); diff != "" {
		t.Errorf("of %s, and the edit %s that the next one quotes (-want +got):\n%s", file, first, diff)
	}
}

func TestIdle_callsOfOneStep(t *testing.T) {
	l := ruletest.New()
	part := readTide(l, "a.go", 1)
	l.Quiet(9)
	l.Call("read", ruletest.Args{"filePath": "b.go"}, "nothing")
	beside := l.Beside("edit", ruletest.Args{"filePath": "a.go", "oldString": tideLines(3, 1), "newString": "x"}, "Edit applied successfully.")
	if got := gone(t, l, idle()); slices.Contains(got, part+" output") {
		t.Errorf("%s quotes %s in the step in which it would go, beside another call: %v goes", beside, part, got)
	}
}

func TestIdle_smallTextsStay(t *testing.T) {
	l := ruletest.New()
	l.Call("bash", ruletest.Args{"command": "make"}, tideLines(1, 6)) // long enough to be looked at, and too short to be worth it
	l.Call("write", ruletest.Args{"filePath": "a.go", "content": "x"}, "Wrote file successfully.")
	l.Call("bash", ruletest.Args{"command": "make -C " + strings.Repeat("deep/", 100)}, "built")
	l.Quiet(30)
	if found := idle().Find(l.Window()); len(found.Elisions)+len(found.Refusals) > 0 {
		t.Errorf("found %+v", found)
	}
}

func TestIdle_whatNoCallBringsBackStays(t *testing.T) {
	for what, use := range map[string]func(l *ruletest.Log) string{
		"the todo list": func(l *ruletest.Log) string {
			return l.Call("todowrite", ruletest.Args{"todos": todos(12)}, tideLines(1, 20))
		},
		"a skill": func(l *ruletest.Log) string {
			return l.Call("Skill", ruletest.Args{"skill": "harbour"}, tideLines(1, 20))
		},
		"what the user said": func(l *ruletest.Log) string {
			return l.Call("AskUserQuestion", ruletest.Args{"question": tideLines(1, 9)}, tideLines(1, 20))
		},
	} {
		l := ruletest.New()
		part := use(l)
		if l.Quiet(40); len(gone(t, l, idle())) > 0 {
			t.Errorf("%s goes: %v of %s %s", what, gone(t, l, idle()), l.Part(part).Tool, l.Part(part).State.Input)
		}
	}
}

// Failures belong to Errors and Retries; the arguments of a call that failed are arguments like others.
func TestIdle_failuresStayAndTheirArgumentsGo(t *testing.T) {
	l := ruletest.New()
	failed := l.Fail("write", ruletest.Args{"filePath": "a.go", "content": tideLines(1, 20)}, "Error: no space left\n"+tideLines(40, 20))
	l.Use(ruletest.Use{Tool: "bash", Args: ruletest.Args{"command": "make"}, Output: "make: *** Error 1\n" + tideLines(80, 20), Exit: 2}, false)
	l.Quiet(40)
	if diff := cmp.Diff([]string{failed + " input"}, gone(t, l, idle())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestIdle_protectedAndPinnedStay(t *testing.T) {
	l := ruletest.New()
	env, tool, pinned, free := readTide(l, ".env", 1), l.Call("mcp__sea__chart", ruletest.Args{}, tideLines(40, 20)), readTide(l, "b.go", 80), readTide(l, "c.go", 120)
	l.Quiet(12)
	w := l.Window()
	w.Guard = &rule.Guard{Paths: []string{"**/.env"}, Tools: []string{"mcp__sea__*"}}
	w.Pins = []rule.Pin{{ID: "x", Part: pinned}}
	r := idle()
	found := r.Find(w)
	if len(found.Elisions) != 1 || found.Elisions[0].Part != free {
		t.Errorf("found %+v, want %s alone", found.Elisions, free)
	}
	for i, want := range []string{env, tool, pinned} {
		if len(found.Refusals) <= i || found.Refusals[i].Part != want || found.Refusals[i].Code != rule.Protected || found.Refusals[i].Rule != "idle" {
			t.Errorf("refusal %d of %+v: want %s, protected", i, found.Refusals, want)
		}
	}
	w.Pins = nil
	if found = r.Find(w); len(found.Elisions) != 2 {
		t.Errorf("without the pin %+v, want %s and %s", found.Elisions, pinned, free)
	}
}

func TestIdle_whatIsShownInItsPlace(t *testing.T) {
	l := ruletest.New()
	output, input := readTide(l, "src/a.go", 1), writeTide(l, "src/b.go", 100)
	l.Quiet(20)
	shown, handles := map[string]string{}, &rule.Handles{}
	handles.Name(l.Messages)
	w := l.Window()
	w.Handles = handles
	for _, e := range idle().Find(w).Elisions {
		if shown[e.Part] = e.Shown; !rule.ContainsPlaceholder(e.Shown) {
			t.Errorf("a host would not know %q for a placeholder", e.Shown)
		}
		if want := map[rule.Field]string{rule.Output: "nothing has quoted it for 10 steps", rule.Input: "nothing has quoted it for 20 steps"}[e.Field]; e.Because != want || e.By != "" {
			t.Errorf("%s went because %q, by %q; want %q", e.Field, e.Because, e.By, want)
		}
	}
	want := map[string]string{
		output: "[winnow " + handles.Of(l.Part(output)) + ": read src/a.go, 20 lines left out]",
		input:  `{"content":"[winnow ` + handles.Of(l.Part(input)) + `: 20 lines left out]","filePath":"src/b.go"}`,
	}
	if diff := cmp.Diff(want, shown); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What was committed is not found again; what was undone is, once.
func TestIdle_whatIsUndoneIsFoundAgain(t *testing.T) {
	l := ruletest.New()
	part := readTide(l, "a.go", 1)
	readTide(l, "b.go", 40)
	l.Quiet(12)
	r, w := idle(), l.Window()
	first := r.Find(w).Elisions
	w.Ledger = w.Ledger.With(first...)
	if again := r.Find(w).Elisions; len(again) > 0 {
		t.Errorf("committed, and found again: %+v", again)
	}
	w.Ledger = w.Ledger.Without(rule.Key{Part: part, Field: rule.Output})
	if diff := cmp.Diff(first[:1], r.Find(w).Elisions); diff != "" {
		t.Errorf("after an undo (-want +got):\n%s", diff)
	}
}

func TestIdle_aFactorOfTheCounterChangesWhatItIsWorth(t *testing.T) {
	l := ruletest.New()
	readTide(l, "a.go", 1)
	l.Quiet(12)
	r, w := &rule.Idle{Outputs: 10, Least: 300}, l.Window()
	for _, c := range []struct {
		factor float64
		want   int
	}{{1, 0}, {3, 1}, {1, 0}, {3, 1}} {
		w.Facts.Scale(c.factor)
		found := r.Find(w).Elisions
		fresh := rule.NewFacts(token.Chars4{})
		fresh.Scale(c.factor)
		once := l.Window()
		once.Facts = fresh
		if diff := cmp.Diff((&rule.Idle{Outputs: 10, Least: 300}).Find(once).Elisions, found); diff != "" || len(found) != c.want {
			t.Errorf("factor %v: %d found, want %d (-fresh +grown):\n%s", c.factor, len(found), c.want, diff)
		}
	}
}

// A session that was resumed may have a part twice. What is left out of the one is left out of the other, so that the newer one must be idle.
func TestIdle_aPartThatStandsTwiceGoesWithTheNewer(t *testing.T) {
	l := ruletest.New()
	part := readTide(l, "a.go", 1)
	m, _ := session.FindPart(l.Messages, part)
	again := *m
	again.ID += "again"
	l.Quiet(9)
	r, w := idle(), l.Window()
	l.Messages = append(l.Messages, again)
	if w.Messages = l.Messages; len(r.Find(w).Elisions) > 0 {
		t.Errorf("it goes in the step in which it stands in the log again")
	}
	l.Quiet(9)
	if w.Messages = l.Messages; len(r.Find(w).Elisions) > 0 {
		t.Errorf("it goes 9 steps after the newer one")
	}
	l.Quiet(1)
	w.Messages = l.Messages
	if found := r.Find(w).Elisions; len(found) != 1 || found[0].Part != part {
		t.Errorf("10 steps after the newer one: %+v, want %s once", found, part)
	}
}

// A text is looked for in what calls quote for five hundred steps, however the log grew: what is
// quoted later is idle, no matter who quotes it.
func TestIdle_textsAreRememberedForFiveHundredSteps(t *testing.T) {
	l := ruletest.New()
	old, remembered := readTide(l, "a.go", 1), ""
	r, w := idle(), l.Window()
	for step := 2; step <= 515; step++ {
		switch step {
		case 10:
			remembered = readTide(l, "b.go", 100)
		case 505:
			l.Call("edit", ruletest.Args{"filePath": "a.go", "oldString": tideLines(1, 1), "newString": tideLines(101, 1)}, "Edit applied successfully.")
		default:
			l.Quiet(1)
		}
		if step < 500 && step%97 != 0 {
			continue
		}
		w.Messages = l.Messages
		grown := r.Find(w)
		if diff := cmp.Diff(idle().Find(l.Window()), grown); diff != "" {
			t.Fatalf("step %d (-fresh +grown):\n%s", step, diff)
		}
		goes := func(part string) bool {
			return slices.ContainsFunc(grown.Elisions, func(e rule.Elision) bool { return e.Part == part })
		}
		if goes(old) != (step >= 11) || goes(remembered) != (step >= 20 && (step < 505 || step >= 508)) {
			t.Fatalf("step %d: what was read in step 1 goes %v, what was read in step 10 and quoted in step 505 %v", step, goes(old), goes(remembered))
		}
	}
}

// A shorter list, another one and a message that was replaced are windows of their own, and the whole log is what it was.
func TestIdle_partialLists(t *testing.T) {
	l := ruletest.New()
	part := readTide(l, "a.go", 1)
	l.Quiet(5)
	l.Call("edit", ruletest.Args{"filePath": "a.go", "oldString": tideLines(3, 1), "newString": "x"}, "Edit applied successfully.")
	writeTide(l, "b.go", 50)
	l.Quiet(22)
	r, w := idle(), l.Window()
	whole := r.Find(w)
	for name, messages := range map[string][]session.Message{"the first half": l.Messages[:len(l.Messages)/2], "the second half": l.Messages[len(l.Messages)/2:], "without its first": l.Messages[1:]} {
		w.Messages = messages
		fresh := l.Window()
		fresh.Messages = messages
		if diff := cmp.Diff(idle().Find(fresh), r.Find(w)); diff != "" {
			t.Errorf("%s (-fresh +grown):\n%s", name, diff)
		}
		w.Messages = l.Messages
		if diff := cmp.Diff(whole, r.Find(w)); diff != "" {
			t.Errorf("the whole after %s (-before +after):\n%s", name, diff)
		}
	}
	changed := slices.Clone(l.Messages)
	m, _ := session.FindPart(changed, part)
	m.Parts = slices.Clone(m.Parts)
	_, p := session.FindPart(changed, part)
	state := *p.State
	state.Output = tideLines(500, 30)
	p.State = &state
	w.Messages = changed
	w.Facts.Forget()
	fresh := l.Window()
	fresh.Messages = changed
	if diff := cmp.Diff(idle().Find(fresh), r.Find(w)); diff != "" {
		t.Errorf("a message that was replaced (-fresh +grown):\n%s", diff)
	}
}

// What an agent got back by "winnow recall" is an output like any other: it stays while it is quoted,
// and goes again when it lies idle.
func TestIdle_whatWasRecalledGoesAgain(t *testing.T) {
	l := ruletest.New()
	first := readTide(l, "a.go", 1)
	l.Quiet(10)
	if got := gone(t, l, idle()); !slices.Contains(got, first+" output") {
		t.Fatalf("the read does not go: %q", got)
	}
	again := l.Call("bash", ruletest.Args{"command": "winnow recall k3f7a2"}, tideLines(1, 20))
	l.Quiet(1)
	l.Call("edit", ruletest.Args{"filePath": "a.go", "oldString": tideLines(3, 2), "newString": ""}, "Edited.")
	l.Quiet(2)
	if got := gone(t, l, idle()); slices.Contains(got, again+" output") {
		t.Errorf("what was quoted two steps ago goes: %q", got)
	}
	l.Quiet(1)
	if got := gone(t, l, idle()); !slices.Contains(got, again+" output") {
		t.Errorf("what was recalled stays for good: %q", got)
	}
}
