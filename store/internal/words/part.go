package words

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
)

// Column is a group of fields with the same weight.
type Column int

const (
	Said     Column = iota // what somebody wrote
	Asked                  // what a tool was called with
	Answered               // what it gave back
	Columns                // how many there are
)

// Field is a searchable text of a part.
type Field struct {
	Name   string // "text", "input", "output", "error"
	Column Column
	Text   string
	Kept   bool // it is kept beside the log
}

// Fields returns the searchable texts of a part, without empty ones. kept is the whole of an output
// that is kept beside the log, or "". Images, signatures, a product's own members and
// the like are not text to read, and left out.
func Fields(p *session.Part, kept string) (fields []Field) {
	add := func(name string, c Column, texts ...string) {
		texts = slices.DeleteFunc(texts, func(t string) bool { return t == "" })
		if len(texts) > 0 {
			fields = append(fields, Field{name, c, strings.Join(texts, "\n"), false})
		}
	}
	add("text", Said, append([]string{p.Text, p.Name, p.Prompt, p.Description, p.Filename, link(p.URL),
		values(p.Error)}, p.Files...)...)
	s := p.State
	if s == nil {
		add("input", Asked, p.Tool)
		return fields
	}
	input := values(s.Input)
	if input == "" {
		input = s.Raw // as much as was received
	}
	title := s.Title
	if strings.Contains(input, title) {
		title = ""
	}
	add("input", Asked, p.Tool, title, input)
	output := []string{s.Output}
	for i := range s.Attachments {
		output = append(output, s.Attachments[i].Filename, link(s.Attachments[i].URL))
	}
	add("output", Answered, output...)
	add("error", Answered, s.Error)
	if kept != "" {
		name := "output"
		if s.Status == session.Failed {
			name = "error"
		}
		fields = append(fields, Field{name, Answered, kept, true})
	}
	return fields
}

// link returns a URL, but "" for a data URL, which is not text to read.
func link(url string) string {
	if strings.HasPrefix(url, "data:") {
		return ""
	}
	return url
}

// values returns the strings and numbers of a JSON value, one a line. Text that is not JSON is
// returned as it is.
func values(v jsontext.Value) string {
	if len(v) == 0 {
		return ""
	}
	var b strings.Builder
	d := jsontext.NewDecoder(strings.NewReader(string(v)), jsontext.AllowInvalidUTF8(true),
		jsontext.AllowDuplicateNames(true))
	for {
		t, err := d.ReadToken()
		if err != nil {
			if d.InputOffset() < int64(len(strings.TrimRight(string(v), " \t\r\n"))) {
				return string(v)
			}
			return b.String()
		}
		if kind, length := d.StackIndex(d.StackDepth()); t.Kind() == '"' && kind == '{' && length%2 == 1 {
			continue // a member's name
		}
		switch t.Kind() {
		case '"', '0':
			if b.Len() > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(t.String())
		}
	}
}
