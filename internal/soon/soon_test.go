package soon

import (
	"runtime"
	"sync"
	"testing"
	"time"
)

// On a computer that is at rest for a moment, what was slept counts whole; it is waited for.
func TestTook_countsWhatWasSlept(t *testing.T) {
	best := time.Duration(0)
	for range 1000 {
		w := Start()
		time.Sleep(5 * time.Millisecond)
		took, all := w.Took(), time.Since(w.began)
		if took > all {
			t.Fatalf("took %v of %v", took, all)
		}
		if best = max(best, took); best >= 4*time.Millisecond {
			return
		}
	}
	t.Errorf("took no more than %v of 5 ms", best)
}

// Four threads a processor, that compute for 100 ms: most of the time each waits for the others.
func TestTook_doesNotCountWaitingForAProcessor(t *testing.T) {
	if delayed() == 0 {
		t.Skip("this system does not tell how long a process waited for a processor")
	}
	threads := 4 * runtime.NumCPU()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(threads))
	w := Start()
	var done sync.WaitGroup
	for range threads {
		done.Go(func() {
			for end := time.Now().Add(100 * time.Millisecond); time.Now().Before(end); {
			}
		})
	}
	done.Wait()
	if took, all := w.Took(), time.Since(w.began); took > all/2 {
		t.Errorf("took %v of %v", took, all)
	}
}
