package anthropic

import (
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/llm/upstream"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/wire"
)

// answer is what has arrived.
type answer struct {
	delta  func(string)
	blocks []*block // by their index
	reason sdk.StopReason
	usage  usage
	done   bool // the message ended
}

// block is one block of the message.
type block struct {
	kind, id, name  string
	text, signature strings.Builder
	data            string         // of redacted thinking
	input           jsontext.Value // as it stood at the beginning
	raw             string         // the block as it began
}

// usage holds the newest of each figure: the beginning of a stream has the prompt's, its end repeats them or not.
type usage struct {
	input, output, thinking, read, write, hour int64
}

func (a *answer) take(event sdk.MessageStreamEventUnion) {
	switch event.Type {
	case "message_start":
		u := event.Message.Usage
		a.usage = usage{
			u.InputTokens, u.OutputTokens, u.OutputTokensDetails.ThinkingTokens, u.CacheReadInputTokens,
			u.CacheCreationInputTokens, u.CacheCreation.Ephemeral1hInputTokens,
		}
	case "content_block_start":
		a.begin(event)
	case "content_block_delta":
		a.grow(event)
	case "message_delta":
		if event.Delta.StopReason != "" {
			a.reason = event.Delta.StopReason
		}
		u := event.Usage
		newer(&a.usage.input, u.InputTokens)
		newer(&a.usage.output, u.OutputTokens)
		newer(&a.usage.thinking, u.OutputTokensDetails.ThinkingTokens)
		newer(&a.usage.read, u.CacheReadInputTokens)
		newer(&a.usage.write, u.CacheCreationInputTokens)
	case "message_stop":
		a.done = true
	}
}

func newer(figure *int64, reported int64) {
	if reported > 0 {
		*figure = reported
	}
}

func (a *answer) begin(event sdk.MessageStreamEventUnion) {
	const most = 10_000 // blocks; an index beyond is damage
	if event.Index < 0 || event.Index > most {
		return
	}
	for int64(len(a.blocks)) <= event.Index {
		a.blocks = append(a.blocks, nil)
	}
	b := &block{kind: event.ContentBlock.Type, raw: event.ContentBlock.RawJSON()}
	text := []byte(b.raw)
	for name, value := range wire.Members(text, wire.Root(text)) {
		switch string(name) {
		case "id":
			b.id = wire.String(text, value)
		case "name":
			b.name = wire.String(text, value)
		case "text":
			a.say(b, wire.String(text, value))
		case "thinking":
			b.text.WriteString(wire.String(text, value))
		case "signature":
			b.signature.WriteString(wire.String(text, value))
		case "data":
			b.data = wire.String(text, value)
		case "input":
			b.input = wire.Raw(text, value)
		}
	}
	a.blocks[event.Index] = b
}

// say adds to a block of text, and lets the listener hear it.
func (a *answer) say(b *block, text string) {
	b.text.WriteString(text)
	if a.delta != nil && text != "" && b.kind == "text" {
		a.delta(text)
	}
}

func (a *answer) grow(event sdk.MessageStreamEventUnion) {
	if event.Index < 0 || event.Index >= int64(len(a.blocks)) || a.blocks[event.Index] == nil {
		return
	}
	b := a.blocks[event.Index]
	if b.kind == "" { // its beginning was damaged
		b.kind = map[string]string{"text_delta": "text", "thinking_delta": "thinking"}[event.Delta.Type]
	}
	switch event.Delta.Type {
	case "text_delta":
		a.say(b, event.Delta.Text)
	case "thinking_delta":
		b.text.WriteString(event.Delta.Thinking)
	case "signature_delta":
		b.signature.WriteString(event.Delta.Signature)
	case "input_json_delta":
		b.text.WriteString(event.Delta.PartialJSON)
	}
}

// exceeded reports whether the window was full before anything was said.
func (a *answer) exceeded() bool {
	return a.done && a.reason == sdk.StopReasonModelContextWindowExceeded && len(a.blocks) == 0
}

// whole is the answer as far as it arrived.
func (a *answer) whole(m model.Model) llm.Answer {
	got := llm.Answer{Model: m.String(), Finish: a.finish()}
	for _, b := range a.blocks {
		if b != nil && b.kind != "" {
			got.Parts = append(got.Parts, b.part())
		}
	}
	u := a.usage
	got.Usage = upstream.Split(u.input+u.read+u.write, u.read, u.write, u.output, u.thinking, 0)
	got.Usage.Cache.Write1h = min(max(0, int(u.hour)), got.Usage.Cache.Write)
	got.Cost = upstream.Cost(m, got.Usage)
	return got
}

// part makes of a block what the encoder makes the same block of again.
func (b *block) part() session.Part {
	switch b.kind {
	case "text":
		return session.Part{Type: session.TextPart, Text: b.text.String()}
	case "thinking":
		return session.Part{Type: session.ReasoningPart, Text: b.text.String(), Metadata: wire.Metadata("anthropic", "signature", b.signature.String())}
	case "redacted_thinking":
		return session.Part{Type: session.ReasoningPart, Metadata: wire.Metadata("anthropic", "redactedData", b.data)}
	case "tool_use":
		arguments := b.text.String()
		if arguments == "" {
			arguments = string(b.input)
		}
		return upstream.Tool(b.id, b.name, arguments, nil)
	}
	// A tool that the provider runs, its result, or what is newer than this program: kept as it is.
	raw := []byte(b.raw)
	if input := jsontext.Value(b.text.String()); input.IsValid(session.ReadOptions()) {
		raw = upstream.Config{}.Extend(raw, "input", string(input))
	}
	return wire.OpaquePart("anthropic", b.kind, raw)
}

// finish is why the answer ended. A compatible server may say that it has without saying why.
func (a *answer) finish() llm.Finish {
	switch a.reason {
	case "":
		if a.done {
			return llm.Stop
		}
	case sdk.StopReasonEndTurn, sdk.StopReasonStopSequence:
		return llm.Stop
	case sdk.StopReasonMaxTokens, sdk.StopReasonModelContextWindowExceeded:
		return llm.Length
	case sdk.StopReasonToolUse:
		return llm.Calls
	case sdk.StopReasonRefusal:
		return llm.Refused
	}
	return llm.Other
}
