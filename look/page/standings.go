package page

import (
	"slices"
	"strings"

	"github.com/winnowhq/winnow/lab"
	"github.com/winnowhq/winnow/look/display"
	"github.com/winnowhq/winnow/text/quantity"
)

// policyTable are the tables of policies, and what they are compared with.
type policyTable struct {
	Heads, Details []display.Column
	Rows           []standingRow
	Paid           []legend
	Recorded       string   // the real cost, as a sentence
	Differs        []string // why the baseline is another bill
}

type standingRow struct {
	trait
	Advised bool
	Cells   []display.Cell
	Details []display.Cell
	Bar     []segment
}

// keptWarm is the class of what is in the legend only where a policy does it.
const keptWarm = "t-search"

// paid are the parts of a bill, as the bars in the table have them.
var paid = []struct {
	class, name string
	of          func(b lab.Bill) float64
}{
	{display.Read.Class, "prompts read from the cache", func(b lab.Bill) float64 { return b.Read }},
	{display.Write.Class, "written to it, or sent without one", func(b lab.Bill) float64 { return b.Write }},
	{display.Output.Class, "answers", func(b lab.Bill) float64 { return b.Output }},
	{"l-summary", "summaries", func(b lab.Bill) float64 { return b.Compact }},
	{display.Missed.Class, "misses", func(b lab.Bill) float64 { return b.Regret }},
	{keptWarm, "keeping the cache warm", func(b lab.Bill) float64 { return b.Warm }},
}

func (d *replayDocument) standings() {
	r := d.r
	d.Heads, d.Details = display.Columns(r), display.Details(r)
	most := 0.0
	standings := display.Standings(r)
	for _, s := range standings {
		if t := s.Bill.Total(); display.Drawable(t) {
			most = max(most, t)
		}
	}
	d.recorded()
	for i, s := range standings {
		if d.traits[i].Replaced {
			continue
		}
		row := standingRow{trait: d.traits[i], Advised: i == d.ringed}
		for k := range d.Heads {
			row.Cells = append(row.Cells, d.Heads[k].Cell(s))
		}
		for k := range d.Details {
			row.Details = append(row.Details, d.Details[k].Cell(s))
		}
		x := 0.0
		for _, p := range paid {
			v := p.of(s.Bill)
			if !display.Drawable(v) || v <= 0 || most <= 0 || x > chartWidth {
				continue
			}
			width := chartWidth * v / most
			row.Bar = append(row.Bar, segment{p.class, share(x), share(width),
				p.name + " " + quantity.Bill(v, r.Relative)})
			x += width
		}
		d.Rows = append(d.Rows, row)
	}
	for _, p := range paid {
		warmed := func(s lab.Standing) bool { return s.Bill.Warm > 0 }
		if p.class != keptWarm || slices.ContainsFunc(r.Policies, warmed) {
			d.Paid = append(d.Paid, legend{Class: p.class, Name: p.name})
		}
	}
}

// recorded is the row of what the sessions really cost, if a request was seen.
func (d *replayDocument) recorded() {
	r := d.r
	if r.Paid.Total().Requests == 0 || len(r.Policies) == 0 {
		return
	}
	words := strings.Join(r.Paid.Words(quantity.Dollars), ", ")
	d.Recorded = visible("As recorded: " + words + ", by the reports in the log at list prices.")
	for _, why := range r.Differs {
		d.Differs = append(d.Differs, visible(why))
	}
	var row standingRow
	for k := range d.Heads {
		row.Cells = append(row.Cells, display.Cell{Text: d.Heads[k].Recorded(r)})
	}
	row.Name, row.Bill = display.AsRecorded, row.Cells[0].Text
	d.Rows = append(d.Rows, row)
}
