package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/winnowhq/winnow/gateway/transport"
)

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
			counter("saved_dollars_total", "What single requests cost less than without winnow.",
				func(t transport.Totals) float64 { return t.Gained }),
			counter("overpaid_dollars_total", "What single requests, and summaries, cost more than without winnow.",
				func(t transport.Totals) float64 { return t.Overpaid }),
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
