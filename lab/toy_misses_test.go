package lab

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/rule/ruletest"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/summarize/offline"
	"github.com/winnowhq/winnow/token"
)

// reads is a call that reads a file.
func reads(file, output string) session.Part {
	return uses("Read", `{"file_path":"`+file+`"}`, output)
}

func uses(tool, input, output string) session.Part {
	return session.Part{Type: session.ToolPart, Tool: tool, CallID: "c", State: &session.ToolState{
		Status: session.Completed, Input: jsontext.Value(input), Output: output,
	}}
}

// gone leaves the output of a message's first part out as soon as another message is there.
func gone(message, because int) rule.Elision {
	return rule.Elision{Message: fmt.Sprintf("m%d", message), Part: fmt.Sprintf("p%d.0", message), Field: rule.Output,
		Shown: "gone away", Because: fmt.Sprintf("m%d", because)}
}

func replayed(t *testing.T, y *toy, o Options, script ...rule.Elision) Outcome {
	t.Helper()
	terms := plain()
	o.Terms, o.Detail = &terms, true
	out, err := Run(t.Context(), y.trace(), Setup{Policy: eliding(script...), Window: Unlimited}, o)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// What a policy leaves out that was fetched again is hidden again, and missed again.
func TestToy_whatCameBackGoesAgain(t *testing.T) {
	o := words("o", 20)
	y, s := forgotten("gone away", from(o, 5, 8))
	y.Messages[4].Parts = []session.Part{say("d1 d2")}
	y.step(0, say(from(o, 11, 8)))
	// step 3: T = 160; it needs the output, which a call of 2 brings back: 6424, as above
	// step 4: T = 160+22+8 = 190, C = 182
	// Then what came back goes: 20 become 2.
	// step 5: T = 190-18+2 = 174, C = 160+2 = 162, of 160 before the call and its 2; it needs the
	//         output again: 174·1 + 120·50 + 22·12 = 6438
	// read:   110 + 120 + 182 + 162                  = 574
	// write:  (110 + 30 + 40 + 8 + 12)·12 = 200·12   = 2400
	// output: (10+8+8+2+8)·50                        = 1800
	s.Policy = eliding(
		rule.Elision{Message: "m1", Part: "p1.1", Field: rule.Output, Shown: "gone away", Because: "m2"},
		rule.Elision{Message: "r1", Part: "r1.0", Field: rule.Output, Shown: "gone again", Because: "m4"},
	)
	got := billed(t, y, s, Options{}, Bill{Read: 574, Write: 2400, Output: 1800, Regret: 6424 + 6438})
	if got.MissedSteps != 2 || got.MissedItems != 2 {
		t.Errorf("%d steps missed %d items, want 2 and 2", got.MissedSteps, got.MissedItems)
	}
	if got.Removed != 18 {
		t.Errorf("%d tokens were removed, each once; want 18: 20 of the output less the 2 in its place", got.Removed)
	}
}

// One request brings back all that a step missed, and items of one file are one.
func TestToy_oneRequestForAStep(t *testing.T) {
	o, p, q := words("o", 20), words("p", 30), words("q", 10)
	for _, c := range []struct {
		name   string
		second string // file of the second read
		items  int
	}{
		{"two files", "b.go", 3},
		{"one file", "a.go", 2},
		{"one file, by another name", "./a.go", 2},
	} {
		y := &toy{}
		y.user(0, "u1")
		y.step(0, reads("a.go", o))
		y.step(0, reads(c.second, p))
		y.step(0, looks("x", q))
		y.step(0, say(from(o, 1, 8)+" "+from(p, 1, 8)+" "+from(q, 1, 8)))
		got := replayed(t, y, Options{}, gone(1, 3), gone(2, 3), gone(3, 3))
		if got.MissedSteps != 1 || got.MissedItems != c.items {
			t.Errorf("%s: %d steps missed %d items, want 1 and %d", c.name, got.MissedSteps, got.MissedItems, c.items)
		}
		// Three calls of 2 bring back 20, 30 and 10.
		T := float64(got.Sizes[3])
		if want := T + 120*50 + 66*12; math.Abs(got.Bill.Regret-want) > 1e-6 {
			t.Errorf("%s: missing them costs %v, want %v", c.name, got.Bill.Regret, want)
		}
	}
}

// lines are n lines of eight words, which stand nowhere else.
func lines(w string, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = words(fmt.Sprintf("%s%d.", w, i), 8)
	}
	return all
}

