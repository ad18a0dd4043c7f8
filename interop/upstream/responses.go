package upstream

import (
	"fmt"
	"net/http"
)

// answerResponses speaks OpenAI Responses.
func answerResponses(w http.ResponseWriter, request Request, reply Reply) {
	u := reply.Usage
	prompt := u.Input + u.CacheRead + u.CacheWrite
	usage := object{
		"input_tokens": prompt, "output_tokens": u.Output, "total_tokens": prompt + u.Output,
		"input_tokens_details":  object{"cached_tokens": u.CacheRead},
		"output_tokens_details": object{"reasoning_tokens": u.Reasoning},
	}
	items := []object{}
	if reply.Text != "" || reply.Call == nil {
		items = append(items, object{
			"type": "message", "id": fmt.Sprintf("msg_%06d", request.Number), "role": "assistant", "status": "completed",
			"content": []object{{"type": "output_text", "text": reply.Text, "annotations": []object{}}},
		})
	}
	if c := reply.Call; c != nil {
		items = append(items, object{
			"type": "function_call", "id": fmt.Sprintf("fc_%06d", request.Number), "call_id": c.ID,
			"name": c.Name, "arguments": c.Arguments, "status": "completed",
		})
	}
	response := func(status string, output []object) object {
		return object{
			"id": fmt.Sprintf("resp_%06d", request.Number), "object": "response", "created_at": 1, "model": request.Model,
			"status": status, "output": output,
		}
	}
	finished := response("completed", items)
	finished["usage"] = usage
	if !request.Stream {
		respond(w, http.StatusOK, finished)
		return
	}

	s := newStream(w)
	sequence := 0
	send := func(kind string, members object) {
		members["type"], members["sequence_number"] = kind, sequence
		sequence++
		s.send(kind, members)
	}
	send("response.created", object{"response": response("in_progress", []object{})})
	for i, item := range items {
		at := func(members object) object {
			members["output_index"], members["item_id"] = i, item["id"]
			return members
		}
		if item["type"] == "message" {
			begun := object{"type": "message", "id": item["id"], "role": "assistant", "status": "in_progress", "content": []object{}}
			send("response.output_item.added", object{"output_index": i, "item": begun})
			send("response.content_part.added", at(object{"content_index": 0, "part": object{"type": "output_text", "text": "", "annotations": []object{}}}))
			send("response.output_text.delta", at(object{"content_index": 0, "delta": reply.Text}))
			send("response.output_text.done", at(object{"content_index": 0, "text": reply.Text}))
			send("response.content_part.done", at(object{"content_index": 0, "part": object{"type": "output_text", "text": reply.Text, "annotations": []object{}}}))
		} else {
			begun := object{"type": "function_call", "id": item["id"], "call_id": item["call_id"], "name": item["name"], "arguments": "", "status": "in_progress"}
			send("response.output_item.added", object{"output_index": i, "item": begun})
			send("response.function_call_arguments.delta", at(object{"delta": item["arguments"]}))
			send("response.function_call_arguments.done", at(object{"arguments": item["arguments"]}))
		}
		send("response.output_item.done", object{"output_index": i, "item": item})
	}
	send("response.completed", object{"response": finished})
}
