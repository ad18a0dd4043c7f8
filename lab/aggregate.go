package lab

import (
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
	for i, s := range l.Setups {
		r.Policies = append(r.Policies, standing(s, sessions, i, base))
	}
	for i := range sessions {
		r.Paid = r.Paid.plus(sessions[i].Paid)
	}
	if base >= 0 && len(sessions) > 0 {
		r.Differs = r.Paid.differs(r.Policies[base], l.Options)
	}
	at := r.advise(l.Setups, l.Regrets)
	if len(sessions) > 0 {
		r.compare(base, at)
	}
	return r
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
	o.Bill = Bill{o.Bill.Read * by, o.Bill.Write * by, o.Bill.Output * by, o.Bill.Compact * by, o.Bill.Regret * by}
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
func standing(s Setup, sessions []Recorded, at, base int) Standing {
	st := Standing{Name: s.Name, Window: s.Window, Group: s.Group}
	var total, before, bound, mean float64
	bounded, counted := len(sessions) > 0, 0
	for i := range sessions {
		o := &sessions[i].Outcomes[at]
		st.Bill = st.Bill.Add(o.Bill)
		st.Tokens = st.Tokens.add(o.Tokens)
		st.Steps += o.Steps
		st.Regrets += o.Regrets
		st.Commits += o.Commits
		st.Folds += o.Folds
		st.Over += o.Over
		bill, was := o.Bill.Total(), sessions[i].Outcomes[base].Bill.Total()
		total, before, bound = total+bill, before+was, bound+sessions[i].Bound
		bounded = bounded && sessions[i].Bound > 0
		if was <= 0 {
			continue
		}
		counted++
		mean += bill / was
		rise := bill/was - 1
		if rise > 1e-9 {
			st.Rose++
			st.Worst = max(st.Worst, rise)
		}
		if rise > riseShare {
			st.RoseMore++
		}
	}
	st.Ratio, st.Mean, st.Hits = ratio(total, before), ratio(mean, float64(counted)),
		ratio(float64(st.Tokens.Cached), float64(st.Tokens.Sent))
	st.Rate = 100 * ratio(float64(st.Regrets), float64(st.Steps))
	if bounded {
		st.Bound = ratio(total, bound)
	}
	return st
}

// add sums the tokens of two sessions; of Largest it takes the maximum.
func (t Tokens) add(u Tokens) Tokens {
	return Tokens{t.Sent + u.Sent, t.Cached + u.Cached, t.Output + u.Output, max(t.Largest, u.Largest)}
}

// ratio is 0 if b is not positive.
func ratio(a, b float64) float64 {
	if r := a / b; b > 0 && !math.IsInf(r, 0) {
		return r
	}
	return 0
}
