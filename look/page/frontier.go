package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/winnowhq/winnow/look/display"
	"github.com/winnowhq/winnow/text/quantity"
)

// frontierSize is a drawing of the frontier: one for wide pages, with names, and one for narrow
// ones, with letters alone.
type frontierSize struct {
	width, height int
	wide          bool
}

// frontierView is the bill of each policy against its missed steps, in pixels.
type frontierView struct {
	Width, Height            int
	Left, Right, Top, Bottom int // of the frame
	Wide                     bool
	X, Y                     []pixelLabel // ticks
	XName, YName             string
	Steps                    string // the frontier, where there are no curves
	Simple, Winnow           string // the curves of simple policies and of winnow's
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
	display.Spot
	X, Y       float64
	Within     string // its intervals, as a path
	Label      *pixelLabel
	Title      string
	Advised    bool
	first, end bool // of its sweep
}

// box is a piece of the picture that is taken.
type box struct{ left, top, right, bottom float64 }

func (a box) meets(b box) bool {
	return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom
}

func (d *replayDocument) frontier(size frontierSize) (frontierView, bool) {
	of := display.FrontierOf(d.r, d.named, size.width/90, size.height/70)
	if len(of.Spots) == 0 {
		return frontierView{}, false
	}
	f := frontierView{
		Width: size.width, Height: size.height, Left: 50, Right: size.width - 14, Top: 22, Bottom: size.height - 42,
		Wide: size.wide, XName: of.Name(), YName: "bill, " + line(cmp.Or(d.r.Baseline, "the first"), 24) + " = 1",
	}
	x := func(v float64) float64 { return round1(float64(f.Left) + of.Across.At(v)*float64(f.Right-f.Left)) }
	y := func(v float64) float64 { return round1(float64(f.Bottom) - of.Up.At(v)*float64(f.Bottom-f.Top)) }
	for _, v := range of.Across.Ticks(0.09) {
		f.X = append(f.X, pixelLabel{X: x(v), Text: of.Across.Text(v)})
	}
	for _, v := range of.Up.Ticks(0) {
		f.Y = append(f.Y, pixelLabel{Y: y(v), Text: of.Up.Text(v)})
	}
	for _, at := range of.Spots {
		s := spot{trait: d.traits[at.Policy], Spot: at, X: x(at.Rate), Y: y(at.Ratio), Advised: at.Policy == d.ringed}
		s.Title = s.Name + ": " + display.Ratio(at.Ratio) + " of the baseline's bill, " +
			display.Rate(at.Rate) + " missed steps in 100"
		if !at.Beyond {
			if r := at.Rates; r.Known() {
				s.Within = fmt.Sprintf("M%v %vH%v", x(r.Low), s.Y, x(r.High))
			}
			if r := at.Ratios; r.Known() {
				s.Within += fmt.Sprintf("M%v %vV%v", s.X, y(r.Low), y(r.High))
			}
		}
		f.Spots = append(f.Spots, s)
		if at.Beyond {
			f.Beyond = append(f.Beyond, s.Title)
		}
	}
	curve := func(points []display.Spot) string {
		all := make([]string, len(points))
		for i, p := range points {
			all[i] = fmt.Sprintf("%v %v", x(p.Rate), y(p.Ratio))
		}
		return "M" + strings.Join(all, "L")
	}
	f.join(of.Steps, d.sweeps)
	if len(of.Simple) > 1 && len(of.Winnow) > 1 {
		f.Simple, f.Winnow, f.Steps = curve(of.Simple), curve(of.Winnow), ""
	}
	if of.Bound > 0 {
		f.Bound = &pixelLabel{X: float64(f.Right), Y: y(of.Bound), Text: "bound " + display.Ratio(of.Bound),
			Anchor: "end"}
	}
	f.name()
	f.Describe = "Bill against missed steps of " + quantity.Count(len(f.Spots), "policy")
	return f, true
}

// join draws the steps of the frontier and the lines of sweeps.
func (f *frontierView) join(steps []int, sweeps int) {
	var b strings.Builder
	for i, at := range steps {
		if s := &f.Spots[at]; i == 0 {
			fmt.Fprintf(&b, "M%v %v", s.X, s.Y)
		} else {
			fmt.Fprintf(&b, "H%vV%v", s.X, s.Y)
		}
	}
	if len(steps) > 1 {
		f.Steps = b.String()
	}
	for k := range sweeps {
		var points []string
		var first, last *spot
		for i := range f.Spots {
			if s := &f.Spots[i]; s.Sweep == k {
				first, last = cmp.Or(first, s), s
				points = append(points, fmt.Sprintf("%v %v", s.X, s.Y))
			}
		}
		if first != nil {
			first.first, last.end = true, true
			f.Sweeps = append(f.Sweeps, area{first.Tone, "M" + strings.Join(points, "L")})
		}
	}
}

// About how many pixels a letter takes, and a point on each side of its middle.
const (
	letterWide, letterHigh = 6.9, 14.0
	pointWide              = 6.0
)

// name writes the names beside the points, where they have room: what is recommended first, those
// by themselves before sweeps, the ends of sweeps before what lies between. On a narrow page, and
// if there is no room for the name, it is the letter alone; the table has the others.
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
		case s.Sweep < 0 && s.On:
			return 0
		case s.Sweep < 0:
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
		switch {
		case f.Wide && s.Sweep < 0:
			texts = []string{s.Key + " " + line(s.Name, 44), s.Key}
		case f.Wide && s.first: // one of a sweep says what it is
			texts = []string{line(s.Name, 44), s.Key}
		}
	placing:
		for _, text := range texts {
			wide := letterWide * float64(utf8.RuneCountInString(text))
			for _, at := range [...]struct {
				dx, dy float64
				anchor string
			}{{9, 4, "start"}, {-9, 4, "end"}, {0, -10, "middle"}, {0, 19, "middle"}, {7, -8, "start"},
				{7, 16, "start"}, {-7, -8, "end"}, {-7, 16, "end"}} {
				l := pixelLabel{X: round1(s.X + at.dx), Y: round1(s.Y + at.dy), Text: text, Anchor: at.anchor}
				left := l.X
				switch at.anchor {
				case "end":
					left -= wide
				case "middle":
					left -= wide / 2
				}
				here := box{left, l.Y - letterHigh + 3, left + wide, l.Y + 3}
				if here.left < frame.left || here.right > frame.right || here.top < frame.top ||
					here.bottom > frame.bottom || slices.ContainsFunc(taken, here.meets) {
					continue
				}
				s.Label, taken = &l, append(taken, here)
				break placing
			}
		}
	}
}
