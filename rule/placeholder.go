package rule

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
)

// Cleared stands in place of an output that the classic policy pruned (S003 §5.2).
const Cleared = "[Old tool result content cleared]"

// Handle is what the balanced policy shows in place of a tool result: the tool, what it was about, how big it
// was, and the id by which it can be had back. target says what it was about, "" when that is unknown.
func Handle(p *session.Part, target string, tokens int) string {
	text := "[" + p.Tool
	if target != "" {
		text += " " + target
	}
	return text + fmt.Sprintf(": output of about %d tokens left out; id %s]", tokens, p.ID)
}

// targetKeys are the arguments that say what a call was about, most telling first. They are the names that
// the coding agents in use give them.
var targetKeys = []string{"filePath", "file_path", "path", "notebook_path", "command", "cmd", "pattern", "query", "url", "description", "name"}

// Target says what a call was about in at most 80 characters: a path, a command, a pattern, a URL.
func Target(p *session.Part) string {
	if p.State == nil {
		return ""
	}
	target := ""
	rank := len(targetKeys)
	for name, value := range members(p.State.Input) {
		if at := position(targetKeys, name); at < rank {
			if text := scalar(value); text != "" {
				target, rank = text, at
			}
		}
	}
	if target == "" {
		target = p.State.Title
	}
	return Shorten(strings.Join(strings.Fields(target), " "), 80)
}

// Shorten cuts a text to so many runes, the last of them an ellipsis.
func Shorten(text string, runes int) string {
	if len(text) <= runes {
		return text
	}
	n := 0
	for i := range text {
		if n == runes-1 {
			rest := text[i:]
			for range rest {
				if n++; n > runes {
					break
				}
			}
			if n <= runes {
				return text
			}
			return text[:i] + "…"
		}
		n++
	}
	return text
}

func position(names []string, name string) int {
	for i, n := range names {
		if n == name {
			return i
		}
	}
	return len(names)
}

// members walks the members of a JSON object; anything else has none.
func members(object jsontext.Value) func(yield func(string, jsontext.Value) bool) {
	return func(yield func(string, jsontext.Value) bool) {
		if object.Kind() != '{' {
			return
		}
		dec := jsontext.NewDecoder(strings.NewReader(string(object)), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
		if _, err := dec.ReadToken(); err != nil {
			return
		}
		for dec.PeekKind() == '"' {
			name, err := dec.ReadToken()
			if err != nil {
				return
			}
			key := name.String()
			value, err := dec.ReadValue()
			if err != nil || !yield(key, value) {
				return
			}
		}
	}
}

// scalar is the text of a JSON string, or of an array of strings joined by spaces; "" for the rest.
func scalar(value jsontext.Value) string {
	switch value.Kind() {
	case '"':
		text, err := jsontext.AppendUnquote(nil, value)
		if err != nil {
			return ""
		}
		return string(text)
	case '[':
		var words []string
		dec := jsontext.NewDecoder(strings.NewReader(string(value)), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
		if _, err := dec.ReadToken(); err != nil {
			return ""
		}
		for dec.PeekKind() == '"' {
			word, err := dec.ReadToken()
			if err != nil {
				return ""
			}
			words = append(words, word.String())
		}
		return strings.Join(words, " ")
	}
	return ""
}
