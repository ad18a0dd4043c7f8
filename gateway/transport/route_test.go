package transport

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/winnowhq/winnow/wire"
)

// However an address is spelled, a server may take it for the same.
func TestRoute_otherSpellingsAreTheSame(t *testing.T) {
	for path, want := range map[string]wire.Purpose{
		"/v1/messages": wire.Generate, "/v1/messages/": wire.Generate, "//v1//messages": wire.Generate, "/V1/Messages": wire.Generate,
		"/v1/messages;beta": wire.Generate, "/v1/chat/completions/": wire.Generate, "/v1/RESPONSES/": wire.Generate,
		"/v1beta/Models/gemini-2.5-flash:GenerateContent/": wire.Generate,
		"/v1/messages/count_tokens/":                       wire.Count, "/v1/responses/compact": wire.Billed, "/v1/messages/batches": wire.Other,
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
