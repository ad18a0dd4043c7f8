package claudecode

import (
	"cmp"
	"strings"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// block is one element of a message's content.
type block struct {
	raw []byte // spans count from its beginning
	blockRecord
}

type blockRecord struct {
	Kind      string    `json:"type"`
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Call      string    `json:"tool_use_id"`
	Text      span.Span `json:"text"`
	Thinking  span.Span `json:"thinking"`
	Signature span.Span `json:"signature"`
	Data      span.Span `json:"data"`
	Input     span.Span `json:"input"`
	Content   span.Span `json:"content"`
	Source    span.Span `json:"source"`
	Failed    bool      `json:"is_error"`
}

// text is the JSON of a block's text or thought.
func (b *block) text() []byte {
	if b.Text.Empty() {
		return b.Thinking.Of(b.raw)
	}
	return b.Text.Of(b.raw)
}

// blocks reads a message's content; a string is one text block. What is not an object is a block of
// an unknown kind.
func blocks(content []byte) (found []block) {
	single := span.All(content)
	if span.Kind(content) == '"' {
		return []block{{content, blockRecord{Kind: "text", Text: single}}}
	}
	for at := range span.Values(content, single) {
		b := block{raw: at.Of(content)}
		switch b.raw[0] {
		case '"':
			b.Kind, b.Text = "text", span.All(b.raw)
		case '{':
			_ = span.Decode(b.raw, &b.blockRecord) // the line was decoded already
		}
		found = append(found, b)
	}
	return found
}

// file makes a file part of an image or document block; ok is false if the block holds nothing that
// can be shown.
func (b *block) file() (p session.Part, ok bool) {
	var source struct {
		Kind string `json:"type"`
		Mime string `json:"media_type"`
		Data string `json:"data"`
		URL  string `json:"url"`
	}
	if b.Source.Empty() || span.Decode(b.Source.Of(b.raw), &source) != nil {
		return p, false
	}
	p = session.Part{Type: session.FilePart, Mime: source.Mime, URL: source.URL}
	switch {
	case source.Kind == "base64":
		p.URL = "data:" + p.Mime + ";base64," + source.Data
	case source.Kind == "text":
		p.Mime = cmp.Or(p.Mime, "text/plain")
		p.URL = "data:" + p.Mime + "," + escape(source.Data)
	case p.URL == "":
		return p, false
	}
	p.Mime = cmp.Or(p.Mime, map[string]string{"image": "image/png", "document": "application/pdf"}[b.Kind])
	return p, true
}

// written reports whether a value is a text that is not empty.
func written(value []byte) bool { return len(value) > len(`""`) && value[0] == '"' }

// part is what a block adds to a message of the user's: a text or a file that is not empty.
func (b *block) part() (p session.Part, ok bool) {
	switch b.Kind {
	case "text":
		p = session.Part{Type: session.TextPart, Text: span.String(b.text())}
		return p, p.Text != ""
	case "image", "document":
		return b.file()
	}
	return p, false
}

// says reports whether a block adds something to a message of the user's.
func (b *block) says() bool {
	switch b.Kind {
	case "text":
		return written(b.text())
	case "image", "document":
		_, ok := b.file()
		return ok
	}
	return false
}

// escape writes a text into a data URL.
func escape(text string) string {
	return strings.NewReplacer("%", "%25", "\n", "%0A", "\r", "%0D", "#", "%23").Replace(text)
}

// result is the text of a tool's result and the files in it.
func result(content []byte) (text string, files []session.Part) {
	found := blocks(content)
	var texts []string
	for i := range found {
		switch b := &found[i]; b.Kind {
		case "text":
			texts = append(texts, span.String(b.text()))
		case "image", "document":
			if p, ok := b.file(); ok {
				files = append(files, p)
			}
		}
	}
	return strings.Join(texts, "\n"), files
}

// finish says in the canonical words why the model stopped.
func finish(stop string) string {
	switch stop {
	case "end_turn", "stop_sequence", "pause_turn":
		return "stop"
	case "tool_use":
		return "tool-calls"
	case "max_tokens", "model_context_window_exceeded":
		return "length"
	case "refusal":
		return "content-filter"
	}
	return stop
}

// thought is the metadata of a reasoning part: what the provider wants back unchanged.
type thought struct {
	Anthropic struct {
		Signature    string `json:"signature,omitzero"`
		RedactedData string `json:"redactedData,omitzero"`
	} `json:"anthropic"`
}
