package tui

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/plot"
	"github.com/winnowhq/winnow/quantity"
	"github.com/winnowhq/winnow/replay"
)

// The chart takes the width of the page up to mostPlot columns, and no more rows than leave room on a screen for what stands below it.
const (
	mostPlot             = 110
	leastHigh, mostHigh  = 11, 19
	leftOfPlot           = 7 // a tick's text and the axis
	columnsTick, rowTick = 14, 4
)

// Frontier draws the bill of each policy against its regrets: the further to the lower left, the better. Policies by themselves are letters, those
// of a sweep marks on a dotted line; the stepped line is the frontier, below which none of them comes, and the dashed one the bound.
func (p Painter) Frontier(r replay.Report) {
	pg := p.page()
	pg.frontier(r, true)
	p.draw(pg)
}

// frontier draws the chart; keys are left out below the table, which has them.
func (pg *page) frontier(r replay.Report, keys bool) {
	all, sweeps := spots(r.Policies)
	known := slices.DeleteFunc(slices.Clone(all), func(s spot) bool { return !finite(s.x) || !finite(s.y) || s.y <= 0 })
	if len(known) == 0 {
		return
	}
	pg.heading("Frontier", "the lower and the further left, the better")
	least := r.Least()
	c := chartOf(known, sweeps, least, pg.width)
	pg.addAll(c.lines("bill, " + Cut(Clean(cmp.Or(r.Baseline, "the first")), 30) + " = 1"))
	pg.gap()
	names := namesOf(r.Policies)
	if keys {
		pg.keys(names, known, sweeps)
	}
	pg.remarks(c.spots, names, least)
}

// finite says that a figure can be drawn.
func finite(v float64) bool { return v >= 0 && v < 1e9 }

// chart is the picture without its legend.
type chart struct {
	x, y  axis
	on    *canvas
	spots []spot
}

func chartOf(known []spot, sweeps []string, least float64, width int) chart {
	var xs, ys []float64
	low := math.Inf(1)
	for _, s := range known {
		xs, ys = append(xs, s.x), append(ys, s.y)
		low = min(low, s.y)
	}
	right, top := plot.End(xs, 0), plot.End(ys, low)
	if right <= 0 {
		right = 1
	}
	if least > 0 && finite(least) {
		low, top = min(low, least), max(top, least)
	}
	cells := min(mostPlot, width-leftOfPlot-1)
	high := min(mostHigh, max(leastHigh, cells*2/7))
	c := chart{on: newCanvas(cells, high)}
	c.x = axis{plot.NewAxis(0, right, max(2, cells/columnsTick)), cells}
	c.x.Root = plot.Crowded(xs, right)
	c.y = axis{plot.NewAxis(low, top, max(2, high/rowTick)), high}
	c.place(known, right, top)
	c.label(least)
	c.frontier()
	for k := range sweeps {
		c.sweep(k)
	}
	if y, ok := c.bound(least); ok {
		c.on.line(-1, y, cells, y, '╌', faint)
	}
	return c
}

// offsets are where a letter may stand whose own cell is taken, nearest first. Further away it would lie.
var offsets = [...][2]int{{0, 0}, {1, 0}, {-1, 0}, {2, 0}, {-2, 0}, {0, -1}, {0, 1}, {1, -1}, {1, 1}, {-1, -1}, {-1, 1}, {3, 0}, {-3, 0}, {2, -1}, {2, 1}}

// place puts letters first, each in a cell of its own, then the marks of sweeps where no letter stands.
func (c *chart) place(known []spot, right, top float64) {
	c.spots = known
	for _, alone := range []bool{true, false} {
		for i := range c.spots {
			s := &c.spots[i]
			if (s.sweep < 0) != alone {
				continue
			}
			s.col, s.row = c.x.at(s.x), c.on.height-1-c.y.at(s.y)
			s.beyond = s.x > right || s.y > top
			tries := offsets[:]
			if !alone {
				tries = tries[:1]
			}
			for _, o := range tries {
				x, y := s.col+o[0], s.row+o[1]
				if c.on.put(x, y, s.glyph, s.style()) {
					s.col, s.row, s.drawn = x, y, true
					break
				}
			}
			if s.drawn && s.x > right && !c.on.put(s.col-1, s.row, '»', faint) {
				c.on.put(s.col+1, s.row, '»', faint)
			}
			if s.drawn && s.x <= right && s.y > top {
				c.on.put(s.col, s.row+1, '^', faint)
			}
		}
	}
}

