package lab

import (
	"testing"

	"github.com/winnowhq/winnow/rule"
)

func TestToy_pivot(t *testing.T) {
	// Behind step 1 there are 110+10+20 = 140 tokens, behind step 2 140+8+30 = 178, which is more
	// than 145: the past is folded there. The summary has 12, and six go on: "Continue if you have
	// next steps".
	summary := writes(words("s", 12))
	// the summary's request: 178·1 + 12·50                = 778
	// step 3: T = 100+12+6 = 118, C = 100, output 7
	// read:   110 + 100                                   = 210
	// write:  110·12 + 30·12 + 18·12 = 158·12              = 1896
	got := billed(t, three(), folding(nothing(), 145), Options{Summarizer: summary}, Bill{Read: 210, Write: 1896, Output: 1250, Compact: 778})
	// sent 110+140+178+118, of them from the cache 110+178+100
	if want := (Tokens{Sent: 546, Cached: 388, Output: 25 + 12, Largest: 140}); got.Tokens != want {
		t.Errorf("tokens %+v, want %+v", got.Tokens, want)
	}
	if got.Folds != 1 {
		t.Errorf("%d folds, want 1", got.Folds)
	}
}

func TestToy_pivotWhenTheCacheIsCold(t *testing.T) {
	// The same pivot with nothing in the cache: its request is 178·12 + 12·50 = 2736.
	trace, terms := three().trace(), plain()
	r := newRun(t.Context(), trace, folding(nothing(), 1_000), Options{Terms: &terms, Summarizer: writes(words("s", 12))})
	for k := range 2 {
		r.begin(k)
		r.send(k)
		if err := r.end(k); err != nil {
			t.Fatal(err)
		}
	}
	r.sent, r.kept = 0, 0
	if err := r.fold(2); err != nil {
		t.Fatal(err)
	}
	if diff := difference(Bill{Read: 110, Write: 140 * 12, Output: 18 * 50, Compact: 2736}, r.out.Bill); diff != "" {
		t.Error("the bill differs from the one made by hand:\n" + diff)
	}
}

func TestToy_pivotBehindACommit(t *testing.T) {
	// Step 1's output is left out (20 → 2) at the same moment as the past is folded, so that what
	// the summary's request begins with is what the cache has, up to where that output stood: T =
	// 178-18 = 160, of which 120 are read. its request: 120·1 + 40·12 + 12·50                   =
	// 1200 step 3: T = 118, C = 100
	e := rule.Elision{Message: "m1", Part: "p1.1", Field: rule.Output, Shown: "gone away", Because: "m2"}
	billed(t, three(), folding(eliding(e), 145), Options{Summarizer: writes(words("s", 12))}, Bill{Read: 210, Write: 1896, Output: 1250, Compact: 1200})
}

func TestToy_secondPivotFoldsTheFirst(t *testing.T) {
	y := three()
	y.step(0, say("d1 d2"))
	// At 119 tokens the past is folded behind each step that it may be:
	//   behind step 1: T = 140; the summary's request 140 + 12·50 = 740;    step 2: T = 118, C = 100
	//   behind step 2: T = 118+8+30 = 156; its request 156 + 600  = 756;    step 3: T = 118, C = 100
	//   behind step 3: T = 118+7 = 125; but two folds in a row are all
	// read:   100 (step 2) + 100 (step 3) + 118 (step 4)   = 318
	// write:  110·12 + 18·12 + 18·12 + 7·12 = 153·12       = 1836
	// output: (10+8+7+2)·50                                = 1350
	got := billed(t, y, folding(nothing(), 119), Options{Summarizer: writes(words("s", 12))}, Bill{Read: 318, Write: 1836, Output: 1350, Compact: 740 + 756})
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
	billed(t, y, s, Options{Summarizer: writes(words("s", 12))}, Bill{Read: 210 + 118, Write: 1896 + 7*12, Output: 1350, Compact: 778})
}
