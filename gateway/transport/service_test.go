package transport

import (
	"net/http"
	"testing"

	"github.com/winnowhq/winnow/wire"
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
		kind         wire.Protocol
		answer, want string
	}{
		"Messages": {wire.Anthropic, `{"content":[],"usage":{"input_tokens":9,"output_tokens":1,"service_tier":"batch"}}`, "batch"},
		"Messages, fast": {wire.Anthropic, stream(`{"type":"message_start","message":{"usage":{"input_tokens":9,` +
			`"speed":"fast","service_tier":"standard","inference_geo":"us"}}}`), "fast+us"},
		"Messages, usual": {wire.Anthropic, `{"content":[],"usage":{"input_tokens":9,"service_tier":"standard",` +
			`"inference_geo":"not_available"}}`, ""},
		"Chat": {wire.Chat, `{"choices":[],"usage":{"prompt_tokens":9},"service_tier":"priority"}`, "priority"},
		"Chat, streamed": {wire.Chat, stream(`{"choices":[{"index":0,"delta":{"content":"a"}}],"service_tier":"flex"}`,
			"[DONE]"), "flex"},
		"Responses": {wire.Responses, `{"output":[],"status":"completed","service_tier":"priority","usage":{}}`, "priority"},
		"Responses, streamed": {wire.Responses, stream(`{"type":"response.created","response":{"service_tier":"auto"}}`,
			`{"type":"response.completed","response":{"service_tier":"default"}}`), ""},
		"Gemini, a list": {wire.Gemini, `[{"candidates":[{"content":{"parts":[{"text":"a"}]}}]},
			{"usageMetadata":{"promptTokenCount":7}}]`, ""},
	} {
		head := http.Header{}
		if c.answer[0] == 'd' {
			head.Set("Content-Type", "text/event-stream")
		}
		a := understood(providerProtocols[c.kind], head, []byte(c.answer))
		if got := a.Usage.Tier; got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if c.kind == wire.Gemini && (a.Usage.Input != 7 || len(a.Parts) != 1) {
			t.Errorf("%s: %+v", name, a)
		}
	}
}
