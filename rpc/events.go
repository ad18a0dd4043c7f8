package rpc

import (
	"sync"

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

// events are those that the client is sent.
type events struct {
	watching sync.WaitGroup

	mu           sync.Mutex
	watched      map[string]bool // sessions, "" for all of them
	subscription *winnow.Subscription
}

func (s *Server) subscribe(_ *call, p Subscribe) (Nothing, error) {
	e := &s.events
	e.mu.Lock()
	defer e.mu.Unlock()
	e.watched[p.Session] = true
	if e.subscription == nil {
		sub := s.engine.Subscribe(EventBuffer)
		e.subscription = sub
		e.watching.Go(func() { e.watch(sub, &s.out) })
	}
	return Nothing{}, nil
}

// Unsubscribe ends what subscribe with the same session asked for.
type Unsubscribe struct {
	// Session is the id of a session, "" for all of them.
	Session string `json:"session,omitzero"`
}

func (s *Server) unsubscribe(_ *call, p Unsubscribe) (Nothing, error) {
	s.events.mu.Lock()
	defer s.events.mu.Unlock()
	delete(s.events.watched, p.Session)
	return Nothing{}, nil
}

// watch sends events until the subscription ends. If the client does not read, it waits here, and
// the engine drops what its buffer has no room for.
func (e *events) watch(sub *winnow.Subscription, out *output) {
	for event := range sub.C {
		e.mu.Lock()
		wanted := e.watched[""] || e.watched[event.SessionID]
		e.mu.Unlock()
		if !wanted {
			continue
		}
		if text, err := write(Notified{event, sub.Dropped()}); err == nil { // it marshals, as Event says
			out.send(message{Method: "event", Params: text})
		}
	}
}

// end closes the subscription, and waits until its last event is sent.
func (e *events) end() {
	e.mu.Lock()
	if e.subscription != nil {
		e.subscription.Close()
	}
	e.mu.Unlock()
	e.watching.Wait()
}
