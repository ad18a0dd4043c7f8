// Package genkit prunes what a program with Firebase Genkit sends to its models.
//
//	pruning := transport.New(engine, transport.Options{})
//	genkit.Generate(ctx, g, ai.WithMiddleware(winnowgenkit.Prune(pruning, "googleai/gemini-2.5-flash")), …)
package genkit

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/firebase/genkit/go/ai"

	"github.com/winnowhq/winnow/gateway/transport"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/wire"
)

// Prune is middleware that sends what a transport's engine leaves of a conversation. name is the
// model's, with its provider. Requests are not changed, streams not touched, and a response's
// history is whole.
func Prune(pruning *transport.Transport, name string) ai.ModelMiddleware {
	return func(next ai.ModelFunc) ai.ModelFunc {
		return func(ctx context.Context, r *ai.ModelRequest, hear ai.ModelStreamCallback) (*ai.ModelResponse, error) {
			send := func(sent []*ai.Message) (*ai.ModelResponse, error) {
				pruned := *r
				pruned.Messages = sent
				answer, err := next(ctx, &pruned, hear)
				if answer != nil && answer.Request != nil {
					answer.Request = r
				}
				return answer, err
			}
			c := transport.Conversation{Model: name, Tools: len(r.Tools) > 0}
			return transport.Ask(ctx, pruning, c, r.Messages, read, write, send, said)
		}
	}
}

var roles = map[ai.Role]string{"model": "assistant", "system": "system", "tool": "tool", "user": "user"}

func read(message *ai.Message) (m transport.Message) {
	m.Role = roles[message.Role]
	for _, p := range message.Content {
		m.Reasons = m.Reasons || p.IsReasoning() || p.Metadata["signature"] != nil
		switch {
		case p.IsText():
			m.Text += p.Text
		case p.IsToolRequest():
			r := p.ToolRequest
			m.Calls = append(m.Calls, transport.Call{ID: r.Ref, Name: r.Name, Arguments: text(r.Input)})
		case p.IsToolResponse():
			r := p.ToolResponse
			m.Results = append(m.Results, transport.Result{ID: r.Ref, Name: r.Name, Text: text(r.Output)})
		case !p.IsReasoning():
			m.Other += text(p)
		}
	}
	return m
}

// text is a value as a tool's caller reads it: JSON, unless it is a text.
func text(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	written, _ := json.Marshal(v) // what cannot be written cannot be sent either
	return string(written)
}

// write is a copy of a message with other calls and results, or a new one.
func write(from *ai.Message, m transport.Message) *ai.Message {
	if from == nil && m.Role == "assistant" {
		return ai.NewModelTextMessage(m.Text)
	} else if from == nil {
		return ai.NewUserTextMessage(m.Text)
	}
	made := *from
	made.Content = slices.Clone(from.Content)
	for i, p := range made.Content {
		part := *p
		switch {
		case p.IsToolRequest():
			if call := *p.ToolRequest; m.Calls[0].Arguments != text(call.Input) {
				var input any
				if json.Unmarshal([]byte(m.Calls[0].Arguments), &input) == nil {
					call.Input, part.ToolRequest, made.Content[i] = input, &call, &part
				}
			}
			m.Calls = m.Calls[1:]
		case p.IsToolResponse():
			if result := *p.ToolResponse; m.Results[0].Text != text(result.Output) {
				result.Output, result.Content = m.Results[0].Text, nil
				part.ToolResponse, made.Content[i] = &result, &part
			}
			m.Results = m.Results[1:]
		}
	}
	return &made
}

func said(answer *ai.ModelResponse) (m transport.Message, u session.Usage) {
	if answer.Message != nil {
		m = read(answer.Message)
	}
	if took := answer.Usage; took != nil {
		u = wire.SplitUsage(took.InputTokens, took.CachedContentTokens, 0, took.OutputTokens, took.ThoughtsTokens,
			took.TotalTokens)
	}
	return m, u
}
