package tui

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/lab"
	"github.com/winnowhq/winnow/look/display"
	"github.com/winnowhq/winnow/text/quantity"
)

// The chart is as wide as the page, up to mostPlot columns, and high enough to be read while
// leaving room on a screen for what is below it.
const (
	mostPlot             = 110
	leastHigh, mostHigh  = 11, 19
	leftOfPlot           = 7 // a tick's text and the axis
	columnsTick, rowTick = 14, 4
	leastTick            = 7 // columns between two ticks
)

// Frontier draws the bill of each policy against its missed steps: the further to the lower left,
// the better. Single policies are letters, the policies of a sweep are marks on a dotted line. The
// stepped line is the frontier, which no policy is below; the dashed line is the bound.
func (p Painter) Frontier(r lab.Report) {
	pg := p.page()
	pg.frontier(&r, true)
	p.draw(pg)
}

// frontier draws the chart. Below the table of policies the keys are left out: the table has them.
func (pg *page) frontier(r *lab.Report, keys bool) {
	policies, sweeps := policiesOf(r)
	c := chartOf(r, policies, sweeps, pg.width)
	if len(c.spots) == 0 {
		return
	}
	pg.heading("Frontier", "the lower and the further left, the better")
	pg.addAll(c.lines("bill, " + Cut(Clean(cmp.Or(r.Baseline, "the first")), 30) + " = 1"))
	pg.gap()
	if keys {
		pg.keys(c.spots, sweeps)
	}
	pg.remarks(c)
	if text := display.Chosen(r); text != "" {
		pg.words(span{}, faint, text, 4)
	}
}

// marked is a policy with its glyph.
type marked struct {
	display.Policy
	glyph rune
	style style
}

// sweepMarks are the glyphs of sweeps; after the last the first is used again.
var sweepMarks = [...]struct {
	glyph rune
	style style
}{{'•', activeTone}, {'◦', summaryTone}, {'▪', prunableTone}, {'▫', prunedTone}, {'▴', talkTone}}

// policiesOf gives every policy its glyph: its letter, or the mark of its sweep.
func policiesOf(r *lab.Report) ([]marked, []string) {
	named, sweeps := display.Policies(r)
	out := make([]marked, len(named))
	for i, p := range named {
		p.Name, p.Key = Clean(p.Name), Clean(p.Key)
		switch {
		case p.Sweep >= 0:
			mark := sweepMarks[p.Sweep%len(sweepMarks)]
			out[i] = marked{p, mark.glyph, mark.style}
		case p.On:
			out[i] = marked{p, []rune(p.Key)[0], strong}
		default:
			out[i] = marked{p, []rune(p.Key)[0], normal}
		}
	}
	return out, sweeps
}

// spot is a policy in the picture.
type spot struct {
	display.Spot
	marked
	drawn    bool
	col, row int
}

// where says the figures of a spot.
func (s spot) where() string { return display.Ratio(s.Ratio) + " at " + display.Rate(s.Rate) }

// chart is the picture without its legend.
type chart struct {
	display.Frontier
	on    *canvas
	spots []spot
}

func chartOf(r *lab.Report, policies []marked, sweeps []string, width int) chart {
	cells := min(mostPlot, width-leftOfPlot-1)
	high := min(mostHigh, max(leastHigh, cells*2/7))
	named := make([]display.Policy, len(policies))
	for i, p := range policies {
		named[i] = p.Policy
	}
	c := chart{on: newCanvas(cells, high)}
	c.Frontier = display.FrontierOf(r, named, max(2, cells/columnsTick), max(2, high/rowTick))
	for _, s := range c.Spots {
		c.spots = append(c.spots, spot{Spot: s, marked: policies[s.Policy], col: c.col(s.Rate), row: c.row(s.Ratio)})
	}
	c.place()
	c.label()
	c.steps()
	for k := range sweeps {
		c.sweep(k)
	}
	if c.Bound > 0 {
		c.on.line(-1, c.row(c.Bound), cells, c.row(c.Bound), '╌', faint)
	}
	return c
}

// col and row are the cell of a value.
func (c *chart) col(v float64) int { return int(math.Round(c.Across.At(v) * float64(c.on.width-1))) }
func (c *chart) row(v float64) int {
	return c.on.height - 1 - int(math.Round(c.Up.At(v)*float64(c.on.height-1)))
}

