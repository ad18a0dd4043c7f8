package upstream

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/session"
)

// canned answers with one text.
type canned struct {
	status int
	header http.Header
	text   io.Reader
}

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	if c.header == nil {
		c.header = http.Header{}
	}
	return &http.Response{StatusCode: c.status, Header: c.header, Body: io.NopCloser(c.text), Request: r}, nil
}

// read makes a call and reads its answer as an SDK does.
func read(t testing.TB, answer http.RoundTripper, names, done bool) (string, error) {
	t.Helper()
	c := Config{Transport: answer, Key: "sk-secret"}.With("p", "http://p.test")
	call := c.Begin(t.Context(), model.Model{ID: "m"}, names)
	request, err := http.NewRequestWithContext(call.Context(), http.MethodPost, c.BaseURL, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	response, err := c.Client().Do(request)
	if err != nil {
		return "", call.End(done, err)
	}
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Errorf("the SDK was given the error %v", err)
	}
	return string(text), call.End(done, nil)
}

func TestRead_handsOnWellFormedEventsOnly(t *testing.T) {
	for _, c := range []struct {
		name, from, plain, named string
	}{
		{"as it should be", "event: a\ndata: {\"x\":1}\n\n", "data: {\"x\":1}\n\n", "event: a\ndata: {\"x\":1}\n\n"},
		{"the name in the data", "data: {\"type\":\"t\"}\n\n", "data: {\"type\":\"t\"}\n\n", "event: t\ndata: {\"type\":\"t\"}\n\n"},
		{"an error that is null", "event: a\ndata: {\"x\": [1, 2], \"error\": null,\"y\":\"\\u00e9\"}\n\n", "data: {\"x\":[1, 2],\"y\":\"\\u00e9\"}\n\n", "event: a\ndata: {\"x\":[1, 2],\"y\":\"\\u00e9\"}\n\n"},
		{"nothing but an error that is null", "event: a\ndata: {\"error\":null}\n\n", "data: {}\n\n", "event: a\ndata: {}\n\n"},
		{"the end", "data: [DONE]\n\n", "data: [DONE]\n\n", "data: [DONE]\n\n"},
		{"what the end cuts off", "event: a\ndata: {}\n\ndata: {\"x\":\n", "data: {}\n\n", "event: a\ndata: {}\n\n"},
		{"what the end cuts off amid a line", "event: a\ndata: {}\n\ndata: {\"x\":{}", "data: {}\n\n", "event: a\ndata: {}\n\n"},
		{"a last event without its line breaks", "event: a\ndata: {}\n\nevent: a\ndata: {\"x\":1}", "data: {}\n\ndata: {\"x\":1}\n\n", "event: a\ndata: {}\n\nevent: a\ndata: {\"x\":1}\n\n"},
		{"a last event with one line break", "event: a\ndata: {}\n\nevent: a\ndata:{\"x\":1}\r\n", "data: {}\n\ndata: {\"x\":1}\n\n", "event: a\ndata: {}\n\nevent: a\ndata: {\"x\":1}\n\n"},
		{"the end without its line breaks", "data: [DONE]", "data: [DONE]\n\n", "data: [DONE]\n\n"},
		{"an error that is empty", "event: a\ndata: {\"x\":1,\"error\":\"\"}\n\n", "data: {\"x\":1}\n\n", "event: a\ndata: {\"x\":1}\n\n"},
		{"comments and unknown fields", ": hi\n\nevent: a\nid: 7\n:\nretry: 1\ndata: {}\n\n", "data: {}\n\n", "event: a\ndata: {}\n\n"},
		{"a name without data is forgotten", "event: b\n\ndata: {\"type\":\"t\"}\n\n", "data: {\"type\":\"t\"}\n\n", "event: t\ndata: {\"type\":\"t\"}\n\n"},
		{"a long event", "event: a\ndata: {\"x\":\"" + strings.Repeat("é", 100_000) + "\"}\n\n", "data: {\"x\":\"" + strings.Repeat("é", 100_000) + "\"}\n\n",
			"event: a\ndata: {\"x\":\"" + strings.Repeat("é", 100_000) + "\"}\n\n"},
	} {
		for names, want := range map[bool]string{false: c.plain, true: c.named} {
			if got, err := read(t, canned{status: 200, text: strings.NewReader(c.from)}, names, true); got != want || err != nil {
				t.Errorf("%s: %q, %v; want %q", c.name, got, err, want)
			}
		}
	}
}

// endless never stops.
type endless struct{ text string }

func (e endless) Read(p []byte) (int, error) {
	return copy(p, strings.Repeat(e.text, 1+len(p)/len(e.text))), nil
}

