package chat

import (
	tea "charm.land/bubbletea/v2"

	"github.com/winnowhq/winnow/session"
)

// What panels tell when something was chosen in them. A panel closes itself by giving back nil beside the command that sends one of these; what it sends
// without closing is done while it stays open.
type (
	// modelChosen is "provider/id" of the model that is to answer from now on.
	modelChosen string
	// sessionChosen is the id of the session to go on with.
	sessionChosen string
	// revertChosen is the user's message before which they want to be again.
	revertChosen struct{ message *session.Message }
	// compactChosen says that the past is to be folded, as previewed.
	compactChosen struct{ focus string }
	// commandChosen is a command to be carried out as if it had been typed: "/undo rcp_x".
	commandChosen string
	// told is a line for the transcript: what a panel did.
	told struct {
		text string
		err  error
	}
)

// choose sends a message.
func choose(msg tea.Msg) tea.Cmd { return func() tea.Msg { return msg } }
