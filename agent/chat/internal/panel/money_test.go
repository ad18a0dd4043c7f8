package panel

import (
	"regexp"
	"strings"
	"testing"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/agent/chat/internal/draw"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/report"
)

// Of a model without a price nothing in the terminal says dollars.
func TestMoney_ofAModelWithoutAPriceIsNeverANumber(t *testing.T) {
	usage := session.Usage{Input: 2_000, Output: 500}
	unpriced, silent := bill.Bill{Requests: 3, Usage: usage, Unpriced: 3}, bill.Bill{Requests: 2, Unreported: 2}
	requests := []report.Request{{Kind: "step", Model: "house/any",
		Bill: bill.Bill{Requests: 1, Usage: usage, Unpriced: 1}}}
	receipt := &pivot.Receipt{ID: "r1", Kind: pivot.Compaction, TokensBefore: 90_000, TokensAfter: 9_000, Folded: 30,
		Summarizer: "house/any", Usage: []session.Usage{usage}}
	receipt.Money = pivot.NewMoney(model.Model{Provider: "house", ID: "any"},
		pivot.Change{Before: 90_000, After: 9_000}, nil)
	for name, bill := range map[string]bill.Bill{"without a price": unpriced, "without a report": silent} {
		all, last := draw.BarCost(report.Gauge{Bills: report.Bills{Last: bill, Steps: bill}})
		panel := drawCost(report.Gauge{Bills: report.Bills{Last: bill, Steps: bill}}, requests, 100, draw.Style{})
		for painter, text := range map[string]string{
			"the bar":           all + " " + last,
			"the panel of cost": strings.Join(panel, "\n"),
			"a compaction":      draw.FoldedNotice(receipt).Text,
			"a pruning":         draw.PrunedNotice(receipt, model.Model{Provider: "house", ID: "any"}).Text,
			"a preview": summaryForeseen(&winnow.SummaryPreview{Summarizer: "house/any", Calls: 1,
				Prompt: 9_000, Tokens: 300}),
		} {
			if regexp.MustCompile(`\$ ?[0-9]`).MatchString(text) {
				t.Errorf("%s, %s: %s", painter, name, text)
			}
			if says := strings.Contains(text, "?") || strings.Contains(text, "unknown") ||
				strings.Contains(text, "not known"); !says && painter != "a pruning" {
				t.Errorf("%s, %s, does not say that it is unknown: %s", painter, name, text)
			}
		}
	}
}
