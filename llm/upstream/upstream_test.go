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
	"github.com/winnowhq/winnow/wire"
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

// taker takes events and keeps them. It is a protocol that sends a fixed message, too.
type taker struct {
	message Message
	events  []string
	ended   bool
}

func (k *taker) Write(llm.Request) (Message, error) { return k.message, nil }
func (k *taker) Read(hear func(string)) wire.Stream { return k }
func (k *taker) Answer() wire.Answer                { return wire.Answer{Ended: k.ended} }
func (k *taker) Take(event []byte) (last bool) {
	k.events = append(k.events, string(event))
	return false
}

// read makes a call and returns the events of its answer.
func read(t testing.TB, answer http.RoundTripper, ended bool) ([]string, error) {
	t.Helper()
	k := &taker{message: Message{Body: []byte("{}")}, ended: ended}
	client, err := New(Config{Transport: answer, Key: "sk-secret"}.With("p", "http://p.test"), k)
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.Ask(t.Context(), llm.Request{Model: model.Model{ID: "m"}})
	return k.events, err
}

func TestRead_handsOnWellFormedEventsOnly(t *testing.T) {
	long := `{"x":"` + strings.Repeat("é", 100_000) + `"}`
	for _, c := range []struct {
		name, from string
		want       []string
	}{
		{"as it should be", "event: a\ndata: {\"x\":1}\n\n", []string{`{"x":1}`}},
		{"an error that is null", "event: a\ndata: {\"x\": [1, 2], \"error\": null}\n\n",
			[]string{`{"x": [1, 2], "error": null}`}},
		{"an error that is empty", "event: a\ndata: {\"x\":1,\"error\":\"\"}\n\n", []string{`{"x":1,"error":""}`}},
		{"the end", "data: [DONE] and more\n\n", []string{"[DONE]"}},
		{"a byte order mark and white space", "\xEF\xBB\xBF \n\ndata: {}\n\n", []string{"{}"}},
		{"a long event", "event: a\ndata: " + long + "\n\n", []string{long}},
	} {
		got, err := read(t, canned{status: 200, text: strings.NewReader(c.from)}, true)
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", c.name, err, diff)
		}
	}
}

// endless never stops.
type endless struct{ text string }

func (e endless) Read(p []byte) (int, error) {
	return copy(p, strings.Repeat(e.text, 1+len(p)/len(e.text))), nil
}

