package llmtest

import (
	"fmt"

	"github.com/winnowhq/winnow/llm"
)

var geminiStops = map[llm.Finish]string{
	llm.Stop: "STOP", llm.Length: "MAX_TOKENS", llm.Calls: "STOP", llm.Refused: "SAFETY", llm.Other: "OTHER",
}

// writeGemini writes an answer as Gemini does. Calls come whole; the signature of the thoughts
// comes with the first call, or with an empty text at the end if there are no calls. Each chunk of
// a stream reports what was taken so far.
func writeGemini(q Request, r Reply, a account) written {
	said, thought := r.Output-r.Reasoned, r.Reasoned
	chunk := func(parts []object, finish string) object {
		candidate := object{"index": 0}
		if len(parts) > 0 {
			candidate["content"] = object{"role": "model", "parts": parts}
		}
		if finish != "" {
			candidate["finishReason"] = finish
		}
		c := object{"candidates": []object{candidate}, "modelVersion": q.Model,
			"responseId": fmt.Sprintf("resp%06d", q.Number)}
		if r.Fault != NoUsage {
			c["usageMetadata"] = geminiUsage(q, a, said, thought)
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
			part["thoughtSignature"] = sign(r.Reasoning, "")
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
				part["thoughtSignature"] = sign(r.Reasoning, "")
			}
			parts = append(parts, part)
		}
		return written{whole: chunk(append(parts, calls...), stop)}
	}
	var w written
	thoughts, texts := r.pieces(r.Reasoning), r.pieces(r.Text)
	said, thought = 0, 0
	for i, piece := range thoughts {
		thought = r.Reasoned * (i + 1) / len(thoughts)
		w.send("", chunk([]object{{"text": piece, "thought": true}}, ""))
	}
	thought = r.Reasoned
	for i, piece := range texts {
		said = (r.Output - r.Reasoned) * (i + 1) / (len(texts) + len(calls))
		w.send("", chunk([]object{{"text": piece}}, ""))
	}
	for i, call := range calls {
		said = (r.Output - r.Reasoned) * (len(texts) + i + 1) / (len(texts) + len(calls))
		w.send("", chunk([]object{call}, ""))
	}
	said = r.Output - r.Reasoned
	var last []object
	if r.Reasoning != "" && r.Text != "" && len(calls) == 0 {
		last = []object{{"text": "", "thoughtSignature": sign(r.Reasoning, "")}}
	}
	w.send("", chunk(last, stop))
	return w
}

// geminiUsage is what is reported once said and thought tokens were generated. Figures that are
// zero are left out.
func geminiUsage(q Request, a account, said, thought int) object {
	usage := object{
		"promptTokenCount": q.Prompt, "totalTokenCount": q.Prompt + said + thought,
		"promptTokensDetails": []object{{"modality": "TEXT", "tokenCount": q.Prompt}},
	}
	if said > 0 {
		usage["candidatesTokenCount"] = said
	}
	if thought > 0 {
		usage["thoughtsTokenCount"] = thought
	}
	if read := a.usage.Cache.Read; read > 0 {
		usage["cachedContentTokenCount"] = read
		usage["cacheTokensDetails"] = []object{{"modality": "TEXT", "tokenCount": read}}
	}
	return usage
}
