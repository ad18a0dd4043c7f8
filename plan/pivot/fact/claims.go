package fact

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Claims returns every path, command, identifier and number in a Markdown text, in order and
// without overlaps. What Mark has already marked is left out.
func Claims(text string) []Claim {
	f := finder{text: text}
	for _, s := range layout(text) {
		first := len(f.claims)
		switch s.kind {
		case prose:
			f.words(s.start, s.end, false)
		case target:
			f.target(s.start, s.end)
		case code:
			f.code(s)
		case fenced:
			f.line(s)
		}
		if s.note != "" {
			kept := f.claims[:first]
			for _, c := range f.claims[first:] {
				if !noted(s.note, c.Text) {
					kept = append(kept, c)
				}
			}
			f.claims = kept
		}
	}
	return f.claims
}

// finder collects the claims of one text.
type finder struct {
	text   string
	claims []Claim
}

func (f *finder) add(kind Kind, start, end int, quoted bool) {
	c := Claim{Kind: kind, Text: f.text[start:end], Start: start, End: end, quoted: quoted}
	rest := strings.TrimLeft(f.text[end:min(len(f.text), end+60)], " \u00a0*_`)\n")
	c.after = rest
	if i := strings.IndexFunc(rest,
		func(r rune) bool { return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') }); i >= 0 {
		c.after = rest[:i]
	}
	before := strings.TrimRight(f.text[:start], " *_`~\"“(")
	c.opens = before == "" || strings.IndexByte(".!?:\n>-|#", before[len(before)-1]) >= 0
	f.claims = append(f.claims, c)
}

// code reads a code span: one token is quoted and therefore a claim; several are a command or a
// piece of code.
func (f *finder) code(s span) {
	start, end := trim(f.text, s.start, s.end)
	if start == end || struck(f.text, s.from, s.to) {
		return
	}
	inner := f.text[start:end]
	switch {
	case !strings.ContainsAny(inner, " \t"):
		if cut(f.text, start, end) {
			return
		}
		if f.token(start, end, true) {
			return
		}
		f.words(start, end, true)
	case isCommand(inner):
		f.add(Command, start, end, true)
	default:
		f.words(start, end, true)
	}
}

// line reads a line of a code block.
func (f *finder) line(s span) {
	start, end := trim(f.text, s.start, s.end)
	if start == end {
		return
	}
	prompt := false
	for _, p := range []string{"$ ", "% ", "PS> "} {
		if s.shell && strings.HasPrefix(f.text[start:end], p) {
			start, prompt = start+len(p), true
		}
	}
	line := f.text[start:end]
	if s.shell && !strings.HasPrefix(line, "#") && (prompt || isCommand(line)) {
		if i := strings.Index(line, " # "); i > 0 {
			f.command(start, start+i)
			f.words(start+i+2, end, true)
			return
		}
		f.command(start, end)
		return
	}
	f.words(start, end, true)
}

func (f *finder) command(start, end int) {
	if start, end = trim(f.text, start, end); start < end {
		f.add(Command, start, end, true)
	}
}

// target reads the target of a link.
func (f *finder) target(start, end int) {
	if i := strings.IndexAny(f.text[start:end], " \t"); i >= 0 {
		end = start + i
	}
	to := f.text[start:end]
	if to == "" || initial(to) == '#' || strings.HasPrefix(to, "mailto:") {
		return
	}
	if strings.Contains(to, "://") {
		f.add(Identifier, start, end, true)
	} else if isPath(to, true) {
		f.add(Path, start, end, true)
	}
}

// words reads a stretch word by word.
func (f *finder) words(start, end int, quoted bool) {
	for i := start; i < end; {
		r, size := utf8.DecodeRuneInString(f.text[i:end])
		if separates(r) {
			i += size
			continue
		}
		from := i
		for i < end {
			if r, size = utf8.DecodeRuneInString(f.text[i:end]); separates(r) {
				break
			}
			i += size
		}
		for opensGroups(f.text[from:i]) && groupSpace(f.text[i:end]) > 0 {
			i += groupSpace(f.text[i:end]) + 3 // 1 234 567
		}
		if strings.HasPrefix(f.text[i:], "…") || from >= 3 && f.text[from-3:from] == "…" {
			continue // cut: nobody knows how it went on
		}
		f.word(from, i, quoted)
	}
}

// separates reports whether a rune ends a word: in Latin script the letters of scripts without
// spaces do.
func separates(r rune) bool {
	switch {
	case r < 0x80:
		return r <= ' ' || r == '|' || r == '"' || r == '<' || r == '>' || r == ';' || r == '`'
	case r == '−' || r == '≈' || r == '…' || r == '’':
		return r == '…'
	}
	return r >= 0x2e80 || !unicode.IsLetter(r) && !unicode.IsMark(r)
}

// word reads one word without its punctuation, and splits it if it is several things.
func (f *finder) word(start, end int, quoted bool) {
	const longest = 512 // bytes; what is longer is data, and no claim
	if end-start > longest {
		return
	}
	t := f.text
	if strings.HasPrefix(t[start:end], "~~") && strings.HasPrefix(t[end:], "~~ (unconfirmed)") {
		return
	}
	for start < end && strings.IndexByte("([{'*_,:!?=&", t[start]) >= 0 {
		if t[start] == '_' && (start+1 < end && t[end-1] != '_' && isWord(t[start+1])) {
			break // _name
		}
		if t[start] == '[' && strings.Contains(t[start:end], "]/") ||
			t[start] == '{' && strings.Contains(t[start:end], "}/") {
			break // a folder that is named so
		}
		start++
	}
	if bold := strings.TrimRight(t[start:end], ".,:;!?)"); len(bold) > 4 && strings.HasSuffix(bold, "__") &&
		start >= 2 && t[start-2:start] == "__" {
		if inner := bold[:len(bold)-2]; isIdentifier(inner) {
			f.add(Identifier, start, start+len(inner), quoted) // bold, or a name of Python's own
		}
		return
	}
	for start+2 < end && t[start:start+2] == "~~" {
		start += 2
	}
	if strings.HasSuffix(t[start:end], "~~") && strings.HasPrefix(t[end:], " (unconfirmed)") ||
		strings.HasPrefix(t[end:], " (unconfirmed)") {
		return
	}
	for start < end {
		switch c := t[end-1]; {
		case strings.IndexByte("*_~", c) >= 0 && strings.Contains(t[start:end], "://"):
			end--
		case strings.IndexByte(".,:!?'*]}&=~", c) >= 0:
			if c == '.' && strings.HasSuffix(t[start:end], "...") {
				return // cut
			}
			if c == ']' && strings.Contains(t[start:end], "/[") || c == '}' && strings.Contains(t[start:end], "{") ||
				c == '*' && strings.Contains(t[start:end], "/*") {
				goto trimmed
			}
			end--
		case c == '_' && (end-2 < start || !isWord(t[end-2]) || t[start] == '_'):
			end--
		case c == ')' && !strings.HasSuffix(t[start:end], "()"):
			if strings.Contains(t[start:end], "(") {
				goto trimmed
			}
			end--
		default:
			goto trimmed
		}
	}
trimmed:
	if start >= end {
		return
	}
	for _, s := range []string{"'s", "’s"} {
		if strings.HasSuffix(t[start:end], s) && end-start > len(s) {
			end -= len(s)
		}
	}
	first := len(f.claims)
	if f.token(start, end, false) {
		for i := first; i < len(f.claims); i++ {
			f.claims[i].quoted = f.claims[i].quoted || quoted
		}
		return
	}
	// Several things in one: "name(argument)", "a=b", "a,b", "key:value".
	if i := strings.IndexAny(t[start:end], "()[]{}=,:'&*"); i >= 0 {
		if i > 0 {
			f.word(start, start+i, quoted)
		}
		f.word(start+i+1, end, quoted)
	}
}

// token adds the claim that a token makes, and reports whether the token is dealt with. In
// backticks every token is a claim.
func (f *finder) token(start, end int, quoted bool) bool {
	tok := f.text[start:end]
	switch {
	case strings.Contains(tok, "://"):
		f.add(Identifier, start, end, quoted)
	case strings.HasPrefix(tok, "#") && digits(tok[1:]):
		f.number(start+1, end, quoted)
	case isHash(tok) && !(digits(tok[:len(tok)-1]) && tok[len(tok)-1]|0x20 == 'b'): // "1048576B" is a size
		f.add(Identifier, start, end, quoted)
	case startsNumber(tok) && !(initial(tok) == ':' && !digits(tok[1:])):
		if f.number(start, end, quoted) {
			return true
		}
		return !quoted || f.quoted(start, end)
	case pinned(tok):
		f.add(Identifier, start, end, quoted)
	case issue(tok):
		f.number(start+strings.IndexByte(tok, '/')+1, end, quoted)
	case spelled(tok):
		f.add(Number, start, end, quoted)
	case isPath(tok, quoted):
		f.add(Path, start, end, quoted)
	case isIdentifier(tok):
		if i := strings.IndexByte(tok, '='); i > 0 && initial(tok) == '-' {
			f.add(Identifier, start, start+i, quoted)
			f.word(start+i+1, end, quoted)
			return true
		}
		f.add(Identifier, start, end, quoted)
	case quoted:
		return f.quoted(start, end)
	default:
		return famous[tok]
	}
	return true
}

// quoted adds a token that is a claim only because it is in backticks.
func (f *finder) quoted(start, end int) bool {
	tok := f.text[start:end]
	if strings.ContainsAny(tok, "(){}[]=,;<>|\"'*&!") || len(tok) < 2 || len(tok) > 200 {
		return false
	}
	letters := strings.ContainsFunc(tok, func(r rune) bool { return r >= 0x80 || r < 0x80 && isAlpha(byte(r)) })
	if letters {
		f.add(Identifier, start, end, true)
	}
	return true
}

// cut reports whether text[start:end] was shortened.
func cut(text string, start, end int) bool {
	tok := text[start:end]
	return strings.HasSuffix(tok, "…") || strings.HasPrefix(tok, "…") ||
		strings.HasSuffix(tok, "...") && !strings.HasSuffix(tok, "/...") ||
		strings.Contains(tok, "<") && strings.Contains(tok, ">")
}

func trim(text string, start, end int) (int, int) {
	const blank = " \t\r"
	end = start + len(strings.TrimRight(text[start:end], blank))
	return end - len(strings.TrimLeft(text[start:end], blank)), end
}

func digits(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }
