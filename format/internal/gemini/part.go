// Package gemini holds what the formats share whose messages are contents of the Gemini API: a role
// and parts.
package gemini

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// Part is one of a content's.
type Part struct {
	Raw []byte `json:"-"` // as it is in the file
	At  int    `json:"-"` // in the list of parts; -1 in a list within it

	Text     string `json:"text"`
	Thought  bool   `json:"thought"`
	Inline   *Media `json:"inlineData"`
	File     *Media `json:"fileData"`
	Call     *Call  `json:"functionCall"`
	Response *Reply `json:"functionResponse"`
}

// Media is a picture or another file.
type Media struct {
	Mime string `json:"mimeType"`
	Data string `json:"data"`
	URI  string `json:"fileUri"`
}

// Call is a call of a tool.
type Call struct {
	ID   string         `json:"id"`
	Name string         `json:"name"`
	Args jsontext.Value `json:"args"`
}

// Reply is what a call gave back.
type Reply struct {
	ID       string         `json:"id"`
	Name     string         `json:"name"`
	Response jsontext.Value `json:"response"`
	Parts    []Part         `json:"parts"` // pictures
}

// Parts reads a content: a text, a part, or a list of both. Anything else in it says nothing.
func Parts(content []byte) []Part {
	if span.Kind(content) != '[' {
		return one(content, 0, nil)
	}
	var all []Part
	at := 0
	for v := range span.Values(content, span.All(content)) {
		if value := v.Of(content); value[0] == '[' {
			for _, inner := range Parts(value) {
				inner.At = -1
				all = append(all, inner)
			}
		} else {
			all = one(value, at, all)
		}
		at++
	}
	return all
}

func one(value []byte, at int, all []Part) []Part {
	p := Part{Raw: value, At: at}
	switch span.Kind(value) {
	case '"':
		p.Text = span.String(value)
	case '{':
		if span.Decode(value, &p) != nil {
			return all
		}
	default:
		return all
	}
	return append(all, p)
}

// Media is the picture or file of a part, or nil.
func (p *Part) Media() *Media {
	if p.Inline != nil {
		return p.Inline
	}
	return p.File
}

// Part is a file in the log.
func (m *Media) Part() session.Part {
	url := m.URI
	if url == "" {
		url = "data:" + m.Mime + ";base64," + m.Data
	}
	return session.Part{Type: session.FilePart, Mime: m.Mime, URL: url}
}

// Part is a text, a thought or a file in the log; false is for anything else.
func (p *Part) Part() (session.Part, bool) {
	switch media := p.Media(); {
	case p.Thought && p.Text != "":
		return session.Part{Type: session.ReasoningPart, Text: p.Text}, true
	case p.Text != "":
		return session.Part{Type: session.TextPart, Text: p.Text}, true
	case media != nil:
		return media.Part(), true
	}
	return session.Part{}, false
}

// Words are what a part says in a summary: calls and results as far as they can be told in words.
func (p *Part) Words() string {
	switch {
	case p.Thought:
		return ""
	case p.Call != nil:
		return p.Call.Name + " " + string(p.Call.Args)
	case p.Response != nil:
		text, _ := Output(p.Response.Response)
		return text
	}
	return p.Text
}

// Says tells parts apart by what they say. Thoughts, which the products leave out, say nothing.
func (p *Part) Says() string {
	switch media := p.Media(); {
	case p.Thought || p.Text == "" && p.Call == nil && p.Response == nil && media == nil:
		return ""
	case p.Call != nil:
		return "\x00call " + p.Call.ID + " " + p.Call.Name
	case p.Response != nil:
		return "\x00result " + p.Response.ID + " " + p.Words()
	case media != nil:
		return "\x00file " + media.URI + media.Data
	}
	return "\x00text " + p.Text
}

// Says tells contents apart.
func Says(parts []Part) string {
	var b strings.Builder
	for i := range parts {
		b.WriteString(parts[i].Says())
	}
	return b.String()
}

// Output is what a tool answered: its output, its error, or the whole answer as JSON.
func Output(response jsontext.Value) (text string, failed bool) {
	for _, name := range []string{"output", "error"} {
		if v := span.Get(response, name); span.Kind(v) == '"' {
			return span.String(v), name == "error"
		}
	}
	if span.Kind(response) == '"' {
		return span.String(response), false
	}
	return string(response), false
}
