package lab

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Choice says what choosing a policy is worth on sessions that it was not chosen on: each source is
// held out in turn, a policy is chosen on the others, and judged on the one that was held out.
type Choice struct {
	// Of is what was chosen among: the group of a sweep, or "" for all policies but the baseline.
	Of string `json:"of"`
	// Bearable is how many missed steps in 100 the choice was allowed on the sessions it was made
	// on.
	Bearable float64 `json:"bearable"`
	Folds    []Fold  `json:"folds"`
	// Ratio is the bill of all folds relative to the baseline's, MissedStepsPer100 what they missed
	// in a hundred steps, each with its interval.
	Ratio             float64 `json:"relative"`
	Within            Range   `json:"within,omitzero"`
	MissedStepsPer100 float64 `json:"missedStepsPer100"`
	MissedWithin      Range   `json:"missedWithin,omitzero"`
	// Standing sums up all folds, each session under what was chosen without its source: the row
	// and the point that stand for the choice.
	Standing Standing `json:"standing"`
	// ToAlone is the bill relative to that of compaction alone, 0 if that was not replayed.
	ToAlone     float64 `json:"toAlone,omitzero"`
	AloneWithin Range   `json:"aloneWithin,omitzero"`
	// InSample is what would be chosen on all sessions, and its figures on these very sessions.
	InSample Fold `json:"inSample"`
}

// choiceOf is what the choices of a sweep are called in tables: "left out: balanced idleSteps". Of
// settings in step the first says enough, of those with one value it is that.
func choiceOf(group string) string {
	text := "left out:"
	for i, word := range strings.Fields(cmp.Or(group, "chosen")) {
		switch _, value, one := strings.Cut(word, "="); {
		case one:
			text += " " + value
		case i < 2:
			text += " " + word[strings.LastIndexByte(word, '.')+1:]
		}
	}
	return text
}

// Fold is what was chosen while some sessions were held out, and how it did on these.
type Fold struct {
	HeldOut  string  `json:"heldOut,omitzero"` // the source that was held out
	Sessions int     `json:"sessions"`         // how many sessions
	Steps    int     `json:"steps"`            // how many steps
	Chosen   string  `json:"chosen"`           // name of the chosen policy
	Ratio    float64 `json:"relative"`         // the bill as a multiple of the baseline's
	// Steps, in a hundred, that needed hidden text.
	MissedStepsPer100 float64 `json:"missedStepsPer100"`
	// Policy is the position of what was chosen in Report.Policies.
	Policy int `json:"-"`
}

// mostFolds is into how many folds the sessions of too few sources are divided.
const mostFolds = 5

// chooser chooses policies on some sessions and judges them on others.
type chooser struct {
	report *Report
	setups []Setup
	base   int // the baseline
	alone  int // compaction alone, -1: not replayed
	drawn  *bootstrap
	folds  groups
}

func (r *Report) chooser(setups []Setup, base int, drawn *bootstrap) *chooser {
	c := &chooser{report: r, setups: setups, base: base, alone: compactionAlone(setups), drawn: drawn,
		folds: drawn.groups}
	if c.folds.by == BySessions && len(c.folds.names) > mostFolds {
		c.folds.names, c.folds.of = nil, make([]int, len(r.Sessions))
		for i := range mostFolds {
			c.folds.names = append(c.folds.names, fmt.Sprintf("every %dth session from number %d", mostFolds, i+1))
		}
		for i := range c.folds.of {
			c.folds.of[i] = i % mostFolds
		}
	}
	return c
}

// compactionAlone is the policy that folds and prunes nothing, of several the one that folds last;
// -1 for none.
func compactionAlone(setups []Setup) int {
	best, latest := -1, 0.0
	for i, s := range setups {
		if !s.Alone() {
			continue
		}
		at := float64(s.Policy.Budget.Thresholds["*"])
		if at == 0 {
			return i // when the window is full
		}
		if at > latest {
			best, latest = i, at
		}
	}
	return best
}

// Alone reports whether a setup is compaction alone: it folds, and prunes nothing.
func (s Setup) Alone() bool { return s.Policy.Auto && len(s.Policy.Rules) == 0 }

// sums are what is added up of some sessions under a policy.
type sums struct {
	bill, was     float64
	missed, steps int
	sessions      int
}

// of sums up the sessions of a fold, or without it.
func (c *chooser) of(policy, fold int, without bool) (s sums) {
	for i := range c.report.Sessions {
		if (c.folds.of[i] == fold) == without {
			continue
		}
		all := c.report.Sessions[i].Outcomes
		o := &all[policy]
		s.bill, s.was = s.bill+o.Bill.Total(), s.was+all[c.base].Bill.Total()
		s.missed, s.steps, s.sessions = s.missed+o.MissedSteps, s.steps+o.Steps, s.sessions+1
	}
	return s
}

