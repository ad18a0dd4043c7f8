package upstream

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/winnowhq/winnow/llm"
)

// Whatever a refusal says, it becomes an error for people that asks to wait neither backwards nor
// for more than a year.
func FuzzRefusal(f *testing.F) {
	for _, seed := range [][3]string{
		{"Retry-After", "7", `{"error":{"message":"no"}}`}, {"Retry-After", "Wed, 21 Oct 2099 07:28:00 GMT", ""},
		{"Retry-After", "-1", "<html><title>x</title>"}, {"Retry-After-Ms", "1e300", ""},
		{"Retry-After", "NaN", `{"error":{"code":429,"details":[{"@type":"x.RetryInfo","retryDelay":"9999999h"}]}}`},
		{"X-Ratelimit-Reset-Tokens", "99999h", ""},
		{"Anthropic-Ratelimit-Requests-Reset", "9999-01-01T00:00:00Z", ""},
		{"", "", `{"error":{"message":"Please try again in 99999999999999999999min sk-secret"}}`},
		{"Retry-After", "0x1p1023", "[[[["},
	} {
		f.Add(429, seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, status int, name, value, text string) {
		header := http.Header{http.CanonicalHeaderKey(name): {value}, "X-Ratelimit-Remaining-Tokens": {"0"},
			"Anthropic-Ratelimit-Requests-Remaining": {"0"}}
		_, err := read(t, canned{status: 400 + max(status%200, -(status%200)), header: header,
			text: strings.NewReader(text)}, false)
		e, ok := errors.AsType[*llm.Error](err)
		if !ok {
			t.Fatalf("%v is no error of this house", err)
		}
		if e.RetryAfter < 0 || e.RetryAfter > 366*24*time.Hour {
			t.Errorf("it is to be tried again after %v", e.RetryAfter)
		}
		words := err.Error()
		if strings.Contains(words, "sk-secret") {
			t.Errorf("the key shows: %q", words)
		}
		if len(words) > 2000 || !utf8.ValidString(words) || strings.ContainsAny(words, "\x1b\x00\n\r") {
			t.Errorf("the error is %q", words)
		}
	})
}
