package advise

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/lab"
	"github.com/winnowhq/winnow/quantity"
)

// findReplay says what a replay recommends: a policy of winnow, with the settings that are not in force
// yet, and for each product the size at which it should compact by itself.
//
// Cost: what the logs of the replayed sessions say that they cost. Gain: the share of its baseline's
// bill that what is chosen on other sessions saves on those that were held out, of the baseline's
// bill. Error: half of that share's interval, and as much as the baseline's bill is off from what the
// logs say: where the replay does not do what the product did, it says nothing.
func findReplay(r *lab.Report, advised map[string]string) (found []Finding) {
	if r == nil || r.Relative {
		return nil
	}
	base := slices.IndexFunc(r.Policies, func(s lab.Standing) bool { return s.Name == r.Baseline })
	if base < 0 {
		return nil
	}
	sums := func(product string) (paid, bill float64, sessions int) {
		for i := range r.Sessions {
			if s := &r.Sessions[i]; product == "" || s.Product == product {
				own := s.Paid.Steps.Plus(s.Paid.Summaries)
				paid, bill, sessions = paid+own.Cost, bill+s.Outcomes[base].Bill.Total(), sessions+1
			}
		}
		return paid, bill, sessions
	}
	finding := func(kind, product string, choice *lab.Choice) Finding {
		paid, bill, sessions := sums(product)
		f := Finding{Kind: kind, Cost: paid, Gain: (1 - choice.Ratio) * bill,
			Error: (choice.Within.High-choice.Within.Low)/2*bill + math.Abs(bill-paid)}
		f.Evidence = []string{
			fmt.Sprintf("%s cost %s; replayed as they were, %s.", quantity.Count(sessions, "session"),
				quantity.Dollars(paid), quantity.Dollars(bill)),
			fmt.Sprintf("What is chosen on the others costs %.2f (%.2f to %.2f) of that on each that was held out, with %.1f missed steps in 100.",
				choice.Ratio, choice.Within.Low, choice.Within.High, choice.MissedStepsPer100)}
		return f
	}
	if a := r.Advice; a != nil {
		f := finding(Policy, "", &a.HeldOut)
		f.Title = "Pruning costs less than compaction alone: " + a.Policy
		f.Settings = maps.Clone(advised)
		var lines []string
		for _, key := range slices.Sorted(maps.Keys(advised)) {
			lines = append(lines, "winnow config set "+key+" '"+advised[key]+"'")
		}
		f.Change = "start agents through winnow"
		if len(lines) > 0 {
			f.Change = "set the policy, and start agents through winnow"
		}
		f.Line = strings.Join(append(lines, wrapping(r)), " && ")
		found = append(found, f)
	}
	for i := range r.Products {
		p := &r.Products[i]
		if p.Policy == "" || p.HeldOut == nil {
			continue
		}
		f := finding(Threshold, p.Product, p.HeldOut)
		f.Title = fmt.Sprintf("%s should compact earlier: %s costs less", lab.ProductName(p.Product), p.Policy)
		f.Change, f.Line, f.Where = "set the size at which it compacts; "+p.Note, p.Key+": "+p.Value, p.File
		found = append(found, f)
	}
	return found
}

// wrapping is the command that starts the agent of most of the replayed sessions through winnow.
func wrapping(r *lab.Report) string {
	command, most := "winnow wrap claude", 0
	for i := range r.Products {
		n := 0
		for k := range r.Sessions {
			if r.Sessions[k].Product == r.Products[i].Product {
				n++
			}
		}
		if n > most {
			command, most = r.Products[i].Gateway, n
		}
	}
	return command
}