// offsets are where a letter may go if its own cell is taken, the nearest first.
var offsets = [...][2]int{
	{0, 0}, {1, 0}, {-1, 0}, {2, 0}, {-2, 0}, {0, -1}, {0, 1}, {1, -1}, {1, 1}, {-1, -1}, {-1, 1}, {3, 0}, {-3, 0},
	{2, -1}, {2, 1},
}

// place puts letters first, each in a cell of its own, then the marks of sweeps where no letter is.
func (c *chart) place() {
	for _, alone := range []bool{true, false} {
		for i := range c.spots {
			s := &c.spots[i]
			if (s.Sweep < 0) != alone {
				continue
			}
			tries := offsets[:]
			if !alone {
				tries = tries[:1]
			}
			for _, o := range tries {
				if c.on.put(s.col+o[0], s.row+o[1], s.glyph, s.style) {
					s.col, s.row, s.drawn = s.col+o[0], s.row+o[1], true
					break
				}
			}
			switch {
			case !s.drawn || !s.Beyond:
			case s.Rate <= c.Across.High:
				c.on.put(s.col, s.row+1, '^', faint)
			case !c.on.put(s.col-1, s.row, '»', faint):
				c.on.put(s.col+1, s.row, '»', faint)
			}
		}
	}
}

// label names the bound, and the members of sweeps by their keys, the ends first.
func (c *chart) label() {
	if c.Bound > 0 {
		text, y := "bound "+display.Ratio(c.Bound), c.row(c.Bound)
		right := c.on.width - len(text)
		if !c.on.write(right, y, -1, text, faint) && !c.on.write(1, y, -1, text, faint) {
			c.on.write(right, y-1, -1, text, faint)
		}
	}
	first, last := map[int]int{}, map[int]int{}
	for i, s := range c.spots {
		if _, ok := first[s.Sweep]; !ok {
			first[s.Sweep] = i
		}
		last[s.Sweep] = i
	}
	for _, ends := range []bool{true, false} {
		for i, s := range c.spots {
			n := Columns(s.Key)
			if s.Sweep < 0 || !s.drawn || n > 10 || (i == first[s.Sweep] || i == last[s.Sweep]) != ends {
				continue
			}
			for _, at := range [][2]int{{s.col + 1, s.row}, {s.col - n, s.row}, {s.col + 1, s.row - 1},
				{s.col - n, s.row + 1}} {
				if c.on.write(at[0], at[1], s.col, s.Key, s.style) {
					break
				}
			}
		}
	}
}

// steps draws the frontier.
func (c *chart) steps() {
	for i := 1; i < len(c.Steps); i++ {
		from, to := c.spots[c.Steps[i-1]], c.spots[c.Steps[i]]
		c.on.line(from.col, from.row, to.col, from.row, '─', fine)
		if to.row != from.row {
			c.on.put(to.col, from.row, '┐', fine)
		}
		c.on.line(to.col, from.row, to.col, to.row, '│', fine)
	}
}

// sweep connects the members of a sweep.
func (c *chart) sweep(k int) {
	var last *spot
	for i := range c.spots {
		if s := &c.spots[i]; s.Sweep == k {
			if last != nil {
				c.on.line(last.col, last.row, s.col, s.row, '·', s.style)
			}
			last = s
		}
	}
}

// lines are the picture with its axes.
func (c *chart) lines(title string) []line {
	ticks := map[int]string{}
	for _, v := range c.Up.Ticks(0) {
		ticks[c.row(v)] = c.Up.Text(v)
	}
	out := []line{{say(faint, "  "+title)}}
	for y := range c.on.height {
		edge := "│"
		if ticks[y] != "" {
			edge = "┤"
		}
		l := line{say(faint, padLeft(Cut(ticks[y], leftOfPlot-2), leftOfPlot-2)+" "+edge)}
		out = append(out, append(l, c.on.row(y)...))
	}
	rule, below := []rune("└"+strings.Repeat("─", c.on.width)), newCanvas(c.on.width+leftOfPlot+1, 1)
	for _, v := range c.Across.Ticks(leastTick / float64(c.on.width-1)) {
		at, text := c.col(v), c.Across.Text(v)
		rule[at+1] = '┬'
		below.write(min(leftOfPlot+at-(len(text)-1)/2, below.width-len(text)), 0, -1, text, faint)
	}
	return append(out, line{say(faint, strings.Repeat(" ", leftOfPlot-1)+string(rule))}, below.row(0),
		line{say(faint, padLeft(c.Name(), leftOfPlot+c.on.width))})
}

