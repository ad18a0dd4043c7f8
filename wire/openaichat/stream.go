package openaichat

import (
	"strconv"
	"strings"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/wire"
)

// Stream puts an answer together from its events. hear is called with each piece of text as it
// arrives; nil if nobody listens.
func Stream(hear func(text string)) wire.Stream { return &stream{hear: hear} }

type stream struct {
	hear          func(string)
	text, thought strings.Builder
	field         string // the member that holds the thoughts
	calls         []*growing
	reason        string
	refused       bool
	usage         session.Usage
	tier          string // the service that answered
}

// growing is a call of which pieces arrive.
type growing struct {
	index     int
	id, name  string
	arguments strings.Builder
}

func (s *stream) Take(event []byte) (last bool) {
	if string(event) == wire.Done {
		if s.reason == "" { // some servers say that the answer is complete, but not why
			s.reason = "stop"
		}
		return true
	}
	root := wire.ValueOf(event)
	s.count(root.Get("usage"))
	if tier := root.Get("service_tier").String(); tier != "" {
		s.tier = tier
	}
	for choice := range root.Get("choices").Values() {
		if choice.Get("index").Int() != 0 {
			continue
		}
		s.delta(choice.Get("delta"))
		if reason := choice.Get("finish_reason").String(); reason != "" {
			s.reason = reason
		}
		s.count(choice.Get("usage")) // Moonshot
	}
	return false
}

// delta takes texts, thoughts, refusals and calls.
func (s *stream) delta(delta wire.Value) {
	var content, calls wire.Value
	var refusal string
	delta.Read("content", &content, "refusal", &refusal, "tool_calls", &calls)
	s.say(content.String())
	for block := range content.Values() { // Mistral: texts and thoughts as a list
		s.say(block.Get("text").String())
		for thought := range block.Get("thinking").Values() {
			s.thought.WriteString(thought.Get("text").String())
		}
	}
	s.refused = s.refused || refusal != ""
	s.say(refusal)
	for _, field := range []string{"reasoning_content", "reasoning"} {
		text := delta.Get(field).String()
		if text == "" || s.field != "" && s.field != field { // one server sends both, with the same text
			continue
		}
		s.field = field
		s.thought.WriteString(text)
	}
	for call := range calls.Values() {
		s.called(call)
	}
}

func (s *stream) say(text string) {
	s.text.WriteString(text)
	if s.hear != nil && text != "" {
		s.hear(text)
	}
}

// called takes a piece of a call. A piece belongs to the newest call of its index, unless it has
// another id: some servers leave every index at 0.
func (s *stream) called(piece wire.Value) {
	var index int
	var id string
	var function wire.Value
	piece.Read("index", &index, "id", &id, "function", &function)
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
		c.name = function.Get("name").String()
	}
	c.arguments.WriteString(function.Get("arguments").String())
}

// count reads a report of usage. Servers report what was read from the cache in one of three
// places: OpenAI's, DeepSeek's, Moonshot's.
func (s *stream) count(report wire.Value) {
	var prompt, answer, total, deepSeek, moonshot int
	var details, answerDetails wire.Value
	report.Read("prompt_tokens", &prompt, "completion_tokens", &answer, "total_tokens", &total,
		"prompt_cache_hit_tokens", &deepSeek, "cached_tokens", &moonshot,
		"prompt_tokens_details", &details, "completion_tokens_details", &answerDetails)
	if prompt+answer == 0 {
		return // some servers report zeros once more at the end
	}
	s.usage = wire.SplitUsage(prompt, max(details.Get("cached_tokens").Int(), deepSeek, moonshot),
		details.Get("cache_write_tokens").Int(), answer, answerDetails.Get("reasoning_tokens").Int(), total)
}

// Answer has thoughts, text and calls: the order in which the protocol has them.
func (s *stream) Answer() wire.Answer {
	a := wire.Answer{Finish: s.finish(), Usage: s.usage, Ended: s.reason != "", Failure: s.failure()}
	a.Usage.Tier = wire.Service(s.tier)
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

// finish is why the answer ended. Servers have words of their own, or hand on those of the model
// behind them.
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
	case len(s.calls) > 0: // some servers say "stop"
		return wire.FinishCalls
	}
	switch reason {
	case "", "abort", "cancelled", "other", "pause_turn", "malformed_function_call", "unexpected_tool_call",
		"tool_calls", "function_call":
		return wire.FinishOther
	}
	return wire.FinishStop // "stop", "eos", "end_turn" and whatever else says no more than that
}
