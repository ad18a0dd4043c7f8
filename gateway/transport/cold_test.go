package transport

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/winnowhq/winnow/internal/llmtest"
)

// pausing is a client whose requests a function writes anew, and which rests before its 41st.
func pausing(t *testing.T, s *stage, idle time.Duration, restarted bool, write func(body []byte) []byte) (decided bool) {
	t.Helper()
	ask := func(at int) {
		r := s.request(at)
		body := write(must(io.ReadAll(must(r.GetBody()))))
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		s.now = s.now.Add(20 * time.Second)
		if status, answer := s.send(r); status != 200 {
			t.Fatalf("step %d: %d %s", at, status, answer)
		}
	}
	steps := s.steps()
	for _, at := range steps[:40] {
		ask(at)
	}
	s.now = s.now.Add(idle - 20*time.Second)
	if restarted {
		s.restart()
	}
	before := s.receipts()
	ask(steps[40])
	return s.decided > before // when the request reached the provider
}

// A cache is taken for cold a little later than it lives. A client that asks for its cache to live
// for an hour has it for an hour: nothing is decided as if it were forgotten after the five minutes
// that the model's own lifetime is.
func TestTransport_coldForCertain(t *testing.T) {
	sequential(t)
	for _, c := range []struct {
		idle       time.Duration
		hour, cold bool
	}{
		{5*time.Minute + 50*time.Second, false, false}, {6*time.Minute + 2*time.Second, false, true},
		{10 * time.Minute, true, false}, {time.Hour + 50*time.Second, true, false}, {time.Hour + 62*time.Second, true, true},
	} {
		for _, restarted := range []bool{false, true} {
			s := play(t, llmtest.Anthropic, 50, Options{Mode: Safe, Base: http.DefaultTransport})
			decided := pausing(t, s, c.idle, restarted, func(body []byte) []byte {
				if c.hour {
					body = bytes.ReplaceAll(body, []byte(`{"type":"ephemeral"}`), []byte(`{"type":"ephemeral","ttl":"1h"}`))
				}
				return body
			})
			if decided != c.cold {
				t.Errorf("after %s, restarted %t: decided %t, want %t", c.idle, restarted, decided, c.cold)
			}
		}
	}
}

// Other providers keep prompts for longer than they promise. The mode safe leaves alone what may be
// cached, for a day or for ever where nobody says how long that is.
func TestTransport_safeNeverRewritesWhatMayBeCached(t *testing.T) {
	sequential(t)
	const day, hour = 24 * time.Hour, time.Hour
	configured := 600
	for _, c := range []struct {
		protocol llmtest.Protocol
		model    string
		asks     string // members of the request
		seconds  *int   // cache.seconds of the configuration
		idle     time.Duration
		cold     bool
	}{
		{llmtest.Responses, "", `"prompt_cache_retention":"24h",`, nil, 23 * hour, false},
		{llmtest.Chat, "", `"prompt_cache_retention":"24h",`, nil, 23 * hour, false},
		{llmtest.Chat, "", `"prompt_cache_retention":"24h",`, nil, day + 2*time.Minute, true},
		{llmtest.Chat, "", `"prompt_cache_retention":"in_memory",`, nil, 50 * time.Minute, false},
		{llmtest.Chat, "", `"prompt_cache_retention":"in_memory",`, nil, hour + 2*time.Minute, true},
		{llmtest.Responses, "", ``, nil, 2 * hour, false}, // a day is the default of most accounts
		{llmtest.Responses, "", ``, nil, day + 2*time.Minute, true},
		{llmtest.Chat, "gpt-5.6-sol", ``, nil, hour, false}, // half an hour at least
		{llmtest.Chat, "gpt-5.6-sol", `"prompt_cache_options":{"ttl":"30m"},`, nil, 40 * day, false},
		{llmtest.Gemini, "", ``, nil, 40 * day, false},
		{llmtest.Anthropic, "kimi-k2.5", ``, nil, 40 * day, false},
		{llmtest.Chat, "of-nobody", ``, nil, 40 * day, false},
		{llmtest.Chat, "of-nobody", ``, &configured, 20 * time.Minute, true},
	} {
		t.Run(fmt.Sprint(c.protocol, c.model, c.asks, c.idle), func(t *testing.T) {
			s := play(t, c.protocol, 50, Options{Mode: Safe})
			if s.caches = c.seconds; c.model != "" {
				s.model = c.model
			}
			s.restart()
			write := func(body []byte) []byte { return bytes.Replace(body, []byte("{"), []byte("{"+c.asks), 1) }
			if got := pausing(t, s, c.idle, false, write); got != c.cold {
				t.Errorf("decided %t, want %t", got, c.cold)
			}
		})
	}
}

// A cache that was asked to last for a day counts as warm in the mode full, too.
func TestTransport_aDayOfCacheWasAskedFor(t *testing.T) {
	sequential(t)
	for asks, want := range map[string]bool{``: true, `"prompt_cache_retention":"24h",`: false,
		`"prompt_cache_options":{"ttl":"12h"},`: false} {
		s := play(t, llmtest.Chat, 50, Options{})
		got := pausing(t, s, 2*time.Hour, false, func(body []byte) []byte {
			return bytes.Replace(body, []byte("{"), []byte("{"+asks), 1)
		})
		if got != want {
			t.Errorf("%q: decided %t, want %t", asks, got, want)
		}
	}
}

// What a request calls cached content is at the provider, and stands before what it says.
func TestTransport_cachedContentIsLeftAlone(t *testing.T) {
	s := play(t, llmtest.Gemini, 20, Options{})
	for _, at := range s.steps() {
		r := s.request(at)
		body := bytes.Replace(must(io.ReadAll(r.Body)), []byte("{"), []byte(`{"cachedContent":"cachedContents/a",`), 1)
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		if status, answer := s.send(r); status != 200 {
			t.Fatalf("%d %s", status, answer)
		}
	}
	if list := must(s.store.List(t.Context())); len(list) > 0 {
		t.Errorf("%d sessions", len(list))
	}
}
