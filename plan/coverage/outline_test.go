package coverage_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/plan/coverage"
)

func outlined(name, text string) string {
	var all []string
	for e := range coverage.Outline(name, text) {
		all = append(all, fmt.Sprintf("%d/%d %s", e.Line, e.Depth, e.Name))
	}
	return strings.Join(all, ", ")
}

func TestOutline(t *testing.T) {
	for name, c := range map[string]struct{ file, text, want string }{
		"Go":            {"a.go", "package a\n\ntype Pier struct{}\n\nfunc (p Pier) Lamp() {\n\tconst inner = 1\n}\n", "3/0 Pier, 5/0 Lamp"},
		"Python":        {"a.py", "import x\nclass Pier:\n    def lamp(self):\n        pass\n", "2/0 Pier, 3/4 lamp"},
		"TypeScript":    {"a.ts", "export const lamp = 1\nexport interface Pier {\n", "1/0 lamp, 2/0 Pier"},
		"Markdown":      {"A.MD", "# Tides\nlow\n```sh\n# not a heading\n```\n## High water\r\n", "1/1 Tides, 6/2 High water"},
		"JSON":          {"a.json", "{\n  \"pier\": {\n    \"lamp\": 1\n  },\n  \"tide\": 2\n}\n", "2/2 pier, 5/2 tide"},
		"prose":         {"a.txt", "High water\nLow water\n", ""},
		"nothing":       {"a.go", "", ""},
		"numbers":       {"a.go", "     1→package a\n     2→func Low() {\n     3→}\n     4→func High() {\n", "2/0 Low, 4/0 High"},
		"from line 100": {"a.py", "   100\tclass Pier:\n   101\t    def lamp(self):\n   102\t        pass\n", "100/0 Pier, 101/4 lamp"},
		"a header":      {"a.go", "<file>\n00001| package a\n00002| func Low() {\n00003| }\n00004| func High() {\n00005| }\n</file>", "2/0 Low, 4/0 High"},
		"a line too long": {"a.go", "func Low() { " + strings.Repeat("x", 400) + "\nfunc High() {}\n",
			"2/0 High"},
	} {
		if got := outlined(c.file, c.text); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestShift(t *testing.T) {
	count := func(from, to int) string {
		var b strings.Builder
		for n := from; n <= to; n++ {
			fmt.Fprintf(&b, "%6d→high water\n", n)
		}
		return b.String()
	}
	for name, c := range map[string]struct {
		text string
		want int
	}{
		"no numbers":               {"high\nlow\n", 0},
		"from the first line":      {count(1, 9), 0},
		"from line 100":            {count(100, 140), 99},
		"behind a header":          {"<file>\n" + count(1, 30) + "</file>\n", -1},
		"a note behind them":       {count(7, 60) + "\n<system-reminder>\nThe file may change.\n</system-reminder>\n", 6},
		"numbers that jump":        {"3: a lamp\n17: a lamp\n18: a lamp\n90: a lamp\n", 0},
		"a number in a text":       {"high\n2: low\nhigh\nlow\n", 0},
		"what counts from 0":       {strings.Replace(count(1, 30), "     1→", "     0→", 1), 0},
		"one line":                 {"12\thigh\n", 0},
		"numbers in the middle":    {strings.Repeat("high\n", 40) + count(1, 60), 0},
		"half of it has no number": {count(5, 40) + strings.Repeat("high\n", 60), 0},
		"nothing":                  {"", 0},
	} {
		if got := coverage.Shift(c.text); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
