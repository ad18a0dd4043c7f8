package wire_test

import (
	"testing"

	"github.com/winnowhq/winnow/wire"
)

func TestRoute_otherSpellingsAreTheSame(t *testing.T) {
	for _, path := range []string{"/v1/messages", "/v1/messages/", "//v1//messages//", "/v1/%6dessages", "/v1/%256dessages",
		"/V1/Messages", "/v1%2Fmessages", "/v1/messages;v=1", `\v1\messages`, "/v1/messages%20", "v1/messages", "/v1/;a/messages"} {
		if got := wire.Route(path); got != "/v1/messages" {
			t.Errorf("%s: %s", path, got)
		}
	}
	for path, want := range map[string]string{"": "", "/": "", "/v1/%zz": "/v1/%zz", "/v1/models/M:generateContent/": "/v1/models/m:generatecontent"} {
		if got := wire.Route(path); got != want {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
}
