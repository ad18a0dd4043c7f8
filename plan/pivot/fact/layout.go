package fact

import (
	"strings"
)

// span is a stretch of a Markdown text in which one way of writing holds.
type span struct {
	kind       spanKind
	start, end int // its content
	from, to   int // with what marks it: backticks, parentheses, a fence's lines
	shell      bool
	note       string // written after it by Mark
}

type spanKind int

const (
	prose  spanKind = iota
	code            // between backticks
	target          // the address of a link
	fenced          // a line in a block of code
)

// layout divides a text into its spans, line by line, without what only structures it: list and
// heading markers, checkboxes, fences.
func layout(text string) []span {
	var spans []span
	fence, block := "", 0
	shell := false
	for at := 0; at < len(text); {
		end := at + strings.IndexByte(text[at:], '\n')
		next := end + 1
		if end < at {
			end, next = len(text), len(text)
		}
		begin := at
		at = next
		mark, info := opensFence(text[begin:end])
		switch {
		case fence != "" && mark != "" && mark[0] == fence[0] && len(mark) >= len(fence) &&
			strings.TrimSpace(info) == "":
			note := noteBehind(text[end:])
			for i := block; i < len(spans); i++ {
				spans[i].to, spans[i].note = end, note
			}
			fence = ""
		case fence != "":
			spans = append(spans, span{kind: fenced, start: begin, end: end, from: begin, to: len(text), shell: shell})
		case mark != "":
			fence, block = mark, len(spans)
			language, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(info)), " ")
			shell = language == "" || shells[language]
		default:
			spans = inline(spans, text, begin+structure(text[begin:end]), end)
		}
	}
	return spans
}

// opensFence returns the fence on a line and what follows it, or "".
func opensFence(line string) (mark, info string) {
	line = strings.TrimLeft(line, " \t>")
	for _, b := range []string{"- ", "* ", "+ "} {
		line = strings.TrimPrefix(line, b)
	}
	line = strings.TrimLeft(line, " ")
	n := 0
	for n < len(line) && line[n] == line[0] && (line[0] == '`' || line[0] == '~') {
		n++
	}
	if n < 3 || line[0] == '`' && strings.Contains(line[n:], "`") {
		return "", ""
	}
	return line[:n], line[n:]
}

// structure returns how many bytes at the beginning of a line are markers of quotations, lists,
// checkboxes, headings and their numbers.
func structure(line string) int {
	i := 0
	skip := func() {
		for i < len(line) && (line[i] == ' ' || line[i] == '\t' || line[i] == '>') {
			i++
		}
	}
	heading := false
	for skip(); i < len(line); skip() {
		rest := line[i:]
		switch {
		case strings.HasPrefix(rest, "- ") || strings.HasPrefix(rest, "* ") || strings.HasPrefix(rest, "+ "):
			i += 2
		case strings.HasPrefix(rest, "[ ] ") || strings.HasPrefix(rest, "[x] ") || strings.HasPrefix(rest, "[X] "):
			i += 4
		case rest[0] == '#':
			n := len(rest) - len(strings.TrimLeft(rest, "#"))
			if n > 6 || n < len(rest) && rest[n] != ' ' {
				return i
			}
			i += n
			heading = true
		default:
			// "1.", "2)", in a heading "3.1" as well; in front of a list's number there may be
			// emphasis.
			n := 0
			for n < len(rest) && (rest[n] == '*' || rest[n] == '_') {
				n++
			}
			digits := n
			for digits < len(rest) && (isDigit(rest[digits]) || heading && rest[digits] == '.' && digits > n) {
				digits++
			}
			if digits == n || digits == len(rest) {
				return i
			}
			if heading && rest[digits] == ' ' && !strings.Contains(rest[:digits], ".") &&
				!section(rest[n:digits], rest[digits+1:]) {
				return i
			}
			if c := rest[digits]; (c == '.' || c == ')' || heading && (c == ' ' || c == ':')) &&
				(digits+1 == len(rest) || strings.IndexByte(" *_", rest[digits+1]) >= 0 || heading) && digits-n < 5 {
				return i + digits + 1
			}
			return i
		}
	}
	return i
}

// section reports whether a number that opens a heading is that of a chapter: "3 Setup", but not
// "41 tests".
func section(number, title string) bool {
	value, _ := whole(number)
	return value <= small || len(number) <= 2 && !(initial(title) >= 'a' && initial(title) <= 'z')
}

// inline divides a line into prose, code spans and targets of links.
func inline(spans []span, text string, start, end int) []span {
	from := start
	flush := func(to int) {
		if to > from {
			spans = append(spans, span{kind: prose, start: from, end: to, from: from, to: to})
		}
	}
	for i := start; i < end; {
		switch {
		case text[i] == '\\' && i+1 < end:
			i += 2
		case strings.HasPrefix(text[i:end], "(unconfirmed: `"):
			flush(i)
			i += noteLength(text[i:end])
			from = i
		case text[i] == '`':
			n := run(text[i:end], '`')
			close := closing(text[i+n:end], n)
			if close < 0 {
				i += n
				continue
			}
			flush(i)
			s := span{kind: code, start: i + n, end: i + n + close, from: i, to: i + 2*n + close}
			s.note = noteBehind(text[s.to:end])
			if s.note == "" && s.from >= 2 && text[s.from-2:s.from] == "~~" {
				s.note = struckBehind(text[s.to:end])
			}
			spans = append(spans, s)
			i = s.to
			from = i
		case text[i] == ']' && i+1 < end && text[i+1] == '(':
			close := strings.IndexByte(text[i+2:end], ')')
			if close < 0 || !destination(text[i+2:i+2+close]) {
				i++
				continue
			}
			flush(i + 1)
			s := span{kind: target, start: i + 2, end: i + 2 + close, from: i + 1, to: i + 3 + close}
			s.note = noteBehind(text[s.to:end])
			spans = append(spans, s)
			i = s.to
			from = i
		default:
			i++
		}
	}
	flush(end)
	return spans
}

// destination reports whether a text can be the target of a link: one word, perhaps with a title
// after it.
func destination(text string) bool {
	word, title, titled := strings.Cut(text, " ")
	return !strings.ContainsAny(word, "\t`(~") &&
		(!titled || len(title) > 1 && (title[0] == '"' || title[0] == '\'') && !strings.ContainsAny(title, "`~"))
}

func run(text string, b byte) int {
	n := 0
	for n < len(text) && text[n] == b {
		n++
	}
	return n
}

// closing finds the run of exactly n backticks that ends a code span, or -1.
func closing(text string, n int) int {
	for i := 0; i < len(text); {
		if text[i] != '`' {
			i++
			continue
		}
		k := run(text[i:], '`')
		if k == n {
			return i
		}
		i += k
	}
	return -1
}
