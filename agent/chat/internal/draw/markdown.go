package draw

import (
	"slices"
	"strings"

	"github.com/winnowhq/winnow/look/tui"
)

// Prose lays out a Markdown text as it arrives. What is complete is laid out once.
type Prose struct {
	Width int
	Style Style
	lines []string // of complete lines of the text
	rest  string   // the line that is not complete
	raw   []byte   // all of it, while it may have to be laid out anew
	fence string   // that a block of code began with, "" outside
	code  code     // that block
	table *table   // that is being written, nil outside
	list  bool     // the paragraph before belongs to a list
}

// Gutter is what answers begin with: as wide as the mark of a user's message.
const Gutter = "  "

// Write adds to the text.
func (p *Prose) Write(text string) {
	p.raw = append(p.raw, text...)
	p.rest += text
	for {
		line, rest, found := strings.Cut(p.rest, "\n")
		if !found {
			return
		}
		p.lines = append(p.lines, p.line(line, false)...)
		p.rest = rest
	}
}

// Text is all that was written.
func (p *Prose) Text() string { return string(p.raw) }

// Resize lays all of it out anew.
func (p *Prose) Resize(width int) {
	text := p.Text()
	*p = Prose{Width: width, Style: p.Style}
	p.Write(text)
}

// Restyle lays all of it out anew in another style.
func (p *Prose) Restyle(s Style) {
	p.Style = s
	p.Resize(p.Width)
}

// All are the lines of all that was written. The line that is being written is laid out as if what
// is open in it were closed at its end, so that little moves when it is.
func (p *Prose) All() []string {
	lines := p.lines[:len(p.lines):len(p.lines)]
	if strings.TrimSpace(p.rest) == "" || p.undecided() {
		if p.table == nil {
			return trimEnd(lines)
		}
		return append(lines, p.tableLines(p.table, false)...)
	}
	before := *p // it may still grow
	if p.table != nil {
		t := *p.table
		t.rows, t.raw = slices.Clone(t.rows), slices.Clone(t.raw)
		p.table = &t
	}
	lines = append(lines, p.line(p.rest, true)...)
	if p.table != nil {
		lines = append(lines, p.tableLines(p.table, true)...)
	}
	*p = before
	return trimEnd(lines)
}

// end lays out what is not complete: nothing will follow.
func (p *Prose) end() {
	if p.rest != "" {
		p.lines = append(p.lines, p.line(p.rest, false)...)
		p.rest = ""
	}
	p.lines = append(p.lines, p.endTable()...)
}

// undecided reports whether the line that is being written may become another kind of line with the
// next character.
func (p *Prose) undecided() bool {
	text := strings.TrimSpace(p.rest)
	if p.fence != "" {
		return strings.Trim(text, p.fence[:1]) == ""
	}
	return strings.Trim(text, "#*_~`-+>|.:0123456789 ") == "" && len(text) < 4 ||
		strings.HasPrefix(text, "|") && p.table != nil && !p.table.ruled && strings.Trim(text, "|:- ") == ""
}

// line lays out one line. half says that more of it will come.
func (p *Prose) line(raw string, half bool) []string {
	text := strings.TrimRight(Clean(raw), " ")
	trimmed := strings.TrimLeft(text, " ")
	room := p.Width - len(Gutter)
	if p.fence != "" {
		if strings.HasPrefix(trimmed, p.fence) && strings.Trim(trimmed, p.fence[:1]) == "" {
			p.fence = ""
			return nil
		}
		return p.each(chopRuns(p.code.line(text, p.Style), room-len(Gutter)), Gutter+Gutter)
	}
	if strings.HasPrefix(trimmed, "|") {
		return p.tableLine(trimmed)
	}
	lines := p.endTable()
	switch indent := len(text) - len(trimmed); {
	case strings.HasPrefix(trimmed, "```"), strings.HasPrefix(trimmed, "~~~"):
		p.fence, p.code = trimmed[:prefixed(trimmed, trimmed[0])], codeOf(strings.TrimLeft(trimmed, "`~"))
		if strings.Contains(trimmed[len(p.fence):], "`") && trimmed[0] == '`' { // it is a line with ```code```
			p.fence = ""
			return append(lines, p.text(text, "", half)...)
		}
	case text == "":
		if n := len(p.lines) + len(lines); n == 0 || len(lines) == 0 && p.lines[n-1] == "" {
			return lines // one blank line is as good as two
		}
		return append(lines, "")
	case level(text) > 0:
		p.list = false
		lines = append(lines, p.heading(text, half)...)
	case isRule(trimmed) && p.Style.Color:
		return append(lines, Gutter+Paint(p.Style.Dim, strings.Repeat("─", max(1, min(room, 40)))))
	case strings.HasPrefix(trimmed, "> ") || trimmed == ">":
		mark := strings.Repeat(" ", indent) + "> "
		quote := spans(strings.TrimPrefix(strings.TrimPrefix(trimmed, ">"), " "), p.Style, p.Style.Dim, half)
		for _, l := range wrapRuns(quote, room-tui.Columns(mark), "") {
			lines = append(lines, Gutter+Paint(p.Style.Dim, mark)+l)
		}
	case bullet(trimmed) > 0:
		p.list = true
		lines = append(lines, p.text(text, strings.Repeat(" ", tui.Columns(text[:indent+bullet(trimmed)])), half)...)
	case indent >= 4 && !p.list:
		lines = append(lines, p.each(Chop(text, room), Gutter)...)
	default:
		p.list = p.list && indent > 0
		lines = append(lines, p.text(text, strings.Repeat(" ", indent), half)...)
	}
	return lines
}

