package providers

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
	"github.com/winnowhq/winnow/wire"
	wireanthropic "github.com/winnowhq/winnow/wire/anthropic"
	wiregemini "github.com/winnowhq/winnow/wire/gemini"
	wirechat "github.com/winnowhq/winnow/wire/openaichat"
	wireresponses "github.com/winnowhq/winnow/wire/responses"
)

// dialect is how one protocol says what the tests have said. Streams are lists of events.
type dialect struct {
	protocol wire.Protocol
	list     string // the member of a body that holds the conversation

	text     func(pieces ...string) []string // with the usage that usage expects
	thinking []string                        // thoughts and the text "Done."
	call     []string                        // a call of read, with {"path":"a.go","line":12345678901}
	length   []string                        // "Half" and the output limit
	refused  []string
	tail     int    // how many events may be missing at the end and the answer is whole
	overload string // an event that reports an overload
	limited  string // an event that reports a rate limit, to wait 11 s
	overflow string // the body with which a prompt is refused that is too long
	body     string // the body of another refusal, with %s in its message

	usage session.Usage
	// written are what thinking and call must be written as again.
	writtenThinking, writtenCall []string
	encode                       func(messages []session.Message, o wire.Options) ([]jsontext.Value, error)
}

func sse(data ...string) []string {
	events := make([]string, len(data))
	for i, d := range data {
		events[i] = "data: " + d + "\n\n"
	}
	return events
}

// named gives events the names that stand in them.
func named(data ...string) []string {
	events := make([]string, len(data))
	for i, d := range data {
		events[i] = "event: " + wire.ValueOf([]byte(d)).Get("type").String() + "\ndata: " + d + "\n\n"
	}
	return events
}

func quote(text string) string { return string(span.Quote(text)) }

var dialects = []dialect{anthropicDialect, chatDialect, responsesDialect, geminiDialect}

const anthropicStart = `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant",` +
	`"content":[],"model":"m","stop_reason":null,` +
	`"usage":{"input_tokens":100,"cache_read_input_tokens":900,"cache_creation_input_tokens":50,"output_tokens":1}}}`

func anthropicEnd(reason string) string {
	return `{"type":"message_delta","delta":{"stop_reason":"` + reason +
		`","stop_sequence":null},"usage":{"output_tokens":50,"output_tokens_details":{"thinking_tokens":20}}}`
}

const anthropicStop = `{"type":"message_stop"}`

func anthropicText(index int, pieces ...string) []string {
	events := []string{fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":{"type":"text","text":""}}`, index), `{"type":"ping"}`}
	for _, p := range pieces {
		events = append(events, fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"text_delta",`+
			`"text":%s}}`, index, quote(p)))
	}
	return append(events, fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, index))
}

func flat(parts ...any) []string {
	var all []string
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			all = append(all, p)
		case []string:
			all = append(all, p...)
		}
	}
	return all
}

var anthropicDialect = dialect{
	protocol: wire.Anthropic, list: "messages", tail: 1,
	text: func(pieces ...string) []string {
		return named(flat(anthropicStart, anthropicText(0, pieces...), anthropicEnd("end_turn"), anthropicStop)...)
	},
	thinking: named(flat(anthropicStart,
		`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Let me "}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"see."}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"ZW5j"}}`,
		`{"type":"content_block_stop","index":1}`,
		`{"type":"content_block_start","index":2,"content_block":{"type":"server_tool_use","id":"s1",`+
			`"name":"web_search","input":{}}}`,
		`{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"query\":"}}`,
		`{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"\"go\"}"}}`,
		`{"type":"content_block_stop","index":2}`,
		anthropicText(3, "Do", "ne."), anthropicEnd("end_turn"), anthropicStop)...),
	writtenThinking: []string{`{"role":"assistant","content":[{"type":"thinking","thinking":"Let me ` +
		`see.","signature":"c2ln"},{"type":"redacted_thinking","data":"ZW5j"},` +
		`{"type":"server_tool_use","id":"s1","name":"web_search","input":{"query":"go"}},{"type":"text",` +
		`"text":"Done."}]}`},
	call: named(flat(anthropicStart, anthropicText(0, "I read."),
		`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_1","name":"read",`+
			`"input":{}}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":""}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta",`+
			`"partial_json":"{\"path\":\"a.go\","}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta",`+
			`"partial_json":"\"line\":12345678901}"}}`,
		`{"type":"content_block_stop","index":1}`,
		anthropicEnd("tool_use"), anthropicStop)...),
	writtenCall: []string{`{"role":"assistant","content":[{"type":"text","text":"I ` +
		`read."},{"type":"tool_use","id":"toolu_1","name":"read","input":{"path":"a.go","line":12345678901}}]}`},
	length:   named(flat(anthropicStart, anthropicText(0, "Half"), anthropicEnd("max_tokens"), anthropicStop)...),
	refused:  named(flat(anthropicStart, anthropicEnd("refusal"), anthropicStop)...),
	overload: named(`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`)[0],
	limited:  named(`{"type":"error","error":{"type":"rate_limit_error","message":"Please try again in 11s"}}`)[0],
	overflow: `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 213462 ` +
		`tokens > 200000 maximum"}}`,
	body:  `{"type":"error","error":{"type":"some_error","message":"It went wrong: %s"}}`,
	usage: session.Usage{Input: 100, Output: 30, Reasoning: 20, Cache: session.CacheUsage{Read: 900, Write: 50}},
	encode: func(messages []session.Message, o wire.Options) ([]jsontext.Value, error) {
		b, err := wireanthropic.Encode(messages, o)
		return b.Elements, err
	},
}

