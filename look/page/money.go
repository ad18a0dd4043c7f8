package page

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/winnowhq/winnow/look/display"
	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/quantity"
)

// moneyView is what the bill of a session was for.
type moneyView struct {
	Lead     string
	Whole    []segment // all of it as one bar
	Legend   []legend
	Chart    barChart
	Missed   string // in a sentence; "" where nothing missed the cache
	Causes   []display.MissRow
	Dearest  []display.MissRow
	Tables   []table
	Definite string // how the sums of parts are made
}

const mostMisses = 10

// sharing says how dollars come to parts.
const sharing = "Each request is billed by the usage that the log reports. What its prompt cost is shared among " +
	"all that it carried, by the tokens that each had in it; what its answer cost belongs to the turn and the " +
	"model that wrote it. So the kinds add up to the bill."

func (d *document) money() {
	c := d.c.Report.Costs
	if c == nil {
		return
	}
	m := &moneyView{Lead: display.Capital(display.Billed(&d.c.Report)), Missed: display.MissedSentence(c),
		Definite: sharing}
	m.Whole, m.Legend = paidBar(&c.Split)
	m.Chart = d.bills(c)
	m.Causes, m.Dearest = display.Misses(c, mostMisses)
	if len(c.ByTurn) > 1 {
		m.Tables = append(m.Tables, d.byTurn(c))
	}
	if of := display.ModelRanking(c, mostRows); len(of.Rows) > 0 {
		m.Tables = append(m.Tables, tableOf(of))
	}
	d.Money = m
}

// MessageHref leads to a message, "" where the page has none of that id.
func (d *document) MessageHref(id string) string {
	if at, ok := d.position[id]; ok {
		return "#m" + strconv.Itoa(at+1)
	}
	return ""
}

// paidBar is a bill as one bar, with its legend.
func paidBar(s *bill.Split) (whole []segment, legends []legend) {
	x, total := 0.0, s.Total()
	for _, paid := range display.Bills() {
		dollars := paid.Of(s)
		if dollars <= 0 || total <= 0 {
			continue
		}
		width := chartWidth * dollars / total
		text := quantity.Dollars(dollars)
		whole = append(whole, segment{paid.Class, share(x), share(width), paid.Name + " " + text})
		legends = append(legends, legend{paid.Class, paid.Name, text, quantity.Share(dollars / total)})
		x += width
	}
	return whole, legends
}

// byTurn are the dearest turns.
func (d *document) byTurn(c *report.Costs) table {
	first := map[int]int{} // where they begin
	for i, s := range d.c.Report.Strata {
		if _, known := first[s.Turn]; !known {
			first[s.Turn] = i
		}
	}
	turns := slices.Clone(c.ByTurn)
	slices.SortStableFunc(turns, func(a, b report.TurnCost) int { return cmp.Compare(b.Cost, a.Cost) })
	t := table{Title: "Dearest turns", Dear: true, Wide: true, Unit: "requests"}
	for _, one := range turns[:min(len(turns), mostRows)] {
		name, at := "Before the first turn", first[one.Turn]
		if one.Turn > 0 {
			name = "Turn " + quantity.Number(one.Turn)
			if at < len(d.c.Report.Strata) {
				name += ": " + line(d.c.Report.Strata[at].Written, 44)
			}
		}
		t.Rows = append(t.Rows, row{Name: name, Href: "#m" + strconv.Itoa(at+1), Tone: "tone",
			Tokens: quantity.Number(one.Requests), Cost: quantity.Dollars(one.Cost),
			Share: quantity.Share(one.Cost / c.Total),
			Bar:   share(chartWidth * one.Cost / max(turns[0].Cost, 1e-12))})
	}
	return t
}

// barChart is a chart of stacked bars beside each other: pixels high, units of chartWidth across.
type barChart struct {
	Height   int
	Areas    []area
	Grid     []label
	Hits     []hit
	Marks    []label // below a bar: X in percent of the width
	Tick     string  // the class of marks
	Folded   bool    // several things share a bar
	Describe string
}

// stack is one bar.
type stack struct {
	amounts []float64 // by what the classes are
	title   string
	href    string
	mark    string
}

const (
	barsHeight = 180.0
	barsTop    = 1.08 // of the highest bar
)

