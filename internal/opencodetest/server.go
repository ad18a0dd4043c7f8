// Package opencodetest is an OpenCode server for tests: it holds one session and answers as
// `opencode serve` 1.18.33 was seen to.
package opencodetest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Server is a running server. Its fields are set before the first request.
type Server struct {
	URL      string
	Password string // of the user "opencode"; "" asks for none
	// Refuse gives the status with which the change of a part is refused, 0 for none.
	Refuse func(part string) int
	// Forget makes it answer as if a part was changed, and leave it as it was.
	Forget bool

	mu      sync.Mutex
	session export
	changed []string
	seen    []*http.Request
}

type export struct {
	Info     map[string]any `json:"info"`
	Messages []message      `json:"messages"`
}

type message struct {
	Info  map[string]any   `json:"info"`
	Parts []map[string]any `json:"parts"`
}

// Start starts a server with the session of an export. It ends with the test.
func Start(t testing.TB, session []byte) *Server {
	t.Helper()
	s := &Server{}
	if err := json.Unmarshal(session, &s.session); err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(h.Close)
	s.URL = h.URL
	return s
}

// Export is the session as it is now.
func (s *Server) Export(t testing.TB) []byte {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	text, err := json.MarshalIndent(s.session, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Changed are the ids of the parts that were changed, in that order.
func (s *Server) Changed() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.changed)
}

// Seen are the requests that came.
func (s *Server) Seen() []*http.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}

// Edit changes the session as the product itself does.
func (s *Server) Edit(change func(part map[string]any)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.session.Messages {
		for _, p := range m.Parts {
			change(p)
		}
	}
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, r.Clone(r.Context()))
	if user, password, _ := r.BasicAuth(); s.Password != "" && (user != "opencode" || password != s.Password) {
		w.Header().Set("WWW-Authenticate", `Basic realm="Secure Area"`)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	at := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case r.URL.Path == "/global/health":
		say(w, http.StatusOK, map[string]any{"healthy": true, "version": "1.18.33"})
	case at[0] != "session" || len(at) < 2:
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<!doctype html>") // every address that it does not know is a page
	case at[1] != s.session.Info["id"]:
		missing(w, "Session not found: "+at[1])
	case len(at) == 2:
		say(w, http.StatusOK, s.session.Info)
	case len(at) == 3 && at[2] == "message":
		say(w, http.StatusOK, s.session.Messages)
	case len(at) == 4 && r.Method == http.MethodGet:
		for _, m := range s.session.Messages {
			if m.Info["id"] == at[3] {
				say(w, http.StatusOK, m)
				return
			}
		}
		missing(w, "Message not found: "+at[3])
	case len(at) == 4 && r.Method == http.MethodDelete:
		gone := func(m message) bool { return m.Info["id"] == at[3] }
		s.session.Messages = slices.DeleteFunc(s.session.Messages, gone)
		say(w, http.StatusOK, true)
	case len(at) == 6 && r.Method == http.MethodPatch:
		s.patch(w, r, at[3], at[5])
	default:
		w.WriteHeader(http.StatusInternalServerError)
	}
}

// patch replaces a part. If there is no such message, it answers as if there were.
func (s *Server) patch(w http.ResponseWriter, r *http.Request, inMessage, id string) {
	var part map[string]any
	err := json.NewDecoder(r.Body).Decode(&part)
	if err != nil || part["id"] != id || part["messageID"] != inMessage || part["sessionID"] != s.session.Info["id"] {
		say(w, http.StatusBadRequest, map[string]any{"_tag": "BadRequest"})
		return
	}
	if s.Refuse != nil {
		if status := s.Refuse(id); status != 0 {
			data := map[string]any{"message": "refused by the test"}
			say(w, status, map[string]any{"name": "UnknownError", "data": data})
			return
		}
	}
	for _, m := range s.session.Messages {
		for i := range m.Parts {
			if m.Info["id"] == inMessage && m.Parts[i]["id"] == id && !s.Forget {
				m.Parts[i] = part
				s.changed = append(s.changed, id)
			}
		}
	}
	say(w, http.StatusOK, part)
}

func missing(w http.ResponseWriter, message string) {
	say(w, http.StatusNotFound, map[string]any{"name": "NotFoundError", "data": map[string]any{"message": message}})
}

func say(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(value)
}
