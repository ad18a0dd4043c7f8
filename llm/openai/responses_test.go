package openai

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/llm/upstream"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/wire"
)

// listener answers with a stream of events and keeps the body that it was sent.
type listener struct {
	events []string
	body   []byte
}

func (r *listener) RoundTrip(q *http.Request) (*http.Response, error) {
	r.body, _ = io.ReadAll(q.Body)
	var text strings.Builder
	for _, event := range r.events {
		text.WriteString("data: " + event + "\n\n")
	}
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(text.String())),
		Request: q}, nil
}

func (r *listener) member(name string) string {
	return string(wire.ValueOf(r.body).Get(name).Bytes())
}

func askItems(t *testing.T, id string, cache bool, events ...string) (*listener, llm.Answer, error) {
	t.Helper()
	seen := &listener{events: events}
	client, err := NewResponses(upstream.Config{Transport: seen})
	if err != nil {
		t.Fatal(err)
	}
	m := session.Message{Parts: []session.Part{{Type: session.TextPart, Text: "Hello?"}}}
	m.Role = session.User
	a, err := client.Ask(t.Context(), llm.Request{Model: model.Model{Provider: "openai", ID: id},
		Messages: []session.Message{m}, Cache: cache})
	return seen, a, err
}

const completed = `{"type":"response.completed","response":{"status":"completed","output":[]}}`

func TestResponses_storesNothingAndAsksModelsThatThinkForTheirThoughts(t *testing.T) {
	for id, thinks := range map[string]bool{
		"gpt-5": true, "gpt-5.1-codex": true, "o3": true, "o4-mini": true, "gpt-6": true, "openai/gpt-oss-120b": true,
		"codex-mini-latest": true,
		"gpt-4o":            false, "gpt-4.1-mini": false, "gpt-5-chat-latest": false, "gpt-5.1-chat-latest": false,
		"chatgpt-4o-latest": false, "gpt-3.5-turbo": false,
	} {
		seen, _, err := askItems(t, id, false, completed)
		if err != nil {
			t.Fatal(err)
		}
		if (seen.member("include") == `["reasoning.encrypted_content"]`) != thinks || seen.member("store") != "false" ||
			seen.member("stream") != "true" {
			t.Errorf("%s: %s", id, seen.body)
		}
		if seen.member("prompt_cache_key") != "" {
			t.Errorf("a key for the cache that nobody asked for: %s", seen.body)
		}
	}
	if seen, _, _ := askItems(t, "gpt-5", true, completed); len(seen.member("prompt_cache_key")) != 34 {
		t.Errorf("%s", seen.body)
	}
}

func TestResponses_aSmallBoundIsTheSmallestThatIsTaken(t *testing.T) {
	for asked, want := range map[int]string{0: "", 1: "16", 16: "16", 17: "17"} {
		seen := &listener{events: []string{completed}}
		client, err := NewResponses(upstream.Config{Transport: seen})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Ask(t.Context(), llm.Request{MaxOutput: asked}); err != nil ||
			seen.member("max_output_tokens") != want {
			t.Errorf("asked for %d: %s, %v", asked, seen.body, err)
		}
	}
}

func TestResponses_itemsThatOnlyTheEndTells(t *testing.T) {
	_, a, err := askItems(t, "m", false, `{"type":"response.completed","response":{"status":"completed","output":[`+
		`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Hello"}]},`+
		`{"type":"web_search_call","id":"ws_1","status":"completed"}]}}`)
	if err != nil || a.Text() != "Hello" || a.Finish != llm.Stop || len(a.Parts) != 2 ||
		a.Parts[1].Type != "openai/responses.web_search_call" {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestResponses_aResponseThatFailed(t *testing.T) {
	for event, kind := range map[string]llm.Kind{
		`{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"sorry"}}}`: llm.Server,
		`{"type":"response.failed","response":{"status":"failed","error":{"code":"rate_limit_exceeded",` +
			`"message":"slower"}}}`: llm.RateLimited,
		`{"type":"response.failed","response":{"status":"failed","error":{"code":"context_length_exceeded",` +
			`"message":"Your input exceeds the context window"}}}`: llm.Overflow,
		`{"type":"response.failed","response":{"status":"failed","error":{"code":"invalid_prompt","message":"no"}}}`: llm.Rejected,
		`{"type":"response.failed","response":{"status":"failed","error":null}}`:                                     llm.Server,
		`{"type":"response.cancelled","response":{"status":"cancelled"}}`:                                            llm.Server,
		`{"type":"error","error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"too ` +
			`long"}}`: llm.Overflow,
	} {
		_, _, err := askItems(t, "m", false, event)
		if llm.KindOf(err) != kind {
			t.Errorf("%s: %v, want %s", event, err, kind)
		}
	}
}
