package panel

import (
	"cmp"
	"context"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/agent/chat/internal/draw"
	"github.com/winnowhq/winnow/look/tui"
	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/quantity"
)

// NewCost shows what a session took: by kind, by model, and request by request.
func NewCost(ctx context.Context, e *winnow.Engine, id string, s draw.Style) (Panel, tea.Cmd) {
	p := &page{title: "Cost", keys: func() string { return "↑↓ scroll · esc back" }}
	p.enter = func() (bool, tea.Msg) { return true, nil }
	return p, p.read(s, "reading …", func() func(width int) []string {
		g, err := winnow.Look(ctx, e, id, report.Measure)
		var all []report.Request
		if err == nil {
			all, err = winnow.Look(ctx, e, id, report.Requests)
		}
		return func(width int) []string {
			if err != nil {
				return draw.Wrap("what it took cannot be read: "+draw.OneLine(draw.Explain(err)), width, "")
			}
			return drawCost(g, all, width, s)
		}
	})
}

func drawCost(g report.Gauge, all []report.Request, width int, s draw.Style) []string {
	bill := g.All()
	if bill.Requests == 0 {
		return draw.Wrap("nothing was paid yet: no request has said what it took", width, "")
	}
	var lines []string
	for _, l := range draw.Wrap(money(bill)+" for "+quantity.Count(bill.Requests,
		"request")+" · "+draw.CacheShare(bill)+
		" of what was sent came from the cache", width, "") {
		lines = append(lines, draw.Paint(s.Bold, tui.Cut(l, width)))
	}
	if bill.Unpriced > 0 {
		lines = append(lines, draw.Wrap("the price of "+quantity.Count(bill.Unpriced, "request")+" is not known", width,
			"")...)
	}
	if bill.Unreported > 0 {
		lines = append(lines, draw.Wrap(quantity.Count(bill.Unreported, "request")+" without a report of usage", width,
			"")...)
	}
	t := billTable{width: width, style: s, lines: append(lines, "")}
	t.head("by kind")
	for _, k := range []modelBill{{"steps", g.Steps}, {"summaries", g.Summaries}, {"sub-agents", g.Agents},
		{"left", g.Left}, {"failed", g.Failed}, {"last step", g.Last}} {
		if k.bill.Requests > 0 {
			t.row(k.name, k.bill)
		}
	}
	t.lines = append(t.lines, "")
	t.head("by model")
	for _, m := range byModel(all) {
		t.row(m.name, m.bill)
	}
	return append(append(t.lines, ""), chart(all, width, s)...)
}

type modelBill struct {
	name string
	bill bill.Bill
}

// byModel sums up requests by who answered, the dearest first.
func byModel(all []report.Request) []modelBill {
	var out []modelBill
	for _, r := range all {
		at := slices.IndexFunc(out, func(m modelBill) bool { return m.name == r.Model })
		if at < 0 {
			at = len(out)
			out = append(out, modelBill{name: r.Model})
		}
		out[at].bill = out[at].bill.Plus(r.Bill)
	}
	slices.SortStableFunc(out, func(a, b modelBill) int {
		return cmp.Or(cmp.Compare(b.bill.Cost, a.bill.Cost), cmp.Compare(b.bill.Usage.Prompt(), a.bill.Usage.Prompt()))
	})
	return out
}

// money is what requests have cost, "?" where nobody knows.
func money(b bill.Bill) string {
	if text := draw.Cost(b); text != "cost ?" {
		return text
	}
	return "?"
}

// billTable draws bills under each other. What there is no room for is left out, the least telling
// first.
type billTable struct {
	width int
	style draw.Style
	lines []string
}

func (t *billTable) head(name string) {
	t.lines = append(t.lines, draw.Paint(t.style.Dim,
		t.line(name, []string{"cost", "requests", "sent", "cached", "written", "answered"})))
}

func (t *billTable) row(name string, b bill.Bill) {
	u := b.Usage
	t.lines = append(t.lines, t.line("  "+draw.OneLine(name), []string{
		money(b), quantity.Number(b.Requests), quantity.Number(u.Prompt()), draw.CacheShare(b),
		quantity.Number(u.Cache.Write), quantity.Number(u.Output + u.Reasoning),
	}))
}

func (t *billTable) line(name string, cells []string) string {
	side := ""
	for i, least := range []int{0, 56, 44, 0, 100, 70} { // the width from which on a cell is there
		if t.width >= least {
			side += right(cells[i], [...]int{12, 10, 13, 8, 13, 11}[i])
		}
	}
	room := max(8, min(40, t.width-tui.Columns(side)))
	return tui.Cut(draw.Fit(name, room)+side, t.width)
}

// chartHeight is how many lines the chart of the newest requests has.
const chartHeight = 5

var eighths = []string{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}

// chart draws the newest requests as columns, by their cost, or by what was sent where a price is
// not known. Below it are the requests that are not steps, and the share that came from the cache.
func chart(all []report.Request, width int, s draw.Style) []string {
	room := width - 10 // the label of the axis
	if len(all) == 0 || room < 8 {
		return nil
	}
	all = all[max(0, len(all)-room):]
	value, label, title := func(r *report.Request) float64 { return r.Bill.Cost }, quantity.Dollars, "cost"
	if slices.ContainsFunc(all, func(r report.Request) bool { return r.Bill.Unknown() > 0 }) {
		value, label, title = func(r *report.Request) float64 { return float64(r.Bill.Usage.Prompt()) },
			func(n float64) string { return quantity.Short(int(n)) }, "tokens sent"
	}
	most := 0.0
	for i := range all {
		most = max(most, value(&all[i]))
	}
	what := "the only request"
	if len(all) > 1 {
		what = "the newest " + quantity.Count(len(all), "request")
	}
	lines := []string{draw.Paint(s.Dim, tui.Cut(title+" of "+what, width))}
	if most <= 0 {
		return nil
	}
	for row := chartHeight - 1; row >= 0; row-- {
		var b strings.Builder
		for i := range all {
			level := int(value(&all[i])/most*chartHeight*8 + 0.5)
			if value(&all[i]) > 0 {
				level = max(1, level)
			}
			b.WriteString(eighths[max(0, min(8, level-8*row))])
		}
		axis := ""
		switch row {
		case chartHeight - 1:
			axis = label(most)
		case 0:
			axis = "0"
		}
		lines = append(lines, draw.Paint(s.Dim, right(tui.Cut(axis, 8), 8)+" ")+draw.Paint(s.Accent,
			strings.TrimRight(b.String(), " ")))
	}
	kinds, cached, other := "", "", false
	for i := range all {
		r := &all[i]
		switch {
		case r.Failed:
			kinds, other = kinds+"×", true
		case r.Kind != "step":
			kinds, other = kinds+"◆", true
		default:
			kinds += " "
		}
		share := int(r.Bill.CacheShare()*8 + 0.5)
		if r.Bill.Usage.Cache.Read > 0 {
			share = max(1, share)
		}
		cached += eighths[share]
	}
	if other {
		lines = append(lines, right("", 9)+strings.TrimRight(kinds, " "),
			draw.Paint(s.Dim, tui.Cut(right("", 9)+"◆ summary × failed", width)))
	}
	if strings.TrimSpace(cached) != "" {
		lines = append(lines, draw.Paint(s.Dim, right("cached", 8)+" ")+draw.Paint(s.Good,
			strings.TrimRight(cached, " ")))
	}
	return lines
}
