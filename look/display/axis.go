// Package display prepares what the terminal and the page both show: the axes of a picture, the
// table and the frontier of policies, the facts of a receipt. Package tui and package page only lay
// it out.
package display

import (
	"math"
	"slices"
	"strconv"
)

// Axis is a range of numbers with round ends.
type Axis struct {
	Low, High float64
	Step      float64 // between ticks
	// Root lays the range out by the square root, which gives small values more room. Low is then
	// 0.
	Root bool
}

// NewAxis spans two values, neither below zero, with about that many ticks. It always has a length.
func NewAxis(low, high float64, ticks int) Axis {
	if !(high-low > high*1e-9) || high < 1e-9 {
		pad := max(0.05, math.Abs(high)*0.05)
		low, high = max(0, low-pad), high+pad
	}
	step := roundStep((high - low) / float64(ticks))
	return Axis{Low: math.Floor(low/step+1e-9) * step, High: math.Ceil(high/step-1e-9) * step, Step: step}
}

// roundStep is the next round number: 1, 2 or 5 times a power of ten.
func roundStep(least float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(least)))
	for _, m := range []float64{1, 2, 5} {
		if m*power >= least*(1-1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// At is where on the axis a value is: 0 at its beginning, 1 at its end. A value outside is at the
// nearer end.
func (a Axis) At(v float64) float64 {
	share := min(1, max(0, (v-a.Low)/(a.High-a.Low)))
	if a.Root {
		share = math.Sqrt(share)
	}
	return share
}

// leastShare says how small a tick on a root axis may be: an eightieth of the range.
const leastShare = 80

// Ticks are the round values on the axis. Those of a root axis are at least that share of its
// length apart.
func (a Axis) Ticks(apart float64) []float64 {
	var out []float64
	if !a.Root {
		for v := a.Low; v < a.High+a.Step/2 && len(out) < 100; v = a.Low + float64(len(out))*a.Step {
			out = append(out, v)
		}
		return out
	}
	out = append(out, 0, a.High)
	last := 1.0
	power := math.Pow(10, math.Ceil(math.Log10(a.High)))
	for range 6 { // decades, downwards
		for _, m := range []float64{5, 2, 1} {
			v := m * power
			if at := a.At(v); v < a.High && v*leastShare >= a.High && last-at >= apart && at >= apart {
				out, last = append(out, v), at
			}
		}
		power /= 10
	}
	return out
}

// Text writes a tick with as many decimals as its step has.
func (a Axis) Text(v float64) string {
	step, decimals := a.Step, 0
	if a.Root && v > 0 {
		step = v
	}
	for s := step; decimals < 6 && math.Abs(s-math.Round(s)) > 1e-6; s *= 10 {
		decimals++
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}

// Crowded reports whether most of the values lie near zero and the largest far from them: a root
// axis shows them better.
func Crowded(values []float64, high float64) bool {
	near := 0
	for _, v := range values {
		if v < high/8 {
			near++
		}
	}
	return len(values) >= 4 && 2*near >= len(values) && near < len(values)
}

// outlier is how many times further away than all others a value must be to be left out of the
// scale.
const outlier = 6

// End is where a scale that begins at low may end so that a few values far away do not press the
// others together: the largest value of those that stay. At least four stay, and at most a quarter
// goes.
func End(values []float64, low float64) float64 {
	if len(values) == 0 {
		return low
	}
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	for cut := 1; cut <= n/4 && n-cut >= 4; cut++ {
		if rest := sorted[n-1-cut] - low; rest > 0 && sorted[n-cut]-low > outlier*rest {
			return sorted[n-1-cut]
		}
	}
	return sorted[n-1]
}
