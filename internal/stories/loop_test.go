package stories

import (
	"testing"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

func TestCharge_countsWhatLeftNoMessage(t *testing.T) {
	e, err := launch(winnow.Config{Model: "p/m", Models: small(16_000, 4_000)})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	events := e.Subscribe(8)
	id, err := e.Create(t.Context(), session.Info{})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Charge(t.Context(), id); err != nil {
		t.Fatalf("nothing: %v", err)
	}
	if err := e.Charge(t.Context(), id, store.Spend{Kind: "step", Model: "p/m", Usage: session.Usage{Input: 100},
		Cost: 0.5, Failed: true}); err != nil {
		t.Fatal(err)
	}
	s, state, err := e.Session(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Messages) != 0 || len(state.Spent) != 1 || state.Spent[0].Cost != 0.5 || state.Spent[0].Time == 0 {
		t.Errorf("the log has %d messages, spent was %+v", len(s.Messages), state.Spent)
	}
	if got := <-events.C; got.Type != winnow.UsageRecorded || got.Cost != 0.5 || got.Usage.Input != 100 {
		t.Errorf("the event is %+v", got)
	}
}

func TestPending_isTheMarkerThatWaits(t *testing.T) {
	e, err := launch(winnow.Config{Model: "p/m", Models: small(16_000, 4_000)})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	id, err := e.Create(t.Context(), session.Info{})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Append(t.Context(), id, say(session.User, "Hello.")); err != nil {
		t.Fatal(err)
	}
	if m, err := e.Pending(t.Context(), id); m != nil || err != nil {
		t.Errorf("before: %+v, %v", m, err)
	}
	marker, err := e.Schedule(t.Context(), id, true)
	if err != nil {
		t.Fatal(err)
	}
	if m, err := e.Pending(t.Context(), id); err != nil || m == nil || m.ID != marker.ID || !m.Marker().Auto {
		t.Errorf("scheduled: %+v, %v", m, err)
	}
	if _, err := e.Pending(t.Context(), "ses_none"); winnow.CodeOf(err) != winnow.NotFound {
		t.Errorf("of no session: %v", err)
	}
}
