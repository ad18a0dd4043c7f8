// Package sdk_test has the providers' own client libraries judge what we write and read. It is a
// module of its own because the libraries take minutes to compile.
package sdk_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/google/go-cmp/cmp"
	"github.com/openai/openai-go/v3"
	openaioption "github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"
	"google.golang.org/genai"

	"github.com/winnowhq/winnow/internal/llmtest"
)

// The providers' own client libraries read every stream to its end, and what they put together is
// what was said.

var looked = llmtest.Reply{
	Reasoning: "The file is named in the question.", Text: "I read it now, in one go.",
	Calls: []llmtest.Call{{Name: "read", Arguments: `{"path":"a.go"}`}, {Name: "ls", Arguments: `{}`}},
}

func TestOfficialLibrary_anthropic(t *testing.T) {
	s := llmtest.Start(t, llmtest.Script{Answer: llmtest.Sequence(looked)})
	client := anthropic.NewClient(anthropicoption.WithBaseURL(s.BaseURL(llmtest.Anthropic)),
		anthropicoption.WithAPIKey("test-key"), anthropicoption.WithMaxRetries(0))
	ask := anthropic.MessageNewParams{
		Model: "claude-test", MaxTokens: 500,
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("what is in a.go?"))},
		Tools: []anthropic.ToolUnionParam{
			{OfTool: &anthropic.ToolParam{Name: "read",
				InputSchema: anthropic.ToolInputSchemaParam{Properties: map[string]any{}}}},
			{OfTool: &anthropic.ToolParam{Name: "ls",
				InputSchema: anthropic.ToolInputSchemaParam{Properties: map[string]any{}}}},
		},
	}
	check := func(m anthropic.Message) {
		t.Helper()
		var got []string
		for _, b := range m.Content {
			switch b := b.AsAny().(type) {
			case anthropic.ThinkingBlock:
				got = append(got, "thinking "+b.Thinking)
				if b.Signature == "" {
					t.Error("no signature")
				}
			case anthropic.TextBlock:
				got = append(got, "text "+b.Text)
			case anthropic.ToolUseBlock:
				got = append(got, b.Name+" "+string(b.Input))
			}
		}
		want := []string{"thinking " + looked.Reasoning, "text " + looked.Text, `read {"path":"a.go"}`, `ls {}`}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if m.StopReason != "tool_use" || m.Usage.InputTokens == 0 || m.Usage.OutputTokens < 10 ||
			m.Usage.OutputTokensDetails.ThinkingTokens == 0 {
			t.Errorf("stop %s, usage %+v", m.StopReason, m.Usage)
		}
	}
	stream := client.Messages.NewStreaming(t.Context(), ask)
	var streamed anthropic.Message
	for stream.Next() {
		if err := streamed.Accumulate(stream.Current()); err != nil {
			t.Fatal(err)
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	check(streamed)
	whole, err := client.Messages.New(t.Context(), ask)
	if err != nil {
		t.Fatal(err)
	}
	check(*whole)

	// What was said goes back, thinking with its signature included, and is accepted.
	ask.Messages = append(ask.Messages, streamed.ToParam(), anthropic.NewUserMessage(
		anthropic.NewToolResultBlock(streamed.Content[2].ID, "package a", false),
		anthropic.NewToolResultBlock(streamed.Content[3].ID, "a.go", false)))
	if _, err := client.Messages.New(t.Context(), ask); err != nil {
		t.Error(err)
	}
	if r := s.Records(); r[2].Results() != 2 {
		t.Errorf("%d results were recorded", r[2].Results())
	}
	if p := s.Problems(); p != nil {
		t.Error(p)
	}
}

func TestOfficialLibrary_openaiChat(t *testing.T) {
	s := llmtest.Start(t, llmtest.Script{Answer: llmtest.Sequence(looked)})
	client := openai.NewClient(openaioption.WithBaseURL(s.BaseURL(llmtest.Chat)), openaioption.WithAPIKey("test-key"),
		openaioption.WithMaxRetries(0))
	function := func(name string) openai.ChatCompletionToolUnionParam {
		return openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: name,
			Parameters: shared.FunctionParameters{"type": "object"}})
	}
	ask := openai.ChatCompletionNewParams{
		Model: "gpt-test", MaxCompletionTokens: openai.Int(500),
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("what is in a.go?")},
		Tools:    []openai.ChatCompletionToolUnionParam{function("read"), function("ls")},
	}
	check := func(c openai.ChatCompletion) {
		t.Helper()
		m := c.Choices[0].Message
		got := []string{m.Content}
		for _, call := range m.ToolCalls {
			got = append(got, call.Function.Name+" "+call.Function.Arguments)
		}
		if diff := cmp.Diff([]string{looked.Text, `read {"path":"a.go"}`, `ls {}`}, got); diff != "" {
			t.Error(diff)
		}
		if c.Choices[0].FinishReason != "tool_calls" || c.Usage.PromptTokens == 0 || c.Usage.CompletionTokens == 0 ||
			c.Usage.CompletionTokensDetails.ReasoningTokens == 0 {
			t.Errorf("finish %s, usage %+v", c.Choices[0].FinishReason, c.Usage)
		}
	}
	whole, err := client.Chat.Completions.New(t.Context(), ask)
	if err != nil {
		t.Fatal(err)
	}
	check(*whole)
	ask.StreamOptions = openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)}
	stream := client.Chat.Completions.NewStreaming(t.Context(), ask)
	var streamed openai.ChatCompletionAccumulator
	for stream.Next() {
		if !streamed.AddChunk(stream.Current()) {
			t.Fatal("a chunk does not follow from those before it")
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	check(streamed.ChatCompletion)
	ask.StreamOptions = openai.ChatCompletionStreamOptionsParam{}
	ask.Messages = append(ask.Messages, whole.Choices[0].Message.ToParam(),
		openai.ToolMessage("package a", whole.Choices[0].Message.ToolCalls[0].ID),
		openai.ToolMessage("a.go", whole.Choices[0].Message.ToolCalls[1].ID))
	if _, err := client.Chat.Completions.New(t.Context(), ask); err != nil {
		t.Error(err)
	}
	if p := s.Problems(); p != nil {
		t.Error(p)
	}
}

func TestOfficialLibrary_openaiResponses(t *testing.T) {
	s := llmtest.Start(t, llmtest.Script{Answer: llmtest.Sequence(looked)})
	client := openai.NewClient(openaioption.WithBaseURL(s.BaseURL(llmtest.Responses)),
		openaioption.WithAPIKey("test-key"), openaioption.WithMaxRetries(0))
	function := func(name string) responses.ToolUnionParam {
		return responses.ToolParamOfFunction(name, map[string]any{"type": "object"}, false)
	}
	ask := responses.ResponseNewParams{
		Model: "gpt-test", MaxOutputTokens: openai.Int(500), Store: openai.Bool(false),
		Include: []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent},
		Input:   responses.ResponseNewParamsInputUnion{OfString: param.NewOpt("what is in a.go?")},
		Tools:   []responses.ToolUnionParam{function("read"), function("ls")},
	}
	check := func(r responses.Response) {
		t.Helper()
		var got []string
		for _, item := range r.Output {
			switch item := item.AsAny().(type) {
			case responses.ResponseReasoningItem:
				got = append(got, "reasoning "+item.Summary[0].Text)
				if item.EncryptedContent == "" {
					t.Error("no encrypted content")
				}
			case responses.ResponseOutputMessage:
				got = append(got, "text "+item.Content[0].Text)
			case responses.ResponseFunctionToolCall:
				got = append(got, item.Name+" "+item.Arguments)
			}
		}
		want := []string{"reasoning " + looked.Reasoning, "text " + looked.Text, `read {"path":"a.go"}`, `ls {}`}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if r.Status != "completed" || r.Usage.InputTokens == 0 || r.Usage.OutputTokens == 0 ||
			r.Usage.OutputTokensDetails.ReasoningTokens == 0 {
			t.Errorf("status %s, usage %+v", r.Status, r.Usage)
		}
	}
	whole, err := client.Responses.New(t.Context(), ask)
	if err != nil {
		t.Fatal(err)
	}
	check(*whole)
	stream := client.Responses.NewStreaming(t.Context(), ask)
	text := ""
	for stream.Next() {
		switch e := stream.Current().AsAny().(type) {
		case responses.ResponseTextDeltaEvent:
			text += e.Delta
		case responses.ResponseCompletedEvent:
			check(e.Response)
		}
	}
	if err := stream.Err(); err != nil || text != looked.Text {
		t.Errorf("%v, text %q", err, text)
	}
	if p := s.Problems(); p != nil {
		t.Error(p)
	}
}

