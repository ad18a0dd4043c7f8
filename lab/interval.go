package lab

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Range is the 90 % interval of a figure: where it would lie, nine times in ten, on as many sources
// drawn from those that were replayed. One whose ends are equal says nothing.
type Range struct {
	Low  float64 `json:"low"`  // lower end
	High float64 `json:"high"` // upper end
}

// Known reports whether a range says anything.
func (r Range) Known() bool { return r.Low < r.High }

// resamples is how often sources are drawn for an interval.
const resamples = 1000

// fewestSources is how many sources it takes to speak of other sources. Below, sessions take their
// place.
const fewestSources = 3

// What intervals are over, and what is held out in turn.
const (
	BySources  = "sources"
	BySessions = "sessions"
)

// groups divides sessions into those that may resemble each other.
type groups struct {
	by    string
	names []string
	of    []int // group of each session
}

// sourcesOf groups sessions by source, or, where there are too few sources, each by itself.
func sourcesOf(sessions []Recorded) groups {
	g := groups{by: BySources}
	at := map[string]int{}
	for i := range sessions {
		name := sessions[i].Source
		n, ok := at[name]
		if !ok {
			n = len(g.names)
			at[name], g.names = n, append(g.names, name)
		}
		g.of = append(g.of, n)
	}
	if len(g.names) >= fewestSources {
		return g
	}
	g = groups{by: BySessions}
	for i := range sessions {
		g.of, g.names = append(g.of, i), append(g.names, sessions[i].Name)
	}
	return g
}

// bootstrap draws groups with replacement, the same ones for every figure, so that figures can be
// compared. It is deterministic.
type bootstrap struct {
	groups
	times [][]uint16 // how often each group was drawn, by draw
}

func newBootstrap(g groups) *bootstrap {
	b := &bootstrap{groups: g}
	if len(g.names) < 2 {
		return b
	}
	random := rand.New(rand.NewPCG(1, uint64(len(g.names))))
	b.times = make([][]uint16, resamples)
	for i := range b.times {
		b.times[i] = make([]uint16, len(g.names))
		for range g.names {
			b.times[i][random.IntN(len(g.names))]++
		}
	}
	return b
}

// ratio is the interval of a ratio of sums over sessions. It contains the ratio itself.
func (b *bootstrap) ratio(of func(session int) (part, whole float64)) Range {
	parts, wholes := make([]float64, len(b.names)), make([]float64, len(b.names))
	var part, whole float64
	for i, g := range b.of {
		p, w := of(i)
		parts[g], wholes[g] = parts[g]+p, wholes[g]+w
		part, whole = part+p, whole+w
	}
	is := ratio(part, whole)
	if len(b.times) == 0 {
		return Range{is, is}
	}
	drawn := make([]float64, 0, len(b.times))
	for _, times := range b.times {
		var part, whole float64
		for g, n := range times {
			part, whole = part+float64(n)*parts[g], whole+float64(n)*wholes[g]
		}
		if whole > 0 {
			drawn = append(drawn, ratio(part, whole))
		}
	}
	if len(drawn) == 0 {
		return Range{is, is}
	}
	slices.Sort(drawn)
	r := Range{min(is, quantile(drawn, 0.05)), max(is, quantile(drawn, 0.95))}
	if r.High-r.Low < 1e-12*math.Abs(is) { // rounding
		return Range{is, is}
	}
	return r
}

// quantile interpolates in sorted values; of none it is 0.
func quantile(sorted []float64, at float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	place := at * float64(len(sorted)-1)
	k := int(place)
	if k+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[k] + (place-float64(k))*(sorted[k+1]-sorted[k])
}

// countSources is how many sources sessions have.
func countSources(sessions []Recorded) int {
	seen := map[string]bool{}
	for i := range sessions {
		seen[sessions[i].Source] = true
	}
	return len(seen)
}
