package gemini

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/llm/upstream"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/wire"
)

// recorder answers with a stream of chunks and keeps where it was asked.
type recorder struct {
	chunks []string
	url    string
	header http.Header
}

func (r *recorder) RoundTrip(q *http.Request) (*http.Response, error) {
	r.url, r.header = q.URL.String(), q.Header
	var text strings.Builder
	for _, chunk := range r.chunks {
		text.WriteString("data: " + chunk + "\n\n")
	}
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(text.String())),
		Request: q}, nil
}

func ask(t *testing.T, base string, chunks ...string) (*recorder, llm.Answer, error) {
	t.Helper()
	seen := &recorder{chunks: chunks}
	client, err := New(upstream.Config{BaseURL: base, Transport: seen})
	if err != nil {
		t.Fatal(err)
	}
	a, err := client.Ask(t.Context(), llm.Request{Model: model.Model{Provider: "google", ID: "gemini-x"}})
	return seen, a, err
}

// parts is a chunk with parts.
func parts(list string) string {
	return `{"candidates":[{"content":{"role":"model","parts":[` + list + `]}}]}`
}

const stop = `{"candidates":[{"finishReason":"STOP"}]}`

func TestNew_aBaseURLMayNameTheVersion(t *testing.T) {
	for base, want := range map[string]string{
		"":                            "https://generativelanguage.googleapis.com/v1beta/",
		"https://g.test":              "https://g.test/v1beta/",
		"https://g.test/v1beta/":      "https://g.test/v1beta/",
		"https://g.test/gateway/v1":   "https://g.test/gateway/v1/",
		"https://g.test/gateway/v1/x": "https://g.test/gateway/v1/x/v1beta/",
	} {
		seen, _, err := ask(t, base, stop)
		if want += "models/gemini-x:streamGenerateContent?alt=sse"; err != nil || seen.url != want {
			t.Errorf("%s: asked %s, want %s (%v)", base, seen.url, want, err)
		}
		if _, ok := seen.header["X-Goog-Api-Key"]; ok {
			t.Errorf("a key is sent where there is none: %v", seen.header)
		}
	}
}

func TestAsk_putsPiecesTogetherAndLeavesSignedOnesAlone(t *testing.T) {
	text := func(text, signature string) session.Part {
		return session.Part{Type: session.TextPart, Text: text, Metadata: wire.Metadata("google", "thoughtSignature",
			signature)}
	}
	for _, c := range []struct {
		name   string
		chunks []string
		want   []session.Part
	}{
		{"pieces", []string{parts(`{"text":"a"},{"text":"b"}`), parts(`{"text":"c"}`)},
			[]session.Part{text("abc", "")}},
		{"a signed piece", []string{parts(`{"text":"a"}`), parts(`{"text":"b","thoughtSignature":"c2ln"}`),
			parts(`{"text":"c"}`)},
			[]session.Part{text("a", ""), text("b", "c2ln"), text("c", "")}},
		{"a signature by itself", []string{parts(`{"text":"a"}`), parts(`{"text":"","thoughtSignature":"c2ln"}`),
			parts(`{"text":"c"}`)},
			[]session.Part{text("a", "c2ln"), text("c", "")}},
		{"two signatures", []string{parts(`{"text":"a","thoughtSignature":"b25l"}`),
			parts(`{"text":"","thoughtSignature":"dHdv"}`)},
			[]session.Part{text("a", "b25l"), text("", "dHdv")}},
		{"calls without id and arguments", []string{parts(`{"functionCall":{"name":"list"}},` +
			`{"functionCall":{"name":"list","args":{}}}`)},
			[]session.Part{wire.PendingCall("call_1", "list", "{}", nil),
				wire.PendingCall("call_2", "list", "{}", nil)}},
		{"an image", []string{parts(`{"inlineData":{"mimeType":"image/png","data":"iVBORw0="}}`)},
			[]session.Part{{Type: session.FilePart, Mime: "image/png", URL: "data:image/png;base64,iVBORw0="}}},
		{"what only the API understands", []string{parts(`{"executableCode":{"language":"PYTHON","code":"print(1)"}}`)},
			[]session.Part{{Type: "gemini/part",
				Metadata: []byte(`{"executableCode":{"language":"PYTHON","code":"print(1)"}}`)}}},
	} {
		_, a, err := ask(t, "", append(c.chunks, stop)...)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if diff := cmp.Diff(c.want, a.Parts); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestAsk_whatToolsOfTheProviderReadIsPartOfThePrompt(t *testing.T) {
	_, a, err := ask(t, "", `{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":100,`+
		`"cachedContentTokenCount":60,"toolUsePromptTokenCount":7,"candidatesTokenCount":5,"thoughtsTokenCount":9,`+
		`"totalTokenCount":121}}`)
	want := session.Usage{Total: 121, Input: 47, Output: 5, Reasoning: 9, Cache: session.CacheUsage{Read: 60}}
	if diff := cmp.Diff(want, a.Usage); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestAsk_reasons(t *testing.T) {
	for reason, want := range map[string]llm.Finish{"SAFETY": llm.Refused, "RECITATION": llm.Refused,
		"MAX_TOKENS": llm.Length, "MALFORMED_FUNCTION_CALL": llm.Other, "NEW_ONE": llm.Other, "STOP": llm.Stop} {
		if _, a, err := ask(t, "", `{"candidates":[{"finishReason":"`+reason+`"}]}`); err != nil || a.Finish != want {
			t.Errorf("%s: %s, %v; want %s", reason, a.Finish, err, want)
		}
	}
}
