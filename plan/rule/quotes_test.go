package rule

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/token"
)

func TestEachLine_theNumberIsNoPartOfALine(t *testing.T) {
	const line = "return the tide at the pier"
	hashes := func(text string) (all []uint64) {
		eachLine(text, func(h uint64) { all = append(all, h) })
		return all
	}
	want := hashes(line)
	if len(want) != 1 {
		t.Fatalf("%q has %d lines that tell something, want 1", line, len(want))
	}
	for _, c := range []struct {
		text  string
		equal bool
	}{
		{"     7\t" + line, true},    // cat -n
		{"     7→" + line, true},     // an arrow
		{"7\t\t" + line, true},       // nl, an indented line
		{"12:" + line, true},         // grep -n
		{"12: " + line, true},        //
		{"00012| " + line, true},     // five digits and a bar
		{"12|" + line, true},         //
		{"\t" + line + "  \r", true}, // blanks around it
		{"12 " + line, false},        // a number in the text
		{"12345678: " + line, false},
		{"12.5: " + line, false},
		{line + " at noon", false},
		{"+" + line, false}, // a sign, and no patch
		{"--- a/f\n+++ b/f\n@@ -1 +1 @@\n+" + line, true},
		{"*** Begin Patch\n*** Update File: f\n-\t" + line + "\n*** End Patch", true},
		{"*** Begin Patch\n*** Update File: f\n " + line + "\n*** End Patch", true},
	} {
		if got := slices.Contains(hashes(c.text), want[0]); got != c.equal {
			t.Errorf("%q has the line %q: %v, want %v", c.text, line, got, c.equal)
		}
	}
	if got := hashes("}\n\n    short line\n12: }\n"); len(got) != 0 {
		t.Errorf("short lines tell something: %d of them", len(got))
	}
}

func TestTexts_ofArguments(t *testing.T) {
	for input, want := range map[string][]string{
		`{"a":"x\ny","b":{"c":["z",1,null,"w"]}}`: {"x\ny", "z", "w"},
		`"whole"`:                {"whole"},
		`["bash","-lc","ls"]`:    {"bash", "-lc", "ls"},
		`{}`:                     nil,
		``:                       nil,
		`{"a":"x","b":`:          {"x"}, // as far as it can be read
		`{"a":"x","a":"y"}`:      {"x", "y"},
		`not JSON`:               nil,
		`{"old\u0041":"\u00e4"}`: {"ä"},
	} {
		if got := slices.Collect(Texts([]byte(input))); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", input, got, want)
		}
	}
}

// What is held of a log that grows is bounded: the lines of what was made in the newest five hundred steps, and about as many that wait to be dropped.
func TestQuotes_holdNoMoreThanTheLinesOfFiveHundredSteps(t *testing.T) {
	const lines, steps = 40, 3_000
	facts := NewFacts(token.Chars4{})
	r := &Idle{Outputs: 10, Inputs: 20}
	var log []session.Message
	most := 0
	for step := range steps {
		var output strings.Builder
		for n := range lines {
			fmt.Fprintf(&output, "line %d of the output of step %d\n", n, step)
		}
		id := fmt.Sprint("p", step)
		log = append(log, session.Message{MessageInfo: session.MessageInfo{ID: "m" + id, Role: session.Assistant}, Parts: []session.Part{{ID: id, CallID: id, Type: session.ToolPart, Tool: "bash",
			State: &session.ToolState{Status: session.Completed, Input: []byte(`{"command":"make"}`), Output: output.String()}}}})
		if step%50 != 0 {
			continue
		}
		w := Window{Messages: log, Facts: facts}
		if r.Find(w); step > 0 {
			most = max(most, len(w.Read().quotes(20).lines))
		}
	}
	if bound := 2 * lines * (remembered + 1); most > bound || most < lines*remembered {
		t.Errorf("%d lines are held of a log of %d steps with %d lines each, want %d to %d", most, steps, lines, lines*remembered, bound)
	}
}

// A first look at a long log reads the lines of its newest steps.
func TestQuotes_aFirstLookReadsTheNewestSteps(t *testing.T) {
	const steps = 2_000
	facts := NewFacts(token.Chars4{})
	var log []session.Message
	for step := range steps {
		id, output := fmt.Sprint("p", step), fmt.Sprintf("the only line of step %d, and as long as it takes %s", step, strings.Repeat("-", stripFrom))
		log = append(log, session.Message{MessageInfo: session.MessageInfo{ID: "m" + id, Role: session.Assistant}, Parts: []session.Part{{ID: id, CallID: id, Type: session.ToolPart, Tool: "bash",
			State: &session.ToolState{Status: session.Completed, Input: []byte(`{"command":"make"}`), Output: output}}}})
	}
	w := Window{Messages: log, Facts: facts}.Read()
	if got, want := len(w.quotes(20).lines), remembered+20+1; got != want {
		t.Errorf("of %d steps with one line each %d lines were read, want %d", steps, got, want)
	}
}

// Reach counts, once a step, what the newest calls quoted of texts that were more than five steps old then.
func TestReach_countsWhatTheNewestCallsQuoteFromFurtherBack(t *testing.T) {
	text := func(step int) string {
		var b strings.Builder
		for n := range 20 {
			fmt.Fprintf(&b, "line %d of the output of step %d, long enough to be told again\n", n, step)
		}
		return b.String()
	}
	log := func(steps int, quotes map[int][]int) []session.Message { // which step quotes a line of which others
		var log []session.Message
		for step := range steps {
			var quoted []string
			for _, of := range quotes[step] {
				quoted = append(quoted, strings.Split(text(of), "\n")[3:5]...)
			}
			input, err := json.Marshal(map[string]string{"command": strings.Join(quoted, "\n")})
			if err != nil {
				t.Fatal(err)
			}
			id := fmt.Sprint("p", step)
			log = append(log, session.Message{MessageInfo: session.MessageInfo{ID: "m" + id, Role: session.Assistant},
				Parts: []session.Part{{ID: id, CallID: id, Type: session.ToolPart, Tool: "bash",
					State: &session.ToolState{Status: session.Completed, Input: input, Output: text(step)}}}})
		}
		return log
	}
	for name, test := range map[string]struct {
		quotes map[int][]int
		want   int
	}{
		"nothing quoted":              {nil, 0},
		"what was just seen":          {map[int][]int{38: {37}, 39: {34}}, 0},
		"from further back":           {map[int][]int{38: {10}, 39: {33}}, 2},
		"two texts in one step":       {map[int][]int{39: {3, 4}}, 2},
		"quoted again by a later one": {map[int][]int{30: {3}, 38: {4}}, 2},
		"by a step that is old":       {map[int][]int{19: {3}, 20: {4}}, 1},
	} {
		w := Window{Messages: log(40, test.quotes), Facts: NewFacts(token.Chars4{})}
		if got := w.Reach(20); got != test.want {
			t.Errorf("%s: reach %d, want %d", name, got, test.want)
		}
	}
}
