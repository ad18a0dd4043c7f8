package langchaingo_test

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/tmc/langchaingo/llms"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/gateway/adapters/langchaingo"
	"github.com/winnowhq/winnow/gateway/transport"
	"github.com/winnowhq/winnow/internal/adaptertest"
	"github.com/winnowhq/winnow/session"
)

// scripted is a model that says what a function says, streamed word by word.
type scripted struct {
	llms.Model
	says adaptertest.Model[llms.MessageContent]
}

func (s scripted) GenerateContent(
	ctx context.Context, messages []llms.MessageContent, options ...llms.CallOption,
) (*llms.ContentResponse, error) {
	answer, u, err := s.says(messages)
	if err != nil {
		return nil, err
	}
	var o llms.CallOptions
	for _, option := range options {
		option(&o)
	}
	choice := &llms.ContentChoice{GenerationInfo: map[string]any{
		"PromptTokens": u.Prompt(), "PromptCachedTokens": int32(u.Cache.Read), "CompletionTokens": int64(u.Output),
	}}
	for _, part := range answer.Parts {
		switch p := part.(type) {
		case llms.TextContent:
			choice.Content += p.Text
		case llms.ToolCall:
			choice.ToolCalls = append(choice.ToolCalls, p)
		}
	}
	for _, word := range strings.SplitAfter(choice.Content, " ") {
		if o.StreamingFunc != nil {
			if err := o.StreamingFunc(ctx, []byte(word)); err != nil {
				return nil, err
			}
		}
	}
	return &llms.ContentResponse{Choices: []*llms.ContentChoice{choice}}, nil
}

var reading = llms.WithTools([]llms.Tool{{Type: "function", Function: &llms.FunctionDefinition{Name: "read"}}})

func TestPrune(t *testing.T) {
	adaptertest.Run(t, adaptertest.Adapter[llms.MessageContent]{
		Make: func(m transport.Message) llms.MessageContent {
			role := map[string]llms.ChatMessageType{"system": llms.ChatMessageTypeSystem, "user": llms.ChatMessageTypeHuman,
				"assistant": llms.ChatMessageTypeAI, "tool": llms.ChatMessageTypeTool}[m.Role]
			var made llms.MessageContent
			if made.Role = role; m.Text != "" {
				made.Parts = append(made.Parts, llms.TextContent{Text: m.Text})
			}
			for _, c := range m.Calls {
				made.Parts = append(made.Parts, llms.ToolCall{ID: c.ID, Type: "function",
					FunctionCall: &llms.FunctionCall{Name: c.Name, Arguments: c.Arguments}})
			}
			for _, r := range m.Results {
				made.Parts = append(made.Parts, llms.ToolCallResponse{ToolCallID: r.ID, Name: r.Name, Content: r.Text})
			}
			return made
		},
		Text: func(m llms.MessageContent) (text string) {
			for _, part := range m.Parts {
				if p, ok := part.(llms.TextContent); ok {
					text += p.Text
				}
			}
			return text
		},
		Results: func(m llms.MessageContent) (results []string) {
			for _, part := range m.Parts {
				if p, ok := part.(llms.ToolCallResponse); ok {
					results = append(results, p.Content)
				}
			}
			return results
		},
		Ask: func(
			t *testing.T, pruning *transport.Transport, inner adaptertest.Model[llms.MessageContent], messages []llms.MessageContent,
		) (answer llms.MessageContent, err error) {
			var words []string
			var end llms.MessageContent
			model := langchaingo.Prune(scripted{says: func(sent []llms.MessageContent) (_ llms.MessageContent, u session.Usage, err error) {
				end, u, err = inner(sent)
				return end, u, err
			}}, pruning, "openai/gpt-4.1")
			response, err := model.GenerateContent(t.Context(), messages, reading,
				llms.WithStreamingFunc(func(_ context.Context, word []byte) error {
					words = append(words, string(word))
					return nil
				}))
			if err != nil {
				return answer, err
			}
			if said := response.Choices[0].Content; said == "" || strings.Join(words, "") != said || len(words) < 2 {
				t.Errorf("streamed %q, said %q", words, said)
			}
			return end, nil
		},
	})
}

// What a message has beside texts, calls and results goes along, cache marks too.
func TestPrune_keepsTheRest(t *testing.T) {
	mark := &llms.CacheControl{Type: "ephemeral"}
	messages := []llms.MessageContent{
		{Role: llms.ChatMessageTypeSystem, Parts: []llms.ContentPart{llms.WithCacheControl(llms.TextPart("You code."), mark)}},
		{Role: llms.ChatMessageTypeHuman, Parts: []llms.ContentPart{llms.TextPart("Go."), llms.BinaryPart("image/png", []byte{1})}},
	}
	text := strings.Repeat("a line of the file\n", 2000)
	var sent []llms.MessageContent
	engine, err := winnow.Open(winnow.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	model := langchaingo.Prune(scripted{says: func(got []llms.MessageContent) (answer llms.MessageContent, _ session.Usage, _ error) {
		sent = got
		answer.Role = llms.ChatMessageTypeAI
		answer.Parts = []llms.ContentPart{llms.ToolCall{ID: fmt.Sprint(len(got)), Type: "function",
			FunctionCall: &llms.FunctionCall{Name: "read", Arguments: `{"path":"a.go"}`}}}
		return answer, session.Usage{Input: 9000, Output: 10, Cache: session.CacheUsage{Read: 4500 * len(got)}}, nil
	}}, transport.New(engine, transport.Options{}), "gpt-4.1")
	for range 20 {
		response, err := model.GenerateContent(t.Context(), messages, reading)
		if err != nil {
			t.Fatal(err)
		}
		call := response.Choices[0].ToolCalls[0]
		messages = append(messages, llms.MessageContent{Role: llms.ChatMessageTypeAI, Parts: []llms.ContentPart{call}},
			llms.MessageContent{Role: llms.ChatMessageTypeTool, Parts: []llms.ContentPart{
				llms.WithCacheControl(llms.ToolCallResponse{ToolCallID: call.ID, Name: "read", Content: text}, mark)}})
	}
	shorter := 0
	for i, m := range sent {
		had := messages[i]
		if m.Role != llms.ChatMessageTypeTool {
			if !reflect.DeepEqual(m, had) {
				t.Errorf("message %d is another one: %v", i, m)
			}
			continue
		}
		got := m.Parts[0].(llms.CachedContent)
		if got.CacheControl != mark || got.ContentPart.(llms.ToolCallResponse).ToolCallID == "" {
			t.Errorf("message %d: %+v", i, got)
		}
		if len(got.ContentPart.(llms.ToolCallResponse).Content) < len(text) {
			shorter++
		}
	}
	if shorter == 0 {
		t.Error("nothing was pruned")
	}
}
