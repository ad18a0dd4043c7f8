package wire

import (
	"bytes"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// Complete returns a body that is well-formed JSON: body itself if it is well-formed, otherwise its
// readable beginning with the open brackets closed, and what was left out. A string that was cut
// keeps the text that is there. Offsets into the result are offsets into body, up to the cut.
func Complete(body []byte) ([]byte, []Skipped) {
	if jsontext.Value(body).IsValid(session.ReadOptions()) {
		return body, nil
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(body), session.ReadOptions())
	var failure error
	for {
		if _, err := dec.ReadToken(); err != nil {
			failure = err
			break
		}
		if dec.StackDepth() == 0 { // one value is complete, the rest is not part of it
			break
		}
	}
	cut := int(dec.InputOffset())
	if cut == 0 {
		return nil, []Skipped{{span.Span{Start: 0, End: len(body)}, "not JSON"}}
	}
	text := bytes.Clone(body[:cut])
	if dec.StackDepth() == 0 {
		return text, skippedFrom(body, cut, "bytes after the end of the JSON value")
	}
	kind, length := dec.StackIndex(dec.StackDepth())
	named := kind == '{' && length%2 == 1 // a name without its value
	rest := len(body) - len(bytes.TrimLeft(body[cut:], " \t\r\n,:"))
	if rest < len(body) && body[rest] == '"' && (kind == '[' || named) && span.End(body, rest) < 0 {
		text = append(body[:rest:rest], wholeString(body[rest:])...)
		named, cut = false, len(body)
	}
	if named {
		text = append(text, ":null"...)
	}
	for depth := dec.StackDepth(); depth > 0; depth-- {
		if kind, _ := dec.StackIndex(depth); kind == '{' {
			text = append(text, '}')
		} else {
			text = append(text, ']')
		}
	}
	if !jsontext.Value(text).IsValid(session.ReadOptions()) {
		return nil, []Skipped{{span.Span{Start: 0, End: len(body)}, "not JSON: " + failure.Error()}}
	}
	reason := "the JSON ends here"
	if rest < len(body) && cut < len(body) {
		reason = "not JSON from here on: " + failure.Error()
	}
	return text, []Skipped{{span.Span{Start: min(cut, len(body)), End: len(body)}, reason}}
}

func skippedFrom(body []byte, cut int, reason string) []Skipped {
	if len(bytes.TrimSpace(body[cut:])) == 0 {
		return nil
	}
	return []Skipped{{span.Span{Start: cut, End: len(body)}, reason}}
}

// wholeString closes a string literal that was cut: an escape or a character that is not whole
// goes.
func wholeString(cut []byte) []byte {
	for back := 1; back < utf8.UTFMax && back < len(cut); back++ {
		if last := cut[len(cut)-back:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				cut = cut[:len(cut)-back]
			}
			break
		}
	}
	for drop := 0; drop <= 6 && len(cut)-drop >= 1; drop++ {
		literal := append(cut[:len(cut)-drop:len(cut)-drop], '"')
		if drop < len(cut) && jsontext.Value(literal).IsValid(session.ReadOptions()) {
			return literal
		}
	}
	return []byte(`""`)
}
