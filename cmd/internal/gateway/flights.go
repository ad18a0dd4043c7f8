package gateway

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
)

// flights counts the requests that are relayed and have not ended, by which replicas are added and
// taken away.
type flights struct{ now atomic.Int64 }

// takeOff counts a request until the returned function is called, and reports whether it counts.
// Those for the page, whose streams
// last as long as it is open, and for other routes of the listener itself do not count.
func (f *flights) takeOff(r *http.Request) (landed func(), flies bool) {
	if strings.Contains(r.URL.Path, "/~/") || slices.ContainsFunc([]string{"/", "/healthz", "/readyz", "/metrics",
		"/mcp"},
		func(own string) bool { return strings.HasSuffix(r.URL.Path, own) }) {
		return func() {}, false
	}
	f.now.Add(1)
	return func() { f.now.Add(-1) }, true
}

// count is how many there are now.
func (f *flights) count() float64 { return float64(f.now.Load()) }
