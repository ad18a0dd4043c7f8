package transport

import (
	"bytes"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/internal/llmtest"
)

// A line says of each request what was decided about it, and holds nothing of what was said.
func TestTransport_tellsWhatItDecides(t *testing.T) {
	sequential(t)
	var log bytes.Buffer
	b := &tap{base: http.DefaultTransport}
	s := play(t, llmtest.Anthropic, 50, Options{Base: b, Log: slog.New(slog.NewTextHandler(&log, nil))})
	edited := 0
	for i, at := range s.steps() {
		s.send(s.request(at))
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		last := lines[len(lines)-1]
		if len(lines) != i+1 || !strings.Contains(last, "msg=decided session=live_") || !strings.Contains(last, "resent=false") {
			t.Fatalf("step %d: %d lines, the last is %s", i, len(lines), last)
		}
		if strings.Contains(last, "edited=true") {
			edited++
			if strings.Contains(last, "left_out_tokens=0 ") {
				t.Errorf("step %d: %s", i, last)
			}
		}
	}
	if all := s.transport.Totals(); edited == 0 || edited != all.Edited {
		t.Errorf("%d requests are said to be edited, of %d", edited, all.Edited)
	}
	for _, m := range s.log {
		for _, p := range m.Parts {
			if text := strings.TrimSpace(p.Text); len(text) > 10 && strings.Contains(log.String(), text) {
				t.Errorf("the log holds %q", text)
			}
		}
	}
	if strings.Contains(log.String(), "canary") {
		t.Error("the log holds a key")
	}
}

// Two clients that share a provider's key share no conversation.
func TestTransport_clientsShareNothing(t *testing.T) {
	s := play(t, llmtest.Anthropic, 10, Options{})
	for _, name := range []string{"", "ann", "bob", "ann"} {
		r := s.request(s.steps()[0])
		if name != "" {
			r.Header.Set(clientHeader, name)
		}
		s.send(r)
	}
	if list, err := s.store.List(t.Context()); err != nil || len(list) != 3 {
		t.Errorf("there are %d sessions, %v", len(list), err)
	}
}
