// Package draw draws lines for the terminal: foreign text cleaned, wrapped and cut, Markdown,
// notices, and the bar of what fills the window.
package draw

import "charm.land/lipgloss/v2"

// Style is how things look. Without colour every style leaves a text as it is: colour only repeats
// what words and glyphs say already.
type Style struct {
	Dim, Bold, Accent, Good, Warn, Bad, Added, Removed lipgloss.Style
}

// NewStyle uses the sixteen colours that every terminal lets its user choose.
func NewStyle(color bool) Style {
	if !color {
		return Style{}
	}
	plain := lipgloss.NewStyle()
	of := func(c string) lipgloss.Style { return plain.Foreground(lipgloss.Color(c)) }
	return Style{Dim: plain.Faint(true), Bold: plain.Bold(true), Accent: of("6"),
		Good: of("2"), Warn: of("3"), Bad: of("1"), Added: of("2"), Removed: of("1")}
}
