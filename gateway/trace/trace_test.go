package trace

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
)

// A collector gets each span once, with its parent, by the variables that everybody uses.
func TestTracer(t *testing.T) {
	got := make(chan export, 9)
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		var e export
		if err := json.Unmarshal(text, &e); err != nil || r.URL.Path != "/v1/traces" || r.Header.Get("X-Key") != "a b" ||
			r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %s: %v, %v", r.URL, text, r.Header, err)
		}
		got <- e
	}))
	defer collector.Close()
	environ := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": collector.URL + "/", "OTEL_EXPORTER_OTLP_HEADERS": "x-key=a%20b, y=1",
		"OTEL_SERVICE_NAME": "house"}
	tracer := FromEnvironment(func(name string) string { return environ[name] }, slog.New(slog.DiscardHandler), time.Now)
	r := httptest.NewRequest("POST", "/anthropic/v1/messages", nil)
	r.Header.Set("Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	r, end := tracer.Request(r, "relay")
	_, child := tracer.Start(r.Context(), "splice")
	child()
	end()
	end()
	tracer.Close()
	spans := (<-got).Resources[0].Scopes[0].Spans
	if len(spans) != 2 || len(got) != 0 || spans[0].Name != "splice" || spans[1].Name != "relay" {
		t.Fatalf("it got %+v", spans)
	}
	if spans[1].Trace != "0af7651916cd43dd8448eb211c80319c" || spans[1].Parent != "b7ad6b7169203331" ||
		spans[0].Trace != spans[1].Trace || spans[0].Parent != spans[1].ID || len(spans[0].ID) != 16 || spans[0].End < spans[0].Start {
		t.Errorf("the spans are %+v", spans)
	}
}

// Without an endpoint there is no tracer, and none costs nothing; a header that is no trace begins
// a new one.
func TestTracer_none(t *testing.T) {
	for _, environ := range []map[string]string{nil, {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "True"}} {
		if tracer := FromEnvironment(func(name string) string { return environ[name] }, nil, nil); tracer != nil {
			t.Errorf("%v: there is a tracer", environ)
		}
	}
	var none *Tracer
	r := httptest.NewRequest("GET", "/", nil)
	if same, end := none.Request(r, "a"); same != r {
		t.Error("the request is another one")
	} else {
		end()
	}
	ctx, end := none.Start(t.Context(), "a")
	end()
	if none.Close(); ctx != t.Context() {
		t.Error("the context is another one")
	}
	for _, text := range []string{"", "00-x", "00-" + strings.Repeat("0", 32) + "-b7ad6b7169203331-01", "00-" + strings.Repeat("Z", 32) + "-b7ad6b7169203331-01"} {
		parts := strings.Split(text, "-")
		if len(parts) == 4 && hexadecimal(parts[1], 32) {
			t.Errorf("%q is taken for a trace", text)
		}
	}
}
