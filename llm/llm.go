package llm

import (
	"context"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/wire"
)

// Client asks one provider. It makes one HTTP request for each Ask and never retries by itself:
// Retry does, so that every attempt is seen and counted. A Client is safe for use by several
// goroutines.
type Client interface {
	// Ask sends a request and returns the whole answer. It returns within 250 ms after ctx ends. An
	// error is an *Error; the answer that comes with it holds what had arrived, usage included,
	// because a request that failed late was paid for.
	Ask(ctx context.Context, r Request) (Answer, error)
}

// Request is what a model is asked.
type Request struct {
	Model    model.Model // Model.ID is what the provider is told
	System   string
	Tools    jsontext.Value // the provider's own JSON of the tools, sent as it is; may be empty
	Messages []session.Message
	// Conversation names the conversation that the messages belong to, so that a client can
	// remember how it wrote them down. Parts of messages must then not be changed after they were
	// handed in: a message that changes gets a new list of parts. If it is empty, nothing is
	// remembered.
	Conversation string
	// MaxOutput bounds the answer, in tokens; 0 takes the model's own limit.
	MaxOutput int
	// Temperature is how freely the model words its answer, from 0 to 2; nil: the provider's
	// default. Some models refuse a request that has one.
	Temperature *float64
	// Cache asks the provider to cache the prompt, and to read what it has cached, if its protocol
	// has to be asked.
	Cache bool
	// Delta is called with each piece of text as it arrives; nil if nobody listens. It must return
	// soon: nothing else arrives meanwhile.
	Delta func(text string)
	// Restart is called before a further attempt when Delta was called during the one that failed:
	// what was heard does not count, the answer begins anew. Only a client that makes several
	// attempts calls it; nil if nobody listens.
	Restart func()
	// Waiting is called before a wait of this length for a further attempt, with the error of the
	// one that failed. Only a client that makes several attempts calls it; nil if nobody listens.
	Waiting func(wait time.Duration, failed error)
}

// Answer is what a model said.
type Answer struct {
	// Parts are text, reasoning (with what its provider wants back) and tool calls (pending,
	// without ids of a session), in their order.
	Parts  []session.Part
	Finish Finish
	Model  string // "provider/model" as it was asked
	Usage  session.Usage
	Cost   float64 // US dollars, by the model's prices
	// Attempts are the requests that were made for it, the failed ones too, oldest first. A Client
	// leaves it empty; Retry fills it.
	Attempts []Attempt
}

// Attempt is one request that was made.
type Attempt struct {
	Usage    session.Usage
	Cost     float64 // US dollars
	Duration time.Duration
	Err      error // nil for the one that succeeded
}

// Spent is what all requests that were made for the answer took, and cost in US dollars.
func (a Answer) Spent() (session.Usage, float64) {
	if len(a.Attempts) == 0 {
		return a.Usage, a.Cost
	}
	var usage session.Usage
	cost := 0.0
	for _, attempt := range a.Attempts {
		usage, cost = usage.Add(attempt.Usage), cost+attempt.Cost
	}
	return usage, cost
}

// Finish says why an answer ended.
type Finish = wire.Finish

const (
	Stop    = wire.FinishStop
	Length  = wire.FinishLength  // cut off by the output limit
	Calls   = wire.FinishCalls   // the model wants tools to run
	Refused = wire.FinishRefused // the provider's filter
	Other   = wire.FinishOther
)

// Text is what the answer says, reasoning and calls left out.
func (a Answer) Text() string {
	text := ""
	for i := range a.Parts {
		if a.Parts[i].Type == session.TextPart {
			text += a.Parts[i].Text
		}
	}
	return text
}

// Has reports whether the answer has a part of a type.
func (a Answer) Has(t session.PartType) bool {
	for i := range a.Parts {
		if a.Parts[i].Type == t {
			return true
		}
	}
	return false
}
