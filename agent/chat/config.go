package chat

import (
	"context"
	"errors"
	"io"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/session"
)

// Config is what a chat works with. Engine and Open are needed.
type Config struct {
	Engine *winnow.Engine
	// Open makes the loop that asks a model. It is called at the start, and whenever another model
	// is chosen.
	Open func(ctx context.Context, o Opening) (*agent.Loop, model.Model, error)
	// Model is "provider/id" of the model to begin with; Open decides what "" is.
	Model string
	// Models are the names that /model offers beside what somebody types.
	Models []string
	// Catalogue is what is known of them, for /model. Default: the embedded one.
	Catalogue *model.Catalogue
	// Session is the id of the session to go on with; "" begins one with the first message.
	Session string
	// Prompt is said at once, as if it had been typed.
	Prompt string
	// Directory is the folder in which the tools work, for the title and for short paths.
	Directory string
	// Export writes a session into a file and says where; file may be "". nil: there is no /export.
	Export func(ctx context.Context, sessionID, file string) (path string, err error)
	// Revert goes back to before a message of the user's: files and session; it gives the id of the
	// session to go on with, and what was done, for people, beside an error too where files were
	// changed before it. nil: there is no /revert.
	Revert func(ctx context.Context, sessionID, messageID string) (newID, told string, err error)
	// Changes are what a session changed in files. nil: there is no /diff.
	Changes func(ctx context.Context, sessionID string) ([]session.FileDiff, error)
	// Advice says what to do about an error of the loop, "" for nothing; it may be nil.
	Advice func(err error) string
	// NoRevert says why /revert is missing, for people.
	NoRevert string
	// Notify is how the end of a turn of over a minute is told: NotifyBell, NotifyOSC9 or
	// NotifyOSC777. "" and NotifyOff: not at all.
	Notify string
	// Notice is shown once at the top of the transcript, "" for none.
	Notice string

	// Input and Output are the terminal; nil is that of the process. Environ is its environment,
	// for what it can show. NoColor leaves colour out.
	Input   io.Reader
	Output  io.Writer
	Environ []string
	NoColor bool
}

// Opening is what a chat wants of a loop.
type Opening struct {
	Model string
	// Ask asks the person; the loop's policy comes before it. It waits for the answer, or for ctx.
	Ask func(ctx context.Context, p agent.Permission) error
	// OnEvent belongs into agent.Config.
	OnEvent func(agent.Event)
}

func (c Config) check() error {
	switch {
	case c.Engine == nil:
		return errors.New("chat: there is no engine: set Config.Engine")
	case c.Open == nil:
		return errors.New("chat: there is no loop: set Config.Open")
	}
	return nil
}
