package demo

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/token"
	"github.com/winnowhq/winnow/wire"
	"github.com/winnowhq/winnow/wire/anthropic"
)

// reply is what the models answer: reasoning, text and calls, in this order.
type reply struct {
	Reasoning, Text string
	Calls           []toolCall
}

// toolCall is a call with its arguments, a JSON object.
type toolCall struct{ Name, Arguments string }

// upstream speaks Anthropic's Messages on loopback, streamed, as far as the demo needs it: what the
// script says, and a prompt cache that knows every prefix that was marked.
type upstream struct {
	url    string
	http   *http.Server
	served chan struct{}

	mu       sync.Mutex // held while the script decides
	script   *script
	number   int
	known    map[[32]byte]bool // prefixes of prompts
	problems []string          // why requests were refused; there should be none
}

// startUpstream starts on a free port.
func startUpstream(s *script) (*upstream, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	u := &upstream{
		url: "http://" + listener.Addr().String(), script: s, served: make(chan struct{}), known: map[[32]byte]bool{},
	}
	u.http = &http.Server{Handler: u}
	go func() {
		defer close(u.served)
		u.http.Serve(listener) // returns when the server is closed
	}()
	return u, nil
}

func (u *upstream) close() error {
	err := u.http.Close()
	<-u.served
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// ServeHTTP answers one request.
func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = anthropic.Check(body)
	}
	if err != nil {
		u.mu.Lock()
		u.problems = append(u.problems, err.Error())
		u.mu.Unlock()
		w.WriteHeader(http.StatusBadRequest)
		text, _ := json.Marshal(object{"type": "error",
			"error": object{"type": "invalid_request_error", "message": err.Error()}})
		w.Write(text)
		return
	}
	u.mu.Lock()
	u.number++
	number := u.number
	usage := u.count(body)
	said := u.script.answer(anthropic.Decode(body).Messages)
	u.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	s := stream{w, r, u.script.pause}
	s.message(number, said, usage)
}

type object = map[string]any

// count is what a prompt costs: what was marked in an earlier request is read from the cache, the
// rest is written to it.
func (u *upstream) count(body []byte) object {
	root := wire.ValueOf(body)
	blocks := [][]byte{root.Get("tools").Bytes(), root.Get("system").Bytes()}
	for message := range root.Get("messages").Values() {
		blocks = append(blocks, message.Bytes())
	}
	var prefix [32]byte
	total, read := 0, 0
	marked := strings.Contains(string(body), anthropic.CacheControl)
	for _, block := range blocks {
		text := strings.ReplaceAll(string(block), anthropic.CacheControl, "")
		total += token.Linear{}.Count(text)
		prefix = sha256.Sum256(append(prefix[:], text...))
		if marked && u.known[prefix] {
			read = total
		}
		u.known[prefix] = u.known[prefix] || marked
	}
	if !marked {
		return object{"input_tokens": total}
	}
	return object{"input_tokens": 0, "cache_read_input_tokens": read, "cache_creation_input_tokens": total - read}
}

// stream writes the events of an answer.
type stream struct {
	w     http.ResponseWriter
	r     *http.Request
	pause time.Duration
}

func (s stream) message(number int, said reply, usage object) {
	output := token.Linear{}.Count(said.Reasoning + said.Text)
	s.send("message_start", object{"message": object{
		"id": fmt.Sprintf("msg_%06d", number), "type": "message", "role": "assistant", "content": []object{},
		"usage": usage,
	}})
	at := 0
	if said.Reasoning != "" {
		sum := fmt.Sprintf("%x", sha256.Sum256([]byte(said.Reasoning)))
		s.block(at, object{"type": "thinking", "thinking": ""}, "thinking_delta", "thinking", said.Reasoning)
		s.delta(at, object{"type": "signature_delta", "signature": sum})
		at++
	}
	if said.Text != "" {
		s.block(at, object{"type": "text", "text": ""}, "text_delta", "text", said.Text)
		at++
	}
	stop := "end_turn"
	for i, c := range said.Calls {
		stop = "tool_use"
		output += token.Linear{}.Count(c.Name + c.Arguments)
		start := object{"type": "tool_use", "id": fmt.Sprintf("toolu_%06d%02d", number, i), "name": c.Name,
			"input": object{}}
		s.block(at, start, "input_json_delta", "partial_json", c.Arguments)
		at++
	}
	s.send("message_delta", object{"delta": object{"stop_reason": stop},
		"usage": object{"output_tokens": max(output, 1)}})
	s.send("message_stop", object{})
}

// block writes a block that grows by a text, a few words at a time.
func (s stream) block(at int, start object, kind, member, text string) {
	s.send("content_block_start", object{"index": at, "content_block": start})
	runes := []rune(text)
	for size := max(12, len(runes)/64); len(runes) > 0; {
		n := min(size, len(runes))
		s.delta(at, object{"type": kind, member: string(runes[:n])})
		runes = runes[n:]
	}
}

func (s stream) delta(at int, delta object) {
	s.send("content_block_delta", object{"index": at, "delta": delta})
}

// send writes one event, after the pause. A client that went away is not an error here.
func (s stream) send(kind string, event object) {
	if s.pause > 0 {
		select {
		case <-time.After(s.pause):
		case <-s.r.Context().Done():
			return
		}
	}
	event["type"] = kind
	text, err := json.Marshal(event, json.Deterministic(true))
	if err != nil {
		text = jsontext.Value("{}")
	}
	fmt.Fprintf(s.w, "event: %s\ndata: %s\n\n", kind, text)
	if f, ok := s.w.(http.Flusher); ok {
		f.Flush()
	}
}
