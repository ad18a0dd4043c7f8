package wire

import (
	"strings"
	"testing"
)

func TestStoredReferences(t *testing.T) {
	for text, want := range map[string]string{
		`{"previous_response_id":"resp_1","input":"go on"}`:                                                        "previous_response_id",
		`{"previous_respons\u0065_id":"resp_1"}`:                                                                   "previous_response_id",
		`{"Previous_Response_ID":"resp_1"}`:                                                                        "Previous_Response_ID",
		`{"previous_response_id":null,"previous_response_id":"resp_1"}`:                                            "previous_response_id",
		`{"conversation":"conv_1"}`:                                                                                "conversation",
		`{"conversation":{"id":"conv_1"}}`:                                                                         "conversation",
		`{"prompt":{"id":"pmpt_1","version":"2"}}`:                                                                 "prompt",
		`{"input":[{"type":"item_reference","id":"msg_1"}]}`:                                                       "item_reference",
		`{"input":[{"role":"user","content":[{"type":"input_file","file_id":"file_1"}]}]}`:                         "file_id",
		`{"input":[{"type":"function_call_output","output":[{"type":"input_image","file_id":"f"}]}]}`:              "file_id",
		`{"tools":[{"type":"file_search","vector_store_ids":["vs_1"]}]}`:                                           "vector_store_ids",
		`{"tools":[{"type":"code_interpreter","container":"cntr_1"}]}`:                                             "container",
		`{"tools":[{"type":"code_interpreter","container":{"type":"auto","file_ids":["f"]}}]}`:                     "file_ids",
		`{"container":{"id":"container_1"}}`:                                                                       "container",
		`{"messages":[{"role":"user","content":[{"type":"document","source":{"type":"file","file_id":"f"}}]}]}`:    "file_id",
		`{"messages":[{"role":"user","content":[{"type":"tool_result","content":[{"source":{"file_id":"f"}}]}]}]}`: "file_id",
		`{"messages":[{"role":"user","content":[{"type":"file","file":{"file_id":"f"}}]}]}`:                        "file_id",
		`{"messages":[{"role":"assistant","audio":{"id":"audio_1"}}]}`:                                             "audio",
		`{"file_id":"f","previous_response_id":"resp_1"}`:                                                          "file_id previous_response_id",
		`{"type":"tool_use","input":[{"type":"item_reference","id":"msg_1"}]}`:                                     "item_reference",
		`{"cachedContent":"cachedContents/1","contents":[]}`:                                                       "cachedContent",
		`{"contents":[{"parts":[{"fileData":{"fileUri":"https://x/v1beta/files/1"}}]}]}`:                           "fileUri",

		`{"previous_response_id":null,"conversation":null,"input":"hello"}`:                                                      "",
		`{"prompt":"say hello","audio":{"voice":"alloy","format":"wav"}}`:                                                        "",
		`{"tools":[{"type":"code_interpreter","container":{"type":"auto","file_ids":[]}}]}`:                                      "",
		`{"tools":[{"name":"get","input_schema":{"properties":{"file_id":{"type":"string"}}}}]}`:                                 "",
		`{"tools":[{"type":"function","parameters":{"properties":{"container":{"id":"x"}}}}]}`:                                   "",
		`{"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"t","input":{"file_id":"mine"}}]}]}`:                "",
		`{"contents":[{"parts":[{"functionCall":{"args":{"file_id":"a"}}},{"functionResponse":{"response":{"fileUri":"b"}}}]}]}`: "",
		`{"messages":[{"role":"user","content":"\"previous_response_id\": \"resp_1\", \u0041"}]}`:                                "",
		`{"input":[{"type":"function_call","arguments":"{\"file_id\":\"a\"}"}]}`:                                                 "",
		`{}`: "",
	} {
		if got := strings.Join(StoredReferences([]byte(text)), " "); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