func TestRead_ofWhatNeverEndsEnds(t *testing.T) {
	for name, text := range map[string]string{"a line": "data: aaaaaaaaaa", "comments": strings.Repeat(":", 10_000) +
		"\n", "an event": "data: " + strings.Repeat("1", 10_000) + "\n"} {
		_, err := read(t, canned{status: 200, text: endless{text}}, false)
		if llm.KindOf(err) != llm.Endless {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := read(t, canned{status: 500, text: endless{"oh "}}, false)
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
		{422, `{"detail":[{"type":"extra_forbidden","loc":["body","x"],"msg":"Extra inputs are not permitted"}]}`,
			llm.Rejected, "", "Extra inputs are not permitted"},
		{400, `[{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"no"}}]`, llm.Rejected, "INVALID_ARGUMENT",
			"no"},
		{400, `{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"API key not ` +
			`valid.","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}`,
			llm.Auth, "API_KEY_INVALID", "API key not valid."},
		{429, `{"error":{"code":"insufficient_quota","type":"insufficient_quota","message":"You exceeded your ` +
			`current quota"}}`, llm.Auth, "insufficient_quota", "You exceeded your current quota"},
		{400, `{"error":{"code":400,"message":"Provider returned error","metadata":{"raw":"prompt is too long: 5 ` +
			`tokens > 4 maximum"}}}`, llm.Overflow, "400",
			"Provider returned error: prompt is too long: 5 tokens > 4 maximum"},
		{400, `{"error":{"code":400,"type":"exceed_context_size_error","message":"the request exceeds the available ` +
			`context size","n_ctx":4096}}`, llm.Overflow, "exceed_context_size_error",
			"the request exceeds the available context size"},
		{500, `{"error":{}}`, llm.Server, "", "Internal Server Error"},
		{500, `{"error":{"message":"cut`, llm.Server, "", "Internal Server Error"},
		{500, "plain\n words", llm.Server, "", "plain words"},
		{500, "<html><TITLE>\nIt broke</TITLE>", llm.Server, "", "It broke"},
		{500, "\xff\xfe", llm.Server, "", "\uFFFD"},
		{418, "", llm.Rejected, "", "I'm a teapot"},
		{401, `{"error":{"message":"bad key sk-secret!"}}`, llm.Auth, "", "bad key [key]!"},
	} {
		_, err := read(t, canned{status: c.status, text: strings.NewReader(c.body)}, false)
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
		{[]string{"Retry-After", "Wed, 21 Oct 2026 07:28:09 GMT", "Date", "Wed, 21 Oct 2026 07:28:05 GMT"},
			4 * time.Second},
		{[]string{"Retry-After-Ms", "1500", "Retry-After", "9"}, 1500 * time.Millisecond},
		{[]string{"X-Ratelimit-Remaining-Requests", "0", "X-Ratelimit-Reset-Requests", "6m0s"}, 6 * time.Minute},
		{[]string{"X-Ratelimit-Remaining-Requests", "1", "X-Ratelimit-Reset-Requests", "6m0s"}, 0},
		{[]string{"X-Ratelimit-Remaining-Requests", "0"}, 0},
		{[]string{"X-Ratelimit-Remaining-Requests", "0", "X-Ratelimit-Reset-Requests", "20"}, 20 * time.Second},
		{[]string{"X-Ratelimit-Remaining", "0", "X-Ratelimit-Reset", "1792567680000"}, 0},
		{[]string{"Anthropic-Ratelimit-Input-Tokens-Remaining", "0", "Anthropic-Ratelimit-Input-Tokens-Reset",
			"2026-10-21T07:28:42Z"}, 42 * time.Second},
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
		"Please try again in 1.2s.": 1200 * time.Millisecond, "try again in 250ms": 250 * time.Millisecond,
		"Try again in 2m": 2 * time.Minute, "try again in 6 seconds": 6 * time.Second,
		"try again in 20 sec": 20 * time.Second, "try again later": 0, "try again in ...s": 0,
		"Please try again in 6m0s.": 6 * time.Minute, "Please try again in 1h2m3.5s. Visit": time.Hour + 2*time.Minute +
			3500*time.Millisecond,
		"Please retry after 20 seconds.": 20 * time.Second, "Please retry in 33.9s.": 33900 * time.Millisecond,
		"try again in 5 more steps": 0,
	} {
		if got := tryAgain(message); got != want {
			t.Errorf("%s: %s, want %s", message, got, want)
		}
	}
}

func TestExtend_addsBehindAndReplacesInPlace(t *testing.T) {
	c := Config{Body: jsontext.Value(`{"b":{"x":1},"n":true,"key":null,"none":null}`)}
	for body, want := range map[string]string{
		`{"a":1,"b":2,"list":[1, 2]}`: `{"a":1,"b":{"x":1},"list":[1, 2],"n":true}`,
		`{}`:                          `{"b":{"x":1},"n":true}`,
		`{"key":[1],"a":{"key":2}}`:   `{"a":{"key":2},"b":{"x":1},"n":true}`,
		`{"key":1}`:                   `{"b":{"x":1},"n":true}`,
	} {
		if got := string(c.extend([]byte(body))); got != want {
			t.Errorf("%s, want %s", got, want)
		}
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
		handed, err := read(t, canned{status: max(status, 200), text: strings.NewReader(text)}, false)
		if err == nil {
			t.Error("an answer without end is whole")
		}
		if strings.Contains(err.Error(), "sk-secret") {
			t.Errorf("the key shows: %v", err)
		}
		for _, event := range handed {
			if event != "[DONE]" && !jsontext.Value(event).IsValid(session.ReadOptions()) {
				t.Errorf("handed on %q of %q", event, text)
			}
		}
	})
}
