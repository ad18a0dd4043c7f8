package rule_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/look/retrieve"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/rule/ruletest"
)

// piers is a program of the given number of functions, as a tool prints it that begins at a line.
func piers(functions, from int) string {
	var b strings.Builder
	line := func(format string, values ...any) {
		fmt.Fprintf(&b, "%6d→%s\n", from, fmt.Sprintf(format, values...))
		from++
	}
	for n := range functions {
		line("func Pier%d(lamp int) int {", n)
		for i := range 20 {
			line("\thigh := water(%d, lamp) // at pier %d", i, n)
		}
		line("}")
	}
	return b.String()
}

// shown is what stands in place of what a call gave, once it is idle.
func shown(t *testing.T, l *ruletest.Log, part string, outline int, handles *rule.Handles) string {
	t.Helper()
	w := l.Quiet(12).Window()
	w.Outline, w.Handles = outline, handles
	for _, e := range idle().Find(w).Elisions {
		if e.Part == part && e.Field == rule.Output {
			return e.Shown
		}
	}
	t.Fatalf("%s does not go", part)
	return ""
}

func TestOutline_whatGetsOne(t *testing.T) {
	read := func(file, text string) func(l *ruletest.Log) string {
		return func(l *ruletest.Log) string { return l.Call("read", ruletest.Args{"filePath": file}, text) }
	}
	run := func(l *ruletest.Log) string {
		return l.Call("bash", ruletest.Args{"command": "./piers"}, piers(20, 1))
	}
	recall := &rule.Handles{Recall: true}
	for name, c := range map[string]struct {
		call    func(*ruletest.Log) string
		outline int
		handles *rule.Handles
		want    string // behind "left out"
	}{
		"a long read":            {read("a.go", piers(20, 1)), 100, nil, "; lines 1 Pier0, 23 Pier1, 45 Pier2, 67 Pier3, 89 Pier4, 111 Pier5, 133 Pier6, 155 Pier7, 177 Pier8, 199 Pier9, 221 Pier10, 243 Pier11, 265 Pier12, 287 Pier13, 309 Pier14, 331 Pier15, 353 Pier16, 375 Pier17, 397 Pier18, 419 Pier19]"},
		"where recall is known":  {read("a.go", piers(20, 1)), 24, recall, "; --lines 1 Pier0, 45 Pier2, 111 Pier5, 177 Pier8, 243 Pier11, 309 Pier14, 375 Pier17]"},
		"with less room":         {read("a.go", piers(20, 1)), 20, nil, "; lines 1 Pier0, 67 Pier3, 133 Pier6, 221 Pier10, 287 Pier13, 353 Pier16]"},
		"from line 900":          {read("a.go", piers(20, 900)), 20, nil, "; lines 900 Pier0, 988 Pier4, 1076 Pier8, 1164 Pier12, 1252 Pier16]"},
		"no room":                {read("a.go", piers(20, 1)), 4, nil, "]"},
		"switched off":           {read("a.go", piers(20, 1)), 0, nil, "]"},
		"a short read":           {read("a.go", piers(5, 1)), 100, nil, "]"},
		"nothing begins in it":   {read("a.txt", strings.Repeat("high water at the pier\n", 600)), 100, nil, "]"},
		"what a command printed": {run, 100, nil, "]"},
		"few things in the outer level": {read("a.py", "class Pier:\n"+strings.Repeat("    def lamp(self):\n        high, low = water(1, 2), water(3, 4)\n        return high\n", 150)), 30, nil,
			"; lines 1 Pier, 38 lamp, 80 lamp, 122 lamp, 161 lamp, 203 lamp, 245 lamp, 287 lamp, 326 lamp, 368 lamp, 410 lamp]"},
	} {
		l := ruletest.New()
		got := shown(t, l, c.call(l), c.outline, c.handles)
		if _, after, _ := strings.Cut(got, " left out"); after != c.want || !rule.ContainsPlaceholder(got) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// What an outline names is at the line that it says, and there recall finds it. It takes a small
// share of what is left out, and is the same each time.
func TestOutline_namesTheLinesThatRecallTakes(t *testing.T) {
	entry := regexp.MustCompile(`(\d+) (Pier\d+)`)
	rapid.Check(t, func(rt *rapid.T) {
		functions, from := rapid.IntRange(9, 60).Draw(rt, "functions"), rapid.IntRange(1, 500).Draw(rt, "from")
		room := rapid.IntRange(0, 200).Draw(rt, "room")
		text := piers(functions, from)
		log := func() (string, int) {
			l := ruletest.New()
			part := l.Call("read", ruletest.Args{"filePath": "pier.go"}, text)
			short := shown(t, l, part, 0, nil)
			long := shown(t, l, part, room, nil)
			w := l.Window()
			return long, w.Facts.Count(long) - w.Facts.Count(short)
		}
		got, takes := log()
		if again, _ := log(); again != got {
			rt.Fatalf("%q, and %q the next time", got, again)
		}
		if most := min(room, len(text)/4/64) + 1; takes > most {
			rt.Errorf("an outline takes %d tokens, %d at most: %s", takes, most, got)
		}
		for _, found := range entry.FindAllStringSubmatch(got, -1) {
			region, err := retrieve.Lines(found[1])
			if err != nil {
				rt.Fatal(err)
			}
			if line, _, err := region.Of(text); err != nil || !strings.Contains(line, "func "+found[2]+"(") {
				rt.Errorf("%s is not at line %s, but %q, %v", found[2], found[1], line, err)
			}
		}
	})
}

// What is left out in the middle of a long output is named by the lines that recall takes, and the
// lines of it that tell most are shown.
func TestFirstSend_logsKeepWhatTells(t *testing.T) {
	output := "=== RUN Tides\n" + strings.Repeat("ok  the lamp on the pier is lit\n", 400) +
		"--- FAIL: TestTide (0.01s)\n    tide_test.go:33: got low water, want high water\n" +
		strings.Repeat("ok  the lamp on the pier is lit\n", 400) + "FAIL\texample.com/tides\t0.2s\n"
	l := ruletest.New()
	l.Call("bash", ruletest.Args{"command": "go test ./..."}, output)
	w := l.Window()
	found := w.FirstSend(rule.FirstSend{Logs: 1000})
	if len(found) != 1 || found[0].Rule != "logs" || !found[0].Partial() {
		t.Fatalf("found %+v", found)
	}
	text := found[0].Shown
	if n := w.Facts.Count(text); n > 1000 {
		t.Errorf("%d tokens are shown", n)
	}
	for _, want := range []string{"=== RUN Tides\n", "\n402: --- FAIL: TestTide (0.01s)\n", "\n403: tide_test.go:33: got low water, want high water\n",
		"\nFAIL\texample.com/tides\t0.2s\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	gap := regexp.MustCompile(`\n\[winnow [a-z2-7]{6}: lines (\d+)-(\d+) left out; of them:\]\n`).FindStringSubmatch(text)
	if gap == nil {
		t.Fatalf("no lines are named in\n%s", text)
	}
	from, _ := strconv.Atoi(gap[1])
	to, _ := strconv.Atoi(gap[2])
	head, rest, _ := strings.Cut(text, gap[0])
	_, tail, _ := strings.Cut(rest, "high water\n")
	region := retrieve.Region{From: from, To: to}
	middle, _, err := region.Of(output)
	if err != nil || head+"\n"+middle+tail != output {
		t.Errorf("lines %d-%d are not what is left out (%v)", from, to, err)
	}
}

// The placeholder of a part that came back says nothing but that it was the call recall: it goes like
// any other output.
func TestIdle_whatCameBackGoesAgain(t *testing.T) {
	for name, use := range map[string]ruletest.Use{
		"winnow recall":  {Tool: "bash", Args: ruletest.Args{"command": "winnow recall k3f7a2 --lines 40-80"}},
		"the MCP server": {Tool: "mcp__winnow__recall", Args: ruletest.Args{"handle": "k3f7a2", "lines": "40-80"}},
		"the agent":      {Tool: "recall", Args: ruletest.Args{"name": "k3f7a2", "offset": 40}},
	} {
		whole := 10
		if use.Tool == "bash" {
			whole = 3 // what a command printed is used when it was read
		}
		for steps, want := range map[int]bool{whole - 1: false, whole: true} {
			l := ruletest.New()
			use.Output = piers(2, 40)
			part := l.Use(use, false)
			l.Quiet(steps)
			found := false
			for _, e := range idle().Find(l.Window()).Elisions {
				found = found || e.Part == part && e.Field == rule.Output
			}
			if found != want {
				t.Errorf("%s: after %d steps it goes: %v, want %v", name, steps, found, want)
			}
		}
	}
}
