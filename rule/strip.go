package rule

import (
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
func (w Window) strip(p *session.Part, from int, keep []string) (input string, ok bool) {
	if p.State == nil || p.State.Input.Kind() != '{' {
		return "", false
	}
	if input, ok, plain := w.stripPlain(p, from, keep); plain {
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
			if short := w.marker(p, text); len(short) < len(text) {
				t, ok = jsontext.String(short), true
			}
		}
		if err := enc.WriteToken(t); err != nil {
			return "", false
		}
	}
	return strings.TrimSpace(out.String()), ok
}

// stripPlain does so for an object of texts that is written as an encoder would write it, which is what most calls send. plain is false for others.
func (w Window) stripPlain(p *session.Part, from int, keep []string) (input string, ok, plain bool) {
	written, out := 1, make([]byte, 0, 512)
	out = append(out, '{')
	for name, value := range members(p.State.Input) {
		// What stands between two values is a comma, a name without anything that must be escaped, and a colon.
		written += len(name) + len(value) + 4
		if value.Kind() != '"' || !plainlyEscaped(value) || !utf8.Valid(value) || strings.ContainsAny(name, "\"\\") {
			return "", false, false
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, '"'), name...), '"', ':')
		if len(value)-2 >= from {
			text, valid := call.Unquote(value)
			if !valid {
				return "", false, false
			}
			if len(text) >= from && (!slices.Contains(keep, name) || patch(text)) {
				if short := w.marker(p, text); len(short) < len(text) {
					out, _ = jsontext.AppendQuote(out, short)
					ok = true
					continue
				}
			}
		}
		out = append(out, value...)
	}
	if written != len(p.State.Input) || written == 1 {
		return "", false, false
	}
	return string(append(out, '}')), ok, true
}

// marker stands for a long text. A patch keeps the lines that name its files.
func (w Window) marker(p *session.Part, text string) string {
	x := &Item{Part: p}
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
