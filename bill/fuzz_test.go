package bill_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/winnowhq/winnow/bill"
	"github.com/winnowhq/winnow/session"
)

// Whatever a log says that was taken, what it cost is a number of dollars or unknown, and a bill is read as it was written.
func FuzzOf(f *testing.F) {
	f.Add(`{"input":10,"output":5,"cache":{"read":100,"write":7,"write1h":3}}`, 0.5, "anthropic", "claude-opus-4-5")
	f.Add(`{"input":-10,"output":9223372036854775807,"searches":-1,"tier":"fast"}`, math.Inf(1), "", "<synthetic>")
	f.Add(`{}`, -1.0, "loom", "l1")
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
