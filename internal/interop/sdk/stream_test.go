package sdk_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/openai/openai-go/v3"
	openaioption "github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"google.golang.org/genai"

	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/wire"
	wireanthropic "github.com/winnowhq/winnow/wire/anthropic"
	wiregemini "github.com/winnowhq/winnow/wire/gemini"
	wirechat "github.com/winnowhq/winnow/wire/openaichat"
	wireresponses "github.com/winnowhq/winnow/wire/responses"
)

// said is an answer as both sides can tell it.
type said struct {
	Text, Reasoning, Signature string
	Calls                      []string // name and arguments
	Finish                     wire.Finish
	Usage                      session.Usage
}

// call adds a call. The order of arguments does not count: a library may not keep it.
func (s *said) call(name, arguments string) {
	value := jsontext.Value(arguments)
	if err := value.Canonicalize(); err != nil {
		value = jsontext.Value(arguments)
	}
	s.Calls = append(s.Calls, name+" "+string(value))
}

// recorder keeps what a server streamed.
type recorder struct{ text bytes.Buffer }

func (r *recorder) RoundTrip(q *http.Request) (*http.Response, error) {
	response, err := http.DefaultTransport.RoundTrip(q)
	if err == nil {
		body := response.Body
		response.Body = struct {
			io.Reader
			io.Closer
		}{io.TeeReader(body, &r.text), body}
	}
	return response, err
}

// ours reads a stream with our own decoder.
func ours(t *testing.T, recorded []byte, open func(func(string)) wire.Stream) said {
	t.Helper()
	heard := ""
	stream := open(func(text string) { heard += text })
	for events := wire.NewEventReader(bytes.NewReader(recorded)); ; {
		e, err := events.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if stream.Take(e.Data) {
			break
		}
	}
	a := stream.Answer()
	got := said{Finish: a.Finish, Usage: a.Usage}
	for _, p := range a.Parts {
		thought := wire.ThoughtOf(&p)
		got.Signature += thought.Signature + thought.Redacted + thought.Encrypted + thought.Google
		switch p.Type {
		case session.TextPart:
			got.Text += p.Text
		case session.ReasoningPart:
			got.Reasoning += p.Text
		case session.ToolPart:
			got.call(p.Tool, string(p.State.Input))
		}
	}
	if heard != got.Text || !a.Ended {
		t.Errorf("heard %q, ended %v, of %q", heard, a.Ended, got.Text)
	}
	return got
}

// replies are what the upstream streams, each in the pieces that it likes.
var replies = map[string]llmtest.Reply{
	"everything": looked,
	"text":       {Text: "“One” – and\n\n\ttwo 🙂, with \\ and \x7f and \u2028."},
	"one call": {Calls: []llmtest.Call{{ID: "c1", Name: "read",
		Arguments: `{"path":"a.go","line":12345678901,"deep":{"list":[1,null,"x"]}}`}}},
	"redacted":    {Reasoning: "Nobody shall see this.", Redacted: true, Text: "Done."},
	"many pieces": {Reasoning: "Step by step, and slowly.", Text: "Letters, one by one.", Pieces: 100},
	"reported": {Text: "Counted.", Usage: &session.Usage{
		Input: 1000, Output: 30, Reasoning: 20, Cache: session.CacheUsage{Read: 5000, Write: 400},
	}},
	"length":     {Text: "A text that was cut off at its end.", Fault: llmtest.LengthCut},
	"refused":    {Text: "Never.", Fault: llmtest.Refused},
	"empty":      {Fault: llmtest.Empty},
	"blank":      {Fault: llmtest.Blank},
	"thoughts":   {Text: "What it would say.", Fault: llmtest.ReasoningOnly},
	"in markup":  {Fault: llmtest.MarkupCall},
	"a call":     {Fault: llmtest.RealCall},
	"large":      {Text: "All over again.", Fault: llmtest.Larger},
	"no usage":   {Text: "For free.", Fault: llmtest.NoUsage},
	"slow":       {Text: "Byte by byte.", Fault: llmtest.SlowDrip},
	"no heading": {Text: "# Goal\nTo go on.", Fault: llmtest.NoHeadings},
}

