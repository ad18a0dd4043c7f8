package agent

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
)

// Tool is something that the model can call.
type Tool interface {
	// Name is what the model calls it: letters, digits, '_' and '-', 64 of them at most.
	Name() string
	// Description says in a few sentences what it does and when to use it; Schema is the JSON
	// schema of its arguments, an object.
	Description() string
	Schema() jsontext.Value
	// Run does it. It returns soon after ctx ends. An error is told to the model as the outcome of
	// a call that failed; the loop goes on. Calls of one step run side by side unless the tool says
	// otherwise: see Serial.
	Run(ctx context.Context, c Call) (Result, error)
}

// Serial is a Tool whose calls must not run beside others of the same step: what changes files.
type Serial interface {
	Tool
	Serial()
}

// Harmless is a Serial tool that changes no files: no snapshot is taken after its calls.
type Harmless interface {
	Serial
	Harmless()
}

// Call is one call of a tool.
type Call struct {
	SessionID string
	ID        string         // of the call, as the provider named it
	Input     jsontext.Value // the arguments, a JSON object
	Directory string         // the session's working folder, absolute
	// Ask asks for permission to do something; nil error: allowed. A tool asks before it touches
	// what Action names.
	Ask func(ctx context.Context, p Permission) error
	// Child lets another agent work for this call, in a session of its own that has this one as its
	// parent, until it is done: with the same engine and model, and the tools that Child says. It
	// ends with ctx. What it takes is in its own session: see Totals.Children. Nil outside of a
	// loop.
	Child func(ctx context.Context, c Child) (Turn, error)
	// Progress tells somebody who watches how far it has come; it may be nil.
	Progress func(text string)
}

// Permission is what a tool wants to do.
type Permission struct {
	Tool   string // name of the tool
	Action string // "read", "write", "run", "fetch"
	Target string // a path, a command, an address
	// Inside: the path lies in the session's working folder.
	Inside bool
	// SessionID is the session that the call is made in: that of a sub-agent where it works for
	// one. The loop sets it.
	SessionID string
	// Folder is where a command is to be run, when that is not the session's working folder:
	// absolute.
	Folder string
}

// Result is what a call gave back.
type Result struct {
	Title       string         // for people: "src/a.go"
	Output      string         // for the model
	Failed      bool           // it was done and did not work: a test that fails, a command that ends with an error
	Metadata    map[string]any // for people and programs: exit code, diff, number of matches
	Attachments []session.Part // file parts
}
