package providers

import (
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/wire"
)

// finished is a stream that says "Half" and why it ends, as each dialect has it.
func (d dialect) finished(reason string) []string {
	switch d.protocol {
	case wire.Anthropic:
		return named(flat(anthropicStart, anthropicText(0, "Half"), anthropicEnd(reason), anthropicStop)...)
	case wire.Chat:
		return sse(flat(chatText("Half"), chatEnd(reason))...)
	case wire.Responses:
		return named(flat(responsesStart, responsesText(0, "Half"), responsesEnd("incomplete", "incomplete",
			`"incomplete_details":{"reason":"`+reason+`"},`))...)
	}
	return sse(flat(geminiText("Half"), geminiChunk(`{"text":""}`, `"finishReason":"`+reason+`",`))...)
}

// Whatever reason a provider gives: what it broke off is never taken for whole.
func TestAsk_everyReasonOfTheEnd(t *testing.T) {
	reasons := map[wire.Protocol]map[llm.Finish][]string{
		wire.Anthropic: {llm.Stop: {"end_turn", "stop_sequence"}, llm.Length: {"max_tokens",
			"model_context_window_exceeded"}, llm.Refused: {"refusal"}, llm.Other: {"pause_turn", "newer"}},
		wire.Chat: {llm.Stop: {"stop", "eos", "end_turn", "newer"}, llm.Length: {"length", "max_tokens", "MAX_TOKENS",
			"max_output_tokens", "model_length"},
			llm.Refused: {"content_filter", "SAFETY", "RECITATION", "refusal"},
			llm.Other:   {"abort", "pause_turn", "MALFORMED_FUNCTION_CALL", "tool_calls"}},
		wire.Responses: {llm.Length: {"max_output_tokens"}, llm.Refused: {"content_filter"}, llm.Other: {"newer"}},
		wire.Gemini: {llm.Stop: {"STOP"}, llm.Length: {"MAX_TOKENS"}, llm.Refused: {"SAFETY", "RECITATION", "BLOCKLIST",
			"PROHIBITED_CONTENT", "SPII", "LANGUAGE", "MODEL_ARMOR"},
			llm.Other: {"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "OTHER", "NEWER"}},
	}
	each(t, func(t *testing.T, d dialect) {
		for want, all := range reasons[d.protocol] {
			for _, reason := range all {
				a, err := client(t, d, serve(t, events(d.finished(reason)))).Ask(t.Context(), question())
				if err != nil || a.Finish != want || a.Text() != "Half" || a.Usage.Input == 0 {
					t.Errorf("%s: finish %s, text %q, usage %+v, error %v; want %s", reason, a.Finish, a.Text(),
						a.Usage, err, want)
				}
			}
		}
	})
}

// What compatible servers leave out, or say in their own way.
func TestAsk_whatServersLeaveOut(t *testing.T) {
	anthropic := func(data ...any) http.HandlerFunc { return events(named(flat(data...)...)) }
	text := anthropicText(0, "Hello world")
	for _, c := range []struct {
		name   string
		d      dialect
		answer http.HandlerFunc
		finish llm.Finish // "" for an error
		kind   llm.Kind
	}{
		{"no message_stop", anthropicDialect, anthropic(anthropicStart, text, anthropicEnd("end_turn")), llm.Stop, ""},
		{"no reason", anthropicDialect, anthropic(anthropicStart, text, anthropicStop), llm.Stop, ""},
		{"neither", anthropicDialect, anthropic(anthropicStart, text), "", llm.Cut},
		{"an event that is newer", anthropicDialect, anthropic(anthropicStart, `{"type":"newer","x":1}`, text,
			anthropicEnd("end_turn"), anthropicStop), llm.Stop, ""},
		{"a refusal in an item", responsesDialect, events(named(responsesStart,
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"msg_1",`+
				`"role":"assistant","status":"completed","content":[{"type":"refusal","refusal":"I will not."}]}}`,
			responsesEnd("completed", "completed", ""))), llm.Refused, ""},
		{"an event named error", chatDialect, events(sse(chatText("Hello")...),
			[]string{"event: error\ndata: {\"message\":\"out of memory\",\"code\":500}\n\n"}), "", llm.Server},
		{"an event named error, with words alone", chatDialect, events(sse(chatText("Hello")...),
			[]string{"event: error\ndata: {\"error\":{\"message\":\"out of memory\"}}\n\n"}), "", llm.Server},
		{"an event named error, about the length", chatDialect,
			events([]string{"event: error\ndata: {\"detail\":\"Context size has been exceeded.\"}\n\n"}), "",
			llm.Overflow},
		{"an error that is empty", chatDialect,
			events(sse(`{"error":{},"choices":[{"index":0,"delta":{"content":"Hello"},"finish_reason":"stop"}]}`,
				"[DONE]")), llm.Stop, ""},
		{"an answer of usage alone", geminiDialect,
			events(sse(`{"usageMetadata":{"promptTokenCount":10,"totalTokenCount":10}}`)), "", llm.Cut},
	} {
		t.Run(string(c.d.protocol)+", "+c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, err := client(t, c.d, serve(t, c.answer)).Ask(t.Context(), question())
				if c.finish == "" {
					failure(t, err, c.kind)
				} else if err != nil || a.Finish != c.finish {
					t.Errorf("finish %s, error %v; want %s", a.Finish, err, c.finish)
				}
			})
		})
	}
}
