package lab

import (
	"maps"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/winnowhq/winnow/plan/budget"
	"github.com/winnowhq/winnow/plan/policy"
	"github.com/winnowhq/winnow/plan/schedule"
	"github.com/winnowhq/winnow/summarize/offline"
)

// figures of a policy over the sessions of a source.
type figures struct{ bill, region, before, missed, regions, steps float64 }

func (f figures) plus(g figures) figures {
	return figures{f.bill + g.bill, f.region + g.region, f.before + g.before, f.missed + g.missed,
		f.regions + g.regions, f.steps + g.steps}
}

// compare replays sessions under a setup, and under the one that it is compared with. dearer are
// the sessions that cost more than 2 % more.
func compare(t *testing.T, sources map[string][]*Trace, s, with Setup) (by map[string]figures, dearer int) {
	t.Helper()
	terms := Reference()
	var mu sync.Mutex
	var done sync.WaitGroup
	by = map[string]figures{}
	slots := make(chan bool, runtime.GOMAXPROCS(0))
	for source, traces := range sources {
		for _, trace := range traces {
			slots <- true
			done.Go(func() {
				defer func() { <-slots }()
				o := Options{Terms: &terms, Summarizer: offline.New()}
				was, err := Run(t.Context(), trace, with, o)
				if err != nil {
					t.Error(err)
					return
				}
				o.Regions = true
				is, err := Run(t.Context(), trace, s, o)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				by[source] = by[source].plus(figures{is.Bill.Total(), is.Region.Bill.Total(), was.Bill.Total(),
					float64(is.MissedSteps), float64(is.Region.MissedSteps), float64(is.Steps)})
				if is.Bill.Total() > 1.02*was.Bill.Total() {
					dearer++
				}
			})
		}
	}
	done.Wait()
	return by, dearer
}

func nothingElse(threshold budget.Threshold) policy.Policy {
	p, _ := policy.New(policy.Balanced, policy.Defaults())
	p.Rules, p.Prune, p.Schedule = nil, false, schedule.Eager{}
	if threshold != 0 {
		p.Budget.Thresholds = map[string]budget.Threshold{"**": threshold}
	}
	return p
}

func balanced(threshold budget.Threshold) policy.Policy {
	o := policy.Defaults()
	if threshold != 0 {
		o.Threshold = map[string]budget.Threshold{"**": threshold}
	}
	p, _ := policy.New(policy.Balanced, o)
	return p
}

// What `balanced` costs and what it misses on recorded sessions of sources on which nothing of it
// was chosen, of at most two sessions each. It must hold whichever source is left out: no source
// carries it alone.
func TestBalanced_onOtherSources(t *testing.T) {
	sources := bySource(t, 30)
	sessions := 0
	for source, traces := range sources {
		slices.SortFunc(traces, func(a, b *Trace) int { return a.Steps() - b.Steps() })
		sources[source] = traces[:min(2, len(traces))]
		sessions += len(sources[source])
	}
	nothing, compaction := Setup{Policy: nothingElse(0), Window: Unlimited}, Setup{Policy: nothingElse(0), Window: 200_000}
	for _, goal := range []struct {
		name        string
		setup, with Setup
		most, loses float64 // of the other's bill; missed steps in 100
		dearer      int     // sessions that cost over 2 % more
	}{
		{"no limit, of nothing", Setup{Policy: balanced(0), Window: Unlimited}, nothing, 0.69, 1.5, 1},
		{"the same with the economic threshold", Setup{Policy: balanced(budget.Economic), Window: Unlimited}, nothing, 0.61, 4.3, 0},
		{"a window of 200k, of compaction alone", Setup{Policy: balanced(0), Window: 200_000}, compaction, 0.92, 4.8, 0},
	} {
		by, dearer := compare(t, sources, goal.setup, goal.with)
		var all figures
		for _, f := range by {
			all = all.plus(f)
		}
		t.Logf("%-38s %.3f, %.2f missed steps in 100; with regions %.3f, %.2f; dearer in %d of %d sessions", goal.name,
			all.bill/all.before, 100*all.missed/all.steps, all.region/all.before, 100*all.regions/all.steps, dearer, sessions)
		if dearer > goal.dearer {
			t.Errorf("%s: %d sessions cost over 2 %% more, want at most %d", goal.name, dearer, goal.dearer)
		}
		var costs, misses float64 // the most, with a source left out
		for _, left := range slices.Sorted(maps.Keys(by)) {
			var others figures
			for source, f := range by {
				if source != left {
					others = others.plus(f)
				}
			}
			ratio, missed := others.bill/others.before, 100*others.missed/others.steps
			costs, misses = max(costs, ratio), max(misses, missed)
			if ratio > goal.most || missed > goal.loses {
				t.Errorf("%s, without source %s: %.3f at %.2f missed steps, want at most %.2f at %.1f", goal.name, left,
					ratio, missed, goal.most, goal.loses)
			}
		}
		t.Logf("%-38s with a source left out at most %.3f, %.2f missed steps in 100", "", costs, misses)
	}
}
