// Package arrivals foretells how long the requests of many sessions wait for a gateway: when they
// come, from recorded sessions, and what queueing makes of it. It has no clock and no dice but
// those that a seed gives.
package arrivals

import (
	"cmp"
	"container/heap"
	"iter"
	"math/rand/v2"
	"slices"
	"time"
)

// Stretch is a time in which somebody worked with a session: when its requests came, since the
// first of them, which is at 0, ascending.
type Stretch []time.Duration

// length is how long it takes until another one begins at the same desk: the mean pause more than
// until its last request.
func (s Stretch) length() time.Duration {
	if len(s) < 2 {
		return time.Minute
	}
	return s[len(s)-1] + s[len(s)-1]/time.Duration(len(s)-1)
}

// Stretches are those of a session whose requests came at these times: it is cut where nothing came
// for longer than a pause. Times that go back, as clocks do, count as the one before; stretches of
// fewer than two requests say nothing and are left out.
func Stretches(times []time.Time, pause time.Duration) (all []Stretch) {
	var s Stretch
	var first, last time.Time
	end := func() {
		if len(s) > 1 && s[len(s)-1] > 0 {
			all = append(all, s)
		}
		s = nil
	}
	for _, at := range times {
		if len(s) > 0 && at.Sub(last) > pause {
			end()
		}
		switch {
		case len(s) == 0:
			first, last = at, at
		case at.After(last):
			last = at
		}
		s = append(s, last.Sub(first))
	}
	end()
	return all
}

// desk is where one stretch begins when another one has ended.
type desk struct {
	began   time.Duration // of the stretch, may be before 0
	stretch Stretch
	next    int
}

func (d *desk) at() time.Duration { return d.began + d.stretch[d.next] }

type desks []*desk

func (d desks) Len() int           { return len(d) }
func (d desks) Less(i, j int) bool { return d[i].at() < d[j].at() }
func (d desks) Swap(i, j int)      { d[i], d[j] = d[j], d[i] }
func (d *desks) Push(x any)        { *d = append(*d, x.(*desk)) }
func (d *desks) Pop() any {
	last := (*d)[len(*d)-1]
	*d = (*d)[:len(*d)-1]
	return last
}

// Live yields, ascending, when requests come within a span if n sessions are live all the time:
// each is a stretch drawn from those that were recorded, at a random moment of it when the span
// begins, and another one follows it.
func Live(recorded []Stretch, n int, span time.Duration, seed uint64) iter.Seq[time.Duration] {
	return func(yield func(time.Duration) bool) {
		if len(recorded) == 0 {
			return
		}
		dice := rand.New(rand.NewPCG(seed, 0xa771))
		all := make(desks, 0, n)
		pick := byLength(recorded)
		for range n {
			d := &desk{stretch: pick(dice)} // a long one is found more often than a short one
			d.began = -time.Duration(dice.Int64N(int64(d.stretch.length())))
			for d.next < len(d.stretch) && d.at() < 0 {
				d.next++
			}
			if d.next == len(d.stretch) {
				d.follow(recorded, dice)
			}
			all = append(all, d)
		}
		heap.Init(&all)
		for len(all) > 0 && all[0].at() < span {
			if !yield(all[0].at()) {
				return
			}
			if all[0].next++; all[0].next == len(all[0].stretch) {
				all[0].follow(recorded, dice)
			}
			heap.Fix(&all, 0)
		}
	}
}

// follow lets another stretch begin.
func (d *desk) follow(recorded []Stretch, dice *rand.Rand) {
	d.began += d.stretch.length()
	d.stretch, d.next = recorded[dice.IntN(len(recorded))], 0
}

// byLength picks stretches, each as often as it is long.
func byLength(recorded []Stretch) func(*rand.Rand) Stretch {
	ends := make([]int64, len(recorded))
	total := int64(0)
	for i, s := range recorded {
		total += int64(s.length())
		ends[i] = total
	}
	return func(dice *rand.Rand) Stretch {
		at, found := slices.BinarySearch(ends, dice.Int64N(total))
		if found {
			at++
		}
		return recorded[at]
	}
}

// Day yields, ascending, when requests come within a day in which n sessions begin: hours are how
// many begin in each hour, as shares of any unit. What goes on after midnight is left out.
func Day(recorded []Stretch, n int, hours [24]float64, seed uint64) iter.Seq[time.Duration] {
	return func(yield func(time.Duration) bool) {
		dice := rand.New(rand.NewPCG(seed, 0xda7))
		begins := starts(n, hours, dice)
		if len(recorded) == 0 || begins == nil {
			return
		}
		var all desks
		for begun := 0; begun < n || len(all) > 0; {
			if begun < n && (len(all) == 0 || begins[begun] <= all[0].at()) {
				heap.Push(&all, &desk{began: begins[begun], stretch: recorded[dice.IntN(len(recorded))]})
				begun++
				continue
			}
			if all[0].at() >= 24*time.Hour || !yield(all[0].at()) {
				return
			}
			if all[0].next++; all[0].next == len(all[0].stretch) {
				heap.Pop(&all)
			} else {
				heap.Fix(&all, 0)
			}
		}
	}
}

// starts are when n stretches begin within a day, ascending; none if no hour has a share.
func starts(n int, hours [24]float64, dice *rand.Rand) []time.Duration {
	sum := 0.0
	for _, share := range hours {
		sum += share
	}
	if sum <= 0 {
		return nil
	}
	all := make([]time.Duration, n)
	for i := range all {
		left, hour := dice.Float64()*sum, 0
		for ; hour < 23 && left >= hours[hour]; hour++ {
			left -= hours[hour]
		}
		all[i] = time.Duration(hour)*time.Hour + time.Duration(dice.Int64N(int64(time.Hour)))
	}
	slices.Sort(all)
	return all
}

// Rate is how many requests a second a live session makes, on average over the time in which
// stretches last.
func Rate(recorded []Stretch) float64 {
	requests, lasts := 0, time.Duration(0)
	for _, s := range recorded {
		requests, lasts = requests+len(s), lasts+s.length()
	}
	return float64(requests) / max(lasts.Seconds(), 1e-9)
}

// Pauses are the times between two requests of a stretch at these shares of all, such as 0.5.
func Pauses(recorded []Stretch, shares ...float64) []time.Duration {
	var all []time.Duration
	for _, s := range recorded {
		for i := 1; i < len(s); i++ {
			all = append(all, s[i]-s[i-1])
		}
	}
	slices.SortFunc(all, cmp.Compare)
	found := make([]time.Duration, len(shares))
	for i, share := range shares {
		if len(all) > 0 {
			found[i] = all[min(len(all)-1, int(share*float64(len(all))))]
		}
	}
	return found
}
