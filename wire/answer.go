package wire

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
)

// Stream puts an answer together from the events of a stream. Each protocol has its own; none of
// them fails: an event that is damaged changes nothing.
type Stream interface {
	// Take takes the data of one event and reports whether it was the last one of the answer.
	Take(event []byte) (last bool)
	// Answer is the answer as far as it has arrived.
	Answer() Answer
}

// Answer is what a model said.
type Answer struct {
	// Parts are text, reasoning (with what its provider wants back) and pending tool calls, in
	// their order, without ids.
	Parts  []session.Part
	Finish Finish
	Usage  session.Usage
	// Ended is set once the protocol's own end has been seen: nothing of the answer is missing.
	Ended bool
	// Failure is the report of an error with which the answer ended, as JSON; nil if there is none.
	Failure []byte
	// Cleared is what the provider itself cleared of the prompt before it read it.
	Cleared Cleared
}

// Cleared is what edits of a provider (Anthropic's context_management) took out of a prompt.
type Cleared struct {
	ToolUses int // uses of tools whose results it cleared
	Tokens   int
}

// Finish says why an answer ended.
type Finish string

const (
	FinishStop    Finish = "stop"
	FinishLength  Finish = "length"     // cut off by the output limit
	FinishCalls   Finish = "tool-calls" // the model wants tools to run
	FinishRefused Finish = "refused"    // the provider's filter
	FinishOther   Finish = "other"
)

// WindowFull is the report of a conversation that filled the model's context window before an
// answer began: some providers say so with the reason for which the answer ended.
const WindowFull = `{"error":{"code":"context_length_exceeded",` +
	`"message":"the conversation filled the model's context window before an answer began"}}`

// MaxBlocks is how many blocks an answer may have: a larger index is damage.
const MaxBlocks = 10_000

// SplitUsage makes a usage of what providers report that count everything in the prompt and all of
// the answer: tokens of the prompt that were read from or written to the cache, and tokens of the
// answer that were thought. Impossible reports are bounded.
func SplitUsage(prompt, read, write, answer, thought, total int) session.Usage {
	prompt, answer, thought = max(prompt, 0), max(answer, 0), max(thought, 0)
	read = min(max(read, 0), prompt)
	write = min(max(write, 0), prompt-read)
	// xAI counts thoughts beside the answer.
	if thought <= answer && !(thought > 0 && total == prompt+answer+thought) {
		answer -= thought
	}
	return session.Usage{
		Total: max(total, 0), Input: prompt - read - write, Output: answer, Reasoning: thought,
		Cache: session.CacheUsage{Read: read, Write: write},
	}
}

// Service names the services with prices of their own among what a provider reports of an answer
// (its tier, speed and place), as [session.Usage].Tier has them; "" for the usual one.
func Service(reported ...string) string {
	tier := ""
	for _, name := range reported {
		switch name {
		case "", "standard", "default", "auto", "global", "not_available":
		default:
			if tier != "" {
				tier += "+"
			}
			tier += name
		}
	}
	return tier
}

// PendingCall makes the part of a call: with its arguments if they are JSON, otherwise with as much
// of them as arrived.
func PendingCall(id, name, arguments string, metadata jsontext.Value) session.Part {
	state := &session.ToolState{Status: session.Pending}
	switch input := jsontext.Value(arguments); {
	case arguments == "":
		state.Input = jsontext.Value(`{}`)
	case input.IsValid(session.ReadOptions()):
		state.Input = input
	default:
		state.Raw = arguments
	}
	return session.Part{Type: session.ToolPart, CallID: id, Tool: name, Metadata: metadata, State: state}
}
