package fantasy_test

import (
	"context"
	"strings"
	"testing"

	"charm.land/fantasy"

	winnowfantasy "github.com/winnowhq/winnow/gateway/adapters/fantasy"
	"github.com/winnowhq/winnow/gateway/transport"
	"github.com/winnowhq/winnow/internal/adaptertest"
)

// scripted is a model that says what a function says, streamed word by word.
type scripted struct {
	fantasy.LanguageModel
	says adaptertest.Model[fantasy.Message]
}

func (scripted) Provider() string { return "openai" }

func (s scripted) Generate(_ context.Context, call fantasy.Call) (*fantasy.Response, error) {
	answer, u, err := s.says(call.Prompt)
	if err != nil {
		return nil, err
	}
	r := &fantasy.Response{Usage: fantasy.Usage{InputTokens: int64(u.Input), CacheReadTokens: int64(u.Cache.Read),
		OutputTokens: int64(u.Output)}}
	for _, part := range answer.Content {
		switch p := part.(type) {
		case fantasy.TextPart:
			r.Content = append(r.Content, fantasy.TextContent{Text: p.Text})
		case fantasy.ToolCallPart:
			r.Content = append(r.Content, fantasy.ToolCallContent{ToolCallID: p.ToolCallID, ToolName: p.ToolName, Input: p.Input})
		}
	}
	return r, nil
}

func (s scripted) Stream(ctx context.Context, call fantasy.Call) (fantasy.StreamResponse, error) {
	r, err := s.Generate(ctx, call)
	if err != nil {
		return nil, err
	}
	return func(yield func(fantasy.StreamPart) bool) {
		parts := []fantasy.StreamPart{{Type: fantasy.StreamPartTypeTextStart}}
		for _, word := range strings.SplitAfter(r.Content.Text(), " ") {
			parts = append(parts, fantasy.StreamPart{Type: fantasy.StreamPartTypeTextDelta, Delta: word})
		}
		for _, c := range r.Content.ToolCalls() {
			parts = append(parts, fantasy.StreamPart{Type: fantasy.StreamPartTypeToolCall, ID: c.ToolCallID,
				ToolCallName: c.ToolName, ToolCallInput: c.Input})
		}
		for _, part := range append(parts, fantasy.StreamPart{Type: fantasy.StreamPartTypeFinish, Usage: r.Usage}) {
			if !yield(part) {
				return
			}
		}
	}, nil
}

// answered is the message that a program makes of an answer.
func answered(text string, calls []fantasy.ToolCallContent) fantasy.Message {
	m := fantasy.Message{Role: fantasy.MessageRoleAssistant, Content: []fantasy.MessagePart{fantasy.TextPart{Text: text}}}
	for _, c := range calls {
		m.Content = append(m.Content, fantasy.ToolCallPart{ToolCallID: c.ToolCallID, ToolName: c.ToolName, Input: c.Input})
	}
	return m
}

// adapter is how the suite asks, with Generate or with Stream.
func adapter(ask func(*testing.T, fantasy.LanguageModel, fantasy.Call) (fantasy.Message, error)) adaptertest.Adapter[fantasy.Message] {
	return adaptertest.Adapter[fantasy.Message]{
		Make: func(m transport.Message) fantasy.Message {
			made := fantasy.Message{Role: fantasy.MessageRole(m.Role)}
			if m.Text != "" {
				made.Content = append(made.Content, fantasy.TextPart{Text: m.Text})
			}
			for _, c := range m.Calls {
				made.Content = append(made.Content, fantasy.ToolCallPart{ToolCallID: c.ID, ToolName: c.Name, Input: c.Arguments})
			}
			for _, r := range m.Results {
				made.Content = append(made.Content, fantasy.ToolResultPart{ToolCallID: r.ID,
					Output: fantasy.ToolResultOutputContentText{Text: r.Text}})
			}
			return made
		},
		Text: func(m fantasy.Message) (text string) {
			for _, part := range m.Content {
				if p, ok := part.(fantasy.TextPart); ok {
					text += p.Text
				}
			}
			return text
		},
		Results: func(m fantasy.Message) (results []string) {
			for _, part := range m.Content {
				if p, ok := part.(fantasy.ToolResultPart); ok {
					results = append(results, p.Output.(fantasy.ToolResultOutputContentText).Text)
				}
			}
			return results
		},
		Ask: func(
			t *testing.T, pruning *transport.Transport, inner adaptertest.Model[fantasy.Message], messages []fantasy.Message,
		) (fantasy.Message, error) {
			model := winnowfantasy.Prune(scripted{says: inner}, pruning, "openai/gpt-4.1")
			return ask(t, model, fantasy.Call{Prompt: messages, Tools: []fantasy.Tool{fantasy.FunctionTool{Name: "read"}}})
		},
	}
}

func TestPrune_generate(t *testing.T) {
	adaptertest.Run(t, adapter(func(t *testing.T, m fantasy.LanguageModel, call fantasy.Call) (fantasy.Message, error) {
		r, err := m.Generate(t.Context(), call)
		if err != nil {
			return fantasy.Message{}, err
		}
		return answered(r.Content.Text(), r.Content.ToolCalls()), nil
	}))
}

func TestPrune_stream(t *testing.T) {
	adaptertest.Run(t, adapter(func(t *testing.T, m fantasy.LanguageModel, call fantasy.Call) (fantasy.Message, error) {
		stream, err := m.Stream(t.Context(), call)
		if err != nil {
			return fantasy.Message{}, err
		}
		text, words := "", 0
		var calls []fantasy.ToolCallContent
		for part := range stream {
			switch part.Type {
			case fantasy.StreamPartTypeTextDelta:
				text += part.Delta
				words++
			case fantasy.StreamPartTypeToolCall:
				calls = append(calls, fantasy.ToolCallContent{ToolCallID: part.ID, ToolName: part.ToolCallName, Input: part.ToolCallInput})
			}
		}
		if words < 2 {
			t.Errorf("%d words were heard", words)
		}
		return answered(text, calls), nil
	}))
}
