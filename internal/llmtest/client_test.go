package llmtest_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/internal/llmtest"
)

// turn is what one side said.
type turn struct {
	role, text string
	marked     bool // Anthropic: with a cache_control
}

// ask is a request in any protocol.
type ask struct {
	model, system string
	tools         []string
	turns         []turn
	limit         int
	stream        bool
	extra         map[string]any // members of the body
	header        map[string]string
}

func say(texts ...string) ask {
	a := ask{model: "model-a", limit: 1000, stream: true}
	for i, text := range texts {
		a.turns = append(a.turns, turn{role: []string{"user", "assistant"}[i%2], text: text})
	}
	return a
}

type object = map[string]any

func (a ask) request(t testing.TB, p llmtest.Protocol, root string) *http.Request {
	t.Helper()
	body := object{"model": a.model}
	path := ""
	header := map[string]string{"Content-Type": "application/json"}
	parts := func(kind string) (list []object) {
		for _, turn := range a.turns {
			block := object{"type": kind, "text": turn.text}
			if turn.marked {
				block["cache_control"] = object{"type": "ephemeral"}
			}
			list = append(list, block)
		}
		return list
	}
	switch p {
	case llmtest.Anthropic:
		path, header["X-Api-Key"], header["Anthropic-Version"] = "/v1/messages", "test-key", "2023-06-01"
		body["max_tokens"], body["stream"] = a.limit, a.stream
		if a.system != "" {
			body["system"] = a.system
		}
		var messages []object
		for i, block := range parts("text") {
			messages = append(messages, object{"role": a.turns[i].role, "content": []object{block}})
		}
		body["messages"] = messages
		var tools []object
		for _, name := range a.tools {
			tools = append(tools, object{"name": name, "input_schema": object{"type": "object"}})
		}
		if tools != nil {
			body["tools"] = tools
		}
	case llmtest.Chat:
		path, header["Authorization"] = "/v1/chat/completions", "Bearer test-key"
		body["max_tokens"] = a.limit
		if a.stream {
			body["stream"], body["stream_options"] = true, object{"include_usage": true}
		}
		var messages []object
		if a.system != "" {
			messages = append(messages, object{"role": "system", "content": a.system})
		}
		for _, turn := range a.turns {
			messages = append(messages, object{"role": turn.role, "content": turn.text})
		}
		body["messages"] = messages
		var tools []object
		for _, name := range a.tools {
			tools = append(tools, object{"type": "function", "function": object{"name": name,
				"parameters": object{"type": "object"}}})
		}
		if tools != nil {
			body["tools"] = tools
		}
	case llmtest.Responses:
		path, header["Authorization"] = "/v1/responses", "Bearer test-key"
		body["max_output_tokens"], body["stream"], body["store"] = a.limit, a.stream, false
		body["include"] = []string{"reasoning.encrypted_content"}
		if a.system != "" {
			body["instructions"] = a.system
		}
		var input []object
		for _, turn := range a.turns {
			kind := "input_text"
			if turn.role == "assistant" {
				kind = "output_text"
			}
			input = append(input, object{"type": "message", "role": turn.role,
				"content": []object{{"type": kind, "text": turn.text}}})
		}
		body["input"] = input
		var tools []object
		for _, name := range a.tools {
			tools = append(tools, object{"type": "function", "name": name, "parameters": object{"type": "object"}})
		}
		if tools != nil {
			body["tools"] = tools
		}
	case llmtest.Gemini:
		path, header["X-Goog-Api-Key"] = "/v1beta/models/"+a.model+":generateContent", "test-key"
		if a.stream {
			path = "/v1beta/models/" + a.model + ":streamGenerateContent?alt=sse"
		}
		delete(body, "model")
		body["generationConfig"] = object{"maxOutputTokens": a.limit}
		if a.system != "" {
			body["systemInstruction"] = object{"parts": []object{{"text": a.system}}}
		}
		var contents []object
		for _, turn := range a.turns {
			contents = append(contents, object{"role": strings.Replace(turn.role, "assistant", "model", 1),
				"parts": []object{{"text": turn.text}}})
		}
		body["contents"] = contents
		var declared []object
		for _, name := range a.tools {
			declared = append(declared, object{"name": name, "parameters": object{"type": "OBJECT"}})
		}
		if declared != nil {
			body["tools"] = []object{{"functionDeclarations": declared}}
		}
	}
	for name, value := range a.extra {
		body[name] = value
		if value == nil {
			delete(body, name)
		}
	}
	text, err := json.Marshal(body, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, root+path, strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range header {
		r.Header.Set(name, value)
	}
	for name, value := range a.header {
		r.Header.Set(name, value)
		if value == "" {
			r.Header.Del(name)
		}
	}
	return r
}

// heard is what a client made of an answer.
type heard struct {
	status    int
	header    http.Header
	body      string
	events    []jsontext.Value
	text      string
	reasoning string
	signature string
	calls     []string // "name arguments"
	stop      string
	// prompt, read, write and output are the tokens as the provider reports them, prompt being
	// everything.
	prompt, read, write, output int
	reasoned                    int    // of output
	ended                       bool   // the end that the protocol wants was there
	code                        string // of an error, in the body or in the stream
}

// send asks and listens to the end.
func send(t testing.TB, s *llmtest.Server, p llmtest.Protocol, a ask) (heard, error) {
	t.Helper()
	return listen(a.request(t, p, s.URL), p, a.stream)
}

// hear is send for answers that arrive.
func hear(t testing.TB, s *llmtest.Server, p llmtest.Protocol, a ask) heard {
	t.Helper()
	h, err := send(t, s, p, a)
	if err != nil {
		t.Fatalf("%s: %v\n%s", p, err, h.body)
	}
	return h
}

func listen(r *http.Request, p llmtest.Protocol, stream bool) (heard, error) {
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return heard{}, err
	}
	defer response.Body.Close()
	h := heard{status: response.StatusCode, header: response.Header}
	if !stream || !strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		text, err := io.ReadAll(response.Body)
		h.body = string(text)
		if err != nil {
			return h, err
		}
		if !jsontext.Value(text).IsValid() {
			return h, errors.New("not JSON")
		}
		h.ended = h.status == http.StatusOK
		h.events = []jsontext.Value{text}
	} else {
		lines := bufio.NewScanner(response.Body)
		lines.Buffer(nil, 64<<20)
		for lines.Scan() {
			line := lines.Text()
			h.body += line + "\n"
			data, found := strings.CutPrefix(line, "data: ")
			switch {
			case data == "[DONE]":
				h.ended = true
			case found && !jsontext.Value(data).IsValid():
				return h, fmt.Errorf("not JSON: %s", data)
			case found:
				h.events = append(h.events, jsontext.Value(data))
			}
		}
		if err := lines.Err(); err != nil {
			return h, err
		}
	}
	for _, e := range h.events {
		if err := h.take(p, e, stream); err != nil {
			return h, err
		}
	}
	return h, nil
}

