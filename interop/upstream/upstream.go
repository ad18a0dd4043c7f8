// Package upstream answers: what would a provider say? It is a scripted provider on loopback for tests, which
// speaks Anthropic Messages, OpenAI Chat Completions and OpenAI Responses as the real clients
// expect them, and records what it was asked.
package upstream

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Protocol is a way to write a conversation down.
type Protocol string

const (
	Messages  Protocol = "messages"         // Anthropic, POST …/messages
	Chat      Protocol = "chat/completions" // OpenAI, POST …/chat/completions
	Responses Protocol = "responses"        // OpenAI, POST …/responses
)

// Request is what a client asked.
type Request struct {
	Number   int // 1 for the first
	Protocol Protocol
	Path     string
	Header   http.Header
	Body     []byte // as it was sent

	Model   string
	Stream  bool
	Tools   []string // names of the tools on offer; empty for the side requests of some clients (titles, topics)
	Results int      // tool results in the conversation; scripts count their steps by it
}

// Reply is what the upstream answers: thoughts, text and at most one tool call, in that order.
type Reply struct {
	Reasoning string // Messages only
	Text      string
	Call      *Call
	Usage     Usage // the zero value is made up from the size of the request

	// Status makes the answer an error when it is 400 or more, with the text as its message.
	Status int
}

// Call is a tool call.
type Call struct {
	ID        string // made up when empty
	Name      string
	Arguments string // a JSON object; "{}" when empty
}

// Usage is what the upstream reports, in tokens. Input is the fresh part of the prompt alone.
type Usage struct{ Input, Output, CacheRead, CacheWrite, Reasoning int }

// Answer decides what is answered. It is called by one request at a time.
type Answer func(Request) Reply

// Text is the answer that always says the same.
func Text(text string) Answer { return func(Request) Reply { return Reply{Text: text} } }

// Upstream is a running provider.
type Upstream struct {
	// URL is its root, without a slash at the end: http://127.0.0.1:PORT. Anthropic's clients take it as it is,
	// OpenAI's with /v1.
	URL string

	answer Answer

	mu       sync.Mutex
	requests []Request
	others   []string
}

// Start runs an upstream on a free port of loopback until the test ends.
func Start(t testing.TB, answer Answer) *Upstream {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("start the upstream: %v", err)
	}
	u := &Upstream{URL: "http://" + listener.Addr().String(), answer: answer}
	server := &http.Server{Handler: u}
	done := make(chan struct{})
	go func() {
		defer close(done)
		server.Serve(listener) // returns when the server is closed
	}()
	t.Cleanup(func() {
		server.Close()
		<-done
	})
	return u
}

// Requests returns what was asked so far, oldest first.
func (u *Upstream) Requests() []Request {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.requests)
}

// Others returns the method and path of every request that was none of the protocols; they were answered with 404.
func (u *Upstream) Others() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.others)
}

// Forget drops what was recorded.
func (u *Upstream) Forget() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.requests, u.others = nil, nil
}

// ServeHTTP answers one request.
func (u *Upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	path := strings.TrimSuffix(r.URL.Path, "/")
	var protocol Protocol
	for _, p := range []Protocol{Messages, Chat, Responses} {
		if strings.HasSuffix(path, "/"+string(p)) {
			protocol = p
		}
	}
	switch {
	case r.Method == http.MethodPost && strings.HasSuffix(path, "/messages/count_tokens"):
		respond(w, http.StatusOK, object{"input_tokens": estimate(body)})
		return
	case r.Method != http.MethodPost || protocol == "":
		u.mu.Lock()
		u.others = append(u.others, r.Method+" "+r.URL.Path)
		u.mu.Unlock()
		respond(w, http.StatusNotFound, failure(http.StatusNotFound, "no such path: "+r.URL.Path))
		return
	}
	request, err := understand(protocol, body)
	if err != nil {
		respond(w, http.StatusBadRequest, failure(http.StatusBadRequest, err.Error()))
		return
	}
	request.Path, request.Header = r.URL.Path, r.Header.Clone()

	u.mu.Lock()
	request.Number = len(u.requests) + 1
	u.requests = append(u.requests, request)
	reply := u.answer(request)
	u.mu.Unlock()

	if reply.Status >= 400 {
		respond(w, reply.Status, failure(reply.Status, reply.Text))
		return
	}
	complete(&reply, request)
	switch protocol {
	case Messages:
		answerMessages(w, request, reply)
	case Chat:
		answerChat(w, request, reply)
	case Responses:
		answerResponses(w, request, reply)
	}
}

