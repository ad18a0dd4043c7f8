package llm

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestRetry_tellsOfEachWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limited := &Error{Kind: RateLimited, Provider: "p", Model: "m", RetryAfter: 20 * time.Second}
		s := &scripted{outcomes: []outcome{{err: limited}, {err: fails(Server)}, {text: "well"}}}
		type wait struct {
			d    time.Duration
			kind Kind
		}
		var told []wait
		began := time.Now()
		var sum time.Duration
		_, err := Retry(s, RetryOptions{Random: always(0.5)}).Ask(t.Context(),
			Request{Waiting: func(d time.Duration, failed error) {
				told = append(told, wait{d, KindOf(failed)})
				sum += d
			}})
		if err != nil {
			t.Fatal(err)
		}
		if len(told) != 2 || told[0].kind != RateLimited || told[0].d < 20*time.Second || told[1].kind != Server {
			t.Errorf("told of %v, want a wait of 20 s for the limit and one for the failure", told)
		}
		if waited := time.Since(began); waited != sum {
			t.Errorf("it waited %s and told of %s", waited, sum)
		}
	})
}
