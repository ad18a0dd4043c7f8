package codex

import (
	"cmp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format/internal/jsonl"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// encoded is a response item made of a message, and which parts of it the item holds.
type encoded struct {
	payload []byte
	parts   []int
}

// Kinds of content that we write.
const (
	userKind      = "user.text"
	syntheticKind = "winnow.synthetic"
	carryKind     = "winnow.carry"
)

// textElement is an element of content that is a text.
func textElement(kind, text string) []byte { return span.Make("type", kind, "text", text) }

// imageElement is an element of content that is an image, nil for any other file.
func imageElement(p *session.Part) []byte {
	if p.Type != session.FilePart || !strings.HasPrefix(p.Mime, "image/") || p.URL == "" {
		return nil
	}
	return span.Make("type", "input_image", "image_url", p.URL)
}

// answerItem is a text of the model.
func answerItem(text string) []byte {
	content := span.Array([][]byte{textElement("output_text", text)})
	return span.Make("type", "message", "role", "assistant", "content", content)
}

// userItem is a message in the user's name. Content that a program wrote says so, in the terms of
// the versions that ask.
func userItem(elements [][]byte, kinds []string) []byte {
	origins := make([][]byte, len(kinds))
	for i, kind := range kinds {
		origin := span.Make("type", "user")
		if !strings.HasPrefix(kind, "user.") {
			origin = span.Make("type", "harness", "hook", false)
		}
		origins[i] = span.Make("provenance", origin)
	}
	passed := span.Make("content_item_kinds", kinds, "content_item_metadata", span.Array(origins))
	return span.Make("type", "message", "role", "user", "content", span.Array(elements),
		"internal_chat_message_metadata_passthrough", passed)
}

// userText is a message in the user's name that is one text.
func userText(text, kind string) []byte {
	return userItem([][]byte{textElement("input_text", text)}, []string{kind})
}

// items are the response items of a message. The product has none for markers, step markers, and
// thoughts that its provider did not give.
func items(m *session.Message) (found []encoded) {
	if m.Role != session.Assistant {
		return userItems(m)
	}
	for i := range m.Parts {
		p, call := &m.Parts[i], cmp.Or(m.Parts[i].CallID, m.Parts[i].ID)
		add := func(payload []byte) { found = append(found, encoded{payload, []int{i}}) }
		switch {
		case p.Type == session.TextPart && p.Text != "" && !p.Ignored:
			add(answerItem(p.Text))
		case p.Type == session.ReasoningPart:
			if payload := thought(p); payload != nil {
				add(payload)
			}
		case p.Type == session.ToolPart && p.State != nil && call != "":
			name := cmp.Or(jsonl.Word(p.Tool), "tool")
			input := string(jsonl.Input(p.State))
			add(span.Make("type", "function_call", "name", name, "arguments", input, "call_id", call))
			if p.State.Final() {
				add(span.Make("type", "function_call_output", "call_id", call, "output", output(p.State)))
			}
		}
	}
	return found
}

func userItems(m *session.Message) []encoded {
	var elements [][]byte
	var kinds []string
	var parts []int
	for i := range m.Parts {
		p := &m.Parts[i]
		kind, element := userKind, imageElement(p)
		if p.Synthetic {
			kind = syntheticKind
		}
		switch {
		case p.Type == session.TextPart && p.Text != "" && !p.Ignored:
			element = textElement("input_text", p.Text)
		case element != nil:
			kind = strings.Replace(kind, "text", "image", 1)
		default:
			continue
		}
		elements, kinds, parts = append(elements, element), append(kinds, kind), append(parts, i)
	}
	if len(parts) == 0 {
		return nil
	}
	return []encoded{{userItem(elements, kinds), parts}}
}

// thought is a reasoning item, nil unless the product's provider gave the thought and takes it
// back.
func thought(p *session.Part) []byte {
	var metadata struct {
		OpenAI struct {
			ItemID    string         `json:"itemId"`
			Encrypted jsontext.Value `json:"reasoningEncryptedContent"`
		} `json:"openai"`
	}
	if len(p.Metadata) == 0 || decode(p.Metadata, &metadata) != nil || metadata.OpenAI.Encrypted.Kind() != '"' {
		return nil
	}
	o := new(span.Object).With("type", "reasoning")
	if id := metadata.OpenAI.ItemID; id != "" {
		o.Add("id", id)
	}
	var summary [][]byte
	if p.Text != "" {
		summary = append(summary, textElement("summary_text", p.Text))
	}
	return o.With("summary", span.Array(summary), "encrypted_content", metadata.OpenAI.Encrypted).Bytes()
}

// output is a result: its text, or an array of content if the tool returned images too.
func output(s *session.ToolState) []byte {
	content := [][]byte{textElement("input_text", s.Result())}
	for i := range s.Attachments {
		a := s.Attachments[i]
		a.Type = session.FilePart
		if image := imageElement(&a); image != nil {
			content = append(content, image)
		}
	}
	if len(content) == 1 {
		return span.Quote(s.Result())
	}
	return span.Array(content)
}

// skeleton is a message without the texts that its items hold.
func skeleton(m *session.Message, made []encoded) *session.Message {
	s := *m
	s.Parts = slices.Clone(m.Parts)
	for _, e := range made {
		it := item{Type: typeOf(e.payload)}
		for _, i := range e.parts {
			p := &s.Parts[i]
			switch {
			case p.Type == session.FilePart:
				p.URL = ""
			case p.Type != session.ToolPart:
				p.Text = ""
			default:
				state := *p.State
				switch p.State = &state; {
				case it.isCall():
					state.Input = nil
				case state.Status == session.Failed:
					state.Error = ""
				default:
					state.Output = ""
				}
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

// concerns tells which of a message's elisions are kept on the line of an item, and which content
// element each is about. held counts the items of each part: none, one, or a call and its result.
func (e *encoded) concerns(m *session.Message, held []int, ledger rule.Ledger) (aims []aim) {
	result := strings.HasSuffix(typeOf(e.payload), "_output")
	for _, part := range e.parts {
		for _, elision := range ledger.Of(m.Parts[part].ID) {
			if call, answer := jsonl.Shows(elision.Field, held[part] > 1); answer && result || call && !result {
				aims = append(aims, aim{elided{Elision: elision}, e.element(part)})
			}
		}
	}
	return aims
}
