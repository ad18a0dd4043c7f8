package page

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/winnowhq/winnow/look/display"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/quantity"
)

// The timeline is drawn in units that the style stretches to the width of the page: chartWidth
// units across, chartHeight pixels high.
const (
	chartWidth  = 1000.0
	chartHeight = 260.0
	mostColumns = 240
	nowShare    = 0.03 // of the width, for what is now
	labelHeight = 17.0 // a layer that is thinner is named in the legend alone
	letterWidth = 9.0  // about a letter of a name, where the chart is as wide as a tablet
)

// chart is the timeline, ready to be drawn.
type chart struct {
	Height, Foot int // pixels; of the strata, and with what is below them
	Areas        []area
	Labels       []label
	Grid         []label
	Usable       *label
	UsableAbove  string // the usable window, when it is far above everything
	Faults       []label
	Turns        []label
	Hits         []hit
	Legend       []legend
	Folded       bool // several messages share a column
	Describe     string
}

type area struct{ Class, Path string }

// label is a text at a place: X in percent of the width, Y in pixels.
type label struct {
	X      string
	Y      float64
	Text   string
	Title  string
	Href   string
	Anchor string
}

// hit is the column of one message, or of several.
type hit struct{ X, Width, Href, Title string }

// legend is one layer with what it takes now.
type legend struct {
	Class, Name, Now, Share string
}

// column is what is drawn for one or several messages.
type column struct {
	from, to int // messages, to exclusive; the last column has none: it is now
	x, width float64
	display.Moment
}

// historyOf is the history of the window, with names of tools fit to be read.
func historyOf(c *Content) display.History {
	h := display.HistoryOf(c.Session.Messages, c.State.Undone, &c.Report, c.Parts)
	for i := range h.Layers {
		h.Layers[i].Name = line(h.Layers[i].Name, 60)
	}
	return h
}

func columnsOf(s display.History) []column {
	n := len(s.Moments)
	count := min(n, mostColumns-1)
	width := chartWidth / float64(count+1)
	now := max(width, chartWidth*nowShare)
	if count > 0 {
		width = (chartWidth - now) / float64(count)
	}
	out := make([]column, 0, count+1)
	for i := range count {
		c := column{from: i * n / count, to: (i + 1) * n / count, x: float64(i) * width, width: width}
		c.Moment = s.Moments[c.to-1]
		for k := c.from; k < c.to; k++ { // a fault is drawn wherever it falls
			if s.Moments[k].Pivot && !c.Pivot {
				c.Pivot, c.Before = true, s.Moments[k].Before
			}
		}
		out = append(out, c)
	}
	last := column{from: n, to: n, x: float64(count) * width, width: now, Moment: s.Now}
	if n > 0 {
		last.Pivot, last.Before = true, s.Moments[n-1].Amounts // a step down where elisions were committed at the end
	}
	return append(out, last)
}

func chartOf(c *Content, s display.History) chart {
	d := chart{Height: int(chartHeight), Foot: int(chartHeight) + 40}
	columns := columnsOf(s)
	most := 1
	for _, col := range columns {
		most = max(most, col.Amounts.All())
		if col.Pivot {
			most = max(most, col.Before.All())
		}
	}
	usable := c.Report.Window.Usable
	switch {
	case usable > 0 && float64(usable) < 1.6*float64(most):
		most = max(most, usable)
	case usable > 0:
		d.UsableAbove = quantity.Number(usable)
	}
	step := max(1, int(display.NewAxis(0, float64(most), 5).Step)) // for about four lines
	top := float64(most) * 1.06
	y := func(tokens float64) float64 { return round1(chartHeight - chartHeight*tokens/top) }
	for n := step; float64(n) < top; n += step {
		d.Grid = append(d.Grid, label{Y: y(float64(n)), Text: quantity.Short(n)})
	}
	if usable > 0 && d.UsableAbove == "" {
		height := y(float64(usable))
		d.Usable = &label{X: beside(columns, height, y), Y: height, Text: "usable " + quantity.Number(usable)}
	}
	below := make([]curve, len(columns))
	for i := range columns {
		below[i] = curve{fault: columns[i].Pivot}
	}
	for k, l := range s.Layers {
		above := slices.Clone(below)
		taken := 0
		for i, col := range columns {
			above[i].end += float64(col.Amounts[k])
			if col.Pivot {
				above[i].before += float64(col.Before[k])
				taken = max(taken, col.Before[k])
			}
			taken = max(taken, col.Amounts[k])
		}
		if taken > 0 {
			d.Areas = append(d.Areas, area{l.Class, outline(columns, above, below, y)})
			d.Labels = append(d.Labels, name(l, columns, above, below, y)...)
			one := legend{l.Class, l.Name, quantity.Number(s.Now.Amounts[k]), ""}
			if s.Now.Amounts[k] > 0 && k < len(s.Layers)-1 {
				one.Share = quantity.Percent(s.Now.Amounts[k], s.Now.Amounts.Shown())
			}
			d.Legend = append(d.Legend, one)
		}
		below = above
	}
	slices.Reverse(d.Legend)
	d.faults(s, columns)
	d.turns(c, columns)
	d.hits(c, s, columns)
	d.Describe = fmt.Sprintf("The window after each of %s: at most %s tokens, now %s.",
		quantity.Count(len(s.Moments), "message"), quantity.Number(peak(s)), quantity.Number(s.Now.Amounts.Shown()))
	if n := len(s.Pivots); n > 0 {
		d.Describe += " " + quantity.Count(n, "pivot") + " cut through it."
	}
	return d
}

