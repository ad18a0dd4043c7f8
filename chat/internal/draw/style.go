// Package draw draws lines for the terminal: foreign text cleaned, wrapped and cut, Markdown,
// notices, and the bar of what fills the window.
package draw

import (
	"image/color"

	"charm.land/lipgloss/v2"
)

// Style is how things look. Without colour every style leaves a text as it is: colour only repeats
// what words and glyphs say already, and the marks of Markdown stay.
type Style struct {
	Dim, Bold, Accent, Good, Warn, Bad, Added, Removed lipgloss.Style

	// Of Markdown and code.
	Italic, Strike, Title, Code, Link, Keyword, Text, Figure lipgloss.Style

	Color bool // false: marks of Markdown are shown as they were written
	Links bool // the terminal knows links (OSC 8), so addresses need not be shown
}

// NewStyle uses the sixteen colours that every terminal lets its user choose, for a background that
// is dark or unknown.
func NewStyle(color bool) Style {
	if !color {
		return Style{}
	}
	return styleOf("6", "2", "3", "1", "5")
}

// LightStyle is for a light background, on which yellow and cyan of the sixteen cannot be read: it
// uses dark colours of the 256.
func LightStyle() Style { return styleOf("24", "22", "94", "124", "54") }

func styleOf(accent, good, warn, bad, keyword string) Style {
	plain := lipgloss.NewStyle()
	of := func(c string) lipgloss.Style { return plain.Foreground(lipgloss.Color(c)) }
	return Style{Dim: plain.Faint(true), Bold: plain.Bold(true), Accent: of(accent),
		Good: of(good), Warn: of(warn), Bad: of(bad), Added: of(good), Removed: of(bad),
		Italic: plain.Italic(true), Strike: plain.Strikethrough(true), Title: plain.Bold(true).Underline(true),
		Code: of(accent), Link: of(accent).Underline(true), Keyword: of(keyword), Text: of(good), Figure: of(warn),
		Color: true}
}

// Light reports whether a background is light: whether dark letters are read better on it.
func Light(background color.Color) bool {
	r, g, b, _ := background.RGBA()
	return 299*r+587*g+114*b > 500*0xffff
}
