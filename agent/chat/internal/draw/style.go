// Package draw draws lines for the terminal: foreign text cleaned, wrapped and cut, Markdown,
// notices, and the bar of what fills the window.
package draw

import "image/color"

// Look is how a text looks: what stands between ESC [ and m, "" for nothing special.
type Look string

// On is a look on top of another one.
func (l Look) On(below Look) Look {
	if l == "" || below == "" {
		return l + below
	}
	return below + ";" + l
}

// Paint gives a look to a line that is one already.
func Paint(l Look, line string) string {
	if line == "" || l == "" {
		return line
	}
	return "\x1b[" + string(l) + "m" + line + "\x1b[m"
}

// Style is how things look. Without colour every style leaves a text as it is: colour only repeats
// what words and glyphs say already, and the marks of Markdown stay.
type Style struct {
	Dim, Bold, Accent, Good, Warn, Bad, Added, Removed Look

	// Of Markdown and code.
	Italic, Strike, Title, Code, Link, Keyword, Text, Figure Look

	Color bool // false: marks of Markdown are shown as they were written
	Links bool // the terminal knows links (OSC 8), so addresses need not be shown
}

// NewStyle uses the sixteen colours that every terminal lets its user choose, for a background that
// is dark or unknown.
func NewStyle(color bool) Style {
	if !color {
		return Style{}
	}
	return styleOf("36", "32", "33", "31", "35")
}

// LightStyle is for a light background, on which yellow and cyan of the sixteen cannot be read: it
// uses dark colours of the 256.
func LightStyle() Style { return styleOf("38;5;24", "38;5;22", "38;5;94", "38;5;124", "38;5;54") }

func styleOf(accent, good, warn, bad, keyword Look) Style {
	return Style{Dim: "2", Bold: "1", Accent: accent, Good: good, Warn: warn, Bad: bad, Added: good, Removed: bad,
		Italic: "3", Strike: "9", Title: "1;4", Code: accent, Link: accent.On("4"), Keyword: keyword, Text: good,
		Figure: warn, Color: true}
}

// Light reports whether a background is light: whether dark letters are read better on it.
func Light(background color.Color) bool {
	r, g, b, _ := background.RGBA()
	return 299*r+587*g+114*b > 500*0xffff
}
