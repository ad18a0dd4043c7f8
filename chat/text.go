package chat

import (
	"strings"

	"github.com/winnowhq/winnow/tui"
)

// tab is what a tab of a foreign text becomes.
const tab = "    "

// clean makes one line of a foreign text fit for the screen, its tabs as wide as they were meant.
func clean(line string) string {
	if strings.IndexByte(line, '\t') >= 0 {
		line = strings.ReplaceAll(line, "\t", tab)
	}
	return tui.Clean(strings.TrimSuffix(line, "\r"))
}

// oneLine is a foreign text as one line, without the spaces around it and with one where there were several.
func oneLine(text string) string {
	return strings.Join(strings.Fields(tui.Clean(text)), " ")
}

// wrap breaks one cleaned line between words where it can. Lines after the first begin with hang; a word that is wider than the line is broken.
func wrap(line string, width int, hang string) []string {
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

// split takes from a line what fits into a width, up to the last space in it. At least one character is taken.
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

// chop breaks a cleaned line at the width, wherever that is: code has its own idea of where lines end.
func chop(line string, width int) []string {
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

// fit is a line of exactly a width: cut, or filled with spaces.
func fit(line string, width int) string {
	line = tui.Cut(line, width)
	return line + strings.Repeat(" ", max(0, width-tui.Columns(line)))
}
