// Package fantasy prunes what a program with Charm's fantasy sends to its language model.
//
//	model = winnowfantasy.Prune(model, transport.New(engine, transport.Options{}), "anthropic/claude-sonnet-4-5")
package fantasy

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"charm.land/fantasy"

	"github.com/winnowhq/winnow/gateway/transport"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/wire"
)

type model struct {
	fantasy.LanguageModel
	pruning *transport.Transport
	name    string
}

// Prune is a model that sends what a transport's engine leaves of a conversation. name is the
// model's, with its provider, as in "openai/gpt-4.1". Messages are not changed, streams not held
// back.
func Prune(m fantasy.LanguageModel, pruning *transport.Transport, name string) fantasy.LanguageModel {
	return &model{m, pruning, name}
}

func (m *model) conversation(call fantasy.Call) transport.Conversation {
	return transport.Conversation{Model: m.name, Tools: len(call.Tools) > 0}
}

// Generate sends a conversation; if what was left out of it is refused, it sends all of it.
func (m *model) Generate(ctx context.Context, call fantasy.Call) (*fantasy.Response, error) {
	send := func(sent []fantasy.Message) (*fantasy.Response, error) {
		call.Prompt = sent
		return m.LanguageModel.Generate(ctx, call)
	}
	return transport.Ask(ctx, m.pruning, m.conversation(call), call.Prompt, read, write, send, m.said)
}

// Stream is Generate piece by piece.
func (m *model) Stream(ctx context.Context, call fantasy.Call) (fantasy.StreamResponse, error) {
	send := func(sent []fantasy.Message) (fantasy.StreamResponse, error) {
		call.Prompt = sent
		return m.LanguageModel.Stream(ctx, call)
	}
	stream, step, err := transport.Begin(ctx, m.pruning, m.conversation(call), call.Prompt, read, write, send)
	if err != nil {
		return nil, err
	}
	return func(yield func(fantasy.StreamPart) bool) {
		var text strings.Builder
		var heard transport.Message
		for part := range stream {
			if !yield(part) {
				return
			}
			switch part.Type {
			case fantasy.StreamPartTypeTextDelta:
				text.WriteString(part.Delta)
			case fantasy.StreamPartTypeReasoningDelta:
				heard.Reasons = true
			case fantasy.StreamPartTypeToolCall:
				heard.Calls = append(heard.Calls, transport.Call{ID: part.ID, Name: part.ToolCallName,
					Arguments: part.ToolCallInput})
			case fantasy.StreamPartTypeFinish:
				heard.Role, heard.Text = "assistant", text.String()
				step.Answered(heard, m.usage(part.Usage))
			}
		}
	}, nil
}

func read(from fantasy.Message) transport.Message {
	m := transport.Message{Role: string(from.Role)}
	for _, part := range from.Content {
		if text, ok := fantasy.AsMessagePart[fantasy.TextPart](part); ok {
			m.Text += text.Text
		} else if call, ok := fantasy.AsMessagePart[fantasy.ToolCallPart](part); ok {
			m.Calls = append(m.Calls, transport.Call{ID: call.ToolCallID, Name: call.ToolName, Arguments: call.Input})
		} else if result, ok := fantasy.AsMessagePart[fantasy.ToolResultPart](part); ok {
			m.Results = append(m.Results, transport.Result{ID: result.ToolCallID, Text: resultText(result)})
		} else if part.GetType() == fantasy.ContentTypeReasoning {
			m.Reasons = true
		} else {
			other, _ := json.Marshal(part)
			m.Other += string(other)
		}
	}
	return m
}

// resultText is the text of a result; of one with a picture, all of it.
func resultText(p fantasy.ToolResultPart) string {
	switch p.Output.GetType() {
	case fantasy.ToolResultContentTypeText:
		text, _ := fantasy.AsToolResultOutputType[fantasy.ToolResultOutputContentText](p.Output)
		return text.Text
	case fantasy.ToolResultContentTypeError:
		failed, _ := fantasy.AsToolResultOutputType[fantasy.ToolResultOutputContentError](p.Output)
		return fmt.Sprint(failed.Error)
	}
	text, _ := json.Marshal(p.Output)
	return string(text)
}

// write is a copy of a message with other calls and results, or a new one.
func write(from fantasy.Message, m transport.Message) fantasy.Message {
	if from.Role == "" {
		return fantasy.Message{Role: fantasy.MessageRole(m.Role), Content: []fantasy.MessagePart{fantasy.TextPart{Text: m.Text}}}
	}
	from.Content = slices.Clone(from.Content)
	for i, part := range from.Content {
		if call, ok := fantasy.AsMessagePart[fantasy.ToolCallPart](part); ok {
			call.Input, m.Calls = m.Calls[0].Arguments, m.Calls[1:]
			from.Content[i] = call
		} else if result, ok := fantasy.AsMessagePart[fantasy.ToolResultPart](part); ok {
			if text := m.Results[0].Text; text != resultText(result) {
				result.Output = fantasy.ToolResultOutputContentText{Text: text}
			}
			m.Results = m.Results[1:]
			from.Content[i] = result
		}
	}
	return from
}

func (m *model) said(answer *fantasy.Response) (transport.Message, session.Usage) {
	heard := transport.Message{Role: "assistant", Text: answer.Content.Text(), Reasons: len(answer.Content.Reasoning()) > 0}
	for _, call := range answer.Content.ToolCalls() {
		heard.Calls = append(heard.Calls, transport.Call{ID: call.ToolCallID, Name: call.ToolName, Arguments: call.Input})
	}
	return heard, m.usage(answer.Usage)
}

// usage converts what the package reports. Google's input includes the cached part, and its output
// does not include reasoning; with the others it is the other way round.
func (m *model) usage(u fantasy.Usage) session.Usage {
	prompt, output := u.InputTokens+u.CacheReadTokens+u.CacheCreationTokens, u.OutputTokens
	switch m.Provider() {
	case "google":
		prompt, output = u.InputTokens, u.OutputTokens+u.ReasoningTokens
	case "kronk":
		prompt = u.InputTokens
	}
	return wire.SplitUsage(int(prompt), int(u.CacheReadTokens), int(u.CacheCreationTokens), int(output),
		int(u.ReasoningTokens), int(u.TotalTokens))
}
