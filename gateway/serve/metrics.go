package serve

import (
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"

	"github.com/winnowhq/winnow/gateway/transport"
)

// Metrics are what GET /metrics shows. No label names a session, a client or a path.
type Metrics struct {
	registry        *prometheus.Registry
	requests        *prometheus.CounterVec // by upstream and class of status
	received, sent  *prometheus.CounterVec // bytes of bodies, by upstream
	refused         *prometheus.CounterVec // requests that were not relayed, by code
	before, forward *prometheus.HistogramVec
}

// added are the buckets of what winnow adds: from 50 µs, each twice the one before, to 1.6 s.
var added = prometheus.ExponentialBuckets(50e-6, 2, 16)

// NewMetrics counts for a listener, through all handlers that it has in its time. totals, which may
// be nil, are what its transport has done.
func NewMetrics(totals func() transport.Totals) *Metrics {
	m := NewTenantMetrics(totals)
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// NewTenantMetrics counts for one tenant of a listener: the same without what is of the process.
func NewTenantMetrics(totals func() transport.Totals) *Metrics {
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
	m.registry.MustRegister(m.requests, m.received, m.sent, m.refused, m.before, m.forward)
	if totals != nil {
		m.registry.MustRegister(newCarried(totals))
	}
	return m
}

func (m *Metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// allMetrics are those of the listener, and of each tenant that is at hand with its name.
func (h *handler) allMetrics() http.Handler {
	all := prometheus.Gatherers{h.Metrics.registry}
	for name, m := range h.Door.Metrics() {
		all = append(all, labelled{m.registry, name})
	}
	return promhttp.HandlerFor(all, promhttp.HandlerOpts{})
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

// passage is the way of one request through winnow, with its times since it arrived.
type passage struct {
	began    time.Time
	received atomic.Int64 // bytes of its body
	waited   atomic.Int64 // nanoseconds for the client to send the body
	left     atomic.Int64 // nanoseconds until a connection to the upstream was wanted first, without waiting
	answered atomic.Int64 // nanoseconds until the first byte of the newest answer
}

// follow notes when a request leaves and when its answer comes. What is not sent by
// [http.Transport] is not noted.
func (p *passage) follow(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) {
			p.left.CompareAndSwap(0, max(1, int64(time.Since(p.began))-p.waited.Load()))
		},
		GotFirstResponseByte: func() { p.answered.Store(int64(time.Since(p.began))) },
	})
}

// incoming is the body of a request as the client sends it.
type incoming struct {
	io.ReadCloser
	passage *passage
}

func (b incoming) Read(data []byte) (int, error) {
	asked := time.Now()
	n, err := b.ReadCloser.Read(data)
	b.passage.waited.Add(int64(time.Since(asked)))
	b.passage.received.Add(int64(n))
	return n, err
}

// ended counts a request when its answer has ended.
func (m *Metrics) ended(upstream string, p *passage, seen *watched) {
	class := "none"
	if seen.status > 0 {
		class = strconv.Itoa(seen.status/100) + "xx"
	}
	m.requests.WithLabelValues(upstream, class).Inc()
	m.received.WithLabelValues(upstream).Add(float64(p.received.Load()))
	m.sent.WithLabelValues(upstream).Add(float64(seen.bytes))
	if left := p.left.Load(); left > 0 {
		m.before.WithLabelValues(upstream).Observe(time.Duration(left).Seconds())
	}
	if answered := p.answered.Load(); answered > 0 && !seen.first.IsZero() {
		m.forward.WithLabelValues(upstream).Observe(max(0, seen.first.Sub(p.began)-time.Duration(answered)).Seconds())
	}
}

// carried collects what a transport has done.
type carried struct {
	totals func() transport.Totals
	sums   []sum
	byRule, byCode,
	cache *prometheus.Desc
}

// sum is one figure of a transport.
type sum struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	of   func(transport.Totals) float64
}

