package lab

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/policy"
	"github.com/winnowhq/winnow/plan/rule/ruletest"
	"github.com/winnowhq/winnow/plan/schedule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/token"
)

// unfolded are policies without a limit, so that they make no pivots.
func unfolded() []Setup {
	var all []Setup
	for _, name := range []string{policy.Classic, policy.Aggressive, policy.Balanced} {
		p, _ := policy.New(name, policy.Defaults())
		all = append(all, Setup{Name: name, Policy: p, Window: Unlimited})
		for _, s := range []schedule.Schedule{
			schedule.Eager{}, schedule.Eager{AtTurnEnd: true}, schedule.NewEconomic(), schedule.Economic{Ahead: 0.5}, schedule.Economic{Ahead: 100},
		} {
			p := p
			p.Schedule = s
			all = append(all, Setup{Name: fmt.Sprintf("%s, %s %+v", name, s.Name(), s), Policy: p, Window: Unlimited})
		}
	}
	return all
}

// happened is the log of a session when it has ended.
func happened(s ruletest.Script) session.Session {
	var log []session.Message
	for _, e := range s {
		log = e.On(log)
	}
	return session.Session{Messages: log}
}

func TestBound_noPolicyIsBilledLess(t *testing.T) {
	setups := unfolded()
	terms := Reference()
	n := 0
	rapid.Check(t, func(r *rapid.T) {
		drawn := happened(ruletest.Sessions(40).Draw(r, "session"))
		trace := NewTrace(drawn, model.Model{}, token.Linear{})
		trace.Base = 100 * rapid.IntRange(0, 50).Draw(r, "base")
		o := Options{Terms: &terms, Detail: true}
		bound := Bound(trace, o)
		for _, s := range setups {
			out, err := Run(t.Context(), trace, s, o)
			if err != nil {
				r.Fatal(err)
			}
			if !keeps(trace, out, withAttachments(trace)) {
				continue
			}
			if out.Commits > 0 {
				n++
			}
			if out.Bill.Total() < bound*(1-1e-9) {
				r.Errorf("%s is billed %v, the bound is %v (%d regrets for %v)", s.Name, out.Bill.Total(), bound, out.Regrets, out.Bill.Regret)
			}
		}
	})
	t.Log(n, "replays with a commit")
}

func TestBound_noPolicyIsBilledLessOnTheCorpus(t *testing.T) {
	terms := Reference()
	traces := corpus(t, 30)
	var all, billed float64
	for _, trace := range traces {
		all += Bound(trace, Options{Terms: &terms})
	}
	for _, word := range []string{"nothing", "classic/nolimit", "aggressive/nolimit", "balanced/nolimit", "clear:3@100k/nolimit", "supersede/nolimit"} {
		s, err := Named(word, policy.Defaults(), nil)
		if err != nil {
			t.Fatal(err)
		}
		billed = 0
		for _, trace := range traces {
			out, err := Run(t.Context(), trace, s, Options{Terms: &terms})
			if err != nil {
				t.Fatal(err)
			}
			billed += out.Bill.Total()
			if bound := Bound(trace, Options{Terms: &terms}); out.Bill.Total() < bound {
				t.Errorf("%s, %s: billed %v, the bound is %v (%d regrets)", trace.Name, word, out.Bill.Total(), bound, out.Regrets)
			}
		}
		t.Logf("%s is billed %.2f of the bound", word, billed/all)
	}
}

// withAttachments returns the ids of the parts that have attachments, which may be left out without
// their text.
func withAttachments(t *Trace) map[string]bool {
	both := map[string]bool{}
	for i := range t.log {
		for _, p := range t.log[i].Parts {
			if p.State != nil && len(p.State.Attachments) > 0 {
				both[p.ID] = true
			}
		}
	}
	return both
}

// keeps reports whether a replay left out only what a bound allows to: of calls, nothing before it
// was sent once, and no attachments by themselves.
func keeps(t *Trace, out Outcome, both map[string]bool) bool {
	for _, e := range out.Events {
		if e.Kind != Committed {
			continue
		}
		for _, part := range e.Parts {
			at := t.parts[part]
			if at.text >= 0 || both[part] || t.items[at.output].step+1 >= e.Step {
				return false
			}
		}
	}
	return true
}
