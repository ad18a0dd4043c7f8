// Package eino prunes what a program with CloudWeGo's Eino sends to its chat model.
//
//	model = eino.Prune(model, transport.New(engine, transport.Options{}), "openai/gpt-4.1")
package eino

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"github.com/cloudwego/eino/components"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/winnowhq/winnow/gateway/transport"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/wire"
)

type messages = []*schema.Message

type stream = *schema.StreamReader[*schema.Message]

type pruned struct {
	model.ToolCallingChatModel
	pruning *transport.Transport
	name    string
	tools   bool
}

// Prune is a model that sends what a transport's engine leaves of a conversation. name is the
// model's, with its provider, as in "openai/gpt-4.1". Messages are not changed, streams not held
// back.
func Prune(m model.ToolCallingChatModel, pruning *transport.Transport, name string) model.ToolCallingChatModel {
	return &pruned{m, pruning, name, false}
}

func (m *pruned) WithTools(tools []*schema.ToolInfo) (model.ToolCallingChatModel, error) {
	bound, err := m.ToolCallingChatModel.WithTools(tools)
	return &pruned{bound, m.pruning, m.name, len(tools) > 0}, err
}

// IsCallbacksEnabled is the inner model's, so that callbacks run once.
func (m *pruned) IsCallbacksEnabled() bool {
	return components.IsCallbacksEnabled(m.ToolCallingChatModel)
}

func (m *pruned) conversation(options []model.Option) transport.Conversation {
	o := model.GetCommonOptions(&model.Options{Model: &m.name}, options...)
	return transport.Conversation{Model: *o.Model, Tools: m.tools || len(o.Tools) > 0}
}

func (m *pruned) Generate(ctx context.Context, all messages, options ...model.Option) (*schema.Message, error) {
	send := func(sent messages) (*schema.Message, error) {
		return m.ToolCallingChatModel.Generate(ctx, sent, options...)
	}
	return transport.Ask(ctx, m.pruning, m.conversation(options), all, read, write, send, said)
}

func (m *pruned) Stream(ctx context.Context, all messages, options ...model.Option) (stream, error) {
	send := func(sent messages) (stream, error) { return m.ToolCallingChatModel.Stream(ctx, sent, options...) }
	answer, step, err := transport.Begin(ctx, m.pruning, m.conversation(options), all, read, write, send)
	if err != nil {
		return nil, err
	}
	heard, relay := schema.Pipe[*schema.Message](0)
	go func() { // ends with the stream, or with the first piece after the program has closed it
		defer relay.Close()
		defer answer.Close()
		var pieces messages
		for piece, err := answer.Recv(); err != io.EOF; piece, err = answer.Recv() {
			if relay.Send(piece, err) || err != nil {
				return
			}
			pieces = append(pieces, piece)
		}
		if whole, err := schema.ConcatMessages(pieces); err == nil {
			step.Answered(said(whole))
		}
	}()
	return heard, nil
}

func read(from *schema.Message) transport.Message {
	m := transport.Message{Role: string(from.Role), Text: from.Content}
	// what models put beside a message may be a signature of their reasoning
	m.Reasons = from.ReasoningContent != "" || m.Role == "assistant" && len(from.Extra) > 0
	media, _ := json.Marshal([]any{from.MultiContent, from.UserInputMultiContent, from.AssistantGenMultiContent})
	m.Other = strings.TrimPrefix(string(media), "[null,null,null]")
	for _, c := range from.ToolCalls {
		m.Calls = append(m.Calls, transport.Call{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments})
	}
	if from.Role == schema.Tool {
		m.Text, m.Results = "", []transport.Result{{ID: from.ToolCallID, Name: from.ToolName, Text: from.Content}}
	}
	return m
}

// write is a copy of a message with other calls and another result, or a new one.
func write(from *schema.Message, m transport.Message) *schema.Message {
	if from == nil {
		return &schema.Message{Role: schema.RoleType(m.Role), Content: m.Text}
	}
	made := *from
	made.ToolCalls = slices.Clone(from.ToolCalls)
	for i := range made.ToolCalls {
		made.ToolCalls[i].Function.Arguments = m.Calls[i].Arguments
	}
	if from.Role == schema.Tool {
		made.Content = m.Results[0].Text
	}
	return &made
}

func said(answer *schema.Message) (m transport.Message, u session.Usage) {
	if meta := answer.ResponseMeta; meta != nil && meta.Usage != nil {
		u = wire.SplitUsage(meta.Usage.PromptTokens, meta.Usage.PromptTokenDetails.CachedTokens, 0,
			meta.Usage.CompletionTokens, meta.Usage.CompletionTokensDetails.ReasoningTokens, meta.Usage.TotalTokens)
	}
	return read(answer), u
}