func chatDelta(delta string) string {
	return `{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":` + delta +
		`,"finish_reason":null}],"usage":null}`
}

func chatEnd(reason string) []string {
	return []string{
		`{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},` +
			`"finish_reason":"` + reason + `"}],"error":null}`,
		`{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[],` +
			`"usage":{"prompt_tokens":1050,"completion_tokens":50,"total_tokens":1100,` +
			`"prompt_tokens_details":{"cached_tokens":900,"cache_write_tokens":50},` +
			`"completion_tokens_details":{"reasoning_tokens":20}}}`,
		"[DONE]",
	}
}

func chatText(pieces ...string) []string {
	events := []string{chatDelta(`{"role":"assistant","content":""}`)}
	for _, p := range pieces {
		events = append(events, chatDelta(`{"content":`+quote(p)+`}`))
	}
	return events
}

var chatDialect = dialect{
	protocol: wire.Chat, list: "messages", tail: 2,
	text: func(pieces ...string) []string { return sse(flat(chatText(pieces...), chatEnd("stop"))...) },
	thinking: sse(flat(chatDelta(`{"role":"assistant","reasoning_content":"Let me "}`),
		chatDelta(`{"content":null,"reasoning_content":"see."}`),
		chatText("Do", "ne."), chatEnd("stop"))...),
	writtenThinking: []string{`{"role":"assistant","content":"Done.","reasoning_content":"Let me see."}`},
	call: sse(flat(chatText("I read."),
		chatDelta(`{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"read",`+
			`"arguments":""}}]}`),
		chatDelta(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"path\":\"a.go\","}}]}`),
		chatDelta(`{"tool_calls":[{"index":0,"function":{"arguments":"\"line\":12345678901}"}}]}`),
		chatEnd("tool_calls"))...),
	writtenCall: []string{`{"role":"assistant","content":"I read.","tool_calls":[{"id":"call_1","type":"function",` +
		`"function":{"name":"read","arguments":"{\"path\":\"a.go\",\"line\":12345678901}"}}]}`},
	length:   sse(flat(chatText("Half"), chatEnd("length"))...),
	refused:  sse(flat(chatDelta(`{"role":"assistant"}`), chatEnd("content_filter"))...),
	overload: sse(`{"error":{"message":"at capacity","type":"overloaded","code":503}}`)[0],
	limited: sse(`{"error":{"message":"Rate limit reached. Please try again in ` +
		`11s.","type":"tokens","code":"rate_limit_exceeded"}}`)[0],
	overflow: `{"error":{"message":"This model's maximum context length is 128000 tokens. However, your messages ` +
		`resulted in 140000 tokens.",` +
		`"type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`,
	body: `{"error":{"message":"It went wrong: %s","type":"some_error","param":null,"code":null}}`,
	usage: session.Usage{Total: 1100, Input: 100, Output: 30, Reasoning: 20,
		Cache: session.CacheUsage{Read: 900, Write: 50}},
	encode: func(messages []session.Message, o wire.Options) ([]jsontext.Value, error) {
		b, err := wirechat.Encode(messages, o)
		return b.Elements, err
	},
}

