package gateway

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
)

// inFlight counts the requests that are relayed and have not ended, by which replicas are added and
// taken away.
type inFlight struct{ now atomic.Int64 }

// Begin counts a request until done is called, and reports whether it counts. Those for the page,
// whose streams last as long as it is open, and for other routes of the listener itself do not.
func (f *inFlight) Begin(r *http.Request) (done func(), counted bool) {
	if strings.Contains(r.URL.Path, "/~/") || slices.ContainsFunc([]string{"/", "/healthz", "/readyz", "/metrics",
		"/mcp"},
		func(own string) bool { return strings.HasSuffix(r.URL.Path, own) }) {
		return func() {}, false
	}
	f.now.Add(1)
	return func() { f.now.Add(-1) }, true
}

// count is how many there are now.
func (f *inFlight) count() float64 { return float64(f.now.Load()) }
