package rule

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/call"
	"github.com/winnowhq/winnow/session"
)

// strip returns the arguments of a call with a marker in place of every text in them that has so many bytes or more; ok is false when there is none.
// Every argument stays, with a value of its kind. Those named in keep stay as they are, unless they hold a patch.
func (w Window) strip(x *Item, from int, keep []string) (input string, ok bool) {
	p := x.Part
	if p.State == nil || p.State.Input.Kind() != '{' {
		return "", false
	}
	if input, ok, plain := w.stripPlain(x, from, keep); plain {
		return input, ok
	}
	loose := session.ReadOptions()
	var out strings.Builder
	dec, enc := jsontext.NewDecoder(strings.NewReader(asString(p.State.Input)), loose), jsontext.NewEncoder(&out, loose)
	key := "" // of the outermost object
	for {
		t, err := dec.ReadToken()
		if err == io.EOF {
			break
		}
		if err != nil {
			return "", false
		}
		within, n := dec.StackIndex(dec.StackDepth())
		named := within == '{' && n%2 == 1
		switch {
		case t.Kind() != '"':
		case named && dec.StackDepth() == 1:
			key = t.String()
		case !named:
			text := t.String()
			if len(text) < from || slices.Contains(keep, key) && !patch(text) {
				break
			}
			if short := w.marker(x, text); len(short) < len(text) {
				t, ok = jsontext.String(short), true
			}
		}
		if err := enc.WriteToken(t); err != nil {
			return "", false
		}
	}
	return strings.TrimSpace(out.String()), ok
}

// stripped are the arguments of a call without their long texts, made once for the rules that ask for them.
func (w Window) stripped(x *Item) (input string, ok bool) {
	h := w.Handles
	if h == nil {
		h = &w.Facts.handles
	}
	if s := x.short; s == nil || s.namer != h {
		input, ok := w.strip(x, stripFrom, telling)
		x.short = &shortInput{input, ok, h}
	}
	return x.short.text, x.short.ok
}

// shortInput are arguments without their long texts, as far as there are any.
type shortInput struct {
	text  string
	ok    bool
	namer *Handles // that gave the handle in it
}

// stripPlain does so for an object of texts that is written as an encoder would write it, which is what most calls send. plain is false for others.
func (w Window) stripPlain(x *Item, from int, keep []string) (input string, ok, plain bool) {
	p := x.Part
	written, out := 1, make([]byte, 0, 512)
	out = append(out, '{')
	for name, value := range members(p.State.Input) {
		// What stands between two values is a comma, a name without anything that must be escaped, and a colon.
		written += len(name) + len(value) + 4
		if value.Kind() != '"' || strings.ContainsAny(name, "\"\\") {
			return "", false, false
		}
		size, lines, easy := escaped(value)
		if !easy || !utf8.Valid(value) {
			return "", false, false
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, '"'), name...), '"', ':')
		if size >= from {
			short := ""
			if lines > 1 && !mayPatch(asString(value[1:len(value)-1])) {
				if !slices.Contains(keep, name) {
					short = w.leftOut(x, inLines(lines))
				}
			} else if text, valid := call.Unquote(value); !valid {
				return "", false, false
			} else if !slices.Contains(keep, name) || patch(text) {
				short = w.marker(x, text)
			}
			if short != "" && len(short) < size {
				out, _ = jsontext.AppendQuote(out, short)
				ok = true
				continue
			}
		}
		out = append(out, value...)
	}
	if written != len(p.State.Input) || written == 1 {
		return "", false, false
	}
	return string(append(out, '}')), ok, true
}

// escaped says of a JSON string how many bytes and lines its text has, the lines as Measure counts them, and whether everything that is escaped in it is so as
// everybody escapes it. Where it is not, the counts mean nothing.
func escaped(value jsontext.Value) (size, lines int, plain bool) {
	size = len(value) - 2
	last := 0 // line ends behind everything else
	rest := []byte(value)
	for {
		at := bytes.IndexByte(rest, '\\')
		if at < 0 {
			break
		}
		if at+1 == len(rest) {
			return 0, 0, false
		}
		if at > 0 {
			last = 0
		}
		size--
		switch rest[at+1] {
		case 'n':
			lines, last = lines+1, last+1
		case '"', '\\', 'b', 'f', 'r', 't':
			last = 0
		default:
			return 0, 0, false
		}
		rest = rest[at+2:]
	}
	if len(rest) > 1 {
		last = 0
	}
	return size, lines - last + 1, true
}

// mayPatch reports whether a text may be a patch, of the text of a JSON string that was not unquoted.
func mayPatch(text string) bool {
	return strings.Contains(text, "*** Begin Patch") || strings.HasPrefix(text, "--- ") || strings.HasPrefix(text, "diff --git ")
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
		if strings.HasPrefix(line, "*** ") || strings.HasPrefix(line, "--- ") || strings.HasPrefix(line, "+++ ") || strings.HasPrefix(line, "diff --git ") {
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
	return strings.Contains(text, "*** Begin Patch") || strings.HasPrefix(text, "--- ") && strings.Contains(text, "\n+++ ") || strings.HasPrefix(text, "diff --git ")
}
