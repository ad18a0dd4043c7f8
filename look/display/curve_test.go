package display

import (
	"math"
	"testing"

	"github.com/winnowhq/winnow/lab"
)

// A curve goes through its corners, ends at the right edge of the picture, and never rises.
func TestFrontier_curve(t *testing.T) {
	hull := []lab.Corner{{MissedStepsPer100: 0, Ratio: 1}, {MissedStepsPer100: 2, Ratio: 0.6}, {MissedStepsPer100: 4, Ratio: 0.5}}
	for _, c := range []struct{ right, last float64 }{{3, 0.55}, {4, 0.5}, {9, 0.5}} {
		f := Frontier{Across: Axis{High: c.right}}
		points := f.curve(hull)
		if points[0].Rate != 0 || points[0].Ratio != 1 {
			t.Errorf("up to %v it begins at %v", c.right, points[0])
		}
		for i, p := range points {
			if i > 0 && (p.Rate < points[i-1].Rate || p.Ratio > points[i-1].Ratio) {
				t.Errorf("up to %v it goes from %v to %v", c.right, points[i-1], p)
			}
		}
		if end := points[len(points)-1]; math.Abs(end.Rate-c.right) > 0.2 || math.Abs(end.Ratio-c.last) > 0.02 {
			t.Errorf("up to %v it ends at %v", c.right, end)
		}
	}
	f := Frontier{Across: Axis{High: 1}}
	if got := f.curve(nil); got != nil {
		t.Errorf("no corners give %v", got)
	}
	if got := f.curve([]lab.Corner{{MissedStepsPer100: 2, Ratio: 1}}); got != nil {
		t.Errorf("a corner beyond the edge gives %v", got)
	}
}
