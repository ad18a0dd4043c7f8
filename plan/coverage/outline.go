package coverage

import (
	"iter"
	"path"
	"strings"
	"unicode/utf8"

	_ "embed"

	"github.com/winnowhq/winnow/text/wordlist"
)

//go:embed definitions.txt
var definitionsFile string

var definitions = wordlist.Parse(definitionsFile).Of("definitions")

// Entry is something that begins at a line: a function, a type, a heading, a key.
type Entry struct {
	Line  int    // its number, as Shift has them
	Depth int    // how far it is indented, in bytes; of a heading how many signs stand before it
	Name  string // as it is defined; of a heading its words
}

// Lines that define something are no shorter and no longer than this, in bytes; nor are headings
// longer than the third.
const shortestEntry, longestEntry, longestHeading = 5, 300, 60

// Outline yields what a text defines, in order: what code defines, by the words with which common
// languages begin a definition, the headings of Markdown, the outer keys of JSON. name is that of
// its file, whose ending tells which. Numbers that a tool wrote before the lines are left off.
func Outline(name, text string) iter.Seq[Entry] {
	read := defines
	switch strings.ToLower(path.Ext(name)) {
	case ".md", ".mdx", ".markdown":
		read = headings()
	case ".json", ".jsonc":
		read = keys()
	}
	return func(yield func(Entry) bool) {
		numbers := numberingOf(text)
		n := numbers.shift
		for row := range strings.Lines(text) {
			n++
			row = numbers.off(strings.TrimRight(row, "\r\n"), n)
			if e, ok := read(row); ok {
				if e.Line = n; !yield(e) {
					return
				}
			}
		}
	}
}

func indentOf(row string) int { return len(row) - len(strings.TrimLeft(row, " \t")) }

// headings reads Markdown line by line.
func headings() func(row string) (Entry, bool) {
	fenced := false
	return func(row string) (e Entry, ok bool) {
		if strings.HasPrefix(strings.TrimSpace(row), "```") {
			fenced = !fenced
		}
		e.Name = strings.TrimLeft(row, "#")
		e.Depth = len(row) - len(e.Name)
		e.Name = strings.TrimSpace(e.Name)
		return e, !fenced && e.Depth > 0 && e.Name != "" && len(row) >= shortestEntry && len(e.Name) < longestHeading
	}
}

// keys reads indented JSON line by line: the keys that are indented as the first one is.
func keys() func(row string) (Entry, bool) {
	outer := -1
	return func(row string) (e Entry, ok bool) {
		e.Depth = indentOf(row)
		rest, quoted := strings.CutPrefix(row[e.Depth:], `"`)
		e.Name, rest, ok = strings.Cut(rest, `"`)
		if !quoted || !ok || !strings.HasPrefix(strings.TrimLeft(rest, " "), ":") || len(e.Name) > longestHeading {
			return e, false
		}
		if outer < 0 {
			outer = e.Depth
		}
		return e, e.Depth == outer && e.Name != ""
	}
}

// defines reads a line of code.
func defines(row string) (e Entry, ok bool) {
	e.Depth = indentOf(row)
	trimmed := strings.TrimSpace(row)
	if len(trimmed) > longestEntry || len(trimmed) < shortestEntry {
		return e, false
	}
	for _, d := range definitions {
		if rest, ok := strings.CutPrefix(trimmed, d+" "); ok {
			if d == "const" && e.Depth > 0 {
				return e, false // inside of a function
			}
			e.Name = named(d, rest)
			return e, e.Name != ""
		}
	}
	return e, false
}

// named is the name behind a word that defines something, or "".
func named(word, rest string) string {
	if word == "func" && strings.HasPrefix(rest, "(") { // a method: its receiver is not its name
		_, after, ok := strings.Cut(rest, ") ")
		if !ok {
			return ""
		}
		rest = after
	}
	switch word {
	case "public", "public static", "private", "protected", "static":
		// Java and similar languages: the name precedes the parenthesis.
		head, _, ok := strings.Cut(rest, "(")
		if !ok {
			return ""
		}
		fields := strings.Fields(head)
		if len(fields) == 0 || len(fields) > 5 {
			return ""
		}
		rest = fields[len(fields)-1]
	}
	end := 0
	for end < len(rest) && (rest[end] == '_' || rest[end] == '$' || rest[end] >= '0' && rest[end] <= '9' ||
		rest[end] >= 'a' && rest[end] <= 'z' || rest[end] >= 'A' && rest[end] <= 'Z' || rest[end] >= utf8.RuneSelf) {
		end++
	}
	if end < 2 || end > longestHeading {
		return ""
	}
	return rest[:end]
}

// Shift is how far the numbers that a tool wrote before the lines of a text are ahead of their
// places in it, counted from 1: 99 of a read that began at line 100, -1 below a header of one line.
// It is 0 of a text whose lines have no such numbers.
func Shift(text string) int { return numberingOf(text).shift }

// numbering is how the lines of a text are numbered.
type numbering struct {
	style style
	is    bool
	shift int
}

// off takes the number n off a line that has it.
func (s numbering) off(row string, n int) string {
	if s.is {
		if has, text, ok := s.style.number(row); ok && has == n {
			return text
		}
	}
	return row
}

// headerLines is how many lines a tool writes before the first numbered one at most.
const headerLines = 10

// numberingOf finds how the lines of a text are numbered: nine in ten of them, one after the other.
func numberingOf(text string) (found numbering) {
	lines, numbered := 0, 0
	for row := range strings.Lines(text) {
		row = strings.TrimRight(row, "\r\n")
		if lines++; !found.is {
			if found.style, found.is = styled(row); found.is {
				n, _, _ := found.style.number(row)
				if found.shift = n - lines; n == 0 {
					return numbering{} // files begin with line 1
				}
			} else if lines > headerLines {
				return numbering{}
			}
		}
		if n, _, ok := found.style.number(row); found.is && ok && n == lines+found.shift {
			numbered++
		}
	}
	if numbered < 2 || numbered*10 < 9*(lines-headerLines) || numbered*2 < lines {
		return numbering{}
	}
	return found
}
