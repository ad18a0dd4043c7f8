package winnow

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/winnowhq/winnow/plan/budget"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

// identity gives pivots their ids and their time.
func (e *Engine) identity() pivot.Identity {
	now := e.config.Now()
	return pivot.Identity{NewID: func(prefix string) string { return e.ids.New(prefix, now) }, Now: millis(now)}
}

func millis(t time.Time) session.Millis { return session.Millis(t.UnixMilli()) }

// emit publishes an event of a session, now.
func (e *Engine) emit(id string, event Event) {
	event.SessionID, event.Time = id, millis(e.config.Now())
	e.bus.publish(event)
}

// EventType names what happened.
type EventType string

const (
	Compacted         EventType = "session.compacted"
	CompactionStarted EventType = "compaction.started"
	CompactionDelta   EventType = "compaction.delta"
	CompactionFailed  EventType = "compaction.failed"
	ElisionCommitted  EventType = "elision.committed"
	ElisionUndone     EventType = "elision.undone"
	BudgetOverflow    EventType = "budget.overflow"
	BudgetWarning     EventType = "budget.warning"
	UsageRecorded     EventType = "usage.recorded"
	MessageAppended   EventType = "message.appended"
	PartUpdated       EventType = "part.updated"
)

// Event is one thing that happened to a session. Which fields are set depends on the type. It
// marshals to one line of JSON.
type Event struct {
	Type      EventType      `json:"type"`      // the type of the event, see below
	SessionID string         `json:"sessionID"` // id of the session
	Time      session.Millis `json:"time"`      // when it happened

	Message string `json:"message,omitzero"` // id of the message
	Part    string `json:"part,omitzero"`    // id of the part
	Text    string `json:"text,omitzero"`    // text of a delta, a warning, a failure
	// For a failure, the reason as a word; "silently-cut" for a warning that the server drops the
	// beginning of prompts.
	Code     rule.Code       `json:"code,omitzero"`
	Receipt  *pivot.Receipt  `json:"receipt,omitzero"`  // the receipt
	Elisions []rule.Key      `json:"elisions,omitzero"` // the elisions that were undone
	Verdict  *budget.Verdict `json:"verdict,omitzero"`  // how full the window is
	Usage    *session.Usage  `json:"usage,omitzero"`    // the usage that the provider reported
	Cost     float64         `json:"cost,omitzero"`     // US dollars
	Kind     string          `json:"kind,omitzero"`     // "step" or "summary"
	// Counts the requests of one compaction: the text of a later request replaces that of an
	// earlier one.
	Request int `json:"request,omitzero"`
	// Whether it is about a compaction whose summary is, or was, written in the background.
	Background bool `json:"background,omitzero"`
}

// Subscription receives events. A subscriber that is slow loses events, and never holds the engine
// up. The pieces of a summary that is being written take no more than half of the buffer: for a
// slow subscriber they are joined to fewer, longer ones, so that they push nothing else out.
type Subscription struct {
	// C gives the events in order. It is closed by Close, and by the engine's.
	C       <-chan Event
	c       chan Event
	bus     *bus
	dropped atomic.Int64
	pending map[string]*waiting // by session
}

// waiting is what was written of a summary and did not go into the buffer yet.
type waiting struct {
	Event
	text []byte
}

func (w *waiting) whole() Event {
	w.Text = string(w.text)
	return w.Event
}

// Dropped is how many events did not fit into the buffer.
func (s *Subscription) Dropped() int { return int(s.dropped.Load()) }

// Close ends the subscription.
func (s *Subscription) Close() { s.bus.remove(s) }

// Subscribe gives every event from now on. buffer is the room for events not yet received; 0 means
// 256.
func (e *Engine) Subscribe(buffer int) *Subscription {
	if buffer <= 0 {
		buffer = 256
	}
	c := make(chan Event, buffer)
	s := &Subscription{C: c, c: c, bus: &e.bus}
	e.bus.add(s)
	return s
}

// bus hands events to subscribers. It has no goroutine: sending never waits.
type bus struct {
	mu          sync.Mutex
	subscribers map[*Subscription]bool
	closed      bool
}

func (b *bus) add(s *Subscription) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		close(s.c)
		return
	}
	if b.subscribers == nil {
		b.subscribers = map[*Subscription]bool{}
	}
	b.subscribers[s] = true
}

func (b *bus) remove(s *Subscription) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.subscribers[s] {
		delete(b.subscribers, s)
		close(s.c)
	}
}

func (b *bus) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	for s := range b.subscribers {
		close(s.c)
	}
	b.subscribers = nil
}

func (b *bus) publish(events ...Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range events {
		for s := range b.subscribers {
			if e.Type == CompactionDelta {
				s.delta(e)
				continue
			}
			s.rest(e)
			s.send(e)
		}
	}
}

func (s *Subscription) send(e Event) {
	select {
	case s.c <- e:
	default:
		s.dropped.Add(1)
	}
}

// mostPending is how many bytes of a summary wait for a slow subscriber: more than any summary has.
const mostPending = 1 << 18

// delta gives a piece of a summary, with what waits of it, or lets it wait.
func (s *Subscription) delta(e Event) {
	w := s.pending[e.SessionID]
	if w == nil || w.Request != e.Request {
		w = &waiting{Event: e}
	}
	w.text = append(w.text, e.Text...)
	switch {
	case len(s.c)+1 <= cap(s.c)/2:
		delete(s.pending, e.SessionID)
		s.send(w.whole())
	case len(w.text) > mostPending:
		delete(s.pending, e.SessionID)
		s.dropped.Add(1)
	default:
		if s.pending == nil {
			s.pending = map[string]*waiting{}
		}
		s.pending[e.SessionID] = w
	}
}

// rest gives what waits of a summary before another event of its session, where there is room for
// both. After the last event of a compaction nothing waits.
func (s *Subscription) rest(e Event) {
	w := s.pending[e.SessionID]
	if w == nil {
		return
	}
	if len(s.c)+2 <= cap(s.c) {
		delete(s.pending, e.SessionID)
		s.send(w.whole())
	} else if e.Type == Compacted || e.Type == CompactionFailed {
		delete(s.pending, e.SessionID)
		s.dropped.Add(1)
	}
}

// emitSpent publishes what was spent, once it is recorded.
func (e *Engine) emitSpent(id string, spent []store.Spend) {
	for _, s := range spent {
		e.emit(id, Event{Type: UsageRecorded, Usage: &s.Usage, Kind: s.Kind, Cost: s.Cost})
	}
}
