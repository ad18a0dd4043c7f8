package wire

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// Texts that a body has in place of what has no text of its own.
const (
	// Question is what a marker asks.
	Question = "What did we do so far?"
	// Interrupted is the result of a call that never ended.
	Interrupted = "[Tool execution was interrupted]"
	// Wordless is the result of a call that failed and said nothing: providers want a reason with a
	// failure.
	Wordless = "[The tool failed without a message]"
	// Beginning opens a conversation whose first message is the assistant's, for providers that
	// want the user's first.
	Beginning = "[The conversation begins before this point]"
	// Returned introduces media that a tool returned, for providers that accept no media in
	// results.
	Returned = "[Media returned by the tool calls above]"
)

// Options say what a body holds besides its messages. The zero value is a body of messages alone.
type Options struct {
	// Model is the provider's own id of the model that will read the body. It decides which
	// reasoning goes along: only the model that wrote reasoning can take it back. Empty: none does.
	Model string
	// Provider narrows Model to one provider, as sessions name it. Empty: any provider with that
	// model.
	Provider string
	// System is the system prompt. Empty: none is written.
	System string
	// Tools is the provider's own JSON of the tools, written as it is. Empty: none is written.
	Tools jsontext.Value
	// MaxTokens bounds the answer. 0: not written.
	MaxTokens int
	// Continues says that the messages go on with a conversation that is written down elsewhere:
	// they may begin with the assistant's, and nothing opens them.
	Continues bool
	// Calls holds the call ids that the rest of the body uses; calls of the messages get others.
	Calls map[string]bool
}

// wrote reports whether the model of the options wrote this message.
func (o Options) wrote(m *session.Message) bool {
	return o.Model != "" && m.ModelID == o.Model && (o.Provider == "" || m.ProviderID == o.Provider)
}

// Decoded is a request body as messages.
type Decoded struct {
	// Text is what every span points into: the body, or, when it was cut short, the body up to
	// there with its brackets closed.
	Text []byte

	Model     string
	System    string         // texts of the system prompt, joined by blank lines
	Tools     jsontext.Value // as written, empty without tools
	MaxTokens int

	// Messages is the conversation. Ids count up ("m0001", its parts "m0001:0"); a call's part has
	// the id of the call. A call and its result are one part, no matter where the body has them.
	Messages []session.Message
	// Starts holds, for each message, the position of the element in which it begins.
	Starts []int

	// List is the JSON array that holds the elements, brackets included; a body without one has an
	// empty span.
	List span.Span
	// Elements are the entries of that list, in order.
	Elements []Element
	// Places tells where each part is, by part id.
	Places map[string]Place

	ToolCalls, ToolResults int

	Skipped []Skipped
}

// Element is one entry of the list of messages.
type Element struct {
	span.Span
	// Role as the body spells it, "" for items that have none.
	Role string
	// Leading is set on system messages before the conversation: they belong to the system prompt.
	Leading bool
	// Content is the span of the value that holds the blocks, empty for items without.
	Content span.Span
}

// Place is where a part is in a body. Spans that do not apply are empty.
type Place struct {
	Element int
	Block   span.Span // the block that is the part; the whole element when it is not made of blocks
	Text    span.Span // the JSON string of its text
	Bare    bool      // the block is a plain string in place of a list of blocks

	Input  span.Span // the arguments of a call
	Quoted bool      // the arguments are JSON within a JSON string

	ResultElement int         // -1 without a result
	ResultBlock   span.Span   // the block or element that is the result
	Result        span.Span   // the JSON value that holds the result's text
	Keep          []span.Span // blocks within Result that are neither text nor media
	Object        bool        // the result is a JSON object, its text a member of it
	Files         span.Span   // the list of the result's media, where it is not in Result
	NoResultValue bool        // the result has no value at all: nothing to replace
}

// Skipped is a piece of a body that could not be read.
type Skipped struct {
	span.Span
	Reason string
}
