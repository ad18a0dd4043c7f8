package anthropic

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/wire"
)

// Stream puts an answer together from its events. hear is called with each piece of text as it arrives; nil if nobody listens.
func Stream(hear func(text string)) wire.Stream { return &stream{hear: hear} }

type stream struct {
	hear   func(string)
	blocks []*growing // by their index
	reason string
	usage  usage
	ended  bool
}

// growing is one block of the answer.
type growing struct {
	fields
	text, signature strings.Builder
	input           jsontext.Value // as it stood at the beginning
	raw             jsontext.Value // the block as it began
}

// usage holds the newest of each figure: the beginning of a stream has those of the prompt, its end may repeat them.
type usage struct{ input, output, thinking, read, write, hour int }

// read takes the figures of a report that are more than nothing.
func (u *usage) take(text []byte, report wire.Span) {
	for name, value := range wire.Members(text, report) {
		switch string(name) {
		case "input_tokens":
			newer(&u.input, wire.Number(text, value))
		case "output_tokens":
			newer(&u.output, wire.Number(text, value))
		case "output_tokens_details":
			newer(&u.thinking, wire.Number(text, wire.Member(text, value, "thinking_tokens")))
		case "cache_read_input_tokens":
			newer(&u.read, wire.Number(text, value))
		case "cache_creation_input_tokens":
			newer(&u.write, wire.Number(text, value))
		case "cache_creation":
			newer(&u.hour, wire.Number(text, wire.Member(text, value, "ephemeral_1h_input_tokens")))
		}
	}
}

func newer(figure *int, reported int) {
	if reported > 0 {
		*figure = reported
	}
}

func (s *stream) Take(event []byte) (last bool) {
	var kind string
	var index, message, block, delta, report wire.Span
	for name, value := range wire.Members(event, wire.Root(event)) {
		switch string(name) {
		case "type":
			kind = wire.String(event, value)
		case "index":
			index = value
		case "message":
			message = value
		case "content_block":
			block = value
		case "delta":
			delta = value
		case "usage":
			report = value
		}
	}
	switch kind {
	case "message_start":
		s.usage = usage{}
		s.usage.take(event, wire.Member(event, message, "usage"))
	case "content_block_start":
		s.begin(wire.Number(event, index), event, block)
	case "content_block_delta":
		s.grow(wire.Number(event, index), event, delta)
	case "message_delta":
		if reason := wire.String(event, wire.Member(event, delta, "stop_reason")); reason != "" {
			s.reason = reason
		}
		s.usage.take(event, report)
	case "message_stop":
		s.ended = true
	}
	return s.ended
}

func (s *stream) begin(index int, event []byte, at wire.Span) {
	if index > wire.MaxBlocks {
		return
	}
	for len(s.blocks) <= index {
		s.blocks = append(s.blocks, nil)
	}
	f := decoder{text: event}.fields(at)
	b := &growing{fields: f, raw: wire.Raw(event, at), input: wire.Raw(event, f.input)}
	s.blocks[index] = b
	s.say(b, wire.String(event, f.text))
	b.text.WriteString(wire.String(event, f.thinking))
	b.signature.WriteString(f.signature)
}

// say adds to a block of text, and lets the listener hear it.
func (s *stream) say(b *growing, text string) {
	b.text.WriteString(text)
	if s.hear != nil && text != "" && b.kind == "text" {
		s.hear(text)
	}
}

func (s *stream) grow(index int, event []byte, delta wire.Span) {
	if index >= len(s.blocks) || s.blocks[index] == nil {
		return
	}
	b := s.blocks[index]
	kind := wire.String(event, wire.Member(event, delta, "type"))
	if b.kind == "" { // its beginning was damaged
		b.kind = map[string]string{"text_delta": "text", "thinking_delta": "thinking"}[kind]
	}
	more := func(member string) string { return wire.String(event, wire.Member(event, delta, member)) }
	switch kind {
	case "text_delta":
		s.say(b, more("text"))
	case "thinking_delta":
		b.text.WriteString(more("thinking"))
	case "signature_delta":
		b.signature.WriteString(more("signature"))
	case "input_json_delta":
		b.text.WriteString(more("partial_json"))
	}
}

func (s *stream) Answer() wire.Answer {
	u := s.usage
	a := wire.Answer{
		Finish: s.finish(), Ended: s.ended || s.reason != "",
		Usage: wire.SplitUsage(u.input+u.read+u.write, u.read, u.write, u.output, u.thinking, 0),
	}
	a.Usage.Cache.Write1h = min(u.hour, a.Usage.Cache.Write)
	for _, b := range s.blocks {
		if b != nil && b.kind != "" {
			a.Parts = append(a.Parts, b.part())
		}
	}
	if s.ended && s.reason == "model_context_window_exceeded" && len(s.blocks) == 0 {
		a.Failure = []byte(wire.WindowFull)
	}
	return a
}

// part makes of a block what the encoder makes the same block of again.
func (b *growing) part() session.Part {
	text := b.text.String()
	switch b.kind {
	case "text":
		return session.Part{Type: session.TextPart, Text: text}
	case "thinking":
		metadata := wire.Metadata("anthropic", "signature", b.signature.String())
		return session.Part{Type: session.ReasoningPart, Text: text, Metadata: metadata}
	case "redacted_thinking":
		return session.Part{Type: session.ReasoningPart, Metadata: wire.Metadata("anthropic", "redactedData", b.data)}
	case "tool_use":
		if text == "" {
			text = string(b.input)
		}
		return wire.PendingCall(b.id, b.name, text, nil)
	}
	// A tool that the provider runs, its result, or what is newer than this program: kept as it is.
	raw := []byte(b.raw)
	if input := jsontext.Value(text); input.IsValid(session.ReadOptions()) {
		raw = wire.Set(raw, "input", input)
	}
	return wire.OpaquePart("anthropic", b.kind, raw)
}

// finish is why the answer ended. A compatible server may say that it has without saying why.
func (s *stream) finish() wire.Finish {
	switch s.reason {
	case "":
		if s.ended {
			return wire.FinishStop
		}
	case "end_turn", "stop_sequence":
		return wire.FinishStop
	case "max_tokens", "model_context_window_exceeded":
		return wire.FinishLength
	case "tool_use":
		return wire.FinishCalls
	case "refusal":
		return wire.FinishRefused
	}
	return wire.FinishOther
}