// best is, on the sessions without a fold (-1: on all), the cheapest of the policies with at most
// so many missed steps in 100, else the one that misses least; -1 for none.
func (c *chooser) best(among []int, bearable float64, fold int) int {
	best, at := -1, sums{}
	for _, policy := range among {
		s := c.of(policy, fold, true)
		was, is := per100(at.missed, at.steps), per100(s.missed, s.steps)
		better := is < was || is == was && s.bill < at.bill
		if is <= bearable {
			better = was > bearable || s.bill < at.bill
		}
		if best < 0 || better {
			best, at = policy, s
		}
	}
	return best
}

// choose holds out each fold in turn. It returns nil if there is nothing to choose from, or to
// hold out.
func (c *chooser) choose(name string, bearable float64, among []int) *Choice {
	if len(among) == 0 || len(c.folds.names) < 2 {
		return nil
	}
	out := &Choice{Of: name, Bearable: bearable, InSample: c.judge(c.best(among, bearable, -1), -1, true)}
	for fold := range c.folds.names {
		one := c.judge(c.best(among, bearable, fold), fold, false)
		one.HeldOut = c.folds.names[fold]
		out.Folds = append(out.Folds, one)
	}
	chosen := func(i int) int { return out.Folds[c.folds.of[i]].Policy }
	out.Standing = sumUpAll(Setup{Name: choiceOf(name) + " ≤ " + strconv.FormatFloat(bearable, 'g', -1, 64),
		Window: c.setups[out.InSample.Policy].Window}, c.report.Sessions, chosen, c.base, c.drawn)
	st := &out.Standing
	out.Ratio, out.Within, out.MissedStepsPer100, out.MissedWithin = st.Ratio, st.Within, st.MissedStepsPer100,
		st.MissedWithin
	if c.alone >= 0 {
		out.ToAlone, out.AloneWithin = c.figure(func(i int) (float64, float64) {
			all := c.report.Sessions[i].Outcomes
			return all[chosen(i)].Bill.Total(), all[c.alone].Bill.Total()
		})
	}
	return out
}

// figure is a ratio of sums over all sessions, with its interval.
func (c *chooser) figure(of func(i int) (float64, float64)) (float64, Range) {
	var part, whole float64
	for i := range c.report.Sessions {
		p, w := of(i)
		part, whole = part+p, whole+w
	}
	return ratio(part, whole), c.drawn.ratio(of)
}

// judge says how a policy does on the sessions of a fold, or without it.
func (c *chooser) judge(policy, fold int, without bool) Fold {
	s := c.of(policy, fold, without)
	return Fold{Sessions: s.sessions, Steps: s.steps, Chosen: c.report.Policies[policy].Name,
		Ratio: ratio(s.bill, s.was), MissedStepsPer100: per100(s.missed, s.steps), Policy: policy}
}

// holdOut fills in the choices of each sweep, or one among all policies but the baseline.
func (c *chooser) holdOut() {
	all := c.sweeps()
	if len(all) == 0 {
		all = []sweep{{among: c.where(func(i int) bool { return i != c.base })}}
	}
	for _, of := range all {
		all := c.bearable(of)
		for _, bearable := range all {
			if one := c.choose(of.name, bearable, of.among); one != nil {
				if len(all) > 1 { // one line in the picture
					one.Standing.Group = choiceOf(of.name)
				}
				c.report.Holdout = append(c.report.Holdout, *one)
			}
		}
	}
	switch {
	case len(c.report.Holdout) > 0:
	case len(c.folds.names) < 2:
		c.report.Unheld = "there is only one session, and nothing to choose on without it"
	default:
		c.report.Unheld = "there is no policy beside the baseline to choose"
	}
}

// inSample names what each sweep would choose on these very sessions.
func (c *chooser) inSample() {
	for _, of := range c.sweeps() {
		for _, bearable := range c.bearable(of) {
			name := c.report.Policies[c.best(of.among, bearable, -1)].Name
			if !slices.Contains(c.report.InSample, name) {
				c.report.InSample = append(c.report.InSample, name)
			}
		}
	}
}

// bearable is how many missed steps in 100 the choices of a sweep may cause.
func (c *chooser) bearable(of sweep) []float64 {
	if len(of.among) > 0 {
		if own := c.setups[of.among[0]].Bearable; len(own) > 0 {
			return own
		}
	}
	return []float64{c.report.Bearable}
}

// where are the policies of which something holds.
func (c *chooser) where(holds func(i int) bool) (all []int) {
	for i := range c.setups {
		if holds(i) {
			all = append(all, i)
		}
	}
	return all
}

// sweep is the policies of one sweep, which is named for their group.
type sweep struct {
	name  string
	among []int
}

// sweeps are the policies of each sweep.
func (c *chooser) sweeps() (all []sweep) {
	for i, s := range c.setups {
		if s.Group == "" {
			continue
		}
		at := slices.IndexFunc(all, func(of sweep) bool { return of.name == s.Group })
		if at < 0 {
			at, all = len(all), append(all, sweep{name: s.Group})
		}
		all[at].among = append(all[at].among, i)
	}
	return all
}
