package rule_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/rule/ruletest"
)

// source is a file with the given number of lines, of a version: every tenth line is another in
// every version.
func source(lines, version int) []string {
	var text []string
	for n := 1; n <= lines; n++ {
		if n%10 == 0 {
			text = append(text, fmt.Sprintf("line %d of the file as version %d has it", n, version))
			continue
		}
		text = append(text, fmt.Sprintf("line %d of the file", n))
	}
	return text
}

// read is a step that reads the lines from:to of a file, as OpenCode prints them.
func read(l *ruletest.Log, name string, text []string, from, to int) string {
	var out strings.Builder
	out.WriteString("<file>\n")
	for n := from; n <= to; n++ {
		fmt.Fprintf(&out, "%05d| %s\n", n, text[n-1])
	}
	if to < len(text) {
		fmt.Fprintf(&out, "\n(File has more lines. Use 'offset' parameter to read beyond line %d)\n</file>", to)
	} else {
		fmt.Fprintf(&out, "\n(End of file - total %d lines)\n</file>", len(text))
	}
	args := ruletest.Args{"filePath": name}
	if from > 1 || to < len(text) {
		args["offset"], args["limit"] = from-1, to-from+1
	}
	return l.Call("read", args, out.String())
}

func write(l *ruletest.Log, name string, text []string) string {
	return l.Call("write", ruletest.Args{"filePath": name, "content": strings.Join(text, "\n") + "\n"}, "Wrote file successfully.")
}

func edit(l *ruletest.Log, name string) string {
	return l.Call("edit", ruletest.Args{
		"filePath": name, "oldString": strings.Repeat("the words that stood there\n", 20), "newString": strings.Repeat("the words that stand there\n", 20),
	}, "Edit applied successfully.")
}

// found runs Files and Inputs and settles.
func found(t *testing.T, l *ruletest.Log) map[string]rule.Elision {
	t.Helper()
	w := l.Window()
	both := (&rule.Files{}).Find(w)
	more := (&rule.Inputs{}).Find(w)
	both.Elisions = append(both.Elisions, more.Elisions...)
	all := map[string]rule.Elision{}
	for _, e := range rule.Resolve([]rule.Found{both}, w.Ledger, func(string) bool { return false }).Elisions {
		all[e.Part+" "+string(e.Field)] = e
	}
	return all
}