func responsesEnd(kind, status, more string) string {
	return `{"type":"response.` + kind + `","response":{"id":"resp_1","object":"response","status":"` + status + `",` +
		more + `"output":[],` +
		`"usage":{"input_tokens":1050,"input_tokens_details":{"cached_tokens":900,"cache_write_tokens":50},` +
		`"output_tokens":50,` +
		`"output_tokens_details":{"reasoning_tokens":20},"total_tokens":1100}}}`
}

const responsesStart = `{"type":"response.created","response":{"id":"resp_1","object":"response",` +
	`"status":"in_progress","error":null,"output":[]}}`

func responsesText(index int, pieces ...string) []string {
	events := []string{fmt.Sprintf(`{"type":"response.output_item.added","output_index":%d,"item":{"type":"message",`+
		`"id":"msg_1","role":"assistant","content":[]}}`, index)}
	for _, p := range pieces {
		events = append(events, fmt.Sprintf(`{"type":"response.output_text.delta","item_id":"msg_1",`+
			`"output_index":%d,"content_index":0,"delta":%s}`, index, quote(p)))
	}
	return append(events, fmt.Sprintf(`{"type":"response.output_item.done","output_index":%d,`+
		`"item":{"type":"message","id":"msg_1","role":"assistant","status":"completed",`+
		`"phase":"final_answer","content":[{"type":"output_text","text":%s,"annotations":[]}]}}`, index,
		quote(strings.Join(pieces, ""))))
}

var responsesDialect = dialect{
	protocol: wire.Responses, list: "input",
	text: func(pieces ...string) []string {
		return named(flat(responsesStart, responsesText(0, pieces...), responsesEnd("completed", "completed", ""))...)
	},
	thinking: named(flat(responsesStart,
		`{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[]}}`,
		`{"type":"response.reasoning_summary_text.delta","item_id":"rs_1","output_index":0,"summary_index":0,`+
			`"delta":"Let me see."}`,
		`{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs_1",`+
			`"encrypted_content":"ZW5j",`+
			`"summary":[{"type":"summary_text","text":"Let me see."},{"type":"summary_text","text":"More."}]}}`,
		responsesText(1, "Do", "ne."), responsesEnd("completed", "completed", ""))...),
	writtenThinking: []string{
		`{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"Let me ` +
			`see."},{"type":"summary_text","text":"More."}],"encrypted_content":"ZW5j"}`,
		`{"type":"message","role":"assistant","phase":"final_answer","content":[{"type":"output_text","text":"Done."}]}`,
	},
	call: named(flat(responsesStart, responsesText(0, "I read."),
		`{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","id":"fc_1",`+
			`"call_id":"call_1","name":"read","arguments":""}}`,
		`{"type":"response.function_call_arguments.delta","item_id":"fc_1","output_index":1,`+
			`"delta":"{\"path\":\"a.go\","}`,
		`{"type":"response.function_call_arguments.delta","item_id":"fc_1","output_index":1,`+
			`"delta":"\"line\":12345678901}"}`,
		`{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","id":"fc_1",`+
			`"call_id":"call_1","name":"read","status":"completed",`+
			`"arguments":"{\"path\":\"a.go\",\"line\":12345678901}"}}`,
		responsesEnd("completed", "completed", ""))...),
	writtenCall: []string{
		`{"type":"message","role":"assistant","phase":"final_answer","content":[{"type":"output_text","text":"I ` +
			`read."}]}`,
		`{"type":"function_call","call_id":"call_1","name":"read","arguments":"{\"path\":\"a.go\",` +
			`\"line\":12345678901}"}`,
	},
	length: named(flat(responsesStart, responsesText(0, "Half"), responsesEnd("incomplete", "incomplete",
		`"incomplete_details":{"reason":"max_output_tokens"},`))...),
	refused: named(flat(responsesStart, responsesEnd("incomplete", "incomplete",
		`"incomplete_details":{"reason":"content_filter"},`))...),
	overload: named(responsesEnd("failed", "failed",
		`"error":{"code":"server_is_overloaded","message":"Our servers are overloaded"},`))[0],
	limited: named(`{"type":"error","sequence_number":3,"code":"rate_limit_exceeded","message":"Rate limit reached. ` +
		`Please try again in 11s.","param":null}`)[0],
	overflow: `{"error":{"message":"Your input exceeds the context window of this ` +
		`model.","type":"invalid_request_error","param":"input","code":"context_length_exceeded"}}`,
	body: `{"error":{"message":"It went wrong: %s","type":"some_error","param":null,"code":null}}`,
	usage: session.Usage{Total: 1100, Input: 100, Output: 30, Reasoning: 20,
		Cache: session.CacheUsage{Read: 900, Write: 50}},
	encode: func(messages []session.Message, o wire.Options) ([]jsontext.Value, error) {
		b, err := wireresponses.Encode(messages, o)
		return b.Elements, err
	},
}

