package transport

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/internal/llmtest"
)

// With another engine and other options a conversation goes on as it was: the same bytes are sent,
// and the totals go on. What the provider refused stays whole.
func TestChanged_goesOnWithTheConversations(t *testing.T) {
	sequential(t)
	run := func(every int) (sent []string, all Totals) {
		b := &tap{base: http.DefaultTransport}
		s := play(t, llmtest.Anthropic, 50, Options{Base: b})
		for i, at := range s.steps() {
			if every > 0 && i%every == every-1 {
				before := s.transport
				s.restart()
				s.transport = before.Changed(s.engine, Options{Base: b, Now: s.clock})
			}
			if status, answer := s.send(s.request(at)); status != 200 {
				t.Fatalf("step %d: %d %s", i, status, answer)
			}
		}
		for _, body := range b.sent {
			sent = append(sent, string(body))
		}
		return sent, s.transport.Totals()
	}
	want, all := run(0)
	got, changed := run(7)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-left alone +changed):\n%.2000s", diff)
	}
	if all.Requests != changed.Requests || all.Edited != changed.Edited || all.Billed != changed.Billed || all.Edited == 0 {
		t.Errorf("totals: %+v, left alone %+v", changed, all)
	}

	s := play(t, llmtest.Anthropic, 50, Options{})
	s.quiet = true
	s.send(s.request(s.steps()[0]))
	f := s.transport.lineage(s.transport.Totals().Sessions[0])
	f.conversations[0].frozen = "400 no"
	s.transport.release(f)
	for i, at := range s.steps() {
		if i%5 == 4 {
			before := s.transport
			s.restart()
			s.transport = before.Changed(s.engine, Options{Now: s.clock})
		}
		s.send(s.request(at))
	}
	if all := s.transport.Totals(); all.Edited != 0 {
		t.Errorf("a conversation that is to be whole was edited: %+v", all)
	}
}
