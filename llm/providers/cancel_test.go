package providers

import (
	"context"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
	"time"

	"github.com/winnowhq/winnow/llm"
)

// On a real connection, which the other tests' pipes are not: Ask is back soon after its context
// ends, and nothing runs on.
func TestAsk_isBackSoonAndLeavesNothingBehind(t *testing.T) {
	for _, d := range dialects {
		t.Run(string(d.protocol), func(t *testing.T) {
			for name, answer := range map[string]http.HandlerFunc{
				"before the headers": hang, "amid the stream": then(beginning(d), hang),
				"amid a slow drip": then(beginning(d), drip), "amid a flood": then(beginning(d), flood),
			} {
				before := runtime.NumGoroutine()
				server := httptest.NewServer(answer)
				c := client(t, d, &http.Transport{}, func(p *Provider) { p.BaseURL = server.URL })
				ctx, cancel := context.WithCancel(t.Context())
				var ended time.Time
				time.AfterFunc(50*time.Millisecond, func() { ended = time.Now(); cancel() })
				_, err := c.Ask(ctx, question())
				took := time.Since(ended)
				t.Logf("%s: %s after the context ended", name, took)
				// 250 ms is what is promised; the machine may be busy
				if llm.KindOf(err) != llm.Cancelled || took > 2*time.Second {
					t.Errorf("%s: %v, %s after the context ended", name, err, took)
				}
				server.Close()
				if n := settled(before); n > before {
					stacks := make([]byte, 1<<16)
					t.Errorf("%s: %d goroutines, %d before:\n%s", name, n, before, stacks[:runtime.Stack(stacks, true)])
				}
			}
		})
	}
}

// flood sends comments as fast as it can.
func flood(w http.ResponseWriter, r *http.Request) {
	for r.Context().Err() == nil {
		if _, err := w.Write([]byte(": on and on\n\n")); err != nil {
			return
		}
	}
}

// settled waits until no more goroutines run than before.
func settled(before int) int {
	n := runtime.NumGoroutine()
	for range 200 {
		if n = runtime.NumGoroutine(); n <= before {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	return n
}
