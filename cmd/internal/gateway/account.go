package gateway

import (
	"fmt"
	"strings"

	"github.com/winnowhq/winnow/gateway/transport"
	"github.com/winnowhq/winnow/text/quantity"
	"github.com/winnowhq/winnow/text/visible"
)

// account is what came of relaying so many requests, in lines for people: three, and one where the
// client could not go on without.
func account(client string, requests int, mode transport.Mode, t transport.Totals) []string {
	if requests == 0 {
		return []string{client + " asked nothing through winnow; if it did ask a model, its own settings lead " +
			"elsewhere: see --upstream in winnow wrap --help"}
	}
	relayed := quantity.Plural(requests, "request", "requests") + " relayed"
	if mode == transport.Off {
		return []string{relayed, "mode off: nothing was pruned, counted or kept"}
	}
	pruned, out := "%s pruned", "left out"
	if mode == transport.Observe {
		pruned, out = "%s would have been pruned", "could be left out"
	}
	relayed += ", " + fmt.Sprintf(pruned, quantity.Number(t.Edited))
	if t.Resent > 0 {
		relayed += fmt.Sprintf(", %s refused by the provider and sent again whole", quantity.Number(t.Resent))
	}
	more := "winnow status"
	if len(t.Sessions) == 1 {
		more += ", winnow inspect " + t.Sessions[0]
	}
	out = fmt.Sprintf("%s %s of the newest requests", quantity.Plural(t.LeftOut, "token", "tokens"), out)
	if mode != transport.Observe {
		out += ", " + quantity.Plural(t.Recalls, "recall", "recalls")
	}
	lines := []string{relayed, billed(mode, t), out + "; more: " + more}
	if t.Warm > 0 {
		lines = append(lines, fmt.Sprintf("the cache was kept warm by %s, which are in that: they cost %s and saved %s",
			quantity.Count(t.Warm, "request"), quantity.Dollars(float64(t.WarmCost)), quantity.Dollars(t.WarmSaved)))
	}
	if len(t.Outgrown) > 0 && mode != transport.Observe {
		lines = append(lines, "the whole history no longer fits the model's window: resume it with winnow wrap, or "+
			"first run winnow compact on the session of "+client)
	}
	return lines
}

// billed is what the requests cost beside what they would have cost.
func billed(mode transport.Mode, t transport.Totals) string {
	unpriced := quantity.Plural(t.Unpriced, "request", "requests") + " of unknown cost not counted"
	if len(t.UnpricedModels) > 0 {
		unpriced += ": no usage, or no price of " + visible.Line(strings.Join(t.UnpricedModels, ", "))
	}
	if t.Unpriced > 0 && t.Unpriced >= t.Requests {
		return "billed: unknown (" + unpriced + ")"
	}
	text := "billed " + quantity.Dollars(float64(t.Billed))
	if mode == transport.Observe {
		text += fmt.Sprintf("; pruned it would have been %s: %s could be saved", quantity.Dollars(t.Otherwise.Likely),
			quantity.Net(t.ToSave))
	} else {
		without, saved := quantity.Dollars(t.Otherwise.Likely), quantity.Net(t.Net)
		if low, high := t.Otherwise.Range(); high-low >= 0.01 {
			without = quantity.Dollars(low) + " to " + quantity.Dollars(high)
			saved = quantity.Net(t.Net+low-t.Otherwise.Likely) + " to " + quantity.Net(t.Net+high-t.Otherwise.Likely)
		}
		text += fmt.Sprintf("; without winnow %s: %s saved", without, saved)
	}
	var less []string
	if t.Missed > 0 {
		less = append(less, quantity.Dollars(t.Missed)+" for recalls")
	}
	if t.Summaries > 0 {
		less = append(less, quantity.Dollars(t.Summaries)+" for summaries")
	}
	if len(less) > 0 {
		text += ", after " + strings.Join(less, " and ")
	}
	if t.Unpriced > 0 {
		text += " (" + unpriced + ")"
	}
	return text
}
