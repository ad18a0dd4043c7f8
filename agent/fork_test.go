package agent_test

import (
	"math"
	"testing"

	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/model/bill"
)

// A fork begins with nothing spent: what its log took was paid by the session that it was forked
// from, and the totals of all sessions add up to what was paid.
func TestTotals_aForkCountsNothingTwice(t *testing.T) {
	s := &seeing{plan: [][]int{{40}, {}, {40}}, window: 64_000}
	b := setUp(t, llmtest.Anthropic, llmtest.Script{Answer: s.answer}, nil, s.tool())
	first, err := b.Run(t.Context(), "", "Look.")
	if err != nil {
		t.Fatal(err)
	}
	fork, err := b.engine.Fork(t.Context(), first.SessionID, "")
	if err != nil {
		t.Fatal(err)
	}
	totals := func(id string) agent.Totals {
		t.Helper()
		got, err := b.Totals(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	same := func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }
	old := totals(first.SessionID)
	if got := totals(fork); got.Cost != 0 || got.Steps != 0 || got.Usage.Prompt() != 0 ||
		!same(got.Inherited, old.Cost) || old.Cost <= 0 || old.Inherited != 0 {
		t.Errorf("the fork begins with %+v, the session that it was forked from has %+v", got, old)
	}
	second, err := b.Run(t.Context(), fork, "Look again.")
	if err != nil {
		t.Fatal(err)
	}
	paid := 0.0
	for _, r := range b.upstream.Records() {
		u := r.Usage
		cost, _ := reader.Cost(bill.Usage(u))
		paid += cost
	}
	got := totals(fork)
	if !same(got.Cost+totals(first.SessionID).Cost, paid) || !same(second.Spent.Cost, got.Cost) ||
		second.Spent.Inherited != 0 || got.Steps != 2 {
		t.Errorf("the fork has %+v, its run took %+v; the provider was paid $%g, $%g of it before", got, second.Spent,
			paid, old.Cost)
	}
}
