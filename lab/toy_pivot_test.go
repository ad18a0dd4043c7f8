package lab

import (
	"math"
	"testing"

	"github.com/winnowhq/winnow/plan/rule"
)

func TestToy_pivot(t *testing.T) {
	// Behind step 1 there are 110+10+20 = 140 tokens, behind step 2 140+8+30 = 178, which is more
	// than 145: the past is folded there. The summary has 12, and six go on: "Continue if you have
	// next steps".
	summary := writes(words("s", 12))
	// the summary's request, alone: 78·10 + 12·50          = 1380
	// step 3: T = 100+12+6 = 118, C = 100, output 7
	// read:   110 + 100                                   = 210
	// write:  110·12 + 30·12 + 18·12 = 158·12              = 1896
	got := billed(t, three(), folding(nothing(), 145), Options{Summarizer: summary}, Bill{Read: 210, Write: 1896, Output: 1250, Compact: 1380})
	// sent 110+140+78+118, of them from the cache 110+100
	if want := (Tokens{Sent: 446, Cached: 210, Output: 25 + 12, Largest: 140}); got.Tokens != want {
		t.Errorf("tokens %+v, want %+v", got.Tokens, want)
	}
	if got.Folds != 1 {
		t.Errorf("%d folds, want 1", got.Folds)
	}
}

// What a request for a summary costs behind step 2, of 178 tokens, 100 of them system prompt and
// tools: extending the last request, of which the cache has what it kept, and alone, as where the
// cache is cold.
func TestToy_summaryRequest(t *testing.T) {
	trace, terms := three().trace(), plain()
	r := newRun(t.Context(), trace, folding(nothing(), 1_000), Options{Terms: &terms, Summarizer: writes(words("s", 12))})
	for k := range 2 {
		r.begin(k)
		r.send(k)
		if err := r.end(k); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name           string
		sent, kept     int
		alone          bool
		prompt, cached int
		cost           float64
	}{
		{"the cache has all of it", 140, 140, false, 178, 178, 178 * 1},
		{"something was left out", 140, 120, false, 178, 120, 120*1 + 58*12},
		{"the cache is cold", 0, 0, false, 78, 0, 78 * 10},
		{"alone", 140, 140, true, 78, 0, 78 * 10},
	} {
		r.sent, r.kept = c.sent, c.kept
		if prompt, cached, cost := r.asked(c.alone); prompt != c.prompt || cached != c.cached || math.Abs(cost-c.cost) > 1e-6 {
			t.Errorf("%s: %d tokens, %d from the cache, at %v; want %d, %d, %v", c.name, prompt, cached, cost, c.prompt, c.cached, c.cost)
		}
	}
}

func TestToy_pivotBehindACommit(t *testing.T) {
	// Step 1's output is left out (20 → 2) at the same moment as the past is folded: the summary's
	// request has 78-18 = 60 tokens, 60·10 + 12·50 = 1200. Step 3: T = 118, C = 100
	e := rule.Elision{Message: "m1", Part: "p1.1", Field: rule.Output, Shown: "gone away", Because: "m2"}
	billed(t, three(), folding(eliding(e), 145), Options{Summarizer: writes(words("s", 12))}, Bill{Read: 210, Write: 1896, Output: 1250, Compact: 1200})
}

func TestToy_secondPivotFoldsTheFirst(t *testing.T) {
	y := three()
	y.step(0, say("d1 d2"))
	// At 119 tokens the past is folded behind each step that it may be:
	//   behind step 1: T = 140; the summary's request 40·10 + 12·50 = 1000;  step 2: T = 118, C = 100
	//   behind step 2: T = 118+8+30 = 156; its request 56·10 + 600  = 1160;  step 3: T = 118, C = 100
	//   behind step 3: T = 118+7 = 125; but two folds in a row are all
	// read:   100 (step 2) + 100 (step 3) + 118 (step 4)   = 318
	// write:  110·12 + 18·12 + 18·12 + 7·12 = 153·12       = 1836
	// output: (10+8+7+2)·50                                = 1350
	got := billed(t, y, folding(nothing(), 119), Options{Summarizer: writes(words("s", 12))}, Bill{Read: 318, Write: 1836, Output: 1350, Compact: 1000 + 1160})
	if got.Folds != 2 {
		t.Errorf("%d folds, want 2", got.Folds)
	}
}

func TestToy_commitBehindThePivotOnly(t *testing.T) {
	// A policy that walks the whole log leaves out what lies before the pivot already: nothing that
	// is sent changes.
	y := three()
	y.step(0, say("d1 d2"))
	s := folding(eliding(rule.Elision{Message: "m1", Part: "p1.1", Field: rule.Output, Shown: "gone away", Because: "m3"}), 145)
	s.Policy.Log = true
	// step 3 as in TestToy_pivot; step 4: T = 118+7 = 125, C = 118
	billed(t, y, s, Options{Summarizer: writes(words("s", 12))}, Bill{Read: 210 + 118, Write: 1896 + 7*12, Output: 1350, Compact: 1380})
}
