package rule_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/rule/ruletest"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/token"
)

func TestErrors_byTheLetterTheFirstLineStays(t *testing.T) {
	old := rule.Age{Turns: 3}
	for _, c := range []struct {
		name, failure, want string // want is "" where it stays
	}{
		{"a trace", pebbleFailure, fmt.Sprintf("Error: the pebble did not fit\n[Error output truncated - %d chars total]", len(pebbleFailure))},
		{"counted as the specification's programs count", "Error: 🪨 is no pebble\n" + strings.Repeat("🪨", 100),
			fmt.Sprintf("Error: 🪨 is no pebble\n[Error output truncated - %d chars total]", token.UTF16Len("Error: 🪨 is no pebble\n")+200)},
		{"one long line", strings.Repeat("pebble ", 100), ""},
		{"a short one", "Error: no\n  at all", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := ruletest.New()
			part := l.Fail("bash", ruletest.Args{"command": "make"}, c.failure)
			l.Turns(3)
			e, is := l.Found(t, formOf(true, &rule.Errors{Age: old}))[part]
			if is != (c.want != "") || is && (e.Shown != c.want || e.Field != rule.Error || e.By != "") {
				t.Errorf("got %+v, want %q of the error", e, c.want)
			}
		})
	}
}

func TestErrors_whatTellsMostStays(t *testing.T) {
	for _, c := range []struct {
		name, failure string
		want          []string
	}{
		{"JavaScript: the message and the first and last place", "TypeError: pebble is undefined\n" + numberedLines("    at f%d (/repo/src/a.ts:%[1]d:5)\n", 40),
			[]string{"TypeError: pebble is undefined", "at f1 (/repo/src/a.ts:1:5)", "at f40 (/repo/src/a.ts:40:5)"}},
		{"Python: where it was raised, and what", "Traceback (most recent call last):\n" + numberedLines("  File \"/repo/a%d.py\", line %[1]d, in f\n    f(pebble)\n", 20) + "ValueError: no such pebble",
			[]string{"Traceback (most recent call last):", `File "/repo/a1.py", line 1, in f`, `File "/repo/a20.py", line 20, in f`, "ValueError: no such pebble"}},
		{"an exit status: the first words after it", "Exit code 1\n\n  ○\nSet-Pebble : The term is not recognized\n" + numberedLines("+ ~~~~~ %d\n", 30) + "+ PebbleErrorId : NotFoundError",
			[]string{"Exit code 1", "Set-Pebble : The term is not recognized", "+ PebbleErrorId : NotFoundError"}},
		{"a cause in the middle", "Build failed\n" + numberedLines("step %d\n", 30) + "Caused by: pebble.go:7: cannot find flint\n" + numberedLines("step %d again\n", 30) + "make stopped",
			[]string{"Build failed", "Caused by: pebble.go:7: cannot find flint", "make stopped"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := ruletest.New()
			part := l.Fail("bash", ruletest.Args{"command": "make"}, c.failure)
			l.Turns(3)
			lines := strings.Split(onlyElides(t, l, &rule.Errors{Age: rule.Age{Turns: 3}}, part)[part].Shown, "\n")
			last := len(lines) - 1
			if diff := cmp.Diff(c.want, lines[:last]); diff != "" {
				t.Errorf("other lines are kept (-want +got):\n%s", diff)
			}
			want := fmt.Sprintf(": bash make failed; above is what tells most of its %s]", rule.Measure(c.failure))
			if !strings.HasSuffix(lines[last], want) || !rule.ContainsPlaceholder(lines[last]) {
				t.Errorf("the last line is %q, want …%q", lines[last], want)
			}
		})
	}
}

func TestErrors_soMuchStaysAtMost(t *testing.T) {
	l := ruletest.New()
	part := l.Fail("bash", ruletest.Args{"command": "make"}, numberedLines("src/pebble%d.go:3: error: "+strings.Repeat("cannot fit ", 30)+"\n", 50))
	l.Turns(3)
	shown := onlyElides(t, l, &rule.Errors{Age: rule.Age{Turns: 3}}, part)[part].Shown
	if lines := strings.Count(shown, "\n"); lines > 8 || len(shown) > 1300 {
		t.Errorf("%d lines of %d bytes stay, want at most 8 lines of 1,200 and the placeholder:\n%s", lines, len(shown), shown)
	}
}

func TestErrors_onlyOldLongFailuresAreShortened(t *testing.T) {
	long := numberedLines("line %d of the failure\n", 60)
	for _, c := range []struct {
		name  string
		write func(l *ruletest.Log) string
		turns int
		goes  bool
	}{
		{"an old error", func(l *ruletest.Log) string { return l.Fail("webfetch", nil, long) }, 3, true},
		{"a recent one", func(l *ruletest.Log) string { return l.Fail("webfetch", nil, long) }, 2, false},
		{"a short one", func(l *ruletest.Log) string { return l.Fail("webfetch", nil, long[:120]) }, 3, false},
		{"one that would lose less than half", func(l *ruletest.Log) string {
			return l.Fail("webfetch", nil, numberedLines("x%d.go:3: error: no pebble is here\n", 14))
		}, 3, false},
		{"an old command that failed", func(l *ruletest.Log) string { return runExit(l, "make", long, "2") }, 3, true},
		{"an old command that worked", func(l *ruletest.Log) string { return runExit(l, "make", long, "0") }, 3, false},
		{"another tool that said so in its output", func(l *ruletest.Log) string { return l.Call("webfetch", nil, "Error: "+long) }, 3, false},
		{"what a person refused", func(l *ruletest.Log) string {
			return l.Fail("bash", nil, "The user doesn't want to proceed with this tool use. "+long)
		}, 3, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := ruletest.New()
			part := c.write(l)
			l.Turns(c.turns)
			if _, goes := l.Found(t, &rule.Errors{Age: rule.Age{Turns: 3}})[part]; goes != c.goes {
				t.Errorf("it is shortened: %v, want %v", goes, c.goes)
			}
		})
	}
}

func TestErrors_aLongTurnMakesThemOldByItsSteps(t *testing.T) {
	l := ruletest.New()
	part := l.Fail("bash", ruletest.Args{"command": "make"}, pebbleFailure)
	age := rule.Age{Turns: 3, Steps: 20}
	l.Quiet(19)
	onlyElides(t, l, &rule.Errors{Age: age})
	l.Quiet(1)
	onlyElides(t, l, &rule.Errors{Age: age}, part)
}

func TestErrors_theViewShowsWhatIsLeftInThePlaceOfTheError(t *testing.T) {
	for _, letter := range []bool{false, true} {
		l := ruletest.New()
		part := l.Fail("bash", ruletest.Args{"command": "make"}, pebbleFailure)
		l.Turns(3)
		e := onlyElides(t, l, formOf(letter, &rule.Errors{Age: rule.Age{Turns: 3}}), part)[part]
		shown, stays := view.Apply(*l.Part(part), e)
		if !stays || shown.State.Error != e.Shown || shown.State.Output != "" {
			t.Errorf("letter %v: the view shows %+v, want the error %q", letter, shown.State, e.Shown)
		}
	}
}

// numberedLines repeats a line with its number.
func numberedLines(line string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, line, i+1)
	}
	return b.String()
}
