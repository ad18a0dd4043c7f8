package transport

import (
	"context"
	"strings"
	"testing"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/internal/workday"
	"github.com/winnowhq/winnow/plan/pivot"
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

// A compaction that an agent asks for within a turn is made when that turn has ended, once.
func TestTransport_compactsAsAskedAtTheEndOfTheTurn(t *testing.T) {
	sequential(t)
	s := play(t, llmtest.Anthropic, 1, Options{})
	s.log = workday.Make(3, 60).Messages
	ctx, asked, ended := context.Background(), 0, 0
	compactions := func() (all []pivot.Receipt) {
		for _, l := range must(s.store.List(ctx)) {
			for _, r := range must(s.store.State(ctx, l.Info.ID)).Receipts {
				if r.Kind == pivot.Compaction {
					all = append(all, r)
				}
			}
		}
		return all
	}
	for i, at := range s.steps() {
		s.send(s.request(at))
		inRound := calls(s.log[at].Parts)
		switch found := compactions(); {
		case asked == 0 && i > 10 && inRound:
			id := must(s.store.List(ctx))[0].Info.ID
			if _, err := s.engine.Compact(ctx, id, winnow.CompactOptions{AtTurnEnd: true, Focus: "the harbour"}); err != nil {
				t.Fatal(err)
			}
			asked = at
		case asked == 0 || ended > 0 && len(found) == 1:
		case ended > 0:
			t.Fatalf("step %d: %d compactions", at, len(found))
		case inRound && len(found) > 0:
			t.Fatalf("step %d: it is compacted while the turn goes on", at)
		case !inRound:
			if len(found) != 1 || found[0].Trigger != "asked" {
				t.Fatalf("step %d ends the turn: %+v", at, found)
			}
			ended = at
		}
	}
	if asked == 0 || ended <= asked {
		t.Fatalf("asked at %d, compacted at %d", asked, ended)
	}
	id := must(s.store.List(ctx))[0].Info.ID
	if info := must(s.store.State(ctx, id)).Info; strings.Contains(string(info.Unknown), "Asked") {
		t.Errorf("it is still asked for: %s", info.Unknown)
	}
}
