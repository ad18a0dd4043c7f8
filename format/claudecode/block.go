package claudecode

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
)

// block is one element of a message's content. Values are as they stand in the file.
type block struct {
	raw                    []byte
	kind, id, name, call   string // call is tool_use_id
	text, signature, data  []byte // text is that of text and thinking
	input, content, source []byte
	failed                 bool
}

// blocks reads a message's content; a string is one text block.
func (s *scanner) blocks(content []byte) []block {
	if len(content) == 0 {
		return nil
	}
	if content[0] == '"' {
		return []block{{raw: content, kind: "text", text: content}}
	}
	var pieces [][]byte
	s.array(content, func(value []byte) error {
		pieces = append(pieces, value)
		return nil
	})
	found := make([]block, len(pieces))
	for i, piece := range pieces {
		b := &found[i]
		b.raw = piece
		if piece[0] == '"' {
			b.kind, b.text = "text", piece
			continue
		}
		s.object(piece, false, func(_ bool, name, value []byte) { // what is no object stays an unknown block
			switch string(name) {
			case `"type"`:
				b.kind = s.string(value)
			case `"text"`, `"thinking"`:
				b.text = value
			case `"signature"`:
				b.signature = value
			case `"data"`:
				b.data = value
			case `"id"`:
				b.id = s.string(value)
			case `"name"`:
				b.name = s.string(value)
			case `"tool_use_id"`:
				b.call = s.string(value)
			case `"input"`:
				b.input = value
			case `"content"`:
				b.content = value
			case `"source"`:
				b.source = value
			case `"is_error"`:
				b.failed = string(value) == "true"
			}
		})
	}
	return found
}

// file makes a file part of an image or document block; ok is false when the block holds nothing that can be shown.
func (s *scanner) file(b *block) (p session.Part, ok bool) {
	p = session.Part{Type: session.FilePart}
	var kind, data string
	s.object(b.source, false, func(_ bool, name, value []byte) {
		switch string(name) {
		case `"type"`:
			kind = s.string(value)
		case `"media_type"`:
			p.Mime = s.string(value)
		case `"data"`:
			data = s.string(value)
		case `"url"`:
			p.URL = s.string(value)
		}
	})
	switch {
	case kind == "base64":
		p.URL = "data:" + p.Mime + ";base64," + data
	case kind == "text":
		if p.Mime == "" {
			p.Mime = "text/plain"
		}
		p.URL = "data:" + p.Mime + "," + escape(data)
	case p.URL == "":
		return p, false
	}
	if p.Mime == "" {
		p.Mime = map[string]string{"image": "image/png", "document": "application/pdf"}[b.kind]
	}
	return p, true
}

// written reports whether a value is a text that is not empty.
func written(value []byte) bool { return len(value) > len(`""`) && value[0] == '"' }

// says reports whether a block holds something that a message of the user's is made of.
func (s *scanner) says(b *block) bool {
	switch b.kind {
	case "text":
		return written(b.text)
	case "image", "document":
		_, ok := s.file(b)
		return ok
	}
	return false
}

// escape writes a text into a data URL.
func escape(text string) string {
	return strings.NewReplacer("%", "%25", "\n", "%0A", "\r", "%0D", "#", "%23").Replace(text)
}

// result is the text of a tool's result and the files in it.
func (s *scanner) result(content []byte) (text string, files []session.Part) {
	blocks := s.blocks(content)
	if len(blocks) == 1 && blocks[0].kind == "text" {
		return s.string(blocks[0].text), nil
	}
	var texts []string
	for i := range blocks {
		switch b := &blocks[i]; b.kind {
		case "text":
			texts = append(texts, s.string(b.text))
		case "image", "document":
			if p, ok := s.file(b); ok {
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

func (t thought) metadata() jsontext.Value {
	text, err := json.Marshal(t)
	if err != nil {
		return nil
	}
	return text
}