// Every stream gives the same answer through the provider's library and through our decoder.
func TestStream_isReadAsTheLibrariesReadIt(t *testing.T) {
	for name, reply := range replies {
		s := llmtest.Start(t, llmtest.Script{Answer: llmtest.Sequence(reply)})
		for _, judge := range []struct {
			protocol llmtest.Protocol
			theirs   func(t *testing.T, url string, client *http.Client) said
			open     func(func(string)) wire.Stream
		}{
			{llmtest.Anthropic, anthropicSays, wireanthropic.Stream},
			{llmtest.Chat, chatSays, wirechat.Stream},
			{llmtest.Responses, responsesSays, wireresponses.Stream},
			{llmtest.Gemini, geminiSays, wiregemini.Stream},
		} {
			t.Run(string(judge.protocol)+", "+name, func(t *testing.T) {
				r := &recorder{}
				want := judge.theirs(t, s.BaseURL(judge.protocol), &http.Client{Transport: r})
				if diff := cmp.Diff(want, ours(t, r.text.Bytes(), judge.open)); diff != "" {
					t.Errorf("(-theirs +ours):\n%s\n%s", diff, r.text.Bytes())
				}
			})
		}
	}
}

func anthropicSays(t *testing.T, url string, client *http.Client) said {
	c := anthropic.NewClient(anthropicoption.WithBaseURL(url), anthropicoption.WithAPIKey("k"),
		anthropicoption.WithHTTPClient(client))
	stream := c.Messages.NewStreaming(t.Context(), anthropic.MessageNewParams{
		Model: "claude-test", MaxTokens: 5000,
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("what is in a.go?"))},
	})
	var m anthropic.Message
	for stream.Next() {
		if err := m.Accumulate(stream.Current()); err != nil {
			t.Fatal(err)
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	got := said{Finish: map[anthropic.StopReason]wire.Finish{
		"end_turn": wire.FinishStop, "max_tokens": wire.FinishLength, "tool_use": wire.FinishCalls,
		"refusal": wire.FinishRefused,
	}[m.StopReason]}
	for _, block := range m.Content {
		got.Text += block.Text
		got.Reasoning += block.Thinking
		got.Signature += block.Signature + block.Data
		if block.Type == "tool_use" {
			got.call(block.Name, string(block.Input))
		}
	}
	u := m.Usage
	read, write := int(u.CacheReadInputTokens), int(u.CacheCreationInputTokens)
	got.Usage = wire.SplitUsage(int(u.InputTokens)+read+write, read, write,
		int(u.OutputTokens), int(u.OutputTokensDetails.ThinkingTokens), 0)
	return got
}

func openaiClient(url string, client *http.Client) openai.Client {
	return openai.NewClient(openaioption.WithBaseURL(url), openaioption.WithAPIKey("k"),
		openaioption.WithHTTPClient(client))
}

func chatSays(t *testing.T, url string, client *http.Client) said {
	c := openaiClient(url, client)
	stream := c.Chat.Completions.NewStreaming(t.Context(), openai.ChatCompletionNewParams{
		Model: "gpt-test", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("what is in a.go?")},
		StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)},
	})
	var a openai.ChatCompletionAccumulator
	var got said
	for stream.Next() {
		chunk := stream.Current()
		if !a.AddChunk(chunk) {
			t.Fatal("a chunk does not follow from those before it")
		}
		if chunk.JSON.Usage.Valid() {
			u := chunk.Usage // the sum that the library makes has no cache writes
			got.Usage = wire.SplitUsage(int(u.PromptTokens), int(u.PromptTokensDetails.CachedTokens),
				int(u.PromptTokensDetails.CacheWriteTokens), int(u.CompletionTokens),
				int(u.CompletionTokensDetails.ReasoningTokens), int(u.TotalTokens))
		}
		for _, choice := range chunk.Choices { // the library knows no reasoning
			delta := wire.ValueOf([]byte(choice.Delta.RawJSON()))
			got.Reasoning += delta.Get("reasoning_content").String()
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	got.Text = a.Choices[0].Message.Content
	for _, call := range a.Choices[0].Message.ToolCalls {
		got.call(call.Function.Name, call.Function.Arguments)
	}
	got.Finish = map[string]wire.Finish{
		"stop": wire.FinishStop, "length": wire.FinishLength, "tool_calls": wire.FinishCalls,
		"content_filter": wire.FinishRefused,
	}[a.Choices[0].FinishReason]
	return got
}

func responsesSays(t *testing.T, url string, client *http.Client) said {
	c := openaiClient(url, client)
	stream := c.Responses.NewStreaming(t.Context(), responses.ResponseNewParams{
		Model: "gpt-test", Store: openai.Bool(false),
		Include: []responses.ResponseIncludable{"reasoning.encrypted_content"},
		Input:   responses.ResponseNewParamsInputUnion{OfString: param.NewOpt("what is in a.go?")},
	})
	var whole responses.Response
	for stream.Next() {
		if e := stream.Current(); e.Type == "response.completed" || e.Type == "response.incomplete" {
			whole = e.Response
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	got := said{Text: whole.OutputText(), Finish: wire.FinishStop}
	for _, item := range whole.Output {
		switch item.Type {
		case "reasoning":
			got.Signature += item.EncryptedContent
			for _, text := range item.Summary {
				got.Reasoning += text.Text
			}
		case "function_call":
			call := item.AsFunctionCall()
			got.call(call.Name, call.Arguments)
			got.Finish = wire.FinishCalls
		}
	}
	switch whole.IncompleteDetails.Reason {
	case "max_output_tokens":
		got.Finish = wire.FinishLength
	case "content_filter":
		got.Finish = wire.FinishRefused
	}
	u := whole.Usage
	got.Usage = wire.SplitUsage(int(u.InputTokens), int(u.InputTokensDetails.CachedTokens),
		int(u.InputTokensDetails.CacheWriteTokens),
		int(u.OutputTokens), int(u.OutputTokensDetails.ReasoningTokens), int(u.TotalTokens))
	return got
}

func geminiSays(t *testing.T, url string, client *http.Client) said {
	c, err := genai.NewClient(t.Context(), &genai.ClientConfig{
		APIKey: "k", Backend: genai.BackendGeminiAPI, HTTPClient: client, HTTPOptions: genai.HTTPOptions{BaseURL: url},
	})
	if err != nil {
		t.Fatal(err)
	}
	var got said
	finish := genai.FinishReason("")
	for r, err := range c.Models.GenerateContentStream(t.Context(), "gemini-test", genai.Text("what is in a.go?"),
		nil) {
		if err != nil {
			t.Fatal(err)
		}
		if u := r.UsageMetadata; u != nil {
			thoughts := int(u.ThoughtsTokenCount)
			got.Usage = wire.SplitUsage(int(u.PromptTokenCount), int(u.CachedContentTokenCount), 0,
				int(u.CandidatesTokenCount)+thoughts, thoughts, 0)
			got.Usage.Total = int(u.TotalTokenCount)
		}
		for _, candidate := range r.Candidates {
			finish = candidate.FinishReason
			if candidate.Content == nil {
				continue
			}
			for _, p := range candidate.Content.Parts {
				got.part(t, p)
			}
		}
	}
	got.Finish = map[genai.FinishReason]wire.Finish{
		"STOP": wire.FinishStop, "MAX_TOKENS": wire.FinishLength, "SAFETY": wire.FinishRefused,
	}[finish]
	if got.Finish == wire.FinishStop && len(got.Calls) > 0 {
		got.Finish = wire.FinishCalls
	}
	return got
}

func (s *said) part(t *testing.T, p *genai.Part) {
	if len(p.ThoughtSignature) > 0 {
		s.Signature += base64.StdEncoding.EncodeToString(p.ThoughtSignature)
	}
	switch {
	case p.FunctionCall != nil:
		arguments, err := json.Marshal(p.FunctionCall.Args)
		if err != nil {
			t.Fatal(err)
		}
		s.call(p.FunctionCall.Name, string(arguments))
	case p.Thought:
		s.Reasoning += p.Text
	default:
		s.Text += p.Text
	}
}
