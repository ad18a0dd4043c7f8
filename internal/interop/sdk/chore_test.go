package sdk_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"
	"google.golang.org/genai"

	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/session"
)

// steps is how many files the model of a chore reads before it is done.
const steps = 40

// chore is the model: it reads eight files in turn, over and over, and then it is done. What it
// reports to have taken depends on the step alone.
func chore(r llmtest.Request) llmtest.Reply {
	n := r.Results()
	usage := &session.Usage{Input: 1800, Output: 30, Cache: session.CacheUsage{Read: 500 + 1800*n}}
	if n == steps {
		return llmtest.Reply{Text: "I have read all of it.", Usage: usage}
	}
	return llmtest.Reply{Text: fmt.Sprintf("Step %d.", n), Usage: usage, Calls: []llmtest.Call{{
		ID: fmt.Sprintf("call_%d", n), Name: "read", Arguments: fmt.Sprintf(`{"path":"src/f%d.go"}`, n%8),
	}}}
}

// content is what the tool of a chore returns.
func content(path string) string {
	return strings.Repeat("// A line of "+path+", as it is today.\n", 150)
}

// program is the client of a chore: a library with the conversation so far.
type program interface {
	// ask sends the conversation and adds the answer to it, and the results of its calls. It tells
	// what the library made of the answer, event by event, and whether there were calls.
	ask(t *testing.T, stream bool) (heard []string, goesOn bool, err error)
	// count asks for the size of the conversation.
	count(t *testing.T) int
}

// programs are the libraries, each with its protocol.
var programs = map[llmtest.Protocol]func(t *testing.T, url string, client *http.Client) program{
	llmtest.Anthropic: newMessages, llmtest.Chat: newChat, llmtest.Responses: newResponses, llmtest.Gemini: newGemini,
}

func path(t *testing.T, arguments string) string {
	var input struct{ Path string }
	if err := json.Unmarshal([]byte(arguments), &input); err != nil {
		t.Fatal(err)
	}
	return input.Path
}

// messages is a program with anthropic-sdk-go. It marks tools, system prompt and its two newest
// messages for the cache.
type messages struct {
	client anthropic.Client
	params anthropic.MessageNewParams
}

func newMessages(t *testing.T, url string, client *http.Client) program {
	mark := anthropic.NewCacheControlEphemeralParam()
	return &messages{
		anthropic.NewClient(anthropicoption.WithBaseURL(url), anthropicoption.WithAPIKey("k"),
			anthropicoption.WithHTTPClient(client)),
		anthropic.MessageNewParams{
			Model: "claude-sonnet-4-5", MaxTokens: 1024,
			System:   []anthropic.TextBlockParam{{Text: "You read code.", CacheControl: mark}},
			Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("Read the code."))},
			Tools: []anthropic.ToolUnionParam{{OfTool: &anthropic.ToolParam{Name: "read", CacheControl: mark,
				InputSchema: anthropic.ToolInputSchemaParam{Properties: map[string]any{}}}}},
		},
	}
}

func (p *messages) ask(t *testing.T, stream bool) (heard []string, goesOn bool, err error) {
	for i, m := range p.params.Messages {
		for _, block := range m.Content {
			mark := block.GetCacheControl()
			*mark = anthropic.CacheControlEphemeralParam{}
			if m.Role == "user" && i >= len(p.params.Messages)-3 {
				*mark = anthropic.NewCacheControlEphemeralParam()
			}
		}
	}
	message := &anthropic.Message{}
	if stream {
		events := p.client.Messages.NewStreaming(t.Context(), p.params)
		for events.Next() {
			heard = append(heard, events.Current().RawJSON())
			if err := message.Accumulate(events.Current()); err != nil {
				t.Fatal(err)
			}
		}
		err = events.Err()
	} else if message, err = p.client.Messages.New(t.Context(), p.params); err == nil {
		heard = append(heard, message.RawJSON())
	}
	if err != nil {
		return heard, false, err
	}
	p.params.Messages = append(p.params.Messages, message.ToParam())
	var results []anthropic.ContentBlockParamUnion
	for _, block := range message.Content {
		if block.Type == "tool_use" {
			text := content(path(t, string(block.Input)))
			results = append(results, anthropic.NewToolResultBlock(block.ID, text, false))
		}
	}
	if results != nil {
		p.params.Messages = append(p.params.Messages, anthropic.NewUserMessage(results...))
	}
	return heard, results != nil, nil
}

