package chat

import (
	"cmp"
	"context"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/bill"
	"github.com/winnowhq/winnow/report"
	"github.com/winnowhq/winnow/tui"
)

// costPanel shows what a session took: by kind, by model, and request by request.
type costPanel struct {
	scrolled
	style  style
	gauge  report.Gauge
	all    []report.Request
	err    error
	loaded bool
}

// costRead is what a cost panel waits for.
type costRead struct {
	of    *costPanel
	gauge report.Gauge
	all   []report.Request
	err   error
}

// newCostPanel shows what a session took.
func newCostPanel(ctx context.Context, e *winnow.Engine, id string, s style) (panel, tea.Cmd) {
	p := &costPanel{style: s}
	return p, func() tea.Msg {
		r := costRead{of: p}
		if r.gauge, r.err = winnow.Look(ctx, e, id, report.Measure); r.err == nil {
			r.all, r.err = winnow.Look(ctx, e, id, report.Requests)
		}
		return r
	}
}

func (p *costPanel) Title() string { return "Cost" }
func (p *costPanel) Keys() string  { return "↑↓ scroll · esc back" }

func (p *costPanel) Update(msg tea.Msg) (panel, tea.Cmd) {
	switch msg := msg.(type) {
	case costRead:
		if msg.of == p {
			p.gauge, p.all, p.err, p.loaded, p.drawn = msg.gauge, msg.all, msg.err, true, false
		}
	case tea.KeyPressMsg:
		switch msg.String() {
		case "esc", "q", "enter":
			return nil, nil
		case "/": // there is nothing to filter
		default:
			p.key(msg)
		}
	}
	return p, nil
}

func (p *costPanel) View(width, height int) []string { return p.show(width, height, p.draw) }

func (p *costPanel) draw(width int) []string {
	all := p.gauge.All()
	switch {
	case !p.loaded:
		return []string{paint(p.style.dim, tui.Cut("reading …", width))}
	case p.err != nil:
		return wrap("what it took cannot be read: "+firstOf(oneLine(explain(p.err))), width, "")
	case all.Requests == 0:
		return wrap("nothing was paid yet: no request has said what it took", width, "")
	}
	head := money(all) + " for " + tui.Count(all.Requests, "request") + " · " + cacheShare(all) + " of what was sent came from the cache"
	var lines []string
	for _, l := range wrap(head, width, "") {
		lines = append(lines, paint(p.style.bold, tui.Cut(l, width)))
	}
	if all.Unpriced > 0 {
		lines = append(lines, wrap("the price of "+tui.Count(all.Unpriced, "request")+" is not known", width, "")...)
	}
	if all.Unreported > 0 {
		lines = append(lines, wrap(tui.Count(all.Unreported, "request")+" without a report of usage", width, "")...)
	}
	lines = append(lines, "")
	t := billTable{width: width, style: p.style}
	t.head("by kind")
	for _, k := range []struct {
		name string
		bill bill.Bill
	}{{"steps", p.gauge.Steps}, {"summaries", p.gauge.Summaries}, {"sub-agents", p.gauge.Agents}, {"left", p.gauge.Left}, {"failed", p.gauge.Failed}, {"last step", p.gauge.Last}} {
		if k.bill.Requests > 0 {
			t.row(k.name, k.bill)
		}
	}
	t.lines = append(t.lines, "")
	t.head("by model")
	for _, m := range byModel(p.all) {
		t.row(m.name, m.bill)
	}
	lines = append(lines, t.lines...)
	return append(append(lines, ""), chart(p.all, width, p.style)...)
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
	if text := cost(b); text != "cost ?" {
		return text
	}
	return "?"
}

// billTable draws bills under each other. What there is no room for is left out, the least telling first.
type billTable struct {
	width int
	style style
	lines []string
}

func (t *billTable) head(name string) {
	t.lines = append(t.lines, paint(t.style.dim, t.line(name, []string{"cost", "requests", "sent", "cached", "written", "answered"})))
}

func (t *billTable) row(name string, b bill.Bill) {
	u := b.Usage
	t.lines = append(t.lines, t.line("  "+oneLine(name), []string{
		money(b), grouped(b.Requests), grouped(u.Prompt()), cacheShare(b), grouped(u.Cache.Write), grouped(u.Output + u.Reasoning),
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
	return tui.Cut(fit(name, room)+side, t.width)
}

// chartHeight is how many lines the chart of the newest requests has.
const chartHeight = 5

var eighths = []string{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}

// chart draws the newest requests as columns, by their cost, or by what was sent where a price is not known. Below it stands what is no step, and the share
// that came from the cache.
func chart(all []report.Request, width int, s style) []string {
	room := width - 10 // the label of the axis
	if len(all) == 0 || room < 8 {
		return nil
	}
	all = all[max(0, len(all)-room):]
	value, label, title := func(r *report.Request) float64 { return r.Bill.Cost }, tui.Dollars, "cost"
	if slices.ContainsFunc(all, func(r report.Request) bool { return r.Bill.Unknown() > 0 }) {
		value, label, title = func(r *report.Request) float64 { return float64(r.Bill.Usage.Prompt()) }, func(n float64) string { return shortly(int(n)) }, "tokens sent"
	}
	most := 0.0
	for i := range all {
		most = max(most, value(&all[i]))
	}
	what := "the only request"
	if len(all) > 1 {
		what = "the newest " + tui.Count(len(all), "request")
	}
	lines := []string{paint(s.dim, tui.Cut(title+" of "+what, width))}
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
		lines = append(lines, paint(s.dim, right(tui.Cut(axis, 8), 8)+" ")+paint(s.accent, strings.TrimRight(b.String(), " ")))
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
		lines = append(lines, right("", 9)+strings.TrimRight(kinds, " "), paint(s.dim, tui.Cut(right("", 9)+"◆ summary × failed", width)))
	}
	if strings.TrimSpace(cached) != "" {
		lines = append(lines, paint(s.dim, right("cached", 8)+" ")+paint(s.good, strings.TrimRight(cached, " ")))
	}
	return lines
}
