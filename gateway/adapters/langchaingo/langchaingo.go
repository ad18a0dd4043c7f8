// Package langchaingo prunes what a program with langchaingo sends to its model.
//
//	model = langchaingo.Prune(model, transport.New(engine, transport.Options{}), "openai/gpt-4.1")
package langchaingo

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/tmc/langchaingo/llms"

	"github.com/winnowhq/winnow/gateway/transport"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/wire"
)

type model struct {
	llms.Model
	pruning *transport.Transport
	name    string
}

// Prune is a model that sends what a transport's engine leaves of a conversation. name is the
// model's, with its provider, as in "openai/gpt-4.1". Messages are not changed, streams not
// touched.
func Prune(m llms.Model, pruning *transport.Transport, name string) llms.Model {
	return &model{m, pruning, name}
}

// GenerateContent sends a conversation; if what was left out of it is refused, it sends all of it.
func (m *model) GenerateContent(
	ctx context.Context, messages []llms.MessageContent, options ...llms.CallOption,
) (*llms.ContentResponse, error) {
	var o llms.CallOptions
	for _, option := range options {
		option(&o)
	}
	c := transport.Conversation{Model: cmp.Or(o.Model, m.name), Tools: len(o.Tools)+len(o.Functions) > 0}
	send := func(sent []llms.MessageContent) (*llms.ContentResponse, error) {
		return m.Model.GenerateContent(ctx, sent, options...)
	}
	return transport.Ask(ctx, m.pruning, c, messages, read, write, send, said)
}

var roles = map[llms.ChatMessageType]string{"system": "system", "ai": "assistant", "tool": "tool"}

func read(message llms.MessageContent) transport.Message {
	m := transport.Message{Role: cmp.Or(roles[message.Role], "user")}
	for _, part := range message.Parts {
		if marked, ok := part.(llms.CachedContent); ok {
			part = marked.ContentPart
		}
		switch p := part.(type) {
		case llms.TextContent:
			m.Text += p.Text
		case llms.ToolCall:
			f := cmp.Or(p.FunctionCall, &llms.FunctionCall{})
			m.Calls = append(m.Calls, transport.Call{ID: p.ID, Name: f.Name, Arguments: f.Arguments})
		case llms.ToolCallResponse:
			m.Results = append(m.Results, transport.Result{ID: p.ToolCallID, Name: p.Name, Text: p.Content})
		default:
			m.Other += fmt.Sprint(p)
		}
	}
	return m
}

// write is a copy of a message with other calls and results, or a new one.
func write(from llms.MessageContent, m transport.Message) llms.MessageContent {
	if from.Role == "" {
		role := map[string]llms.ChatMessageType{"assistant": llms.ChatMessageTypeAI}[m.Role]
		return llms.TextParts(cmp.Or(role, llms.ChatMessageTypeHuman), m.Text)
	}
	from.Parts = slices.Clone(from.Parts)
	for i, part := range from.Parts {
		from.Parts[i] = with(part, &m)
	}
	return from
}

// with is a part with the next call or result of a message.
func with(part llms.ContentPart, m *transport.Message) llms.ContentPart {
	switch p := part.(type) {
	case llms.CachedContent:
		p.ContentPart = with(p.ContentPart, m)
		return p
	case llms.ToolCall:
		p.FunctionCall = &llms.FunctionCall{Name: m.Calls[0].Name, Arguments: m.Calls[0].Arguments}
		m.Calls = m.Calls[1:]
		return p
	case llms.ToolCallResponse:
		p.Content, m.Results = m.Results[0].Text, m.Results[1:]
		return p
	}
	return part
}

// said is an answer, and what it took as far as the package of the model tells.
func said(answer *llms.ContentResponse) (m transport.Message, u session.Usage) {
	for _, choice := range answer.Choices {
		parts := []llms.ContentPart{llms.TextContent{Text: choice.Content}}
		for _, call := range choice.ToolCalls {
			parts = append(parts, call)
		}
		one := read(llms.MessageContent{Parts: parts})
		m.Text, m.Calls = m.Text+one.Text, append(m.Calls, one.Calls...)
		took := func(name string) int {
			n, _ := strconv.Atoi(fmt.Sprint(choice.GenerationInfo[name])) // int, int32 and int64 are in use
			return n
		}
		cached, written := max(took("CacheReadInputTokens"), took("PromptCachedTokens")),
			took("CacheCreationInputTokens")
		u = wire.SplitUsage(cmp.Or(took("PromptTokens"), took("InputTokens")+cached+written), cached, written,
			took("CompletionTokens")+took("OutputTokens"), took("ReasoningTokens"), took("TotalTokens"))
	}
	return m, u
}
