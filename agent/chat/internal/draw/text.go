package draw

import (
	"strings"

	"github.com/winnowhq/winnow/look/tui"
)

// Tab is what a tab of a foreign text becomes.
const Tab = "    "

// Clean makes one line of a foreign text fit for the screen, its tabs as wide as they were meant.
func Clean(line string) string {
	if strings.IndexByte(line, '\t') >= 0 {
		line = strings.ReplaceAll(line, "\t", Tab)
	}
	return tui.Clean(strings.TrimSuffix(line, "\r"))
}

// OneLine is a foreign text as one line, without the spaces around it and with one where there were
// several.
func OneLine(text string) string {
	return strings.Join(strings.Fields(tui.Clean(text)), " ")
}

// Wrap breaks one cleaned line between words where it can. Lines after the first begin with hang; a
// word that is wider than the line is broken.
func Wrap(line string, width int, hang string) []string {
	width = max(width, 4)
	if tui.Columns(hang) > width/2 {
		hang = ""
	}
	if tui.Columns(line) <= width {
		return []string{line}
	}
	var lines []string
	prefix := ""
	for rest := line; rest != ""; {
		head, tail := split(rest, width-tui.Columns(prefix))
		lines = append(lines, prefix+strings.TrimRight(head, " "))
		rest, prefix = tail, hang
	}
	return lines
}

// split takes from a line what fits into a width, up to the last space in it. At least one
// character is taken.
func split(line string, width int) (head, rest string) {
	used, space := 0, -1
	for i, r := range line {
		w := tui.Rune(r)
		if used+w > width && i > 0 {
			if r == ' ' {
				return line[:i], strings.TrimLeft(line[i:], " ")
			}
			if space > 0 && strings.TrimSpace(line[:space]) != "" {
				return line[:space], strings.TrimLeft(line[space:], " ")
			}
			return line[:i], line[i:]
		}
		if used += w; r == ' ' {
			space = i
		}
	}
	return line, ""
}

// Chop breaks a cleaned line at the width, wherever that is: code has its own idea of where lines
// end.
func Chop(line string, width int) []string {
	width = max(width, 4)
	var lines []string
	used, from := 0, 0
	for i, r := range line {
		w := tui.Rune(r)
		if used+w > width {
			lines = append(lines, line[from:i])
			used, from = 0, i
		}
		used += w
	}
	return append(lines, line[from:])
}

// Fit is a line of exactly a width: cut, or filled with spaces.
func Fit(line string, width int) string {
	line = tui.Cut(line, width)
	return line + strings.Repeat(" ", max(0, width-tui.Columns(line)))
}

// Note is a sign and a text whose further lines stand under it.
func Note(sign, text string, width int, s Look) []string {
	lines := Wrap(text, width-len(Gutter), "")
	for i, l := range lines {
		before := Gutter
		if i == 0 {
			before = sign + " "
		}
		lines[i] = Paint(s, before+l)
	}
	return lines
}

// openBytes is how much of an output is looked at.
const openBytes = 64 << 10

// Excerpt is the beginning of a foreign text as lines of a width, and how many lines it has that
// are left out.
func Excerpt(text string, width, most int) (lines []string, hidden int) {
	text = strings.TrimRight(text, "\n ")
	whole := text
	if len(text) > openBytes {
		text = text[:openBytes]
	}
	rest, more := text, text != ""
	taken := 0
	for more && len(lines) < most {
		var line string
		line, rest, more = strings.Cut(rest, "\n")
		taken++
		lines = append(lines, Chop(Clean(line), width)...)
	}
	hidden = max(0, len(lines)-most)
	lines = lines[:len(lines)-hidden]
	if total := strings.Count(whole, "\n") + 1; whole != "" {
		hidden += total - taken
	}
	return lines, hidden
}

// FirstLine is the first line of a text that says something, as one that fits the screen.
func FirstLine(text string) string {
	for line := range strings.Lines(text[:min(len(text), 4096)]) {
		if l := OneLine(line); l != "" {
			return l
		}
	}
	return ""
}

// LastLine is the last line of a text.
func LastLine(text string) string {
	text = strings.TrimRight(text[max(0, len(text)-4096):], "\n\r ")
	if at := strings.LastIndexAny(text, "\n\r"); at >= 0 {
		text = text[at+1:]
	}
	return OneLine(text)
}
