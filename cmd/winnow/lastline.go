package main

import (
	"strings"

	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/visible"
)

// lastLine is the last line of a text that says something: where commands sum up.
func lastLine(text string) string {
	said := ""
	for line := range strings.Lines(visible.WithoutColour(text)) {
		if line = visible.Line(line); line != "" {
			said = line
		}
	}
	return rule.Shorten(said, 100)
}