func peak(s display.History) int {
	most := s.Now.Amounts.Shown()
	for _, m := range s.Moments {
		most = max(most, m.Amounts.Shown())
		if m.Pivot {
			most = max(most, m.Before.Shown())
		}
	}
	return most
}

// curve is the height of a layer in a column: at its end and, where something breaks within it,
// before the break.
type curve struct {
	end, before float64
	fault       bool
}

// outline is the path around a layer: along its upper side and back along its lower one.
func outline(columns []column, above, below []curve, y func(float64) float64) string {
	upper, lower := edge(columns, above, y), edge(columns, below, y)
	slices.Reverse(lower)
	return "M" + strings.Join(append(upper, lower...), "L") + "Z"
}

// edge goes along one side. Within a column it rises to what its message adds; at a break it falls
// at once.
func edge(columns []column, curves []curve, y func(float64) float64) []string {
	at := func(x, tokens float64) string {
		return strconv.FormatFloat(round1(x), 'f', -1, 64) + " " + strconv.FormatFloat(y(tokens), 'f', -1, 64)
	}
	var points []string
	for i, c := range columns {
		switch {
		case curves[i].fault:
			points = append(points, at(c.x, curves[i].before), at(c.x, curves[i].end))
		case i == 0:
			points = append(points, at(c.x, 0), at(c.x, curves[i].end))
		}
		points = append(points, at(c.x+c.width, curves[i].end))
	}
	return points
}

// name writes the name of a layer into it, where it is thickest and long enough for the name.
func name(l display.Layer, columns []column, above, below []curve, y func(float64) float64) []label {
	text := strings.TrimPrefix(l.Name, "output of ")
	length := letterWidth * float64(utf8.RuneCountInString(text))
	var best label
	thickest := labelHeight
	for _, c := range columns {
		x := c.x + c.width/2
		if x < chartWidth*0.12 || x > chartWidth*0.97 {
			continue
		}
		upper, lower := y(heightAt(columns, above, x)), y(heightAt(columns, below, x))
		if lower-upper <= thickest {
			continue
		}
		middle := (upper + lower) / 2
		at := label{X: share(x), Y: round1(middle + 4), Text: text, Anchor: "end"}
		end := x - length
		if x < chartWidth*0.35 {
			at.Anchor, end = "start", x+length
		}
		fits := true
		for _, along := range []float64{0, 0.25, 0.5, 0.75, 1} {
			point := x + along*(end-x)
			fits = fits && y(heightAt(columns, above, point)) < middle-2 &&
				y(heightAt(columns, below, point)) > middle+2
		}
		if fits {
			best, thickest = at, lower-upper
		}
	}
	if best.Text == "" {
		return nil
	}
	return []label{best}
}

