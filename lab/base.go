package lab

import (
	"cmp"
	"slices"

	"github.com/winnowhq/winnow/store/report"
)

// BaseCost is what the base costs that every request carries: the system prompt and the
// declarations of tools.
type BaseCost struct {
	Cost  float64 `json:"cost"`  // the bill for it, in the unit of bills
	Share float64 `json:"share"` // the same as a share of the baseline's bill
	// Sessions in which no usage tells how large they are.
	Assumed int `json:"assumed,omitzero"`
	// Sessions whose log does not tell which tools were declared.
	Unknown int `json:"unknown,omitzero"`
	// Tools that sessions declared and never called, by MCP server, the largest first.
	Uncalled []UncalledTools `json:"uncalled,omitzero"`
}

// UncalledTools are tools of an MCP server, or of the products themselves, that were declared and
// never called.
type UncalledTools struct {
	// The MCP server; without it the tools are the products' own.
	Server string   `json:"server,omitzero"`
	Names  []string `json:"names"` // names of the tools
	// Tokens of their declarations, in the session that carried most.
	Tokens int     `json:"tokens"`
	Cost   float64 `json:"cost"` // the bill for carrying them, in the unit of bills
}

// carried is what the base costs of a prompt of which so much was read from the cache.
func (r *run) carried(cached int, read, write float64) float64 {
	from := min(cached, r.trace.Base)
	return float64(from)*read + float64(r.trace.Base-from)*write
}

// uncalled are the tools that a session declared and never called.
func uncalled(d report.Declared) (list []report.UncalledTool) {
	for name, tokens := range d.Tools {
		if !d.HasCalled(name) {
			list = append(list, report.UncalledTool{Name: name, Tokens: tokens})
		}
	}
	slices.SortFunc(list, func(a, b report.UncalledTool) int {
		return cmp.Or(cmp.Compare(b.Tokens, a.Tokens), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// BaseCost sums up what the base cost in all sessions under the baseline.
func (r *Report) BaseCost() BaseCost {
	at := slices.IndexFunc(r.Policies, func(s Standing) bool { return s.Name == r.Baseline })
	var sum BaseCost
	if at < 0 {
		return sum
	}
	all := 0.0
	servers := map[string]*UncalledTools{}
	for i := range r.Sessions {
		s := &r.Sessions[i]
		if at >= len(s.Outcomes) {
			continue
		}
		o := &s.Outcomes[at]
		sum.Cost += o.Base
		all += o.Bill.Total()
		if s.BaseAssumed {
			sum.Assumed++
		}
		if !s.ToolsKnown {
			sum.Unknown++
		}
		tokens := map[string]int{}
		for _, tool := range s.Uncalled {
			name := report.Server(tool.Name)
			if servers[name] == nil {
				servers[name] = &UncalledTools{Server: name}
			}
			of := servers[name]
			if !slices.Contains(of.Names, tool.Name) {
				of.Names = append(of.Names, tool.Name)
			}
			tokens[name] += tool.Tokens
			if s.Base > 0 {
				of.Cost += o.Base * float64(tool.Tokens) / float64(s.Base)
			}
		}
		for name, n := range tokens {
			servers[name].Tokens = max(servers[name].Tokens, n)
		}
	}
	sum.Share = ratio(sum.Cost, all)
	for _, of := range servers {
		sum.Uncalled = append(sum.Uncalled, *of)
	}
	slices.SortFunc(sum.Uncalled, func(a, b UncalledTools) int {
		return cmp.Or(cmp.Compare(b.Cost, a.Cost), cmp.Compare(a.Server, b.Server))
	})
	return sum
}
