package shell

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Word is a word of a command.
type Word struct {
	// Text is the word with its quotes taken off. What the shell puts in stands in it as it was
	// written: variables, substitutions, patterns.
	Text string
	kind kind
}

type kind uint8

const (
	expands kind = 1 << iota // variables, substitutions, arithmetic
	pattern                  // names of files that the shell looks up: *, ?, […], ~
	braces                   // {a,b}
	special                  // not every shell reads it alike: $'…', $"…", arrays
	opened                   // it begins with a pattern or braces, so that what it becomes may begin with anything
)

// Fixed reports whether the program gets the text as it is here.
func (w Word) Fixed() bool { return w.kind&^special == 0 }

// Plain reports whether it is fixed in every shell.
func (w Word) Plain() bool { return w.kind == 0 }

// Common reports whether every shell reads the word alike, though it may put something in.
func (w Word) Common() bool { return w.kind&special == 0 }

// Pattern reports whether the word is one for names of files, and nothing else is put into it.
func (w Word) Pattern() bool { return w.kind&pattern != 0 && w.kind&^(pattern|opened) == 0 }

// Expands reports whether something is put into it that the text does not tell.
func (w Word) Expands() bool { return w.kind&expands != 0 }

// Open reports whether it may become a word that begins otherwise than this one: with a "-", say.
func (w Word) Open() bool { return w.kind&(opened|expands) != 0 }

// Fix makes a word that is what it is.
func Fix(text string) Word { return Word{Text: text} }

func (w *walker) word(c *syntax.Word) Word {
	if len(c.Parts) == 1 {
		switch part := c.Parts[0].(type) {
		case *syntax.Lit:
			return literal(part.Value, true)
		case *syntax.SglQuoted:
			if !part.Dollar {
				return Word{Text: part.Value}
			}
		}
	}
	var text strings.Builder
	var k kind
	for i, part := range c.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			one := literal(part.Value, i == 0)
			k |= one.kind
			text.WriteString(one.Text)
		case *syntax.SglQuoted:
			if part.Dollar {
				k |= special
				text.WriteString(decode(part.Value))
				continue
			}
			text.WriteString(part.Value)
		case *syntax.DblQuoted:
			if part.Dollar {
				k |= special
			}
			for _, in := range part.Parts {
				if lit, ok := in.(*syntax.Lit); ok {
					text.WriteString(unescape(lit.Value, "\"\\$`"))
					continue
				}
				k |= expands
				text.WriteString(w.source(in))
			}
		case *syntax.ExtGlob:
			k |= pattern
			text.WriteString(w.source(part))
		default:
			k |= expands
			text.WriteString(w.source(part))
		}
	}
	return Word{text.String(), k}
}

// literal is a piece of a word that is not quoted, the first one perhaps.
func literal(value string, first bool) Word {
	if !strings.ContainsAny(value, "\\*?[]{}~") {
		return Word{Text: value}
	}
	var k kind
	open := false
	for i := 0; i < len(value); i++ {
		switch value[i] {
		case '\\':
			i++
		case '*', '?', '[':
			if value[i] == '[' && strings.IndexByte(value[i:], ']') < 0 {
				continue
			}
			if k |= pattern; first && i == 0 {
				k |= opened
			}
		case '~':
			if first && i == 0 {
				k |= pattern
			}
		case '{':
			if open = true; first && i == 0 && strings.ContainsAny(value, ",.") {
				k |= opened
			}
		case ',':
			if open {
				k |= braces
			}
		case '.':
			if open && i+1 < len(value) && value[i+1] == '.' {
				k |= braces
			}
		}
	}
	return Word{unescape(value, ""), k}
}

// unescape takes off the backslashes before these signs, before any character if no signs are
// given, and lines that go on.
func unescape(value, before string) string {
	if strings.IndexByte(value, '\\') < 0 {
		return value
	}
	var text strings.Builder
	for i := 0; i < len(value); i++ {
		if value[i] == '\\' && i+1 < len(value) {
			if value[i+1] == '\n' {
				i++
				continue
			}
			if before == "" || strings.IndexByte(before, value[i+1]) >= 0 {
				i++
			}
		}
		text.WriteByte(value[i])
	}
	return text.String()
}

// decode takes the escapes of $'…' off.
func decode(value string) string {
	if strings.IndexByte(value, '\\') < 0 {
		return value
	}
	var text strings.Builder
	for i := 0; i < len(value); i++ {
		if value[i] != '\\' || i+1 >= len(value) {
			text.WriteByte(value[i])
			continue
		}
		i++
		if at := strings.IndexByte("abeEfnrtv", value[i]); at >= 0 {
			text.WriteByte("\a\b\x1b\x1b\f\n\r\t\v"[at])
			continue
		}
		digits, base, most := i, 8, 3
		switch value[i] {
		case 'x':
			digits, base, most = i+1, 16, 2
		case 'u':
			digits, base, most = i+1, 16, 4
		case 'U':
			digits, base, most = i+1, 16, 8
		case '0', '1', '2', '3', '4', '5', '6', '7':
		case '\\', '\'', '"', '?':
			text.WriteByte(value[i])
			continue
		default: // \cx too: as it stands
			text.WriteString(value[i-1 : i+1])
			continue
		}
		end := digits
		for end < len(value) && end-digits < most && isDigit(value[end], base) {
			end++
		}
		n, err := strconv.ParseUint(value[digits:end], base, 32)
		switch {
		case err != nil:
			text.WriteString(value[i-1 : i+1])
			continue
		case most > 3:
			text.WriteRune(rune(n))
		default:
			text.WriteByte(byte(n))
		}
		i = end - 1
	}
	return text.String()
}

func isDigit(c byte, base int) bool {
	return c >= '0' && c <= '7' || base == 16 && (c >= '8' && c <= '9' || c|' ' >= 'a' && c|' ' <= 'f')
}

// source is a piece of the tree as it was written.
func (w *walker) source(node syntax.Node) string {
	from, to := int(node.Pos().Offset()), int(node.End().Offset())
	if from < 0 || to > len(w.text) || from > to {
		return "$"
	}
	return w.text[from:to]
}

// document is the text of a here-document.
func (w *walker) document(c *syntax.Redirect) (text string, verbatim bool) {
	quoted := !plain(c.Word) || strings.ContainsAny(w.source(c.Word), `'"\`)
	verbatim = true
	var body strings.Builder
	for _, part := range c.Hdoc.Parts {
		lit, ok := part.(*syntax.Lit)
		switch {
		case !ok:
			verbatim = false
			body.WriteString(w.source(part))
		case quoted:
			body.WriteString(lit.Value)
		default:
			body.WriteString(unescape(lit.Value, "\\$`"))
		}
	}
	if text = body.String(); c.Op == syntax.DashHdoc {
		lines := strings.SplitAfter(text, "\n")
		for i := range lines {
			lines[i] = strings.TrimLeft(lines[i], "\t")
		}
		text = strings.Join(lines, "")
	}
	return text, verbatim
}

// Join makes a text of words so that a shell takes them apart again as they are.
func Join(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		if word != "" && strings.Trim(word,
			"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%") == "" &&
			(i > 0 || !strings.Contains(word, "=")) {
			quoted[i] = word
			continue
		}
		quoted[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return strings.Join(quoted, " ")
}