// heightAt is how high a curve is at a place, as edge draws it.
func heightAt(columns []column, curves []curve, x float64) float64 {
	for i, c := range columns {
		if x > c.x+c.width && i < len(columns)-1 {
			continue
		}
		if i == 0 || curves[i].fault {
			return curves[i].end
		}
		return curves[i-1].end + (curves[i].end-curves[i-1].end)*min(1, max(0, (x-c.x)/c.width))
	}
	return 0
}

// beside finds where along a line its label is farthest from what is drawn, and from the pivots
// where their names are.
func beside(columns []column, height float64, y func(float64) float64) string {
	best, farthest := 0.5, -1.0
	for _, x := range []float64{0.5, 0.35, 0.65, 0.8} {
		nearest := 2 * labelHeight // is far enough
		for _, c := range columns {
			if c.x+c.width < (x-0.07)*chartWidth || c.x > (x+0.07)*chartWidth {
				continue
			}
			tops := []int{c.Amounts.All()}
			if c.Pivot {
				tops = append(tops, c.Before.All())
				nearest = min(nearest, math.Abs(height-labelHeight)) // its name is at the upper end
			}
			for _, top := range tops {
				nearest = min(nearest, math.Abs(y(float64(top))-height))
			}
		}
		if nearest > farthest {
			best, farthest = x, nearest
		}
	}
	return share(best * chartWidth)
}

func share(x float64) string {
	return strconv.FormatFloat(math.Round(x*1000/chartWidth)/10, 'f', -1, 64) + "%"
}

func columnOf(columns []column, message int) column {
	for _, c := range columns {
		if message >= c.from && message < c.to {
			return c
		}
	}
	return columns[len(columns)-1]
}

func (d *chart) faults(s display.History, columns []column) {
	for i, f := range s.Pivots {
		x := columnOf(columns, f.Summary).x
		l := label{
			X: share(x), Href: fmt.Sprintf("#pivot%d", i+1), Text: quantity.Change(f.Before, f.After), Anchor: "end",
			Title: fmt.Sprintf("Pivot %d: %s → %s tokens", i+1, quantity.Number(f.Before), quantity.Number(f.After)),
		}
		if x < chartWidth*0.2 {
			l.Anchor = "start"
		}
		d.Faults = append(d.Faults, l)
	}
}

// turns marks where turns begin, as many as there is room for.
func (d *chart) turns(c *Content, columns []column) {
	last := -chartWidth
	turns := session.Turns(c.Session.Messages)
	for i, t := range turns {
		col := columnOf(columns, t.Start)
		if col.x-last < chartWidth*0.045 {
			continue
		}
		last = col.x
		text := quantity.Number(i + 1)
		if len(d.Turns) == 0 {
			text = "turn " + text
			last += chartWidth * 0.05
		}
		d.Turns = append(d.Turns, label{X: share(col.x), Text: text})
	}
}

// hits are the columns that tell their figures and lead to their message.
func (d *chart) hits(c *Content, s display.History, columns []column) {
	for _, col := range columns {
		h := hit{X: share(col.x), Width: share(col.width), Href: "#m" + strconv.Itoa(min(col.from+1, len(s.Moments)))}
		var b strings.Builder
		switch {
		case col.from == col.to:
			b.WriteString("Now")
		case col.to-col.from == 1:
			b.WriteString("Message " + quantity.Number(col.to))
		default:
			d.Folded = true
			b.WriteString("Messages " + quantity.Number(col.from+1) + " to " + quantity.Number(col.to))
		}
		if col.to > col.from && col.to <= len(c.Report.Strata) {
			if t := c.Report.Strata[col.to-1]; t.Turn > 0 {
				b.WriteString(", turn " + quantity.Number(t.Turn))
			}
			m := &c.Session.Messages[col.to-1]
			switch {
			case col.Pivot && s.Moments[col.to-1].Pivot:
				b.WriteString(", the summary of a pivot")
			case m.Marker() != nil:
				b.WriteString(", a marker")
			default:
				b.WriteString(", " + line(string(m.Role), 20))
			}
		}
		b.WriteString(": " + quantity.Number(col.Amounts.Shown()) + " tokens in the window")
		sep := " — "
		for k := range s.Layers {
			if n := col.Amounts[k]; n > 0 {
				b.WriteString(sep + s.Layers[k].Name + " " + quantity.Number(n))
				sep = ", "
			}
		}
		h.Title = b.String()
		d.Hits = append(d.Hits, h)
	}
}
