package claudecode

import (
	"cmp"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format/internal/jsonl"
	"github.com/winnowhq/winnow/format/internal/span"
	"github.com/winnowhq/winnow/session"
)

// spoken is the content of a user message, nil when it says nothing, and for each of its parts the
// block that it became, -1 for none.
func spoken(m *session.Message) (content []byte, blocks []int) {
	blocks = make([]int, len(m.Parts))
	var written [][]byte
	text := false
	for i := range m.Parts {
		p := &m.Parts[i]
		blocks[i] = -1
		var block []byte
		switch {
		case p.Type == session.TextPart && p.Text != "" && !p.Ignored:
			block, text = textBlock(p.Text), true
		case p.Type == session.FilePart:
			block = fileBlock(p)
		}
		if block != nil {
			blocks[i] = len(written)
			written = append(written, block)
		}
	}
	switch {
	case len(written) == 0:
		return nil, blocks
	case len(written) == 1 && text:
		for i := range m.Parts {
			if blocks[i] == 0 {
				return span.Quote(m.Parts[i].Text), blocks
			}
		}
	}
	return span.Array(written), blocks
}

func textBlock(text string) []byte {
	o := &span.Object{}
	o.Add("type", "text")
	o.Raw("text", span.Quote(text))
	return o.Bytes()
}

// fileBlock shows images and PDFs as such, and names every other file.
func fileBlock(p *session.Part) []byte {
	kind := map[bool]string{true: "document", false: "image"}[p.Mime == "application/pdf"]
	header, data, inline := strings.Cut(strings.TrimPrefix(p.URL, "data:"), ",")
	source := &span.Object{}
	switch {
	case p.IsMedia() && strings.HasPrefix(p.URL, "data:") && inline && strings.HasSuffix(header, ";base64"):
		source.Add("type", "base64")
		source.Add("media_type", p.Mime)
		source.Raw("data", span.Quote(data))
	case p.IsMedia() && strings.HasPrefix(p.URL, "http"):
		source.Add("type", "url")
		source.Add("url", p.URL)
	default:
		if strings.HasPrefix(p.URL, "data:text/") && inline && !strings.HasSuffix(header, ";base64") {
			if text, err := url.PathUnescape(data); err == nil && text != "" {
				return textBlock(text)
			}
		}
		name := p.Filename
		if name == "" {
			name = p.Mime
		}
		return textBlock("[File: " + name + "]")
	}
	o := &span.Object{}
	o.Add("type", kind)
	o.Raw("source", source.Bytes())
	return o.Bytes()
}

// thinkingBlock writes reasoning that the provider signed; it refuses any other.
func thinkingBlock(p *session.Part) []byte {
	var t thought
	if json.Unmarshal(p.Metadata, &t, session.ReadOptions()) != nil {
		return nil
	}
	o := &span.Object{}
	switch {
	case t.Anthropic.Signature != "":
		o.Add("type", "thinking")
		o.Raw("thinking", span.Quote(p.Text))
		o.Add("signature", t.Anthropic.Signature)
	case t.Anthropic.RedactedData != "":
		o.Add("type", "redacted_thinking")
		o.Add("data", t.Anthropic.RedactedData)
	default:
		return nil
	}
	return o.Bytes()
}

func callBlock(p *session.Part, call string) []byte {
	o := &span.Object{}
	o.Add("type", "tool_use")
	o.Add("id", call)
	o.Add("name", cmp.Or(jsonl.Word(p.Tool), "tool"))
	input := []byte(p.State.Input)
	if p.State.Input.Kind() != '{' || !p.State.Input.IsValid(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)) {
		input = []byte("{}")
	}
	o.Raw("input", oneLine(input))
	return o.Bytes()
}

// oneLine takes line breaks between tokens out of a JSON value: an entry is one line.
func oneLine(value []byte) []byte {
	compact := append(jsontext.Value(nil), value...)
	if compact.Compact(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true), jsontext.PreserveRawStrings(true)) != nil {
		return []byte("{}")
	}
	return compact
}
