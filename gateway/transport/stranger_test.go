package transport

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/session"
)

// Another program that rewrites requests is noticed, and said once; a client that does nothing of
// the kind is not.
func TestTransport_noticesWhoElseRewrites(t *testing.T) {
	sequential(t)
	plain := func() http.RoundTripper { return http.DefaultTransport }
	headroom := func() http.RoundTripper {
		return tripper(func(r *http.Request) (*http.Response, error) {
			a, err := http.DefaultTransport.RoundTrip(r)
			if err == nil {
				a.Header.Set("x-headroom-tokens-saved", "5")
			}
			return a, err
		})
	}
	for name, c := range map[string]struct {
		base   func() http.RoundTripper
		header string
		before bool // a proxy before winnow shortens one result in the middle
		want   string
	}{
		"nobody":         {plain, "", false, ""},
		"headroom":       {headroom, "", false, "headroom is behind winnow"},
		"LiteLLM before": {plain, "X-Litellm-Call-Id", false, "LiteLLM is before winnow"},
		"before":         {plain, "", true, "changed in its middle"},
	} {
		for _, p := range []llmtest.Protocol{llmtest.Anthropic, llmtest.Responses} {
			t.Run(fmt.Sprint(name, " ", p), func(t *testing.T) {
				s := play(t, p, 50, Options{Base: c.base()})
				s.quiet = true
				s.restart()
				for i, at := range s.steps() {
					log := s.log[:at:at]
					if c.before && i > 30 {
						log = pruned(log)
					}
					r := s.ask(log, at)
					if c.header != "" {
						r.Header.Set(c.header, "x")
					}
					s.send(r)
				}
				got := s.transport.Strangers()
				if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)) {
					t.Errorf("it says %q, want %q", got, c.want)
				}
			})
		}
	}
}

// pruned is a log with one of its outputs cleared, as a proxy does it that prunes by age.
func pruned(log []session.Message) []session.Message {
	for i := range log {
		for j := range log[i].Parts {
			if p := &log[i].Parts[j]; p.State != nil && len(p.State.Output) > 200 {
				log = slices.Clone(log)
				log[i].Parts = slices.Clone(log[i].Parts)
				state := *p.State
				state.Output = "[cleared]"
				log[i].Parts[j].State = &state
				return log
			}
		}
	}
	return log
}
