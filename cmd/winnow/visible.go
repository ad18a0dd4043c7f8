package main

import (
	"strings"

	"github.com/winnowhq/winnow/rule"
)

// visible is a text without what a terminal would obey.
func visible(text string) string { return strings.Join(strings.Fields(visibleText(text)), " ") }

// visibleText is the same with its line ends and tabs.
func visibleText(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || r >= ' ' && r != 0x7f && (r < 0x80 || r > 0x9f) {
			return r
		}
		return -1
	}, text)
}

// lastLine is the last line of a text that says something: where commands sum up.
func lastLine(text string) string {
	said := ""
	for line := range strings.Lines(text) {
		if line = visible(line); line != "" {
			said = line
		}
	}
	return rule.Shorten(said, 100)
}

// plainText keeps what a session says from moving the cursor.
func plainText(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return ' '
		}
		return r
	}, text)
}
