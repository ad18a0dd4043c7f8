package gemini

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/wire"
)

// Stream puts an answer together from its events. hear is called with each piece of text as it arrives; nil if nobody listens.
func Stream(hear func(text string)) wire.Stream { return &stream{hear: hear} }

type stream struct {
	hear   func(string)
	parts  []session.Part
	calls  int
	reason string
	usage  session.Usage
}

// blocked is the reason of an answer that was refused before it began.
const blocked = "BLOCKED"

func (s *stream) Take(event []byte) (last bool) {
	root := wire.Root(event)
	if usage := wire.Member(event, root, "usageMetadata"); wire.Kind(event, usage) == '{' {
		s.usage = count(event, usage) // each report counts from the beginning
	}
	feedback := wire.Member(event, root, "promptFeedback")
	switch wire.String(event, wire.Member(event, feedback, "blockReason")) {
	case "", "BLOCKED_REASON_UNSPECIFIED":
	default:
		s.reason = blocked
	}
	for candidate := range wire.Values(event, wire.Member(event, root, "candidates")) {
		if wire.Number(event, wire.Member(event, candidate, "index")) != 0 {
			continue
		}
		for at := range wire.Values(event, wire.Member(event, wire.Member(event, candidate, "content"), "parts")) {
			s.part(decoder{text: event}, at)
		}
		reason := wire.String(event, wire.Member(event, candidate, "finishReason"))
		if reason != "" && reason != "FINISH_REASON_UNSPECIFIED" {
			s.reason = reason
		}
	}
	return false
}

// count reads a report of usage: the prompt's tokens include those that were read from the cache, the answer's exclude its
// thoughts.
func count(event []byte, report wire.Span) session.Usage {
	number := func(name string) int { return wire.Number(event, wire.Member(event, report, name)) }
	thoughts := number("thoughtsTokenCount")
	usage := wire.SplitUsage(number("promptTokenCount")+number("toolUsePromptTokenCount"), number("cachedContentTokenCount"), 0,
		number("candidatesTokenCount")+thoughts, thoughts, 0)
	usage.Total = number("totalTokenCount")
	return usage
}

// part takes a part. Texts and thoughts come in pieces, which are put together. A part with a signature stays by itself, as
// Google wants it back. A signature that comes after its text, with nothing else, belongs to that text.
func (s *stream) part(d decoder, at wire.Span) {
	f := d.fields(at)
	metadata := wire.Metadata("google", "thoughtSignature", f.signature)
	text := wire.String(d.text, f.text)
	switch {
	case wire.Kind(d.text, f.call) == '{':
		s.call(d, f.call, metadata)
	case wire.Kind(d.text, f.inline) == '{':
		s.parts = append(s.parts, d.media(f).FilePart())
	case f.text.Empty() && (f.more || !f.file.Empty()): // what only the API understands
		s.parts = append(s.parts, wire.OpaquePart("gemini", "part", wire.Raw(d.text, at)))
	case f.thought:
		s.text(session.ReasoningPart, text, metadata)
	default:
		if s.hear != nil && text != "" {
			s.hear(text)
		}
		s.text(session.TextPart, text, metadata)
	}
}

func (s *stream) text(kind session.PartType, text string, metadata jsontext.Value) {
	if text == "" && metadata == nil {
		return
	}
	if n := len(s.parts); n > 0 && s.parts[n-1].Type == kind && s.parts[n-1].Metadata == nil && (text == "" || metadata == nil) {
		s.parts[n-1].Text += text
		s.parts[n-1].Metadata = metadata
		return
	}
	s.parts = append(s.parts, session.Part{Type: kind, Text: text, Metadata: metadata})
}

// call takes a call, which comes whole. The API leaves out ids at will.
func (s *stream) call(d decoder, at wire.Span, metadata jsontext.Value) {
	s.calls++
	id, name, args := d.named(at, "args")
	if id == "" {
		id = "call_" + strconv.Itoa(s.calls)
	}
	arguments := ""
	if wire.Kind(d.text, args) == '{' {
		arguments = string(args.Of(d.text))
	}
	s.parts = append(s.parts, wire.PendingCall(id, name, arguments, metadata))
}

func (s *stream) Answer() wire.Answer {
	return wire.Answer{Parts: s.parts, Finish: s.finish(), Usage: s.usage, Ended: s.reason != ""}
}

func (s *stream) finish() wire.Finish {
	switch s.reason {
	case "STOP":
		if s.calls > 0 {
			return wire.FinishCalls
		}
		return wire.FinishStop
	case "MAX_TOKENS":
		return wire.FinishLength
	case blocked, "SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY",
		"IMAGE_PROHIBITED_CONTENT", "MODEL_ARMOR":
		return wire.FinishRefused
	}
	return wire.FinishOther
}
