package rule

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// spreadFrom is from how many findings on it is worth to start goroutines.
const spreadFrom = 64

// spread calls a function for each number below n on all processors, and waits for all of it. Each
// processor takes a few numbers at a time.
func spread(n int, do func(at int)) {
	const few = 16
	workers := min(runtime.GOMAXPROCS(0), (n+few-1)/few)
	if workers < 2 {
		for at := range n {
			do(at)
		}
		return
	}
	var next atomic.Int64
	var done sync.WaitGroup
	for range workers {
		done.Go(func() {
			for to := int(next.Add(few)); to-few < n; to = int(next.Add(few)) {
				for at := to - few; at < min(to, n); at++ {
					do(at)
				}
			}
		})
	}
	done.Wait()
}
