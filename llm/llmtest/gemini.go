package llmtest

import (
	"fmt"

	"github.com/winnowhq/winnow/llm"
)

var geminiStops = map[llm.Finish]string{
	llm.Stop: "STOP", llm.Length: "MAX_TOKENS", llm.Calls: "STOP", llm.Refused: "SAFETY", llm.Other: "OTHER",
}

// writeGemini writes an answer as Gemini does. Calls come whole; the signature of the thoughts comes with the first call, or with
// an empty text at the end when there is none.
func writeGemini(q Request, r Reply, a account) written {
	usage := object{
		"promptTokenCount": q.Prompt, "candidatesTokenCount": r.Output - r.Reasoned, "totalTokenCount": q.Prompt + r.Output,
		"promptTokensDetails": []object{{"modality": "TEXT", "tokenCount": q.Prompt}},
	}
	if r.Reasoned > 0 {
		usage["thoughtsTokenCount"] = r.Reasoned
	}
	if a.usage.Cache.Read > 0 {
		usage["cachedContentTokenCount"] = a.usage.Cache.Read
		usage["cacheTokensDetails"] = []object{{"modality": "TEXT", "tokenCount": a.usage.Cache.Read}}
	}
	chunk := func(parts []object, finish string) object {
		candidate := object{"index": 0}
		if len(parts) > 0 {
			candidate["content"] = object{"role": "model", "parts": parts}
		}
		if finish != "" {
			candidate["finishReason"] = finish
		}
		c := object{"candidates": []object{candidate}, "modelVersion": q.Model, "responseId": fmt.Sprintf("resp%06d", q.Number)}
		if r.Fault != NoUsage {
			c["usageMetadata"] = usage
		}
		return c
	}
	var calls []object
	for i, c := range r.Calls {
		call := object{"name": c.Name, "args": c.object()}
		if c.ID != "" {
			call["id"] = c.ID
		}
		part := object{"functionCall": call}
		if i == 0 && r.Reasoning != "" {
			part["thoughtSignature"] = sign(r.Reasoning)
		}
		calls = append(calls, part)
	}
	stop := geminiStops[r.Finish]
	if !q.Stream {
		var parts []object
		if r.Reasoning != "" {
			parts = append(parts, object{"text": r.Reasoning, "thought": true})
		}
		if r.Text != "" {
			part := object{"text": r.Text}
			if r.Reasoning != "" && len(calls) == 0 {
				part["thoughtSignature"] = sign(r.Reasoning)
			}
			parts = append(parts, part)
		}
		return written{whole: chunk(append(parts, calls...), stop)}
	}
	var w written
	for _, piece := range r.pieces(r.Reasoning) {
		w.send("", chunk([]object{{"text": piece, "thought": true}}, ""))
	}
	for _, piece := range r.pieces(r.Text) {
		w.send("", chunk([]object{{"text": piece}}, ""))
	}
	for _, call := range calls {
		w.send("", chunk([]object{call}, ""))
	}
	var last []object
	if r.Reasoning != "" && r.Text != "" && len(calls) == 0 {
		last = []object{{"text": "", "thoughtSignature": sign(r.Reasoning)}}
	}
	w.send("", chunk(last, stop))
	return w
}
