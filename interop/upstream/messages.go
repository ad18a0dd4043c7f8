package upstream

import (
	"fmt"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"
)

// answerMessages speaks Anthropic Messages.
func answerMessages(w http.ResponseWriter, request Request, reply Reply) {
	usage := object{
		"input_tokens": reply.Usage.Input, "output_tokens": reply.Usage.Output,
		"cache_read_input_tokens": reply.Usage.CacheRead, "cache_creation_input_tokens": reply.Usage.CacheWrite,
	}
	message := object{
		"id": fmt.Sprintf("msg_%06d", request.Number), "type": "message", "role": "assistant", "model": request.Model,
		"stop_reason": nil, "stop_sequence": nil, "usage": usage,
	}
	stop := "end_turn"
	if reply.Call != nil {
		stop = "tool_use"
	}
	if !request.Stream {
		content := []object{}
		if reply.Reasoning != "" {
			content = append(content, object{"type": "thinking", "thinking": reply.Reasoning, "signature": "c2lnbmF0dXJl"})
		}
		if reply.Text != "" || reply.Call == nil {
			content = append(content, object{"type": "text", "text": reply.Text})
		}
		if c := reply.Call; c != nil {
			content = append(content, object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": jsontext.Value(c.Arguments)})
		}
		message["content"], message["stop_reason"] = content, stop
		respond(w, http.StatusOK, message)
		return
	}

	s := newStream(w)
	message["content"] = []object{}
	s.send("message_start", object{"type": "message_start", "message": message})
	at := 0
	block := func(start object, deltas ...object) {
		s.send("content_block_start", object{"type": "content_block_start", "index": at, "content_block": start})
		for _, delta := range deltas {
			s.send("content_block_delta", object{"type": "content_block_delta", "index": at, "delta": delta})
		}
		s.send("content_block_stop", object{"type": "content_block_stop", "index": at})
		at++
	}
	if reply.Reasoning != "" {
		block(object{"type": "thinking", "thinking": "", "signature": ""},
			object{"type": "thinking_delta", "thinking": reply.Reasoning},
			object{"type": "signature_delta", "signature": "c2lnbmF0dXJl"})
	}
	if reply.Text != "" || reply.Call == nil {
		block(object{"type": "text", "text": ""}, object{"type": "text_delta", "text": reply.Text})
	}
	if c := reply.Call; c != nil {
		block(object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": object{}},
			object{"type": "input_json_delta", "partial_json": c.Arguments})
	}
	s.send("message_delta", object{
		"type": "message_delta", "delta": object{"stop_reason": stop, "stop_sequence": nil},
		"usage": object{"output_tokens": reply.Usage.Output},
	})
	s.send("message_stop", object{"type": "message_stop"})
}