func (p *messages) count(t *testing.T) int {
	c, err := p.client.Messages.CountTokens(t.Context(), anthropic.MessageCountTokensParams{
		Model: p.params.Model, Messages: p.params.Messages,
		System: anthropic.MessageCountTokensParamsSystemUnion{OfTextBlockArray: p.params.System},
		Tools:  []anthropic.MessageCountTokensToolUnionParam{{OfTool: p.params.Tools[0].OfTool}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return int(c.InputTokens)
}

// chat is a program with the Chat Completions of openai-go.
type chat struct {
	client openai.Client
	params openai.ChatCompletionNewParams
}

func newChat(t *testing.T, url string, client *http.Client) program {
	return &chat{openaiClient(url, client), openai.ChatCompletionNewParams{
		Model: "gpt-4.1",
		Messages: []openai.ChatCompletionMessageParamUnion{
			openai.SystemMessage("You read code."), openai.UserMessage("Read the code."),
		},
		Tools: []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(
			shared.FunctionDefinitionParam{Name: "read", Parameters: shared.FunctionParameters{"type": "object"}})},
	}}
}

func (p *chat) ask(t *testing.T, stream bool) (heard []string, goesOn bool, err error) {
	completion := &openai.ChatCompletion{}
	p.params.StreamOptions = openai.ChatCompletionStreamOptionsParam{}
	if stream {
		if len(p.params.Messages)%4 == 0 { // the other streams report nothing
			p.params.StreamOptions.IncludeUsage = openai.Bool(true)
		}
		var all openai.ChatCompletionAccumulator
		chunks := p.client.Chat.Completions.NewStreaming(t.Context(), p.params)
		for chunks.Next() {
			heard = append(heard, chunks.Current().RawJSON())
			all.AddChunk(chunks.Current())
		}
		completion, err = &all.ChatCompletion, chunks.Err()
	} else if completion, err = p.client.Chat.Completions.New(t.Context(), p.params); err == nil {
		heard = append(heard, completion.RawJSON())
	}
	if err != nil {
		return heard, false, err
	}
	message := completion.Choices[0].Message
	p.params.Messages = append(p.params.Messages, message.ToParam())
	for _, call := range message.ToolCalls {
		p.params.Messages = append(p.params.Messages, openai.ToolMessage(content(path(t, call.Function.Arguments)), call.ID))
	}
	return heard, len(message.ToolCalls) > 0, nil
}

// count: the API has no such request.
func (p *chat) count(*testing.T) int { return 0 }

// items is a program with the Responses of openai-go.
type items struct {
	client openai.Client
	params responses.ResponseNewParams
	input  []responses.ResponseInputItemUnionParam
}

func newResponses(t *testing.T, url string, client *http.Client) program {
	return &items{openaiClient(url, client), responses.ResponseNewParams{
		Model: "gpt-4.1", Store: openai.Bool(false), Instructions: openai.String("You read code."),
		Tools: []responses.ToolUnionParam{responses.ToolParamOfFunction("read", map[string]any{"type": "object"}, false)},
	}, []responses.ResponseInputItemUnionParam{responses.ResponseInputItemParamOfMessage("Read the code.", "user")}}
}

func (p *items) ask(t *testing.T, stream bool) (heard []string, goesOn bool, err error) {
	p.params.Input = responses.ResponseNewParamsInputUnion{OfInputItemList: p.input}
	response := &responses.Response{}
	if stream {
		events := p.client.Responses.NewStreaming(t.Context(), p.params)
		for events.Next() {
			heard = append(heard, events.Current().RawJSON())
			if e := events.Current(); e.Type == "response.completed" {
				response = &e.Response
			}
		}
		err = events.Err()
	} else if response, err = p.client.Responses.New(t.Context(), p.params); err == nil {
		heard = append(heard, response.RawJSON())
	}
	if err != nil {
		return heard, false, err
	}
	for _, item := range response.Output {
		switch item.Type {
		case "message":
			p.input = append(p.input, responses.ResponseInputItemParamOfMessage(item.Content[0].Text, "assistant"))
		case "function_call":
			call := item.AsFunctionCall()
			output := responses.ResponseInputItemParamOfFunctionCallOutput(content(path(t, call.Arguments)))
			output.OfFunctionCallOutput.CallID = openai.String(call.CallID)
			p.input = append(p.input,
				responses.ResponseInputItemParamOfFunctionCall(call.Arguments, call.CallID, call.Name), output)
			goesOn = true
		}
	}
	return heard, goesOn, nil
}

func (p *items) count(t *testing.T) int {
	c, err := p.client.Responses.InputTokens.Count(t.Context(), responses.InputTokenCountParams{
		Model: openai.String(p.params.Model), Instructions: p.params.Instructions, Tools: p.params.Tools,
		Input: responses.InputTokenCountParamsInputUnion{OfResponseInputItemArray: p.input},
	})
	if err != nil {
		t.Fatal(err)
	}
	return int(c.InputTokens)
}

// contents is a program with genai.
type contents struct {
	client   *genai.Client
	config   *genai.GenerateContentConfig
	contents []*genai.Content
}

func newGemini(t *testing.T, url string, client *http.Client) program {
	c, err := genai.NewClient(t.Context(), &genai.ClientConfig{
		APIKey: "k", Backend: genai.BackendGeminiAPI, HTTPClient: client, HTTPOptions: genai.HTTPOptions{BaseURL: url},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &contents{c, &genai.GenerateContentConfig{
		SystemInstruction: genai.NewContentFromText("You read code.", genai.RoleUser),
		Tools:             []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{{Name: "read"}}}},
	}, genai.Text("Read the code.")}
}

func (p *contents) ask(t *testing.T, stream bool) (heard []string, goesOn bool, err error) {
	answer := genai.NewContentFromParts(nil, genai.RoleModel)
	take := func(r *genai.GenerateContentResponse) {
		r.SDKHTTPResponse = nil // has the time
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		heard = append(heard, string(text))
		if c := r.Candidates[0].Content; c != nil {
			answer.Parts = append(answer.Parts, c.Parts...)
		}
	}
	const model = "gemini-2.5-flash"
	if stream {
		for r, err := range p.client.Models.GenerateContentStream(t.Context(), model, p.contents, p.config) {
			if err != nil {
				return heard, false, err
			}
			take(r)
		}
	} else {
		r, err := p.client.Models.GenerateContent(t.Context(), model, p.contents, p.config)
		if err != nil {
			return heard, false, err
		}
		take(r)
	}
	p.contents = append(p.contents, answer)
	var results []*genai.Part
	for _, part := range answer.Parts {
		if call := part.FunctionCall; call != nil {
			output := map[string]any{"output": content(call.Args["path"].(string))}
			results = append(results, &genai.Part{FunctionResponse: &genai.FunctionResponse{
				ID: call.ID, Name: call.Name, Response: output,
			}})
		}
	}
	if results != nil {
		p.contents = append(p.contents, genai.NewContentFromParts(results, genai.RoleUser))
	}
	return heard, results != nil, nil
}

func (p *contents) count(t *testing.T) int {
	c, err := p.client.Models.CountTokens(t.Context(), "gemini-2.5-flash", p.contents, nil)
	if err != nil {
		t.Fatal(err)
	}
	return int(c.TotalTokens)
}