type part struct {
	Type, Text, Thinking, Signature, Data, Name, ID string
	Input, Args                                     jsontext.Value
	Thought                                         bool
	ThoughtSignature                                string
	FunctionCall                                    *struct {
		Name string
		Args jsontext.Value
	}
	Summary          []struct{ Text string }
	Content          []struct{ Text string }
	EncryptedContent string `json:"encrypted_content"`
	Arguments        string
}

type usage struct {
	InputTokens         int `json:"input_tokens"`
	OutputTokens        int `json:"output_tokens"`
	CacheRead           int `json:"cache_read_input_tokens"`
	CacheWrite          int `json:"cache_creation_input_tokens"`
	PromptTokens        int `json:"prompt_tokens"`
	CompletionTokens    int `json:"completion_tokens"`
	PromptTokensDetails struct {
		CachedTokens     int `json:"cached_tokens"`
		CacheWriteTokens int `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	InputTokensDetails struct {
		CachedTokens     int `json:"cached_tokens"`
		CacheWriteTokens int `json:"cache_write_tokens"`
	} `json:"input_tokens_details"`
	OutputTokensDetails struct {
		ThinkingTokens  int `json:"thinking_tokens"`
		ReasoningTokens int `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
	CompletionTokensDetails struct {
		ReasoningTokens int `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// message is the union of what the protocols send.
type message struct {
	Type    string
	Message *struct {
		Usage usage
	}
	Delta        jsontext.Value
	ContentBlock *part `json:"content_block"`
	Content      []part
	StopReason   string `json:"stop_reason"`
	Usage        *usage
	Error        *struct {
		Type, Status string
		Code         any
		Message      string
	}
	Choices []struct {
		Delta, Message struct {
			Content          string
			ReasoningContent string `json:"reasoning_content"`
			ToolCalls        []struct {
				Index    int
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
		FinishReason string `json:"finish_reason"`
	}
	Response *struct {
		Status string
		Usage  *usage
		Output []part
		Error  *struct{ Code, Message string }
		Reason struct{ Reason string } `json:"incomplete_details"`
	}
	Status     string
	Output     []part
	Item       *part
	Candidates []struct {
		Content      struct{ Parts []part }
		FinishReason string
	}
	UsageMetadata *struct {
		PromptTokenCount, CandidatesTokenCount, ThoughtsTokenCount, CachedContentTokenCount int
	}
}

func (h *heard) take(p llmtest.Protocol, data jsontext.Value, stream bool) error {
	var m message
	if err := json.Unmarshal(data, &m, json.MatchCaseInsensitiveNames(true)); err != nil {
		return fmt.Errorf("%w in %s", err, data)
	}
	if m.Error != nil {
		h.ended = false
		if h.code = fmt.Sprint(m.Error.Code); p == llmtest.Anthropic {
			h.code = m.Error.Type
		} else if p == llmtest.Gemini {
			h.code = m.Error.Status
		}
		return nil
	}
	switch p {
	case llmtest.Anthropic:
		return h.anthropic(m, stream)
	case llmtest.Chat:
		h.chat(m)
	case llmtest.Responses:
		return h.responses(m, data, stream)
	case llmtest.Gemini:
		h.gemini(m)
	}
	return nil
}

func (h *heard) anthropic(m message, stream bool) error {
	used := func(u usage) {
		h.prompt, h.read, h.write, h.output = u.InputTokens+u.CacheRead+u.CacheWrite, u.CacheRead, u.CacheWrite,
			u.OutputTokens
		h.reasoned = u.OutputTokensDetails.ThinkingTokens
	}
	blocks := m.Content
	if m.ContentBlock != nil {
		blocks = []part{*m.ContentBlock}
	}
	for _, b := range blocks {
		h.text += b.Text
		h.reasoning += b.Thinking
		h.signature += b.Signature + b.Data
		if b.Type == "tool_use" && stream {
			h.calls = append(h.calls, b.Name+" ")
		} else if b.Type == "tool_use" {
			h.calls = append(h.calls, b.Name+" "+string(b.Input))
		}
	}
	switch {
	case m.Message != nil:
		used(m.Message.Usage)
	case m.Usage != nil:
		used(*m.Usage)
	}
	if m.StopReason != "" {
		h.stop = m.StopReason
	}
	h.ended = h.ended || m.Type == "message_stop"
	if m.Delta == nil {
		return nil
	}
	var d struct {
		Text, Thinking, Signature string
		PartialJSON               string `json:"partial_json"`
		StopReason                string `json:"stop_reason"`
	}
	if err := json.Unmarshal(m.Delta, &d, json.MatchCaseInsensitiveNames(true)); err != nil {
		return err
	}
	h.text, h.reasoning, h.signature = h.text+d.Text, h.reasoning+d.Thinking, h.signature+d.Signature
	if d.PartialJSON != "" {
		h.calls[len(h.calls)-1] += d.PartialJSON
	}
	if d.StopReason != "" {
		h.stop = d.StopReason
	}
	return nil
}

func (h *heard) chat(m message) {
	for _, c := range m.Choices {
		h.text += c.Delta.Content + c.Message.Content
		h.reasoning += c.Delta.ReasoningContent + c.Message.ReasoningContent
		for _, call := range append(c.Delta.ToolCalls, c.Message.ToolCalls...) {
			if call.Function.Name != "" {
				h.calls = append(h.calls, call.Function.Name+" ")
			}
			h.calls[len(h.calls)-1] += call.Function.Arguments
		}
		if c.FinishReason != "" {
			h.stop = c.FinishReason
		}
	}
	if u := m.Usage; u != nil {
		h.prompt, h.read, h.output = u.PromptTokens, u.PromptTokensDetails.CachedTokens, u.CompletionTokens
		h.write, h.reasoned = u.PromptTokensDetails.CacheWriteTokens, u.CompletionTokensDetails.ReasoningTokens
	}
}

func (h *heard) responses(m message, data jsontext.Value, stream bool) error {
	var delta string
	if m.Delta != nil {
		if err := json.Unmarshal(m.Delta, &delta); err != nil {
			return err
		}
	}
	status, u, output := m.Status, m.Usage, m.Output
	if m.Response != nil {
		status, u, output = m.Response.Status, m.Response.Usage, m.Response.Output
		if m.Response.Error != nil {
			h.code = m.Response.Error.Code
		}
	}
	switch m.Type {
	case "response.output_text.delta":
		h.text += delta
	case "response.reasoning_summary_text.delta":
		h.reasoning += delta
	case "response.output_item.added":
		if m.Item.Type == "function_call" {
			h.calls = append(h.calls, m.Item.Name+" ")
		}
	case "response.function_call_arguments.delta":
		h.calls[len(h.calls)-1] += delta
	case "response.completed", "response.incomplete":
		h.ended = true
	}
	if stream && !h.ended {
		return nil
	}
	h.stop = status
	if u != nil {
		h.prompt, h.read, h.output = u.InputTokens, u.InputTokensDetails.CachedTokens, u.OutputTokens
		h.write, h.reasoned = u.InputTokensDetails.CacheWriteTokens, u.OutputTokensDetails.ReasoningTokens
	}
	for _, item := range output {
		h.signature += item.EncryptedContent
		if stream {
			continue
		}
		for _, s := range item.Summary {
			h.reasoning += s.Text
		}
		for _, c := range item.Content {
			h.text += c.Text
		}
		if item.Type == "function_call" {
			h.calls = append(h.calls, item.Name+" "+item.Arguments)
		}
	}
	return nil
}

func (h *heard) gemini(m message) {
	h.ended = false
	for _, c := range m.Candidates {
		for _, p := range c.Content.Parts {
			if p.Thought {
				h.reasoning += p.Text
			} else {
				h.text += p.Text
			}
			h.signature += p.ThoughtSignature
			if p.FunctionCall != nil {
				h.calls = append(h.calls, p.FunctionCall.Name+" "+string(p.FunctionCall.Args))
			}
		}
		if c.FinishReason != "" {
			h.stop, h.ended = c.FinishReason, true
		}
	}
	if u := m.UsageMetadata; u != nil {
		h.prompt, h.read, h.output = u.PromptTokenCount, u.CachedContentTokenCount,
			u.CandidatesTokenCount+u.ThoughtsTokenCount
		h.reasoned = u.ThoughtsTokenCount
	}
}

// settled waits for the server to have seen the end of every request.
func settled(t testing.TB, s *llmtest.Server) []llmtest.Record {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	records, err := s.Settled(ctx)
	if err != nil {
		t.Fatalf("requests are still open: %v", err)
	}
	return records
}
