package body

import (
	"bytes"
	"strings"

	"github.com/winnowhq/winnow/wire"
)

// Kind names a wire format of request bodies.
type Kind string

const (
	Unknown   Kind = ""
	Anthropic Kind = "anthropic"
	Chat      Kind = "openai-chat"
	Responses Kind = "openai-responses"
)

// Sniff tells which wire format a file holds, from its beginning, which may be cut anywhere: a request body, a bare list of
// messages, or recorded requests.
func Sniff(head []byte) Kind {
	if IsRecording(head) {
		for line := range bytes.Lines(head) {
			if r, _ := parseRequest(bytes.TrimSpace(line)); r.kind != Unknown {
				return r.kind
			}
		}
		return Unknown
	}
	text, _ := wire.Complete(head)
	return sniffBody(text, wire.Root(text))
}

// IsRecording reports whether a file begins with a recorded request: a line with method, url and headers or body.
func IsRecording(head []byte) bool {
	line := bytes.TrimSpace(head)
	if newline := bytes.IndexByte(line, '\n'); newline >= 0 {
		line = line[:newline]
	}
	if len(line) == 0 || line[0] != '{' || !bytes.Contains(line, []byte(`"url"`)) {
		return false
	}
	text, _ := wire.Complete(line)
	var method, address bool
	for name, value := range wire.Members(text, wire.Root(text)) {
		method = method || string(name) == "method" && wire.Kind(text, value) == '"'
		address = address || string(name) == "url" && wire.Kind(text, value) == '"'
	}
	return method && address
}

type request struct {
	kind Kind
	body []byte
}

// parseRequest reads a line of a recording. The address tells the wire format where it is a known one, else the body.
func parseRequest(line []byte) (request, []wire.Skipped) {
	text, skipped := wire.Complete(line)
	var r request
	var address string
	for name, value := range wire.Members(text, wire.Root(text)) {
		switch string(name) {
		case "url":
			address, _, _ = strings.Cut(wire.String(text, value), "?")
		case "body":
			switch wire.Kind(text, value) {
			case '"':
				r.body = []byte(wire.String(text, value))
			case '{', '[':
				r.body = value.Of(text)
			}
		}
	}
	switch {
	case strings.HasSuffix(address, "/messages"):
		r.kind = Anthropic
	case strings.HasSuffix(address, "/chat/completions"):
		r.kind = Chat
	case strings.HasSuffix(address, "/responses"):
		r.kind = Responses
	case len(r.body) > 0:
		inner, _ := wire.Complete(r.body)
		r.kind = sniffBody(inner, wire.Root(inner))
	}
	return r, skipped
}

// signs counts what speaks for a wire format.
type signs struct {
	anthropic, chat, responses int
	foreign                    bool // it is another product's file
	model                      string
	elements                   int
}

func sniffBody(text []byte, root wire.Span) Kind {
	var s signs
	list := root
	if wire.Kind(text, root) == '{' {
		list = s.head(text, root)
	}
	for at := range wire.Values(text, list) {
		s.element(text, at)
		if s.elements++; s.elements == 50 {
			break
		}
	}
	known := s.anthropic + s.chat + s.responses
	switch {
	case s.foreign, s.elements == 0 && (s.model == "" || known == 0):
		return Unknown
	case s.responses > 0 && s.responses >= s.anthropic && s.responses >= s.chat:
		return Responses
	case s.anthropic > s.chat, known == 0 && strings.Contains(s.model, "claude"):
		return Anthropic
	}
	return Chat
}

// head reads the members beside the messages, and returns the list of messages.
func (s *signs) head(text []byte, root wire.Span) (list wire.Span) {
	for name, value := range wire.Members(text, root) {
		kind := wire.Kind(text, value)
		switch string(name) {
		case "messages":
			if kind == '[' {
				list = value
			}
		case "input":
			if kind == '[' {
				list = value
			}
			s.responses += 10
		case "contents", "info", "trajectory_format", "trajectory", "history", "payload", "uuid", "sessionId", "parts":
			s.foreign = true
		case "model":
			s.model = wire.String(text, value)
		case "system", "anthropic_version", "anthropic_beta", "thinking", "stop_sequences", "output_config":
			s.anthropic++
		case "stream_options", "max_completion_tokens", "response_format", "logprobs", "n", "frequency_penalty":
			s.chat++
		case "instructions", "previous_response_id", "prompt_cache_key", "max_output_tokens", "include":
			s.responses++
		case "tools":
			s.tools(text, value)
		}
	}
	if wire.Kind(text, list) == 0 && s.responses < 10 && s.model == "" {
		s.foreign = true
	}
	return list
}

func (s *signs) tools(text []byte, tools wire.Span) {
	for at := range wire.Values(text, tools) {
		for name := range wire.Members(text, at) {
			switch string(name) {
			case "input_schema":
				s.anthropic++
			case "function":
				s.chat++
			case "parameters", "strict":
				s.responses++
			}
		}
		return
	}
}

func (s *signs) element(text []byte, at wire.Span) {
	var role, kind string
	var content wire.Span
	for name, value := range wire.Members(text, at) {
		switch string(name) {
		case "role":
			role = wire.String(text, value)
		case "type":
			kind = wire.String(text, value)
		case "content":
			content = value
		case "tool_calls", "tool_call_id", "function_call":
			s.chat++
		case "call_id", "encrypted_content":
			s.responses++
		case "info", "parts", "message", "payload":
			s.foreign = true
		}
	}
	switch role {
	case "system":
		if s.elements == 0 {
			s.chat++
		}
	case "developer", "tool", "function":
		s.chat++
	case "user", "assistant":
	case "":
		switch kind {
		case "reasoning", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output", "message", "item_reference",
			"compaction", "additional_tools", "web_search_call", "local_shell_call":
		default:
			s.foreign = true
		}
	default:
		s.foreign = true
	}
	if kind == "message" {
		s.responses++
	}
	for block := range wire.Values(text, content) {
		switch wire.String(text, wire.Member(text, block, "type")) {
		case "tool_use", "tool_result", "thinking", "redacted_thinking", "image", "document":
			s.anthropic++
		case "image_url", "input_audio":
			s.chat++
		case "input_text", "output_text", "input_image", "input_file":
			s.responses++
		}
	}
}
