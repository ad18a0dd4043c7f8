package tui

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/winnowhq/winnow/replay"
)

// spot is a policy in the picture: the glyph that stands for it, and where.
type spot struct {
	policy int
	glyph  rune
	value  string // what a member of a sweep has of its own: "40k"
	sweep  int    // -1: a policy by itself
	x, y   float64
	on     bool // the frontier
	beyond bool // the picture: it stands at its edge
	drawn  bool
	col    int
	row    int
}

// sweepMarks stand for the policies of a sweep; they come round again after the last.
var sweepMarks = [...]struct {
	glyph rune
	style style
}{{'•', activeTone}, {'◦', summaryTone}, {'▪', prunableTone}, {'▫', prunedTone}, {'▴', talkTone}}

// spots gives every policy its glyph: letters to those by themselves, one mark to each sweep. The letters are those of the table.
func spots(policies []replay.Standing) (all []spot, sweeps []string) {
	on := replay.Undominated(policies)
	letters := 0
	for i := range policies {
		s := &policies[i]
		one := spot{policy: i, sweep: -1, x: s.Rate, y: s.Ratio, on: on[i]}
		if s.Group == "" {
			one.glyph = letter(letters)
			letters++
		} else {
			if one.sweep = slices.Index(sweeps, s.Group); one.sweep < 0 {
				one.sweep = len(sweeps)
				sweeps = append(sweeps, s.Group)
			}
			one.glyph = sweepMarks[one.sweep%len(sweepMarks)].glyph
		}
		all = append(all, one)
	}
	for k := range sweeps {
		var members []int
		var names []string
		for i := range all {
			if all[i].sweep == k {
				members, names = append(members, i), append(names, clean(policies[i].Name))
			}
		}
		for j, own := range owns(names) {
			all[members[j]].value = own
		}
	}
	return all, sweeps
}

// letter is the n-th: A to Z, a to z, and one sign for all others.
func letter(n int) rune {
	switch {
	case n < 26:
		return 'A' + rune(n)
	case n < 52:
		return 'a' + rune(n-26)
	}
	return '#'
}

// owns are what each of some names has that the others have not: 40k and 60k of t=40k and t=60k. Names are parted where a word ends.
func owns(names []string) []string {
	word := func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '.' || r == '_' || r == '-'
	}
	first := names[0]
	if len(names) == 1 {
		if at := strings.LastIndexByte(first, '='); at >= 0 && at+1 < len(first) {
			return []string{first[at+1:]}
		}
		return []string{first}
	}
	runes := make([][]rune, len(names))
	for i, n := range names {
		runes[i] = []rune(n)
	}
	one := runes[0]
	before, after := len(one), len(one)
	for _, n := range runes[1:] {
		i := 0
		for i < min(before, len(n)) && n[i] == one[i] {
			i++
		}
		before = i
		i = 0
		for i < min(after, len(n)) && n[len(n)-1-i] == one[len(one)-1-i] {
			i++
		}
		after = i
	}
	for before > 0 && word(one[before-1]) {
		before--
	}
	for after > 0 && word(one[len(one)-after]) {
		after--
	}
	out := make([]string, len(names))
	for i, n := range runes {
		out[i] = names[i]
		if before+after < len(n) {
			out[i] = strings.TrimSpace(string(n[before : len(n)-after]))
		}
	}
	return out
}

// axis is a range of numbers over cells.
type axis struct {
	low, high float64
	step      float64 // between ticks
	root      bool    // by the square root, from zero: there is more room for what is small
	cells     int
}

// axisOf spans values with about so many ticks. From zero or not, it never has no length.
func axisOf(low, high float64, ticks, cells int) axis {
	if !(high > low) {
		pad := max(0.05, math.Abs(high)*0.05)
		low, high = max(0, low-pad), high+pad
	}
	step := roundStep((high - low) / float64(ticks))
	return axis{low: math.Floor(low/step+1e-9) * step, high: math.Ceil(high/step-1e-9) * step, step: step, cells: cells}
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

// at is the cell of a value, cut to the range.
func (a axis) at(v float64) int {
	share := (v - a.low) / (a.high - a.low)
	if a.root {
		share = math.Sqrt(max(0, share))
	}
	return min(a.cells-1, max(0, int(math.Round(share*float64(a.cells-1)))))
}

// ticks are the round values in the range.
func (a axis) ticks() []float64 {
	var out []float64
	if a.root {
		out = append(out, 0, a.high)
		last := a.cells - 1
		power := math.Pow(10, math.Ceil(math.Log10(a.high)))
		for range 6 { // decades, downwards
			for _, m := range []float64{5, 2, 1} {
				if at := a.at(m * power); m*power < a.high && m*power*leastShare >= a.high && last-at >= leastTick && at >= leastTick {
					out, last = append(out, m*power), at
				}
			}
			power /= 10
		}
		return out
	}
	for v := a.low; v < a.high+a.step/2 && len(out) < 100; v = a.low + float64(len(out))*a.step {
		out = append(out, v)
	}
	return out
}

// leastTick is how many columns lie between two ticks at least.
const leastTick = 7

// leastShare of the range is the smallest tick of an axis by the root.
const leastShare = 80

// crowded says that most of the values lie near zero, and the largest far from them.
func crowded(values []float64, high float64) bool {
	near := 0
	for _, v := range values {
		if v < high/8 {
			near++
		}
	}
	return len(values) >= 4 && 2*near >= len(values)
}

// text of a tick, with as many decimals as its step has.
func (a axis) text(v float64) string {
	step, decimals := a.step, 0
	if a.root && v > 0 {
		step = v
	}
	for s := step; decimals < 6 && math.Abs(s-math.Round(s)) > 1e-6; s *= 10 {
		decimals++
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}

// outlier is how many times further than all others something must be to be left out of the scale.
const outlier = 6

// scaleEnd is where a scale that begins at low may end so that a few values far away do not press the others together: the largest value of those
// that stay. At least four stay, and no more than a quarter goes.
func scaleEnd(values []float64, low float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	for cut := 1; cut <= n/4 && n-cut >= 4; cut++ {
		if rest := sorted[n-1-cut] - low; rest > 0 && sorted[n-cut]-low > outlier*rest {
			return sorted[n-1-cut]
		}
	}
	return sorted[n-1]
}
