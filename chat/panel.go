package chat

import tea "charm.land/bubbletea/v2"

// panel takes the place of the transcript until it is closed: a list to choose from, a receipt, a preview. It is told every key; what it wants done
// that takes time it gives back as a command.
type panel interface {
	// Update takes a message. A nil panel is closed.
	Update(msg tea.Msg) (panel, tea.Cmd)
	// View draws exactly height lines, none wider than width.
	View(width, height int) []string
	// Title stands in the line above it, Keys in the line below: "↑↓ move · enter choose · esc back".
	Title() string
	Keys() string
}
