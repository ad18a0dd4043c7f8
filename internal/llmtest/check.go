package llmtest

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/wire"
	"github.com/winnowhq/winnow/wire/protocols"
)

func isJSON(body []byte) bool { return jsontext.Value(body).IsValid(session.ReadOptions()) }

// body looks at the members of a request.
type body struct{ wire.Value }

func (b body) has(path ...string) bool {
	kind := b.Get(path...).Kind()
	return kind != 0 && kind != 'n'
}

// check finds what the provider would refuse a request for, and how. The first thing that is wrong
// counts.
func (s *Server) check(q Request, r *http.Request, rt route) (failure, bool) {
	refuse := func(status int, message string) (failure, bool) {
		f := failure{status: status, kind: kindOf(q.Protocol, status), message: message}
		if status == http.StatusUnauthorized {
			f.code = "invalid_api_key"
		}
		return f, true
	}
	if status, message := authorised(q.Protocol, r); message != "" {
		return refuse(status, message)
	}
	if !q.json || wire.ValueOf(q.Body).Kind() != '{' {
		return refuse(400, "the body is not a JSON object")
	}
	b := body{wire.ValueOf(q.Body)}
	var message string
	switch q.Protocol {
	case Anthropic:
		message = b.anthropic(r.Header, rt.count)
	case Chat:
		message = b.chat()
	case Responses:
		message = b.responses()
	case Gemini:
		message = b.gemini()
	}
	if message == "" && !(q.Protocol == Gemini && rt.count) {
		if err := protocols.Of(q.Protocol).Check(q.Body); err != nil {
			message = err.Error()
		}
	}
	if message == "" && q.binds {
		message = misplaced(q)
	}
	if limit := s.script.MaxOutput; message == "" && limit > 0 && q.MaxTokens > limit {
		message = fmt.Sprintf("max_tokens: %d > %d, which is the maximum allowed number of output tokens for %s",
			q.MaxTokens, limit, q.Model)
	}
	if message != "" {
		return refuse(400, message)
	}
	return failure{}, false
}

// authorised says what is missing of the credentials and the headers.
func authorised(p Protocol, r *http.Request) (status int, message string) {
	bearer := strings.TrimSpace(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer"))
	switch p {
	case Anthropic:
		if r.Header.Get("X-Api-Key") == "" && bearer == "" {
			return 401, "x-api-key header is required"
		}
		if r.Header.Get("Anthropic-Version") == "" {
			return 400, "anthropic-version: header is required"
		}
	case Chat, Responses:
		if bearer == "" {
			return 401, "You didn't provide an API key. You need to provide your API key in an Authorization header " +
				"using Bearer auth (i.e. Authorization: Bearer YOUR_KEY)."
		}
	case Gemini:
		if r.Header.Get("X-Goog-Api-Key") == "" && r.URL.Query().Get("key") == "" && bearer == "" {
			return 403, "Method doesn't allow unregistered callers (callers without established identity). Please " +
				"use API Key or other form of API consumer identity to call this API."
		}
		if strings.HasSuffix(r.URL.Path, ":streamGenerateContent") && r.URL.Query().Get("alt") != "sse" {
			return 400, "this server streams server-sent events alone: ask with ?alt=sse"
		}
	}
	if kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); strings.TrimSpace(kind) != "application/json" {
		return 400, fmt.Sprintf("Content-Type: %q, want application/json", r.Header.Get("Content-Type"))
	}
	return 0, ""
}

var anthropicMembers = strings.Fields(`model messages max_tokens system tools tool_choice stream temperature top_p
	top_k stop_sequences metadata thinking service_tier container mcp_servers context_management output_config
	output_format cache_control inference_geo speed diagnostics compaction`)

