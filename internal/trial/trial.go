// Package trial tests what becomes of a compaction if the provider fails. It has the list of what a
// provider may do wrong, the stages at which it may do so, and what must have come of it. It runs
// over any client: a scripted one, or a real one over HTTP.
package trial

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/session"
)

// Fault is what a provider does in place of a good answer.
type Fault string

const (
	Good          Fault = "a good answer"
	Empty         Fault = "an empty answer"
	ReasoningOnly Fault = "reasoning only"
	Markup        Fault = "tool-call markup"
	Called        Fault = "a tool call"
	CutByLength   Fault = "cut by length"
	Filtered      Fault = "the provider's filter"
	NoHeadings    Fault = "no headings"
	TooLarge      Fault = "larger than what it replaces"
	Unauthorised  Fault = "401"
	TooLong       Fault = "a context-length rejection"
	BadRequest    Fault = "400"
	RateLimited   Fault = "429"
	Failed        Fault = "500"
	Overloaded    Fault = "529"
	CutStream     Fault = "a cut stream"
	Garbage       Fault = "garbage"
	Hang          Fault = "a hang"
)

// Faults are all of them.
func Faults() []Fault {
	return []Fault{Empty, ReasoningOnly, Markup, Called, CutByLength, Filtered, NoHeadings, TooLarge, Unauthorised,
		TooLong, BadRequest,
		RateLimited, Failed, Overloaded, CutStream, Garbage, Hang}
}

// Bad reports whether the fault is an answer that does not count, and not a request that failed.
func (f Fault) Bad() bool {
	switch f.like() {
	case Empty, ReasoningOnly, Markup, Called, CutByLength, Filtered, NoHeadings, TooLarge:
		return true
	}
	return false
}

// passes reports whether the same request may succeed the next time.
func (f Fault) passes() bool {
	switch f.like() {
	case RateLimited, Failed, Overloaded, CutStream, Garbage:
		return true
	}
	return false
}

// Reply is what a provider is to do: the text of a good answer, or a fault.
type Reply struct {
	Fault Fault
	Text  string
}

// TB is what is asked of a test: *testing.T and *rapid.T both have it.
type TB interface {
	Helper()
	Error(args ...any)
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Cleanup(func())
	Context() context.Context
}

// Upstream is a provider that does as it is told.
type Upstream interface {
	// Client returns a client that asks for m. For each request that arrives script is called with
	// everything that stands in it as text (JSON will do), and says what to do. bills tells what
	// was reported of each that arrived, oldest first.
	Client(t TB, m model.Model, script func(body string) Reply) (client llm.Client, bills func() []Bill)
}

// Bill is what a provider takes for one request: Usage at the most, or exactly that.
type Bill struct {
	Usage session.Usage
	Exact bool
}

// Scripted is an upstream without a network.
type Scripted struct{}

// Client returns a client that calls the script itself.
func (Scripted) Client(_ TB, m model.Model, script func(string) Reply) (llm.Client, func() []Bill) {
	c := &scripted{model: m, script: script}
	return c, func() []Bill {
		c.mu.Lock()
		defer c.mu.Unlock()
		return slices.Clone(c.bills)
	}
}

type scripted struct {
	model  model.Model
	script func(string) Reply
	mu     sync.Mutex
	bills  []Bill
}

// Ask does what the script says. What fails late was paid for.
func (c *scripted) Ask(ctx context.Context, r llm.Request) (llm.Answer, error) {
	c.mu.Lock()
	at := len(c.bills)
	c.bills = append(c.bills, Bill{Exact: true})
	c.mu.Unlock()
	body := textOf(r)
	reply := c.script(body)
	answer := llm.Answer{Model: c.model.String(), Finish: llm.Stop}
	paid := func(output int) {
		answer.Usage = session.Usage{Input: len(body) / 4, Output: output}
		answer.Cost, _ = c.model.Cost(model.Usage{Input: len(body) / 4, Output: output})
		c.mu.Lock()
		c.bills[at].Usage = answer.Usage
		c.mu.Unlock()
	}
	says := func(kind session.PartType, text string) {
		answer.Parts = append(answer.Parts, session.Part{Type: kind, Text: text})
		paid(len(text) / 4)
		if kind == session.TextPart && r.Delta != nil {
			for piece := range strings.SplitAfterSeq(text, " ") {
				r.Delta(piece)
			}
		}
	}
	fails := func(kind llm.Kind, status int) (llm.Answer, error) {
		answer.Finish = ""
		return answer, &llm.Error{Kind: kind, Provider: c.model.Provider, Model: c.model.ID, Status: status,
			Message: string(reply.Fault)}
	}
	switch reply.Fault {
	case Good:
		says(session.TextPart, reply.Text)
	case Empty:
		paid(0)
	case ReasoningOnly:
		says(session.ReasoningPart, "I think that")
	case Markup:
		says(session.TextPart, "## Goal\n\n<function_calls><invoke name=\"read\">")
	case Called:
		says(session.TextPart, "## Goal\n\nLet me look.")
		answer.Parts = append(answer.Parts,
			session.Part{Type: session.ToolPart, Tool: "read", State: &session.ToolState{Status: session.Pending}})
		answer.Finish = llm.Calls
	case CutByLength:
		says(session.TextPart, "## Goal\n\nTo make the parser")
		answer.Finish = llm.Length
	case Filtered:
		says(session.TextPart, "## Goal\n\nI")
		answer.Finish = llm.Refused
	case NoHeadings:
		says(session.TextPart, "Sure, I will go on with the parser.")
	case TooLarge:
		says(session.TextPart, "## Goal\n\n"+strings.Repeat("many words ", 60_000))
	case Unauthorised:
		return fails(llm.Auth, 401)
	case TooLong:
		return fails(llm.Overflow, 400)
	case BadRequest:
		return fails(llm.Rejected, 400)
	case RateLimited:
		return fails(llm.RateLimited, 429)
	case Failed:
		return fails(llm.Server, 500)
	case Overloaded:
		return fails(llm.Overloaded, 529)
	case CutStream:
		says(session.TextPart, "## Goal\n\nTo make")
		return fails(llm.Cut, 200)
	case Garbage:
		return fails(llm.Garbage, 200)
	case Hang:
		says(session.TextPart, "## Goal\n\nTo")
		<-ctx.Done()
		answer.Finish = ""
		return answer, &llm.Error{Kind: llm.Cancelled, Provider: c.model.Provider, Model: c.model.ID, Err: ctx.Err()}
	default:
		return answer, errors.New("there is no fault " + string(reply.Fault))
	}
	return answer, nil
}

// textOf is everything that stands in a request.
func textOf(r llm.Request) string {
	var b strings.Builder
	b.WriteString(r.System)
	b.Write(r.Tools)
	for i := range r.Messages {
		for _, p := range r.Messages[i].Parts {
			b.WriteString("\n" + p.Text)
			if p.State != nil {
				b.Write(p.State.Input)
				b.WriteString(p.State.Result())
			}
		}
	}
	return b.String()
}
