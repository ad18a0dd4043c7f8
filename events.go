package winnow

import (
	"sync"
	"sync/atomic"

	"github.com/winnowhq/winnow/budget"
	"github.com/winnowhq/winnow/pivot"
	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/session"
)

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

// Event is one thing that happened to a session. Which fields are set depends on the type. It marshals to one line of JSON.
type Event struct {
	Type      EventType      `json:"type"`
	SessionID string         `json:"sessionID"`
	Time      session.Millis `json:"time"`

	Message  string          `json:"message,omitzero"`  // id of the message concerned
	Part     string          `json:"part,omitzero"`     // id of the part concerned
	Text     string          `json:"text,omitzero"`     // of a delta, a warning, a failure
	Code     Code            `json:"code,omitzero"`     // of a failure
	Receipt  *pivot.Receipt  `json:"receipt,omitzero"`  // of session.compacted, elision.committed
	Elisions []rule.Key      `json:"elisions,omitzero"` // of elision.undone
	Verdict  *budget.Verdict `json:"verdict,omitzero"`  // of budget.overflow, budget.warning
	Usage    *session.Usage  `json:"usage,omitzero"`    // of usage.recorded
	Cost     float64         `json:"cost,omitzero"`     // of usage.recorded, US dollars
	Kind     string          `json:"kind,omitzero"`     // of usage.recorded: "step" or "summary"
}

// Subscription receives events. A subscriber that is slow loses events, and never holds the engine up.
type Subscription struct {
	// C gives the events in order. It is closed by Close, and by the engine's.
	C       <-chan Event
	c       chan Event
	bus     *bus
	dropped atomic.Int64
}

// Dropped is how many events did not fit into the buffer.
func (s *Subscription) Dropped() int { return int(s.dropped.Load()) }

// Close ends the subscription.
func (s *Subscription) Close() { s.bus.remove(s) }

// Subscribe gives every event from now on, with room for so many that are not yet received; 0 means 256.
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
			select {
			case s.c <- e:
			default:
				s.dropped.Add(1)
			}
		}
	}
}
