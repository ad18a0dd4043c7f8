package advise

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/lab"
	"github.com/winnowhq/winnow/text/quantity"
)

// findReplay says what a replay recommends: a policy of winnow, with the settings that are not in
// force yet, and for each product the size at which it should compact by itself.
//
// Cost: what the logs of the replayed sessions say that they cost. Gain: the share of its
// baseline's bill that what is chosen on other sessions saves on those that were held out, of the
// baseline's bill. Error: half of that share's interval; and as much as the baseline's bill of a
// session is above what its log says, as where the product compacted earlier than the replay, so
// that less is left to save. Where it is below, requests were more than the log has, and too little
// is claimed.
func findReplay(r *lab.Report, advised map[string]string) (found []Finding) {
	if r == nil || r.Relative ||
		!slices.ContainsFunc(r.Policies, func(s lab.Standing) bool { return s.Name == r.Baseline }) {
		return nil
	}
	if a := r.Advice; a != nil {
		f := chosen(r, Policy, "", &a.HeldOut)
		f.Title = "winnow's policy " + a.Policy + " costs less than compaction alone"
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
		f := chosen(r, Threshold, p.Product, p.HeldOut)
		f.Title = lab.ProductName(p.Product) + " by itself costs less if it compacts earlier: " + p.Policy
		f.Change, f.Line, f.Where = "set the size at which it compacts ("+p.Note+")", setting(p), p.File
		found = append(found, f)
	}
	return found
}

// chosen is what a choice is worth on the sessions of a product, "" for all. Fewer than three
// sessions say nothing of others, nor does a choice without an interval.
func chosen(r *lab.Report, kind, product string, choice *lab.Choice) Finding {
	base := slices.IndexFunc(r.Policies, func(s lab.Standing) bool { return s.Name == r.Baseline })
	paid, bill, beyond, sessions := 0.0, 0.0, 0.0, 0
	for i := range r.Sessions {
		if s := &r.Sessions[i]; product == "" || s.Product == product {
			own, replayed := s.Paid.Steps.Plus(s.Paid.Summaries).Cost, s.Outcomes[base].Bill.Total()
			paid, bill, beyond, sessions = paid+own, bill+replayed, beyond+max(0, replayed-own), sessions+1
		}
	}
	if sessions < 3 || !choice.Within.Known() {
		beyond = math.Inf(1)
	}
	return Finding{Kind: kind, Cost: paid, Gain: (1 - choice.Ratio) * bill,
		Error: (choice.Within.High-choice.Within.Low)/2*bill + beyond,
		Evidence: []string{
			fmt.Sprintf("%s cost %s by their logs; replayed with compaction alone, %s.",
				quantity.Count(sessions, "session"), quantity.Dollars(paid), quantity.Dollars(bill)),
			fmt.Sprintf("With what is chosen on other sessions they cost %.2f of that (%.2f to %.2f); "+
				"in %.1f of 100 steps the agent missed something.", choice.Ratio, choice.Within.Low, choice.Within.High,
				choice.MissedStepsPer100)}}
}

// setting is the line that sets a product's size, as its file has such lines.
func setting(p *lab.ProductAdvice) string {
	switch {
	case strings.HasSuffix(p.File, ".toml"):
		return p.Key + " = " + p.Value
	case strings.Contains(p.Key, "."): // an object within the object
		return p.Key + ": " + p.Value
	}
	return `"` + p.Key + `": ` + p.Value
}

// clients are the words of winnow wrap for the products of sessions.
var clients = map[string]string{"claude-code": "claude", "codex": "codex", "opencode": "opencode", "pi": "pi",
	"gemini-cli": "gemini", "qwen-code": "qwen", "copilot": "copilot", "cline": "cline"}

// wrapping is the command that starts the agent of most of the replayed sessions through winnow.
func wrapping(r *lab.Report) string {
	sessions, most := map[string]int{}, ""
	for i := range r.Sessions {
		product := r.Sessions[i].Product
		if sessions[product]++; sessions[product] > sessions[most] {
			most = product
		}
	}
	if client := clients[most]; client != "" {
		return "winnow wrap " + client
	}
	return "winnow serve"
}
