package live

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// Whatever a browser asks, it is answered in JSON, and nothing of it is done that names no session.
func FuzzAct(f *testing.F) {
	for _, body := range []string{`{"do":"undo","session":"a","receipt":"r"}`, `{"do":"mode","mode":"off"}`, `{"do":"mode"}`, `{}`, `[`, ``,
		`{"do":"pin","session":"a","part":"\ud800"}`, `{"do":"undo","do":"redo"}`} {
		f.Add(body, "application/json", "x-1")
	}
	f.Add(`{}`, "application/json; charset", "-")
	f.Fuzz(func(t *testing.T, body, kind, id string) {
		h := NewHub(false, noon)
		h.Watch(answered("a", "", 1))
		page := New(h, Config{Modes: []string{"off"}})
		r := httptest.NewRequest("POST", "http://h/~/act", strings.NewReader(body))
		r.Header = http.Header{"Content-Type": {kind}, "Origin": {"http://h"}, "X-Winnow-Page": {h.word("")}}
		w := httptest.NewRecorder()
		page.ServeHTTP(w, r)
		if w.Code == http.StatusOK || w.Code >= 500 || !jsontext.Value(w.Body.Bytes()).IsValid() {
			t.Errorf("%q is answered with %d %s", body, w.Code, w.Body)
		}
		if seq := h.resume(id); seq < 0 {
			t.Errorf("after %q it goes on with %d", id, seq)
		}
	})
}
