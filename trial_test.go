package winnow_test

import (
	"context"
	"testing"
	"time"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/internal/lavish"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/internal/trial"
	"github.com/winnowhq/winnow/llm"
)

func TestMain(m *testing.M) { lavish.Checks(m, 50) }

func TestCompact_whateverTheProviderDoes(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it happens at the same time: -short is for the race detector")
	}
	trial.Suite{Upstreams: map[string]trial.Upstream{"scripted": trial.Scripted{}},
		Strict: (*winnow.Engine).ForbidOffline}.Run(t)
}

func TestCompact_whateverTheProviderDoesInWhateverOrder(t *testing.T) {
	trial.Suite{Strict: (*winnow.Engine).ForbidOffline}.Check(t, trial.Scripted{})
}

// sparse is how many cases there are for each that is tried: with -short, for the race detector,
// three.
func sparse() int {
	if testing.Short() {
		return 3
	}
	return 0
}

// overHTTP are an upstream for each protocol; with -short, for the race detector, one for all.
func overHTTP(alone llmtest.Protocol) map[string]trial.Upstream {
	all := map[string]trial.Upstream{}
	for _, p := range llmtest.Protocols() {
		if !testing.Short() || p == alone {
			all[string(p)] = trial.HTTP{Protocol: p}
		}
	}
	return all
}

func TestCompact_whateverAProviderDoesOverHTTP(t *testing.T) {
	patient := func(c llm.Client) llm.Client {
		return llm.Retry(c, llm.RetryOptions{Attempts: 2, First: time.Millisecond})
	}
	trial.Suite{Upstreams: overHTTP(llmtest.Anthropic), Turns: true, Sparse: sparse(),
		Strict: (*winnow.Engine).ForbidOffline, Retry: patient}.Run(t)
}

// Every fault of the upstream, at every stage.
func TestCompact_everyFaultOfAProviderAtEveryStage(t *testing.T) {
	impatient := func(c llm.Client) llm.Client {
		return llm.Retry(c, llm.RetryOptions{Attempts: 2, Sleep: func(ctx context.Context, _ time.Duration) error {
			return ctx.Err()
		}})
	}
	trial.Suite{Upstreams: overHTTP(llmtest.Responses), Sparse: sparse(), Faults: trial.UpstreamFaults(),
		Retry: impatient}.Run(t)
}
