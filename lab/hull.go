package lab

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Gap is how much cheaper winnow is than simple policies that miss as many steps: compaction at any
// size, clearing of old outputs, and mixtures of two of them. The lower convex hull of their bills
// over their missed steps is the best that they offer.
type Gap struct {
	// The policy, or "at 2 missed steps" for the best that winnow's policies offer there.
	Name string `json:"name"`
	Best bool   `json:"best,omitzero"` // that best, and not one policy
	// Steps, in a hundred, that needed hidden text.
	MissedStepsPer100 float64 `json:"missedStepsPer100"`
	Ratio             float64 `json:"ratio"` // the bill as a multiple of the baseline's
	// The simple policy, or the two whose mixture is cheapest there.
	Against string  `json:"against"`
	Simple  float64 `json:"simple"`          // the ratio of the simple policies
	Less    float64 `json:"less"`            // how much less winnow costs, as a share of theirs
	Within  Range   `json:"within,omitzero"` // the interval of "less"
	// The same as "less" against simple policies that also keep the cache warm, or compact where it
	// is cold.
	Triggered       *float64 `json:"triggered,omitzero"`
	TriggeredWithin Range    `json:"triggeredWithin,omitzero"` // the interval of "triggered"
}

// Hulls are two curves through bills and missed steps: the cheapest that the simple policies of Gap
// offer at so many missed steps, and the cheapest that winnow's policies offer.
type Hulls struct {
	// Simple policies, from few missed steps to many. Between two neighbours lie their mixtures.
	Simple []Corner `json:"simple"`
	Winnow []Corner `json:"winnow"` // the same of winnow's policies
}

// Corner is a policy that no mixture of two others beats.
type Corner struct {
	Name string `json:"name"` // the policy
	// Steps, in a hundred, that needed hidden text.
	MissedStepsPer100 float64 `json:"missedStepsPer100"`
	Ratio             float64 `json:"ratio"` // the bill as a multiple of the baseline's
}

// corners are the corners of the lower convex hull, from left to right.
func corners(of []series) (hull []Corner) {
	var all []Corner
	for i := range of {
		if p := of[i].draw(nil); !math.IsInf(p.ratio, 0) && !math.IsNaN(p.ratio) {
			all = append(all, Corner{of[i].name, p.missed, p.ratio})
		}
	}
	slices.SortStableFunc(all, func(a, b Corner) int {
		return cmp.Or(cmp.Compare(a.MissedStepsPer100, b.MissedStepsPer100), cmp.Compare(a.Ratio, b.Ratio))
	})
	above := func(a, b, c Corner) bool { // b is on the line from a to c, or above it
		return (b.Ratio-a.Ratio)*(c.MissedStepsPer100-a.MissedStepsPer100) >=
			(c.Ratio-a.Ratio)*(b.MissedStepsPer100-a.MissedStepsPer100)
	}
	for _, c := range all {
		if n := len(hull); n > 0 && c.Ratio >= hull[n-1].Ratio {
			continue // one that misses less costs no more
		}
		for n := len(hull); n > 1 && above(hull[n-2], hull[n-1], c); n-- {
			hull = hull[:n-1]
		}
		hull = append(hull, c)
	}
	return hull
}

// simple reports whether a setup keeps everything, folds alone or clears old outputs. triggered:
// with keep-alive requests, or folds where the cache is cold.
func (s Setup) simple() (yes, triggered bool) {
	yes = s.Foreign
	for _, r := range s.Policy.Rules {
		_, clears := r.(cleared)
		yes = yes && clears
	}
	return yes, s.KeepWarm > 0 || s.Policy.ColdFold > 0
}

// own reports whether a setup is winnow's, not another's and not by the letter.
func (s Setup) own() bool { return !s.Foreign && !s.Policy.Pivot.SummaryAlone }

// point is a policy in the picture of bills and missed steps.
type point struct{ missed, ratio float64 }

// hullAt is the height of the lower convex hull of points at so many missed steps, infinite where all
// of them miss more. To miss less than one may costs nothing.
// It lies between the points from and to; where it is at one point, both are that one.
func hullAt(points []point, missed float64) (least float64, from, to int) {
	least = math.Inf(1)
	for i, a := range points {
		if a.missed > missed {
			continue
		}
		if a.ratio < least {
			least, from, to = a.ratio, i, i
		}
		for k, b := range points {
			if b.missed <= missed {
				continue
			}
			share := (missed - a.missed) / (b.missed - a.missed)
			if between := a.ratio + share*(b.ratio-a.ratio); between < least {
				least, from, to = between, i, k
			}
		}
	}
	return least, from, to
}

