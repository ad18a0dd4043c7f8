package tui

import (
	"math"
	"slices"

	"github.com/winnowhq/winnow/plot"
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
			one.glyph = plot.Letter(letters)
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
				members, names = append(members, i), append(names, Clean(policies[i].Name))
			}
		}
		for j, own := range plot.Own(names) {
			all[members[j]].value = own
		}
	}
	return all, sweeps
}

// axis lays an axis over cells.
type axis struct {
	plot.Axis
	cells int
}

// at is the cell of a value.
func (a axis) at(v float64) int { return int(math.Round(a.At(v) * float64(a.cells-1))) }

// leastTick is how many columns lie between two ticks at least.
const leastTick = 7

func (a axis) ticks() []float64 { return a.Ticks(leastTick / float64(a.cells-1)) }
