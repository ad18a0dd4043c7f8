package draw

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/winnowhq/winnow/look/tui"
	"github.com/winnowhq/winnow/text/visible"
)

// run is a piece of a line that looks alike.
type run struct {
	text string
	look Look
	link string // the address it leads to, "" for none
}

// plainText is the text of runs.
func plainText(runs []run) string {
	if len(runs) == 1 {
		return runs[0].text
	}
	var b strings.Builder
	for _, r := range runs {
		b.WriteString(r.text)
	}
	return b.String()
}

// paintRuns draws the bytes from one place in runs to another.
func paintRuns(runs []run, from, to int) string {
	var b strings.Builder
	at := 0
	for _, r := range runs {
		begin, end := max(from-at, 0), min(to-at, len(r.text))
		at += len(r.text)
		if begin >= end {
			continue
		}
		text := Paint(r.look, r.text[begin:end])
		if r.link != "" {
			text = linkBegin + r.link + linkEnd + text + linkBegin + linkEnd
		}
		b.WriteString(text)
	}
	return b.String()
}

// A link is written OSC 8 ; ; address ST … OSC 8 ; ; ST.
const linkBegin, linkEnd = "\x1b]8;;", "\x1b\\"

// ours are the sequences that begin and end a link as this package writes them.
var ours = regexp.MustCompile(`\x1b\]8;;(?:https?://[!-~]+)?\x1b\\`)

// Safe is visible.Styled for lines that may have links.
func Safe(line string) string {
	if !strings.Contains(line, linkBegin) {
		return visible.Styled(line)
	}
	var b strings.Builder
	at := 0
	for _, found := range ours.FindAllStringIndex(line, -1) {
		b.WriteString(visible.Styled(line[at:found[0]]) + line[found[0]:found[1]])
		at = found[1]
	}
	return b.String() + visible.Styled(line[at:])
}

// leadsTo is the address of a link as a terminal may have it, "" if it is not an address.
func leadsTo(address string) string {
	if ours.MatchString(linkBegin+address+linkEnd) && address != "" {
		return address
	}
	return ""
}

// wrapRuns is Wrap for runs. Lines after the first begin with as many spaces as hang has columns.
func wrapRuns(runs []run, width int, hang string) []string {
	width = max(width, 4)
	if tui.Columns(hang) > width/2 {
		hang = ""
	}
	text := plainText(runs)
	if tui.Columns(text) <= width {
		return []string{paintRuns(runs, 0, len(text))}
	}
	var lines []string
	prefix := ""
	for rest := text; rest != ""; {
		head, tail := split(rest, width-tui.Columns(prefix))
		from := len(text) - len(rest)
		lines = append(lines, prefix+paintRuns(runs, from, from+len(strings.TrimRight(head, " "))))
		rest, prefix = tail, hang
	}
	return lines
}

// chopRuns is Chop for runs.
func chopRuns(runs []run, width int) []string {
	var lines []string
	at := 0
	for _, piece := range Chop(plainText(runs), width) {
		lines = append(lines, paintRuns(runs, at, at+len(piece)))
		at += len(piece)
	}
	return lines
}

const (
	// deepest is how far emphasis may be nested.
	deepest = 4
	// mostLabel and mostAddress are how many bytes the parts of a link may have.
	mostLabel, mostAddress = 400, 2000
)

// inline reads the marks in a line of Markdown.
type inline struct {
	style Style
	half  bool // the line is being written: what is not closed yet will be
	runs  []run
}

// spans are the runs of a cleaned line of Markdown. half says that more of it will come.
func spans(text string, s Style, base Look, half bool) []run {
	if !s.Color || !strings.ContainsAny(text, "*_`~[\\<:") {
		return []run{{text: text, look: base}}
	}
	in := inline{style: s, half: half}
	in.read(text, base, 0, "")
	return in.runs
}

func (in *inline) add(text string, look Look, link string) {
	if text != "" {
		in.runs = append(in.runs, run{text, look, link})
	}
}

