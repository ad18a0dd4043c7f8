package gateway

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/gateway/transport"
	"github.com/winnowhq/winnow/model/bill"
)

func TestAccount_saysWhatCameOfIt(t *testing.T) {
	for _, c := range []struct {
		name     string
		requests int
		mode     transport.Mode
		totals   transport.Totals
		want     []string
	}{
		{"nothing was asked", 0, transport.Full, transport.Totals{}, []string{
			"x asked nothing through winnow; if it did ask a model, its own settings lead elsewhere: see --upstream in winnow wrap --help"}},
		{"mode off", 1, transport.Off, transport.Totals{}, []string{"1 request relayed", "mode off: nothing was pruned, counted or kept"}},
		{"it paid", 1045, transport.Full, transport.Totals{
			RequestTotals: transport.RequestTotals{Requests: 1044, Edited: 12},
			CostTotals:    transport.CostTotals{Billed: 0.41, Otherwise: bill.Estimate{Likely: 0.63}, Net: 0.22},
			SessionTotals: transport.SessionTotals{LeftOut: 38112, Sessions: []string{"live_1"}},
		}, []string{"1,045 requests relayed, 12 pruned",
			"billed $0.41; without winnow $0.63: $0.22 saved",
			"38,112 tokens left out of the newest requests, 0 recalls; more: winnow status, winnow inspect live_1"}},
		{"it did not", 4, transport.Full, transport.Totals{
			RequestTotals: transport.RequestTotals{Requests: 4, Edited: 1, Resent: 1, Recalls: 1},
			CostTotals:    transport.CostTotals{Billed: 2, Otherwise: bill.Estimate{Likely: 1.5}, Net: -0.75, Missed: 0.05, Summaries: 0.2, Unpriced: 1},
			SessionTotals: transport.SessionTotals{LeftOut: 1, Sessions: []string{"a", "b"}},
		}, []string{"4 requests relayed, 1 pruned, 1 refused by the provider and sent again whole",
			"billed $2.00; without winnow $1.50: −$0.75 saved, after $0.0500 for recalls and $0.20 for summaries (1 request of unknown cost not counted)",
			"1 token left out of the newest requests, 1 recall; more: winnow status"}},
		{"nobody knows when the client would have compacted", 4, transport.Full, transport.Totals{
			RequestTotals: transport.RequestTotals{Requests: 4},
			CostTotals:    transport.CostTotals{Billed: 1, Otherwise: bill.Estimate{Likely: 3, Early: -0.5, Late: 1}, Net: 2},
			SessionTotals: transport.SessionTotals{Sessions: []string{"a", "b"}},
		}, []string{"4 requests relayed, 0 pruned",
			"billed $1.00; without winnow $2.50 to $4.00: $1.50 to $3.00 saved",
			"0 tokens left out of the newest requests, 0 recalls; more: winnow status"}},
		{"it would pay", 2, transport.Observe, transport.Totals{
			RequestTotals: transport.RequestTotals{Requests: 2, Edited: 1},
			CostTotals:    transport.CostTotals{Billed: 2, Otherwise: bill.Estimate{Likely: 1.5}, ToSave: 0.5},
			SessionTotals: transport.SessionTotals{LeftOut: 7},
		},
			[]string{"2 requests relayed, 1 would have been pruned",
				"billed $2.00; pruned it would have been $1.50: $0.50 could be saved",
				"7 tokens could be left out of the newest requests; more: winnow status"}},
		{"it kept the cache", 2, transport.Full, transport.Totals{
			RequestTotals: transport.RequestTotals{Requests: 2, Warm: 3},
			CostTotals:    transport.CostTotals{WarmCost: 0.02, WarmSaved: 0.5, Billed: 1, Otherwise: bill.Estimate{Likely: 1.5}, Net: 0.5},
			SessionTotals: transport.SessionTotals{Sessions: []string{"live_1"}},
		}, []string{"2 requests relayed, 0 pruned",
			"billed $1.00; without winnow $1.50: $0.50 saved",
			"0 tokens left out of the newest requests, 0 recalls; more: winnow status, winnow inspect live_1",
			"the cache was kept warm by 3 requests, which are in that: they cost $0.0200 and saved $0.50"}},
		{"it outgrew its window", 2, transport.Full, transport.Totals{
			RequestTotals: transport.RequestTotals{Requests: 2, Edited: 1},
			CostTotals:    transport.CostTotals{Billed: 1, Otherwise: bill.Estimate{Likely: 2}, Net: 1},
			SessionTotals: transport.SessionTotals{LeftOut: 7, Sessions: []string{"live_1"}, Outgrown: []string{"live_1"}},
		}, []string{"2 requests relayed, 1 pruned",
			"billed $1.00; without winnow $2.00: $1.00 saved",
			"7 tokens left out of the newest requests, 0 recalls; more: winnow status, winnow inspect live_1",
			"the whole history no longer fits the model's window: resume it with winnow wrap, or first run winnow compact on the session of x"}},
		{"nobody knows the price", 2, transport.Full, transport.Totals{
			RequestTotals: transport.RequestTotals{Requests: 2},
			CostTotals:    transport.CostTotals{Unpriced: 2, UnpricedModels: []string{"p/m"}},
		}, []string{"2 requests relayed, 0 pruned",
			"billed: unknown (2 requests of unknown cost not counted: no usage, or no price of p/m)", "0 tokens left out of the newest requests, 0 recalls; more: winnow status"}},
	} {
		if diff := cmp.Diff(c.want, account("x", c.requests, c.mode, c.totals)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}
