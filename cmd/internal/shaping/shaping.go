// Package shaping answers agents that ask, from inside, what is to stand in place of what they are
// about to send: of the messages of a request, of those of a compaction, of the result of a tool.
//
// What an agent hands over is kept as a session in the store, under its own id and with its own
// messages, and the engine decides about it as the gateway has it decide: a decision is in the
// store before it is answered, and what was answered once is answered again.
package shaping

import (
	"github.com/go-json-experiment/json/jsontext"
)

// Handed is what an agent hands over.
type Handed struct {
	// Event is "request" before each request to a model, or "compact" when the agent compacts.
	Event string `json:"event"`
	// Session and Messages are what OpenCode has: the session, and all of its messages with their
	// parts, oldest first.
	Session  jsontext.Value `json:"session,omitzero"`
	Messages jsontext.Value `json:"messages,omitzero"`
	// Entries are what pi has: the header of the session, and the entries of the branch that it is
	// on, oldest first.
	Entries []jsontext.Value `json:"entries,omitempty"`
	// Focus is what the user wants a summary to dwell on.
	Focus string `json:"focus,omitzero"`
}

// Answer is what is to be done with it. An agent that does none of it sends what it would send
// without winnow.
type Answer struct {
	Session string `json:"session"` // id in the store
	// Edits are to be made to the messages, in any order.
	Edits []Edit `json:"edits"`
	// Added are messages in the user's name that stand in the request besides: what was folded and
	// is shown again.
	Added []Added `json:"added"`
	// Window, if there is one, says which messages the request has: those that the agent has itself
	// are not the ones, because a compaction was undone or was made in the store alone.
	Window *Window `json:"window,omitempty"`
	Fold   *Fold   `json:"fold,omitempty"` // answers the event "compact"
	Skip   string  `json:"skip,omitzero"`  // why there is no Fold: the agent compacts by itself
	Notice string  `json:"notice,omitzero"`
}

// Edit is what one part of a message is to show. A member that is missing leaves it as it is.
type Edit struct {
	Message string         `json:"message"`          // its id
	Part    string         `json:"part"`             // its id
	Index   int            `json:"index"`            // its position in the message
	Call    string         `json:"call,omitzero"`    // id of the call, of a part that is one
	Gone    bool           `json:"gone,omitzero"`    // it is not shown at all
	Text    *string        `json:"text,omitempty"`   // of a text, or instead of a file
	Result  *string        `json:"result,omitempty"` // output or error of a call
	Input   jsontext.Value `json:"input,omitzero"`   // arguments of a call
	Bare    bool           `json:"bare,omitzero"`    // what the call returned beside its text goes
}

// Added is a message that the agent does not have.
type Added struct {
	After string `json:"after"` // id of the message that it stands behind; "" is behind the summary
	Text  string `json:"text"`
}

// Window says which messages a request has: Summary, if it is not empty, and those from From on.
type Window struct {
	Summary string `json:"summary,omitzero"`
	From    string `json:"from"` // id of a message
}

// Fold is a compaction that is in the store.
type Fold struct {
	Summary string `json:"summary"`
	// Keep is the id of the first message that stays word for word behind the summary, "" if none
	// does.
	Keep    string  `json:"keep"`
	Receipt string  `json:"receipt"`
	Marker  string  `json:"marker"`
	Before  int     `json:"before"` // tokens
	After   int     `json:"after"`
	Cost    float64 `json:"cost"` // US dollars that the summary took
}
