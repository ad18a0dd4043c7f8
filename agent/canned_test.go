package agent_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
)

// canned is a connection that takes a request and answers at once, in the words of the protocol
// that the address tells: one more call each time.
type canned struct{ asked atomic.Int64 }

func (c *canned) RoundTrip(r *http.Request) (*http.Response, error) {
	n := c.asked.Add(1)
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return nil, err
	}
	r.Body.Close()
	events := cannedEvents[r.URL.Path[strings.LastIndexAny(r.URL.Path, "/:")+1:]]
	var b strings.Builder
	for _, e := range events {
		e = strings.ReplaceAll(e, "#", fmt.Sprint(n))
		if kind, typed := strings.CutPrefix(e, `{"type":"`); typed {
			kind, _, _ = strings.Cut(kind, `"`)
			fmt.Fprintf(&b, "event: %s\n", kind)
		}
		fmt.Fprintf(&b, "data: %s\n\n", e)
	}
	head := http.Header{"Content-Type": {"text/event-stream"}}
	return &http.Response{StatusCode: 200, Status: "200 OK", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: head, Body: io.NopCloser(strings.NewReader(b.String())), Request: r}, nil
}

// cannedEvents are the events of an answer, by the end of the address. # is the number of the
// request.
var cannedEvents = map[string][]string{
	"messages": {
		`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"wide",` +
			`"content":[],"usage":{"input_tokens":900000,"output_tokens":1}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"call_new#","name":"look",` +
			`"input":{}}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta",` +
			`"partial_json":"{\"path\":\"g#\"}"}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":20}}`,
		`{"type":"message_stop"}`,
	},
	"completions": {
		`{"id":"1","object":"chat.completion.chunk","model":"wide","choices":[{"index":0,"delta":{"role":"assistant",` +
			`"tool_calls":[{"index":0,"id":"call_new#","type":"function","function":{"name":"look",` +
			`"arguments":"{\"path\":\"g#\"}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":900000,` +
			`"completion_tokens":20,"total_tokens":900020}}`,
		`[DONE]`,
	},
	"responses": {
		`{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","id":"fc_#",` +
			`"call_id":"call_new#","name":"look","arguments":"{\"path\":\"g#\"}","status":"completed"}}`,
		`{"type":"response.completed","response":{"id":"resp_#","object":"response","model":"wide",` +
			`"status":"completed","output":[],"usage":{"input_tokens":900000,"output_tokens":20,` +
			`"total_tokens":900020}}}`,
	},
	"streamGenerateContent": {
		`{"candidates":[{"index":0,"content":{"role":"model","parts":[{"functionCall":{"id":"call_new#",` +
			`"name":"look","args":{"path":"g#"}}}]},"finishReason":"STOP"}],` +
			`"usageMetadata":{"promptTokenCount":900000,"candidatesTokenCount":20,"totalTokenCount":900020}}`,
	},
}
