package policy_test

import (
	"testing"

	"github.com/winnowhq/winnow/plan/policy"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/token"
)

// Prices of a prefix cache as a share of the price of input: Anthropic's, with a lifetime of five minutes.
const (
	readPrice  = 0.1
	writePrice = 1.25
)

// bill plays a session request by request and sums what the requests cost: what begins like the request before is read from the cache, the rest is
// written to it. commit says after how many messages what the rules find is committed.
func bill(p policy.Policy, log []session.Message, commit func(messages int) bool) (cost float64, rewrites int) {
	facts := rule.NewFacts(token.Chars4{})
	var ledger rule.Ledger
	var before []session.Message
	for n := 1; n <= len(log); n++ {
		if commit(n) {
			found := p.Find(policy.State{Log: log[:n], Window: log[:n], Ledger: ledger, Facts: facts}).Elisions
			ledger = ledger.With(found...)
		}
		shown := view.Render(log[:n], ledger)
		same := 0
		for same < len(before) && textOf(before[same]) == textOf(shown[same]) {
			same++
		}
		if same < len(before) {
			rewrites++
		}
		for i := range shown {
			price := writePrice
			if i < same {
				price = readPrice
			}
			cost += price * float64(facts.Total(log[i:i+1])-rule.Saves(of(ledger, &log[i])))
		}
		before = shown
	}
	return cost, rewrites
}

func of(ledger rule.Ledger, m *session.Message) (all []rule.Elision) {
	for j := range m.Parts {
		all = append(all, ledger.Of(m.Parts[j].ID)...)
	}
	return all
}

// Under a prefix cache what matters is when: one commit in the middle of a session makes it cheaper, a commit at every step does not make up for
// what it rewrites.
func TestCost_aBatchPaysAndACommitEachStepPaysLess(t *testing.T) {
	log := coder(200)
	o := policy.Defaults()
	o.Protect = 10_000
	s := policy.DefaultStrategies(policy.Balanced)
	s.QuietSteps = 0
	o.Strategies = &s
	p, _ := policy.New(policy.Balanced, o)
	never, _ := bill(p, log, func(int) bool { return false })
	always, many := bill(p, log, func(int) bool { return true })
	batched, one := bill(p, log, func(n int) bool { return n == len(log)/2 })
	t.Logf("never 1.000; always %.3f with %d rewrites; batched %.3f with %d", always/never, many, batched/never, one)
	if one != 1 || batched >= never {
		t.Errorf("one batch with %d rewrites costs %.3f of doing nothing, want less than 1", one, batched/never)
	}
	if always <= batched {
		t.Errorf("a commit at each step (%d) costs %.3f, one batch %.3f: the batch should be cheaper", many, always/never, batched/never)
	}
}
