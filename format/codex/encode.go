package codex

import (
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/session"
)

// encoded is a response item made of a message, and which parts of it the item holds.
type encoded struct {
	payload []byte
	parts   []int
}

// What items are written from.
type (
	textItem struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	imageItem struct {
		Type     string `json:"type"`
		ImageURL string `json:"image_url"`
	}
	provenance struct {
		Provenance struct {
			Type string `json:"type"`
			Hook *bool  `json:"hook,omitzero"`
		} `json:"provenance"`
	}
	passthrough struct {
		Kinds    []string     `json:"content_item_kinds"`
		Elements []provenance `json:"content_item_metadata"`
	}
	messageItem struct {
		Type        string       `json:"type"`
		ID          string       `json:"id,omitzero"`
		Role        string       `json:"role"`
		Content     []any        `json:"content"`
		Passthrough *passthrough `json:"internal_chat_message_metadata_passthrough,omitzero"`
	}
	reasoningItem struct {
		Type      string         `json:"type"`
		ID        string         `json:"id,omitzero"`
		Summary   []textItem     `json:"summary"`
		Encrypted jsontext.Value `json:"encrypted_content,omitzero"`
	}
	callItem struct {
		Type      string `json:"type"`
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
		CallID    string `json:"call_id"`
	}
	outputItem struct {
		Type   string `json:"type"`
		CallID string `json:"call_id"`
		Output any    `json:"output"`
	}
)

// marshal writes an item; what is invalid in a text becomes U+FFFD, as it does when it is read.
func marshal(item any) []byte {
	text, err := json.Marshal(item, session.ReadOptions())
	if err != nil { // strings and slices of them always encode
		panic(err)
	}
	return text
}

// userItem is a message of the user: an element of text for each text that is sent. Texts that a program wrote say so, in the
// terms of versions that ask.
func userItem(texts []string, kind string) messageItem {
	it := messageItem{Type: "message", Role: "user", Passthrough: new(passthrough)}
	for _, text := range texts {
		it.add(textItem{"input_text", text}, kind)
	}
	return it
}

func (it *messageItem) add(element any, kind string) {
	it.Content = append(it.Content, element)
	var p provenance
	if p.Provenance.Type = "user"; !strings.HasPrefix(kind, "user.") {
		p.Provenance.Type, p.Provenance.Hook = "harness", new(bool)
	}
	it.Passthrough.Kinds = append(it.Passthrough.Kinds, kind)
	it.Passthrough.Elements = append(it.Passthrough.Elements, p)
}

// Kinds of content that we write.
const (
	userKind      = "user.text"
	syntheticKind = "winnow.synthetic"
	carryKind     = "winnow.carry"
)

// items are the response items of a message. None is made of what the product has no items for: markers, step markers, thoughts
// whose provider is not the product's.
func items(m *session.Message) []encoded {
	if m.Role != session.Assistant {
		return userItems(m)
	}
	var found []encoded
	for i := range m.Parts {
		p := &m.Parts[i]
		at := []int{i}
		switch p.Type {
		case session.TextPart:
			if p.Text != "" && !p.Ignored {
				found = append(found, encoded{marshal(messageItem{Type: "message", Role: "assistant", Content: []any{textItem{"output_text", p.Text}}}), at})
			}
		case session.ReasoningPart:
			if it, ok := thought(p); ok {
				found = append(found, encoded{marshal(it), at})
			}
		case session.ToolPart:
			if p.State != nil && callID(p) != "" {
				found = append(found, encoded{marshal(callItem{"function_call", toolName(p.Tool), string(arguments(p.State)), callID(p)}), at})
				if p.State.Final() {
					found = append(found, encoded{marshal(outputItem{"function_call_output", callID(p), output(p.State)}), at})
				}
			}
		}
	}
	return found
}

func userItems(m *session.Message) []encoded {
	it := userItem(nil, "")
	var parts []int
	for i := range m.Parts {
		p := &m.Parts[i]
		kind := userKind
		if p.Synthetic {
			kind = syntheticKind
		}
		switch {
		case p.Type == session.TextPart && p.Text != "" && !p.Ignored:
			it.add(textItem{"input_text", p.Text}, kind)
		case p.Type == session.FilePart && strings.HasPrefix(p.Mime, "image/") && p.URL != "":
			it.add(imageItem{"input_image", p.URL}, strings.Replace(kind, "text", "image", 1))
		default:
			continue
		}
		parts = append(parts, i)
	}
	if len(parts) == 0 {
		return nil
	}
	return []encoded{{marshal(it), parts}}
}

