package llmtest

import (
	"cmp"
	"fmt"

	"github.com/winnowhq/winnow/llm"
)

var anthropicStops = map[llm.Finish]string{
	llm.Stop: "end_turn", llm.Length: "max_tokens", llm.Calls: "tool_use", llm.Refused: "refusal",
	llm.Other: "pause_turn",
}

// writeAnthropic writes an answer as Anthropic Messages does.
func writeAnthropic(q Request, r Reply, a account) written {
	spent := func(output, reasoned int) object {
		return object{
			"input_tokens": a.usage.Input, "output_tokens": output,
			"output_tokens_details":   object{"thinking_tokens": reasoned},
			"cache_read_input_tokens": a.usage.Cache.Read, "cache_creation_input_tokens": a.usage.Cache.Write,
		}
	}
	// What a whole answer and the beginning of a stream tell beside; the end of a stream does not
	// repeat it.
	full := func(output, reasoned int) object {
		usage := spent(output, reasoned)
		usage["cache_creation"] = object{"ephemeral_5m_input_tokens": a.usage.Cache.Write - a.hour,
			"ephemeral_1h_input_tokens": a.hour}
		usage["service_tier"] = cmp.Or(r.Tier, "standard")
		return usage
	}
	if r.Fault == NoUsage {
		spent = func(int, int) object { return object{"input_tokens": 0, "output_tokens": 0} }
		full = spent
	}
	message := func(content []object, stop any, usage object) object {
		return object{
			"id": fmt.Sprintf("msg_%06d", q.Number), "type": "message", "role": "assistant", "model": q.Model,
			"content": content, "stop_reason": stop, "stop_sequence": nil, "usage": usage,
		}
	}
	bind := ""
	if q.binds {
		bind = bound(q.prompt.blocks)
	}
	signature := sign(r.Reasoning, bind)
	content := []object{}
	if r.Reasoning != "" && r.Redacted {
		content = append(content, object{"type": "redacted_thinking", "data": signature})
	} else if r.Reasoning != "" {
		content = append(content, object{"type": "thinking", "thinking": r.Reasoning, "signature": signature})
	}
	if r.Text != "" {
		content = append(content, object{"type": "text", "text": r.Text})
	}
	for _, c := range r.Calls {
		content = append(content, object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": c.object()})
	}
	stop := anthropicStops[r.Finish]
	if !q.Stream {
		return written{whole: message(content, stop, full(r.Output, r.Reasoned))}
	}

	var w written
	w.send("message_start", object{"type": "message_start", "message": message([]object{}, nil,
		full(min(1, r.Output), 0))})
	first := len(content) - len(r.Calls)
	for i, block := range content {
		start := object{}
		for name, value := range block {
			start[name] = value
		}
		var deltas []object
		deltasOf := func(kind, member, text string) {
			for _, piece := range r.pieces(text) {
				deltas = append(deltas, object{"type": kind, member: piece})
			}
		}
		switch block["type"] {
		case "thinking":
			start["thinking"], start["signature"] = "", ""
			deltasOf("thinking_delta", "thinking", r.Reasoning)
			deltas = append(deltas, object{"type": "signature_delta", "signature": signature})
		case "text":
			start["text"] = ""
			deltasOf("text_delta", "text", r.Text)
		case "tool_use":
			start["input"] = object{}
			deltasOf("input_json_delta", "partial_json", r.Calls[i-first].Arguments)
		}
		w.send("content_block_start", object{"type": "content_block_start", "index": i, "content_block": start})
		if i == 0 {
			w.send("ping", object{"type": "ping"})
		}
		for _, delta := range deltas {
			w.send("content_block_delta", object{"type": "content_block_delta", "index": i, "delta": delta})
		}
		w.send("content_block_stop", object{"type": "content_block_stop", "index": i})
	}
	w.send("message_delta", object{"type": "message_delta", "delta": object{"stop_reason": stop, "stop_sequence": nil},
		"usage": spent(r.Output, r.Reasoned)})
	w.send("message_stop", object{"type": "message_stop"})
	return w
}