// The numbers are those of a published list of cases that such rules got wrong.
func TestFiles_aViewGoesWhenNewerOnesCoverIt(t *testing.T) {
	v1, v2 := source(60, 1), source(60, 2)
	for _, c := range []struct {
		name string
		log  func(l *ruletest.Log) (goes, stays []string)
	}{
		{"12 a whole read, and again", func(l *ruletest.Log) ([]string, []string) {
			a, b := read(l, "a.go", v1, 1, 60), read(l, "a.go", v1, 1, 60)
			return []string{a + " output"}, []string{b + " output"}
		}},
		{"12 a whole read, and another version", func(l *ruletest.Log) ([]string, []string) {
			a, b := read(l, "a.go", v1, 1, 60), read(l, "a.go", v2, 1, 60)
			return []string{a + " output"}, []string{b + " output"}
		}},
		{"13 two pieces that do not meet", func(l *ruletest.Log) ([]string, []string) {
			return nil, []string{read(l, "a.go", v1, 1, 20) + " output", read(l, "a.go", v1, 30, 60) + " output"}
		}},
		{"14 whole, then a piece", func(l *ruletest.Log) ([]string, []string) {
			return nil, []string{read(l, "a.go", v1, 1, 60) + " output", read(l, "a.go", v1, 5, 30) + " output"}
		}},
		{"15 pieces, then whole", func(l *ruletest.Log) ([]string, []string) {
			a, b := read(l, "a.go", v1, 1, 30), read(l, "a.go", v1, 20, 60)
			return []string{a + " output", b + " output"}, []string{read(l, "a.go", v2, 1, 60) + " output"}
		}},
		{"16 two pieces cover a third", func(l *ruletest.Log) ([]string, []string) {
			a := read(l, "a.go", v1, 10, 40)
			return []string{a + " output"}, []string{read(l, "a.go", v1, 1, 25) + " output", read(l, "a.go", v1, 26, 60) + " output"}
		}},
		{"16 two pieces of another version do not", func(l *ruletest.Log) ([]string, []string) {
			a := read(l, "a.go", v1, 10, 40)
			return nil, []string{a + " output", read(l, "a.go", v2, 1, 25) + " output", read(l, "a.go", v2, 26, 60) + " output"}
		}},
		{"17 a read, then an edit", func(l *ruletest.Log) ([]string, []string) {
			return nil, []string{read(l, "a.go", v1, 1, 60) + " output", edit(l, "a.go") + " input"}
		}},
		{"18 a read, two edits, a whole read", func(l *ruletest.Log) ([]string, []string) {
			a, b, c := read(l, "a.go", v1, 1, 60), edit(l, "a.go"), edit(l, "a.go")
			return []string{a + " output", b + " input", c + " input"}, []string{read(l, "a.go", v2, 1, 60) + " output"}
		}},
		{"18 an edit and a piece", func(l *ruletest.Log) ([]string, []string) {
			return nil, []string{edit(l, "a.go") + " input", read(l, "a.go", v2, 1, 30) + " output"}
		}},
		{"19 a write, then a read", func(l *ruletest.Log) ([]string, []string) {
			return []string{write(l, "a.go", v1) + " input"}, []string{read(l, "a.go", v1, 1, 60) + " output"}
		}},
		{"20 a write, then an edit", func(l *ruletest.Log) ([]string, []string) {
			return nil, []string{write(l, "a.go", v1) + " input", edit(l, "a.go") + " input"}
		}},
		{"20 a read, then a write", func(l *ruletest.Log) ([]string, []string) {
			return []string{read(l, "a.go", v1, 1, 60) + " output"}, []string{write(l, "a.go", v2) + " input"}
		}},
		{"21 a read that failed", func(l *ruletest.Log) ([]string, []string) {
			a := read(l, "a.go", v1, 1, 60)
			l.Fail("read", ruletest.Args{"filePath": "a.go"}, "Error: EACCES")
			return nil, []string{a + " output"}
		}},
		{"10 one file by three names", func(l *ruletest.Log) ([]string, []string) {
			a, b := read(l, "./a.go", v1, 1, 60), read(l, "/repo/b/../a.go", v1, 1, 60)
			return []string{a + " output", b + " output"}, []string{read(l, "a.go", v1, 1, 60) + " output"}
		}},
		{"10 the same name in another folder", func(l *ruletest.Log) ([]string, []string) {
			a := read(l, "a.go", v1, 1, 60)
			l.Cwd = "/other"
			return nil, []string{a + " output", read(l, "a.go", v1, 1, 60) + " output"}
		}},
		{"25 a read that its tool cut is a piece", func(l *ruletest.Log) ([]string, []string) {
			a := read(l, "a.go", v1, 1, 60)
			return nil, []string{a + " output", read(l, "a.go", v2, 1, 50) + " output"}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := ruletest.New()
			goes, stays := c.log(l)
			got := found(t, l)
			for _, key := range goes {
				if e, ok := got[key]; !ok || e.By == "" || e.Saves <= 0 {
					t.Errorf("%s stays (%+v), want it to go", key, e)
				}
			}
			for _, key := range stays {
				if e, ok := got[key]; ok {
					t.Errorf("%s goes: %+v", key, e)
				}
			}
		})
	}
}

func TestInputs_whatIdentifiesACallStays(t *testing.T) {
	v1 := source(60, 1)
	l := ruletest.New()
	w := write(l, "a.go", v1)
	read(l, "a.go", v1, 1, 60)
	e := found(t, l)[w+" input"]
	want := `{"content":"[winnow ` + (&rule.Handles{}).Of(l.Part(w)) + `: 60 lines left out]","filePath":"a.go"}`
	if e.Shown != want {
		t.Errorf("got  %s\nwant %s", e.Shown, want)
	}
	if !rule.ContainsPlaceholder(e.Shown) {
		t.Error("ContainsPlaceholder does not know it")
	}
}

func TestInputs_aFailedEditGoesWhenALaterOneWorked(t *testing.T) {
	l := ruletest.New()
	long := strings.Repeat("words that are not there\n", 30)
	failed := l.Fail("edit", ruletest.Args{"filePath": "a.go", "oldString": long, "newString": long + "x"}, "oldString not found")
	other := l.Fail("edit", ruletest.Args{"filePath": "b.go", "oldString": long, "newString": long + "x"}, "oldString not found")
	worked := edit(l, "./a.go")
	got := found(t, l)
	if e := got[failed+" input"]; e.By != worked {
		t.Errorf("the failed edit: got %+v, want it to go because of %s", e, worked)
	}
	if e, goes := got[other+" input"]; goes {
		t.Errorf("the failed edit of another file goes: %+v", e)
	}
}

func TestInputs_aPatchKeepsItsFileNames(t *testing.T) {
	l := ruletest.New()
	v1 := source(60, 1)
	var body strings.Builder
	for _, line := range v1 {
		body.WriteString("+" + line + "\n")
	}
	patch := l.Call("apply_patch", ruletest.Args{"input": "*** Begin Patch\n*** Add File: a.go\n" + body.String() + "*** End Patch"}, "Success. Updated the following files:\nA a.go")
	read(l, "a.go", v1, 1, 60)
	e, goes := found(t, l)[patch+" input"]
	if !goes || !strings.Contains(e.Shown, `*** Add File: a.go\n[winnow `) || strings.Contains(e.Shown, "line 5") {
		t.Errorf("goes %v: %s", goes, e.Shown)
	}
}
