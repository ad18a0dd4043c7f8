package anthropic

import (
	"cmp"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
	"github.com/winnowhq/winnow/wire"
)

// Stream puts an answer together from its events. hear is called with each piece of text as it
// arrives; nil if nobody listens.
func Stream(hear func(text string)) wire.Stream { return &stream{hear: hear} }

type stream struct {
	hear   func(string)
	blocks []*growing // by their index
	reason string
	usage  usage
	edited wire.Cleared
	ended  bool
}

// growing is one block of the answer.
type growing struct {
	kind            string
	begun           blockFields // as it began
	text, signature strings.Builder
	citations       []jsontext.Value
}

// usage holds the newest of each figure: the beginning of a stream has those of the prompt, its end
// may repeat them.
type usage struct {
	input, output, thinking, read, write, hour, searches int

	tier string // the service that answered
}

// take takes the figures of a report that are more than nothing.
func (u *usage) take(report wire.Value) {
	var now usage
	var details, creation, tools wire.Value
	var speed, tier, place string
	report.Read("speed", &speed, "service_tier", &tier, "inference_geo", &place, "server_tool_use", &tools,
		"input_tokens", &now.input, "output_tokens", &now.output, "output_tokens_details", &details,
		"cache_read_input_tokens", &now.read, "cache_creation_input_tokens", &now.write, "cache_creation", &creation)
	if served := wire.Service(speed, tier, place); served != "" {
		u.tier = served
	}
	newer(&u.input, now.input)
	newer(&u.output, now.output)
	newer(&u.thinking, details.Get("thinking_tokens").Int())
	newer(&u.read, now.read)
	newer(&u.write, now.write)
	newer(&u.searches, tools.Get("web_search_requests").Int())
	newer(&u.hour, creation.Get("ephemeral_1h_input_tokens").Int())
}

func newer(figure *int, reported int) {
	if reported > 0 {
		*figure = reported
	}
}

func (s *stream) Take(event []byte) (last bool) {
	var kind string
	var index int
	var message, block, delta, report, managed wire.Value
	wire.ValueOf(event).Read("type", &kind, "index", &index, "message", &message, "content_block", &block,
		"delta", &delta, "usage", &report, "context_management", &managed)
	switch kind {
	case "message_start":
		s.usage = usage{}
		s.usage.take(message.Get("usage"))
	case "content_block_start":
		s.begin(index, block.Raw())
	case "content_block_delta":
		s.grow(index, delta)
	case "message_delta":
		if reason := delta.Get("stop_reason").String(); reason != "" {
			s.reason = reason
		}
		s.usage.take(report)
		s.clear(managed.Get("applied_edits"))
	case "message_stop":
		s.ended = true
	}
	return s.ended
}

// clear takes the list of the edits that the API applied to the prompt.
func (s *stream) clear(applied wire.Value) {
	if applied.Kind() == '[' {
		s.edited = wire.Cleared{}
	}
	for edit := range applied.Values() {
		var uses, tokens int
		edit.Read("cleared_tool_uses", &uses, "cleared_input_tokens", &tokens)
		s.edited.ToolUses, s.edited.Tokens = s.edited.ToolUses+max(0, uses), s.edited.Tokens+max(0, tokens)
	}
}

func (s *stream) begin(index int, block []byte) {
	if index > wire.MaxBlocks {
		return
	}
	for len(s.blocks) <= index {
		s.blocks = append(s.blocks, nil)
	}
	b := &growing{begun: read(wire.ValueOf(block))}
	b.kind = b.begun.kind
	s.blocks[index] = b
	s.say(b, b.begun.text.String())
	b.text.WriteString(b.begun.thinking.String())
	b.signature.WriteString(b.begun.signature)
}

// say adds to a block of text, and lets the listener hear it.
func (s *stream) say(b *growing, text string) {
	b.text.WriteString(text)
	if s.hear != nil && text != "" && b.kind == "text" {
		s.hear(text)
	}
}

func (s *stream) grow(index int, delta wire.Value) {
	if index >= len(s.blocks) || s.blocks[index] == nil {
		return
	}
	b := s.blocks[index]
	kind := delta.Get("type").String()
	if b.kind == "" { // its beginning was damaged
		b.kind = map[string]string{"text_delta": "text", "thinking_delta": "thinking"}[kind]
	}
	switch kind {
	case "text_delta":
		s.say(b, delta.Get("text").String())
	case "thinking_delta":
		b.text.WriteString(delta.Get("thinking").String())
	case "signature_delta":
		b.signature.WriteString(delta.Get("signature").String())
	case "citations_delta":
		if citation := delta.Get("citation"); citation.Kind() == '{' {
			b.citations = append(b.citations, citation.Raw())
		}
	case "input_json_delta":
		b.text.WriteString(delta.Get("partial_json").String())
	}
}

func (s *stream) Answer() wire.Answer {
	u := s.usage
	a := wire.Answer{
		Finish: s.finish(), Ended: s.ended || s.reason != "", Cleared: s.edited,
		Usage: wire.SplitUsage(u.input+u.read+u.write, u.read, u.write, u.output, u.thinking, 0),
	}
	a.Usage.Cache.Write1h = min(u.hour, a.Usage.Cache.Write)
	a.Usage.Searches, a.Usage.Tier = u.searches, u.tier
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
		p := session.Part{Type: session.TextPart, Text: text}
		if len(b.citations) > 0 {
			block := span.Make("type", b.kind, "text", text, "citations", span.Array(b.citations))
			p = wire.Original(p, prefix, wire.ValueOf(block), nil)
		}
		return p
	case "thinking":
		return thought(text, b.signature.String())
	case "redacted_thinking":
		return redacted(b.begun.data)
	case "tool_use":
		return wire.PendingCall(b.begun.id, b.begun.name, cmp.Or(text, string(b.begun.input.Bytes())), nil)
	}
	// A tool that the provider runs, its result, or what is newer than this program: kept as it is.
	raw := b.begun.Bytes()
	if input := jsontext.Value(text); input.IsValid(session.ReadOptions()) {
		raw = span.Set(raw, "", input, "input")
	}
	return wire.OpaquePart("anthropic", b.kind, raw)
}

// finish is why the answer ended. A compatible server may say that it ended without saying why.
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