func geminiChunk(parts, more string) string {
	return `{"candidates":[{"content":{"role":"model","parts":[` + parts + `]},` + more +
		`"index":0}],"usageMetadata":{"promptTokenCount":1000,` +
		`"cachedContentTokenCount":900,"candidatesTokenCount":30,"thoughtsTokenCount":20,"totalTokenCount":1050},` +
		`"modelVersion":"m"}`
}

func geminiText(pieces ...string) []string {
	var events []string
	for _, p := range pieces {
		events = append(events, geminiChunk(`{"text":`+quote(p)+`}`, ""))
	}
	return events
}

var geminiDialect = dialect{
	protocol: wire.Gemini, list: "contents",
	text: func(pieces ...string) []string {
		return sse(flat(geminiText(pieces...), geminiChunk(`{"text":""}`, `"finishReason":"STOP",`))...)
	},
	thinking: sse(flat(geminiChunk(`{"text":"Let me ","thought":true}`, ""),
		geminiChunk(`{"text":"see.","thought":true}`, ""),
		geminiText("Do", "ne."), geminiChunk(`{"text":"","thoughtSignature":"c2ln"}`, `"finishReason":"STOP",`))...),
	writtenThinking: []string{`{"role":"model","parts":[{"text":"Done.","thoughtSignature":"c2ln"}]}`},
	call: sse(flat(geminiText("I read."),
		geminiChunk(`{"functionCall":{"id":"f1","name":"read","args":{"path":"a.go","line":12345678901}},`+
			`"thoughtSignature":"c2ln"}`, ""),
		geminiChunk(`{"text":""}`, `"finishReason":"STOP",`))...),
	writtenCall: []string{`{"role":"model","parts":[{"text":"I ` +
		`read."},{"functionCall":{"id":"f1","name":"read","args":{"path":"a.go","line":12345678901}},` +
		`"thoughtSignature":"c2ln"}]}`},
	length: sse(geminiChunk(`{"text":"Half"}`, `"finishReason":"MAX_TOKENS",`)),
	refused: sse(`{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},` +
		`"usageMetadata":{"promptTokenCount":1000,"cachedContentTokenCount":900,"totalTokenCount":1000}}`),
	overload: sse(`{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}`)[0],
	limited: sse(`{"error":{"code":429,"message":"Quota exceeded.","status":"RESOURCE_EXHAUSTED","details":[` +
		`{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"11s"}]}}`)[0],
	overflow: `[{"error":{"code":400,"message":"The input token count (1198213) exceeds the maximum number of tokens ` +
		`allowed (1048576).","status":"INVALID_ARGUMENT"}}]`,
	body:  `{"error":{"code":400,"message":"It went wrong: %s","status":"SOME_ERROR"}}`,
	usage: session.Usage{Total: 1050, Input: 100, Output: 30, Reasoning: 20, Cache: session.CacheUsage{Read: 900}},
	encode: func(messages []session.Message, o wire.Options) ([]jsontext.Value, error) {
		b, err := wiregemini.Encode(messages, o)
		return b.Elements, err
	},
}
