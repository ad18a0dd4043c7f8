package openaichat

import (
	"strconv"
	"strings"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/wire"
	"github.com/winnowhq/winnow/wire/sse"
)

// Stream puts an answer together from its events. hear is called with each piece of text as it arrives; nil if nobody listens.
func Stream(hear func(text string)) wire.Stream { return &stream{hear: hear} }

type stream struct {
	hear          func(string)
	text, thought strings.Builder
	field         string // the member that holds the thoughts
	calls         []*growing
	reason        string
	refused       bool
	usage         session.Usage
}

// growing is a call of which pieces arrive.
type growing struct {
	index     int
	id, name  string
	arguments strings.Builder
}

func (s *stream) Take(event []byte) (last bool) {
	if string(event) == sse.Done {
		if s.reason == "" { // there are servers that say that the answer is complete, and not why
			s.reason = "stop"
		}
		return true
	}
	root := wire.Root(event)
	s.count(event, wire.Member(event, root, "usage"))
	for choice := range wire.Values(event, wire.Member(event, root, "choices")) {
		if wire.Number(event, wire.Member(event, choice, "index")) != 0 {
			continue
		}
		s.said(event, wire.Member(event, choice, "delta"))
		if reason := wire.String(event, wire.Member(event, choice, "finish_reason")); reason != "" {
			s.reason = reason
		}
		s.count(event, wire.Member(event, choice, "usage")) // Moonshot
	}
	return false
}

// said takes texts, thoughts, refusals and calls.
func (s *stream) said(event []byte, delta wire.Span) {
	for name, value := range wire.Members(event, delta) {
		switch string(name) {
		case "content":
			s.say(wire.String(event, value))
			for at := range wire.Values(event, value) { // Mistral: texts and thoughts as a list
				s.say(wire.String(event, wire.Member(event, at, "text")))
				for thought := range wire.Values(event, wire.Member(event, at, "thinking")) {
					s.thought.WriteString(wire.String(event, wire.Member(event, thought, "text")))
				}
			}
		case "refusal":
			text := wire.String(event, value)
			s.refused = s.refused || text != ""
			s.say(text)
		case "tool_calls":
			for call := range wire.Values(event, value) {
				s.called(event, call)
			}
		}
	}
	for _, field := range []string{"reasoning_content", "reasoning"} {
		text := wire.String(event, wire.Member(event, delta, field))
		if text == "" || s.field != "" && s.field != field { // one server sends both, with the same text
			continue
		}
		s.field = field
		s.thought.WriteString(text)
	}
}

func (s *stream) say(text string) {
	s.text.WriteString(text)
	if s.hear != nil && text != "" {
		s.hear(text)
	}
}

// called takes a piece of a call. A piece belongs to the newest call of its index, unless it has another id: there are servers
// that leave every index at 0.
func (s *stream) called(event []byte, at wire.Span) {
	index := wire.Number(event, wire.Member(event, at, "index"))
	id := wire.String(event, wire.Member(event, at, "id"))
	function := wire.Member(event, at, "function")
	var c *growing
	for _, known := range s.calls {
		if known.index == index {
			c = known
		}
	}
	if c == nil || id != "" && c.id != "" && id != c.id {
		c = &growing{index: index}
		s.calls = append(s.calls, c)
	}
	if id != "" {
		c.id = id
	}
	if c.name == "" {
		c.name = wire.String(event, wire.Member(event, function, "name"))
	}
	c.arguments.WriteString(wire.String(event, wire.Member(event, function, "arguments")))
}

// count reads a report of usage. What was read from the cache stands in one of three places, by server: OpenAI's, DeepSeek's,
// Moonshot's.
func (s *stream) count(event []byte, report wire.Span) {
	number := func(path ...string) int {
		at := report
		for _, name := range path {
			at = wire.Member(event, at, name)
		}
		return wire.Number(event, at)
	}
	prompt, answer := number("prompt_tokens"), number("completion_tokens")
	if prompt+answer == 0 {
		return // there are servers that report nothing once more at the end
	}
	const details = "prompt_tokens_details"
	read := max(number(details, "cached_tokens"), number("prompt_cache_hit_tokens"), number("cached_tokens"))
	s.usage = wire.SplitUsage(prompt, read, number(details, "cache_write_tokens"),
		answer, number("completion_tokens_details", "reasoning_tokens"), number("total_tokens"))
}

// Answer has thoughts, text and calls: the order in which the protocol has them.
func (s *stream) Answer() wire.Answer {
	a := wire.Answer{Finish: s.finish(), Usage: s.usage, Ended: s.reason != "", Failure: s.failure()}
	if s.thought.Len() > 0 {
		a.Parts = append(a.Parts, session.Part{
			Type: session.ReasoningPart, Text: s.thought.String(), Metadata: wire.Metadata("openai", "field", s.field),
		})
	}
	if s.text.Len() > 0 {
		a.Parts = append(a.Parts, session.Part{Type: session.TextPart, Text: s.text.String()})
	}
	for i, c := range s.calls {
		id := c.id
		if id == "" {
			id = "call_" + strconv.Itoa(i+1)
		}
		a.Parts = append(a.Parts, wire.PendingCall(id, c.name, c.arguments.String(), nil))
	}
	return a
}

// failure is the report for reasons that are failures, as some servers put them.
func (s *stream) failure() []byte {
	switch s.reason {
	case "error", "network_error":
		return []byte(`{"error":{"code":"server_error","message":"the answer ended with the reason ` + s.reason + `"}}`)
	case "insufficient_system_resource":
		return []byte(`{"error":{"code":"server_is_overloaded","message":"the answer ended for want of resources"}}`)
	case "model_context_window_exceeded":
		if s.text.Len() == 0 && len(s.calls) == 0 {
			return []byte(wire.WindowFull)
		}
	}
	return nil
}

// finish is why the answer ended. Servers have words of their own, or hand on those of the model behind them.
func (s *stream) finish() wire.Finish {
	reason := strings.ToLower(s.reason)
	switch reason {
	case "length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded":
		return wire.FinishLength
	case "content_filter", "sensitive", "safety", "recitation", "blocklist", "prohibited_content", "spii", "refusal":
		return wire.FinishRefused
	}
	switch {
	case s.refused:
		return wire.FinishRefused
	case len(s.calls) > 0: // there are servers that say "stop"
		return wire.FinishCalls
	}
	switch reason {
	case "", "abort", "cancelled", "other", "pause_turn", "malformed_function_call", "unexpected_tool_call",
		"tool_calls", "function_call":
		return wire.FinishOther
	}
	return wire.FinishStop // "stop", "eos", "end_turn" and whatever else says no more than that
}
