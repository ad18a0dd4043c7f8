package transport

import (
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"

	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/cache"
)

// Conversations beside one another, two of which say the same, do not meet: each is its own
// session, or a stretch of one, and nobody waits for ever.
func TestTransport_conversationsBesideOneAnother(t *testing.T) {
	s := play(t, llmtest.Anthropic, 25, Options{Cache: cache.NewPool(3 << 20)})
	s.quiet = true
	var all sync.WaitGroup
	for client := range 6 {
		all.Go(func() {
			for _, at := range s.steps() {
				messages := append([]session.Message(nil), s.log[:at]...)
				first := messages[0]
				first.Parts = []session.Part{{Type: session.TextPart, Text: fmt.Sprintf("Task %d.", client/2)}}
				messages[0] = first
				r := s.ask(messages, at)
				answer, err := s.transport.RoundTrip(r)
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := io.Copy(io.Discard, answer.Body); err != nil {
					t.Error(err)
				}
				answer.Body.Close()
				if answer.StatusCode != http.StatusOK {
					t.Errorf("client %d, step %d: %s", client, at, answer.Status)
				}
			}
		})
	}
	all.Wait()
	if problems := s.server.Problems(); len(problems) > 0 {
		t.Errorf("the provider would refuse: %v", problems)
	}
	if totals := s.transport.Totals(); totals.Requests != 6*len(s.steps()) {
		t.Errorf("%d requests are counted of %d", totals.Requests, 6*len(s.steps()))
	}
	for id, f := range s.transport.lineages {
		if f.uses != 0 {
			t.Errorf("%s is in use by %d requests", id, f.uses)
		}
	}
}
