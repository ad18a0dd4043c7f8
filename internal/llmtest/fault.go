package llmtest

import (
	"slices"

	"github.com/winnowhq/winnow/llm"
)

// Fault is a way in which a request fails, or is answered badly. The empty one means no fault.
type Fault string

// Refusals, each with the provider's own status and body.
const (
	Unauthorized Fault = "401"
	BadKey       Fault = "bad-key"   // as the provider says it: 401; Gemini 400 with API_KEY_INVALID
	NoCredit     Fault = "no-credit" // Anthropic 400, OpenAI 429 with insufficient_quota, Gemini 403
	Forbidden    Fault = "403"
	Gone         Fault = "404" // no such model
	TooLarge     Fault = "413"
	TooLong      Fault = "too-long"   // more tokens than the model takes
	BadRequest   Fault = "400"        // refused for a reason that no client understands
	RateLimit    Fault = "429"        // without a word on how long to wait
	RateSeconds  Fault = "429-s"      // retry-after in seconds
	RateMillis   Fault = "429-ms"     // retry-after-ms
	RateDate     Fault = "429-date"   // retry-after as an HTTP date
	RateInfo     Fault = "429-info"   // Gemini: RetryInfo in the body. Others: in seconds
	Failed       Fault = "500"        // the provider's own error
	Gateway      Fault = "502"        // a proxy's page of HTML
	Unavailable  Fault = "503"        // no capacity for now
	Overloaded   Fault = "overloaded" // Anthropic 529, the others 503
	Status529    Fault = "529"        // 529 from anybody, as gateways pass it on
)

// Faults of the connection.
const (
	Reset             Fault = "reset"               // the connection is reset before any header
	HangBeforeHeaders Fault = "hang-before-headers" // no header ever comes
	HangMidStream     Fault = "hang-mid-stream"     // half an answer, then nothing
	SlowDrip          Fault = "slow-drip"           // a few bytes at a time; the answer is whole in the end
	CutMidEvent       Fault = "cut-mid-event"       // the connection breaks within an event
	CutClean          Fault = "cut-clean"           // the stream ends properly, in the middle of the answer
	EmptyBody         Fault = "empty-body"          // 200, and nothing
)

// Answers with 200 that are not answers.
const (
	// ErrorInStream is half an answer, then an error event: overloaded. Not streamed: 503, 529
	ErrorInStream Fault = "error-in-stream"
	// OverflowInStream begins a stream, then says that the prompt is too long. Not streamed: 400
	OverflowInStream Fault = "overflow-in-stream"
	HTML             Fault = "html"     // a page, as captive portals and proxies give
	BadJSON          Fault = "bad-json" // one event is not JSON, the rest is. Not streamed: not JSON
)

// Answers that are complete as far as the wire can tell, and bad.
const (
	Empty         Fault = "empty"          // nothing is said
	Blank         Fault = "blank"          // spaces and line ends
	ReasoningOnly Fault = "reasoning-only" // the model thinks and then says nothing
	MarkupCall    Fault = "markup-call"    // a tool call written out as text
	RealCall      Fault = "real-call"      // a tool call, and no text
	LengthCut     Fault = "length"         // half of the text; the output limit is said to have cut it
	Refused       Fault = "refused"        // the provider's filter; no text
	Larger        Fault = "larger"         // a text larger than the whole prompt
	NoHeadings    Fault = "no-headings"    // the text without the lines that are headings
	NoUsage       Fault = "no-usage"       // the text, and no word on what it took
)

var faults = []Fault{
	Unauthorized, BadKey, NoCredit, Forbidden, Gone, TooLarge, TooLong, BadRequest, RateLimit, RateSeconds, RateMillis,
	RateDate, RateInfo, Failed,
	Gateway, Unavailable, Overloaded, Status529,
	Reset, HangBeforeHeaders, HangMidStream, SlowDrip, CutMidEvent, CutClean, EmptyBody,
	ErrorInStream, OverflowInStream, HTML, BadJSON,
	Empty, Blank, ReasoningOnly, MarkupCall, RealCall, LengthCut, Refused, Larger, NoHeadings, NoUsage,
}

// Faults lists all of them. Refused connections are not among them, as they hit no single request:
// see Server.Down.
func Faults() []Fault { return slices.Clone(faults) }

// Kinds are the kinds of error as which a client may report the fault of a streamed request, the
// best one first; none when the answer is complete and only its content is bad, or slow.
func (f Fault) Kinds() []llm.Kind {
	switch f {
	case Unauthorized, BadKey, NoCredit, Forbidden:
		return []llm.Kind{llm.Auth}
	case Gone, BadRequest:
		return []llm.Kind{llm.Rejected}
	case TooLarge, TooLong, OverflowInStream:
		return []llm.Kind{llm.Overflow}
	case RateLimit, RateSeconds, RateMillis, RateDate, RateInfo:
		return []llm.Kind{llm.RateLimited}
	case Failed, Gateway:
		return []llm.Kind{llm.Server}
	case Unavailable, Overloaded, Status529, ErrorInStream:
		return []llm.Kind{llm.Overloaded, llm.Server}
	case Reset:
		return []llm.Kind{llm.Network}
	case HangBeforeHeaders, HangMidStream:
		return []llm.Kind{llm.Stalled, llm.Cancelled}
	case CutMidEvent:
		return []llm.Kind{llm.Cut, llm.Network, llm.Garbage}
	case CutClean, EmptyBody:
		return []llm.Kind{llm.Cut, llm.Garbage}
	case HTML, BadJSON:
		return []llm.Kind{llm.Garbage, llm.Cut}
	}
	return nil
}

// Hangs reports whether a client has to end the request by itself.
func (f Fault) Hangs() bool { return f == HangBeforeHeaders || f == HangMidStream }

// refuses reports whether the fault is a refusal, for which the script is not needed.
func (f Fault) refuses() bool {
	return f != "" && slices.Index(faults, f) <= slices.Index(faults, Status529)
}
