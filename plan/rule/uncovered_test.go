package rule_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/rule/letter"
	"github.com/winnowhq/winnow/plan/rule/ruletest"
	"github.com/winnowhq/winnow/token"
)

// Findings that stay because what covers them is gone are set aside. However a log grew, and whatever was committed, undone, pinned or renamed on the way: what is
// decided and refused is what somebody decides who sees the log for the first time.
func TestDecide_setsAsideWhatStays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		age := rule.Age{Turns: rapid.IntRange(0, 2).Draw(t, "turns")}
		scan := letter.Backward{Protect: rapid.SampledFrom([]int{0, 300, 2000}).Draw(t, "protect"), Turns: rapid.IntRange(0, 1).Draw(t, "turns protected")}
		guard := &rule.Guard{Least: rapid.IntRange(0, 60).Draw(t, "least")}
		order := rapid.Permutation([]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}).Draw(t, "order")
		rules := func() (all []rule.Rule) {
			for _, at := range order {
				all = append(all, append(everyRule(true, age), scan)[at])
			}
			return all
		}
		facts, handles, lasting, ledger := rule.NewFacts(token.Chars4{}), &rule.Handles{}, rules(), rule.Ledger{}
		var pins []rule.Pin
		l := ruletest.New()
		running, after := "", 0
		for range rapid.IntRange(1, 60).Draw(t, "length") {
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
			w.Facts, w.Ledger, w.Pins, w.Guard, w.Handles, w.After = facts, ledger, pins, guard, handles, after
			found := rule.Decide(w, lasting)
			fresh := w
			fresh.Facts, fresh.Handles = rule.NewFacts(token.Chars4{}), &rule.Handles{Recall: handles.Recall}
			fresh.Facts.Scale(facts.Factor())
			if diff := cmp.Diff(rule.Decide(fresh, rules()), found); diff != "" {
				t.Fatalf("(-at first sight +grown):\n%s", diff)
			}
			if diff := cmp.Diff(found, rule.Decide(w, lasting)); diff != "" {
				t.Fatalf("asked again:\n%s", diff)
			}
			switch rapid.IntRange(0, 12).Draw(t, "then") {
			case 0, 1, 2, 3, 4:
				ledger = ledger.With(found.Elisions...)
			case 5:
				if n := len(found.Elisions); n > 0 { // a schedule chose some
					ledger = ledger.With(found.Elisions[rapid.IntRange(0, n-1).Draw(t, "from"):]...)
				}
			case 6:
				if all := ledger.All(); len(all) > 0 {
					ledger = ledger.Without(all[rapid.IntRange(0, len(all)-1).Draw(t, "undone")].Key())
				}
			case 7:
				if n := len(found.Refusals); n > 0 { // somebody left one out himself, or pinned it
					if part := found.Refusals[rapid.IntRange(0, n-1).Draw(t, "refused")].Part; rapid.Bool().Draw(t, "pins") {
						pins = append(slices.Clone(pins), rule.Pin{Part: part})
					} else if part != "" {
						ledger = ledger.With(rule.Elision{Part: part, Field: rule.Output, Rule: "asked", Shown: "gone"})
					}
				}
			case 8:
				if all := ledger.All(); len(all) > 0 { // another rule found what shows again the arguments of what is gone
					part := all[rapid.IntRange(0, len(all)-1).Draw(t, "gone")].Part
					newest := l.Messages[len(l.Messages)-1].Parts
					ledger = ledger.With(rule.Elision{Part: part, Field: rule.Input, Rule: "other", By: newest[len(newest)-1].ID})
				}
			case 9:
				pins = nil
				handles.Recall = !handles.Recall
			case 10:
				facts.Scale(rapid.SampledFrom([]float64{1, 1.3}).Draw(t, "factor"))
				after = rapid.IntRange(0, 1).Draw(t, "after")
			}
		}
	})
}
