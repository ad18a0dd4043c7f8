package rpc_test

import (
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/rpc"
)

const data = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="

// attachments are messages of each format, with files in what the user says and in what a tool gives
// back.
var attachments = map[string][]string{
	"anthropic": {
		`{"role":"user","content":[{"type":"text","text":"Look."},{"type":"document","source":{"type":"text","media_type":"text/plain","data":"High at noon."},"title":"Tides","citations":{"enabled":true}},{"type":"image","source":{"type":"file","file_id":"file_1"}}]}`,
		`{"role":"assistant","content":[{"type":"text","text":"High.","citations":[{"type":"char_location","cited_text":"High","document_index":0}]},{"type":"tool_use","id":"c1","name":"look","input":{}}]}`,
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + data + `"}},{"type":"text","text":"and"},{"type":"document","source":{"type":"file","file_id":"file_2"}}]}]}`,
	},
	"openai": {
		`{"role":"user","content":[{"type":"text","text":"Look."},{"type":"image_url","image_url":{"url":"data:image/png;base64,` + data + `","detail":"low"}},{"type":"input_audio","input_audio":{"data":"` + data + `","format":"wav"}},{"type":"file","file":{"file_id":"file-1"}},{"type":"file","file":{"filename":"a.txt","file_data":"data:text/plain;base64,SGlnaC4="}}]}`,
		`{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"look","arguments":"{}"}}]}`,
		`{"role":"tool","content":[{"type":"text","text":"x"},{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}],"tool_call_id":"c1"}`,
	},
	"responses": {
		`{"type":"message","role":"user","content":[{"type":"input_text","text":"Look."},{"type":"input_image","image_url":"data:image/png;base64,` + data + `","detail":"low"},{"type":"input_file","file_id":"file-1"},{"type":"input_file","filename":"a.txt","file_data":"data:text/plain;base64,SGlnaC4="}]}`,
		`{"type":"function_call","call_id":"c1","name":"look","arguments":"{}"}`,
		`{"type":"function_call_output","call_id":"c1","output":[{"type":"input_image","file_id":"file-2","detail":"high"},{"type":"input_text","text":"x"}]}`,
	},
	"gemini": {
		`{"role":"user","parts":[{"text":"Look."},{"inlineData":{"mimeType":"text/plain","data":"SGlnaC4="}},{"fileData":{"mimeType":"video/mp4","fileUri":"gs://b/v.mp4"},"videoMetadata":{"fps":1}}]}`,
		`{"role":"model","parts":[{"functionCall":{"id":"c1","name":"look","args":{}}}]}`,
		`{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"look","response":{"output":"x"},"parts":[{"inlineData":{"mimeType":"image/png","data":"` + data + `"}}]}}]}`,
	},
}

// What was appended in a format is viewed in it as it came, one message at a time too.
func TestView_attachmentsComeBackAsTheyCame(t *testing.T) {
	for as, messages := range attachments {
		c := dial(t, nil).initialize("")
		id := c.create("ses_" + as)
		for _, m := range messages {
			c.append(id, as, m)
		}
		var v rpc.Viewed
		c.ask("view", rpc.View{Of: rpc.Of{Session: id}, As: as}, &v)
		if len(v.Messages) != len(messages) {
			t.Fatalf("%s: %v", as, texts(v.Messages))
		}
		for i, m := range messages {
			var want, got any
			if err := json.Unmarshal([]byte(m), &want); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(v.Messages[i], &got); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s, message %d: %s", as, i, d)
			}
		}
	}
}
