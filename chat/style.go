package chat

import (
	"charm.land/lipgloss/v2"
)

// style is how things look. Without colour every style leaves a text as it is: colour only repeats what words and glyphs say already.
type style struct {
	dim, bold, accent, good, warn, bad, added, removed lipgloss.Style
}

// newStyle uses the sixteen colours that every terminal lets its user choose.
func newStyle(color bool) style {
	plain := lipgloss.NewStyle()
	s := style{plain, plain, plain, plain, plain, plain, plain, plain}
	if !color {
		return s
	}
	of := func(c string) lipgloss.Style { return plain.Foreground(lipgloss.Color(c)) }
	return style{dim: plain.Faint(true), bold: plain.Bold(true), accent: of("6"), good: of("2"), warn: of("3"), bad: of("1"), added: of("2"), removed: of("1")}
}