// keys say which letter is which policy, and where it is in the picture.
func (pg *page) keys(spots []spot, sweeps []string) {
	lone := slices.DeleteFunc(slices.Clone(spots), func(s spot) bool { return s.Sweep >= 0 })
	widest := 0
	for _, s := range lone {
		widest = max(widest, Columns(s.Name))
	}
	each := min(pg.width, 22+widest)
	across := max(1, min(3, (pg.width+2)/(each+2)))
	if len(lone) < 2*across {
		across = max(1, len(lone)/2)
	}
	each = min(each, (pg.width+2)/across-2)
	rows := (len(lone) + across - 1) / across
	for y := range rows {
		var l line
		for i := y; i < len(lone); i += rows {
			l = append(l.pad(i/rows*(each+2)), lone[i].key(each)...)
		}
		pg.add(l...)
	}
	for k, name := range sweeps {
		mark := sweepMarks[k%len(sweepMarks)]
		var members []string
		for _, s := range spots {
			if s.Sweep == k {
				members = append(members, strings.TrimSpace(s.sign())+s.Key+" "+s.where()+",")
			}
		}
		if len(members) == 0 {
			continue
		}
		pg.add(say(mark.style, "  "+string(mark.glyph)+" "), span{text: Cut(Clean(name), pg.width-4)})
		members[len(members)-1] = strings.TrimSuffix(members[len(members)-1], ",")
		pg.flow(span{text: "    "}, normal, members, mostSweepRows)
	}
}

// mostSweepRows is how many lines list a sweep's members; the table has all of them.
const mostSweepRows = 6

// key is one entry: sign of the frontier, letter, bill, missed steps, name.
func (s spot) key(width int) line {
	l := line{say(fine, s.sign()), say(s.style, string(s.glyph)),
		span{text: " " + padLeft(display.Ratio(s.Ratio), 6) + " " + padLeft(display.Rate(s.Rate), 5) + "  "}}
	return append(l, say(s.style, Cut(s.Name, max(1, width-l.columns()))))
}

// sign marks the policies on the frontier.
func (p marked) sign() string {
	if p.On {
		return "◆ "
	}
	return "  "
}

// remarks say how to read the picture, and what is not in it.
func (pg *page) remarks(c chart) {
	pg.words(say(fine, "◆ "), faint, "on the stepped line: no other is as cheap with as few missed steps", 2)
	if c.Bound > 0 {
		pg.words(say(faint, "╌ "), faint,
			"the bound, "+display.Ratio(c.Bound)+": the cheapest bill with knowledge of the future, without a miss",
			2)
	}
	for _, s := range c.spots {
		name := s.Name
		if s.Sweep < 0 {
			name = string(s.glyph) + " " + name
		}
		switch {
		case s.Beyond:
			pg.words(say(faint, "» "), faint, name+" is beyond the picture: "+s.where()+" missed steps in 100", 2)
		case !s.drawn && s.Sweep < 0:
			pg.words(say(faint, "= "), faint, name+" has no room of its own: it is where others are", 2)
		}
	}
}

// changes lists the sessions that would gain and lose most.
func (pg *page) changes(r *lab.Report) {
	for _, list := range display.ChangesOf(r) {
		pg.heading(list.Title, list.Under)
		tone := alarm
		if list.Good {
			tone = fine
		}
		var widths [3]int
		for _, c := range list.Rows {
			for k, text := range []string{c.Change, c.Before, c.After} {
				widths[k] = max(widths[k], Columns(text))
			}
		}
		for _, c := range list.Rows {
			l := line{say(tone, "  "+padLeft(c.Change, widths[0])),
				say(faint, "  "+padLeft(c.Before, widths[1])+" → "),
				say(normal, padLeft(c.After, widths[2])+"  ")}
			indent := l.columns()
			name := cmp.Or(c.Name, c.Session[strings.LastIndexByte(c.Session, '/')+1:])
			pg.add(append(l, span{text: CutFront(Clean(name), max(8, pg.width-indent))})...)
			pg.words(span{text: strings.Repeat(" ", indent)}, faint, c.Why, 2)
		}
	}
}

// skipped says which files were left out.
func (pg *page) skipped(r *lab.Report) {
	if len(r.Skipped) == 0 {
		return
	}
	pg.heading("Not replayed", quantity.Count(len(r.Skipped), "file"))
	for _, s := range r.Skipped[:min(len(r.Skipped), mostNotes)] {
		name := CutFront(Clean(s.Path[strings.LastIndexByte(s.Path, '/')+1:]), pg.width/2)
		pg.words(span{text: "  " + name + "  "}, faint, s.Why, 2)
	}
	pg.more("  ", len(r.Skipped)-mostNotes)
}
