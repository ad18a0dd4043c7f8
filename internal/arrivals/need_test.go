package arrivals_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/winnowhq/winnow/internal/arrivals"
)

// A need is the sum of what its requests cost, and the index is in it once.
func TestNeedOf_isWhatRequestsCost(t *testing.T) {
	c := arrivals.Cost{Winnow: 6, Database: 3, Trips: 4, To: 10, From: 2, WAL: 8, Disk: 5, IndexWAL: 4, IndexDisk: 6, Shared: 1.5,
		Alone: 3, Conversation: 1000}
	const day = 200 * 86_400
	want := arrivals.Need{Live: 1000, Requests: 200, WinnowCores: 2, DatabaseCores: 1, Memory: 1e6, Transactions: 800, To: 2000,
		From: 400, WAL: 1600, IndexedWAL: 2400, SharedWaits: 300, WaitsAlone: 600, Disk: 5 * day, IndexedDisk: 11 * day}
	if diff := cmp.Diff(want, arrivals.NeedOf(c, 0.2, 1000), cmpopts.EquateApprox(1e-9, 0)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMostLive(t *testing.T) {
	recorded := []arrivals.Stretch{{0, 30 * time.Minute}}
	var hours [24]float64
	if n := arrivals.MostLive(recorded, 50, hours, time.Hour, 1); n != 0 {
		t.Errorf("%d are live of none that begins", n)
	}
	hours[9] = 1
	if n := arrivals.MostLive(recorded, 50, hours, time.Hour, 1); n != 50 {
		t.Errorf("%d of 50 are live that begin in one hour and are so for an hour and a half", n)
	}
	hours[15] = 1
	if n := arrivals.MostLive(recorded, 1000, hours, time.Hour, 1); n < 450 || n > 560 {
		t.Errorf("%d of 1,000 are live, half of whom begin six hours later", n)
	}
	if n := arrivals.MostLive(nil, 10, hours, time.Hour, 1); n != 0 {
		t.Errorf("%d are live of nothing that was recorded", n)
	}
}
