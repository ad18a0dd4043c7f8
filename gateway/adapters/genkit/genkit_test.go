package genkit_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/firebase/genkit/go/ai"
	"github.com/firebase/genkit/go/genkit"

	"github.com/winnowhq/winnow"
	winnowgenkit "github.com/winnowhq/winnow/gateway/adapters/genkit"
	"github.com/winnowhq/winnow/gateway/transport"
	"github.com/winnowhq/winnow/internal/adaptertest"
)

func results(m *ai.Message) (list []string) {
	for _, p := range m.Content {
		if p.IsToolResponse() {
			list = append(list, fmt.Sprint(p.ToolResponse.Output))
		}
	}
	return list
}

func TestPrune(t *testing.T) {
	adaptertest.Run(t, adaptertest.Adapter[*ai.Message]{
		Make: func(m transport.Message) *ai.Message {
			role := map[string]ai.Role{"system": ai.RoleSystem, "user": ai.RoleUser, "assistant": ai.RoleModel, "tool": ai.RoleTool}
			made := &ai.Message{Role: role[m.Role]}
			if m.Text != "" {
				made.Content = append(made.Content, ai.NewTextPart(m.Text))
			}
			for _, c := range m.Calls {
				var input map[string]any
				if err := json.Unmarshal([]byte(c.Arguments), &input); err != nil {
					t.Fatal(err)
				}
				made.Content = append(made.Content, ai.NewToolRequestPart(&ai.ToolRequest{Ref: c.ID, Name: c.Name, Input: input}))
			}
			for _, r := range m.Results {
				made.Content = append(made.Content, ai.NewToolResponsePart(&ai.ToolResponse{Ref: r.ID, Name: r.Name, Output: r.Text}))
			}
			return made
		},
		Text: (*ai.Message).Text, Results: results,
		Ask: func(
			t *testing.T, pruning *transport.Transport, inner adaptertest.Model[*ai.Message], messages []*ai.Message,
		) (*ai.Message, error) {
			model := func(ctx context.Context, r *ai.ModelRequest, hear ai.ModelStreamCallback) (*ai.ModelResponse, error) {
				answer, u, err := inner(r.Messages)
				if err != nil {
					return nil, err
				}
				for _, p := range answer.Content {
					if err := hear(ctx, &ai.ModelResponseChunk{Content: []*ai.Part{p}}); err != nil {
						return nil, err
					}
				}
				return &ai.ModelResponse{Request: r, Message: answer, Usage: &ai.GenerationUsage{
					InputTokens: u.Prompt(), CachedContentTokens: u.Cache.Read, OutputTokens: u.Output}}, nil
			}
			r := &ai.ModelRequest{Messages: messages, Tools: []*ai.ToolDefinition{{Name: "read"}}}
			heard := 0
			answer, err := winnowgenkit.Prune(pruning, "openai/gpt-4.1")(model)(t.Context(), r,
				func(context.Context, *ai.ModelResponseChunk) error { heard++; return nil })
			if err != nil {
				return nil, err
			}
			if answer.Request != r || heard != len(answer.Message.Content) {
				t.Errorf("%d chunks of %d were heard; the history is whole: %t", heard, len(answer.Message.Content), answer.Request == r)
			}
			return answer.Message, nil
		},
	})
}

// Genkit's own loop of calls runs over the middleware: the model is sent less, the history is whole.
func TestPrune_inGenkitsLoop(t *testing.T) {
	const steps = 24
	content := strings.Repeat("a line of the file\n", 1000)
	engine, err := winnow.Open(winnow.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	g := genkit.Init(t.Context())
	sent := 0
	model := genkit.DefineModel(g, "test/scripted", &ai.ModelOptions{Supports: &ai.ModelSupports{Tools: true, Multiturn: true}},
		func(_ context.Context, r *ai.ModelRequest, _ ai.ModelStreamCallback) (*ai.ModelResponse, error) {
			turns := len(r.Messages) / 2
			answer := ai.NewModelTextMessage("I have read it.")
			if turns < steps {
				answer = ai.NewModelMessage(ai.NewToolRequestPart(&ai.ToolRequest{Name: "read", Input: map[string]any{"path": fmt.Sprint(turns % 3)}}))
			}
			sent = 0
			for _, m := range r.Messages {
				sent += len(strings.Join(results(m), ""))
			}
			return &ai.ModelResponse{Request: r, Message: answer, Usage: &ai.GenerationUsage{
				InputTokens: 6000 * len(r.Messages), CachedContentTokens: 6000 * max(0, len(r.Messages)-2), OutputTokens: 20}}, nil
		})
	read := genkit.DefineTool(g, "read", "Reads a file.", func(_ *ai.ToolContext, _ struct {
		Path string `json:"path"`
	}) (string, error) {
		return content, nil
	})
	pruning := transport.New(engine, transport.Options{})
	answer, err := genkit.Generate(t.Context(), g, ai.WithModel(model), ai.WithTools(read), ai.WithMaxTurns(steps+1),
		ai.WithPrompt("Read all of it."), ai.WithMiddleware(winnowgenkit.Prune(pruning, "openai/gpt-4.1")))
	if err != nil {
		t.Fatal(err)
	}
	had := 0
	for _, m := range answer.History() {
		had += len(strings.Join(results(m), ""))
	}
	t.Logf("the history has %d bytes of results, %d were sent; %+v", had, sent, pruning.Totals())
	if answer.Text() != "I have read it." || had != steps*len(content) || sent > had*3/4 {
		t.Errorf("%q; the history has %d bytes of results, %d were sent", answer.Text(), had, sent)
	}
}
