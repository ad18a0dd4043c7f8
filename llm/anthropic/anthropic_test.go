package anthropic

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/llm/upstream"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/wire"
)

// sent asks once and returns what the server was sent.
func sent(t *testing.T, r llm.Request) (body []byte, header http.Header) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ = io.ReadAll(q.Body)
		header = q.Header
		io.WriteString(w, "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n")
	}))
	defer server.Close()
	c, err := New(upstream.Config{BaseURL: server.URL + "/v1/", Key: "k-12345"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Ask(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	return body, header
}

func said(role session.Role, text string) session.Message {
	m := session.Message{Parts: []session.Part{{Type: session.TextPart, Text: text}}}
	m.Role = role
	return m
}

func TestAsk_marksSystemToolsAndTheLastTwoMessagesOfTheUser(t *testing.T) {
	r := llm.Request{
		Model: model.Model{Provider: "anthropic", ID: "m"}, System: "You help.", Cache: true,
		Tools: jsontext.Value(`[{"name":"a","input_schema":{}},{"name":"b","input_schema":{}}]`),
		Messages: []session.Message{said(session.User, "one"), said(session.Assistant, "two"),
			said(session.User, "three")},
	}
	body, header := sent(t, r)
	const mark = `"cache_control":{"type":"ephemeral"}`
	want := `{"model":"m","max_tokens":4096,"system":[{"type":"text","text":"You help.",` + mark + `}],` +
		`"tools":[{"name":"a","input_schema":{}},{"name":"b","input_schema":{},` + mark + `}],"messages":[` +
		`{"role":"user","content":[{"type":"text","text":"one",` + mark +
		`}]},{"role":"assistant","content":[{"type":"text","text":"two"}]},` +
		`{"role":"user","content":[{"type":"text","text":"three",` + mark + `}]}],"stream":true}`
	if string(body) != want {
		t.Errorf("sent\n%s\nwant\n%s", body, want)
	}
	if header.Get("X-Api-Key") != "k-12345" || header.Get("Anthropic-Version") == "" {
		t.Errorf("headers %v", header)
	}
}

func TestAsk_neverSendsMoreThanFourMarks(t *testing.T) {
	for tools, marks := range map[string]int{
		``:                                     3,
		`[{"n":1}]`:                            4,
		`[{"n":1,"cache_control":{}}]`:         4,
		`[{"n":1,"cache_control":{}},{"n":2}]`: 4,
		`[{"n":1,"cache_control":{}},{"n":2,"cache_control":{}}]`:                                    4,
		`[{"n":1,"cache_control":{}},{"n":2,"cache_control":{}},{"n":3,"cache_control":{}},{"n":4}]`: 4,
	} {
		r := llm.Request{Model: model.Model{ID: "m"}, System: "S", Cache: true, Tools: jsontext.Value(tools),
			Messages: []session.Message{said(session.User, "one"), said(session.Assistant, "two"),
				said(session.User, "three")}}
		body, _ := sent(t, r)
		if got := count(wire.ValueOf(body)); got != marks {
			t.Errorf("%d marks with tools %s, want %d: %s", got, tools, marks, body)
		}
	}
}

// count counts the marks in a value, at any depth.
func count(v wire.Value) int {
	n := 0
	for name, value := range v.Members() {
		if name == "cache_control" {
			n++
			continue
		}
		n += count(value)
	}
	for value := range v.Values() {
		n += count(value)
	}
	return n
}

func TestAsk_theLongWindowIsAHeader(t *testing.T) {
	body, header := sent(t, llm.Request{Model: model.Model{ID: "m[1m]", Limits: model.Limits{Output: 64000}},
		Messages: []session.Message{said(session.User, "x")}})
	if got := wire.ValueOf(body).Get("model").String(); got != "m" ||
		header.Get("Anthropic-Beta") != "context-1m-2025-08-07" {
		t.Errorf("model %q, header %q", got, header.Get("Anthropic-Beta"))
	}
	if got := wire.ValueOf(body).Get("max_tokens").Int(); got != 64000 {
		t.Errorf("max_tokens %d, want the model's own limit", got)
	}
}
