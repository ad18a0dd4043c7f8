package gemini

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/wire"
)

// Stream puts an answer together from its events. hear is called with each piece of text as it
// arrives; nil if nobody listens.
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
	root := wire.ValueOf(event)
	if usage := root.Get("usageMetadata"); usage.Kind() == '{' {
		s.usage = count(usage) // each report counts from the beginning
	}
	if reason := root.Get("promptFeedback", "blockReason").String(); reason != "" &&
		reason != "BLOCKED_REASON_UNSPECIFIED" {
		s.reason = blocked
	}
	for candidate := range root.Get("candidates").Values() {
		if candidate.Get("index").Int() != 0 {
			continue
		}
		for part := range candidate.Get("content", "parts").Values() {
			s.part(read(part))
		}
		if reason := candidate.Get("finishReason").String(); reason != "" && reason != "FINISH_REASON_UNSPECIFIED" {
			s.reason = reason
		}
	}
	return false
}

// count reads a report of usage: the prompt's tokens include those that were read from the cache,
// the answer's exclude its thoughts.
func count(report wire.Value) session.Usage {
	var prompt, cached, tools, answer, thoughts, total int
	report.Read("promptTokenCount", &prompt, "cachedContentTokenCount", &cached, "toolUsePromptTokenCount", &tools,
		"candidatesTokenCount", &answer, "thoughtsTokenCount", &thoughts, "totalTokenCount", &total)
	usage := wire.SplitUsage(prompt+tools, cached, 0, answer+thoughts, thoughts, 0)
	usage.Total = total
	return usage
}

// part takes a part. Texts and thoughts come in pieces, which are put together. A part with a
// signature stays by itself, as Google wants it back. A signature that comes after its text, with
// nothing else, belongs to that text.
func (s *stream) part(p partFields) {
	metadata := wire.Metadata("google", "thoughtSignature", p.signature)
	text := p.text.String()
	switch {
	case p.call.Kind() == '{':
		s.calls++
		c := readCall(p.call)
		if c.id == "" { // the API leaves out ids at will
			c.id = "call_" + strconv.Itoa(s.calls)
		}
		arguments := ""
		if c.args.Kind() == '{' {
			arguments = string(c.args.Bytes())
		}
		s.parts = append(s.parts, wire.PendingCall(c.id, c.name, arguments, metadata))
	case p.inline.Kind() == '{':
		s.parts = append(s.parts, p.media())
	case p.text.Empty() && (p.others > 0 || !p.file.Empty()): // only the API understands it
		s.parts = append(s.parts, wire.OpaquePart("gemini", "part", p.Raw()))
	case p.thought:
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
	if n := len(s.parts); n > 0 && s.parts[n-1].Type == kind && s.parts[n-1].Metadata == nil &&
		(text == "" || metadata == nil) {
		s.parts[n-1].Text += text
		s.parts[n-1].Metadata = metadata
		return
	}
	s.parts = append(s.parts, session.Part{Type: kind, Text: text, Metadata: metadata})
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
