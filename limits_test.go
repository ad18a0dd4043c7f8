package winnow

import (
	"context"
	"testing"

	"github.com/winnowhq/winnow/budget"
	"github.com/winnowhq/winnow/policy"
	"github.com/winnowhq/winnow/session"
)

// told are the events about the budget that a subscription has, which is closed.
func told(s *Subscription) (all []Event) {
	s.Close()
	for e := range s.C {
		if e.Type == BudgetWarning || e.Type == BudgetOverflow {
			all = append(all, e)
		}
	}
	return all
}

func TestAutoOff_saysWhatItSeesAndFoldsNothing(t *testing.T) {
	for _, name := range []string{policy.Classic, policy.Aggressive, policy.Balanced} {
		s := withPolicy(name)
		s.Compaction.Auto = false
		l := newLab(t, Config{Models: small(100_000, 10_000), Settings: s})
		l.user("hi")
		l.says("hello")
		for _, tt := range []struct {
			input int
			want  EventType
		}{{30_000, ""}, {79_000, BudgetWarning}, {95_000, BudgetOverflow}, {96_000, BudgetOverflow}} {
			events := l.Subscribe(0)
			out, err := l.Observe(context.Background(), l.id, session.Usage{Input: tt.input, Output: 100})
			if err != nil || out.Compacted != nil || out.Verdict.Overflow != (tt.want == BudgetOverflow) {
				t.Errorf("%s, %d: %+v, error %v", name, tt.input, out, err)
			}
			all := told(events)
			if tt.want == "" && len(all) == 0 {
				continue
			}
			if len(all) != 1 || all[0].Type != tt.want || all[0].Verdict == nil || all[0].Text == "" {
				t.Errorf("%s, %d of 90,000: %+v, want one %s", name, tt.input, all, tt.want)
				continue
			}
			if off := all[0].Verdict.Code == budget.CodeAutoOff; off != (tt.want == BudgetOverflow) {
				t.Errorf("%s, %d: code %q", name, tt.input, all[0].Verdict.Code)
			}
		}
	}
}
