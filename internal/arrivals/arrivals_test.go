package arrivals_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/internal/arrivals"
)

func TestStretches_areCutAtPauses(t *testing.T) {
	at := func(seconds ...int) (all []time.Time) {
		for _, s := range seconds {
			all = append(all, time.Unix(1_800_000_000+int64(s), 0))
		}
		return all
	}
	for _, test := range []struct {
		times []time.Time
		want  []arrivals.Stretch
	}{
		{at(), nil},
		{at(5), nil},
		{at(5, 5), nil}, // nobody knows how long it took
		{at(5, 8, 20), []arrivals.Stretch{{0, 3 * time.Second, 15 * time.Second}}},
		{at(0, 60, 61, 200, 201), []arrivals.Stretch{{0, 60 * time.Second, 61 * time.Second}, {0, time.Second}}},
		{at(0, 10, 5, 12), []arrivals.Stretch{{0, 10 * time.Second, 10 * time.Second, 12 * time.Second}}},
	} {
		if diff := cmp.Diff(test.want, arrivals.Stretches(test.times, time.Minute)); diff != "" {
			t.Errorf("%v: %s", test.times, diff)
		}
	}
}

func stretches(t *rapid.T) []arrivals.Stretch {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) arrivals.Stretch {
		s := arrivals.Stretch{0}
		for _, gap := range rapid.SliceOfN(rapid.IntRange(1, 60_000), 1, 30).Draw(t, "pauses") {
			s = append(s, s[len(s)-1]+time.Duration(gap)*time.Millisecond)
		}
		return s
	}), 1, 8).Draw(t, "recorded")
}

// Times ascend, are within the span, and are the same for one seed.
func TestArrivals_ascendAndRepeat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		recorded := stretches(t)
		n, seed := rapid.IntRange(0, 50).Draw(t, "n"), rapid.Uint64().Draw(t, "seed")
		var hours [24]float64
		hours[rapid.IntRange(0, 23).Draw(t, "hour")] = 1
		for name, all := range map[string]func() []time.Duration{
			"live": func() []time.Duration { return slices.Collect(arrivals.Live(recorded, n, 10*time.Minute, seed)) },
			"day":  func() []time.Duration { return slices.Collect(arrivals.Day(recorded, n, hours, seed)) },
		} {
			first := all()
			if !slices.IsSorted(first) || len(first) > 0 && (first[0] < 0 || first[len(first)-1] >= 24*time.Hour) {
				t.Fatalf("%s: %v", name, first)
			}
			if !slices.Equal(first, all()) {
				t.Fatalf("%s: another time others come", name)
			}
		}
	})
}

// So many come as Rate says, at the beginning of a span as at its end.
func TestLive_isSteady(t *testing.T) {
	recorded := []arrivals.Stretch{{0, time.Second, 2 * time.Second, 30 * time.Second}, {0, 5 * time.Minute},
		{0, 10 * time.Second}}
	const n, span = 20_000, 10 * time.Minute
	var halves [2]int
	for at := range arrivals.Live(recorded, n, span, 1) {
		halves[at/(span/2)]++
	}
	want := arrivals.Rate(recorded) * n * (span / 2).Seconds()
	for i, got := range halves {
		if math.Abs(float64(got)/want-1) > 0.03 {
			t.Errorf("in half %d %d come, want about %.0f", i, got, want)
		}
	}
}

func TestDay_beginsWhenItIsTold(t *testing.T) {
	var hours [24]float64
	hours[9], hours[14] = 1, 3
	var by [24]int
	for at := range arrivals.Day([]arrivals.Stretch{{0}}, 8000, hours, 3) {
		by[at/time.Hour]++
	}
	if by[9]+by[14] != 8000 || by[9] < 1850 || by[9] > 2150 {
		t.Errorf("by hour %v", by)
	}
}

// What is known of queues by formulas: without a queue nobody waits; with one server, random
// arrivals and random service the mean number of busy servers is the load, and of those that wait
// half wait longer than the formula of Erlang says.
func TestQueue_agreesWithTheFormula(t *testing.T) {
	dice := rand.New(rand.NewPCG(5, 5))
	const rate, mean, n = 60.0, 10 * time.Millisecond, 400_000 // busy 0.6
	poisson := func(yield func(time.Duration) bool) {
		at := 0.0
		for range n {
			at += dice.ExpFloat64() / rate
			if !yield(time.Duration(at * float64(time.Second))) {
				return
			}
		}
	}
	w := arrivals.Queue(poisson, 1,
		func() time.Duration { return time.Duration(dice.ExpFloat64() * float64(mean)) }, nil)
	if w.Requests != n || math.Abs(w.Busy-0.6) > 0.01 {
		t.Errorf("busy %.3f of %d", w.Busy, w.Requests)
	}
	// P(wait > t) = busy · e^(−(1−busy)·t/mean)
	for share, got := range map[float64]time.Duration{0.5: w.P50, 0.99: w.P99} {
		want := time.Duration(math.Log(0.6/(1-share)) / 0.4 * float64(mean))
		if math.Abs(float64(got)/float64(want)-1) > 0.05 {
			t.Errorf("at %v it waits %v, by the formula %v", share, got, want)
		}
	}
	if w := arrivals.Queue(poisson, 1000, func() time.Duration { return mean }, nil); w.Most != 0 {
		t.Errorf("with servers enough somebody waits %v", w.Most)
	}
}

// With more servers nobody waits longer at the most, and what is waited is never negative.
func TestQueue_moreServersAreNoWorse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		recorded := stretches(t)
		few := rapid.IntRange(1, 4).Draw(t, "servers")
		takes := time.Duration(rapid.IntRange(1, 5000).Draw(t, "ms")) * time.Millisecond
		queue := func(servers int) arrivals.Waiting {
			return arrivals.Queue(arrivals.Live(recorded, 20, 5*time.Minute, 1), servers,
				func() time.Duration { return takes }, nil)
		}
		a, b := queue(few), queue(few+1)
		if b.Most > a.Most || b.P99 > a.P99 || a.Most < 0 || a.Requests != b.Requests || a.Busy > 1.0000001 {
			t.Fatalf("%d servers: %+v, one more: %+v", few, a, b)
		}
	})
}
