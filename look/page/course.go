package page

import (
	"cmp"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/winnowhq/winnow/lab"
	"github.com/winnowhq/winnow/look/display"
	"github.com/winnowhq/winnow/text/quantity"
)

// course is one session under each policy, over its steps: what it had cost so far, the prompts,
// and what happened.
type course struct {
	Name, Where string
	Steps       int
	Cost, Size  curves
	Ticks       []label // steps
	Lanes       []lane
	Describe    string
}

// curves are lines on one scale. They are drawn in a square of a thousand units that the style
// stretches to the page.
type curves struct {
	Height int     // pixels
	Top    float64 // the value at the upper edge
	Grid   []label
	Lines  []curveLine
	Ends   []end
}

type curveLine struct {
	At     int
	Tone   string
	Hidden bool
	Path   string
}

// end is the letter at the end of a line.
type end struct {
	At     int
	Tone   string
	Hidden bool
	Y      float64
	Text   string
}

// lane is what happened under one policy.
type lane struct {
	trait
	Sum    string // bill, misses, commits, folds
	Marks  template.HTML
	Events template.HTML // rows of a table
	More   string
}

// eventMark and the rows of events are written without the template: there are tens of thousands of
// them.
type eventMark struct{ symbol, x, title string }

// marks are the symbols of what happens, the loudest last: it is drawn above the others.
var marks = []struct {
	kind            lab.EventKind
	symbol, meaning string
	middle          int // of the symbol, in pixels below its line
}{
	{lab.Idle, "m-idle", "the cache had gone cold", 0},
	{lab.Committed, "m-commit", "a pruning was committed", 0},
	{lab.Stuck, "m-stuck", "a fold was due and would not have helped", 0},
	{lab.Folded, "m-fold", "the past was folded into a summary", -6},
	{lab.Regretted, "m-regret", "what was left out was needed again", 5},
}

const (
	costHeight, sizeHeight = 260, 130
	square                 = 1000.0 // units of a curve's drawing, both ways
)

func (d *replayDocument) courseOf(at int) course {
	s := &d.r.Sessions[at]
	c := course{Name: line(cmp.Or(s.Name, s.ID), 120)}
	var where []string
	for _, text := range []string{s.Product, s.Model} {
		if text != "" {
			where = append(where, line(text, 60))
		}
	}
	where = append(where, quantity.Count(s.Steps, "step"), quantity.Count(s.Tokens, "token"))
	if s.Bound > 0 && display.Drawable(s.Bound) {
		where = append(where, "bound "+quantity.Bill(s.Bound, d.r.Relative))
	}
	c.Where = strings.Join(where, " · ")
	outcomes := s.Outcomes[:min(len(s.Outcomes), len(d.traits))]
	cost, size := 0.0, 0.0
	for i := range outcomes {
		c.Steps = max(c.Steps, len(outcomes[i].Curve), len(outcomes[i].Sizes))
		for _, v := range outcomes[i].Curve {
			if display.Drawable(v) {
				cost = max(cost, v)
			}
		}
		for _, n := range outcomes[i].Sizes {
			size = max(size, float64(n))
		}
	}
	c.Cost = curvesOf(costHeight, cost,
		func(v float64) string { return strings.Replace(quantity.Bill(v, d.r.Relative), ".00", "", 1) })
	c.Size = curvesOf(sizeHeight, min(size, 1e8), func(v float64) string { return quantity.Short(int(math.Round(v))) })
	for i := range outcomes {
		o := &outcomes[i]
		d.line(&c.Cost, i, o.Curve)
		sizes := make([]float64, len(o.Sizes))
		for k, n := range o.Sizes {
			sizes[k] = float64(n)
		}
		d.line(&c.Size, i, sizes)
		c.Lanes = append(c.Lanes, d.laneOf(s, o, i, c.Steps))
	}
	spread(c.Cost.Ends, costHeight)
	c.Size.Ends = nil
	if c.Steps > 1 {
		axis := display.NewAxis(0, float64(c.Steps), 6)
		for _, v := range axis.Ticks(0) {
			k := max(0, int(v)-1)
			if v > float64(c.Steps) || v != math.Trunc(v) {
				continue
			}
			one := label{X: share(stepAt(k, c.Steps)), Text: quantity.Number(k + 1), Anchor: "middle"}
			switch {
			case k == 0:
				one.Text, one.Anchor = "step 1", "start"
			case k > c.Steps*19/20:
				one.Anchor = "end"
			}
			c.Ticks = append(c.Ticks, one)
		}
	}
	c.Describe = "The bill over " + quantity.Count(c.Steps, "step") + " under each policy"
	return c
}

