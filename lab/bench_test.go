package lab

import (
	"context"
	"testing"

	"github.com/winnowhq/winnow/internal/workday"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/summarize/offline"
	"github.com/winnowhq/winnow/token"
)

// BenchmarkRun replays a made-up session of 200 steps and 180,000 tokens under each of the usual
// policies.
func BenchmarkRun(b *testing.B) {
	t := NewTrace(workday.Make(1, workday.Steps), model.Default().Lookup("anthropic/claude-sonnet-4-5"), token.Linear{})
	terms := Reference()
	for _, s := range named(b, Usual()...) {
		b.Run(s.Name, func(b *testing.B) {
			for b.Loop() {
				if _, err := Run(context.Background(), t, s, Options{Terms: &terms, Summarizer: offline.New()}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N*t.Steps())/b.Elapsed().Seconds(), "steps/s")
		})
	}
}

// BenchmarkNewTrace makes such a session ready.
func BenchmarkNewTrace(b *testing.B) {
	s := workday.Make(1, workday.Steps)
	for b.Loop() {
		NewTrace(s, model.Model{}, token.Linear{})
	}
}

// BenchmarkRun_recorded replays recorded sessions, misses that bring back regions included.
func BenchmarkRun_recorded(b *testing.B) {
	var traces []*Trace
	steps := 0
	for _, of := range bySource(b, 30) {
		for _, t := range of[:min(2, len(of))] {
			traces, steps = append(traces, t), steps+t.Steps()
		}
	}
	terms := Reference()
	for _, s := range named(b, "compact@168k", "balanced/nolimit", "balanced/nolimit/compact@economic") {
		b.Run(s.Name, func(b *testing.B) {
			for b.Loop() {
				for _, t := range traces {
					if _, err := Run(b.Context(), t, s, Options{Terms: &terms, Regions: true, Summarizer: offline.New()}); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.N*steps)/b.Elapsed().Seconds(), "steps/s")
		})
	}
}
