package transport

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

// Where a request is pruned and something of it was never sent, one estimate speaks of both: what
// was never sent was in no cache, and what stands behind a pruning must be written again.
func TestTotals_aPruningAndAFirstSendInOneRequest(t *testing.T) {
	pruning := pivot.Receipt{Kind: pivot.Pruning, Saved: 8_000, Rewritten: 20_000,
		Committed: []rule.Elision{{Rule: "idle", Saves: 5_000}, {Rule: "logs", Saves: 3_000}}}
	first := pivot.Receipt{Kind: pivot.Pruning, Trigger: pivot.FirstSend, Saved: 3_000,
		Committed: []rule.Elision{{Rule: "logs", Saves: 3_000}}}
	took := func(input, read, write int) (u session.Usage) {
		u.Input, u.Cache.Read, u.Cache.Write = input, read, write
		return u
	}
	for _, c := range []struct {
		name              string
		began, before     *pivot.Receipt
		whole, edited     session.Usage // as it passes, in the mode observe, and what it would have been
		sent, unedited    session.Usage // as it is sent, and what it would have been
		left, wholeBefore int
	}{
		{"a pruning alone", &pivot.Receipt{Kind: pivot.Pruning, Saved: 5_000, Rewritten: 20_000, Committed: pruning.Committed[:1]}, nil,
			took(0, 90_000, 10_000), took(0, 65_000, 30_000), took(0, 65_000, 30_000), took(0, 90_000, 10_000), 5_000, 90_000},
		{"both in one decision", &pruning, nil,
			took(0, 90_000, 10_000), took(0, 65_000, 27_000), took(0, 65_000, 27_000), took(0, 90_000, 10_000), 8_000, 90_000},
		{"a pruning after the answer, a first send now", &first, &pivot.Receipt{Kind: pivot.Pruning, Rewritten: 20_000},
			took(0, 90_000, 10_000), took(0, 65_000, 27_000), took(0, 65_000, 27_000), took(0, 90_000, 10_000), 8_000, 90_000},
		{"a first send alone", &first, nil,
			took(0, 90_000, 10_000), took(0, 90_000, 7_000), took(0, 90_000, 7_000), took(0, 90_000, 10_000), 3_000, 90_000},
	} {
		x := &exchange{conversation: &conversation{conversationState: conversationState{}},
			decision: decision{pruned: heavier(c.began, c.before), unsent: unsent(c.began)},
			cut:      cut{left: left{rules: map[string]int{"idle": c.left}}}}
		if diff := cmp.Diff(c.edited, (&Transport{}).asIfEdited(x, c.whole)); diff != "" {
			t.Errorf("%s, observed (-want +got):\n%s", c.name, diff)
		}
	}
}

// The totals speak of the sessions that asked last, however many there have been.
func TestTotals_forgetSessionsThatAskedLongAgo(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	gateway := New(nil, Options{Now: func() time.Time { now = now.Add(time.Second); return now }})
	const asked = 3 * mostNewest
	for i := range asked {
		x := &exchange{conversation: &conversation{id: fmt.Sprint(i)}, cut: cut{left: left{rules: map[string]int{"idle": 1}}}}
		gateway.counted(x, &store.Live{}, session.Usage{})
		if len(gateway.newest) > mostNewest {
			t.Fatalf("%d sessions are at hand", len(gateway.newest))
		}
	}
	all := gateway.Totals()
	if n := len(all.Sessions); n < mostNewest*7/8 || all.LeftOut != n || all.Requests != asked {
		t.Errorf("%d sessions, %d left out, %d requests", n, all.LeftOut, all.Requests)
	}
	for i := range mostNewest / 2 {
		if _, known := gateway.newest[fmt.Sprint(asked-1-i)]; !known {
			t.Fatalf("session %d of %d is forgotten", asked-1-i, asked)
		}
	}
}

// What is gained and what is overpaid only grow, so that they can be followed over restarts; net is
// their difference.
func TestTotals_netIsADifferenceOfWhatOnlyGrows(t *testing.T) {
	var all CostTotals
	for _, saved := range []float64{1, -3, 0, 0.5} {
		before := all
		all.net(saved)
		if all.Gained < before.Gained || all.Overpaid < before.Overpaid {
			t.Errorf("after %g: %+v, before it %+v", saved, all, before)
		}
	}
	if all.Gained != 1.5 || all.Overpaid != 3 || all.Net != -1.5 {
		t.Errorf("gained %g, overpaid %g, net %g", all.Gained, all.Overpaid, all.Net)
	}
}
