package openaichat

import (
	"strconv"
	"strings"

	"github.com/openai/openai-go/v3"

	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/llm/upstream"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/wire"
)

// answer is what has arrived.
type answer struct {
	delta         func(string)
	text, thought strings.Builder
	field         string // the member that holds the thoughts
	calls         []*call
	reason        string
	refused       bool
	usage         session.Usage
}

type call struct {
	index     int64
	id, name  string
	arguments strings.Builder
}

func (a *answer) take(chunk openai.ChatCompletionChunk) {
	if chunk.JSON.Usage.Valid() {
		a.count(chunk.Usage.RawJSON())
	}
	for _, choice := range chunk.Choices {
		if choice.Index != 0 {
			continue
		}
		a.said(choice.Delta)
		for _, piece := range choice.Delta.ToolCalls {
			a.called(piece)
		}
		if choice.FinishReason != "" {
			a.reason = choice.FinishReason
		}
		if u, ok := choice.JSON.ExtraFields["usage"]; ok { // Moonshot
			a.count(u.Raw())
		}
	}
}

// said takes texts, thoughts and refusals.
func (a *answer) said(d openai.ChatCompletionChunkChoiceDelta) {
	content := []byte(d.JSON.Content.Raw())
	switch wire.Kind(content, wire.Root(content)) {
	case '"':
		a.say(d.Content)
	case '[': // Mistral: texts and thoughts as a list
		for at := range wire.Values(content, wire.Root(content)) {
			a.say(wire.String(content, wire.Member(content, at, "text")))
			for thought := range wire.Values(content, wire.Member(content, at, "thinking")) {
				a.thought.WriteString(wire.String(content, wire.Member(content, thought, "text")))
			}
		}
	}
	if d.Refusal != "" {
		a.refused = true
		a.say(d.Refusal)
	}
	for _, field := range []string{"reasoning_content", "reasoning"} {
		raw := []byte(d.JSON.ExtraFields[field].Raw())
		text := wire.String(raw, wire.Root(raw))
		if text == "" || a.field != "" && a.field != field { // one server sends both, with the same text
			continue
		}
		a.field = field
		a.thought.WriteString(text)
	}
}

func (a *answer) say(text string) {
	a.text.WriteString(text)
	if a.delta != nil && text != "" {
		a.delta(text)
	}
}

// called takes a piece of a call. A piece belongs to the newest call of its index, unless it has another id: there are servers
// that leave every index at 0.
func (a *answer) called(piece openai.ChatCompletionChunkChoiceDeltaToolCall) {
	var c *call
	for _, known := range a.calls {
		if known.index == piece.Index {
			c = known
		}
	}
	if c == nil || piece.ID != "" && c.id != "" && piece.ID != c.id {
		c = &call{index: piece.Index}
		a.calls = append(a.calls, c)
	}
	if piece.ID != "" {
		c.id = piece.ID
	}
	if c.name == "" {
		c.name = piece.Function.Name
	}
	c.arguments.WriteString(piece.Function.Arguments)
}

// count reads a report of usage. What was read from the cache stands in one of three places, by server: OpenAI's, DeepSeek's, Moonshot's.
func (a *answer) count(raw string) {
	text := []byte(raw)
	root := wire.Root(text)
	if wire.Kind(text, root) != '{' {
		return
	}
	number := func(path ...string) int64 {
		at := root
		for _, name := range path {
			at = wire.Member(text, at, name)
		}
		return int64(wire.Number(text, at))
	}
	if number("prompt_tokens")+number("completion_tokens") == 0 {
		return // there are servers that report nothing once more at the end
	}
	read := max(number("prompt_tokens_details", "cached_tokens"), number("prompt_cache_hit_tokens"), number("cached_tokens"))
	a.usage = upstream.Split(number("prompt_tokens"), read, number("prompt_tokens_details", "cache_write_tokens"),
		number("completion_tokens"), number("completion_tokens_details", "reasoning_tokens"), number("total_tokens"))
}

// failed tells the reasons that are failures, as some servers put them.
func (a *answer) failed() (kind llm.Kind, message string) {
	switch a.reason {
	case "error", "network_error":
		return llm.Server, "the answer ended with the reason " + a.reason
	case "insufficient_system_resource":
		return llm.Overloaded, "the answer ended for want of resources"
	case "model_context_window_exceeded":
		if a.text.Len() == 0 && len(a.calls) == 0 {
			return llm.Overflow, "the conversation filled the model's context window before an answer began"
		}
	}
	return "", ""
}

// whole is the answer as far as it arrived: thoughts, text, calls, the order in which the protocol has them.
func (a *answer) whole(m model.Model) llm.Answer {
	got := llm.Answer{Model: m.String(), Finish: a.finish(), Usage: a.usage, Cost: upstream.Cost(m, a.usage)}
	if a.thought.Len() > 0 {
		got.Parts = append(got.Parts, session.Part{
			Type: session.ReasoningPart, Text: a.thought.String(), Metadata: wire.Metadata("openai", "field", a.field),
		})
	}
	if a.text.Len() > 0 {
		got.Parts = append(got.Parts, session.Part{Type: session.TextPart, Text: a.text.String()})
	}
	for i, c := range a.calls {
		if c.id == "" {
			c.id = "call_" + strconv.Itoa(i+1)
		}
		got.Parts = append(got.Parts, upstream.Tool(c.id, c.name, c.arguments.String(), nil))
	}
	return got
}

// finish is why the answer ended. Servers have words of their own, or hand on those of the model behind them.
func (a *answer) finish() llm.Finish {
	switch strings.ToLower(a.reason) {
	case "length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded":
		return llm.Length
	case "content_filter", "sensitive", "safety", "recitation", "blocklist", "prohibited_content", "spii", "refusal":
		return llm.Refused
	}
	switch {
	case a.refused:
		return llm.Refused
	case len(a.calls) > 0: // there are servers that say "stop"
		return llm.Calls
	}
	switch strings.ToLower(a.reason) {
	case "", "abort", "cancelled", "other", "pause_turn", "malformed_function_call", "unexpected_tool_call", "tool_calls", "function_call":
		return llm.Other
	}
	return llm.Stop // "stop", "eos", "end_turn" and whatever else says no more than that
}
