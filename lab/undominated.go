package lab

import "math"

// Undominated says of each policy whether it stands on the frontier: no other has a bill as low with regrets as few, and one of the two lower. Of
// equal ones all do; one without a bill or a rate does not.
func Undominated(policies []Standing) []bool {
	out := make([]bool, len(policies))
	for i := range policies {
		p := &policies[i]
		out[i] = p.known()
		for j := range policies {
			q := &policies[j]
			if q.known() && q.Ratio <= p.Ratio && q.Rate <= p.Rate && (q.Ratio < p.Ratio || q.Rate < p.Rate) {
				out[i] = false
				break
			}
		}
	}
	return out
}

// known says whether the policy has a place between bill and regret.
func (s *Standing) known() bool {
	return s.Ratio > 0 && !math.IsInf(s.Ratio, 0) && s.Rate >= 0 && !math.IsInf(s.Rate, 0)
}

// Least is the bound relative to the baseline: the share of its bill below which no policy can come. 0: it was not computed.
func (r *Report) Least() float64 {
	for _, wanted := range []bool{true, false} { // the baseline's own says it without a second rounding
		for i := range r.Policies {
			if s := &r.Policies[i]; s.known() && s.Bound > 0 && !math.IsInf(s.Bound, 0) && (s.Name == r.Baseline) == wanted {
				return s.Ratio / s.Bound
			}
		}
	}
	return 0
}
