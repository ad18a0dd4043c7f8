package serve

import (
	"strings"
	"testing"
)

// A page that reaches the listener by another name, or that another origin sent, gets no metrics.
func TestMetrics_areForThisComputer(t *testing.T) {
	at := relayed(t, Config{Upstreams: map[string]string{"up": "http://h.invalid"}})
	for _, head := range []string{"Host: evil.example", "Host: localhost\r\nOrigin: https://evil.example"} {
		answer := talk(t, at, "GET /metrics HTTP/1.1\r\nConnection: close\r\n"+head+"\r\n\r\n")
		if !strings.HasPrefix(answer, "HTTP/1.1 404") || strings.Contains(answer, "winnow_") {
			t.Errorf("%s: %q", head, answer)
		}
	}
	if answer := talk(t, at, "POST /metrics HTTP/1.1\r\nConnection: close\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"); !strings.HasPrefix(answer, "HTTP/1.1 405") {
		t.Errorf("POST: %q", answer)
	}
	if _, err := Upstream("metrics", "https://h.example"); err == nil {
		t.Error("an upstream may be called metrics")
	}
}