func (s spot) style() style {
	switch {
	case s.sweep >= 0:
		return sweepMarks[s.sweep%len(sweepMarks)].style
	case s.on:
		return strong
	}
	return normal
}

// label names the members of sweeps by what they have of their own, the ends first, and the bound.
func (c *chart) label(least float64) {
	if y, ok := c.bound(least); ok {
		text := "bound " + ratio(least)
		if n := len(text); !c.on.write(c.on.width-n, y, -1, text, faint) && !c.on.write(1, y, -1, text, faint) {
			c.on.write(c.on.width-n, y-1, -1, text, faint)
		}
	}
	ends := map[int][2]int{}
	for i, s := range c.spots {
		if e, ok := ends[s.sweep]; ok {
			ends[s.sweep] = [2]int{e[0], i}
		} else {
			ends[s.sweep] = [2]int{i, i}
		}
	}
	for _, first := range []bool{true, false} {
		for i := range c.spots {
			s := &c.spots[i]
			e := ends[s.sweep]
			if s.sweep < 0 || !s.drawn || (i == e[0] || i == e[1]) != first || Columns(s.value) > 10 {
				continue
			}
			n := Columns(s.value)
			for _, at := range [][2]int{{s.col + 1, s.row}, {s.col - n, s.row}, {s.col + 1, s.row - 1}, {s.col - n, s.row + 1}} {
				if c.on.write(at[0], at[1], s.col, s.value, s.style()) {
					break
				}
			}
		}
	}
}

// frontier draws the steps between the policies that stand on it.
func (c *chart) frontier() {
	var on []spot
	for _, s := range c.spots {
		if s.on && !s.beyond {
			on = append(on, s)
		}
	}
	slices.SortFunc(on, func(a, b spot) int { return cmp.Or(cmp.Compare(a.x, b.x), cmp.Compare(b.y, a.y)) })
	for i := 1; i < len(on); i++ {
		from, to := on[i-1], on[i]
		c.on.line(from.col, from.row, to.col, from.row, '─', fine)
		if to.row != from.row {
			c.on.put(to.col, from.row, '┐', fine)
		}
		c.on.line(to.col, from.row, to.col, to.row, '│', fine)
	}
}

// sweep connects the members of one.
func (c *chart) sweep(k int) {
	last := -1
	for i, s := range c.spots {
		if s.sweep != k {
			continue
		}
		if last >= 0 {
			from := c.spots[last]
			c.on.line(from.col, from.row, s.col, s.row, '·', s.style())
		}
		last = i
	}
}

func (c *chart) bound(least float64) (row int, ok bool) {
	if !(least > 0) || !finite(least) {
		return 0, false
	}
	return c.on.height - 1 - c.y.at(least), true
}

// lines are the picture with its axes.
func (c *chart) lines(title string) []line {
	ticks := map[int]string{}
	for _, v := range c.y.ticks() {
		ticks[c.on.height-1-c.y.at(v)] = c.y.Text(v)
	}
	out := []line{{say(faint, strings.Repeat(" ", 2)+title)}}
	for y := range c.on.height {
		l := line{say(faint, padLeft(Cut(ticks[y], leftOfPlot-2), leftOfPlot-2)+" ")}
		edge := "│"
		if ticks[y] != "" {
			edge = "┤"
		}
		out = append(out, append(append(l, say(faint, edge)), c.on.row(y)...))
	}
	rule, below := []rune("└"+strings.Repeat("─", c.on.width)), newCanvas(c.on.width+leftOfPlot+1, 1)
	for _, v := range c.x.ticks() {
		at := c.x.at(v)
		rule[at+1] = '┬'
		text := c.x.Text(v)
		below.write(min(leftOfPlot+at-(len(text)-1)/2, below.width-len(text)), 0, -1, text, faint)
	}
	out = append(out, line{say(faint, strings.Repeat(" ", leftOfPlot-1)+string(rule))}, below.row(0))
	name := "regrets in 100 steps"
	if c.x.Root {
		name += ", closer together to the right"
	}
	return append(out, line{say(faint, padLeft(name, leftOfPlot+c.on.width))})
}

