package upstream

import (
	"fmt"
	"net/http"
)

// answerChat speaks OpenAI Chat Completions.
func answerChat(w http.ResponseWriter, request Request, reply Reply) {
	u := reply.Usage
	prompt := u.Input + u.CacheRead + u.CacheWrite
	usage := object{
		"prompt_tokens": prompt, "completion_tokens": u.Output, "total_tokens": prompt + u.Output,
		"prompt_tokens_details":     object{"cached_tokens": u.CacheRead},
		"completion_tokens_details": object{"reasoning_tokens": u.Reasoning},
	}
	message := object{"role": "assistant", "content": reply.Text}
	finish := "stop"
	if c := reply.Call; c != nil {
		finish = "tool_calls"
		message["tool_calls"] = []object{{"index": 0, "id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": c.Arguments}}}
	}
	id := fmt.Sprintf("chatcmpl-%06d", request.Number)
	if !request.Stream {
		respond(w, http.StatusOK, object{
			"id": id, "object": "chat.completion", "created": 1, "model": request.Model, "usage": usage,
			"choices": []object{{"index": 0, "message": message, "finish_reason": finish}},
		})
		return
	}
	chunk := func(delta object, finish any) object {
		return object{
			"id": id, "object": "chat.completion.chunk", "created": 1, "model": request.Model,
			"choices": []object{{"index": 0, "delta": delta, "finish_reason": finish}},
		}
	}
	s := newStream(w)
	s.send("", chunk(message, nil))
	last := chunk(object{}, finish)
	last["usage"] = usage
	s.send("", last)
	fmt.Fprint(w, "data: [DONE]\n\n")
}
