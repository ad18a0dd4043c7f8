// Package pivot answers: how is the past folded? It decides where to cut, what the summariser is sent,
// whether its answer counts, what is carried over beside it, and what the receipt says. It calls no model and keeps no clock.
package pivot

import (
	"context"

	"github.com/winnowhq/winnow/session"
)

// Summarizer writes the summary that becomes the pivot.
type Summarizer interface {
	// Name says who writes: "offline", or "provider/model".
	Name() string
	// Limit is how many tokens a request may have, the room for the answer taken off; 0 is without limit.
	Limit() int
	// Summarize answers a request. It must not change what it is handed, and it ends soon after ctx does.
	Summarize(ctx context.Context, r Request) (Answer, error)
}

// Request is what a summariser is asked.
type Request struct {
	SessionID string
	// System tells a tool-less summariser what it is; Instruction is the final user message.
	System, Instruction string
	// Messages is what is to be folded, as the model would have seen it: elisions applied, oldest first.
	Messages []session.Message
	// Log is the same stretch of the log as it was written, nothing elided and nothing cut. The offline summariser reads it;
	// it need not fit any window.
	Log []session.Message
	// Tail is what stays verbatim behind the summary. It is not to be summarised: it says whether a question at the end of Log
	// was answered, an error resolved, a todo done.
	Tail []session.Message
	// Previous is the text of the summary that Messages begins after, "" for the first pivot.
	Previous string
	// Focus is what the user asked the summary to dwell on, "" for nothing special.
	Focus string
	// Directory is the session's working folder, for shortening paths.
	Directory string
	// Budget is how many tokens the answer may have.
	Budget int
	// Notes says what was left out to make the request fit, oldest step of the escalation first.
	Notes []string
}

// Answer is what a summariser wrote.
type Answer struct {
	Text   string
	Finish string // "stop", "length", …, as the provider said
	Model  string // "provider/model", or "offline"
	Usage  session.Usage
	Cost   float64 // US dollars
	// ReasoningOnly is set when the model thought but said nothing.
	ReasoningOnly bool
}
