package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/winnowhq/winnow/policy"
	"github.com/winnowhq/winnow/replay"
	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/schedule"
)

// candidate is a choice by name. It may differ by source: what was learned is judged on sources that it was not learned from.
type candidate struct {
	name string
	may  func(source string) choice
}

// gains of the schedule under which each candidate is replayed; its figures are those of all together. One alone hangs on where its commits happen to fall.
var gains = []float64{0.05, 0.07, schedule.DefaultGain, 0.14, 0.2}

// same is a candidate that learned nothing.
func same(name string, may choice) candidate {
	return candidate{name, func(string) choice { return may }}
}

// tally is what sessions cost under a choice, in the terms of published comparisons.
type tally struct {
	bill, nothing  float64
	regrets, steps int
	// At once: what lies if each text goes as soon as it may, whenever that pays. Tokens of the texts over the steps, those of them that are not sent, and how
	// often what went is needed.
	carried, unsent float64
	needs           int
}

func (t *tally) add(o tally) {
	t.bill, t.nothing, t.regrets, t.steps = t.bill+o.bill, t.nothing+o.nothing, t.regrets+o.regrets, t.steps+o.steps
	t.carried, t.unsent, t.needs = t.carried+o.carried, t.unsent+o.unsent, t.needs+o.needs
}

func (t tally) ratio() float64 { return t.bill / t.nothing }
func (t tally) rate() float64  { return 100 * float64(t.regrets) / float64(t.steps) }

// standing is a candidate with what it cost, by source.
type standing struct {
	candidate
	by map[string]tally
}

func (s standing) total(leave string) (all tally) {
	for source, t := range s.by {
		if source != leave {
			all.add(t)
		}
	}
	return all
}

// judge replays sessions under candidates.
func judge(ctx context.Context, sessions []recorded, candidates []candidate) ([]standing, error) {
	terms := replay.Reference()
	options := replay.Options{Terms: &terms}
	nothing, err := replay.Named("nothing/nolimit", policy.Defaults(), nil)
	if err != nil {
		return nil, err
	}
	costs := make([][]tally, len(candidates))
	for i := range costs {
		costs[i] = make([]tally, len(sessions))
	}
	var group sync.WaitGroup
	work := make(chan int)
	errs := make([]error, len(sessions))
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for k := range work {
				s := sessions[k]
				full, err := replay.Run(ctx, s.trace, nothing, options)
				if err != nil {
					errs[k] = err
					continue
				}
				for i, c := range candidates {
					var idle rule.Rule
					may := c.may(s.source)
					if may != nil {
						idle = newChosen(s.texts, may)
					}
					for _, gain := range gains {
						o, err := replay.Run(ctx, s.trace, setup(idle, gain), options)
						if err != nil {
							errs[k] = err
							break
						}
						costs[i][k].add(tally{bill: o.Bill.Total(), nothing: full.Bill.Total(), regrets: o.Regrets, steps: o.Steps})
					}
					if may != nil {
						s.texts.atOnce(may, &costs[i][k])
					}
				}
			}
		})
	}
	for k := range sessions {
		work <- k
	}
	close(work)
	group.Wait()
	var out []standing
	for i, c := range candidates {
		by := map[string]tally{}
		for k, s := range sessions {
			if errs[k] != nil {
				return nil, fmt.Errorf("%s: %w", s.trace.Name, errs[k])
			}
			t := by[s.source]
			t.add(costs[i][k])
			by[s.source] = t
		}
		out = append(out, standing{c, by})
	}
	return out, nil
}

// atOnce follows each text until it goes, and on.
func (x *texts) atOnce(may choice, sum *tally) {
	for _, t := range x.all {
		hidden, fetched := false, false
		for step := t.made + 1; step < x.steps; step++ {
			sum.carried += float64(t.tokens)
			if !hidden && !fetched && t.tokens >= least && may(x.at(t, step-1)) {
				hidden = true
			}
			if hidden {
				sum.unsent += float64(t.tokens)
				if t.neededAfter(step-1) == step {
					sum.needs++
					hidden, fetched = false, true // what was fetched again stays
				}
			}
		}
	}
}

// picked is what somebody gets who chooses among candidates by their cost on all other sources, at most so many regrets there, and keeps it on the one left out.
func picked(of []standing, sources []string, regrets float64) (sum tally, names []string) {
	for _, source := range sources {
		best := -1
		for i, s := range of {
			t := s.total(source)
			if t.rate() <= regrets && (best < 0 || t.ratio() < of[best].total(source).ratio()) {
				best = i
			}
		}
		if best < 0 {
			best = slices.IndexFunc(of, func(s standing) bool {
				return !slices.ContainsFunc(of, func(o standing) bool { return o.total(source).rate() < s.total(source).rate() })
			})
		}
		sum.add(of[best].by[source])
		names = append(names, of[best].name)
	}
	return sum, names
}
