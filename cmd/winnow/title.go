package main

import (
	"strings"

	"github.com/winnowhq/winnow/recall"
	"github.com/winnowhq/winnow/rule"
)

// mostTitle is how many characters a title has at most, some 20 tokens (S001 "Session Summary").
const mostTitle = 72

// titleFor names a session after its first prompt: the first sentence of it, which costs no request.
func titleFor(prompt string) string {
	title := prompt
	if all := recall.Sentences(prompt); len(all) > 0 {
		title = all[0]
	}
	return rule.Shorten(strings.Join(strings.Fields(visible(title)), " "), mostTitle)
}

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
