package lab

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// The lower hull is on or below every policy and every mixture of two, and never rises.
func TestHull_isTheCheapestMixture(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.Float64Range(0, 10)
		all := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) point {
			return point{value.Draw(t, "missed"), value.Draw(t, "ratio")}
		}), 1, 8).Draw(t, "points")
		before := math.Inf(1)
		for missed := 0.0; missed <= 10; missed += 0.5 {
			is, from, to := hullAt(all, missed)
			if is > before+1e-9 {
				t.Fatalf("it rises from %v to %v at %v", before, is, missed)
			}
			before = is
			if math.IsInf(is, 1) {
				continue
			}
			if all[from].missed > missed || from != to && all[to].missed <= missed {
				t.Fatalf("at %v it is between %v and %v", missed, all[from], all[to])
			}
			for _, p := range all {
				if p.missed <= missed && p.ratio < is {
					t.Fatalf("at %v it is %v, above %v", missed, is, p)
				}
			}
		}
	})
}

func TestHull(t *testing.T) {
	points := []point{{0, 1}, {2, 0.6}, {4, 0.5}, {1, 0.9}}
	for _, c := range []struct {
		missed, want float64
		from, to     int
	}{{0, 1, 0, 0}, {1, 0.8, 0, 1}, {2, 0.6, 1, 1}, {3, 0.55, 1, 2}, {9, 0.5, 2, 2}} {
		is, from, to := hullAt(points, c.missed)
		if math.Abs(is-c.want) > 1e-12 || from != c.from || to != c.to {
			t.Errorf("at %v it is %v between %d and %d, want %v, %d, %d", c.missed, is, from, to, c.want, c.from, c.to)
		}
	}
}

// The line through the corners is the hull, at each number of missed steps.
func TestCorners_areThoseOfTheHull(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.Float64Range(0, 10)
		all := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) series {
			return series{"", []float64{value.Draw(t, "bill")}, []float64{1}, []float64{value.Draw(t, "missed")}, []float64{100}}
		}), 1, 8).Draw(t, "policies")
		hull := corners(all)
		for missed := 0.0; missed <= 10; missed += 0.25 {
			want, _, _ := hullAt(points(all, nil), missed)
			is := math.Inf(1)
			for i, c := range hull {
				switch {
				case c.MissedStepsPer100 <= missed:
					is = c.Ratio
				case i > 0 && hull[i-1].MissedStepsPer100 <= missed:
					a := hull[i-1]
					is += (c.Ratio - is) * (missed - a.MissedStepsPer100) / (c.MissedStepsPer100 - a.MissedStepsPer100)
				}
			}
			if math.Abs(is-want) > 1e-9 && !(math.IsInf(is, 1) && math.IsInf(want, 1)) {
				t.Fatalf("at %v the corners %v give %v, the hull is %v", missed, hull, is, want)
			}
		}
	})
}
