package agent

import (
	"time"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/session"
)

// EventType names what happened. What the engine does is told by its own events: see
// winnow.Engine.Subscribe.
type EventType string

const (
	StepStarted  EventType = "step.started"  // a request is about to be sent
	Delta        EventType = "delta"         // a piece of an answer's text
	Restarted    EventType = "restarted"     // the deltas since the step began do not count, the answer begins anew
	Answered     EventType = "answered"      // the answer is whole and appended
	CallStarted  EventType = "call.started"  //
	CallProgress EventType = "call.progress" // a tool tells how far it has come
	CallEnded    EventType = "call.ended"    // also where it never started, because it could not be made
	Observed     EventType = "observed"      // the step's usage was reported, and what had to be done about it was done
	TurnEnded    EventType = "turn.ended"    // the model calls no more tools
	Waiting      EventType = "waiting"       // a request failed for now, and is made again after a wait
	TitleFailed  EventType = "title.failed"  // no model gave the turn a title, and its first sentence stands in for it
	Noticed      EventType = "notice"        // something did not work, and the work goes on without it
)

// Event is one thing that happened in a loop. Which fields are set depends on the type.
type Event struct {
	Type      EventType
	SessionID string
	Step      int             // 1 for the first of this Run
	Text      string          // of Delta, CallProgress, TitleFailed and Noticed; of Waiting why: "rate limited"
	Wait      time.Duration   // of Waiting
	Message   string          // id of the answer; of Answered and the calls
	Part      session.Part    // of the calls: the call as it stands
	Outcome   *winnow.Outcome // of Observed
}

func (r *run) tell(e Event) {
	if r.config.OnEvent == nil {
		return
	}
	e.SessionID = r.id
	r.telling.Lock()
	defer r.telling.Unlock()
	r.config.OnEvent(e)
}
