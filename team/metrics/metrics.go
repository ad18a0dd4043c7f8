// Package metrics counts what a listener does, for Prometheus, with its client library.
package metrics

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"

	"github.com/winnowhq/winnow/gateway/serve"
	"github.com/winnowhq/winnow/gateway/transport"
)

// Metrics are serve.Metrics in a registry of their own.
type Metrics struct {
	registry        *prometheus.Registry
	requests        *prometheus.CounterVec // by upstream and class of status
	received, sent  *prometheus.CounterVec // bytes of bodies, by upstream
	refused         *prometheus.CounterVec // requests that were not relayed, by code
	before, forward *prometheus.HistogramVec
}

// added are the buckets of what winnow adds: from 50 µs, each twice the one before, to 1.6 s.
var added = prometheus.ExponentialBuckets(50e-6, 2, 16)

// New counts for a listener, through all handlers that it has in its time. totals, which may be nil,
// are what its transport has done.
func New(totals func() transport.Totals) *Metrics {
	m := OfTenant(totals)
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// OfTenant counts for one tenant of a listener: the same without those of the process.
func OfTenant(totals func() transport.Totals) *Metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "winnow_" + name, Help: help}, labels)
	}
	histogram := func(name, help string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "winnow_" + name, Help: help, Buckets: added},
			[]string{"upstream"})
	}
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		requests: counter("requests_total",
			"Requests by upstream and class of status; none: the client left before an answer.", "upstream", "class"),
		received: counter("request_bytes_total", "Bytes of bodies that clients sent.", "upstream"),
		sent:     counter("response_bytes_total", "Bytes of bodies that clients got.", "upstream"),
		refused: counter("refused_requests_total",
			"Requests that were not relayed, or got no answer, by code.", "code"),
		before: histogram("added_seconds",
			"Time from the arrival of a request until it leaves, without waiting for the client."),
		forward: histogram("added_first_byte_seconds",
			"Time from the first byte of an answer until it is sent on."),
	}
	for _, code := range serve.RefusalCodes { // Prometheus sees no increase in a counter that appears at 1
		m.refused.WithLabelValues(code)
	}
	m.registry.MustRegister(m.requests, m.received, m.sent, m.refused, m.before, m.forward)
	if totals != nil {
		m.registry.MustRegister(newCarried(totals))
	}
	return m
}

// Answered implements serve.Metrics.
func (m *Metrics) Answered(a serve.Answered) {
	for _, class := range serve.Classes {
		m.requests.WithLabelValues(a.Upstream, class)
	}
	m.requests.WithLabelValues(a.Upstream, a.Class).Inc()
	m.received.WithLabelValues(a.Upstream).Add(float64(a.Received))
	m.sent.WithLabelValues(a.Upstream).Add(float64(a.Sent))
	if a.Before > 0 {
		m.before.WithLabelValues(a.Upstream).Observe(a.Before.Seconds())
	}
	if a.Forward > 0 {
		m.forward.WithLabelValues(a.Upstream).Observe(a.Forward.Seconds())
	}
}

// Refused implements serve.Metrics.
func (m *Metrics) Refused(code string) { m.refused.WithLabelValues(code).Inc() }

// Gauge implements serve.Metrics.
func (m *Metrics) Gauge(name, help string, value func() float64) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
}

// Counter implements serve.Metrics.
func (m *Metrics) Counter(name, help string, labels []string, known ...[]string) (add func(values ...string)) {
	counter := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	m.registry.MustRegister(counter)
	for _, values := range known {
		counter.WithLabelValues(values...)
	}
	return func(values ...string) { counter.WithLabelValues(values...).Inc() }
}

// ServeHTTP implements http.Handler: it shows them.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) { show(m.registry).ServeHTTP(w, r) }

func show(from prometheus.Gatherer) http.Handler {
	return promhttp.HandlerFor(from, promhttp.HandlerOpts{})
}

// WithTenants implements serve.Metrics.
func (m *Metrics) WithTenants(tenants map[string]serve.Metrics) http.Handler {
	all := prometheus.Gatherers{m.registry}
	for name, of := range tenants {
		if of, ok := of.(*Metrics); ok {
			all = append(all, labelled{of.registry, name})
		}
	}
	return show(all)
}

// labelled are the metrics of a tenant with its name.
type labelled struct {
	of   prometheus.Gatherer
	name string
}

// Gather implements prometheus.Gatherer.
func (l labelled) Gather() ([]*dto.MetricFamily, error) {
	families, err := l.of.Gather()
	label := "tenant"
	for _, f := range families {
		for _, m := range f.Metric {
			m.Label = append(m.Label, &dto.LabelPair{Name: &label, Value: &l.name})
			slices.SortFunc(m.Label, func(a, b *dto.LabelPair) int { return strings.Compare(a.GetName(), b.GetName()) })
		}
	}
	return families, err
}

// Names are the names of all that GET /metrics may show, in order.
func (m *Metrics) Names() []string {
	all := make(chan *prometheus.Desc)
	go func() {
		m.registry.Describe(all)
		close(all)
	}()
	var names []string
	for desc := range all {
		_, after, _ := strings.Cut(desc.String(), "fqName: ")
		quoted, err := strconv.QuotedPrefix(after)
		if err != nil {
			continue // a form of the library that is not known
		}
		name, err := strconv.Unquote(quoted)
		if err == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
