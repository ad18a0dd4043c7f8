package panel

import (
	tea "charm.land/bubbletea/v2"

	"github.com/winnowhq/winnow/session"
)

// What panels send when something was chosen in them. A panel closes itself by giving back nil
// beside the command that sends one of these; what it sends without closing is done while it stays
// open.
type (
	// ModelChosen is "provider/id" of the model that is to answer from now on.
	ModelChosen string
	// SessionChosen is the id of the session to go on with.
	SessionChosen string
	// RevertChosen is the user's message to go back to before.
	RevertChosen struct{ Message *session.Message }
	// CompactChosen says that the past is to be folded, as previewed.
	CompactChosen struct{ Focus string }
	// CommandChosen is a command to be carried out as if it had been typed: "/undo rcp_x".
	CommandChosen string
)

// WindowChanged tells an open panel that a session is another now: it looks again.
type WindowChanged struct{ ID string }

// Command is something that can be typed with a slash.
type Command struct {
	Name      string // without the slash
	Arguments string // "[focus]", "" for none
	Help      string // one line, for people
}

// choose sends a message.
func choose(msg tea.Msg) tea.Cmd { return func() tea.Msg { return msg } }
