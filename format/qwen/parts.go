package qwen

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format/internal/transcript"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/span"
)

// part is one of a content's.
type part struct {
	Text    string `json:"text"`
	Thought bool   `json:"thought"`
	Inline  *media `json:"inlineData"`
	File    *media `json:"fileData"`
	Call    *call  `json:"functionCall"`
	Reply   *reply `json:"functionResponse"`
}

type media struct {
	Mime string `json:"mimeType"`
	Data string `json:"data"`
	URI  string `json:"fileUri"`
}

type call struct {
	ID   string         `json:"id"`
	Name string         `json:"name"`
	Args jsontext.Value `json:"args"`
}

type reply struct {
	ID       string         `json:"id"`
	Name     string         `json:"name"`
	Response jsontext.Value `json:"response"`
	Parts    []part         `json:"parts"` // pictures
}

// partsOf reads a list of parts. What is not an object in it says nothing.
func partsOf(list []byte) []part {
	var all []part
	for v := range span.Values(list, span.All(list)) {
		var p part
		if list[v.Start] == '{' && span.Decode(v.Of(list), &p) == nil {
			all = append(all, p)
		}
	}
	return all
}

// media is the picture or file of a part, nil if there is none.
func (p *part) media() *media {
	if p.Inline != nil {
		return p.Inline
	}
	return p.File
}

func (m *media) part() session.Part {
	url := m.URI
	if url == "" {
		url = "data:" + m.Mime + ";base64," + m.Data
	}
	return session.Part{Type: session.FilePart, Mime: m.Mime, URL: url}
}

// text is what a part says in a summary: calls and results as far as they can be told in words.
func (p *part) text() string {
	switch {
	case p.Thought:
		return ""
	case p.Call != nil:
		return p.Call.Name + " " + string(p.Call.Args)
	case p.Reply != nil:
		return output(p.Reply.Response)
	}
	return p.Text
}

// says tells contents apart: by their texts, calls and results, without thoughts, which the product
// leaves out when it resumes.
func says(parts []part) string {
	var b strings.Builder
	for i := range parts {
		switch p := &parts[i]; {
		case p.Thought:
		case p.Call != nil:
			b.WriteString("\x00call " + p.Call.ID + " " + p.Call.Name)
		case p.Reply != nil:
			b.WriteString("\x00result " + p.Reply.ID + " " + p.text())
		case p.media() != nil:
			b.WriteString("\x00file " + p.media().URI + p.media().Data)
		default:
			b.WriteString("\x00text " + p.Text)
		}
	}
	return b.String()
}

// output is what a tool answered: its output, its error, or the whole answer as JSON.
func output(response jsontext.Value) string {
	for _, name := range []string{"output", "error"} {
		if v := span.Get(response, name); span.Kind(v) == '"' {
			return span.String(v)
		}
	}
	if response.Kind() == '"' {
		return transcript.Text(response)
	}
	return string(response)
}