// text lays out a paragraph.
func (p *Prose) text(text, hang string, half bool) []string {
	indent := len(text) - len(strings.TrimLeft(text, " "))
	mark := text[:min(len(text), indent+bullet(text[indent:]))]
	runs := spans(text[len(mark):], p.Style, Look(""), half)
	if box, rest, found := strings.Cut(text[len(mark):], "] "); found && len(mark) > indent && p.Style.Color &&
		(box == "[ " || box == "[x" || box == "[X") {
		sign := map[bool]string{true: "☐ ", false: "☑ "}[box == "[ "]
		runs = append([]run{{text: sign}}, spans(rest, p.Style, Look(""), half)...)
	}
	if mark != "" {
		runs = append([]run{{text: mark}}, runs...)
	}
	return p.each(wrapRuns(runs, p.Width-len(Gutter), hang), Gutter)
}

func (p *Prose) heading(text string, half bool) []string {
	look := p.Style.Bold
	if p.Style.Color {
		if level(text) == 1 {
			look = p.Style.Title
		}
		text = strings.TrimSpace(strings.TrimRight(strings.TrimLeft(text, "#"), "# "))
	}
	return p.each(wrapRuns(spans(text, p.Style, look, half), p.Width-len(Gutter), ""), Gutter)
}

// tableLine takes a line that begins with a bar. Nothing is laid out before the table ends.
func (p *Prose) tableLine(line string) []string {
	if p.table == nil {
		p.table = &table{}
	}
	t := p.table
	if sides, ok := sidesOf(line); ok && len(t.rows) == 1 && !t.ruled {
		t.ruled, t.sides = true, sides
		return nil
	}
	t.rows, t.raw = append(t.rows, cellsOf(line)), append(t.raw, line)
	return nil
}

// endTable lays out the table that came before.
func (p *Prose) endTable() []string {
	if p.table == nil {
		return nil
	}
	lines := p.tableLines(p.table, false)
	if !p.table.ruled { // lines with bars, and no table
		lines = nil
		for _, line := range p.table.raw {
			lines = append(lines, p.text(line, "", false)...)
		}
	}
	p.table, p.list = nil, false
	return lines
}

func (p *Prose) tableLines(t *table, half bool) []string {
	return p.each(t.lines(p.Width-len(Gutter), p.Style, half), Gutter)
}

func (p *Prose) each(lines []string, before string) []string {
	for i, line := range lines {
		if line != "" {
			lines[i] = before + line
		}
	}
	return lines
}

// level is that of a heading, 0 for another line.
func level(text string) int {
	if n := prefixed(text, '#'); n <= 6 && strings.HasPrefix(text[n:], " ") {
		return n
	}
	return 0
}

// isRule reports whether a line is a line across the page.
func isRule(text string) bool {
	bare := strings.ReplaceAll(text, " ", "")
	return len(bare) >= 3 && strings.Trim(bare, bare[:1]) == "" && strings.Contains("-*_", bare[:1])
}

// bullet is how many bytes the sign takes that an item of a list begins with, with the space behind
// it, 0 without one.
func bullet(text string) int {
	sign, _, found := strings.Cut(text, " ")
	if !found {
		return 0
	}
	switch digits := strings.TrimRight(sign, ".)"); {
	case sign == "-", sign == "*", sign == "+", sign == "•":
		return len(sign) + 1
	case len(digits) == len(sign)-1 && len(digits) > 0 && strings.Trim(digits, "0123456789") == "":
		return len(sign) + 1
	}
	return 0
}

func trimEnd(lines []string) []string {
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// Markdown lays out a whole text.
func Markdown(text string, width int, s Style) []string {
	p := Prose{Width: width, Style: s}
	p.Write(text)
	p.end()
	return p.All()
}
