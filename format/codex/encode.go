package codex

import (
	"cmp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format/internal/jsonl"
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

// userItem is a message of the user: an element of text for each text that is sent. Texts that a
// program wrote say so, in the terms of versions that ask.
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

// items are the response items of a message. None is made of what the product has no items for:
// markers, step markers, thoughts whose provider is not the product's.
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
				found = append(found, encoded{jsonl.Marshal(messageItem{Type: "message", Role: "assistant", Content: []any{textItem{"output_text", p.Text}}}), at})
			}
		case session.ReasoningPart:
			if it, ok := thought(p); ok {
				found = append(found, encoded{jsonl.Marshal(it), at})
			}
		case session.ToolPart:
			if p.State != nil && cmp.Or(p.CallID, p.ID) != "" {
				found = append(found, encoded{jsonl.Marshal(callItem{"function_call", cmp.Or(jsonl.Word(p.Tool), "tool"), string(jsonl.Input(p.State)), cmp.Or(p.CallID, p.ID)}), at})
				if p.State.Final() {
					found = append(found, encoded{jsonl.Marshal(outputItem{"function_call_output", cmp.Or(p.CallID, p.ID), output(p.State)}), at})
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
	return []encoded{{jsonl.Marshal(it), parts}}
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

// holders counts for each part of a message how many of its items hold it: none, one, or a call and
// its result.
func holders(made []encoded, m *session.Message) []int {
	held := make([]int, len(m.Parts))
	for i := range made {
		for _, part := range made[i].parts {
			held[part]++
		}
	}
	return held
}

// concerns tells which of a message's elisions are kept on the line of an item, and which content
// element each is about.
func (made *encoded) concerns(m *session.Message, held []int, ledger rule.Ledger) []aim {
	var aims []aim
	result := strings.HasSuffix(typeOf(made.payload), "_output")
	for _, part := range made.parts {
		for _, e := range ledger.Of(m.Parts[part].ID) {
			if call, answer := jsonl.Shows(e.Field, held[part] > 1); answer && result || call && !result {
				aims = append(aims, aim{elided{Elision: e}, made.element(part)})
			}
		}
	}
	return aims
}
