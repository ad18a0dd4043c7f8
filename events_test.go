package winnow

import (
	"strings"
	"testing"
)

// quiet is an engine that nobody works with.
func quiet(t *testing.T) *Engine {
	t.Helper()
	e, err := Open(Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

func delta(id string, request int, text string) Event {
	return Event{Type: CompactionDelta, SessionID: id, Request: request, Text: text}
}

// texts closes a subscription and returns what it received, deltas by their text and other events
// by their type.
func texts(s *Subscription) (all []string) {
	s.Close()
	for e := range s.C {
		if e.Type == CompactionDelta {
			all = append(all, e.Text)
		} else {
			all = append(all, string(e.Type))
		}
	}
	return all
}

func TestSubscription_whatIsWrittenPushesNothingElseOut(t *testing.T) {
	e := quiet(t)
	s := e.Subscribe(8)
	e.bus.publish(Event{Type: CompactionStarted, SessionID: "a"})
	for range 1000 {
		e.bus.publish(delta("a", 1, "x"))
	}
	e.bus.publish(Event{Type: UsageRecorded, SessionID: "a"}, Event{Type: Compacted, SessionID: "a"})
	got := texts(s)
	if n := strings.Count(strings.Join(got[:len(got)-2], ""), "x"); n != 1000 ||
		got[len(got)-2] != string(UsageRecorded) || got[len(got)-1] != string(Compacted) || s.Dropped() > 0 {
		t.Errorf("received %q, dropped %d", got, s.Dropped())
	}
}

func TestSubscription_aQuickOneHasEachPieceAtOnce(t *testing.T) {
	e := quiet(t)
	s := e.Subscribe(8)
	for _, piece := range []string{"a", "b", "c"} {
		e.bus.publish(delta("s", 1, piece))
		if got := (<-s.C).Text; got != piece {
			t.Errorf("received %q, want %q", got, piece)
		}
	}
}

func TestSubscription_piecesOfDifferentRequestsAndSessionsAreNotJoined(t *testing.T) {
	e := quiet(t)
	s := e.Subscribe(4)
	e.bus.publish(delta("a", 1, "1"), delta("a", 1, "2"), delta("a", 1, "3"), delta("b", 1, "4"), delta("a", 2, "5"),
		delta("b", 1, "6"))
	e.bus.publish(Event{Type: Compacted, SessionID: "a"})
	if got := strings.Join(texts(s), " "); got != "1 2 5 session.compacted" {
		t.Errorf("received %q", got)
	}
}

func TestSubscription_ofOneEventHasTheLast(t *testing.T) {
	e := quiet(t)
	s := e.Subscribe(1)
	for range 10 {
		e.bus.publish(delta("a", 1, "x"))
	}
	e.bus.publish(Event{Type: CompactionFailed, SessionID: "a"})
	if got := texts(s); len(got) != 1 || got[0] != string(CompactionFailed) || len(s.pending) > 0 {
		t.Errorf("received %q, and %d wait", got, len(s.pending))
	}
}
