package codex

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// item is what is used of a response item, all kinds in one.
type item struct {
	Type    string         `json:"type"`
	ID      string         `json:"id"`
	Role    string         `json:"role"`
	Content jsontext.Value `json:"content"`
	Status  string         `json:"status"`

	// Calls and their results.
	CallID    string         `json:"call_id"`
	Name      string         `json:"name"`
	Arguments jsontext.Value `json:"arguments"` // a string with JSON in it; of some kinds an object
	Input     jsontext.Value `json:"input"`     // of a custom tool: a string
	Action    jsontext.Value `json:"action"`    // of local_shell_call and web_search_call: an object
	Output    jsontext.Value `json:"output"`    // a string, an array of content, or {content, success}

	// Reasoning.
	Summary   jsontext.Value `json:"summary"`
	Encrypted jsontext.Value `json:"encrypted_content"`

	// Passthrough says since about version 0.150 where each content element comes from.
	Passthrough struct {
		Kinds    []string `json:"content_item_kinds"`
		Elements []struct {
			Provenance struct {
				Type string `json:"type"`
			} `json:"provenance"`
		} `json:"content_item_metadata"`
	} `json:"internal_chat_message_metadata_passthrough"`
}

// content is one element of a message's content, or of an output that is an array.
type content struct {
	Type     string         `json:"type"`
	Text     string         `json:"text"`
	Refusal  string         `json:"refusal"`
	ImageURL jsontext.Value `json:"image_url"` // a string, in old files an object with url

	raw []byte
	odd bool // it could not be read
}

// contents reads the elements of a list; anything else has none.
func contents(list jsontext.Value) (found []content) {
	for at := range span.Values(list, span.All(list)) {
		c := content{}
		if decode(at.Of(list), &c) != nil {
			c = content{odd: true}
		}
		c.raw = at.Of(list)
		found = append(found, c)
	}
	return found
}

// usage is what a request cost, as the product counts: input includes what the cache served and
// took in.
type usage struct {
	Input      int `json:"input_tokens"`
	Cached     int `json:"cached_input_tokens"`
	CacheWrite int `json:"cache_write_input_tokens"`
	Output     int `json:"output_tokens"`
	Reasoning  int `json:"reasoning_output_tokens"`
	Total      int `json:"total_tokens"`
}

func (u usage) canonical() session.Usage {
	return session.Usage{
		Total: u.Total, Input: u.Input - u.Cached - u.CacheWrite,
		Output: u.Output - u.Reasoning, Reasoning: u.Reasoning,
		Cache: session.CacheUsage{Read: u.Cached, Write: u.CacheWrite},
	}
}

func decode(text []byte, into any) error { return json.Unmarshal(text, into, session.ReadOptions()) }

// isCall and isOutput tell the halves of a tool call apart, also for kinds that are not known by
// name.
func (it *item) isCall() bool   { return strings.HasSuffix(it.Type, "_call") }
func (it *item) isOutput() bool { return strings.HasSuffix(it.Type, "_output") && it.CallID != "" }

// serverSide reports whether the provider ran the call itself: it has no output item.
func (it *item) serverSide() bool { return it.CallID == "" }

// tool is the name of the tool that is called.
func (it *item) tool() string {
	if it.Name != "" {
		return it.Name
	}
	return strings.TrimSuffix(it.Type, "_call")
}

// input is a call's arguments as an object. Anything else is wrapped in one, so that nothing is
// lost.
func (it *item) input() jsontext.Value {
	switch {
	case it.Arguments.Kind() == '{':
		return it.Arguments
	case it.Arguments.Kind() == '"':
		text := span.String(it.Arguments)
		if v := jsontext.Value(text); v.Kind() == '{' && span.Valid(v) {
			return v
		}
		return wrapped("arguments", it.Arguments)
	case it.Action.Kind() == '{':
		return it.Action
	case len(it.Input) > 0:
		return wrapped("input", it.Input)
	case len(it.Arguments) > 0 && it.Arguments.Kind() != 'n':
		return wrapped("arguments", it.Arguments)
	}
	return jsontext.Value("{}")
}

func wrapped(name string, v jsontext.Value) jsontext.Value {
	return jsontext.Value(`{"` + name + `":` + string(v) + `}`)
}

// result reads an output: its text, what else the tool returned, and whether the item says that it
// failed. A command's exit code is in the text and means no failure of the tool.
func (it *item) result() (text string, files []session.Part, failed bool) {
	return result(it.Output)
}

