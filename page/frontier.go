package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/winnowhq/winnow/plot"
	"github.com/winnowhq/winnow/quantity"
)

// frontierSize is a drawing of the frontier: one for wide pages, with names, and one for narrow ones, with letters alone.
type frontierSize struct {
	width, height int
	wide          bool
}

// frontierView is the bill of each policy against its regrets, in pixels.
type frontierView struct {
	Width, Height            int
	Left, Right, Top, Bottom int // of the frame
	Wide                     bool
	X, Y                     []pixelLabel // ticks
	XName, YName             string
	Steps                    string // the frontier
	Sweeps                   []area
	Bound                    *pixelLabel
	Spots                    []spot
	Beyond                   []string
	Describe                 string
}

type pixelLabel struct {
	X, Y   float64
	Text   string
	Anchor string
}

// spot is a policy in the picture.
type spot struct {
	trait
	X, Y       float64
	ratio      float64
	rate       float64
	Label      *pixelLabel
	Title      string
	Advised    bool
	beyond     bool
	first, end bool // of its sweep
}

// box is a piece of the picture that is taken.
type box struct{ left, top, right, bottom float64 }

func (a box) meets(b box) bool {
	return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom
}

func (d *replayDocument) frontier(size frontierSize) (frontierView, bool) {
	f := frontierView{
		Width: size.width, Height: size.height, Left: 50, Right: size.width - 14, Top: 22, Bottom: size.height - 42, Wide: size.wide,
		YName: "bill, " + line(cmp.Or(d.r.Baseline, "the first"), 24) + " = 1", XName: "regrets in 100 steps",
	}
	var xs, ys []float64
	low := math.Inf(1)
	for i, s := range d.r.Policies {
		if drawable(s.Ratio) && s.Ratio > 0 && drawable(s.Rate) {
			f.Spots = append(f.Spots, spot{trait: d.traits[i], ratio: s.Ratio, rate: s.Rate, Advised: i == d.advised,
				Title: fmt.Sprintf("%s: %s of the baseline's bill, %s regrets in 100 steps", d.traits[i].Name, quantity.Decimal(s.Ratio, 3), quantity.Decimal(s.Rate, 1))})
			xs, ys, low = append(xs, s.Rate), append(ys, s.Ratio), min(low, s.Ratio)
		}
	}
	if len(f.Spots) == 0 {
		return f, false
	}
	right, top, least := cmp.Or(plot.End(xs, 0), 1), plot.End(ys, low), d.r.Least()
	bounded := drawable(least) && least > 0
	if bounded {
		low, top = min(low, least), max(top, least)
	}
	across := plot.NewAxis(0, right, f.Width/90)
	if across.Root = plot.Crowded(xs, right); across.Root {
		f.XName += ", closer together to the right"
	}
	up := plot.NewAxis(low, top, f.Height/70)
	x := func(v float64) float64 { return round1(float64(f.Left) + across.At(v)*float64(f.Right-f.Left)) }
	y := func(v float64) float64 { return round1(float64(f.Bottom) - up.At(v)*float64(f.Bottom-f.Top)) }
	for _, v := range across.Ticks(0.09) {
		f.X = append(f.X, pixelLabel{X: x(v), Text: across.Text(v)})
	}
	for _, v := range up.Ticks(0) {
		f.Y = append(f.Y, pixelLabel{Y: y(v), Text: up.Text(v)})
	}
	for i := range f.Spots {
		s := &f.Spots[i]
		s.X, s.Y, s.beyond = x(s.rate), y(s.ratio), s.rate > right || s.ratio > top
		if s.beyond {
			f.Beyond = append(f.Beyond, s.Title)
		}
	}
	f.join()
	if bounded {
		f.Bound = &pixelLabel{X: float64(f.Right), Y: y(least), Text: "bound " + quantity.Decimal(least, 3), Anchor: "end"}
	}
	f.name()
	f.Describe = "The bill of " + quantity.Count(len(f.Spots), "policy") + " against their regrets"
	if len(f.Spots) != 1 {
		f.Describe = "The bills of " + quantity.Number(len(f.Spots)) + " policies against their regrets"
	}
	return f, true
}