func TestOfficialLibrary_gemini(t *testing.T) {
	s := llmtest.Start(t, llmtest.Script{Answer: llmtest.Sequence(looked)})
	client, err := genai.NewClient(context.Background(), &genai.ClientConfig{
		APIKey: "test-key", Backend: genai.BackendGeminiAPI,
		HTTPOptions: genai.HTTPOptions{BaseURL: s.BaseURL(llmtest.Gemini)},
	})
	if err != nil {
		t.Fatal(err)
	}
	ask := genai.Text("what is in a.go?")
	config := &genai.GenerateContentConfig{MaxOutputTokens: 500,
		Tools: []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{{Name: "read"}, {Name: "ls"}}}}}
	check := func(all ...*genai.GenerateContentResponse) {
		t.Helper()
		var reasoning, text strings.Builder
		var calls []string
		signed := false
		for _, r := range all {
			if r.Candidates[0].Content == nil {
				continue
			}
			for _, p := range r.Candidates[0].Content.Parts {
				switch {
				case p.FunctionCall != nil:
					calls = append(calls, p.FunctionCall.Name)
					signed = signed || len(p.ThoughtSignature) > 0
				case p.Thought:
					reasoning.WriteString(p.Text)
				default:
					text.WriteString(p.Text)
				}
			}
		}
		if reasoning.String() != looked.Reasoning || text.String() != looked.Text ||
			!cmp.Equal(calls, []string{"read", "ls"}) || !signed {
			t.Errorf("reasoning %q, text %q, calls %q, signed %t", reasoning.String(), text.String(), calls, signed)
		}
		last := all[len(all)-1]
		if u := last.UsageMetadata; last.Candidates[0].FinishReason != "STOP" || u.PromptTokenCount == 0 ||
			u.ThoughtsTokenCount == 0 || u.CandidatesTokenCount == 0 {
			t.Errorf("finish %s, usage %+v", last.Candidates[0].FinishReason, u)
		}
	}
	whole, err := client.Models.GenerateContent(t.Context(), "gemini-test", ask, config)
	if err != nil {
		t.Fatal(err)
	}
	check(whole)
	var pieces []*genai.GenerateContentResponse
	for piece, err := range client.Models.GenerateContentStream(t.Context(), "gemini-test", ask, config) {
		if err != nil {
			t.Fatal(err)
		}
		pieces = append(pieces, piece)
	}
	check(pieces...)
	count, err := client.Models.CountTokens(t.Context(), "gemini-test", ask, nil)
	if err != nil || count.TotalTokens == 0 {
		t.Errorf("count %+v, %v", count, err)
	}
	if p := s.Problems(); p != nil {
		t.Error(p)
	}
}

