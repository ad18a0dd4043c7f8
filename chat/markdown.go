package chat

import (
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/winnowhq/winnow/tui"
)

// prose lays out a Markdown text as it arrives. What is complete is laid out once.
type prose struct {
	width int
	style style
	lines []string // of complete lines of the text
	rest  string   // the line that is not complete
	raw   []byte   // all of it, while it may have to be laid out anew
	fence string   // that a block of code began with, "" outside
}

// gutter is what answers begin with: as wide as the mark of a user's message.
const gutter = "  "

func (p *prose) write(text string) {
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

func (p *prose) text() string { return string(p.raw) }

// resize lays all of it out anew.
func (p *prose) resize(width int) {
	text := p.text()
	*p = prose{width: width, style: p.style}
	p.write(text)
}

// all are the lines of all that was written.
func (p *prose) all() []string {
	if strings.TrimSpace(p.rest) == "" {
		return trimEnd(p.lines)
	}
	fence := p.fence
	last := p.line(p.rest)
	p.fence = fence // it may still grow
	return append(p.lines[:len(p.lines):len(p.lines)], last...)
}

// line lays out one line.
func (p *prose) line(raw string) []string {
	text := strings.TrimRight(clean(raw), " ")
	trimmed := strings.TrimLeft(text, " ")
	room := p.width - len(gutter)
	switch {
	case p.fence != "":
		if strings.HasPrefix(trimmed, p.fence) && strings.Trim(trimmed, p.fence[:1]) == "" {
			p.fence = ""
			return nil
		}
		return p.each(chop(text, room-len(gutter)), gutter+gutter, p.style.accent)
	case strings.HasPrefix(trimmed, "```"), strings.HasPrefix(trimmed, "~~~"):
		p.fence = trimmed[:3]
		return nil
	case text == "":
		if n := len(p.lines); n == 0 || p.lines[n-1] == "" {
			return nil // one blank line is as good as two
		}
		return []string{""}
	case strings.HasPrefix(text, "#") && strings.HasPrefix(strings.TrimLeft(text, "#"), " "):
		return p.each(wrap(text, room, ""), gutter, p.style.bold)
	case strings.HasPrefix(trimmed, "> "):
		indent := strings.Repeat(" ", len(text)-len(trimmed))
		return p.each(wrap(text, room, indent+"> "), gutter, p.style.dim)
	case strings.HasPrefix(trimmed, "|"), strings.HasPrefix(text, "    "):
		return p.each(chop(text, room), gutter, lipgloss.NewStyle())
	}
	return p.each(wrap(text, room, strings.Repeat(" ", len(text)-len(trimmed)+bullet(trimmed))), gutter, lipgloss.NewStyle())
}

func (p *prose) each(lines []string, before string, s lipgloss.Style) []string {
	for i, line := range lines {
		lines[i] = before + paint(s, line)
	}
	return lines
}

// paint applies a style to a line that is one already.
func paint(s lipgloss.Style, line string) string {
	if line == "" {
		return ""
	}
	return s.Inline(true).Render(line)
}

// bullet is how many columns the sign takes that an item of a list begins with, 0 where there is none.
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

// markdown lays out a whole text.
func markdown(text string, width int, s style) []string {
	p := prose{width: width, style: s}
	p.write(text)
	return p.all()
}
