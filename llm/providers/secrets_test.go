package providers

import (
	"fmt"
	"strings"
	"testing"
)

// What a server repeats of that which it was sent is not shown: keys, what headers have from the
// environment, credentials of any scheme, a password in the address.
func TestAsk_noErrorShowsASecret(t *testing.T) {
	each(t, func(t *testing.T, d dialect) {
		environment := map[string]string{"THE_KEY": key, "TEAM": "team-pass-4711"}
		s, err := New(func(name string) string { return environment[name] }, map[string]Provider{"house": {
			Protocol: d.protocol, BaseURL: "http://me:pass-in-address@upstream.test/v1", KeyEnv: "THE_KEY",
			Headers: map[string]string{"X-Team": "$TEAM", "Proxy-Authorization": "Basic bWU6cGFzcw=="},
		}})
		if err != nil {
			t.Fatal(err)
		}
		repeated := fmt.Sprintf("%s and team-pass-4711 and bWU6cGFzcw== and pass-in-address", key)
		s.Transport = serve(t, status(400, fmt.Sprintf(d.body, repeated)))
		c, err := s.Client("house")
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Ask(t.Context(), question())
		if got := fmt.Sprintf("%v %+v", err, err); !strings.Contains(got, "[key] and [key] and [key] and [key]") {
			t.Errorf("the error is %s", got)
		}
	})
}
