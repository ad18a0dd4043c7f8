package serve

import "github.com/prometheus/client_golang/prometheus"

// Register adds what another part of the program counts to what GET /metrics shows. Its names begin
// with winnow_, and its labels have few values; a name that is taken panics.
func (m *Metrics) Register(c prometheus.Collector) { m.registry.MustRegister(c) }