func result(output jsontext.Value) (text string, files []session.Part, failed bool) {
	switch output.Kind() {
	case '"':
		return span.String(output), nil, false
	case '[':
		var texts []string
		for _, c := range contents(output) {
			switch url := c.url(); {
			case c.odd:
				texts = append(texts, string(c.raw))
			case url != "":
				files = append(files, session.Part{Type: session.FilePart, Mime: mime(url), URL: url})
			case c.Text != "":
				texts = append(texts, c.Text)
			case c.Type != "input_text" && c.Type != "output_text" && c.Type != "text":
				texts = append(texts, string(c.raw))
			}
		}
		return strings.Join(texts, "\n"), files, false
	case '{':
		var old struct {
			Content jsontext.Value `json:"content"`
			Success *bool          `json:"success"`
		}
		if decode(output, &old) == nil && len(old.Content) > 0 && old.Content.Kind() != '{' {
			text, files, _ = result(old.Content)
			return text, files, old.Success != nil && !*old.Success
		}
		return string(output), nil, false
	}
	return "", nil, false
}

// url is where an image is, "" for other content.
func (c *content) url() string {
	if c.ImageURL.Kind() == '{' {
		var old struct {
			URL string `json:"url"`
		}
		if decode(c.ImageURL, &old) == nil {
			return old.URL
		}
	}
	return span.String(c.ImageURL)
}

// mime is the type of a data URL, image/* for any other image.
func mime(url string) string {
	if rest, ok := strings.CutPrefix(url, "data:"); ok {
		if end := strings.IndexAny(rest, ";,"); end > 0 {
			return rest[:end]
		}
	}
	return "image/*"
}

// reasoningText joins what a reasoning item shows of the thought.
func (it *item) reasoningText() string {
	var texts []string
	for _, list := range []jsontext.Value{it.Summary, it.Content} {
		for _, c := range contents(list) {
			if c.Text != "" {
				texts = append(texts, c.Text)
			}
		}
	}
	return strings.Join(texts, "\n\n")
}

// reasoningMetadata is what the provider wants back with a thought.
func (it *item) reasoningMetadata() jsontext.Value {
	if it.ID == "" && it.Encrypted.Kind() != '"' {
		return nil
	}
	var metadata struct {
		OpenAI struct {
			ItemID    string         `json:"itemId,omitzero"`
			Encrypted jsontext.Value `json:"reasoningEncryptedContent,omitzero"`
		} `json:"openai"`
	}
	metadata.OpenAI.ItemID = it.ID
	if it.Encrypted.Kind() == '"' {
		metadata.OpenAI.Encrypted = it.Encrypted
	}
	text, err := json.Marshal(&metadata, session.ReadOptions())
	if err != nil {
		return nil
	}
	return text
}

// injectedOpenings begin the texts that the product puts into the conversation in the user's name.
// They are not looked at in files of versions that say where each text comes from.
var injectedOpenings = []string{
	"<environment_context>", "<user_instructions>", "# AGENTS.md instructions", "<INSTRUCTIONS>", "<skill>",
	"<skills_instructions>", "<permissions instructions>", "<turn_aborted>", "<user_shell_command>",
	"<subagent_notification>", "<hook_prompt",
	"<collaboration_mode>", "<model_switch>", "<personality_spec>", "<realtime_conversation>", "<apps_instructions>",
	"<plugins_instructions>", "<goal_context>", "<image name=", "<image>", "</image>",
}

// summaryKind marks the message in which the product hands a summary on.
const summaryKind = "compaction.summary"

// written reports whether the user wrote the element i of a user message's content.
func (it *item) written(i int, text string) bool {
	if it.Role != "user" {
		return false
	}
	if i < len(it.Passthrough.Elements) {
		switch it.Passthrough.Elements[i].Provenance.Type {
		case "":
		case "user":
			return true
		default:
			return false
		}
	}
	if i < len(it.Passthrough.Kinds) {
		switch kind := it.Passthrough.Kinds[i]; {
		case strings.HasPrefix(kind, "user."):
			return true
		case kind != "" && kind != "unknown":
			return false
		}
	}
	text = strings.TrimLeft(text, " \t\r\n")
	for _, opening := range injectedOpenings {
		if strings.HasPrefix(text, opening) {
			return false
		}
	}
	return true
}

// kind is what the element i of a message's content is, as far as the file says.
func (it *item) kind(i int) string {
	if i < len(it.Passthrough.Kinds) {
		return it.Passthrough.Kinds[i]
	}
	return ""
}
