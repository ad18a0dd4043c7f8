package transport

import (
	"bytes"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/text/span"
)

// A request whose answer is recorded, but did not reach the client, is asked again: after a
// restart, and through another process on the same store. What is sent is the same to the byte,
// cache marks included, unless something was decided in between.
func TestTransport_anAnsweredRequestIsAskedAgain(t *testing.T) {
	sequential(t)
	for _, p := range llmtest.Protocols() {
		for _, window := range []int{0, 14_000} {
			t.Run(fmt.Sprintf("%s, window %d", p, window), func(t *testing.T) { askedAgain(t, p, window) })
		}
	}
}

func askedAgain(t *testing.T, p llmtest.Protocol, window int) {
	b := &tap{base: http.DefaultTransport}
	s := play(t, p, 80, Options{Base: b})
	s.window = window
	s.restart()
	again, decided := 0, 0
	for i, at := range s.steps() {
		had, before := decided, []byte(nil)
		asked := s.request(at)
		for n := range 3 {
			if n > 0 {
				s.restart()
			}
			r := asked.Clone(t.Context())
			r.Body, _ = asked.GetBody()
			if status, answer := s.send(r); status != 200 {
				t.Fatalf("step %d: %d %s", i, status, answer)
			}
			now := b.sent[len(b.sent)-1]
			if n > 0 && s.decided == had {
				again++
				if !bytes.Equal(before, now) {
					t.Fatalf("step %d: asked again it is another request, %s", i, difference(before, now))
				}
			}
			before, had = now, s.decided
		}
		decided = had
		s.now = s.now.Add(20 * time.Second)
	}
	if decided == 0 || again == 0 {
		t.Errorf("%d decisions, %d asked again", decided, again)
	}
}

// difference are two bodies where they begin to differ.
func difference(before, now []byte) string {
	at := span.Common(before, now)
	piece := func(text []byte) []byte { return text[max(0, at-300):min(len(text), at+300)] }
	return fmt.Sprintf("from byte %d on:\n%s\nwas\n%s", at, piece(now), piece(before))
}
