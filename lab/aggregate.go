package lab

import (
	"cmp"
	"math"
	"slices"
)

// report sums up.
func (l *Lab) report(sessions []Recorded, skipped []Skipped) Report {
	relative := relate(sessions)
	r := Report{Sessions: sessions, Baseline: baseline(l.Setups, l.Baseline), Relative: relative, Prices: l.Prices,
		Skipped: skipped}
	if r.Sessions == nil {
		r.Sessions = []Recorded{}
	}
	base := slices.IndexFunc(l.Setups, func(s Setup) bool { return s.Name == r.Baseline })
	sources := sourcesOf(sessions)
	r.By, r.Sources = sources.by, countSources(sessions)
	drawn := newBootstrap(sources)
	for i, s := range l.Setups {
		r.Policies = append(r.Policies, standing(s, sessions, i, base, drawn))
	}
	for i := range sessions {
		r.Paid = r.Paid.plus(sessions[i].Paid)
	}
	if base >= 0 && len(sessions) > 0 {
		r.Differs = r.Paid.differs(r.Policies[base], l.Options)
	}
	if len(sessions) == 0 {
		r.Unadvised = "there is no session to recommend anything by"
		return r
	}
	r.Bearable = cmp.Or(max(0, l.Regrets), DefaultRegrets)
	c := r.chooser(l.Setups, base, drawn)
	if l.Holdout {
		c.holdOut()
	} else {
		c.inSample()
	}
	if base >= 0 {
		r.Gaps, r.Hulls = c.gaps()
	}
	r.compare(base, c.advise())
	return r
}

// Against says for people what ratios refer to: "everything kept" for the policy that leaves nothing
// out.
func (r *Report) Against() string {
	if r.Baseline == Nothing {
		return "everything kept"
	}
	return r.Baseline
}

// baseline is the policy that ratios refer to: the named one, else nothing, else the first.
func baseline(setups []Setup, name string) string {
	for _, name := range []string{name, Nothing} {
		if slices.ContainsFunc(setups, func(s Setup) bool { return s.Name == name }) {
			return name
		}
	}
	if len(setups) == 0 {
		return ""
	}
	return setups[0].Name
}

// relate puts all bills into one unit: US dollars, or millions of input tokens if the price of one
// session is unknown.
func relate(sessions []Recorded) (relative bool) {
	relative = slices.ContainsFunc(sessions, func(s Recorded) bool { return s.Input == 0 })
	for i := range sessions {
		s := &sessions[i]
		if !relative || s.Input == 0 {
			continue
		}
		by := 1 / s.Input
		s.Bound *= by
		for j := range s.Outcomes {
			s.Outcomes[j].scale(by)
		}
	}
	return relative
}

// scale converts an outcome's costs to another unit.
func (o *Outcome) scale(by float64) {
	o.Bill = Bill{o.Bill.Read * by, o.Bill.Write * by, o.Bill.Output * by, o.Bill.Compact * by, o.Bill.Regret * by,
		o.Bill.Warm * by}
	o.Base *= by
	o.Events, o.Curve = slices.Clone(o.Events), slices.Clone(o.Curve)
	for i := range o.Events {
		o.Events[i].Cost *= by
	}
	for i := range o.Curve {
		o.Curve[i] *= by
	}
	if o.Region != nil {
		region := *o.Region
		region.scale(by)
		o.Region = &region
	}
}

// riseShare is the share by which a bill must rise to count as a real rise.
const riseShare = 0.02

// standing sums a policy up over all sessions.
func standing(s Setup, sessions []Recorded, at, base int, drawn *bootstrap) Standing {
	return sumUpAll(s, sessions, func(int) int { return at }, base, drawn)
}

// sumUpAll sums up an outcome of each session, that of the policy which names, and the same with
// regions if all have them.
func sumUpAll(s Setup, sessions []Recorded, which func(session int) int, base int, drawn *bootstrap) Standing {
	outcome := func(i int) *Outcome { return &sessions[i].Outcomes[which(i)] }
	st := sumUp(s, sessions, base, drawn, outcome)
	for i := range sessions {
		if outcome(i).Region == nil {
			return st
		}
	}
	if len(sessions) > 0 {
		region := sumUp(s, sessions, base, drawn, func(i int) *Outcome { return outcome(i).Region })
		st.Region = &region
	}
	return st
}

// sumUp sums up an outcome of each session.
func sumUp(s Setup, sessions []Recorded, base int, drawn *bootstrap, outcome func(i int) *Outcome) Standing {
	st := Standing{Name: s.Name, Window: s.Window, Group: s.Group}
	var total, before, bound, mean, extra float64
	var edits, inputs int
	var ratios []float64
	bounded := len(sessions) > 0
	for i := range sessions {
		o := outcome(i)
		st.Bill = st.Bill.Add(o.Bill)
		st.Tokens = st.Tokens.add(o.Tokens)
		st.Steps += o.Steps
		st.Regrets += o.MissedItems
		st.MissedSteps += o.MissedSteps
		st.Commits += o.Commits
		st.Folds += o.Folds
		st.Over += o.Over
		edits, inputs, extra = edits+o.LostEdits, inputs+o.LostInputs, extra+o.Extra()
		bill, was := o.Bill.Total(), sessions[i].Outcomes[base].Bill.Total()
		total, before, bound = total+bill, before+was, bound+sessions[i].Bound
		bounded = bounded && sessions[i].Bound > 0
		if was <= 0 {
			continue
		}
		mean += bill / was
		ratios = append(ratios, bill/was)
		rise := bill/was - 1
		if rise > 1e-9 {
			st.Rose++
			st.Worst = max(st.Worst, rise)
		}
		if rise > riseShare {
			st.RoseMore++
		}
	}
	st.Ratio, st.Mean, st.Hits = ratio(total, before), ratio(mean, float64(len(ratios))),
		ratio(float64(st.Tokens.Cached), float64(st.Tokens.Sent))
	slices.Sort(ratios)
	st.P10, st.P50, st.P90 = quantile(ratios, 0.1), quantile(ratios, 0.5), quantile(ratios, 0.9)
	st.MissedStepsPer100, st.MissedItemsPer100 = per100(st.MissedSteps, st.Steps), per100(st.Regrets, st.Steps)
	st.LostEditsPer100, st.LostInputsPer100 = per100(edits, st.Steps), per100(inputs, st.Steps)
	st.Lambda = Lambda{Some: ratio(total+SomeLonger*extra, before), Much: ratio(total+MuchLonger*extra, before)}
	if even := BreakEven(total, extra, before); !math.IsInf(even, 0) {
		st.Lambda.BreakEven = &even
	}
	st.Within = drawn.ratio(func(i int) (float64, float64) {
		return outcome(i).Bill.Total(), sessions[i].Outcomes[base].Bill.Total()
	})
	st.MissedWithin = drawn.ratio(func(i int) (float64, float64) {
		return 100 * float64(outcome(i).MissedSteps), float64(outcome(i).Steps)
	})
	if bounded {
		st.Bound = ratio(total, bound)
	}
	return st
}

// add sums the tokens of two sessions; of Largest it takes the maximum.
func (t Tokens) add(u Tokens) Tokens {
	return Tokens{t.Sent + u.Sent, t.Cached + u.Cached, t.Output + u.Output, max(t.Largest, u.Largest)}
}

// per100 is a count in a hundred steps.
func per100(n, steps int) float64 { return 100 * ratio(float64(n), float64(steps)) }

// ratio is 0 if b is not positive.
func ratio(a, b float64) float64 {
	if r := a / b; b > 0 && !math.IsInf(r, 0) {
		return r
	}
	return 0
}
