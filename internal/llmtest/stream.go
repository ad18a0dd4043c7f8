package llmtest

import (
	"net/http"
	"time"
)

// marks in a list of events of where something goes wrong.
const (
	hangHere  = "\x00hang"
	breakHere = "\x00break" // within the event whose data follows
)

// broken makes a list of events fail as the fault of the reply wants it: in the middle, after one
// event at least.
func (s *Server) broken(q Request, r Reply, events []event) []event {
	middle := max(1, len(events)/2)
	if middle >= len(events) { // an answer in one event
		middle = 0
	}
	begun := events[:middle:middle]
	switch r.Fault {
	case HangMidStream:
		return append(begun, event{name: hangHere})
	case CutMidEvent:
		return append(begun, event{name: breakHere, data: string(events[middle].bytes())})
	case CutClean:
		return begun
	case ErrorInStream:
		return append(begun, s.refusal(q, r).events(q.Protocol, q.Number, middle, q.Model)...)
	case OverflowInStream:
		f := s.refusal(q, r)
		return append(events[:min(1, middle):min(1, middle)], f.events(q.Protocol, q.Number, 1, q.Model)...)
	case BadJSON:
		bad := events[middle]
		bad.data = bad.data[:len(bad.data)/2]
		return append(append(begun, bad), events[middle+1:]...)
	}
	return events
}

// stream sends events.
func (e *exchange) stream(q Request, r Reply, events []event) {
	e.w.Header().Set("Cache-Control", "no-cache")
	e.header(http.StatusOK, "text/event-stream; charset=utf-8")
	e.flush()
	for i, event := range events {
		if i > 0 && r.Delay > 0 && !e.wait(q, r.Delay) {
			return
		}
		switch event.name {
		case hangHere:
			<-q.ctx.Done()
			return
		case breakHere:
			e.w.Write([]byte(event.data[:len(event.data)/2]))
			e.flush()
			e.sent = true
			panic(http.ErrAbortHandler)
		}
		if q.ctx.Err() != nil {
			return
		}
		if r.Fault == SlowDrip {
			if !e.drip(q, event.bytes()) {
				return
			}
		} else if _, err := e.w.Write(event.bytes()); err != nil {
			return
		}
		e.flush()
		e.s.update(e.record, func(r *Record) { r.Events++ })
	}
	e.sent = true
}

// drip sends bytes a few at a time.
func (e *exchange) drip(q Request, text []byte) bool {
	for len(text) > 0 {
		n := min(len(text), max(1, len(text)/2), 512)
		if _, err := e.w.Write(text[:n]); err != nil {
			return false
		}
		e.flush()
		text = text[n:]
		if !e.wait(q, e.s.script.Drip) {
			return false
		}
	}
	return true
}

// wait waits; it is false when the request ended meanwhile.
func (e *exchange) wait(q Request, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-q.ctx.Done():
		return false
	}
}

func (e *exchange) flush() {
	if f, ok := e.w.(http.Flusher); ok {
		f.Flush()
	}
}