// stepAt is where a step is across the chart.
func stepAt(k, steps int) float64 {
	return square * float64(min(max(0, k), steps-1)) / float64(max(1, steps-1))
}

func curvesOf(height int, most float64, text func(float64) string) curves {
	c := curves{Height: height}
	if most <= 0 {
		most = 1
	}
	step := display.NewAxis(0, most, max(4, height/40)).Step
	c.Top = most * 1.04
	for v := step; v < c.Top && len(c.Grid) < 20; v += step {
		c.Grid = append(c.Grid, label{Y: round1(float64(height) * (1 - v/c.Top)), Text: text(v)})
	}
	return c
}

func round1(v float64) float64 { return math.Round(10*v) / 10 }

// line draws values over the steps, thinned to the points that the page has room for.
func (d *replayDocument) line(c *curves, policy int, values []float64) {
	if len(values) == 0 {
		return
	}
	x, last := d.traits[policy], 0.0
	var b strings.Builder
	px, py := 0, 0
	for i, k := range thinned(values, d.points) {
		v := values[k]
		if !display.Drawable(v) {
			v = last
		}
		last = v
		nx, ny := int(math.Round(stepAt(k, len(values)))), int(math.Round(square*(1-v/c.Top)))
		switch i {
		case 0:
			b.WriteString("M" + strconv.Itoa(nx) + " " + strconv.Itoa(ny) + "l")
		default:
			if i > 1 && nx-px >= 0 {
				b.WriteByte(' ')
			}
			b.WriteString(strconv.Itoa(nx - px))
			if ny-py >= 0 {
				b.WriteByte(' ')
			}
			b.WriteString(strconv.Itoa(ny - py))
		}
		px, py = nx, ny
	}
	if len(values) == 1 {
		b.WriteString(strconv.Itoa(int(square)) + " 0")
	}
	c.Lines = append(c.Lines, curveLine{policy, x.Tone, x.Hidden, b.String()})
	c.Ends = append(c.Ends, end{policy, x.Tone, x.Hidden, float64(c.Height) * float64(py) / square, x.Key})
}

// thinned are the positions that are drawn, at most that many: of each stretch its largest value
// and its last, so that neither a peak nor a fall is lost; the first and the last of all always.
func thinned(values []float64, most int) []int {
	n := len(values)
	out := make([]int, 0, min(n, most))
	if n <= most {
		for k := range n {
			out = append(out, k)
		}
		return out
	}
	stretches := max(1, (most-1)/2)
	out = append(out, 0)
	for i := range stretches {
		from, to := 1+i*(n-1)/stretches, 1+(i+1)*(n-1)/stretches
		if from == to {
			continue
		}
		peak := from
		for k := from; k < to; k++ {
			if values[k] > values[peak] {
				peak = k
			}
		}
		if peak != to-1 {
			out = append(out, peak)
		}
		out = append(out, to-1)
	}
	return out
}

// leastApart is how many pixels lie between two letters at the ends of lines.
const leastApart = 13.0

// spread pushes letters apart that would overlap, and keeps them in the picture. Those
// of lines that are hidden at first stay where they are.
func spread(ends []end, height float64) {
	var shown []*end
	for i := range ends {
		if !ends[i].Hidden {
			shown = append(shown, &ends[i])
		}
	}
	slices.SortStableFunc(shown, func(a, b *end) int { return cmp.Compare(a.Y, b.Y) })
	for i := 1; i < len(shown); i++ {
		shown[i].Y = max(shown[i].Y, shown[i-1].Y+leastApart)
	}
	limit := height
	for i := len(shown) - 1; i >= 0; i-- {
		shown[i].Y = min(shown[i].Y, limit)
		limit = shown[i].Y - leastApart
	}
	for i := range ends {
		ends[i].Y = round1(ends[i].Y + 4)
	}
}

