package claudecode

import (
	"cmp"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow/format/internal/jsonl"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// spoken is the content of a user message, nil if it says nothing, and for each of its parts the
// block that it became, -1 for none.
func spoken(m *session.Message) (content []byte, at []int) {
	at = make([]int, len(m.Parts))
	var written [][]byte
	only := "" // the text of the only block
	for i := range m.Parts {
		p := &m.Parts[i]
		at[i] = -1
		var block []byte
		switch {
		case p.Type == session.TextPart && p.Text != "" && !p.Ignored:
			block, only = textBlock(p.Text), p.Text
		case p.Type == session.FilePart:
			block = fileBlock(p)
		}
		if block != nil {
			at[i] = len(written)
			written = append(written, block)
		}
	}
	switch {
	case len(written) == 0:
		return nil, at
	case len(written) == 1 && only != "":
		return span.Quote(only), at
	}
	return span.Array(written), at
}

func textBlock(text string) []byte { return span.Make("type", "text", "text", text) }

// fileBlock shows images and PDFs as such, and names every other file.
func fileBlock(p *session.Part) []byte {
	kind := "image"
	if p.Mime == "application/pdf" {
		kind = "document"
	}
	data, isData := strings.CutPrefix(p.URL, "data:")
	header, data, inline := strings.Cut(data, ",")
	base64 := strings.HasSuffix(header, ";base64")
	switch {
	case p.IsMedia() && isData && inline && base64:
		return span.Make("type", kind, "source", span.Make("type", "base64", "media_type", p.Mime, "data", data))
	case p.IsMedia() && strings.HasPrefix(p.URL, "http"):
		return span.Make("type", kind, "source", span.Make("type", "url", "url", p.URL))
	case strings.HasPrefix(p.URL, "data:text/") && inline && !base64:
		if text, err := url.PathUnescape(data); err == nil && text != "" {
			return textBlock(text)
		}
	}
	return textBlock("[File: " + cmp.Or(p.Filename, p.Mime) + "]")
}

// thinkingBlock writes reasoning that the provider signed, and nil for any other.
func thinkingBlock(p *session.Part) []byte {
	var t thought
	switch {
	case json.Unmarshal(p.Metadata, &t, session.ReadOptions()) != nil:
		return nil
	case t.Anthropic.Signature != "":
		return span.Make("type", "thinking", "thinking", p.Text, "signature", t.Anthropic.Signature)
	case t.Anthropic.RedactedData != "":
		return span.Make("type", "redacted_thinking", "data", t.Anthropic.RedactedData)
	}
	return nil
}

func callBlock(p *session.Part, call string) []byte {
	name := cmp.Or(jsonl.Word(p.Tool), "tool")
	return span.Make("type", "tool_use", "id", call, "name", name, "input", jsonl.OneLine(jsonl.Input(p.State)))
}
