package llmtest

import (
	"fmt"

	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/wire"
)

var chatStops = map[llm.Finish]string{
	llm.Stop: "stop", llm.Length: "length", llm.Calls: "tool_calls", llm.Refused: "content_filter", llm.Other: "stop",
}

// created is when every answer was made.
const created = 1_760_000_000

// writeChat writes an answer as OpenAI Chat Completions does.
func writeChat(q Request, r Reply, a account) written {
	usage := object{
		"prompt_tokens": q.Prompt, "completion_tokens": r.Output, "total_tokens": q.Prompt + r.Output,
		"prompt_tokens_details": object{"cached_tokens": a.usage.Cache.Read,
			"cache_write_tokens": a.usage.Cache.Write, "audio_tokens": 0},
		"completion_tokens_details": object{"reasoning_tokens": r.Reasoned, "audio_tokens": 0,
			"accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0},
	}
	id, stop := fmt.Sprintf("chatcmpl-%06d", q.Number), chatStops[r.Finish]
	var calls []object
	for _, c := range r.Calls {
		calls = append(calls, object{"id": c.ID, "type": "function", "function": object{"name": c.Name,
			"arguments": c.Arguments}})
	}
	if !q.Stream {
		message := object{"role": "assistant", "content": r.Text, "refusal": nil}
		if r.Text == "" {
			message["content"] = nil
		}
		if r.Reasoning != "" {
			message["reasoning_content"] = r.Reasoning
		}
		if len(calls) > 0 {
			message["tool_calls"] = calls
		}
		whole := object{
			"id": id, "object": "chat.completion", "created": created, "model": q.Model, "usage": usage,
			"choices": []object{{"index": 0, "message": message, "finish_reason": stop, "logprobs": nil}},
		}
		if r.Fault == NoUsage {
			delete(whole, "usage")
		}
		if r.Tier != "" {
			whole["service_tier"] = r.Tier
		}
		return written{whole: whole}
	}

	var w written
	include := wire.ValueOf(q.Body).Get("stream_options", "include_usage").Kind() == 't' && r.Fault != NoUsage
	chunk := func(choices []object, reported any) {
		c := object{"id": id, "object": "chat.completion.chunk", "created": created, "model": q.Model,
			"choices": choices}
		if include {
			c["usage"] = reported
		}
		if r.Tier != "" {
			c["service_tier"] = r.Tier
		}
		w.send("", c)
	}
	delta := func(delta object, finish any) {
		chunk([]object{{"index": 0, "delta": delta, "finish_reason": finish, "logprobs": nil}}, nil)
	}
	delta(object{"role": "assistant", "content": "", "refusal": nil}, nil)
	for _, piece := range r.pieces(r.Reasoning) {
		delta(object{"reasoning_content": piece}, nil)
	}
	for _, piece := range r.pieces(r.Text) {
		delta(object{"content": piece}, nil)
	}
	for i, c := range r.Calls {
		delta(object{"tool_calls": []object{{"index": i, "id": c.ID, "type": "function",
			"function": object{"name": c.Name, "arguments": ""}}}}, nil)
		for _, piece := range r.pieces(c.Arguments) {
			delta(object{"tool_calls": []object{{"index": i, "function": object{"arguments": piece}}}}, nil)
		}
	}
	delta(object{}, stop)
	if include {
		chunk([]object{}, usage)
	}
	w.events = append(w.events, event{data: "[DONE]"})
	return w
}
