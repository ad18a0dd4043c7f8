package winnow_test

import (
	"context"
	"testing"
	"time"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/internal/trial"
	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/llm/llmtest"
)

func TestCompact_whateverTheProviderDoes(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it happens at the same time: -short is for the race detector")
	}
	trial.Suite{Upstream: trial.Scripted{}, Strict: (*winnow.Engine).ForbidOffline}.Run(t)
}

func TestCompact_whateverTheProviderDoesInWhateverOrder(t *testing.T) {
	trial.Suite{Upstream: trial.Scripted{}, Strict: (*winnow.Engine).ForbidOffline}.Check(t)
}

func TestCompact_whateverAProviderDoesOverHTTP(t *testing.T) {
	for _, protocol := range []llmtest.Protocol{llmtest.Anthropic, llmtest.Chat, llmtest.Responses, llmtest.Gemini} {
		t.Run(string(protocol), func(t *testing.T) {
			if testing.Short() && protocol != llmtest.Anthropic {
				t.Skip("the other protocols are tried without -short")
			}
			patient := func(c llm.Client) llm.Client {
				return llm.Retry(c, llm.RetryOptions{Attempts: 2, First: time.Millisecond})
			}
			trial.Suite{Upstream: trial.HTTP{Protocol: protocol}, Strict: (*winnow.Engine).ForbidOffline, Retry: patient}.Run(t)
		})
	}
}

// Every fault of the upstream, at every stage, in every protocol.
func TestCompact_everyFaultOfAProviderAtEveryStage(t *testing.T) {
	for _, protocol := range llmtest.Protocols() {
		t.Run(string(protocol), func(t *testing.T) {
			if testing.Short() && protocol != llmtest.Responses {
				t.Skip("the other protocols are tried without -short")
			}
			t.Parallel()
			impatient := func(c llm.Client) llm.Client {
				return llm.Retry(c, llm.RetryOptions{Attempts: 2, Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }})
			}
			trial.Suite{Upstream: trial.HTTP{Protocol: protocol}, Faults: trial.UpstreamFaults(), Retry: impatient}.Run(t)
		})
	}
}
