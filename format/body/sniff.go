package body

import (
	"bytes"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/wire"
)

// Sniff tells which wire format a file holds, from its beginning, which may be cut anywhere: a
// request body, a bare list of messages, or recorded requests.
func Sniff(head []byte) wire.Protocol {
	if IsRecording(head) {
		for line := range bytes.Lines(head) {
			if r, _ := parseRequest(bytes.TrimSpace(line)); r.kind != wire.Unknown {
				return r.kind
			}
		}
		return wire.Unknown
	}
	text, _ := wire.Complete(head)
	return sniffBody(wire.ValueOf(text))
}

// IsRecording reports whether a file begins with a recorded request: a line with method, url and
// headers or body.
func IsRecording(head []byte) bool {
	line := bytes.TrimSpace(head)
	if newline := bytes.IndexByte(line, '\n'); newline >= 0 {
		line = line[:newline]
	}
	if len(line) == 0 || line[0] != '{' || !bytes.Contains(line, []byte(`"url"`)) {
		return false
	}
	text, _ := wire.Complete(line)
	var method, address wire.Value
	wire.ValueOf(text).Read("method", &method, "url", &address)
	return method.Kind() == '"' && address.Kind() == '"'
}

type request struct {
	kind wire.Protocol
	body []byte
}

// parseRequest reads a line of a recording. The address tells the wire format where it is a known
// one, else the body.
func parseRequest(line []byte) (request, []wire.Skipped) {
	text, skipped := wire.Complete(line)
	var r request
	var address string
	var body wire.Value
	wire.ValueOf(text).Read("url", &address, "body", &body)
	address, _, _ = strings.Cut(address, "?")
	switch body.Kind() {
	case '"':
		r.body = []byte(body.String())
	case '{', '[':
		r.body = body.Bytes()
	}
	switch {
	case strings.HasSuffix(address, "/messages"):
		r.kind = wire.Anthropic
	case strings.HasSuffix(address, "/chat/completions"):
		r.kind = wire.Chat
	case strings.HasSuffix(address, "/responses"):
		r.kind = wire.Responses
	case strings.HasSuffix(address, ":generateContent"), strings.HasSuffix(address, ":streamGenerateContent"):
		r.kind = wire.Gemini
	case len(r.body) > 0:
		inner, _ := wire.Complete(r.body)
		r.kind = sniffBody(wire.ValueOf(inner))
	}
	return r, skipped
}

// foreign is the kind of another product's file.
const foreign wire.Protocol = "foreign"

// What members, and types of blocks, say about whose body they are in.
var (
	headSigns = map[wire.Protocol][]string{
		wire.Anthropic: {"system", "anthropic_version", "anthropic_beta", "thinking", "stop_sequences", "output_config"},
		wire.Chat:      {"stream_options", "max_completion_tokens", "response_format", "logprobs", "n", "frequency_penalty"},
		wire.Responses: {"instructions", "previous_response_id", "prompt_cache_key", "max_output_tokens", "include"},
		foreign: {"contents", "info", "trajectory_format", "trajectory", "history", "payload", "uuid", "sessionId",
			"parts", "source_message_count"},
	}
	toolSigns = map[wire.Protocol][]string{
		wire.Anthropic: {"input_schema"}, wire.Chat: {"function"}, wire.Responses: {"parameters", "strict"},
	}
	elementSigns = map[wire.Protocol][]string{
		wire.Chat:      {"tool_calls", "tool_call_id", "function_call"},
		wire.Responses: {"call_id", "encrypted_content"},
		foreign:        {"info", "parts", "message", "payload"},
	}
	blockSigns = map[wire.Protocol][]string{
		wire.Anthropic: {"tool_use", "tool_result", "thinking", "redacted_thinking", "image", "document"},
		wire.Chat:      {"image_url", "input_audio"},
		wire.Responses: {"input_text", "output_text", "input_image", "input_file"},
	}
	// items are types of elements without a role.
	items = []string{"reasoning", "function_call", "function_call_output", "custom_tool_call",
		"custom_tool_call_output", "message", "item_reference", "compaction", "additional_tools", "web_search_call",
		"local_shell_call"}
)

// signs counts what speaks for a wire format.
type signs struct {
	of       map[wire.Protocol]int
	model    string
	elements int
}

func (s *signs) saw(table map[wire.Protocol][]string, name string) {
	for kind, names := range table {
		if slices.Contains(names, name) {
			s.of[kind]++
		}
	}
}

func sniffBody(root wire.Value) wire.Protocol {
	if isContents(root) {
		return wire.Gemini
	}
	s := signs{of: map[wire.Protocol]int{}}
	list := root
	if root.Kind() == '{' {
		list = s.head(root)
	}
	for at := range list.Values() {
		s.element(at)
		if s.elements++; s.elements == 50 {
			break
		}
	}
	anthropic, chat, responses := s.of[wire.Anthropic], s.of[wire.Chat], s.of[wire.Responses]
	known := anthropic + chat + responses
	switch {
	case s.of[foreign] > 0, s.elements == 0 && (s.model == "" || known == 0):
		return wire.Unknown
	case responses > 0 && responses >= anthropic && responses >= chat:
		return wire.Responses
	case anthropic > chat, known == 0 && strings.Contains(s.model, "claude"):
		return wire.Anthropic
	}
	return wire.Chat
}

// isContents reports whether a body holds Gemini's contents: parts with a role of theirs, and no
// id, which messages of other products have.
func isContents(root wire.Value) bool {
	for at := range root.Get("contents").Values() {
		var role string
		var parts, id, info wire.Value
		at.Read("role", &role, "parts", &parts, "id", &id, "info", &info)
		return parts.Kind() == '[' && id.Empty() && info.Empty() && (role == "user" || role == "model")
	}
	return false
}

// head reads the members beside the messages, and returns the list of messages.
func (s *signs) head(root wire.Value) (list wire.Value) {
	for name, value := range root.Members() {
		s.saw(headSigns, name)
		switch name {
		case "messages", "input":
			if value.Kind() == '[' {
				list = value
			}
			if name == "input" {
				s.of[wire.Responses] += 10
			}
		case "model":
			s.model = value.String()
		case "tools":
			for tool := range value.Values() {
				for name := range tool.Members() {
					s.saw(toolSigns, name)
				}
				break
			}
		}
	}
	if list.Empty() && s.of[wire.Responses] < 10 && s.model == "" {
		s.of[foreign]++
	}
	return list
}

func (s *signs) element(at wire.Value) {
	for name := range at.Members() {
		s.saw(elementSigns, name)
	}
	var role, kind string
	var content wire.Value
	at.Read("role", &role, "type", &kind, "content", &content)
	switch role {
	case "system":
		if s.elements == 0 {
			s.of[wire.Chat]++
		}
	case "developer", "tool", "function":
		s.of[wire.Chat]++
	case "user", "assistant":
	default:
		if role != "" || !slices.Contains(items, kind) {
			s.of[foreign]++
		}
	}
	if kind == "message" {
		s.of[wire.Responses]++
	}
	for block := range content.Values() {
		s.saw(blockSigns, block.Get("type").String())
	}
}
