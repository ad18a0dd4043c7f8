// Package soon measures how long something would have taken on an idle computer. It is for tests of
// what is promised in milliseconds and that run beside others.
package soon

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// Watch is a moment from which time is taken.
type Watch struct {
	began   time.Time
	delayed time.Duration
}

// Start begins now.
func Start() Watch { return Watch{time.Now(), delayed()} }

// Took is the time since then, without that in which the process could have run and no processor
// was free. Where the system does not tell that (it does on Linux) it is all of the time. Several
// threads that waited at once are counted each, so that on a computer with very much to do Took is
// too short rather than too long; on an idle one it is exact.
func (w Watch) Took() time.Duration {
	return max(0, time.Since(w.began)-max(0, delayed()-w.delayed))
}

// delayed is how long the threads of this process have waited for a processor.
func delayed() (sum time.Duration) {
	files, _ := filepath.Glob("/proc/self/task/*/schedstat")
	for _, file := range files {
		text, _ := os.ReadFile(file) // it may have ended
		if fields := bytes.Fields(text); len(fields) == 3 {
			n, _ := strconv.ParseInt(string(fields[1]), 10, 64)
			sum += time.Duration(n)
		}
	}
	return sum
}
