package llmtest

import (
	"fmt"

	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/wire"
)

// responseHead is a response without output.
func responseHead(number int, model, status string) object {
	return object{
		"id": fmt.Sprintf("resp_%06d", number), "object": "response", "created_at": created, "model": model,
		"status": status,
		"output": []object{}, "error": nil, "incomplete_details": nil, "instructions": nil, "metadata": object{},
		"parallel_tool_calls": true,
		"temperature":         1, "tool_choice": "auto", "tools": []object{}, "top_p": 1, "usage": nil,
	}
}

// writeResponses writes an answer as OpenAI Responses does.
func writeResponses(q Request, r Reply, a account) written {
	var items []object
	if r.Reasoning != "" {
		item := object{
			"type": "reasoning", "id": fmt.Sprintf("rs_%06d", q.Number), "status": "completed",
			"summary": []object{{"type": "summary_text", "text": r.Reasoning}},
		}
		if includes(q, "reasoning.encrypted_content") {
			item["encrypted_content"] = sign(r.Reasoning, "")
		}
		items = append(items, item)
	}
	if r.Text != "" {
		items = append(items, object{
			"type": "message", "id": fmt.Sprintf("msg_%06d", q.Number), "role": "assistant", "status": "completed",
			"content": []object{{"type": "output_text", "text": r.Text, "annotations": []object{},
				"logprobs": []object{}}},
		})
	}
	for i, c := range r.Calls {
		items = append(items, object{
			"type": "function_call", "id": fmt.Sprintf("fc_%06d%02d", q.Number, i), "call_id": c.ID,
			"name": c.Name, "arguments": c.Arguments, "status": "completed",
		})
		if c.Namespace != "" {
			items[len(items)-1]["namespace"] = c.Namespace
		}
	}
	status, end := "completed", "response.completed"
	var details any
	if r.Finish == llm.Length || r.Finish == llm.Refused {
		reason := map[llm.Finish]string{llm.Length: "max_output_tokens", llm.Refused: "content_filter"}[r.Finish]
		status, end, details = "incomplete", "response.incomplete", object{"reason": reason}
		if n := len(items); n > 0 && items[n-1]["type"] != "reasoning" {
			items[n-1]["status"] = status // the item that was cut
		}
	}
	whole := responseHead(q.Number, q.Model, status)
	whole["incomplete_details"] = details
	if r.Tier != "" {
		whole["service_tier"] = r.Tier
	}
	if len(items) > 0 {
		whole["output"] = items
	}
	if r.Fault != NoUsage {
		whole["usage"] = object{
			"input_tokens": q.Prompt, "output_tokens": r.Output, "total_tokens": q.Prompt + r.Output,
			"input_tokens_details": object{"cached_tokens": a.usage.Cache.Read,
				"cache_write_tokens": a.usage.Cache.Write},
			"output_tokens_details": object{"reasoning_tokens": r.Reasoned},
		}
	}
	if !q.Stream {
		return written{whole: whole}
	}

	var w written
	send := func(kind string, members object) {
		members["type"], members["sequence_number"] = kind, len(w.events)
		w.send(kind, members)
	}
	send("response.created", object{"response": responseHead(q.Number, q.Model, "in_progress")})
	send("response.in_progress", object{"response": responseHead(q.Number, q.Model, "in_progress")})
	for i, item := range items {
		begun := object{}
		for name, value := range item {
			begun[name] = value
		}
		begun["status"] = "in_progress"
		at := func(members object) object {
			members["output_index"], members["item_id"] = i, item["id"]
			return members
		}
		switch item["type"] {
		case "reasoning":
			begun["summary"] = []object{}
			if _, secret := begun["encrypted_content"]; secret {
				begun["encrypted_content"] = ""
			}
			send("response.output_item.added", object{"output_index": i, "item": begun})
			send("response.reasoning_summary_part.added", at(object{"summary_index": 0,
				"part": object{"type": "summary_text", "text": ""}}))
			for _, piece := range r.pieces(r.Reasoning) {
				send("response.reasoning_summary_text.delta", at(object{"summary_index": 0, "delta": piece}))
			}
			send("response.reasoning_summary_text.done", at(object{"summary_index": 0, "text": r.Reasoning}))
			send("response.reasoning_summary_part.done", at(object{"summary_index": 0,
				"part": object{"type": "summary_text", "text": r.Reasoning}}))
		case "message":
			begun["content"] = []object{}
			part := func(text string) object {
				return object{"type": "output_text", "text": text, "annotations": []object{}, "logprobs": []object{}}
			}
			send("response.output_item.added", object{"output_index": i, "item": begun})
			send("response.content_part.added", at(object{"content_index": 0, "part": part("")}))
			for _, piece := range r.pieces(r.Text) {
				send("response.output_text.delta", at(object{"content_index": 0, "delta": piece,
					"logprobs": []object{}}))
			}
			send("response.output_text.done", at(object{"content_index": 0, "text": r.Text, "logprobs": []object{}}))
			send("response.content_part.done", at(object{"content_index": 0, "part": part(r.Text)}))
		default:
			begun["arguments"] = ""
			send("response.output_item.added", object{"output_index": i, "item": begun})
			for _, piece := range r.pieces(item["arguments"].(string)) {
				send("response.function_call_arguments.delta", at(object{"delta": piece}))
			}
			send("response.function_call_arguments.done", at(object{"arguments": item["arguments"],
				"name": item["name"]}))
		}
		send("response.output_item.done", object{"output_index": i, "item": item})
	}
	send(end, object{"response": whole})
	return w
}

// includes reports whether a request asks for something beside the answer.
func includes(q Request, name string) bool {
	for included := range wire.ValueOf(q.Body).Get("include").Values() {
		if included.String() == name {
			return true
		}
	}
	return false
}
