package body_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/body"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/token"
	"github.com/winnowhq/winnow/wire"
)

// b64 is data that is as long as that of small files.
const b64 = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="

// block is a block of a request as the reference of its API has it.
type block struct {
	name string
	in   string // user, assistant, result
	json string
	says string // what a body in any other protocol has of it, one of several between bars
}

// blocks are the protocols with the blocks of their references: text and calls alone are left out.
var blocks = map[wire.Protocol][]block{
	wire.Anthropic: {
		{"image, base64", "user", `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + b64 + `"}}`, b64},
		{"image, url", "user", `{"type":"image","source":{"type":"url","url":"https://example.com/a.png"}}`, "https://example.com/a.png"},
		{"image, file", "user", `{"type":"image","source":{"type":"file","file_id":"file_011"}}`, "file_011"},
		{"document, base64", "user", `{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"` + b64 + `"},"title":"Report","context":"of 2026","citations":{"enabled":true}}`, b64},
		{"document, text", "user", `{"type":"document","source":{"type":"text","media_type":"text/plain","data":"The tide at pier 0 is high at noon and low at six in the evening."},"title":"Tides"}`, "pier 0"},
		{"document, text with citations", "user", `{"type":"document","source":{"type":"text","media_type":"text/plain","data":"short"},"title":"Tides","context":"trusted","citations":{"enabled":true}}`, "short"},
		{"document, content", "user", `{"type":"document","source":{"type":"content","content":[{"type":"text","text":"chunk one"},{"type":"text","text":"chunk two"}]},"title":"Chunks","citations":{"enabled":true}}`, "chunk two"},
		{"document, url", "user", `{"type":"document","source":{"type":"url","url":"https://example.com/a.pdf"},"title":"Paper"}`, "https://example.com/a.pdf"},
		{"document, file", "user", `{"type":"document","source":{"type":"file","file_id":"file_022"},"title":"Stored","context":"c"}`, "file_022"},
		{"search result", "user", `{"type":"search_result","source":"https://example.com/kb","title":"Knowledge","content":[{"type":"text","text":"the port is 8417"}],"citations":{"enabled":true}}`, "the port is 8417"},
		{"container upload", "user", `{"type":"container_upload","file_id":"file_033"}`, "file_033"},
		{"text with citations", "assistant", `{"type":"text","text":"High at noon.","citations":[{"type":"char_location","cited_text":"high at noon","document_index":0,"document_title":"Tides","start_char_index":0,"end_char_index":12}]}`, "High at noon."},
		{"server tool use", "assistant", `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"tides today"}}`, "tides today"},
		{"web search result", "assistant", `{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","url":"https://example.com/t","title":"Tides","encrypted_content":"RXJz","page_age":"1 day"}]}`, "https://example.com/t"},
		{"web fetch result", "assistant", `{"type":"web_fetch_tool_result","tool_use_id":"srvtoolu_2","content":{"type":"web_fetch_result","url":"https://example.com/f","content":{"type":"document","source":{"type":"text","media_type":"text/plain","data":"page"},"title":"F"}}}`, "https://example.com/f"},
		{"code execution result", "assistant", `{"type":"bash_code_execution_tool_result","tool_use_id":"srvtoolu_3","content":{"type":"bash_code_execution_result","stdout":"42\n","stderr":"","return_code":0,"content":[{"type":"bash_code_execution_output","file_id":"file_044"}]}}`, "file_044"},
		{"MCP tool use", "assistant", `{"type":"mcp_tool_use","id":"mcptoolu_1","name":"echo","server_name":"s","input":{"text":"hello"}}`, "echo"},
		{"MCP tool result", "assistant", `{"type":"mcp_tool_result","tool_use_id":"mcptoolu_1","is_error":false,"content":[{"type":"text","text":"echoed"}]}`, "echoed"},
		{"compaction", "assistant", `{"type":"compaction","content":"what was said before"}`, "what was said before"},
		{"result with an image", "result", `[{"type":"text","text":"a picture"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + b64 + `"}},{"type":"text","text":"of the tide"}]`, b64},
		{"result with a document", "result", `[{"type":"document","source":{"type":"text","media_type":"text/plain","data":"The tide at pier 0 is high at noon and low at six."},"title":"Tides"}]`, "pier 0"},
		{"result with a stored file", "result", `[{"type":"document","source":{"type":"file","file_id":"file_055"}}]`, "file_055"},
		{"result with search results", "result", `[{"type":"search_result","source":"https://example.com/kb","title":"Knowledge","content":[{"type":"text","text":"the port is 8417"}]}]`, "8417"},
		{"result with a tool reference", "result", `[{"type":"tool_reference","tool_name":"mcp__x__y"}]`, ""},
	},
	wire.Chat: {
		{"image, data", "user", `{"type":"image_url","image_url":{"url":"data:image/png;base64,` + b64 + `"}}`, b64},
		{"image, low detail", "user", `{"type":"image_url","image_url":{"url":"data:image/png;base64,` + b64 + `","detail":"low"}}`, b64},
		{"image, url", "user", `{"type":"image_url","image_url":{"url":"https://example.com/a.png","detail":"high"}}`, "https://example.com/a.png"},
		{"audio", "user", `{"type":"input_audio","input_audio":{"data":"` + b64 + `","format":"wav"}}`, "audio/wav|" + b64},
		{"file, PDF", "user", `{"type":"file","file":{"filename":"report.pdf","file_data":"data:application/pdf;base64,` + b64 + `"}}`, b64},
		{"file, text", "user", `{"type":"file","file":{"filename":"notes.txt","file_data":"data:text/plain;base64,VGhlIHRpZGUgYXQgcGllciAwIGlzIGhpZ2ggYXQgbm9vbi4="}}`, "notes.txt"},
		{"file, spreadsheet", "user", `{"type":"file","file":{"filename":"t.xlsx","file_data":"data:application/vnd.openxmlformats-officedocument.spreadsheetml.sheet;base64,` + b64 + `"}}`, "t.xlsx"},
		{"file, stored", "user", `{"type":"file","file":{"file_id":"file-abc"}}`, "file-abc"},
		{"video (compatible servers)", "user", `{"type":"video_url","video_url":{"url":"https://example.com/v.mp4"}}`, "https://example.com/v.mp4"},
		{"unknown", "user", `{"type":"hologram","hologram":{"url":"https://example.com/h"}}`, "https://example.com/h"},
		{"refusal", "assistant", `{"type":"refusal","refusal":"I will not."}`, "I will not."},
		{"result with an image (compatible servers)", "result", `[{"type":"text","text":"x"},{"type":"image_url","image_url":{"url":"data:image/png;base64,` + b64 + `"}}]`, b64},
	},
	wire.Responses: {
		{"image, data", "user", `{"type":"input_image","image_url":"data:image/png;base64,` + b64 + `"}`, b64},
		{"image, low detail", "user", `{"type":"input_image","image_url":"data:image/png;base64,` + b64 + `","detail":"low"}`, b64},
		{"image, stored", "user", `{"type":"input_image","file_id":"file-img","detail":"auto"}`, "file-img"},
		{"file, PDF", "user", `{"type":"input_file","filename":"report.pdf","file_data":"data:application/pdf;base64,` + b64 + `"}`, b64},
		{"file, text", "user", `{"type":"input_file","filename":"notes.txt","file_data":"data:text/plain;base64,VGhlIHRpZGUgYXQgcGllciAwIGlzIGhpZ2ggYXQgbm9vbi4="}`, "notes.txt"},
		{"file, url", "user", `{"type":"input_file","file_url":"https://example.com/a.pdf"}`, "https://example.com/a.pdf"},
		{"file, stored", "user", `{"type":"input_file","file_id":"file-abc"}`, "file-abc"},
		{"audio", "user", `{"type":"input_audio","input_audio":{"data":"` + b64 + `","format":"mp3"}}`, "audio/mpeg|" + b64},
		{"unknown", "user", `{"type":"input_hologram","file_id":"file-holo"}`, "file-holo"},
		{"text with annotations", "assistant", `{"type":"output_text","text":"High at noon.","annotations":[{"type":"url_citation","start_index":0,"end_index":4,"url":"https://example.com/t","title":"Tides"}]}`, "High at noon."},
		{"refusal", "assistant", `{"type":"refusal","refusal":"I will not."}`, "I will not."},
		{"web search call", "item", `{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"tides today"}}`, "tides today"},
		{"file search call", "item", `{"type":"file_search_call","id":"fs_1","status":"completed","queries":["tides"],"results":[{"file_id":"file-x","filename":"tides.md","text":"high at noon"}]}`, "high at noon"},
		{"code interpreter call", "item", `{"type":"code_interpreter_call","id":"ci_1","status":"completed","code":"print(42)","container_id":"c","outputs":[{"type":"logs","logs":"42"}]}`, "print(42)"},
		{"image generation call", "item", `{"type":"image_generation_call","id":"ig_1","status":"completed","result":"` + b64 + `"}`, "image_generation_call"},
		{"computer call", "item", `{"type":"computer_call","id":"cu_1","call_id":"call_9","status":"completed","action":{"type":"screenshot"},"pending_safety_checks":[]}`, "computer_call"},
		{"MCP call", "item", `{"type":"mcp_call","id":"mcp_1","name":"echo","server_label":"s","arguments":"{}","output":"echoed"}`, "echoed"},
		{"item reference", "item", `{"type":"item_reference","id":"msg_1"}`, "msg_1"},
		{"result with an image", "result", `[{"type":"input_text","text":"a picture"},{"type":"input_image","image_url":"data:image/png;base64,` + b64 + `","detail":"low"}]`, b64},
		{"result with a file", "result", `[{"type":"input_file","filename":"notes.txt","file_data":"data:text/plain;base64,VGhlIHRpZGUgYXQgcGllciAwIGlzIGhpZ2ggYXQgbm9vbi4="}]`, "notes.txt"},
		{"result with a stored file", "result", `[{"type":"input_image","file_id":"file-r"}]`, "file-r"},
	},
	wire.Gemini: {
		{"image", "user", `{"inlineData":{"mimeType":"image/png","data":"` + b64 + `"}}`, b64},
		{"image with a name and resolution", "user", `{"inlineData":{"mimeType":"image/png","data":"` + b64 + `","displayName":"a.png"},"mediaResolution":{"level":"MEDIA_RESOLUTION_LOW"}}`, b64},
		{"PDF", "user", `{"inlineData":{"mimeType":"application/pdf","data":"` + b64 + `"}}`, b64},
		{"text", "user", `{"inlineData":{"mimeType":"text/plain","data":"VGhlIHRpZGUgYXQgcGllciAwIGlzIGhpZ2ggYXQgbm9vbi4=","displayName":"notes.txt"}}`, "notes.txt"},
		{"audio", "user", `{"inlineData":{"mimeType":"audio/wav","data":"` + b64 + `"}}`, "audio/wav|" + b64},
		{"video", "user", `{"inlineData":{"mimeType":"video/mp4","data":"` + b64 + `"},"videoMetadata":{"fps":1,"startOffset":"2s"}}`, "video/mp4"},
		{"stored file", "user", `{"fileData":{"mimeType":"application/pdf","fileUri":"https://generativelanguage.googleapis.com/v1beta/files/abc"}}`, "files/abc"},
		{"stored video", "user", `{"fileData":{"mimeType":"video/mp4","fileUri":"gs://bucket/v.mp4"}}`, "gs://bucket/v.mp4"},
		{"video by address", "user", `{"fileData":{"fileUri":"https://www.youtube.com/watch?v=x"}}`, "youtube.com/watch"},
		{"image from the model", "assistant", `{"inlineData":{"mimeType":"image/png","data":"` + b64 + `"}}`, "image/png"},
		{"code", "assistant", `{"executableCode":{"language":"PYTHON","code":"print(42)"}}`, "print(42)"},
		{"result of code", "assistant", `{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"42\n"}}`, "42"},
		{"result with an image", "result", `{"response":{"output":"a picture"},"parts":[{"inlineData":{"mimeType":"image/png","data":"` + b64 + `","displayName":"a.png"}}]}`, b64},
		{"result with a stored file", "result", `{"response":{"output":"a picture"},"parts":[{"fileData":{"mimeType":"image/png","fileUri":"gs://bucket/a.png"}}]}`, "gs://bucket/a.png"},
	},
}

// request is a body with a block between two texts.
func request(kind wire.Protocol, b block) string {
	with := b.json
	if with != "" {
		with = "," + with
	}
	switch kind {
	case wire.Anthropic:
		if b.in == "result" {
			return `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"look","input":{}}]},
				{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":` + b.json + `}]}]}`
		}
		return `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":"before"}` + in(b, "user", with) + `]},
			{"role":"assistant","content":[{"type":"text","text":"after"}` + in(b, "assistant", with) + `]},{"role":"user","content":"on"}]}`
	case wire.Chat:
		if b.in == "result" {
			return `{"model":"m","messages":[{"role":"user","content":"go"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"look","arguments":"{}"}}]},
				{"role":"tool","tool_call_id":"c1","content":` + b.json + `}]}`
		}
		return `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"before"}` + in(b, "user", with) + `]},
			{"role":"assistant","content":[{"type":"text","text":"after"}` + in(b, "assistant", with) + `]},{"role":"user","content":"on"}]}`
	case wire.Responses:
		if b.in == "result" {
			return `{"model":"m","input":[{"role":"user","content":"go"},{"type":"function_call","call_id":"c1","name":"look","arguments":"{}"},
				{"type":"function_call_output","call_id":"c1","output":` + b.json + `}]}`
		}
		return `{"model":"m","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"before"}` + in(b, "user", with) + `]},
			{"type":"message","role":"assistant","content":[{"type":"output_text","text":"after"}` + in(b, "assistant", with) + `]}` + in(b, "item", with) + `]}`
	}
	if b.in == "result" {
		return `{"contents":[{"role":"user","parts":[{"text":"go"}]},{"role":"model","parts":[{"functionCall":{"id":"c1","name":"look","args":{}}}]},
			{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"look",` + strings.TrimPrefix(b.json, "{") + `}]}]}`
	}
	return `{"contents":[{"role":"user","parts":[{"text":"before"}` + in(b, "user", with) + `]},{"role":"model","parts":[{"text":"after"}` + in(b, "assistant", with) + `]}]}`
}

func in(b block, place, with string) string {
	if b.in == place {
		return with
	}
	return ""
}

// viewed is the body that a protocol makes of what was appended in another one, as it comes back
// from a store, with some of it left out.
func viewed(t *testing.T, text string, from, to wire.Protocol, without ...rule.Elision) []byte {
	t.Helper()
	reads, _ := body.Of(from)
	writes, _ := body.Of(to)
	decoded := reads.Decode([]byte(text))
	if len(decoded.Skipped) > 0 {
		t.Fatalf("skipped: %v", decoded.Skipped)
	}
	stored, err := (&session.Session{Messages: decoded.Messages}).Clone()
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := writes.Encode(view.Render(stored.Messages, rule.NewLedger(without...)), wire.Options{Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	out, err := encoded.JSON()
	if err != nil {
		t.Fatal(err)
	}
	if err := writes.Check(out); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	return out
}

// holds reports whether a value is somewhere in another.
func holds(in, value any) bool {
	if reflect.DeepEqual(in, value) {
		return true
	}
	switch in := in.(type) {
	case []any:
		for _, v := range in {
			if holds(v, value) {
				return true
			}
		}
	case map[string]any:
		if object, ok := value.(map[string]any); ok && in["name"] == "look" { // a result of Gemini's
			same := true
			for name := range object {
				same = same && reflect.DeepEqual(in[name], object[name])
			}
			return same
		}
		for _, v := range in {
			if holds(v, value) {
				return true
			}
		}
	}
	return false
}

func parsed(t *testing.T, text []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}

func TestView_aBlockComesBackAsItCame(t *testing.T) {
	for kind, all := range blocks {
		for _, b := range all {
			t.Run(fmt.Sprint(kind, " ", b.name), func(t *testing.T) {
				out := viewed(t, request(kind, b), kind, kind)
				if !holds(parsed(t, out), parsed(t, []byte(b.json))) {
					t.Errorf("%s\nis not in\n%s", b.json, out)
				}
			})
		}
	}
}

func TestView_aBlockIsNeverNothingInAnotherProtocol(t *testing.T) {
	for from, all := range blocks {
		for to := range blocks {
			for _, b := range all {
				if from == to {
					continue
				}
				t.Run(fmt.Sprint(from, " to ", to, " ", b.name), func(t *testing.T) {
					out := viewed(t, request(from, b), from, to)
					if b.in != "result" {
						nothing := viewed(t, request(from, block{}), from, to)
						if bytes.Equal(out, nothing) {
							t.Fatalf("nothing is left: %s", out)
						}
					}
					said := false
					for one := range strings.SplitSeq(b.says, "|") {
						said = said || strings.Contains(string(out), one)
					}
					if !said {
						t.Errorf("%q is not in %s", b.says, out)
					}
				})
			}
		}
	}
}

// A picture and a PDF have a form of their own in each protocol.
func TestView_picturesAndDocumentsTakeTheFormOfTheProtocol(t *testing.T) {
	image, pdf := "data:image/png;base64,"+b64, "data:application/pdf;base64,"+b64
	forms := map[wire.Protocol][2]string{
		wire.Anthropic: {`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + b64 + `"}}`,
			`{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"` + b64 + `"},"title":"a.pdf"}`},
		wire.Chat: {`{"type":"image_url","image_url":{"url":"` + image + `"}}`,
			`{"type":"file","file":{"filename":"a.pdf","file_data":"` + pdf + `"}}`},
		wire.Responses: {`{"type":"input_image","image_url":"` + image + `"}`,
			`{"type":"input_file","filename":"a.pdf","file_data":"` + pdf + `"}`},
		wire.Gemini: {`{"inlineData":{"mimeType":"image/png","data":"` + b64 + `"}}`,
			`{"inlineData":{"mimeType":"application/pdf","data":"` + b64 + `"}}`},
	}
	for from := range forms {
		for to := range forms {
			for i, form := range forms[from] {
				if from == wire.Gemini && i == 1 {
					continue // its documents have no names
				}
				out := viewed(t, request(from, block{"", "user", form, ""}), from, to)
				if !holds(parsed(t, out), parsed(t, []byte(forms[to][i]))) {
					t.Errorf("%v to %v: %s\nis not in\n%s", from, to, forms[to][i], out)
				}
			}
		}
	}
}

// Where less of a part is shown, its original is no longer sent; of a result the blocks stay that no
// part holds.
func TestView_whatIsLeftOutDoesNotComeBackWithTheOriginal(t *testing.T) {
	for kind, result := range map[wire.Protocol]string{
		wire.Anthropic: `[{"type":"text","text":"a long text"},{"type":"tool_reference","tool_name":"mcp__x__y"}]`,
		wire.Responses: `[{"type":"input_text","text":"a long text"},{"type":"input_image","image_url":"https://example.com/a.png","detail":"low"}]`,
		wire.Gemini:    `{"response":{"output":"a long text"},"parts":[{"inlineData":{"mimeType":"image/png","data":"` + b64 + `"}}]}`,
	} {
		text := request(kind, block{"", "result", result, ""})
		dialect, _ := body.Of(kind)
		call := dialect.Decode([]byte(text)).Messages[1].Parts[0].ID
		out := string(viewed(t, text, kind, kind, rule.Elision{Part: call, Field: rule.Output, Shown: "[left out]"}))
		if strings.Contains(out, "a long text") || strings.Contains(out, b64) || strings.Contains(out, "a.png") ||
			!strings.Contains(out, "[left out]") || strings.Contains(result, "tool_reference") != strings.Contains(out, "tool_reference") {
			t.Errorf("%v: %s", kind, out)
		}
	}
	cited := block{"", "assistant", `{"type":"text","text":"High at noon.","citations":[{"type":"char_location","cited_text":"noon","document_index":0}]}`, ""}
	out := string(viewed(t, request(wire.Anthropic, cited), wire.Anthropic, wire.Anthropic,
		rule.Elision{Part: "m0002:1", Field: rule.Text, Shown: "[left out]"}))
	if strings.Contains(out, "noon") || !strings.Contains(out, "[left out]") {
		t.Error(out)
	}
}

// inPlace is the body of a document with some of it left out.
func inPlace(t *testing.T, doc *format.Document, without ...rule.Elision) string {
	t.Helper()
	out, err := doc.Native.(*body.Native).Splice(format.Change{Session: doc.Session, Ledger: rule.NewLedger(without...)})
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// Pictures are pruned whatever else their block said, in a view and in place.
func TestAttachedFiles_findsBlocksThatSayMore(t *testing.T) {
	for kind, all := range blocks {
		for _, b := range all {
			if !strings.Contains(b.name, "image") || strings.Contains(b.name, "generation") || b.in == "assistant" {
				continue
			}
			t.Run(fmt.Sprint(kind, " ", b.name), func(t *testing.T) {
				text := request(kind, b)
				dialect, _ := body.Of(kind)
				doc, err := body.Read([]byte(text), dialect)
				if err != nil {
					t.Fatal(err)
				}
				later := []session.Message{{MessageInfo: session.MessageInfo{ID: "n1", Role: session.Assistant}}, {MessageInfo: session.MessageInfo{ID: "n2", Role: session.Assistant}}}
				for i := range later {
					later[i].Parts = []session.Part{{ID: "p" + later[i].ID, Type: session.TextPart, Text: "ok"}}
				}
				found := (&rule.AttachedFiles{}).Find(rule.Window{Messages: slices.Concat(doc.Session.Messages, later),
					Facts: rule.NewFacts(token.Chars4{})}).Elisions
				if len(found) != 1 {
					t.Fatalf("found %+v", found)
				}
				for what, out := range map[string]string{
					"view": string(viewed(t, text, kind, kind, found...)), "in place": inPlace(t, doc, found...),
				} {
					if strings.Contains(out, b64) || strings.Contains(out, "a.png\"") && !strings.Contains(out, "winnow") ||
						!strings.Contains(out, found[0].Shown[:12]) {
						t.Errorf("%s: %s", what, out)
					}
				}
			})
		}
	}
}
