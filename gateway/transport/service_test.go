package transport

import (
	"net/http"
	"testing"

	"github.com/winnowhq/winnow/format/body"
)

// Which service answered is read of each answer, streamed or not.
func TestUnderstood_theServiceThatAnswered(t *testing.T) {
	stream := func(events ...string) (text string) {
		for _, e := range events {
			text += "data: " + e + "\n\n"
		}
		return text
	}
	for name, c := range map[string]struct {
		kind         body.Kind
		answer, want string
	}{
		"Messages": {body.Anthropic, `{"content":[],"usage":{"input_tokens":9,"output_tokens":1,"service_tier":"batch"}}`, "batch"},
		"Messages, fast": {body.Anthropic, stream(`{"type":"message_start","message":{"usage":{"input_tokens":9,` +
			`"speed":"fast","service_tier":"standard","inference_geo":"us"}}}`), "fast+us"},
		"Messages, usual": {body.Anthropic, `{"content":[],"usage":{"input_tokens":9,"service_tier":"standard",` +
			`"inference_geo":"not_available"}}`, ""},
		"Chat": {body.Chat, `{"choices":[],"usage":{"prompt_tokens":9},"service_tier":"priority"}`, "priority"},
		"Chat, streamed": {body.Chat, stream(`{"choices":[{"index":0,"delta":{"content":"a"}}],"service_tier":"flex"}`,
			"[DONE]"), "flex"},
		"Responses": {body.Responses, `{"output":[],"status":"completed","service_tier":"priority","usage":{}}`, "priority"},
		"Responses, streamed": {body.Responses, stream(`{"type":"response.created","response":{"service_tier":"auto"}}`,
			`{"type":"response.completed","response":{"service_tier":"default"}}`), ""},
		"Gemini, a list": {body.Gemini, `[{"candidates":[{"content":{"parts":[{"text":"a"}]}}]},
			{"usageMetadata":{"promptTokenCount":7}}]`, ""},
	} {
		head := http.Header{}
		if c.answer[0] == 'd' {
			head.Set("Content-Type", "text/event-stream")
		}
		a := understood(protocols[c.kind], head, []byte(c.answer))
		if got := a.Usage.Tier; got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if c.kind == body.Gemini && (a.Usage.Input != 7 || len(a.Parts) != 1) {
			t.Errorf("%s: %+v", name, a)
		}
	}
}
