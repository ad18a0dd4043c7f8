package tworuns

import (
	"encoding/json"
	"errors"

	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/session"
)

type object = map[string]any

// form is how a client writes a protocol.
type form struct {
	path    func(Scene) string
	user    func(text string) any
	results func(calls []session.Part) []any
	also    func(history []any, text string) []any // says something more to the model
	body    func(Scene, []any) any
	read    func(answer []byte) (answered, error)
}

const systemPrompt = "You are a coding agent. You work in the folder /home/dev/project. Read before you edit, and say " +
	"briefly what you did."

// described are the tools of the client, by what they take.
var described = []string{"Read", "Edit", "Write", "Bash", "Grep"}

func declared(wrap func(name string, schema object) any) (all []any) {
	for _, name := range described {
		all = append(all, wrap(name, object{"type": "object", "properties": object{}}))
	}
	return all
}

func plainResult(p session.Part) string {
	if p.State.Error != "" {
		return p.State.Error
	}
	return p.State.Output
}

func appended(history []any, message any) []any { return append(history, message) }

var forms = map[llmtest.Protocol]form{
	llmtest.Anthropic: {
		path: func(Scene) string { return "/v1/messages" },
		user: func(text string) any {
			return object{"role": "user", "content": []any{object{"type": "text", "text": text}}}
		},
		results: func(calls []session.Part) []any {
			var blocks []any
			for _, p := range calls {
				block := object{"type": "tool_result", "tool_use_id": p.CallID, "content": plainResult(p)}
				if p.State.Error != "" {
					block["is_error"] = true
				}
				blocks = append(blocks, block)
			}
			return []any{object{"role": "user", "content": blocks}}
		},
		also: func(history []any, text string) []any {
			block := object{"type": "text", "text": text}
			last, ok := history[len(history)-1].(object)
			if !ok || last["role"] != "user" {
				return append(history, object{"role": "user", "content": []any{block}})
			}
			blocks := append(append([]any(nil), last["content"].([]any)...), block)
			history[len(history)-1] = object{"role": "user", "content": blocks}
			return history
		},
		body: func(s Scene, history []any) any {
			mark := object{"type": "ephemeral"}
			if s.Hour {
				mark["ttl"] = "1h"
			}
			b := object{
				"model": s.Model, "max_tokens": 8192, "messages": marked(history, mark),
				"system": []any{object{"type": "text", "text": systemPrompt, "cache_control": mark}},
				"tools": declared(func(name string, schema object) any {
					return object{"name": name, "description": name, "input_schema": schema}
				}),
			}
			if s.Thinks {
				b["thinking"] = object{"type": "enabled", "budget_tokens": 4096}
			}
			return b
		},
		read: func(text []byte) (answered, error) {
			var a struct {
				Content []json.RawMessage
				Usage   struct {
					Input  int `json:"input_tokens"`
					Output int `json:"output_tokens"`
					Read   int `json:"cache_read_input_tokens"`
					Write  int `json:"cache_creation_input_tokens"`
				}
			}
			if err := json.Unmarshal(text, &a); err != nil || len(a.Content) == 0 {
				return answered{}, errors.Join(err, errors.New("no content"))
			}
			said := answered{prompt: a.Usage.Input + a.Usage.Output + a.Usage.Read + a.Usage.Write,
				messages: []any{object{"role": "assistant", "content": a.Content}}}
			for _, block := range a.Content {
				var b struct{ Type, Text string }
				if err := json.Unmarshal(block, &b); err == nil && b.Type == "text" {
					said.text += b.Text
				}
			}
			return said, nil
		},
	},
	llmtest.Chat: {
		path: func(Scene) string { return "/v1/chat/completions" },
		user: func(text string) any { return object{"role": "user", "content": text} },
		results: func(calls []session.Part) (all []any) {
			for _, p := range calls {
				all = append(all, object{"role": "tool", "tool_call_id": p.CallID, "content": plainResult(p)})
			}
			return all
		},
		also: func(history []any, text string) []any {
			return appended(history, object{"role": "user", "content": text})
		},
		body: func(s Scene, history []any) any {
			return object{
				"model": s.Model, "max_tokens": 8192,
				"messages": append([]any{object{"role": "system", "content": systemPrompt}}, history...),
				"tools": declared(func(name string, schema object) any {
					return object{"type": "function", "function": object{"name": name, "parameters": schema}}
				}),
			}
		},
		read: func(text []byte) (answered, error) {
			var a struct {
				Choices []struct{ Message json.RawMessage }
				Usage   struct {
					Total int `json:"total_tokens"`
				}
			}
			if err := json.Unmarshal(text, &a); err != nil || len(a.Choices) == 0 {
				return answered{}, errors.Join(err, errors.New("no choice"))
			}
			var m struct{ Content string }
			if err := json.Unmarshal(a.Choices[0].Message, &m); err != nil {
				return answered{}, err
			}
			return answered{m.Content, []any{a.Choices[0].Message}, a.Usage.Total}, nil
		},
	},
	llmtest.Responses: {
		path: func(Scene) string { return "/v1/responses" },
		user: func(text string) any {
			return object{"type": "message", "role": "user",
				"content": []any{object{"type": "input_text", "text": text}}}
		},
		results: func(calls []session.Part) (all []any) {
			for _, p := range calls {
				all = append(all, object{"type": "function_call_output", "call_id": p.CallID, "output": plainResult(p)})
			}
			return all
		},
		also: func(history []any, text string) []any {
			return appended(history, object{"type": "message", "role": "user",
				"content": []any{object{"type": "input_text", "text": text}}})
		},
		body: func(s Scene, history []any) any {
			return object{
				"model": s.Model, "max_output_tokens": 8192, "instructions": systemPrompt, "input": history,
				"store": false,
				"tools": declared(func(name string, schema object) any {
					return object{"type": "function", "name": name, "parameters": schema}
				}),
			}
		},
		read: func(text []byte) (answered, error) {
			var a struct {
				Output []json.RawMessage
				Usage  struct {
					Total int `json:"total_tokens"`
				}
			}
			if err := json.Unmarshal(text, &a); err != nil || len(a.Output) == 0 {
				return answered{}, errors.Join(err, errors.New("no output"))
			}
			said := answered{prompt: a.Usage.Total}
			for _, item := range a.Output {
				said.messages = append(said.messages, item)
				var m struct{ Content []struct{ Text string } }
				if err := json.Unmarshal(item, &m); err == nil {
					for _, part := range m.Content {
						said.text += part.Text
					}
				}
			}
			return said, nil
		},
	},
	llmtest.Gemini: {
		path: func(s Scene) string { return "/v1beta/models/" + s.Model + ":generateContent" },
		user: func(text string) any {
			return object{"role": "user", "parts": []any{object{"text": text}}}
		},
		results: func(calls []session.Part) []any {
			var parts []any
			for _, p := range calls {
				parts = append(parts, object{"functionResponse": object{"name": p.Tool, "id": p.CallID,
					"response": object{"output": plainResult(p)}}})
			}
			return []any{object{"role": "user", "parts": parts}}
		},
		also: func(history []any, text string) []any {
			return appended(history, object{"role": "user", "parts": []any{object{"text": text}}})
		},
		body: func(s Scene, history []any) any {
			return object{
				"contents":          history,
				"systemInstruction": object{"parts": []any{object{"text": systemPrompt}}},
				"generationConfig":  object{"maxOutputTokens": 8192},
				"tools": []any{object{"functionDeclarations": declared(func(name string, schema object) any {
					return object{"name": name, "parameters": schema}
				})}},
			}
		},
		read: func(text []byte) (answered, error) {
			var a struct {
				Candidates []struct{ Content json.RawMessage }
				Usage      struct {
					Total int `json:"totalTokenCount"`
				} `json:"usageMetadata"`
			}
			if err := json.Unmarshal(text, &a); err != nil || len(a.Candidates) == 0 {
				return answered{}, errors.Join(err, errors.New("no candidate"))
			}
			var m struct{ Parts []struct{ Text string } }
			if err := json.Unmarshal(a.Candidates[0].Content, &m); err != nil {
				return answered{}, err
			}
			said := answered{messages: []any{a.Candidates[0].Content}, prompt: a.Usage.Total}
			for _, part := range m.Parts {
				said.text += part.Text
			}
			return said, nil
		},
	},
}

// marked is a history with a cache mark on its last block.
func marked(history []any, mark object) []any {
	history = append([]any(nil), history...)
	last := history[len(history)-1].(object)
	blocks := append([]any(nil), last["content"].([]any)...)
	block := object{"cache_control": mark}
	for name, value := range blocks[len(blocks)-1].(object) {
		block[name] = value
	}
	blocks[len(blocks)-1] = block
	history[len(history)-1] = object{"role": last["role"], "content": blocks}
	return history
}
