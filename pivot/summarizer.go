// Package pivot answers: how is the past folded? It decides where to cut, what the summariser is
// sent, whether its answer counts, what is carried over beside it, and what the receipt says. It
// calls no model and keeps no clock.
package pivot

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
)

// Summarizer writes the summary that becomes the pivot.
type Summarizer interface {
	// Name says who writes: "offline", or "provider/model".
	Name() string
	// Limit is how many tokens a request may have, the room for the answer taken off; 0 is without
	// limit.
	Limit() int
	// Summarize answers a request. It must not change what it is handed, and it ends soon after ctx
	// does. Beside an error stand the calls that were made all the same. Of an error that wraps
	// ErrTooLong or ErrForm a request in another form is sent, of any other none.
	Summarize(ctx context.Context, r Request) (Answer, error)
}

// Request is what a summariser is asked.
type Request struct {
	SessionID string
	// System tells a tool-less summariser what it is; Instruction is the final user message.
	System, Instruction string
	// Update is the Instruction of a request that goes on from notes on the messages before: of the
	// second and later pieces, when a request has to be split. "" takes Instruction.
	Update string
	// Messages is what is to be folded, as the model would have seen it: elisions applied, oldest
	// first.
	Messages []session.Message
	// Log is the same stretch of the log as it was written, nothing elided and nothing cut. The
	// offline summariser reads it; it need not fit any window.
	Log []session.Message
	// Past is the log from its beginning, what earlier pivots folded included. A summariser that
	// reads the log itself makes the summary from it, so that the n-th summary says what the log
	// says and not what the one before it made of it. nil: Log is all there is beside Previous.
	Past *Past
	// Standing says of each fact in Previous what the log has about it (see Digest), for a model.
	// It is sent behind Instruction; "" for nothing.
	Standing string
	// Tail is what stays verbatim behind the summary. It is not to be summarised: it says whether a
	// question at the end of Log was answered, an error resolved, a todo done.
	Tail []session.Message
	// Prefix is the conversation as its own last request sent it, for a summariser whose model has
	// that in its cache: the request then extends it by Instruction alone, and Messages stay
	// unsent. nil where it is not known, or was made for another model.
	Prefix *Prefix
	// Previous is the text of the summary that Messages begins after, "" for the first pivot. A
	// summariser that is sent Messages puts it before them, as the answer to wire.Question; in
	// Prefix it stands already.
	Previous string
	// Dismissed are sentences that sound like standing constraints of the user and that he said are
	// none, by recall.Key.
	Dismissed map[string]bool
	// Focus is what the user asked the summary to dwell on, "" for nothing special.
	Focus string
	// Directory is the session's working folder, for shortening paths.
	Directory string
	// Limit is how many tokens the request was made to fit, when the summariser has said of more
	// that it is too long; 0 otherwise. The room for the answer is in proportion to it then.
	Limit int
	// Budget is how many tokens the answer may have; 0 is without a bound.
	Budget int
	// OwnLength sends Instruction as it is: it is the user's own, or the letter's. Otherwise Budget
	// is told behind it, in words.
	OwnLength bool
	// Notes says what was left out to make the request fit, oldest step of the escalation first.
	Notes []string
	// Delta is called with each piece of the summary as it is written; nil for nobody listening.
	Delta func(text string)
	// Restart is called when what Delta was called with does not count, and the summary begins
	// anew; nil for nobody listening.
	Restart func()
}

// Prefix is what a conversation's own requests begin with, so that a request that extends it is
// read from the provider's cache.
type Prefix struct {
	System string
	Tools  jsontext.Value // the provider's own JSON
	// Messages is the stretch to be folded as it was last sent: elisions that are committed only
	// with this pivot are not applied.
	Messages []session.Message
	// Overhead is how many tokens system prompt and tools take.
	Overhead int
}

// Asks is the instruction as it is sent, with what the log has about the facts of the earlier
// summary, and the length that the answer may have.
func (r Request) Asks() string { return r.Instruction + r.Standing + r.length() }

// length says Budget in words. Notes are full of paths and figures, of which a word takes about two
// tokens.
func (r Request) length() string {
	words := r.Budget / 2
	switch {
	case r.OwnLength || words <= 0:
		return ""
	case words >= 100:
		words -= words % 50
	}
	return fmt.Sprintf("\n\nUse at most about %d words.", words)
}

// After is the request for a later piece: it goes on from the notes on the pieces before.
func (r Request) After(notes string) Request {
	r.Previous = notes
	if r.Update != "" {
		r.Instruction = r.Update
	}
	return r
}

// Errors that say that the request, not the summariser, was at fault.
var (
	ErrTooLong = errors.New("the request is too long for the model")
	ErrForm    = errors.New("the model does not take the request as it is")
)

// Answer is what a summariser wrote.
type Answer struct {
	Text   string
	Finish string // "stop", "length", "other" for a reason that leaves it unfinished, …
	Model  string // "provider/model", or "offline"
	Usage  session.Usage
	Cost   float64 // US dollars
	// ReasoningOnly is set when the model thought but said nothing.
	ReasoningOnly bool
	// CalledTools is set when the model wanted tools to run.
	CalledTools bool
	// Refused is set when the provider's filter stopped the answer.
	Refused bool
	// Calls are the requests that were made for it, the failed ones too. Empty: one request, with
	// Usage and Cost. Otherwise Usage and Cost are the sums.
	Calls []Call
}

// Call is one request to a model.
type Call struct {
	Usage  session.Usage
	Cost   float64 // US dollars
	Failed string  // what went wrong, "" for the one that was answered
}
