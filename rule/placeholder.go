package rule

import (
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/call"
	"github.com/winnowhq/winnow/quantity"
	"github.com/winnowhq/winnow/session"
)

// What the specification's programs show in place of what they left out.
const (
	Cleared    = "[Old tool result content cleared]" // an output that was pruned (S003 §5.2)
	Superseded = "[auto-superseded]"                 // an output that a newer call makes redundant (S002 1)
)

// opening is how every placeholder of the sound forms begins; what follows is the handle.
const opening = "[winnow "

// placeholder is shown in place of a field of a part: what it was, how big, and the handle by which it can be had back. The same part gives
// the same bytes at any time. after says more, "" for nothing.
//
//	[winnow k3f9a2: read src/a.go, 412 lines left out; shown again below]
func (w Window) placeholder(x *Item, field Field, after string) string {
	var room [256]byte
	text := append(append(append(append(room[:0], opening...), w.handleOf(x)...), ": "...), x.Part.Tool...)
	if target := w.target(x); target != "" {
		text = append(append(text, ' '), target...)
	}
	text = append(x.appendMeasure(append(text, ", "...), field), " left out"...)
	if after != "" {
		text = append(append(text, "; "...), after...)
	}
	return string(append(text, ']'))
}

// plainOutput is what stands in place of an output where nothing more is to be said of it.
type plainOutput struct {
	text   string
	saves  int      // tokens
	namer  *Handles // that gave the handle in it
	factor float64  // of the counter when it was counted
}

// plainly is that of an output, made once for the rules that ask for it.
func (w Window) plainly(x *Item) *plainOutput {
	h := w.Handles
	if h == nil {
		h = &w.Facts.handles
	}
	if s := x.plain; s == nil || s.namer != h || s.factor != w.Facts.factor {
		text := w.placeholder(x, Output, "")
		x.plain = &plainOutput{text, w.saves(x, Elision{Field: Output, Shown: text}), h, w.Facts.factor}
	}
	return x.plain
}

// omitted stands in place of a long text inside what is otherwise kept: a value among the arguments of a call.
//
//	[winnow k3f9a2: 812 lines left out]
func (w Window) omitted(x *Item, text string) string {
	return w.leftOut(x, Measure(text))
}

func (w Window) leftOut(x *Item, measured string) string {
	return opening + w.handleOf(x) + ": " + measured + " left out]"
}

// Measure says how big a text is, for a reader: in lines, or in characters when it has but one.
func Measure(text string) string {
	text = strings.TrimRight(text, "\n")
	if n := linesOf(text); n > 1 {
		return inLines(n)
	}
	if n := utf8.RuneCountInString(text); n != 1 {
		return quantity.Number(n) + " characters"
	}
	return "1 character"
}

// linesOf counts the lines of a text, at least 1; empty ones at its end are none.
func linesOf(text string) int { return strings.Count(strings.TrimRight(text, "\n"), "\n") + 1 }

func inLines(n int) string { return quantity.Number(n) + " lines" }

// appendMeasure says behind a text how big a field of an item is, of an output from what was counted with it.
func (x *Item) appendMeasure(text []byte, field Field) []byte {
	if x.size != nil && x.size.lines > 1 && x.Part.State != nil && field != Input {
		return append(quantity.AppendNumber(text, int(x.size.lines)), " lines"...)
	}
	return append(text, Measure(fieldText(x.Part, field))...)
}

func fieldText(p *session.Part, field Field) string {
	switch {
	case p.State == nil:
		return p.Text
	case field == Input:
		return asString(p.State.Input)
	}
	return p.State.Result()
}

// targetKeys are the arguments that say what a call was about, most telling first. They are the names that
// the coding agents in use give them.
var targetKeys = []string{"filePath", "file_path", "path", "notebook_path", "command", "cmd", "pattern", "query", "url", "description", "name"}

// Target says what a call was about in at most 80 characters: a path, a command, a pattern, a URL.
func Target(p *session.Part) string {
	if p.State == nil {
		return ""
	}
	return targetOf(p, argumentsOf(p))
}

func argumentsOf(p *session.Part) (all call.Arguments) {
	for name, value := range members(p.State.Input) {
		all = append(all, call.Argument{Name: name, Value: value})
	}
	return all
}

func targetOf(p *session.Part, arguments call.Arguments) string {
	target := ""
	rank := len(targetKeys)
	for _, a := range arguments {
		if at := position(targetKeys, a.Name); at < rank {
			if text := scalar(a.Value); text != "" {
				target, rank = text, at
			}
		}
	}
	if target == "" {
		target = p.State.Title
	}
	return Shorten(oneBlank(target), 80)
}

// oneBlank is a text with one blank in place of all white space between its words. Most are so already.
func oneBlank(text string) string {
	between := true
	for i := range len(text) {
		c := text[i]
		if c >= utf8.RuneSelf || c < ' ' || c == ' ' && between {
			return strings.Join(strings.Fields(text), " ")
		}
		between = c == ' '
	}
	if between && text != "" {
		return text[:len(text)-1]
	}
	return text
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
	return call.Members(object)
}

// scalar is the text of a JSON string, or of an array of strings joined by spaces; "" for the rest.
func scalar(value jsontext.Value) string {
	switch value.Kind() {
	case '"':
		text, ok := call.Unquote(value)
		if !ok {
			return ""
		}
		return text
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
