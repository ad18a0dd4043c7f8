package metrics

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/winnowhq/winnow/gateway/serve"
	"github.com/winnowhq/winnow/gateway/transport"
	"github.com/winnowhq/winnow/model/bill"
)

// canary is a credential that must be in no metric.
const canary = "canary-7f3a"

// relayed starts a listener that relays to addresses under names.
func relayed(t *testing.T, c serve.Config) net.Addr {
	t.Helper()
	s := httptest.NewUnstartedServer(nil)
	c.Host = s.Listener.Addr().String()
	h, err := serve.New(c)
	if err != nil {
		t.Fatal(err)
	}
	s.Config.Handler = h
	s.Start()
	t.Cleanup(s.Close)
	return s.Listener.Addr()
}

// scraped are the metrics of a listener by name and labels; of a histogram, how much was observed.
// Those of the runtime and the process are left out.
func scraped(t *testing.T, at net.Addr) (values map[string]float64, labels []string) {
	t.Helper()
	answer, err := http.Get("http://" + at.String() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(answer.Body)
	if err != nil || answer.StatusCode != 200 {
		t.Fatalf("%d: %v", answer.StatusCode, err)
	}
	values = map[string]float64{}
	for name, family := range families {
		if !strings.HasPrefix(name, "winnow_") {
			continue
		}
		if family.GetHelp() == "" {
			t.Errorf("%s says nothing about itself", name)
		}
		for _, m := range family.Metric {
			var names []string
			for _, l := range m.Label {
				names = append(names, l.GetName()+"="+l.GetValue())
				labels = append(labels, l.GetName())
			}
			key := strings.TrimPrefix(name, "winnow_")
			if len(names) > 0 {
				key += " " + strings.Join(names, " ")
			}
			switch family.GetType() {
			case dto.MetricType_COUNTER:
				values[key] = m.Counter.GetValue()
			case dto.MetricType_GAUGE:
				values[key] = m.Gauge.GetValue()
			case dto.MetricType_HISTOGRAM:
				values[key] = float64(m.Histogram.GetSampleCount())
				if sum := m.Histogram.GetSampleSum(); sum < 0 || sum > 60 {
					t.Errorf("%s observed %v s", key, sum)
				}
			}
		}
	}
	slices.Sort(labels)
	return values, slices.Compact(labels)
}

func TestMetrics_countWhatIsRelayed(t *testing.T) {
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if strings.HasSuffix(r.URL.Path, "limit") {
			w.WriteHeader(http.StatusTooManyRequests)
		}
		fmt.Fprint(w, "12345")
	}))
	defer up.Close()
	dead := httptest.NewServer(nil)
	dead.Close()
	at := relayed(t, serve.Config{MaxBody: 100, Metrics: New(nil), Upstreams: map[string]string{"up": up.URL, "dead": dead.URL}})
	// What is refused ends its connection; the next request has one of its own.
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	post := func(path, body string) {
		t.Helper()
		r, err := http.NewRequest(http.MethodPost, "http://"+at.String()+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Api-Key", canary)
		r.Header.Set("X-Claude-Code-Session-Id", canary)
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
	}
	post("/up/v1/messages?key="+canary, "abc")
	post("/up/v1/"+canary, "abcd")
	post("/up/limit", "")
	post("/dead/x", "ab")
	post("/up/%2e%2e/x", "")
	post("/up/large", strings.Repeat("x", 101))
	upgrade, err := http.NewRequest(http.MethodGet, "http://"+at.String()+"/up/v1/responses", nil)
	if err != nil {
		t.Fatal(err)
	}
	upgrade.Header.Set("Connection", "Upgrade")
	upgrade.Header.Set("Upgrade", "websocket")
	answer, err := client.Do(upgrade)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	got, labels := scraped(t, at)
	for range 1000 { // the last one is counted when its handler returns, which the client does not see
		if got["requests_total class=2xx upstream=up"]+got["requests_total class=4xx upstream=up"] == 6 {
			break
		}
		got, labels = scraped(t, at)
	}
	want := map[string]float64{
		"requests_total class=2xx upstream=up": 2, "requests_total class=4xx upstream=up": 4, "requests_total class=5xx upstream=dead": 1,
		"request_bytes_total upstream=up": 7, "request_bytes_total upstream=dead": 0,
		"refused_requests_total code=path": 1, "refused_requests_total code=too_large": 1,
		"refused_requests_total code=websocket": 1, "refused_requests_total code=no_answer": 1,
		"added_seconds upstream=up": 3, "added_seconds upstream=dead": 1, "added_first_byte_seconds upstream=up": 3,
	}
	for key, n := range want {
		if is, ok := got[key]; !ok || is != n && key != "request_bytes_total upstream=dead" {
			t.Errorf("%s is %v, want %v", key, is, n)
		}
	}
	if got["response_bytes_total upstream=up"] < 15 {
		t.Errorf("%v bytes went back", got["response_bytes_total upstream=up"])
	}
	if diff := cmp.Diff([]string{"class", "code", "upstream"}, labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if text := fmt.Sprint(got); strings.Contains(text, "canary") {
		t.Errorf("what a client sent is in the metrics: %s", text)
	}
}

// Prometheus sees no increase in a counter that appears at 1, so that all are there at 0.
func TestMetrics_showWhatHasNotHappened(t *testing.T) {
	at := relayed(t, serve.Config{Upstreams: map[string]string{"up": "http://h.invalid"}, Metrics: New(nil)})
	got, _ := scraped(t, at)
	for _, code := range serve.RefusalCodes {
		if n, ok := got["refused_requests_total code="+code]; !ok || n != 0 {
			t.Errorf("%s is %v, shown %v", code, n, ok)
		}
	}
	m := New(nil)
	m.Answered(serve.Answered{Upstream: "up", Class: "2xx"})
	w := httptest.NewRecorder()
	m.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, line := range []string{`{class="2xx",upstream="up"} 1`, `{class="5xx",upstream="up"} 0`, `{class="none",upstream="up"} 0`} {
		if !strings.Contains(w.Body.String(), "winnow_requests_total"+line+"\n") {
			t.Errorf("there is no %s", line)
		}
	}
}

// What a transport has done is shown as it is when it is asked for.
func TestMetrics_showTheTotals(t *testing.T) {
	totals := transport.Totals{}
	at := relayed(t, serve.Config{Upstreams: map[string]string{"up": "http://h.invalid"}, Metrics: New(func() transport.Totals { return totals })})
	if got, _ := scraped(t, at); got["net_dollars"] != 0 || got["live_sessions"] != 0 {
		t.Errorf("before anything: %v", got)
	}
	totals = transport.Totals{
		RequestTotals: transport.RequestTotals{Requests: 11, Beside: 2, Edited: 3, Resent: 4, Passed: 16, Recalls: 6, Warm: 15},
		CostTotals:    transport.CostTotals{Unpriced: 5, Billed: 1.5, Otherwise: bill.Estimate{Likely: 9}, Missed: 0.1, Summaries: 0.25, Net: -0.125, Gained: 0.375, Overpaid: 0.5, ToSave: 0.5, WarmCost: 0.3, WarmSaved: 0.7},
		SessionTotals: transport.SessionTotals{LeftOut: 700, Live: 8, Sessions: []string{canary}},
		CacheRead:     9000,
		CacheWritten:  100,
		Rewritten:     10,
		Decided:       map[string]int{"idle": 12, "compaction": 13},
		Refusals:      map[string]int{"below-minimum": 14},
	}
	got, labels := scraped(t, at)
	want := map[string]float64{"answered_requests_total": 11, "beside_requests_total": 2, "edited_requests_total": 3,
		"resent_requests_total": 4, "passed_requests_total": 16, "unpriced_requests_total": 5, "recalls_total": 6, "billed_dollars_total": 1.5,
		"without_dollars": 9, "without_low_dollars": 9, "without_high_dollars": 9,
		"summary_dollars_total": 0.25, "net_dollars": -0.125, "could_save_dollars": 0.5, "left_out_tokens": 700, "live_sessions": 8,
		"cache_tokens_total kind=read": 9000, "cache_tokens_total kind=written": 100, "cache_tokens_total kind=rewritten": 10,
		"decisions_total rule=idle": 12, "decisions_total rule=compaction": 13, "refusals_total code=below-minimum": 14,
		"warm_requests_total": 15, "warm_dollars_total": 0.3, "warm_saved_dollars_total": 0.7,
		"saved_dollars_total": 0.375, "overpaid_dollars_total": 0.5}
	for _, code := range serve.RefusalCodes {
		want["refused_requests_total code="+code] = 0
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"code", "kind", "rule"}, labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
}
