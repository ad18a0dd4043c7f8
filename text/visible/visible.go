// Package visible makes foreign text fit to be shown. What somebody else wrote (sessions, titles,
// names of files and tools, what a provider said) is shown as letters; what a terminal would obey,
// or nobody would see, is written out instead.
package visible

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Text makes a foreign text fit to be read. Line breaks and tabs stay. Other control characters
// become their pictures (␛ for escape, ␍ for a carriage return that ends no line), direction marks
// and overrides, C1 controls, tags and the like their code points (⟨U+202E⟩), bytes that are not
// UTF-8 U+FFFD. Nothing is left out but the carriage return before a line feed, so that an escape
// sequence cannot hide what it encloses. The result is not changed by a second time.
func Text(text string) string {
	if legible(text) {
		return text
	}
	var b strings.Builder
	b.Grow(len(text) + len(text)/8)
	for i, r := range text {
		if r == '\r' && i+1 < len(text) && text[i+1] == '\n' {
			continue
		}
		write(&b, r)
	}
	return b.String()
}

func write(b *strings.Builder, r rune) {
	switch {
	case r == '\n' || r == '\t':
		b.WriteRune(r)
	case r < ' ':
		b.WriteRune(0x2400 + r)
	case r == 0x7f:
		b.WriteRune(0x2421)
	case Unseen(r):
		fmt.Fprintf(b, "⟨U+%04X⟩", r)
	default:
		b.WriteRune(r)
	}
}

// Line is a foreign text on one line, without the spaces around it and with one space where there
// were several.
func Line(text string) string { return strings.Join(strings.Fields(Text(text)), " ") }

// legible is the quick answer for most texts: printable ASCII, line breaks and tabs.
func legible(text string) bool {
	for i := range len(text) {
		if c := text[i]; c > '~' || c < ' ' && c != '\n' && c != '\t' {
			return false
		}
	}
	return true
}

// Unseen tells of characters beyond ASCII that change what is around them or hide: C1 controls,
// direction marks, overrides and isolates, zero-width spaces, tags, line and paragraph separators,
// and code points that are no characters. Joiners and the sixteen common variation selectors are
// none of them: scripts and emoji need them.
func Unseen(r rune) bool {
	switch {
	case r < 0x80:
		return false
	case r < 0xa0, r == 0x61c, r == 0xad, r == 0x180e, r == 0x200b, r == 0x200e, r == 0x200f, r == 0x2028, r == 0x2029,
		r == 0xfeff:
		return true
	case r >= 0x202a && r <= 0x202e, r >= 0x2060 && r <= 0x206f, r >= 0xfff9 && r <= 0xfffb,
		r >= 0xe0000 && r <= 0xe0fff:
		return true
	}
	return r&0xfffe == 0xfffe || r >= 0xfdd0 && r <= 0xfdef
}

// WithoutColour leaves out the escape sequences that set colours and move the cursor: ESC [ …
// letter. It is for beginnings and outputs, where colour is nothing to read; what somebody is asked
// to agree to is shown with them.
func WithoutColour(text string) string {
	if !strings.Contains(text, "\x1b[") {
		return text
	}
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, "\x1b[")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		end := strings.IndexFunc(after, func(r rune) bool { return r < 0x30 || r > 0x3f })
		if end < 0 || after[end] < 0x40 || after[end] > 0x7e {
			b.WriteString("\x1b[")
			text = after
			continue
		}
		text = after[end+1:]
	}
}

// JSON writes what [Text] would show differently as \u escapes, within a JSON document that is
// well-formed but for bytes that are not UTF-8: it means what it did before.
func JSON(document []byte) []byte {
	if legible(string(document)) {
		return document
	}
	out := make([]byte, 0, len(document)+len(document)/8)
	for rest := document; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		switch {
		case r == utf8.RuneError && size == 1:
			out = append(out, `\ufffd`...)
		case r == 0x7f || Unseen(r):
			for _, unit := range utf16.AppendRune(nil, r) {
				out = fmt.Appendf(out, `\u%04x`, unit)
			}
		default:
			out = append(out, rest[:size]...)
		}
		rest = rest[size:]
	}
	return out
}

// Printable reports whether text shows itself as it is on one line: a name that is offered to be
// typed again.
func Printable(text string) bool {
	return Text(text) == text && !strings.ContainsFunc(text, unicode.IsControl)
}

// Styled is [Text] for a line that was put together from our own colours and foreign text:
// sequences that set colours stay. Foreign text belongs through Text before; this is the net below.
func Styled(text string) string {
	if !strings.Contains(text, "\x1b[") {
		return Text(text)
	}
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, "\x1b[")
		b.WriteString(Text(before))
		if !found {
			return b.String()
		}
		text = after
		end := strings.IndexFunc(after, func(r rune) bool { return (r < '0' || r > '9') && r != ';' && r != ':' })
		if end >= 0 && after[end] == 'm' {
			b.WriteString("\x1b[" + after[:end+1])
			text = after[end+1:]
		} else {
			b.WriteString(Text("\x1b["))
		}
	}
}