// keys say which letter is which policy, and where it stands.
func (pg *page) keys(names []string, known []spot, sweeps []string) {
	lone := slices.DeleteFunc(slices.Clone(known), func(s spot) bool { return s.sweep >= 0 })
	widest := 0
	for _, s := range lone {
		widest = max(widest, Columns(names[s.policy]))
	}
	each := min(pg.width, 22+widest)
	across := max(1, min(3, (pg.width+2)/(each+2)))
	if across > 1 && len(lone) < 2*across {
		across = max(1, len(lone)/2)
	}
	each = min(each, (pg.width+2)/across-2)
	rows := (len(lone) + across - 1) / across
	for y := range rows {
		var l line
		for x := range across {
			if i := x*rows + y; i < len(lone) {
				l = append(l.pad(x*(each+2)), lone[i].key(names[lone[i].policy], each)...)
			}
		}
		pg.addAll([]line{l})
	}
	for k, name := range sweeps {
		mark := sweepMarks[k%len(sweepMarks)]
		var members []string
		for _, s := range known {
			if s.sweep == k {
				members = append(members, sign(s.on)+s.value+" "+ratio(s.y)+" at "+rate(s.x))
			}
		}
		pg.add(say(mark.style, "  "+string(mark.glyph)+" "), span{text: Cut(Clean(name), pg.width-4)})
		pg.flow("    ", members, mostSweepRows)
	}
}

// key is one entry: sign of the frontier, letter, bill, regrets, name.
func (s spot) key(name string, width int) line {
	head := "  "
	if s.on {
		head = "◆ "
	}
	l := line{say(fine, head), say(s.style(), string(s.glyph)), span{text: " " + padLeft(ratio(s.y), 6) + " " + padLeft(rate(s.x), 5) + "  "}}
	return append(l, say(s.style(), Cut(name, max(1, width-l.columns()))))
}

// mostSweepRows of a sweep's members are listed; the table has all of them.
const mostSweepRows = 6

// flow writes pieces one after the other, and breaks lines between them alone.
func (pg *page) flow(indent string, pieces []string, most int) {
	at, rows := indent, 0
	for i, piece := range pieces {
		if i < len(pieces)-1 {
			piece += ", "
		}
		if at != indent && Columns(at)+Columns(strings.TrimRight(piece, " ")) > pg.width {
			pg.add(span{text: strings.TrimRight(at, " ")})
			if rows++; rows == most {
				return
			}
			at = indent
		}
		at += piece
	}
	pg.add(span{text: at})
}

func sign(on bool) string {
	if on {
		return "◆"
	}
	return ""
}

// remarks say how the picture is to be read, and what is not in it.
func (pg *page) remarks(known []spot, names []string, least float64) {
	pg.words(say(fine, "◆ "), faint, "on the stepped line: no other is as cheap with as few regrets", 2)
	if least > 0 {
		pg.words(say(faint, "╌ "), faint, "the bound, "+ratio(least)+": the cheapest bill with knowledge of the future, without a regret", 2)
	}
	for _, s := range known {
		name := string(s.glyph) + " " + names[s.policy]
		if s.sweep >= 0 {
			name = names[s.policy]
		}
		switch {
		case s.beyond:
			pg.words(say(faint, "» "), faint, name+" is beyond the picture: "+ratio(s.y)+" at "+rate(s.x)+" regrets in 100 steps", 2)
		case !s.drawn && s.sweep < 0:
			pg.words(say(faint, "= "), faint, name+" has no room of its own: it stands where others do", 2)
		}
	}
}

// namesOf are the policies' names; those of equal name say which window they have.
func namesOf(policies []replay.Standing) []string {
	times := map[string]int{}
	for i := range policies {
		times[policies[i].Name]++
	}
	out := make([]string, len(policies))
	for i, s := range policies {
		out[i] = Clean(cmp.Or(s.Name, "no name"))
		if times[s.Name] > 1 {
			out[i] += ", " + windowOf(s.Window)
		}
	}
	return out
}

func windowOf(tokens int) string {
	switch {
	case tokens == replay.Unlimited:
		return "no limit"
	case tokens <= 0:
		return "the model's window"
	}
	return quantity.Number(tokens) + " tokens"
}

// ratio and rate are figures as the chart and the table have them.
func ratio(v float64) string { return quantity.Decimal(v, 3) }
func rate(v float64) string  { return quantity.Decimal(v, 1) }
