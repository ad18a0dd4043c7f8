package gateway

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
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

func (f *flights) gauge() prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "winnow_in_flight_requests",
		Help: "Requests that are relayed and have not ended."}, func() float64 { return float64(f.now.Load()) })
}
