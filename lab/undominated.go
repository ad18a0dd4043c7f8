package lab

import "math"

// Undominated reports for each policy whether it is on the frontier: no other is as good in bill
// and missed steps, and better in one of them. Of equal ones all are; one without a bill or a rate
// is not.
func Undominated(policies []Standing) []bool {
	out := make([]bool, len(policies))
	for i := range policies {
		p := &policies[i]
		out[i] = p.known()
		for j := range policies {
			q := &policies[j]
			if q.known() && q.Ratio <= p.Ratio && q.MissedStepsPer100 <= p.MissedStepsPer100 &&
				(q.Ratio < p.Ratio || q.MissedStepsPer100 < p.MissedStepsPer100) {
				out[i] = false
				break
			}
		}
	}
	return out
}

// known reports whether bill and rate are known.
func (s *Standing) known() bool {
	return s.Ratio > 0 && !math.IsInf(s.Ratio, 0) && s.MissedStepsPer100 >= 0 && !math.IsInf(s.MissedStepsPer100, 0)
}

// Least returns the bound relative to the baseline; 0 if it was not computed.
func (r *Report) Least() float64 {
	for _, wanted := range []bool{true, false} { // the baseline's own says it without a second rounding
		for i := range r.Policies {
			if s := &r.Policies[i]; s.known() && s.Bound > 0 && !math.IsInf(s.Bound, 0) &&
				(s.Name == r.Baseline) == wanted {
				return s.Ratio / s.Bound
			}
		}
	}
	return 0
}
