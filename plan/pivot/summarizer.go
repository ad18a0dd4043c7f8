// Package pivot folds the past of a session into a summary. It decides where to cut, what the
// summariser is sent, whether its answer counts, what is carried over beside it, and what the
// receipt says. It calls no model and keeps no clock.
package pivot

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/plan/recall"
	"github.com/winnowhq/winnow/session"
)

// Summarizer writes the summary that becomes the pivot.
type Summarizer interface {
	// Name says who writes: "offline", or "provider/model".
	Name() string
	// Limit is how many tokens a request may have, not counting the room for the answer; 0 means
	// unlimited.
	Limit() int
	// Summarize answers a request. It must not change its argument, and it ends soon after ctx
	// does. The answer that comes with an error still lists the calls made. After an error that
	// wraps ErrTooLong or ErrForm a request in another form is sent, after any other error no
	// request.
	Summarize(ctx context.Context, r Request) (Answer, error)
}

// Request is what a summariser is asked.
type Request struct {
	SessionID string
	// System tells a summariser without tools its task; Instruction is the final user message.
	System, Instruction string
	// Update replaces Instruction in a request that continues from notes on earlier messages: the
	// second and later pieces of a split request. "" keeps Instruction.
	Update string
	// Messages is what to fold, as the model would have seen it: elisions applied, oldest first.
	Messages []session.Message
	// Log is the same stretch of the log as written, without elisions or cuts. The offline
	// summariser reads it; it need not fit any window.
	Log []session.Message
	// Past is the log from its beginning, including what earlier pivots folded. A summariser that
	// reads the log itself summarises Past, so that the n-th summary says what the log says and not
	// what the previous summary made of it. nil: there is only Log and Previous.
	Past *Past
	// Texts has what was read of the log before; nil: nothing. The caller does not use it until it
	// has the answer.
	Texts *recall.Texts
	// Digest says what the log has about each fact in Previous (see Digest), for a model. It is
	// sent after Instruction; may be "".
	Digest string
	// Tail is what stays verbatim after the summary. It is not summarised: it shows whether a
	// question at the end of Log was answered, an error resolved, a todo done.
	Tail []session.Message
	// Prefix is the conversation as its own last request sent it, for a summariser whose model has
	// it in the cache: the request then extends it by Instruction alone, and Messages are not sent.
	// nil if unknown or made for another model.
	Prefix *Prefix
	// Previous is the text of the summary that precedes Messages, "" for the first pivot. A
	// summariser that sends Messages puts it before them as the answer to wire.Question; Prefix
	// contains it already.
	Previous string
	// Dismissed are sentences that sound like instructions of the user but that the user dismissed,
	// by recall.Key.
	Dismissed map[string]bool
	// Focus is what the user asked the summary to dwell on, or "".
	Focus string
	// Directory is the session's working folder, for shortening paths.
	Directory string
	// Limit is how many tokens the request was made to fit after the summariser rejected a longer
	// one; otherwise 0. The room for the answer is then in proportion to it.
	Limit int
	// Budget is how many tokens the answer may have; 0 means unlimited.
	Budget int
	// OwnLength sends Instruction unchanged: it is the user's own, or the specification's.
	// Otherwise Budget is stated after it, in words.
	OwnLength bool
	// Notes says what was left out to make the request fit, in the order of the steps.
	Notes []string
	// Delta is called with each piece of the summary as it is written; may be nil.
	Delta func(text string)
	// Restart is called if the text passed to Delta does not count and the summary begins anew; may
	// be nil.
	Restart func()
}

// Prefix is what a conversation's own requests begin with. A request that extends it is read from
// the provider's cache.
type Prefix struct {
	System string
	Tools  jsontext.Value // the provider's own JSON
	// Messages is the stretch to fold as it was last sent: elisions that this pivot commits are not
	// applied yet.
	Messages []session.Message
	// Overhead is how many tokens system prompt and tools take.
	Overhead int
}

// Asks returns the instruction as it is sent, with what the log says about the facts of the earlier
// summary and the length allowed.
func (r Request) Asks() string { return r.Instruction + r.Digest + r.length() }

// length states Budget in words. Notes are full of paths and figures, so that a word takes about
// two tokens.
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

// After returns the request for a later piece, which continues from the notes on the earlier ones.
func (r Request) After(notes string) Request {
	r.Previous = notes
	if r.Update != "" {
		r.Instruction = r.Update
	}
	return r
}

// Errors that blame the request, not the summariser.
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
	// ReasoningOnly is set if the model reasoned but wrote no text.
	ReasoningOnly bool
	// CalledTools is set when the model wanted tools to run.
	CalledTools bool
	// Refused is set when the provider's filter stopped the answer.
	Refused bool
	// Calls are all requests made for it, including failed ones. Empty means one request with Usage
	// and Cost; otherwise Usage and Cost are the sums.
	Calls []Call
}

// Call is one request to a model.
type Call struct {
	Usage  session.Usage
	Cost   float64 // US dollars
	Failed string  // the error, "" if it was answered
}
