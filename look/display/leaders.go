package display

import (
	"cmp"
	"maps"
	"slices"

	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/quantity"
)

// Ranking is a table of what takes most tokens, or where costs are known of what costs most.
type Ranking struct {
	Title  string
	Priced bool // rows have a cost
	Paths  bool // names are paths
	Titles bool // names are titles of sessions
	Tools  bool // names are tools
	Rows   []Ranked
}

// Ranked is a row of a ranking.
type Ranked struct {
	Name                string
	Tokens, Cost, Share string  // Share is of all tokens, or of the bill
	Part                float64 // of the largest, for a bar
	Rest                bool    // it stands for all others together, and Part is 0
}

// Rankings are the tables of what takes most in a session, by kind, tool and file.
func Rankings(r *report.Report, most int) []Ranking {
	t, c := r.Tokens, r.Costs
	if c == nil {
		c = &report.Costs{}
	}
	kinds := max(most+1, len(c.ByKind)) // together they are the bill
	all := []Ranking{CostRanking("By kind", t.ByKind, t.Total, c.ByKind, c.Total, kinds),
		CostRanking("By tool", t.ByTool, t.Total, c.ByTool, c.Total, most),
		CostRanking("By file", t.ByFile, t.Total, c.ByFile, c.Total, most)}
	all[1].Tools, all[2].Paths = true, true
	return all
}

// ModelRanking says what models cost; it has no rows unless there are several.
func ModelRanking(c *report.Costs, most int) Ranking {
	if c == nil || len(c.ByModel) < 2 {
		return Ranking{}
	}
	return CostRanking("By model", nil, 0, c.ByModel, c.Total, most)
}

// TokenRanking ranks what takes most of a whole.
func TokenRanking(title string, by map[string]int, whole, most int) Ranking {
	return CostRanking(title, by, whole, nil, 0, most)
}

// CostRanking ranks what costs most of a bill, by tokens what costs the same, and without costs by
// tokens alone. What comes after the first few, and small change, is one row, unless it is one
// thing.
func CostRanking(title string, by map[string]int, whole int, costs map[string]float64, bill float64, most int) Ranking {
	names := map[string]bool{}
	for name, tokens := range by {
		names[name] = tokens > 0
	}
	for name, cost := range costs {
		names[name] = names[name] || cost > 0
	}
	maps.DeleteFunc(names, func(_ string, there bool) bool { return !there })
	order := slices.SortedFunc(maps.Keys(names), func(a, b string) int {
		return cmp.Or(cmp.Compare(costs[b], costs[a]), cmp.Compare(max(0, by[b]), max(0, by[a])), cmp.Compare(a, b))
	})
	if len(order) <= most+1 {
		most = len(order)
	}
	small := func(name string) bool {
		if costs != nil {
			return Small(costs[name], bill)
		}
		return Small(float64(by[name]), float64(whole))
	}
	large := len(order)
	for large > 0 && small(order[large-1]) {
		large--
	}
	if large > 0 && len(order)-large > 1 {
		most = min(most, large)
	}
	r := Ranking{Title: title, Priced: costs != nil}
	add := func(name string, tokens int, cost float64) *Ranked {
		one := Ranked{Name: name, Tokens: quantity.Number(tokens), Share: quantity.Percent(tokens, whole)}
		if r.Priced {
			one.Cost, one.Share = quantity.Dollars(cost), quantity.Share(cost/bill)
			if tokens == 0 {
				one.Tokens = "–"
			}
		}
		r.Rows = append(r.Rows, one)
		return &r.Rows[len(r.Rows)-1]
	}
	for _, name := range order[:most] {
		one := add(name, max(0, by[name]), costs[name])
		if largest := order[0]; !r.Priced {
			one.Part = float64(by[name]) / float64(by[largest])
		} else if costs[largest] > 0 {
			one.Part = costs[name] / costs[largest]
		}
	}
	if rest := order[most:]; len(rest) > 0 {
		tokens, cost := 0, 0.0
		for _, name := range rest {
			tokens, cost = tokens+max(0, by[name]), cost+costs[name]
		}
		add(quantity.Number(len(rest))+" more", tokens, cost).Rest = true
	}
	return r
}
