package bill_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/session"
)

// Whatever a log says that was taken, what it cost is a number of dollars or unknown, and a bill is read as it was written.
func FuzzOf(f *testing.F) {
	f.Add(`{"input":10,"output":5,"cache":{"read":100,"write":7,"write1h":3}}`, 0.5, "anthropic", "claude-opus-4-5")
	f.Add(`{"input":-10,"output":9223372036854775807,"searches":-1,"tier":"fast"}`, math.Inf(1), "", "<synthetic>")
	f.Add(`{}`, -1.0, "loom", "l1")
	f.Add(`{"input":10,"output":5,"cache":{"read":100,"write":7}}`, 0.5, "loom", "l1")
	f.Add(`{"output":5,"searches":3}`, 0.25, "anthropic", "claude-opus-4-5")
	f.Fuzz(func(t *testing.T, usage string, cost float64, provider, id string) {
		var u session.Usage
		if json.Unmarshal([]byte(usage), &u) != nil {
			return
		}
		m := session.Message{MessageInfo: session.MessageInfo{Role: session.Assistant, ProviderID: provider, ModelID: id, Tokens: &u, Cost: &cost}}
		b := bill.Of([]session.Message{m, m}, nil, prices()).Total()
		if !(b.Cost >= 0) || math.IsInf(b.Cost, 0) || b.Usage.Prompt() < 0 || b.Unknown() > b.Requests {
			t.Fatalf("%s by %s/%s is billed as %+v", usage, provider, id, b)
		}
		split := 0.0
		for _, r := range append(bill.Requests(&m), bill.Requests(&m)...) {
			one := prices().Split(r)
			if one.Read < 0 || one.Write < 0 || one.Input < 0 || one.Output < 0 || one.Other < 0 {
				t.Fatalf("%s is divided into %+v", usage, one)
			}
			split += one.Total()
		}
		if math.Abs(split-b.Cost) > 1e-9*max(1, b.Cost) {
			t.Fatalf("%s by %s/%s costs %v, and divided %v", usage, provider, id, b.Cost, split)
		}
		text, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		var again bill.Bill
		if err := json.Unmarshal(text, &again); err != nil || again.Cost != b.Cost || again.Requests != b.Requests || again.Unknown() != b.Unknown() {
			t.Fatalf("%s is read as %+v, %v", text, again, err)
		}
	})
}
