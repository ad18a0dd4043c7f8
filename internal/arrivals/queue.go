package arrivals

import (
	"container/heap"
	"iter"
	"math"
	"time"
)

// Waiting is what became of requests that came to a station.
type Waiting struct {
	Requests int
	// P50, P99 and Most are how long requests waited until they were begun, P50 and P99 to a
	// hundredth.
	P50, P99, Most time.Duration
	// Busy is the share of the servers' time that was used until the last request was done.
	Busy float64
	// Peak is how many requests came within the second in which most came.
	Peak int
}

// Queue lets requests that come at these times, ascending, wait for one of some servers, in the
// order in which they come. service is how long the next one takes; told, which may be nil, is told
// how long each waited.
func Queue(arrivals iter.Seq[time.Duration], servers int, service func() time.Duration,
	told func(time.Duration)) Waiting {
	free := make(times, max(1, servers))
	var w Waiting
	var waits histogram
	var used, end time.Duration
	second, within := time.Duration(-1), 0
	for at := range arrivals {
		begins := max(at, free[0])
		takes := service()
		free[0] = begins + takes
		used += takes
		end = max(end, free[0])
		heap.Fix(&free, 0)
		w.Requests++
		w.Most = max(w.Most, begins-at)
		waits.add(begins - at)
		if told != nil {
			told(begins - at)
		}
		if s := at / time.Second; s != second {
			second, within = s, 0
		}
		within++
		w.Peak = max(w.Peak, within)
	}
	w.P50, w.P99 = waits.at(0.5), waits.at(0.99)
	if end > 0 {
		w.Busy = used.Seconds() / (end.Seconds() * float64(len(free)))
	}
	return w
}

// times are when servers are free again.
type times []time.Duration

func (t times) Len() int           { return len(t) }
func (t times) Less(i, j int) bool { return t[i] < t[j] }
func (t times) Swap(i, j int)      { t[i], t[j] = t[j], t[i] }
func (t *times) Push(x any)        { *t = append(*t, x.(time.Duration)) }
func (t *times) Pop() any {
	last := (*t)[len(*t)-1]
	*t = (*t)[:len(*t)-1]
	return last
}

// histogram counts times to a hundredth of their size, those below a microsecond together.
type histogram struct {
	counts []int
	total  int
}

const precision = 1.01

func (h *histogram) add(d time.Duration) {
	at := 0
	if us := float64(d) / 1000; us >= 1 {
		at = 1 + int(math.Log(us)/math.Log(precision))
	}
	for len(h.counts) <= at {
		h.counts = append(h.counts, make([]int, at+1)...)
	}
	h.counts[at]++
	h.total++
}

func (h *histogram) at(share float64) time.Duration {
	wanted := int(share * float64(h.total))
	for at, n := range h.counts {
		if wanted -= n; wanted < 0 {
			if at == 0 {
				return 0
			}
			return time.Duration(1000 * math.Pow(precision, float64(at)-0.5))
		}
	}
	return 0
}
