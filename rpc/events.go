package rpc

import (
	"github.com/winnowhq/winnow"
)

// Subscribe asks for the notifications "event" of a session, from now on.
type Subscribe struct {
	// Session is the id of a session, "" for all of them.
	Session string `json:"session,omitzero"`
}

// Notified is what a notification "event" tells. An event may come before or after the answer to
// the request that caused it; the events of one session come in their order.
type Notified struct {
	Event winnow.Event `json:"event"`
	// Dropped is how many events were dropped until now because the client did not read.
	Dropped int `json:"dropped,omitzero"`
}

func (s *Server) subscribe(_ *call, p Subscribe) (Nothing, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watched[p.Session] = true
	if s.subscription == nil {
		s.subscription = s.engine.Subscribe(EventBuffer)
		s.watching.Add(1)
		go s.watch(s.subscription)
	}
	return Nothing{}, nil
}

// Unsubscribe ends what subscribe with the same session asked for.
type Unsubscribe struct {
	// Session is the id of a session, "" for all of them.
	Session string `json:"session,omitzero"`
}

func (s *Server) unsubscribe(_ *call, p Unsubscribe) (Nothing, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.watched, p.Session)
	return Nothing{}, nil
}

// watch sends events until the subscription ends. If the client does not read, it waits here, and
// the engine drops what its buffer has no room for.
func (s *Server) watch(sub *winnow.Subscription) {
	defer s.watching.Done()
	for e := range sub.C {
		s.mu.Lock()
		wanted := s.watched[""] || s.watched[e.SessionID]
		s.mu.Unlock()
		if !wanted {
			continue
		}
		if text, err := write(Notified{e, sub.Dropped()}); err == nil { // it marshals, as Event says
			s.send(message{Method: "event", Params: text})
		}
	}
}
