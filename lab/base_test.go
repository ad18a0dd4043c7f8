package lab

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

func TestToy_whatTheBaseCosts(t *testing.T) {
	// The base has 100 tokens. Step 1 writes it: 1200. Steps 2 and 3 read it: 100 each.
	warm := billed(t, three(), Setup{Policy: nothing(), Window: Unlimited}, Options{}, Bill{Read: 250, Write: 2136, Output: 1250})
	if warm.Base != 1400 {
		t.Errorf("the base cost %v, want 1400", warm.Base)
	}
	// The cache is cold at step 3, which writes it again.
	cold := billed(t, three(1, 2, 10, 400), Setup{Policy: nothing(), Window: Unlimited}, Options{},
		Bill{Read: 110, Write: (140 + 178) * 12, Output: 1250})
	if cold.Base != 1200+100+1200 {
		t.Errorf("the base cost %v, want 2500", cold.Base)
	}
}

// A session that went through the gateway knows its tools: those that it never called have a share
// of what the base cost.
func TestReport_namesToolsThatNobodyCalled(t *testing.T) {
	y := three()
	y.Info.Unknown = jsontext.Value(`{"tools":{"declared":{"look":30,"mcp__git__log":5,"mcp__git__push":15},"called":["look"]}}`)
	trace := y.trace()
	terms := plain()
	o := Options{Terms: &terms}
	one := trace.recorded("", o)
	one.Outcomes = []Outcome{{Base: 1400, Bill: Bill{Read: 7000}}}
	other := three().trace().recorded("", o)
	other.Outcomes = []Outcome{{Base: 600, Bill: Bill{Read: 3000}}}
	r := Report{Baseline: Nothing, Policies: []Standing{{Name: Nothing}}, Sessions: []Recorded{one, other}}
	want := BaseCost{Cost: 2000, Share: 0.2, Unknown: 1, Uncalled: []UncalledTools{
		{Server: "git", Names: []string{"mcp__git__push", "mcp__git__log"}, Tokens: 20, Cost: 1400 * 0.2}}}
	if diff := cmp.Diff(want, r.BaseCost()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
