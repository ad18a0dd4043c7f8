package transport

import (
	"net/http"
	"net/url"
	"testing"
)

// However an address is spelled, a server may take it for the same.
func TestRoute_otherSpellingsAreTheSame(t *testing.T) {
	for path, want := range map[string]purpose{
		"/v1/messages": generate, "/v1/messages/": generate, "//v1//messages": generate, "/V1/Messages": generate,
		"/v1/messages;beta": generate, "/v1/chat/completions/": generate, "/v1/RESPONSES/": generate,
		"/v1beta/Models/gemini-2.5-flash:GenerateContent/": generate,
		"/v1/messages/count_tokens/":                       count, "/v1/responses/compact": billed, "/v1/messages/batches": other,
	} {
		if _, got := route(&http.Request{Method: http.MethodPost, URL: &url.URL{Path: path}}); got != want {
			t.Errorf("%s: purpose %d, want %d", path, got, want)
		}
	}
	for path, want := range map[string]string{"/v1beta/Models/Gem:GenerateContent/": "Gem", "/v1beta/models/gem": "gem", "/v1": ""} {
		if got := addressed(path); got != want {
			t.Errorf("%s: model %q, want %q", path, got, want)
		}
	}
}
