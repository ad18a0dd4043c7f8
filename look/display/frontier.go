package display

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/lab"
)

// Spot is where a policy is in the picture of bills and missed steps.
type Spot struct {
	Policy      int
	Rate, Ratio float64
	// Rates and Ratios are their intervals; of one that is unknown both ends are 0.
	Rates, Ratios lab.Range
	Beyond        bool // it is so far away that it does not fit into the picture
}

// Frontier is the bill of each policy against its missed steps.
type Frontier struct {
	Across, Up Axis // missed steps in a hundred, and the bill relative to the baseline's
	Spots      []Spot
	Bound      float64 // the cheapest bill with knowledge of the future, 0 if it is unknown
	Steps      []int   // the spots on the frontier, from left to right
	// Simple and Winnow are the curves of lab.Hulls, cut off where the picture ends; nil without them.
	Simple, Winnow []Spot
}

// Drawable reports whether a figure can be drawn.
func Drawable(v float64) bool { return v >= 0 && v < 1e9 }

// drawn is an interval that can be drawn.
func drawn(r lab.Range) lab.Range {
	if !r.Known() || !Drawable(r.Low) || !Drawable(r.High) {
		return lab.Range{}
	}
	return r
}

// FrontierOf lays out a report on axes with about that many ticks. Policies of which a figure is
// not known are left out, and so are those of a sweep if what was chosen from it was judged on
// sessions that were left out: that is drawn in their place.
func FrontierOf(r *lab.Report, all []Policy, across, up int) Frontier {
	var f Frontier
	var xs, ys []float64
	low := math.Inf(1)
	for i, s := range Standings(r) {
		if all[i].Replaced {
			continue
		}
		if Drawable(s.MissedStepsPer100) && Drawable(s.Ratio) && s.Ratio > 0 {
			f.Spots = append(f.Spots, Spot{Policy: i, Rate: s.MissedStepsPer100, Ratio: s.Ratio,
				Rates: drawn(s.MissedWithin), Ratios: drawn(s.Within)})
			xs, ys, low = append(xs, s.MissedStepsPer100), append(ys, s.Ratio), min(low, s.Ratio)
		}
	}
	if len(f.Spots) == 0 {
		return f
	}
	right, top := cmp.Or(End(xs, 0), 1), End(ys, low)
	if least := r.Least(); Drawable(least) && least > 0 {
		f.Bound, low, top = least, min(low, least), max(top, least)
	}
	f.Across, f.Up = NewAxis(0, right, across), NewAxis(low, top, up)
	f.Across.Root = Crowded(xs, right)
	for i := range f.Spots {
		s := &f.Spots[i]
		s.Beyond = s.Rate > right || s.Ratio > top
		if all[s.Policy].On && !s.Beyond {
			f.Steps = append(f.Steps, i)
		}
	}
	slices.SortFunc(f.Steps, func(a, b int) int {
		x, y := f.Spots[a], f.Spots[b]
		return cmp.Or(cmp.Compare(x.Rate, y.Rate), cmp.Compare(y.Ratio, x.Ratio))
	})
	if r.Hulls != nil {
		f.Simple, f.Winnow = f.curve(r.Hulls.Simple), f.curve(r.Hulls.Winnow)
	}
	return f
}

// curve is a hull up to the right edge of the picture: more missed steps cost no more.
func (f *Frontier) curve(hull []lab.Corner) (points []Spot) {
	const pieces = 16 // of a line between two corners, which is bent where the axis is
	right := f.Across.High
	for i, c := range hull {
		before := hull[max(0, i-1)]
		for k := range pieces {
			share := float64(k+1) / pieces
			rate := before.MissedStepsPer100 + share*(c.MissedStepsPer100-before.MissedStepsPer100)
			if rate > right {
				return points
			}
			if i > 0 || k == 0 {
				points = append(points, Spot{Rate: rate, Ratio: before.Ratio + share*(c.Ratio-before.Ratio)})
			}
		}
	}
	if n := len(points); n > 0 {
		points = append(points, Spot{Rate: right, Ratio: points[n-1].Ratio})
	}
	return points
}

// LessAt says how much less winnow costs than simple policies at each number of missed steps, "" if
// that is not known.
func LessAt(r *lab.Report) string {
	if r.Hulls == nil {
		return ""
	}
	var all []string
	for i := range r.Gaps {
		g := &r.Gaps[i]
		if g.Best {
			all = append(all, fmt.Sprintf("%s less at %.0f (%s)", less(g.Less), g.MissedStepsPer100, lessWithin(g.Within)))
		}
	}
	return strings.Join(all, ", ")
}

// Name is what the axis across is called.
func (f *Frontier) Name() string {
	if f.Across.Root {
		return "missed steps in 100, closer together to the right"
	}
	return "missed steps in 100"
}

// Chosen says how to read points that were chosen: on what they were judged.
func Chosen(r *lab.Report) string {
	switch {
	case len(r.Holdout) > 0 && len(Standings(r)) > len(r.Policies):
		return "“Left out” is chosen on all " + over(r) + " but those that it is judged on, each in turn; ranges are " +
			"90 % intervals over " +
			over(r) + "."
	case len(r.InSample) > 0:
		return "The best point of a sweep is the best of these very sessions; on others it may not be."
	}
	return ""
}
