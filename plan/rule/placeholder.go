package rule

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/quantity"
)

// Texts that the specification's programs show in place of parts.
const (
	Cleared    = "[Old tool result content cleared]" // an output that was pruned (S003 §5.2)
	Superseded = "[auto-superseded]"                 // an output that a newer call makes redundant (S002 1)
)

// How every placeholder of the sound forms begins; what follows is the handle. The longer one is at
// the same time the command that shows what was left out.
const (
	opening  = "[winnow "
	recalled = "[winnow recall "
)

// opening is how the placeholders of a window begin.
func (w Window) opening() string {
	if w.Handles != nil && w.Handles.Recall {
		return recalled
	}
	return opening
}

// placeholder is shown in place of a field of a part: what it was, how big, and the handle by which
// it can be had back. The same part gives the same bytes at any time. after says more, "" for
// nothing.
//
//	[winnow k3f9a2: read src/a.go, 412 lines left out; shown again below]
//	[winnow recall k3f9a2: read src/a.go, 412 lines left out]
func (w Window) placeholder(x *Item, field Field, after string) string {
	var room [256]byte
	text := append(append(append(append(room[:0], w.opening()...), w.handleOf(x)...), ": "...), x.Part.Tool...)
	if target := x.target(); target != "" {
		text = append(append(text, ' '), target...)
	}
	text = append(x.appendMeasure(append(text, ", "...), field), " left out"...)
	if after != "" {
		text = append(append(text, "; "...), after...)
	}
	return string(append(text, ']'))
}

// plainly is what stands in place of an output where nothing more is to be said of it but where
// what is in it begins. It is made once for the rules that ask for it.
func (w Window) plainly(x *Item) *shown {
	if !x.plain.current(w) {
		x.plain = w.shown(x, Output, w.placeholder(x, Output, w.outline(x)))
	}
	return x.plain
}

// omitted stands in place of a long text inside what is otherwise kept: a value among the arguments
// of a call.
//
//	[winnow k3f9a2: 812 lines left out]
func (w Window) omitted(x *Item, text string) string {
	return w.opening() + w.handleOf(x) + ": " + Measure(text) + " left out]"
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

// linesOf counts the lines of a text, at least 1; empty ones at its end do not count.
func linesOf(text string) int { return strings.Count(strings.TrimRight(text, "\n"), "\n") + 1 }

func inLines(n int) string { return quantity.Number(n) + " lines" }

// appendMeasure says behind a text how big a field of an item is, of an output from what was
// counted with it.
func (x *Item) appendMeasure(text []byte, field Field) []byte {
	if x.known != nil && x.known.lines > 1 && x.Part.State != nil && field != Input {
		return append(quantity.AppendNumber(text, x.known.lines), " lines"...)
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

// PathKeys are the arguments that hold a path, in the vocabularies of the coding agents in use.
var PathKeys = []string{"filePath", "file_path", "path", "notebook_path", "filename", "file"}

// Paths returns the paths that a call names in its arguments, as the model wrote them.
func Paths(p *session.Part) []string {
	if p.State == nil {
		return nil
	}
	return pathsOf(argumentsOf(p))
}

func pathsOf(arguments call.Arguments) (paths []string) {
	for i, a := range arguments {
		if slices.Contains(PathKeys, a.Name) && a.Value.Kind() == '"' {
			if path := arguments[i : i+1].Text(a.Name); path != "" {
				paths = append(paths, path)
			}
		}
		if a.Name == "files" && a.Value.Kind() == '[' { // Cline reads several at once
			for _, file := range arguments[i : i+1].List(a.Name) {
				if path := file.Text("path"); path != "" {
					paths = append(paths, path)
				}
			}
		}
	}
	return paths
}

// TargetKeys are the arguments that say what a call was about, most telling first. They are the
// names that the coding agents in use give them.
var TargetKeys = []string{"filePath", "file_path", "path", "notebook_path", "command", "cmd", "pattern", "query",
	"url", "description", "name"}

// Target says what a call was about in at most 80 characters: a path, a command, a pattern, a URL.
func Target(p *session.Part) string {
	if p.State == nil {
		return ""
	}
	return targetOf(p, argumentsOf(p))
}

func argumentsOf(p *session.Part) (all call.Arguments) {
	for name, value := range call.Members(p.State.Input) {
		all = append(all, call.Argument{Name: name, Value: value})
	}
	return all
}

func targetOf(p *session.Part, arguments call.Arguments) string {
	return Shorten(oneBlank(cmp.Or(arguments.Text(TargetKeys...), p.State.Title)), 80)
}

// oneBlank is a text with one blank in place of all white space between its words. Most are so
// already.
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

// Shorten cuts a text to this many runes, the last of them an ellipsis.
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