func newCarried(totals func() transport.Totals) *carried {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("winnow_"+name, help, labels, nil)
	}
	counter := func(name, help string, of func(transport.Totals) float64) sum {
		return sum{desc(name, help), prometheus.CounterValue, of}
	}
	gauge := func(name, help string, of func(transport.Totals) float64) sum {
		return sum{desc(name, help), prometheus.GaugeValue, of}
	}
	return &carried{totals,
		[]sum{
			counter("answered_requests_total", "Requests of conversations that were answered.",
				func(t transport.Totals) float64 { return float64(t.Requests) }),
			counter("beside_requests_total", "Other requests that were answered: for titles and the like.",
				func(t transport.Totals) float64 { return float64(t.Beside) }),
			counter("edited_requests_total",
				"Requests of which something was left out, or in the mode observe could have been.",
				func(t transport.Totals) float64 { return float64(t.Edited) }),
			counter("resent_requests_total", "Requests that were refused with an edit, and sent once more without.",
				func(t transport.Totals) float64 { return float64(t.Resent) }),
			counter("passed_requests_total", "Requests that were not decided about because the store was lost.",
				func(t transport.Totals) float64 { return float64(t.Passed) }),
			counter("unpriced_requests_total", "Answered requests of unknown cost, which are in no sum of dollars.",
				func(t transport.Totals) float64 { return float64(t.Unpriced) }),
			counter("recalls_total", "Outputs that gave back what was left out.",
				func(t transport.Totals) float64 { return float64(t.Recalls) }),
			counter("billed_dollars_total", "What the requests cost, by the providers' reports.",
				func(t transport.Totals) float64 { return float64(t.Billed) }),
			counter("summary_dollars_total", "What summaries cost beside that.",
				func(t transport.Totals) float64 { return t.Summaries }),
			counter("warm_requests_total", "Requests that kept the provider's cache while a client was silent.",
				func(t transport.Totals) float64 { return float64(t.Warm) }),
			counter("warm_dollars_total", "What they cost, which is in what was billed.",
				func(t transport.Totals) float64 { return float64(t.WarmCost) }),
			counter("warm_saved_dollars_total", "What writing to the cache would have cost without them.",
				func(t transport.Totals) float64 { return t.WarmSaved }),
			gauge("without_dollars", "What the clients would have paid without winnow, most likely.",
				func(t transport.Totals) float64 { return t.Otherwise.Likely }),
			gauge("without_low_dollars", "The least that they would have paid.",
				func(t transport.Totals) float64 { low, _ := t.Otherwise.Range(); return low }),
			gauge("without_high_dollars", "The most that they would have paid.",
				func(t transport.Totals) float64 { _, high := t.Otherwise.Range(); return high }),
			gauge("net_dollars",
				"What the clients pay less than without winnow, net of what winnow costs; may be negative.",
				func(t transport.Totals) float64 { return t.Net }),
			gauge("could_save_dollars", "The same for requests that were only observed.",
				func(t transport.Totals) float64 { return t.ToSave }),
			gauge("left_out_tokens", "Tokens left out of the newest request of each session.",
				func(t transport.Totals) float64 { return float64(t.LeftOut) }),
			gauge("live_sessions", "Sessions with a request within the last hour.",
				func(t transport.Totals) float64 { return float64(t.Live) }),
		},
		desc("decisions_total", "Parts that were left out, and messages that a summary replaced, by rule.", "rule"),
		desc("refusals_total", "Reasons why something was not left out, by code.", "code"),
		desc("cache_tokens_total", "Tokens that were read from the providers' caches, written to them, "+
			"and of these written again because of what was left out.", "kind"),
	}
}

// Describe implements prometheus.Collector.
func (c *carried) Describe(to chan<- *prometheus.Desc) {
	for _, s := range c.sums {
		to <- s.desc
	}
	to <- c.byRule
	to <- c.byCode
	to <- c.cache
}

// Collect implements prometheus.Collector.
func (c *carried) Collect(to chan<- prometheus.Metric) {
	t := c.totals()
	for _, s := range c.sums {
		to <- prometheus.MustNewConstMetric(s.desc, s.kind, s.of(t))
	}
	all := map[*prometheus.Desc]map[string]int{c.byRule: t.Decided, c.byCode: t.Refusals,
		c.cache: {"read": t.CacheRead, "written": t.CacheWritten, "rewritten": t.Rewritten}}
	for desc, counts := range all {
		for label, n := range counts {
			to <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(n), label)
		}
	}
}
