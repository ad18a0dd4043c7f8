package chat

import (
	"strings"

	"github.com/winnowhq/winnow/chat/internal/editor"
)

// completion offers the commands that begin as what is typed does.
type completion struct {
	at        int    // the one that is chosen, −1 none
	dismissed string // for this text nothing is offered
	begun     bool
}

func (c *completion) reset() { *c = completion{dismissed: c.dismissed} }

// offers are the commands that may be meant: none once there is a space.
func (c *completion) offers(typed []rune) []command {
	text := string(typed)
	if !strings.HasPrefix(text, "/") || strings.HasPrefix(text, "//") || strings.ContainsAny(text, " \n") ||
		text == c.dismissed {
		return nil
	}
	var fitting []command
	for _, one := range commands() {
		if strings.HasPrefix("/"+one.Name, strings.ToLower(text)) {
			fitting = append(fitting, one)
		}
	}
	return fitting
}

func (c *completion) open(typed []rune) bool { return len(c.offers(typed)) > 0 }
func (c *completion) dismiss(typed []rune)   { c.dismissed = string(typed) }

// completeNext puts the command that is offered into the line, with the first tab; further ones go
// through what is offered.
func (m *chat) completeNext(direction int) {
	fitting := m.complete.offers(m.editor.Typed())
	if len(fitting) == 0 {
		return
	}
	if len(fitting) == 1 {
		m.editor.Set("/" + fitting[0].Name + " ")
		m.complete.reset()
		return
	}
	if !m.complete.begun {
		m.complete.begun, m.complete.at = true, 0
		if direction < 0 {
			m.complete.at = len(fitting) - 1
		}
		return
	}
	m.complete.at = (m.complete.at + direction + len(fitting)) % len(fitting)
}

// take puts the command that was chosen with tab into the line, and reports whether it needs an
// argument before it can be sent.
func (c *completion) take(e *editor.Editor) (waits bool) {
	fitting := c.offers(e.Typed())
	if !c.begun || c.at >= len(fitting) {
		return false
	}
	one := fitting[c.at]
	e.Set("/" + one.Name)
	if one.Arguments != "" && !strings.HasPrefix(one.Arguments, "[") {
		e.Insert(" ")
		return true
	}
	return false
}
