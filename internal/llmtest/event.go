package llmtest

import (
	"cmp"
	"fmt"
	"net/http"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow/session"
)

// object is a JSON object that is written once and never looked at.
type object = map[string]any

func encode(value any) []byte {
	text, err := json.Marshal(value, json.Deterministic(true), session.ReadOptions())
	if err != nil {
		panic(fmt.Sprintf("llmtest: %v", err)) // values are made here, of maps and strings, and JSON that was checked
	}
	return text
}

// event is one server-sent event.
type event struct {
	name string // may be empty
	data string
}

func (e event) bytes() []byte {
	text := ""
	if e.name != "" {
		text = "event: " + e.name + "\n"
	}
	return []byte(text + "data: " + e.data + "\n\n")
}

// written is an answer in the form of a protocol: as a stream, or whole.
type written struct {
	events []event
	whole  object
}

func (w *written) send(name string, value object) {
	w.events = append(w.events, event{name, string(encode(value))})
}

// failure is a refusal, to be written as each provider writes it.
type failure struct {
	status                     int
	kind, code, param, message string
	header                     http.Header
	details                    []any // of Gemini
}

// body writes a failure as the body of a response.
func (f failure) body(p Protocol, number int) object {
	switch p {
	case Anthropic:
		return object{"type": "error", "error": object{"type": f.kind, "message": f.message},
			"request_id": requestID(number)}
	case Chat, Responses:
		return object{"error": object{"type": f.kind, "code": orNull(f.code), "param": orNull(f.param),
			"message": f.message}}
	}
	e := object{"code": f.status, "message": f.message, "status": f.kind}
	if len(f.details) > 0 {
		e["details"] = f.details
	}
	return object{"error": e}
}

// events writes a failure as the end of a stream.
func (f failure) events(p Protocol, number, sequence int, model string) []event {
	var w written
	switch p {
	case Anthropic:
		w.send("error", object{"type": "error", "error": object{"type": f.kind, "message": f.message}})
	case Chat:
		w.send("", f.body(p, number))
	case Responses:
		code := f.code
		if code == "" {
			code = f.kind
		}
		// The error comes twice, first in the form of a refusal: libraries end the stream at that,
		// and never see the other.
		w.send("error", object{"type": "error", "sequence_number": sequence, "error": object{
			"type": f.kind, "code": code, "message": f.message, "param": orNull(f.param),
		}})
		failed := responseHead(number, model, "failed")
		failed["error"] = object{"code": code, "message": f.message}
		w.send("response.failed", object{"type": "response.failed", "sequence_number": sequence + 1,
			"response": failed})
	case Gemini:
		w.send("", f.body(p, number))
	}
	return w.events
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func requestID(number int) string { return fmt.Sprintf("req_%06d", number) }

// kinds are how providers call refusals of a status, in the member that says so; 500 and 400 stand
// for all others.
var kinds = map[Protocol]map[int]string{
	Anthropic: {
		401: "authentication_error", 402: "billing_error", 403: "permission_error", 404: "not_found_error",
		413: "request_too_large", 429: "rate_limit_error", 529: "overloaded_error",
		500: "api_error", 400: "invalid_request_error",
	},
	Gemini: {
		401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED", 500: "INTERNAL",
		503: "UNAVAILABLE", 529: "UNAVAILABLE", 400: "INVALID_ARGUMENT",
	},
	Chat: {429: "tokens", 503: "service_unavailable_error", 500: "server_error", 400: "invalid_request_error"},
}

// kindOf is how a provider calls refusals of a status.
func kindOf(p Protocol, status int) string {
	if p == Responses {
		p = Chat
	}
	general := 400
	if status >= 500 && p != Gemini {
		general = 500
	}
	return cmp.Or(kinds[p][status], kinds[p][general])
}
