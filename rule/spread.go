package rule

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// spread does something for each number below n on so many processors as there are, and waits for all of it. Each takes a few numbers at a time.
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
	work := func() {
		for to := int(next.Add(few)); to-few < n; to = int(next.Add(few)) {
			for at := to - few; at < min(to, n); at++ {
				do(at)
			}
		}
	}
	for range workers - 1 {
		done.Go(work)
	}
	work()
	done.Wait()
}