// series is a policy, or a choice, by groups of sessions.
type series struct {
	name                     string
	bill, was, missed, steps []float64
}

// draw is the point of a series where each group counts so often; nil: once.
func (s *series) draw(times []uint16) point {
	var bill, was, missed, steps float64
	for g := range s.bill {
		n := 1.0
		if times != nil {
			n = float64(times[g])
		}
		bill, was, missed, steps = bill+n*s.bill[g], was+n*s.was[g], missed+n*s.missed[g], steps+n*s.steps[g]
	}
	return point{100 * ratio(missed, steps), ratio(bill, was)}
}

func points(of []series, times []uint16) []point {
	all := make([]point, len(of))
	for i := range of {
		all[i] = of[i].draw(times)
	}
	return all
}

// series adds up outcomes by groups of sessions; which names the policy that counts for a session.
func (c *chooser) series(name string, which func(session int) int) series {
	n := len(c.drawn.names)
	s := series{name, make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)}
	for i, g := range c.drawn.of {
		all := c.report.Sessions[i].Outcomes
		o := &all[which(i)]
		s.bill[g] += o.Bill.Total()
		s.was[g] += all[c.base].Bill.Total()
		s.missed[g] += float64(o.MissedSteps)
		s.steps[g] += float64(o.Steps)
	}
	return s
}

// compared are the policies that Gap compares. Where policies were chosen with sessions left out, the
// choices stand for their sweeps.
func (c *chooser) compared() (simple, triggered, own []series) {
	for i, s := range c.setups {
		one := c.series(s.Name, func(int) int { return i })
		isSimple, hasTrigger := s.simple()
		switch held := slices.ContainsFunc(c.report.Holdout, func(h Choice) bool { return h.Of == s.Group }); {
		case isSimple && !hasTrigger:
			simple, triggered = append(simple, one), append(triggered, one)
		case isSimple:
			triggered = append(triggered, one)
		case s.own() && (s.Group == "" || !held):
			own = append(own, one)
		}
	}
	for i := range c.report.Holdout {
		h := &c.report.Holdout[i]
		if h.Of != "" {
			own = append(own, c.series(h.Standing.Name, func(session int) int {
				return h.Folds[c.folds.of[session]].Policy
			}))
		}
	}
	return simple, triggered, own
}

// gaps compares winnow's policies with the simple ones. There is nothing to say with fewer than two
// of these.
func (c *chooser) gaps() (all []Gap, hulls *Hulls) {
	simple, triggered, own := c.compared()
	if len(simple) < 2 || len(own) == 0 {
		return nil, nil
	}
	more := len(triggered) > len(simple)
	gap := func(name string, best bool, where func(times []uint16) point) {
		p := where(nil)
		g := Gap{Name: name, Best: best, MissedStepsPer100: p.missed, Ratio: p.ratio}
		var from, to int
		if g.Simple, from, to = hullAt(points(simple, nil), p.missed); from == to {
			g.Against = simple[from].name
		} else {
			g.Against = simple[from].name + ", " + simple[to].name
		}
		if math.IsInf(g.Simple, 1) || math.IsInf(p.ratio, 1) {
			return
		}
		g.Less, g.Within = c.less(simple, where)
		if more {
			less, within := c.less(triggered, where)
			g.Triggered, g.TriggeredWithin = &less, within
		}
		all = append(all, g)
	}
	for i := range own {
		gap(own[i].name, false, own[i].draw)
	}
	for _, missed := range []float64{1, 2, 3} {
		gap(fmt.Sprintf("at %.0f missed steps", missed), true, func(times []uint16) point {
			least, _, _ := hullAt(points(own, times), missed)
			return point{missed, least}
		})
	}
	return all, &Hulls{corners(simple), corners(own)}
}

// less is how much less winnow costs than the hull of other policies, and its interval.
func (c *chooser) less(others []series, where func(times []uint16) point) (float64, Range) {
	of := func(times []uint16) float64 {
		p := where(times)
		simple, _, _ := hullAt(points(others, times), p.missed)
		return 1 - ratio(p.ratio, simple)
	}
	is := of(nil)
	var drawn []float64
	for _, times := range c.drawn.times {
		if v := of(times); !math.IsInf(v, 0) && !math.IsNaN(v) {
			drawn = append(drawn, v)
		}
	}
	if len(drawn) == 0 {
		return is, Range{is, is}
	}
	slices.Sort(drawn)
	return is, Range{min(is, quantile(drawn, 0.05)), max(is, quantile(drawn, 0.95))}
}