// read reads a text in which emphasis and links are looked for. closed are marks that have no
// closing one in the rest of this text, so that a line is read once for each.
func (in *inline) read(text string, look Look, depth int, link string) {
	from := 0
	unclosed := map[string]bool{}
	for i := 0; i < len(text); {
		n, taken := 0, func() {}
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text) && strings.IndexByte("\\`*_{}[]()#+-.!~<>|", text[i+1]) >= 0:
			n, taken = 2, func() { in.add(text[i+1:i+2], look, link) }
		case c == '`':
			n, taken = in.code(text, i, look, link, unclosed)
		case c == '*' || c == '_' || c == '~':
			n, taken = in.emphasis(text, i, look, depth, link, unclosed)
		case link != "":
		case c == '[' || c == '!' && strings.HasPrefix(text[i:], "!["):
			n, taken = in.link(text, i, look, depth)
		case c == '<' || c == 'h':
			n, taken = in.address(text, i, look)
		}
		if n == 0 {
			i++
			continue
		}
		in.add(text[from:i], look, link)
		taken()
		i += n
		from = i
	}
	in.add(text[from:], look, link)
}

// code reads a code span: as many backticks end it as began it.
func (in *inline) code(text string, i int, look Look, link string, unclosed map[string]bool) (int, func()) {
	mark := text[i : i+prefixed(text[i:], '`')]
	rest := text[i+len(mark):]
	end := -1
	if !unclosed[mark] {
		for at := 0; at < len(rest); {
			next := strings.IndexByte(rest[at:], '`')
			if next < 0 {
				break
			}
			at += next
			if n := prefixed(rest[at:], '`'); n == len(mark) {
				end = at
				break
			} else {
				at += n
			}
		}
	}
	whole := len(mark) + end + len(mark)
	if end < 0 {
		unclosed[mark] = true
		if !in.half {
			return len(mark), func() { in.add(mark, look, link) }
		}
		end, whole = len(rest), len(text)-i
	}
	body := rest[:end]
	if strings.TrimSpace(body) != "" && strings.HasPrefix(body, " ") && strings.HasSuffix(body, " ") {
		body = body[1 : len(body)-1]
	}
	return whole, func() { in.add(body, in.style.Code.On(look), link) }
}

// emphasis reads *italics*, **bold**, ***both*** and ~~what is struck out~~.
func (in *inline) emphasis(text string, i int, look Look, depth int, link string,
	unclosed map[string]bool) (int, func()) {
	n := prefixed(text[i:], text[i])
	mark, rest := text[i:i+n], text[i+n:]
	literal := func() { in.add(mark, look, link) }
	switch before, _ := utf8.DecodeLastRuneInString(text[:i]); {
	case n > 3, mark[0] == '~' && n != 2, depth >= deepest:
		return n, literal
	case rest == "" && in.half && i > 0 && before == ' ':
		return n, func() {} // what it begins is not there yet
	case rest == "" || rest[0] == ' ', mark[0] == '_' && letter(before):
		return n, literal
	}
	end := -1
	if !unclosed[mark] {
		end = closing(rest, mark)
	}
	whole := n + end + n
	if end < 0 {
		unclosed[mark] = true
		if !in.half || n == 1 { // one alone is as often a sign as a mark
			return n, literal
		}
		end, whole = len(rest), len(text)-i
		rest = strings.TrimRight(rest, mark[:1])
		end = min(end, len(rest))
	}
	inner := look
	switch {
	case mark[0] == '~':
		inner = in.style.Strike.On(inner)
	case n == 1:
		inner = in.style.Italic.On(inner)
	case n == 2:
		inner = in.style.Bold.On(inner)
	default:
		inner = in.style.Italic.On(in.style.Bold.On(inner))
	}
	return whole, func() { in.read(rest[:end], inner, depth+1, link) }
}

// closing is where a mark of emphasis ends in a text, −1 for nowhere: behind a letter, not in code.
func closing(text, mark string) int {
	for at := 0; at < len(text); {
		switch c := text[at]; {
		case c == '\\':
			at += 2
		case c == '`':
			n := prefixed(text[at:], '`')
			at += n
			if end := strings.Index(text[at:], strings.Repeat("`", n)); end >= 0 {
				at += end + n
			}
		case c == mark[0]:
			n := prefixed(text[at:], c)
			after, _ := utf8.DecodeRuneInString(text[at+n:])
			fits := n == len(mark) || n == 3
			if at > 0 && text[at-1] != ' ' && fits && (c != '_' || !letter(after)) {
				return at + n - len(mark)
			}
			at += n
		default:
			at++
		}
	}
	return -1
}

