package providers

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/wire"
)

// streamed answers every request with one text.
type streamed string

func (s streamed) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: io.NopCloser(strings.NewReader(string(s))), Request: r}, nil
}

// Whatever a provider streams, there is an answer that can be stored and be sent again, or one
// error, and what arrived beside it.
func FuzzAsk(f *testing.F) {
	for i, d := range dialects {
		for _, stream := range [][]string{d.text("one", " two"), d.thinking, d.call, d.length, d.refused, {d.overload},
			{d.limited}} {
			f.Add(uint8(i), strings.Join(stream, ""))
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, stream string) {
		d := dialects[int(which)%len(dialects)]
		r := question()
		var heard strings.Builder
		r.Delta = func(text string) { heard.WriteString(text) }
		a, err := client(t, d, streamed(stream)).Ask(t.Context(), r)
		if err != nil {
			e, ok := errors.AsType[*llm.Error](err)
			if !ok || e.Kind == "" {
				t.Fatalf("%v is no error of this house", err)
			}
			if strings.Contains(err.Error(), key) {
				t.Errorf("the key shows: %v", err)
			}
		}
		// the end of a stream may say it in other words
		if err == nil && strings.TrimSpace(heard.String()) != "" && a.Text() == "" {
			t.Errorf("%q was heard, and the answer says nothing: %+v", heard.String(), a)
		}
		u := a.Usage
		if u.Input < 0 || u.Output < 0 || u.Reasoning < 0 || u.Cache.Read < 0 || u.Cache.Write < 0 || !(a.Cost >= 0) {
			t.Errorf("usage %+v, cost %v", u, a.Cost)
		}
		answer := session.Message{Parts: a.Parts}
		answer.Role, answer.ProviderID, answer.ModelID = session.Assistant, reader.Provider, reader.ID
		if _, err := json.Marshal(a.Cost); err != nil {
			t.Errorf("the cost cannot be stored: %v", err)
		}
		s := session.Session{Messages: []session.Message{answer}}
		if _, err := s.Clone(); err != nil {
			t.Fatalf("the answer cannot be stored: %v\n%+v", err, a.Parts)
		}
		if _, err := d.encode([]session.Message{said(session.User, "Hello?"), answer},
			wire.Options{Provider: reader.Provider, Model: reader.ID}); err != nil {
			t.Fatalf("the answer cannot be sent again: %v\n%+v", err, a.Parts)
		}
	})
}