func TestToy_onlyARegionComesBack(t *testing.T) {
	text := lines("l", 100)
	long := strings.Join(text, "\n")
	for _, c := range []struct {
		name         string
		output, says string
		later        string // said in the step after
		back         []int  // words that come back of the region at each miss
	}{
		{"20 lines on either side", long, text[50], text[51], []int{41 * 8}},
		{"at the beginning: 25 lines of 8 are 200", long, text[4], "", []int{25 * 8}},
		{"at the beginning: 21 lines are too few, so there are 20 more", long, text[0], "", []int{41 * 8}},
		{"at the end", long, text[95], "", []int{25 * 8}},
		{"two places", long, text[22] + " and " + text[74], "", []int{82 * 8}},
		{"two places, near", long, text[22] + " and " + text[40], "", []int{(61 - 2) * 8}},
		{"what is outside is missed again", long, text[50], text[90], []int{41 * 8, 30 * 8}},
		{"a small item comes back whole", strings.Join(text[:24], "\n"), text[12], "", []int{24 * 8}},
	} {
		t.Run(c.name, func(t *testing.T) {
			y := &toy{}
			y.user(0, "u1").step(0, looks("x", c.output)).step(0, say("a1")).step(0, say(c.says)).step(0, say(c.later+" end"))
			out := replayed(t, y, Options{Regions: true}, gone(1, 2))
			var whole, region []int
			for _, e := range out.Events {
				if e.Kind == Regretted {
					whole = append(whole, e.Tokens-2)
				}
			}
			for _, e := range out.Region.Events {
				if e.Kind == Regretted {
					region = append(region, e.Tokens-2)
				}
			}
			if all := []int{len(strings.Fields(c.output))}; !slices.Equal(whole, all) || !slices.Equal(region, c.back) {
				t.Errorf("words that came back: whole %v, of regions %v; want %v, %v", whole, region, all, c.back)
			}
		})
	}
}

func TestToy_nothingMissedIsTheSameWithRegions(t *testing.T) {
	out := replayed(t, three(), Options{Regions: true})
	region := out.Region
	out.Region = nil
	if diff := cmp.Diff(&out, region); diff != "" {
		t.Error(diff)
	}
}

// The numbers that readers print before lines are no words: what spans two lines is quoted without.
func TestToy_lineNumbersAreNotWords(t *testing.T) {
	for _, form := range []string{"%6d→%s", "%d\t%s", "%d: %s", "%d|%s", "   %d\t%s"} {
		var numbered []string
		for i := range 6 {
			numbered = append(numbered, fmt.Sprintf(form, 98+i, words(fmt.Sprintf("o%d.", i), 4)))
		}
		y := &toy{}
		y.user(0, "u1").step(0, looks("x", strings.Join(numbered, "\n"))).step(0, say("a1"))
		y.step(0, say(words("o2.", 4)+" "+words("o3.", 4)))
		if got := replayed(t, y, Options{}, gone(1, 2)); got.MissedSteps != 1 {
			t.Errorf("lines such as %q: what spans two of them was not missed", numbered[0])
		}
	}
	// A number by itself is a word, and so is one that does not count on.
	y := &toy{}
	y.user(0, "u1").step(0, looks("x", "7: o1 o2 o3 o4\\n9: p1 p2 p3 p4")).step(0, say("a1"))
	y.step(0, say("o1 o2 o3 o4 p1 p2 p3 p4"))
	if got := replayed(t, y, Options{}, gone(1, 2)); got.MissedSteps != 0 {
		t.Error("rows without the numbers of a list were missed")
	}
}

func TestToy_lostEdits(t *testing.T) {
	file := "f1 f2 f3\nx y\n" + words("g", 9) + "\nreturn done(me)"
	edit := func(before string) session.Part {
		b, _ := jsontext.AppendQuote(nil, before)
		return uses("Edit", `{"file_path":"a.go","old_string":`+string(b)+`,"new_string":"n1"}`, "done")
	}
	for _, c := range []struct {
		name, old, also string
		shown           string
		want            int
	}{
		{"of the file that is hidden", words("g", 9), "", "gone away", 1},
		{"few words", "x y", "", "gone away", 1},
		{"few words with signs", "return done(me)", "", "gone away", 1},
		{"a single word", "f2", "", "gone away", 1},
		{"that stands in what is shown, too", words("g", 9), words("g", 9), "gone away", 0},
		{"in what stands in its place", words("g", 9), "", "gone: " + words("g", 9), 0},
		{"few words in what stands in its place", "x y", "", "gone: x y", 0},
		{"that stood nowhere", words("h", 9), "", "gone away", 0},
		{"of signs alone", "})", "", "gone away", 0},
	} {
		y := &toy{}
		y.user(0, "u1 "+c.also).step(0, reads("a.go", file)).step(0, say("a1")).step(0, edit(c.old)).step(0, say("e1"))
		e := gone(1, 2)
		e.Shown = c.shown
		if got := replayed(t, y, Options{}, e); got.LostEdits != c.want {
			t.Errorf("%s: %d edits are lost, want %d", c.name, got.LostEdits, c.want)
		}
		if got := replayed(t, y, Options{}); got.LostEdits != 0 {
			t.Errorf("%s: %d edits are lost where nothing is hidden", c.name, got.LostEdits)
		}
	}
}

func TestToy_lostInputs(t *testing.T) {
	output := "see src/a.go, someName and other_name. Then v1 of --long-flag plain 1234 words"
	for _, c := range []struct {
		arguments, also string
		want            int
	}{
		{"src/a.go", "", 1},
		{"./src/a.go", "", 1},
		{"someName other_name someName", "", 2},
		{"someName", "someName", 0},
		{"plain words 1234 v1", "", 0}, // no names
		{"unheardOf src/b.go", "", 0},  // they stood nowhere
	} {
		y := &toy{}
		y.user(0, "u1 "+c.also).step(0, looks("x", output)).step(0, say("a1")).step(0, looks(c.arguments, "")).step(0, say("e1"))
		if got := replayed(t, y, Options{}, gone(1, 2)); got.LostInputs != c.want {
			t.Errorf("%s: %d names are lost, want %d", c.arguments, got.LostInputs, c.want)
		}
	}
}

func TestOutcome_lambda(t *testing.T) {
	// 200 for 50 steps are 4 a step; 30,000 tokens removed are 30 times as many steps as λ says.
	o := Outcome{Steps: 50, Removals: Removals{Removed: 30_000}, Bill: Bill{Read: 150, Write: 50}}
	for l, want := range map[float64]float64{0: 200, 0.27: 200 + 0.27*120, 1.03: 200 + 1.03*120} {
		if got := o.Lambda(l); math.Abs(got-want) > 1e-9 {
			t.Errorf("λ = %v: %v, want %v", l, got, want)
		}
	}
	if got := o.BreakEven(260); math.Abs(got-0.5) > 1e-9 {
		t.Errorf("it is as dear as 260 at λ = %v, want 0.5", got)
	}
	if got := o.BreakEven(140); math.Abs(got+0.5) > 1e-9 {
		t.Errorf("it is dearer than 140 whatever λ is, got %v", got)
	}
	if got := (Outcome{Steps: 50, Bill: Bill{Read: 1}}).BreakEven(2); !math.IsInf(got, 1) {
		t.Errorf("where nothing was removed λ is %v, want infinite", got)
	}
}

// The replay of regions begins where something is missed first. It is what it would be from the
// beginning.
func TestRun_regionsAreAReplayOfTheirOwn(t *testing.T) {
	setups := unfolded()
	terms := Reference()
	rapid.Check(t, func(r *rapid.T) {
		trace := NewTrace(happened(ruletest.Sessions(40).Draw(r, "session")), model.Model{}, token.Linear{})
		setup := rapid.SampledFrom(setups).Draw(r, "setup")
		if rapid.Bool().Draw(r, "folds") {
			setup = folding(setup.Policy, trace.Base+rapid.IntRange(200, 2_000).Draw(r, "threshold"))
		}
		o := Options{Terms: &terms, Detail: true, Regions: true, Summarizer: offline.New()}
		got, err := Run(t.Context(), trace, setup, o)
		if err != nil {
			r.Fatal(err)
		}
		o.Regions = false
		alone := newRun(t.Context(), trace, setup, o)
		alone.regions = true
		if err := alone.from(0); err != nil {
			r.Fatal(err)
		}
		if diff := cmp.Diff(&alone.out, got.Region); diff != "" {
			r.Error("by itself, and with the other (-alone +with):\n" + diff)
		}
		whole, err := Run(t.Context(), trace, setup, o)
		if err != nil {
			r.Fatal(err)
		}
		if got.Region = nil; !cmp.Equal(whole, got) {
			r.Error("with regions asked for the other replay is another one:\n" + cmp.Diff(whole, got))
		}
	})
}