// link reads [label](address) and ![label](address).
func (in *inline) link(text string, i int, look Look, depth int) (int, func()) {
	begin := i + 1 + strings.Count(text[i:i+1], "!")
	label, _, found := strings.Cut(text[begin:min(len(text), begin+mostLabel)], "](")
	if !found || strings.Contains(label, "[") {
		return 0, nil
	}
	rest := text[begin+len(label)+2:]
	end := closingBracket(rest[:min(len(rest), mostAddress)])
	if end < 0 && (!in.half || len(rest) > mostAddress) {
		return 0, nil
	}
	if end < 0 {
		return len(text) - i, func() { in.read(label, in.style.Link.On(look), deepest, "?"); in.unlink("?") }
	}
	address, _, _ := strings.Cut(strings.TrimSpace(rest[:end]), " ")
	address = strings.Trim(address, "<>")
	whole := begin - i + len(label) + 2 + end + 1
	return whole, func() {
		to := leadsTo(address)
		shown := to == "" || !in.style.Links || pretends(label, address)
		if !in.style.Links {
			to = ""
		}
		begun := len(in.runs)
		in.read(label, in.style.Link.On(look), max(depth, deepest-1), "?")
		for j := range in.runs[begun:] {
			in.runs[begun+j].link = to
		}
		if shown && address != "" && address != label {
			in.add(" ("+address+")", in.style.Dim.On(look), "")
		}
	}
}

// unlink forgets a link that is not complete.
func (in *inline) unlink(link string) {
	for i := range in.runs {
		if in.runs[i].link == link {
			in.runs[i].link = ""
		}
	}
}

// pretends reports whether a label looks like an address, and is not the one that it leads to.
func pretends(label, address string) bool {
	name := strings.ToLower(strings.Trim(strings.TrimSpace(label), "/`*_"))
	if strings.ContainsAny(name, " ") || !strings.Contains(name, ".") {
		return false
	}
	_, to, _ := strings.Cut(strings.ToLower(address), "://")
	_, bare, found := strings.Cut(name, "://")
	if !found {
		bare = name
	}
	return !strings.HasPrefix(to, bare)
}

// closingBracket is where the address of a link ends: brackets in it are in pairs.
func closingBracket(text string) int {
	open := 0
	for i := range len(text) {
		switch text[i] {
		case '(':
			open++
		case ')':
			if open == 0 {
				return i
			}
			open--
		}
	}
	return -1
}

// address reads <https://…>, and an address that stands alone.
func (in *inline) address(text string, i int, look Look) (int, func()) {
	rest, bracket := text[i:], false
	if rest[0] == '<' {
		rest, bracket = rest[1:], true
	}
	if !strings.HasPrefix(rest, "http://") && !strings.HasPrefix(rest, "https://") {
		return 0, nil
	}
	if before, _ := utf8.DecodeLastRuneInString(text[:i]); !bracket && letter(before) {
		return 0, nil
	}
	end := strings.IndexFunc(rest, func(r rune) bool {
		return r <= ' ' || r > '~' || strings.ContainsRune("<>\"`|*", r)
	})
	if end < 0 {
		end = len(rest)
	}
	address, whole := rest[:end], end
	switch {
	case bracket && end < len(rest) && rest[end] == '>':
		whole += 2
	case bracket:
		return 0, nil
	default:
		address = strings.TrimRight(address, ".,;:!?'")
		if strings.HasSuffix(address, ")") && strings.Count(address, "(") < strings.Count(address, ")") {
			address = strings.TrimRight(address[:len(address)-1], ".,;:!?'")
		}
		whole = len(address)
	}
	to := ""
	if in.style.Links {
		to = leadsTo(address)
	}
	return whole, func() { in.add(address, in.style.Link.On(look), to) }
}

// prefixed is how often a character stands at the beginning of a text.
func prefixed(text string, c byte) int {
	n := 0
	for n < len(text) && text[n] == c {
		n++
	}
	return n
}

func letter(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
