package transport

import (
	"context"
	"testing"

	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/internal/workday"
	"github.com/winnowhq/winnow/plan/policy"
)

// A policy that prunes at the end of turns does so, and at no other time.
func TestTransport_prunesAtTheEndOfATurn(t *testing.T) {
	sequential(t)
	s := play(t, llmtest.Anthropic, 1, Options{})
	s.log = workday.Make(3, 150).Messages
	s.policy = policy.Classic
	s.restart()
	ctx, receipts := context.Background(), 0
	for _, at := range s.steps() {
		s.send(s.request(at))
		if now := s.receipts(); now > receipts {
			receipts = now
			if calls(s.log[at].Parts) {
				t.Fatalf("step %d prunes, and its turn goes on", at)
			}
		}
	}
	if receipts == 0 {
		t.Error("nothing was pruned")
	}
	for _, l := range must(s.store.List(ctx)) {
		for _, r := range must(s.store.State(ctx, l.Info.ID)).Receipts {
			if r.Trigger != "turn" {
				t.Errorf("pruned at %q", r.Trigger)
			}
		}
	}
}
