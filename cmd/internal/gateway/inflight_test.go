package gateway

import (
	"net/http/httptest"
	"testing"
)

// What is relayed is in flight until it has ended; the listener's own routes never are.
func TestFlights(t *testing.T) {
	var f inFlight
	for path, want := range map[string]int64{"/anthropic/v1/messages": 1, "/wt_a/openai/v1/responses": 1, "/": 0, "/healthz": 0,
		"/readyz": 0, "/metrics": 0, "/wt_a/metrics": 0, "/~/events": 0, "/wt_a/~/events": 0} {
		done, counted := f.Begin(httptest.NewRequest("POST", path, nil))
		if got := f.now.Load(); got != want || counted != (want == 1) {
			t.Errorf("%s: %d are in flight, want %d", path, got, want)
		}
		if done(); f.now.Load() != 0 {
			t.Errorf("%s: %d are in flight after it has ended", path, f.now.Load())
		}
	}
}