// barsOf draws stacks. classes are those of their amounts.
func barsOf(classes []string, stacks []stack) barChart {
	b := barChart{Height: int(barsHeight)}
	most := 0.0
	for _, s := range stacks {
		most = max(most, total(s.amounts))
	}
	if most <= 0 {
		return b
	}
	axis := display.NewAxis(0, most, 4)
	y := func(v float64) float64 { return round1(barsHeight - barsHeight*v/(most*barsTop)) }
	for v := axis.Step; v < most*barsTop && len(b.Grid) < 12; v += axis.Step {
		b.Grid = append(b.Grid, label{Y: y(v), Text: quantity.Dollars(v)})
	}
	width := chartWidth / float64(len(stacks))
	paths := make([]strings.Builder, len(classes))
	for i, s := range stacks {
		below, x := 0.0, float64(i)*width
		for k, v := range s.amounts {
			if v <= 0 {
				continue
			}
			fmt.Fprintf(&paths[k], "M%.1f %.1fh%.1fV%.1fh-%.1fz", x+width*0.06, y(below), width*0.88, y(below+v),
				width*0.88)
			below += v
		}
		b.Hits = append(b.Hits, hit{share(x), share(width), s.href, s.title})
		if s.mark != "" {
			b.Marks = append(b.Marks, label{X: share(x + width/2), Text: s.mark})
		}
	}
	for k, class := range classes {
		if paths[k].Len() > 0 {
			b.Areas = append(b.Areas, area{class, paths[k].String()})
		}
	}
	return b
}

func total(amounts []float64) (sum float64) {
	for _, v := range amounts {
		sum += v
	}
	return sum
}

// mostBars is how many bars a chart has; what is more shares them.
const mostBars = 200

// bills draws the bill of each request.
func (d *document) bills(c *report.Costs) barChart {
	paid := display.Bills()
	classes := make([]string, 0, len(paid)+1)
	for _, p := range paid {
		classes = append(classes, p.Class)
	}
	n := len(c.Requests)
	count := min(n, mostBars)
	stacks := make([]stack, 0, count)
	for i := range count {
		from, to := i*n/count, (i+1)*n/count
		stacks = append(stacks, d.billOf(c.Requests[from:to], from, paid))
	}
	chart := barsOf(classes, stacks)
	chart.Folded, chart.Tick = n > count, "bar-mark"
	chart.Describe = "The bill of each of " + quantity.Count(n, "request") + ", oldest first, by what was paid for."
	return chart
}

// billOf is the bar of one request, or of several that share it. first is the number of those
// before.
func (d *document) billOf(requests []report.Request, first int, paid []display.Paid) stack {
	var split bill.Split
	var missed report.MissSum
	for i := range requests {
		split = split.Plus(requests[i].Split)
		if m := requests[i].Miss; m != nil {
			missed.Tokens, missed.Cost, missed.Cause = missed.Tokens+m.Tokens, missed.Cost+m.Cost, m.Cause
			missed.Requests++
		}
	}
	r := &requests[0]
	s := stack{href: d.MessageHref(r.Message)}
	text := "Request " + quantity.Number(first+1)
	if len(requests) > 1 {
		text = "Requests " + quantity.Number(first+1) + " to " + quantity.Number(first+len(requests))
	}
	if r.Turn > 0 {
		text += ", turn " + quantity.Number(r.Turn)
	}
	if r.Kind != string(bill.Step) {
		text += ", for " + line(kindOf(r), 40)
	}
	text += ", " + display.ModelName(line(r.Model, 60)) + ": " + quantity.Dollars(split.Total())
	sep := " — "
	for _, p := range paid {
		dollars := p.Of(&split)
		s.amounts = append(s.amounts, dollars)
		if dollars > 0 {
			text += sep + p.Name + " " + quantity.Dollars(dollars)
			sep = ", "
		}
	}
	if missed.Requests > 0 {
		text += "; missed the cache: " + quantity.Count(missed.Tokens, "token") + ", " +
			display.KnownDollars(missed.Cost) + ", " + display.Cause(missed.Cause)
		s.mark = "▴"
	}
	s.title = text
	return s
}

// kindOf says what a request was for.
func kindOf(r *report.Request) string {
	switch {
	case r.Failed:
		return "nothing: it failed"
	case r.Kind == string(bill.Agent):
		return "a sub-agent"
	case r.Kind == string(bill.Left):
		return "a branch that was left"
	case r.Kind == string(bill.Summary):
		return "a summary"
	}
	return r.Kind
}