// The libraries make their own typed errors of the refusals, with the provider's code, and notice
// an error within a stream.
func TestOfficialLibraries_readTheErrors(t *testing.T) {
	s := llmtest.Start(t, llmtest.Script{Answer: llmtest.Text("A text that is long enough to be streamed in several " +
		"pieces.")})
	a := anthropic.NewClient(anthropicoption.WithBaseURL(s.BaseURL(llmtest.Anthropic)),
		anthropicoption.WithAPIKey("test-key"), anthropicoption.WithMaxRetries(0))
	o := openai.NewClient(openaioption.WithBaseURL(s.BaseURL(llmtest.Chat)), openaioption.WithAPIKey("test-key"),
		openaioption.WithMaxRetries(0))
	g, err := genai.NewClient(context.Background(), &genai.ClientConfig{
		APIKey: "test-key", Backend: genai.BackendGeminiAPI,
		HTTPOptions: genai.HTTPOptions{BaseURL: s.BaseURL(llmtest.Gemini)},
	})
	if err != nil {
		t.Fatal(err)
	}
	ask := map[llmtest.Protocol]func() error{
		llmtest.Anthropic: func() error {
			stream := a.Messages.NewStreaming(t.Context(), anthropic.MessageNewParams{
				Model: "m", MaxTokens: 100, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("hello"))},
			})
			for stream.Next() {
			}
			return stream.Err()
		},
		llmtest.Chat: func() error {
			stream := o.Chat.Completions.NewStreaming(t.Context(), openai.ChatCompletionNewParams{
				Model: "m", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("hello")},
			})
			for stream.Next() {
			}
			return stream.Err()
		},
		llmtest.Responses: func() error {
			stream := o.Responses.NewStreaming(t.Context(), responses.ResponseNewParams{
				Model: "m", Input: responses.ResponseNewParamsInputUnion{OfString: param.NewOpt("hello")},
			})
			for stream.Next() {
			}
			return stream.Err()
		},
		llmtest.Gemini: func() error {
			for _, err := range g.Models.GenerateContentStream(t.Context(), "m", genai.Text("hello"), nil) {
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
	says := map[llmtest.Protocol]map[llmtest.Fault]string{
		llmtest.Anthropic: {
			llmtest.TooLong: "prompt is too long", llmtest.RateSeconds: "rate_limit_error",
			llmtest.Unauthorized: "authentication_error",
			llmtest.Overloaded:   "529", llmtest.ErrorInStream: "overloaded_error",
			llmtest.OverflowInStream: "prompt is too long",
		},
		llmtest.Chat: {
			llmtest.TooLong: "context_length_exceeded", llmtest.RateSeconds: "rate_limit_exceeded",
			llmtest.Unauthorized: "invalid_api_key",
			llmtest.Overloaded:   "503", llmtest.ErrorInStream: "server_is_overloaded",
			llmtest.OverflowInStream: "context_length_exceeded",
		},
		llmtest.Responses: {
			llmtest.TooLong: "context_length_exceeded", llmtest.RateSeconds: "rate_limit_exceeded",
			llmtest.Unauthorized: "invalid_api_key",
			llmtest.Overloaded:   "503", llmtest.ErrorInStream: "server_is_overloaded",
			llmtest.OverflowInStream: "context_length_exceeded",
		},
		llmtest.Gemini: {
			llmtest.TooLong: "exceeds the maximum number of tokens", llmtest.RateSeconds: "RESOURCE_EXHAUSTED",
			llmtest.Unauthorized: "UNAUTHENTICATED",
			llmtest.BadKey:       "API_KEY_INVALID", llmtest.Overloaded: "UNAVAILABLE", llmtest.ErrorInStream: "UNAVAILABLE",
			llmtest.OverflowInStream: "exceeds the maximum number of tokens",
		},
	}
	for p, faults := range says {
		for f, want := range faults {
			s.Inject(f)
			err := ask[p]()
			if err == nil {
				t.Errorf("%s, %s: no error", p, f)
				continue
			}
			text := err.Error()
			if e := (*openai.Error)(nil); errors.As(err, &e) { // its text is the status alone
				text += " " + e.Code
			}
			if !strings.Contains(text, want) {
				t.Errorf("%s, %s: %s, want %q in it", p, f, text, want)
			}
		}
		if err := ask[p](); err != nil {
			t.Errorf("%s: %v after all faults", p, err)
		}
	}
	if p := s.Problems(); p != nil {
		t.Error(p)
	}
}
