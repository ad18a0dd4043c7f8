package main

import (
	"github.com/winnowhq/winnow/policy"
	"github.com/winnowhq/winnow/replay"
	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/schedule"
)

// choice says of a text, as it lies after a step, whether it may go.
type choice func(l lying) bool

// simple is the rule in use: so many idle steps for outputs, so many for arguments; 0 leaves them alone.
func simple(outputs, inputs int) choice {
	return func(l lying) bool {
		if l.input {
			return inputs > 0 && l.idle >= inputs
		}
		return outputs > 0 && l.idle >= outputs
	}
}

// least is how many tokens leaving a text out saves at least under the rule in use.
const least = 50

// chosen is the rule idle with another choice in place of its wait. It is of one session, whose texts are known beforehand, and what it chose after a step it
// does not ask again: it is for one replay at a time.
type chosen struct {
	texts *texts
	may   choice
	after map[int][]*text // what may go, by step
}

func newChosen(x *texts, may choice) *chosen { return &chosen{x, may, map[int][]*text{}} }

// Name is that of the rule whose place it takes.
func (*chosen) Name() string { return (*rule.Idle)(nil).Name() }

// Find asks of each text.
func (c *chosen) Find(w rule.Window) rule.Found {
	var found rule.Found
	if len(w.Messages) == 0 {
		return found
	}
	for _, t := range c.ready(c.texts.step[len(w.Messages)-1]) {
		if !gone(w.Ledger, t) {
			e := t.elision
			e.Because = "by choice"
			found.Elisions = append(found.Elisions, e)
		}
	}
	return found
}

// ready is what may go after a step.
func (c *chosen) ready(now int) []*text {
	if ready, asked := c.after[now]; asked {
		return ready
	}
	var ready []*text
	for _, t := range c.texts.all {
		if t.made > now {
			break
		}
		if t.tokens >= least && c.may(c.texts.at(t, now)) {
			ready = append(ready, t)
		}
	}
	c.after[now] = ready
	return ready
}

// gone reports whether a text is left out already, or something of its field.
func gone(ledger rule.Ledger, t *text) bool {
	part := t.elision.Part
	if !ledger.Touches(part) {
		return false
	}
	if t.input {
		return ledger.Has(rule.Key{Part: part, Field: rule.Input}) || ledger.Has(rule.Key{Part: part, Field: rule.Whole})
	}
	for _, f := range []rule.Field{rule.Output, rule.Error, rule.Attachments, rule.Whole} {
		if ledger.Has(rule.Key{Part: part, Field: f}) {
			return true
		}
	}
	return false
}

// setup is balanced without a limit, with the rule idle as given in place of its own; nil leaves it as it is.
func setup(idle rule.Rule, gain float64) replay.Setup {
	p, _ := policy.New(policy.Balanced, policy.Defaults())
	if e, ok := p.Schedule.(schedule.Economic); ok {
		e.Gain = gain
		p.Schedule = e
	}
	for i, r := range p.Rules {
		if idle != nil && r.Name() == idle.Name() {
			p.Rules[i] = idle
		}
	}
	return replay.Setup{Name: policy.Balanced, Policy: p, Window: replay.Unlimited}
}
