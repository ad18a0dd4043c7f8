package draw

import (
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/winnowhq/winnow/tui"
)

// Prose lays out a Markdown text as it arrives. What is complete is laid out once.
type Prose struct {
	Width int
	Style Style
	lines []string // of complete lines of the text
	rest  string   // the line that is not complete
	raw   []byte   // all of it, while it may have to be laid out anew
	fence string   // that a block of code began with, "" outside
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
		p.lines = append(p.lines, p.line(line)...)
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

// All are the lines of all that was written.
func (p *Prose) All() []string {
	if strings.TrimSpace(p.rest) == "" {
		return trimEnd(p.lines)
	}
	fence := p.fence
	last := p.line(p.rest)
	p.fence = fence // it may still grow
	return append(p.lines[:len(p.lines):len(p.lines)], last...)
}

// line lays out one line.
func (p *Prose) line(raw string) []string {
	text := strings.TrimRight(Clean(raw), " ")
	trimmed := strings.TrimLeft(text, " ")
	room := p.Width - len(Gutter)
	switch {
	case p.fence != "":
		if strings.HasPrefix(trimmed, p.fence) && strings.Trim(trimmed, p.fence[:1]) == "" {
			p.fence = ""
			return nil
		}
		return p.each(Chop(text, room-len(Gutter)), Gutter+Gutter, p.Style.Accent)
	case strings.HasPrefix(trimmed, "```"), strings.HasPrefix(trimmed, "~~~"):
		p.fence = trimmed[:3]
		return nil
	case text == "":
		if n := len(p.lines); n == 0 || p.lines[n-1] == "" {
			return nil // one blank line is as good as two
		}
		return []string{""}
	case strings.HasPrefix(text, "#") && strings.HasPrefix(strings.TrimLeft(text, "#"), " "):
		return p.each(Wrap(text, room, ""), Gutter, p.Style.Bold)
	case strings.HasPrefix(trimmed, "> "):
		indent := strings.Repeat(" ", len(text)-len(trimmed))
		return p.each(Wrap(text, room, indent+"> "), Gutter, p.Style.Dim)
	case strings.HasPrefix(trimmed, "|"), strings.HasPrefix(text, "    "):
		return p.each(Chop(text, room), Gutter, lipgloss.NewStyle())
	}
	hang := strings.Repeat(" ", len(text)-len(trimmed)+bullet(trimmed))
	return p.each(Wrap(text, room, hang), Gutter, lipgloss.NewStyle())
}

func (p *Prose) each(lines []string, before string, s lipgloss.Style) []string {
	for i, line := range lines {
		lines[i] = before + Paint(s, line)
	}
	return lines
}

// Paint applies a style to a line that is one already.
func Paint(s lipgloss.Style, line string) string {
	if line == "" {
		return ""
	}
	return s.Inline(true).Render(line)
}

// bullet is how many columns the sign takes that an item of a list begins with, 0 without one.
func bullet(text string) int {
	sign, _, found := strings.Cut(text, " ")
	if !found {
		return 0
	}
	switch digits := strings.TrimRight(sign, ".)"); {
	case sign == "-", sign == "*", sign == "+", sign == "•":
		return 2
	case len(digits) == len(sign)-1 && len(digits) > 0 && strings.Trim(digits, "0123456789") == "":
		return tui.Columns(sign) + 1
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
	return p.All()
}