// thought is a reasoning item, for thoughts that the product's provider gave and takes back.
func thought(p *session.Part) (reasoningItem, bool) {
	var metadata struct {
		OpenAI struct {
			ItemID    string         `json:"itemId"`
			Encrypted jsontext.Value `json:"reasoningEncryptedContent"`
		} `json:"openai"`
	}
	if len(p.Metadata) == 0 || decode(p.Metadata, &metadata) != nil || metadata.OpenAI.Encrypted.Kind() != '"' {
		return reasoningItem{}, false
	}
	it := reasoningItem{Type: "reasoning", ID: metadata.OpenAI.ItemID, Encrypted: metadata.OpenAI.Encrypted, Summary: []textItem{}}
	if p.Text != "" {
		it.Summary = append(it.Summary, textItem{"summary_text", p.Text})
	}
	return it, true
}

func callID(p *session.Part) string {
	if p.CallID != "" {
		return p.CallID
	}
	return p.ID
}

func arguments(s *session.ToolState) jsontext.Value {
	if s.Input.Kind() != '{' {
		return jsontext.Value("{}")
	}
	return s.Input
}

// output is a result: its text, or with what else the tool returned an array of content.
func output(s *session.ToolState) any {
	content := []any{textItem{"input_text", s.Result()}}
	for i := range s.Attachments {
		if a := &s.Attachments[i]; strings.HasPrefix(a.Mime, "image/") && a.URL != "" {
			content = append(content, imageItem{"input_image", a.URL})
		}
	}
	if len(content) == 1 {
		return s.Result()
	}
	return content
}

// toolName keeps to the characters that the provider takes in a name.
func toolName(tool string) string {
	name := strings.Map(func(c rune) rune {
		if c == '_' || c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
			return c
		}
		return '_'
	}, tool)
	if name == "" {
		return "tool"
	}
	return name
}

// skeleton is a message without the texts that its items hold.
func skeleton(m *session.Message, made []encoded) *session.Message {
	s := *m
	s.Parts = slices.Clone(m.Parts)
	for _, e := range made {
		var it item
		if decode(e.payload, &it) != nil {
			continue
		}
		for _, i := range e.parts {
			p := &s.Parts[i]
			switch {
			case p.Type == session.FilePart:
				p.URL = ""
			case p.Type != session.ToolPart:
				p.Text = ""
			default:
				state := *p.State
				if it.isCall() {
					state.Input = nil
				} else if state.Status == session.Failed {
					state.Error = ""
				} else {
					state.Output = ""
				}
				p.State = &state
			}
		}
	}
	return &s
}

// element is which content element of its item a part is, -1 when it is the whole item.
func (e *encoded) element(part int) int {
	if at := slices.Index(e.parts, part); at >= 0 && (len(e.parts) > 1 || typeOf(e.payload) == "message") {
		return at
	}
	return -1
}

// stamp writes a time as the product does.
func stamp(at session.Millis) string {
	return time.UnixMilli(int64(at)).UTC().Format("2006-01-02T15:04:05.000Z")
}

// holders counts for each part of a message how many of its items hold it: none, one, or a call and its result.
func holders(made []encoded, m *session.Message) []int {
	held := make([]int, len(m.Parts))
	for i := range made {
		for _, part := range made[i].parts {
			held[part]++
		}
	}
	return held
}

// concerns tells which of a message's elisions are kept on the line of an item, and which content element each is about.
func (made *encoded) concerns(m *session.Message, held []int, ledger rule.Ledger) []aim {
	var aims []aim
	result := strings.HasSuffix(typeOf(made.payload), "_output")
	for _, part := range made.parts {
		for _, e := range ledger.Of(m.Parts[part].ID) {
			if on(e.Field, result, held[part] > 1) {
				aims = append(aims, aim{elided{Elision: e}, made.element(part)})
			}
		}
	}
	return aims
}

// on reports whether an elision of this field is kept on the line of a result, or on the line of the call or of whatever else
// the part is. answered tells whether the part has both.
func on(field rule.Field, result, answered bool) bool {
	ofResult := field == rule.Output || field == rule.Error || field == rule.Attachments || field == rule.Whole
	if result {
		return ofResult
	}
	return !answered || !ofResult || field == rule.Whole
}
