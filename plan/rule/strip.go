package rule

import (
	"bytes"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/session"
)

// strip returns the arguments of a call with a marker in place of every text in them that has at
// least this many bytes; ok is false if there is no such text. Every argument stays, with a value
// of its kind. Those named in keep stay as they are, unless they hold a patch.
func (w Window) strip(x *Item, from int, keep []string) (input string, ok bool) {
	p := x.Part
	if p.State == nil || p.State.Input.Kind() != '{' {
		return "", false
	}
	if input, ok, plain := w.stripPlain(x, from, keep); plain {
		return input, ok
	}
	loose := session.ReadOptions()
	var out bytes.Buffer
	dec, enc := jsontext.NewDecoder(bytes.NewBuffer(p.State.Input), loose), jsontext.NewEncoder(&out, loose)
	key := "" // of the outermost object
	for {
		within, n := dec.StackIndex(dec.StackDepth())
		if name := within == '{' && n%2 == 0; name || dec.PeekKind() != '"' {
			t, err := dec.ReadToken()
			if err == io.EOF {
				break
			}
			if err != nil || enc.WriteToken(t) != nil {
				return "", false
			}
			if t.Kind() == '"' && dec.StackDepth() == 1 {
				key = t.String()
			}
			continue
		}
		value, err := dec.ReadValue()
		if err != nil {
			return "", false
		}
		short, left := w.short(x, key, value, from, keep)
		ok = ok || left
		if enc.WriteValue(short) != nil {
			return "", false
		}
	}
	return strings.TrimSpace(out.String()), ok
}

// stripPlain is strip for arguments that are written as most are: texts, whole numbers and words,
// without blanks between them and with nothing escaped that need not be. plain is false for others.
func (w Window) stripPlain(x *Item, from int, keep []string) (input string, ok, plain bool) {
	out, written := append(make([]byte, 0, 512), '{'), len("{}")-len(",")
	for name, value := range call.Members(x.Part.State.Input) {
		if !plainly(value) || strings.ContainsAny(name, `"\`) {
			return "", false, false
		}
		written += len(name) + len(value) + len(`"":,`)
		short, left := w.short(x, name, value, from, keep)
		ok = ok || left
		out = append(append(append(append(append(out, '"'), name...), `":`...), short...), ',')
	}
	if written != len(x.Part.State.Input) {
		return "", false, false
	}
	out[len(out)-1] = '}'
	return string(out), ok, true
}

// short is what is shown in place of a value among the arguments of a call: a marker in the place
// of a long text, and left is set; of anything else the value itself.
func (w Window) short(x *Item, name string, value jsontext.Value, from int, keep []string) (
	short jsontext.Value, left bool) {
	if value.Kind() != '"' || 3*len(value) < from { // a byte that is not UTF-8 becomes three
		return value, false
	}
	text, _ := call.Unquote(value)
	if len(text) < from {
		return value, false
	}
	marker := ""
	switch {
	case !slices.Contains(keep, name) || patch(text):
		marker = w.marker(x, text)
	case scripts(name) && len(text) >= scriptFrom:
		head, rest, ok := strings.Cut(text, "\n")
		if !ok || len(head) > scriptFrom/2 {
			return value, false
		}
		marker = head + "\n" + w.omitted(x, rest)
	default:
		return value, false
	}
	if len(marker) >= len(text) {
		return value, false
	}
	short, _ = jsontext.AppendQuote(nil, marker)
	return short, true
}

// scriptFrom is how many bytes a command must have for what follows its first line to be left out:
// it is a script then, or a file that it writes. The first line tells what is done.
const scriptFrom = 1_000

// scripts reports whether an argument holds a command.
func scripts(name string) bool { return name == "command" || name == "cmd" || name == "script" }

// stripped are the arguments of a call without their long texts, "" where there are none. They are
// made once for the rules that ask for them.
func (w Window) stripped(x *Item) *shown {
	if !x.short.current(w) {
		input, _ := w.strip(x, stripFrom, telling)
		x.short = w.shown(x, Input, input)
	}
	return x.short
}

// marker stands for a long text. A patch keeps the lines that name its files.
func (w Window) marker(x *Item, text string) string {
	if !patch(text) {
		return w.omitted(x, text)
	}
	var kept strings.Builder
	var left []string
	flush := func() {
		if len(left) > 0 {
			kept.WriteString(w.omitted(x, strings.Join(left, "")) + "\n")
			left = nil
		}
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "*** ") || strings.HasPrefix(line, "--- ") || strings.HasPrefix(line, "+++ ") ||
			strings.HasPrefix(line, "diff --git ") {
			flush()
			kept.WriteString(strings.TrimRight(line, "\r\n") + "\n")
			continue
		}
		left = append(left, line)
	}
	flush()
	return strings.TrimSuffix(kept.String(), "\n")
}

// patch reports whether a text is a patch, or a command that applies one.
func patch(text string) bool {
	return strings.Contains(text, "*** Begin Patch") || strings.HasPrefix(text, "--- ") &&
		strings.Contains(text, "\n+++ ") || strings.HasPrefix(text, "diff --git ")
}