// laneOf is what happened to a session under a policy. Marks of one kind that would overlap are
// one.
func (d *replayDocument) laneOf(s *lab.Recorded, o *lab.Outcome, policy, steps int) lane {
	l := lane{trait: d.traits[policy]}
	sum := []string{quantity.Bill(o.Bill.Total(), d.r.Relative)}
	if d.Base < len(s.Outcomes) && policy != d.Base {
		sum = append(sum, quantity.Signed(o.Bill.Total()/s.Outcomes[d.Base].Bill.Total()-1))
	}
	for _, one := range []struct {
		n    int
		name string
	}{{o.Commits, "commit"}, {o.Folds, "fold"}, {o.Regrets, "miss"}} {
		if one.n > 0 {
			sum = append(sum, quantity.Count(one.n, one.name))
		}
	}
	l.Sum = strings.Join(sum, ", ")
	var all []eventMark
	for _, m := range marks {
		n, from := 0, 0
		for i, e := range o.Events {
			if e.Kind != m.kind {
				continue
			}
			x := stepAt(e.Step, steps)
			if n > 0 && x-stepAt(from, steps) < 5 {
				n++
				all[len(all)-1].title = quantity.Count(n, "time") + ": " + m.meaning + ", steps " +
					quantity.Number(from+1) + " to " + quantity.Number(e.Step+1)
				continue
			}
			n, from = 1, e.Step
			all = append(all, eventMark{m.symbol, share(x), "step " + quantity.Number(e.Step+1) + ": " +
				d.happened(&o.Events[i])})
		}
	}
	var b strings.Builder
	for _, m := range all {
		b.WriteString(`<use class="mark-of ` + m.symbol + `" href="#` + m.symbol + `" x="` + m.x + `" y="12"><title>` +
			template.HTMLEscapeString(m.title) + `</title></use>`)
	}
	l.Marks = template.HTML(b.String())
	b.Reset()
	kept := o.Events
	if len(kept) > d.rows {
		kept = loudest(kept, d.rows)
		l.More = quantity.Number(len(o.Events)-len(kept)) + " smaller ones are not listed."
	}
	for i := range kept {
		d.eventRow(&b, s.ID, &kept[i])
	}
	l.Events = template.HTML(b.String())
	return l
}

// loudest are the events that changed most, in their order.
func loudest(events []lab.Event, most int) []lab.Event {
	order := make([]int, len(events))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := &events[a], &events[b]
		return cmp.Compare(max(y.Tokens, y.Rewritten), max(x.Tokens, x.Rewritten))
	})
	order = order[:most]
	slices.Sort(order)
	out := make([]lab.Event, most)
	for i, at := range order {
		out[i] = events[at]
	}
	return out
}

// happened says in a few words what an event is.
func (d *replayDocument) happened(e *lab.Event) string {
	switch e.Kind {
	case lab.Committed:
		return quantity.Count(e.N, "part") + " left out"
	case lab.Folded:
		return "folded"
	case lab.Regretted:
		return quantity.Count(max(1, e.N), "miss")
	case lab.Idle:
		return "the cache was cold"
	case lab.Stuck:
		return "a fold would not have helped"
	}
	return line(string(e.Kind), 30)
}

// mostParts of an event are named.
const mostParts = 3

// eventRow writes a row: step, what, tokens, rewritten, cost, parts.
func (d *replayDocument) eventRow(b *strings.Builder, session string, e *lab.Event) {
	number := func(text string) { b.WriteString(`<td class="n">` + text) }
	b.WriteString("<tr>")
	number(quantity.Number(e.Step + 1))
	b.WriteString("<td>" + template.HTMLEscapeString(d.happened(e)))
	switch {
	case e.Tokens <= 0:
		number("")
	case e.Kind == lab.Regretted:
		number(quantity.Number(e.Tokens))
	default:
		number("−" + quantity.Number(e.Tokens))
	}
	if e.Rewritten > 0 {
		number(quantity.Number(e.Rewritten))
	} else {
		number("")
	}
	if e.Cost > 0 {
		number(quantity.Bill(e.Cost, d.r.Relative))
	} else {
		number("")
	}
	names := make([]string, 0, mostParts)
	for _, p := range e.Parts[:min(len(e.Parts), mostParts)] {
		if d.details.Part != nil {
			p = cmp.Or(d.details.Part(session, p), p)
		}
		names = append(names, line(p, 60))
	}
	b.WriteString("<td>" + template.HTMLEscapeString(strings.Join(names, ", ")))
	if n := len(e.Parts) - mostParts; n > 0 {
		b.WriteString(" and " + quantity.Number(n) + " more")
	}
}
