package schedule_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/schedule"
)

// candidates at these positions, in tokens, that save so much each; what is negative is found by
// the backward scan.
func candidates(at, saves []int) ([]rule.Elision, func(rule.Elision) int) {
	var all []rule.Elision
	positions := map[string]int{}
	for i := range at {
		id := string(rune('a' + i))
		e := rule.Elision{Part: id, Field: rule.Output, Rule: "duplicates", Saves: max(saves[i], -saves[i])}
		if saves[i] < 0 {
			e.Rule = rule.Backward{}.Name()
		}
		all = append(all, e)
		positions[id] = at[i]
	}
	return all, func(e rule.Elision) int { return positions[e.Part] }
}

func TestExplain(t *testing.T) {
	economic := schedule.Economic{Least: 500, Ahead: 1}
	tests := []struct {
		name      string
		schedule  schedule.Schedule
		at, saves []int
		change    func(*schedule.Moment)
		want      []string // of each
		when      []string
		summary   string
	}{
		{
			"one far from the end", economic, []int{58_000}, []int{800}, nil,
			[]string{"it would save 800 tokens a step and rewrite 41,200; that pays in about 593 steps"}, // 41,200 × 1.15 / (800 × 0.1)
			[]string{"pays in about 593 steps"},
			"the part that pays soonest would save 800 tokens a step and rewrite 41,200; that pays in about 593 steps",
		},
		{
			"one near the end pays sooner than with the other", economic, []int{10_000, 90_000}, []int{1_000, 5_000}, nil,
			[]string{
				"with 1 more it would save 6,000 tokens a step and rewrite 84,000; that pays in about 161 steps",
				"it would save 5,000 tokens a step and rewrite 5,000; that pays in about 12 steps",
			},
			[]string{"pays in about 161 steps", "pays in about 12 steps"},
			"the part that pays soonest would save 5,000 tokens a step and rewrite 5,000; that pays in about 12 steps",
		},
		{
			"one that pays sooner with a large one before it", economic, []int{80_000, 90_000}, []int{9_000, 600}, nil,
			[]string{
				"with 1 more it would save 9,600 tokens a step and rewrite 10,400; that pays in about 13 steps",
				"with 1 more it would save 9,600 tokens a step and rewrite 10,400; that pays in about 13 steps",
			},
			[]string{"pays in about 13 steps", "pays in about 13 steps"},
			"the 2 parts that pay soonest would save 9,600 tokens a step and rewrite 10,400; that pays in about 13 steps",
		},
		{
			"too little", economic, []int{10_000, 90_000}, []int{100, 200}, nil,
			[]string{"300 tokens could go, too little to rewrite the prompt for", "300 tokens could go, too little to rewrite the prompt for"},
			[]string{"when there is more of it", "when there is more of it"},
			"300 tokens could go, too little to rewrite the prompt for",
		},
		{
			"one that goes for its age alone", economic, []int{90_000, 95_000}, []int{4_000, -4_000}, nil,
			[]string{
				"it would save 4,000 tokens a step and rewrite 6,000; that pays in about 18 steps",
				"it goes for its age alone: it waits until the window is full, or until somebody asks",
			},
			[]string{"pays in about 18 steps", "when the window is full"},
			"the part that pays soonest would save 4,000 tokens a step and rewrite 6,000; that pays in about 18 steps",
		},
		{
			"a model that binds its reasoning", economic, []int{10_000}, []int{9_000}, func(m *schedule.Moment) { m.Bound = true },
			[]string{"it waits until the provider's cache is cold, or for a compaction: the schedule, or the model's reasoning, asks for that"},
			[]string{"when the cache is cold, or with a compaction"},
			"it waits until the provider's cache is cold, or for a compaction: the schedule, or the model's reasoning, asks for that",
		},
		{
			"eager, inside a turn", schedule.Eager{AtTurnEnd: true}, []int{10_000}, []int{9_000}, nil,
			[]string{"it waits until the turn has ended"}, []string{"when the turn has ended"}, "it waits until the turn has ended",
		},
		{
			"eager, too little", schedule.Eager{Minimum: 20_000}, []int{10_000}, []int{9_000}, nil,
			[]string{"9,000 tokens could go, too little to rewrite the prompt for"}, []string{"when there is more of it"},
			"9,000 tokens could go, too little to rewrite the prompt for",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			waiting, before := candidates(tt.at, tt.saves)
			now := schedule.Moment{
				Paying: true, Read: 0.1, Write: 1.25, Account: schedule.Account{Steps: 5, Sent: 100_000, Size: 101_000, Before: before},
				Age: func(rule.Elision) int { return 0 },
			}
			if tt.change != nil {
				tt.change(&now)
			}
			if chosen := tt.schedule.Choose(waiting, now); len(chosen) > 0 {
				t.Fatalf("%d of them do not wait", len(chosen))
			}
			waits := schedule.Explain(tt.schedule, waiting, now)
			var said, when []string
			for _, w := range waits {
				said, when = append(said, w.String()), append(when, w.When())
			}
			if diff := cmp.Diff(tt.want, said); diff != "" {
				t.Errorf("said (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.when, when); diff != "" {
				t.Errorf("when (-want +got):\n%s", diff)
			}
			if got := schedule.Summary(waits).Reason; got != tt.summary {
				t.Errorf("all together: %q, want %q", got, tt.summary)
			}
		})
	}
}