var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`)

func (b body) anthropic(header http.Header, count bool) string {
	for name := range b.Members() {
		if !slices.Contains(anthropicMembers, name) {
			return name + ": Extra inputs are not permitted"
		}
	}
	for _, gated := range []string{"context_management", "compaction", "mcp_servers"} {
		if b.has(gated) && header.Get("Anthropic-Beta") == "" {
			return gated + ": Extra inputs are not permitted"
		}
	}
	switch {
	case b.Get("model").String() == "":
		return "model: Field required"
	case !count && !b.has("max_tokens"):
		return "max_tokens: Field required"
	case !count && b.Get("max_tokens").Int() < 1:
		return "max_tokens: Input should be greater than or equal to 1"
	case b.Get("messages").Kind() != '[':
		return "messages: Field required"
	}
	if kind := b.Get("system").Kind(); kind != 0 && kind != '"' && kind != '[' {
		return "system: Input should be a valid list"
	}
	if thinking := b.Get("thinking", "type").String(); thinking == "enabled" {
		switch budget := b.Get("thinking", "budget_tokens").Int(); {
		case budget < 1024:
			return "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"
		case !count && budget >= b.Get("max_tokens").Int():
			return "`max_tokens` must be greater than `thinking.budget_tokens`"
		case b.has("temperature") && string(b.Get("temperature").Bytes()) != "1":
			return "`temperature` may only be set to 1 when thinking is enabled"
		}
	}
	if b.has("tool_choice") && !b.has("tools") {
		return "tool_choice: may only be specified while providing tools"
	}
	seen := map[string]bool{}
	i := 0
	for at := range b.Get("tools").Values() {
		tool := at
		name := tool.Get("name").String()
		own := tool.Get("type").String() == "" || tool.Get("type").String() == "custom"
		switch {
		case !toolName.MatchString(name) && own:
			return fmt.Sprintf("tools.%d.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'", i)
		case seen[name]:
			return "tools: Tool names must be unique."
		case own && tool.Get("input_schema", "type").String() != "object":
			return fmt.Sprintf("tools.%d.custom.input_schema.type: Field required", i)
		}
		seen[name] = true
		i++
	}
	if problem := b.marks(); problem != "" {
		return problem
	}
	return b.thoughts()
}

// marks checks the cache_control of a request: how many, for how long, in which order, on what.
func (b body) marks() string {
	count, short, problem := 0, false, ""
	mark := func(where string, block wire.Value) {
		at := block.Get("cache_control")
		if at.Kind() != '{' {
			return
		}
		count++
		kind, ttl := at.Get("type").String(), at.Get("ttl").String()
		of := block.Get("type").String()
		switch {
		case problem != "":
		case kind != "ephemeral":
			problem = where + ".cache_control.type: Input should be 'ephemeral'"
		case ttl != "" && ttl != "5m" && ttl != "1h":
			problem = where + ".cache_control.ephemeral.ttl: Input should be '5m' or '1h'"
		case ttl == "1h" && short:
			problem = where + ".cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' " +
				"cache_control block"
		case of == "thinking" || of == "redacted_thinking":
			problem = where + "." + of + ".cache_control: Extra inputs are not permitted"
		case of == "text" && block.Get("text").String() == "":
			problem = where + ": cache_control cannot be set for empty text blocks"
		}
		short = short || ttl != "1h"
	}
	each := func(where string, list wire.Value) {
		i := 0
		for block := range list.Values() {
			mark(fmt.Sprintf("%s.%d", where, i), block)
			i++
		}
	}
	each("tools", b.Get("tools"))
	each("system", b.Get("system"))
	i := 0
	for message := range b.Get("messages").Values() {
		content := message.Get("content")
		each(fmt.Sprintf("messages.%d.content", i), content)
		for block := range content.Values() {
			each(fmt.Sprintf("messages.%d.content.0.tool_result.content", i), block.Get("content"))
		}
		i++
	}
	mark("request", b.Value)
	if problem == "" && count > 4 {
		problem = fmt.Sprintf("A maximum of 4 blocks with cache_control may be provided. Found %d.", count)
	}
	return problem
}

// thoughts checks that thinking which this server wrote comes back as it was written.
func (b body) thoughts() string {
	i := 0
	for message := range b.Get("messages").Values() {
		j := 0
		for at := range message.Get("content").Values() {
			if block := at; block.Get("type").String() == "thinking" {
				if block.Get("signature").String() == "" {
					return fmt.Sprintf("messages.%d.content.%d.thinking.signature: Field required", i, j)
				}
				if forged(block.Get("signature").String(), block.Get("thinking").String()) {
					return fmt.Sprintf("messages.%d.content.%d: Invalid `signature` in `thinking` block", i, j)
				}
			}
			j++
		}
		i++
	}
	return ""
}

func (b body) chat() string {
	model := b.Get("model").String()
	switch {
	case model == "":
		return "you must provide a model parameter"
	case b.Get("messages").Kind() != '[':
		return "Missing required parameter: 'messages'."
	case b.Get("tools").Kind() == '[' && !b.any("tools"):
		return "Invalid 'tools': empty array. Expected an array with minimum length 1, but got an empty array instead."
	case b.has("tool_choice") && !b.has("tools"):
		return "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified."
	case b.has("parallel_tool_calls") && !b.has("tools"):
		return "Invalid value for 'parallel_tool_calls': 'parallel_tool_calls' is only allowed when 'tools' are " +
			"specified."
	case b.has("stream_options") && b.Get("stream").Kind() != 't':
		return "The 'stream_options' parameter is only allowed when 'stream' is enabled."
	case b.has("max_tokens") && b.has("max_completion_tokens"):
		return "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported."
	case b.has("max_tokens") && reasons(model):
		return "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' " +
			"instead."
	case b.has("max_tokens") && b.Get("max_tokens").Int() < 1, b.has("max_completion_tokens") &&
		b.Get("max_completion_tokens").Int() < 1:
		return "Invalid value for the limit of the answer: integer below minimum value. Expected a value >= 1."
	}
	i := 0
	for at := range b.Get("tools").Values() {
		name := at.Get("function", "name").String()
		if at.Get("type").String() == "function" && (!toolName.MatchString(name) || len(name) > 64) {
			return fmt.Sprintf("Invalid 'tools[%d].function.name': string does not match pattern. Expected a string "+
				"that matches the pattern '^[a-zA-Z0-9_-]+$'.", i)
		}
		i++
	}
	return ""
}

// reasons reports whether a model of OpenAI's knows the newer name of the output limit alone.
func reasons(model string) bool {
	for _, family := range []string{"o1", "o3", "o4", "gpt-5"} {
		if strings.HasPrefix(model, family) {
			return true
		}
	}
	return false
}

func (b body) any(list string) bool {
	for range b.Get(list).Values() {
		return true
	}
	return false
}

func (b body) responses() string {
	switch kind := b.Get("input").Kind(); {
	case b.Get("model").String() == "":
		return "Missing required parameter: 'model'."
	case b.has("previous_response_id"):
		return "Previous response with id '" + b.Get("previous_response_id").String() + "' not found."
	case kind != '[' && kind != '"':
		return "Missing required parameter: 'input'."
	case b.has("max_output_tokens") && b.Get("max_output_tokens").Int() < 16:
		return "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16."
	case b.has("max_tokens"), b.has("max_completion_tokens"), b.has("messages"):
		return "Unsupported parameter: this endpoint takes 'input' and 'max_output_tokens'."
	}
	for at := range b.Get("input").Values() {
		item := at
		if item.Get("type").String() != "reasoning" {
			continue
		}
		secret := item.Get("encrypted_content").String()
		if secret == "" && b.Get("store").Kind() == 'f' {
			return "Item with id '" + item.Get("id").String() +
				"' not found. Items are not persisted when `store` is set to false."
		}
		text := ""
		for part := range item.Get("summary").Values() {
			text += part.Get("text").String()
		}
		if forged(secret, text) {
			return "The encrypted content for item " + item.Get("id").String() + " could not be verified."
		}
	}
	return ""
}

func (b body) gemini() string {
	for _, foreign := range []string{"messages", "input", "max_tokens", "stream"} {
		if b.has(foreign) {
			return `Invalid JSON payload received. Unknown name "` + foreign + `": Cannot find field.`
		}
	}
	if b.Get("contents").Kind() != '[' || !b.any("contents") {
		return "* GenerateContentRequest.contents: contents is not specified"
	}
	if b.has("generationConfig", "maxOutputTokens") && b.Get("generationConfig", "maxOutputTokens").Int() < 1 {
		return "* GenerateContentRequest.generation_config.max_output_tokens: max_output_tokens must be positive."
	}
	for at := range b.Get("tools").Values() {
		for declared := range at.Get("functionDeclarations").Values() {
			if name := declared.Get("name").String(); !geminiName.MatchString(name) {
				return "* GenerateContentRequest.tools.function_declarations.name: Invalid function name: " + name
			}
		}
	}
	return ""
}

var geminiName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$`)
