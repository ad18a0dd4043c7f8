package wire

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// Thought is reasoning with what its provider needs to take it back.
type Thought struct {
	Text      string
	Signature string // Anthropic: signs Text
	Redacted  string // Anthropic: the thinking itself, encrypted; Text is empty
	ItemID    string // OpenAI Responses
	Encrypted string // OpenAI Responses: encrypted_content
	Google    string // Gemini: thoughtSignature
	Field     string // Chat-compatible servers: the member of the message that held the text
	Phase     string // OpenAI Responses: of an assistant's text
}

// ThoughtOf reads the secrets of a reasoning, text or tool part from its metadata. They are there
// under the name of the provider ("anthropic", "openai", "google", …) or at the top, in the
// spelling of the AI SDK or of the wire.
func ThoughtOf(p *session.Part) Thought {
	t := Thought{Text: p.Text}
	if len(p.Metadata) > 0 && jsontext.Value(p.Metadata).IsValid(session.ReadOptions()) {
		root := ValueOf(p.Metadata)
		t.read(root)
		for _, provider := range root.Members() {
			t.read(provider)
		}
	}
	return t
}

func (t *Thought) read(v Value) {
	v.Read("signature", &t.Signature, "redactedData", &t.Redacted, "itemId", &t.ItemID,
		"reasoningEncryptedContent", &t.Encrypted, "encrypted_content", &t.Encrypted,
		"thoughtSignature", &t.Google, "thought_signature", &t.Google, "field", &t.Field, "phase", &t.Phase)
}

// Metadata writes string members under a provider's name, as ThoughtOf reads them: names and values
// alternate, empty values are left out. The result is nil if all values are empty.
func Metadata(provider string, members ...string) jsontext.Value {
	var inner span.Object
	for i := 0; i+1 < len(members); i += 2 {
		if members[i+1] != "" {
			inner.Raw(members[i], span.Quote(members[i+1]))
		}
	}
	if inner.Empty() {
		return nil
	}
	return span.Make(provider, inner.Bytes())
}
