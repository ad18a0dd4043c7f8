package budget

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
)

// Rejection is how a provider refused a request, as far as it is known.
type Rejection struct {
	Status  int    // of HTTP; 0 when there was none, as for an error inside a stream
	Code    string // the error's code or type, when the client library parsed it
	Message string // the error's message
	Body    string // the response as it came
}

// maxText is how much of a message or a body is looked at. Messages that name a limit do so at
// once.
const maxText = 64 << 10

// codes are the codes and types of errors that say overflow without a doubt: OpenAI's and those who
// copy it, llama.cpp's, and the stop reason of Anthropic.
var codes = map[string]bool{
	"context_length_exceeded":       true,
	"exceed_context_size_error":     true,
	"model_context_window_exceeded": true,
	"string_above_max_length":       true, // OpenAI: one text of ten million characters
	"array_above_max_length":        true, // OpenAI: two thousand messages
}

// Rejected reports whether a request was refused because it is too long for the model: by HTTP
// status 413, by an error code, at any depth of the body, or by a message that is known to mean it.
// Messages about rates ("too many tokens per minute") look alike and are not overflow: they pass
// with time, and a compaction would be in vain. Nor is what a status about the account (401, 402,
// 403, 429) comes with, unless its words leave no doubt.
func Rejected(r Rejection) bool {
	if r.Status == 413 || codes[strings.ToLower(r.Code)] {
		return true
	}
	coded, messages := read(head(r.Body))
	account := r.Status == 401 || r.Status == 402 || r.Status == 403 || r.Status == 429
	return coded || tooLong(head(r.Message), account) ||
		slices.ContainsFunc(messages, func(m string) bool { return tooLong(m, account) })
}

// read looks through a body: whether it holds one of the codes, and which messages. A body that is
// not JSON is a message as it stands; of damaged JSON what can be read counts.
func read(body string) (coded bool, messages []string) {
	body = strings.TrimSpace(body)
	if !strings.HasPrefix(body, "{") && !strings.HasPrefix(body, "[") {
		return false, []string{body}
	}
	d := jsontext.NewDecoder(strings.NewReader(body), session.ReadOptions())
	for {
		t, err := d.ReadToken()
		if err != nil {
			return coded, messages
		}
		// Every second string in an object is a value; the others are names.
		if kind, n := d.StackIndex(d.StackDepth()); t.Kind() != '"' || kind != '{' || n%2 != 0 {
			continue
		}
		value := t.String()
		switch d.StackPointer().LastToken() {
		case "code", "type", "status", "stop_reason", "finish_reason":
			coded = coded || codes[strings.ToLower(value)]
		case "message", "msg", "detail", "error", "error_message", "raw":
			messages = append(messages, value)
		}
	}
}

func head(s string) string { return s[:min(len(s), maxText)] }
