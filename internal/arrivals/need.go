package arrivals

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Cost is the average cost of a request, as measured.
type Cost struct {
	Winnow, Database    float64 // of a core, milliseconds
	Trips               float64 // to the database, each of them a transaction
	To, From            float64 // the database, bytes
	WAL, Disk           float64 // bytes, without the index of words
	IndexWAL, IndexDisk float64 // bytes of the index
	Shared, Alone       float64 // waits for the disk: of many at a time, and of one after the other
	Conversation        float64 // memory that a conversation at hand takes of a process, bytes
}

// Busy is the share of the processors' time that may be used.
const Busy = 0.6

// OfficeShare is how many requests a day of an office has of one in which as many sessions are live
// around the clock as in its busiest hour.
const OfficeShare = 1.0 / 3

// Need is the load of live sessions on a gateway and its database, in a second; the disk is that of a
// day.
type Need struct {
	Live                       int
	Requests                   float64 // a second
	WinnowCores, DatabaseCores int
	Memory                     float64
	Transactions, To, From     float64
	WAL, IndexedWAL            float64
	SharedWaits, WaitsAlone    float64
	Disk, IndexedDisk          float64 // a day around the clock
}

// NeedOf computes what so many live sessions need, each of which makes a rate of requests a second.
func NeedOf(c Cost, rate float64, live int) Need {
	r := rate * float64(live)
	cores := func(ms float64) int { return max(1, int(math.Ceil(r*ms/1000/Busy))) }
	day := r * (24 * time.Hour).Seconds()
	return Need{Live: live, Requests: r, WinnowCores: cores(c.Winnow), DatabaseCores: cores(c.Database),
		Memory: float64(live) * c.Conversation, Transactions: r * c.Trips, To: r * c.To, From: r * c.From,
		WAL: r * c.WAL, IndexedWAL: r * (c.WAL + c.IndexWAL), SharedWaits: r * c.Shared, WaitsAlone: r * c.Alone,
		Disk: day * c.Disk, IndexedDisk: day * (c.Disk + c.IndexDisk)}
}

// MostLive is how many stretches are live at the busiest moment of a day in which n begin: from their
// first request until a pause after their last one. hours are as of [Day].
func MostLive(recorded []Stretch, n int, hours [24]float64, pause time.Duration, seed uint64) (most int) {
	if len(recorded) == 0 {
		return 0
	}
	type change struct {
		at time.Duration
		by int
	}
	dice := rand.New(rand.NewPCG(seed, 0x11fe))
	var changes []change
	for _, begins := range starts(n, hours, dice) {
		s := recorded[dice.IntN(len(recorded))]
		changes = append(changes, change{begins, 1}, change{begins + s[len(s)-1] + pause, -1})
	}
	slices.SortStableFunc(changes, func(a, b change) int { return int(a.at - b.at) })
	now := 0
	for _, c := range changes {
		now += c.by
		most = max(most, now)
	}
	return most
}