// complete fills in what the script left open.
func complete(reply *Reply, request Request) {
	if reply.Usage == (Usage{}) {
		reply.Usage = Usage{Input: estimate(request.Body), Output: 20}
	}
	if reply.Call != nil {
		call := *reply.Call
		if call.ID == "" {
			call.ID = fmt.Sprintf("call_%06d", request.Number)
			if request.Protocol == Messages {
				call.ID = fmt.Sprintf("toolu_%06d", request.Number)
			}
		}
		if call.Arguments == "" {
			call.Arguments = "{}"
		}
		reply.Call = &call
	}
}

func estimate(body []byte) int { return len(body)/4 + 1 }

// understand reads what scripts need to know about a request.
func understand(protocol Protocol, body []byte) (Request, error) {
	var asked struct {
		Model  string `json:"model"`
		Stream bool   `json:"stream"`
		Tools  []struct {
			Type     string `json:"type"`
			Name     string `json:"name"`
			Function struct {
				Name string `json:"name"`
			} `json:"function"`
		} `json:"tools"`
		Messages []struct {
			Role    string         `json:"role"`
			Content jsontext.Value `json:"content"`
		} `json:"messages"`
		Input jsontext.Value `json:"input"`
	}
	if err := json.Unmarshal(body, &asked, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)); err != nil {
		return Request{}, fmt.Errorf("the body of a %s request is not understood: %w", protocol, err)
	}
	r := Request{Protocol: protocol, Body: body, Model: asked.Model, Stream: asked.Stream}
	for _, tool := range asked.Tools {
		r.Tools = append(r.Tools, cmpOr(tool.Name, tool.Function.Name, tool.Type))
	}
	for _, m := range asked.Messages {
		if m.Role == "tool" {
			r.Results++
		}
		r.Results += count(m.Content, "tool_result")
	}
	r.Results += count(asked.Input, "function_call_output") + count(asked.Input, "custom_tool_call_output")
	return r, nil
}

func cmpOr(names ...string) string {
	for _, name := range names {
		if name != "" {
			return name
		}
	}
	return ""
}

// count counts the elements of an array that are of this type; anything but an array has none.
func count(array jsontext.Value, kind string) int {
	if array.Kind() != '[' {
		return 0
	}
	var elements []struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(array, &elements, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)) != nil {
		return 0
	}
	n := 0
	for _, e := range elements {
		if e.Type == kind {
			n++
		}
	}
	return n
}

// Contains reports whether a string somewhere in the body contains this text, escapes decoded.
func (r Request) Contains(text string) bool {
	dec := jsontext.NewDecoder(bytes.NewReader(r.Body), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	for {
		token, err := dec.ReadToken()
		if err != nil {
			return false
		}
		if token.Kind() == '"' && strings.Contains(token.String(), text) {
			return true
		}
	}
}

// object is a JSON object that is written once and never looked at.
type object = map[string]any

func failure(status int, message string) object {
	kind := "invalid_request_error"
	switch {
	case status == http.StatusNotFound:
		kind = "not_found_error"
	case status == http.StatusTooManyRequests:
		kind = "rate_limit_error"
	case status >= 500:
		kind = "api_error"
	}
	return object{"type": "error", "error": object{"type": kind, "message": message}}
}

func respond(w http.ResponseWriter, status int, value any) {
	text, err := json.Marshal(value, json.Deterministic(true))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(text)
}

// stream writes server-sent events.
type stream struct{ w http.ResponseWriter }

func newStream(w http.ResponseWriter) stream {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	return stream{w}
}

// send writes one event; name may be empty. A client that went away is not an error here.
func (s stream) send(name string, value any) {
	text, err := json.Marshal(value, json.Deterministic(true))
	if err != nil {
		panic(err) // values are made in this package, of maps and strings
	}
	if name != "" {
		fmt.Fprintf(s.w, "event: %s\n", name)
	}
	fmt.Fprintf(s.w, "data: %s\n\n", text)
	if f, ok := s.w.(http.Flusher); ok {
		f.Flush()
	}
}