func TestRead_ofWhatNeverEndsEnds(t *testing.T) {
	for name, text := range map[string]string{"a line": "data: aaaaaaaaaa", "comments": strings.Repeat(":", 10_000) + "\n", "an event": "data: " + strings.Repeat("1", 10_000) + "\n"} {
		_, err := read(t, canned{status: 200, text: endless{text}}, false, false)
		if llm.KindOf(err) != llm.Endless {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := read(t, canned{status: 500, text: endless{"oh "}}, false, false)
	if e, ok := errors.AsType[*llm.Error](err); !ok || e.Kind != llm.Server || len(e.Message) > 510 {
		t.Errorf("%v", err)
	}
}

func TestRefusal_everyFormOfReport(t *testing.T) {
	for _, c := range []struct {
		status        int
		body          string
		kind          llm.Kind
		code, message string
	}{
		{400, `{"error":{"code":"a","type":"b","message":"no"}}`, llm.Rejected, "a", "no"},
		{400, `{"error":{"type":"b","message":"no"}}`, llm.Rejected, "b", "no"},
		{400, `{"error":"no"}`, llm.Rejected, "", "no"},
		{400, `{"error":"no","code":"a"}`, llm.Rejected, "a", "no"},
		{400, `{"message":"no","type":"b"}`, llm.Rejected, "b", "no"},
		{422, `{"detail":"no"}`, llm.Rejected, "", "no"},
		{422, `{"detail":[{"type":"extra_forbidden","loc":["body","x"],"msg":"Extra inputs are not permitted"}]}`, llm.Rejected, "", "Extra inputs are not permitted"},
		{400, `[{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"no"}}]`, llm.Rejected, "INVALID_ARGUMENT", "no"},
		{400, `{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"API key not valid.","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}`,
			llm.Auth, "API_KEY_INVALID", "API key not valid."},
		{429, `{"error":{"code":"insufficient_quota","type":"insufficient_quota","message":"You exceeded your current quota"}}`, llm.Auth, "insufficient_quota", "You exceeded your current quota"},
		{400, `{"error":{"code":400,"message":"Provider returned error","metadata":{"raw":"prompt is too long: 5 tokens > 4 maximum"}}}`, llm.Overflow, "400",
			"Provider returned error: prompt is too long: 5 tokens > 4 maximum"},
		{400, `{"error":{"code":400,"type":"exceed_context_size_error","message":"the request exceeds the available context size","n_ctx":4096}}`, llm.Overflow, "exceed_context_size_error",
			"the request exceeds the available context size"},
		{500, `{"error":{}}`, llm.Server, "", "Internal Server Error"},
		{500, `{"error":{"message":"cut`, llm.Server, "", "Internal Server Error"},
		{500, "plain\n words", llm.Server, "", "plain words"},
		{500, "<html><TITLE>\nIt broke</TITLE>", llm.Server, "", "It broke"},
		{500, "\xff\xfe", llm.Server, "", "\uFFFD"},
		{418, "", llm.Rejected, "", "I'm a teapot"},
		{401, `{"error":{"message":"bad key sk-secret!"}}`, llm.Auth, "", "bad key [key]!"},
	} {
		_, err := read(t, canned{status: c.status, text: strings.NewReader(c.body)}, false, false)
		e, ok := errors.AsType[*llm.Error](err)
		if !ok || e.Kind != c.kind || e.Code != c.code || e.Message != c.message || e.Status != c.status {
			t.Errorf("%d %s: %+v", c.status, c.body, e)
		}
	}
}

func TestWait_whatHeadersAskFor(t *testing.T) {
	now := time.Date(2026, 10, 21, 7, 28, 0, 0, time.UTC)
	for _, c := range []struct {
		header []string
		want   time.Duration
	}{
		{nil, 0},
		{[]string{"Retry-After", "3"}, 3 * time.Second},
		{[]string{"Retry-After", "0.5"}, 500 * time.Millisecond},
		{[]string{"Retry-After", "0"}, 0},
		{[]string{"Retry-After", "-3"}, 0},
		{[]string{"Retry-After", "NaN"}, 0},
		{[]string{"Retry-After", "1e300"}, 365 * 24 * time.Hour},
		{[]string{"Retry-After", "soon"}, 0},
		{[]string{"Retry-After", "Wed, 21 Oct 2026 07:28:09 GMT"}, 9 * time.Second},
		{[]string{"Retry-After", "Wed, 21 Oct 2026 07:27:09 GMT"}, 0},
		{[]string{"Retry-After", "Wed, 21 Oct 2026 07:28:09 GMT", "Date", "Wed, 21 Oct 2026 07:28:05 GMT"}, 4 * time.Second},
		{[]string{"Retry-After-Ms", "1500", "Retry-After", "9"}, 1500 * time.Millisecond},
		{[]string{"X-Ratelimit-Remaining-Requests", "0", "X-Ratelimit-Reset-Requests", "6m0s"}, 6 * time.Minute},
		{[]string{"X-Ratelimit-Remaining-Requests", "1", "X-Ratelimit-Reset-Requests", "6m0s"}, 0},
		{[]string{"X-Ratelimit-Remaining-Requests", "0"}, 0},
		{[]string{"X-Ratelimit-Remaining-Requests", "0", "X-Ratelimit-Reset-Requests", "20"}, 20 * time.Second},
		{[]string{"X-Ratelimit-Remaining", "0", "X-Ratelimit-Reset", "1792567680000"}, 0},
		{[]string{"Anthropic-Ratelimit-Input-Tokens-Remaining", "0", "Anthropic-Ratelimit-Input-Tokens-Reset", "2026-10-21T07:28:42Z"}, 42 * time.Second},
	} {
		header := http.Header{}
		for i := 0; i+1 < len(c.header); i += 2 {
			header.Set(c.header[i], c.header[i+1])
		}
		if got := wait(header, now); got != c.want {
			t.Errorf("%v: %s, want %s", c.header, got, c.want)
		}
	}
	for message, want := range map[string]time.Duration{
		"Please try again in 1.2s.": 1200 * time.Millisecond, "try again in 250ms": 250 * time.Millisecond, "Try again in 2m": 2 * time.Minute, "try again in 6 seconds": 6 * time.Second,
		"try again in 20 sec": 20 * time.Second, "try again later": 0, "try again in ...s": 0,
		"Please try again in 6m0s.": 6 * time.Minute, "Please try again in 1h2m3.5s. Visit": time.Hour + 2*time.Minute + 3500*time.Millisecond,
		"Please retry after 20 seconds.": 20 * time.Second, "Please retry in 33.9s.": 33900 * time.Millisecond, "try again in 5 more steps": 0,
	} {
		if got := tryAgain(message); got != want {
			t.Errorf("%s: %s, want %s", message, got, want)
		}
	}
}

func TestSplit_countsEveryTokenOnce(t *testing.T) {
	for _, c := range []struct {
		prompt, read, write, answer, thought, total int64
		want                                        session.Usage
	}{
		{100, 60, 10, 50, 20, 150, session.Usage{Total: 150, Input: 30, Output: 30, Reasoning: 20, Cache: session.CacheUsage{Read: 60, Write: 10}}},
		{100, 0, 0, 50, 20, 170, session.Usage{Total: 170, Input: 100, Output: 50, Reasoning: 20}},
		{100, 0, 0, 10, 20, 0, session.Usage{Input: 100, Output: 10, Reasoning: 20}},
		{10, 20, 20, -1, -1, -1, session.Usage{Cache: session.CacheUsage{Read: 10}}},
	} {
		if diff := cmp.Diff(c.want, Split(c.prompt, c.read, c.write, c.answer, c.thought, c.total)); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", c, diff)
		}
	}
}

func TestExtend_addsBehindAndReplacesInPlace(t *testing.T) {
	c := Config{Body: jsontext.Value(`{"b":{"x":1},"n":true,"key":null,"none":null}`)}
	for body, want := range map[string]string{
		`{"a":1,"b":2,"list":[1, 2]}`: `{"a":1,"b":{"x":1},"list":[1, 2],"stream":true,"n":true}`,
		`{}`:                          `{"stream":true,"b":{"x":1},"n":true}`,
		`{"key":[1],"a":{"key":2}}`:   `{"a":{"key":2},"stream":true,"b":{"x":1},"n":true}`,
		`{"key":1}`:                   `{"stream":true,"b":{"x":1},"n":true}`,
	} {
		if got := string(c.Extend([]byte(body), "stream", "true")); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestClient_hasOneRequestForOneCall(t *testing.T) {
	c := Config{Transport: canned{status: 200, text: strings.NewReader("")}}.With("p", "http://p.test")
	call := c.Begin(t.Context(), model.Model{}, false)
	defer call.End(true, nil)
	for n := range 2 {
		request, _ := http.NewRequestWithContext(call.Context(), http.MethodPost, c.BaseURL, nil)
		if _, err := c.Client().Do(request); (err != nil) != (n == 1) {
			t.Errorf("request %d: %v", n+1, err)
		}
	}
	request, _ := http.NewRequest(http.MethodPost, c.BaseURL, nil)
	if _, err := c.Client().Do(request); err == nil {
		t.Error("a request without a call was made")
	}
}

func FuzzRead(f *testing.F) {
	f.Add(200, "event: a\ndata: {\"x\":1}\n\ndata: [DONE]\n\n")
	f.Add(200, "<html>")
	f.Add(200, "[{\"error\":{\"code\":503,\"details\":[{\"@type\":\"a.RetryInfo\",\"retryDelay\":\"9s\"}]}}]")
	f.Add(429, "{\"error\":{\"message\":\"try again in 1.5s sk-secret\"}}")
	f.Add(200, "data: {\"error\":null,\"a\":[{}]}\r\n\r\n: c\n\n\xef\xbb\xbf")
	f.Fuzz(func(t *testing.T, status int, text string) {
		status = 200 + max(status, -status)%400
		handed, err := read(t, canned{status: max(status, 200), text: strings.NewReader(text)}, false, false)
		if err == nil {
			t.Error("an answer without end is whole")
		}
		if strings.Contains(err.Error(), "sk-secret") {
			t.Errorf("the key shows: %v", err)
		}
		for event := range strings.SplitSeq(handed, "\n\n") {
			data, ok := strings.CutPrefix(event, "data: ")
			if event != "" && (!ok || data != "[DONE]" && !jsontext.Value(data).IsValid(session.ReadOptions())) {
				t.Errorf("handed on %q of %q", event, text)
			}
		}
	})
}