// join draws the steps of the frontier and the lines of sweeps.
func (f *frontierView) join() {
	var on []*spot
	var order []string
	bySweep := map[string][]*spot{}
	for i := range f.Spots {
		s := &f.Spots[i]
		if s.On && !s.beyond {
			on = append(on, s)
		}
		if s.sweep != "" {
			if bySweep[s.sweep] == nil {
				order = append(order, s.sweep)
			}
			bySweep[s.sweep] = append(bySweep[s.sweep], s)
		}
	}
	slices.SortFunc(on, func(a, b *spot) int { return cmp.Or(cmp.Compare(a.X, b.X), cmp.Compare(a.Y, b.Y)) })
	var b strings.Builder
	for i, s := range on {
		if i == 0 {
			fmt.Fprintf(&b, "M%v %v", s.X, s.Y)
			continue
		}
		fmt.Fprintf(&b, "H%vV%v", s.X, s.Y)
	}
	if len(on) > 1 {
		f.Steps = b.String()
	}
	for _, name := range order {
		all := bySweep[name]
		all[0].first, all[len(all)-1].end = true, true
		points := make([]string, len(all))
		for i, s := range all {
			points[i] = fmt.Sprintf("%v %v", s.X, s.Y)
		}
		f.Sweeps = append(f.Sweeps, area{all[0].Tone, "M" + strings.Join(points, "L")})
	}
}

// A letter of the picture's text takes about so many pixels; a point so many around its middle.
const (
	letterWide, letterHigh = 6.9, 14.0
	pointWide              = 6.0
)

// name writes the names beside the points, where they have room: what is recommended first, those by themselves before sweeps, the ends of sweeps
// before what lies between. On a narrow page, and where a name has no room, it is the letter alone; where that has none, the table tells.
func (f *frontierView) name() {
	var taken []box
	for _, s := range f.Spots {
		taken = append(taken, box{s.X - pointWide, s.Y - pointWide, s.X + pointWide, s.Y + pointWide})
	}
	if b := f.Bound; b != nil {
		b.Y -= 5
		wide := letterWide * float64(utf8.RuneCountInString(b.Text))
		here := box{b.X - wide, b.Y - letterHigh + 3, b.X, b.Y + 3}
		if slices.ContainsFunc(taken, here.meets) {
			b.X, b.Anchor = float64(f.Left)+6, "start"
			here = box{b.X, here.top, b.X + wide, here.bottom}
		}
		taken = append(taken, here)
		b.Y = round1(b.Y)
	}
	rank := func(s *spot) int {
		switch {
		case s.Advised:
			return -1
		case s.sweep == "" && s.On:
			return 0
		case s.sweep == "":
			return 1
		case s.first || s.end:
			return 2
		}
		return 3
	}
	order := make([]*spot, len(f.Spots))
	for i := range f.Spots {
		order[i] = &f.Spots[i]
	}
	slices.SortStableFunc(order, func(a, b *spot) int { return rank(a) - rank(b) })
	frame := box{float64(f.Left), float64(f.Top) - 8, float64(f.Right) + 12, float64(f.Bottom)}
	for _, s := range order {
		texts := []string{s.Key}
		if f.Wide && s.sweep == "" {
			texts = []string{s.Key + " " + line(s.Name, 28), s.Key}
		}
	placing:
		for _, text := range texts {
			wide := letterWide * float64(utf8.RuneCountInString(text))
			for _, at := range [...]struct {
				dx, dy float64
				anchor string
			}{{9, 4, "start"}, {-9, 4, "end"}, {0, -10, "middle"}, {0, 19, "middle"}, {7, -8, "start"}, {7, 16, "start"}, {-7, -8, "end"}, {-7, 16, "end"}} {
				l := pixelLabel{X: round1(s.X + at.dx), Y: round1(s.Y + at.dy), Text: text, Anchor: at.anchor}
				left := l.X
				switch at.anchor {
				case "end":
					left -= wide
				case "middle":
					left -= wide / 2
				}
				here := box{left, l.Y - letterHigh + 3, left + wide, l.Y + 3}
				if here.left < frame.left || here.right > frame.right || here.top < frame.top || here.bottom > frame.bottom || slices.ContainsFunc(taken, here.meets) {
					continue
				}
				s.Label, taken = &l, append(taken, here)
				break placing
			}
		}
	}
}
