// Package coverage says which lines of which file a part shows.
//
// It reads what the tools of the agents in use print: numbered and plain reads, simple shell
// commands that print a file, whole files that were written, edits and patches. Where it cannot be
// sure it says nothing: a view that is missed costs tokens, one that is made up costs the file.
package coverage

import (
	"strings"

	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/session"
)

// Field is the field of a tool part that a view is in.
type Field string

const (
	Input  Field = "input"  // the arguments: a file that was written, an edit, a patch
	Output Field = "output" // the result: a read, the numbered snippet after an edit
)

// View is what one part shows of one file.
type View struct {
	// Path is cleaned, and absolute where the folder of the call is known: "./a", "a",
	// "/repo/b/../a" are "/repo/a" in /repo.
	Path  string
	Field Field
	// Start is the number of the first line, from 1.
	Start int
	// Lines has a hash of each line's text in order, its number and its line ending (LF or CRLF)
	// left off. Two lines are taken for equal when their hashes are: 64 bits, the same in every
	// process, and no protection against somebody who looks for collisions.
	Lines []uint64
	// End is set when the last line shown is the last of the file.
	End bool
	// Full is set when the view is the whole file, no line of it shortened: Start is 1 and End is
	// set.
	Full bool
	// Change is set when the part changes lines of the file without saying which (an edit, a hunk,
	// an appended text): nothing but a newer Full view covers it, and it covers nothing. It has no
	// Lines, and Start is 1.
	Change bool
}

// last is the number of the last line shown.
func (v *View) last() int { return v.Start + len(v.Lines) - 1 }

// Shown is what a finished call shows of files.
type Shown struct {
	Views []View
	// OutputIsViews reports that the output holds nothing but the views listed with Field Output,
	// and the tool's own words around them (headers, notices of what was left out, reminders):
	// eliding all of it loses nothing else. It is false where the output has none.
	OutputIsViews bool
}

// Of says what a call shows: nothing for one that failed, has not ended, or shows no file. cwd is
// the folder that the call ran in, "" when unknown; a shell command that names its file relative to
// an unknown folder shows nothing, because the next one may mean another file.
//
// It speaks about the log: whether an elision hides the part is for the caller to know.
func Of(p *session.Part, cwd string) Shown {
	if p == nil || p.Type != session.ToolPart || p.State == nil || p.State.Status != session.Completed {
		return Shown{}
	}
	c := call.Of(p, cwd)
	return OfCall(p, &c, cwd)
}

// OfCall is Of for a call that is understood already, as call.Of or call.Calls does in the same
// folder.
func OfCall(p *session.Part, c *call.Call, cwd string) Shown {
	if p == nil || p.Type != session.ToolPart || p.State == nil || p.State.Status != session.Completed {
		return Shown{}
	}
	if c.Outcome.Failed || c.Outcome.Refused || c.Outcome.Exit > 0 || c.Detached || len(c.Actions) == 0 {
		return Shown{}
	}
	if c.Command() != "" {
		return ran(p, c, cwd)
	}
	switch a := c.Actions[0]; {
	case len(p.State.Attachments) > 0: // an image or a document: the output only says so
		return Shown{}
	case strings.HasPrefix(p.State.Output, fileHeader) && c.Entry().Is(call.Window):
		return windowed(p.State.Output, p.Tool)
	case a.Op == call.Read && a.Path != "":
		return read(p, c, a.Path)
	case a.Op.Changes():
		return changed(p, c)
	}
	return Shown{}
}

// view makes a view of consecutive lines.
func view(path string, field Field, start int, lines []uint64, end bool) View {
	return View{Path: path, Field: field, Start: start, Lines: lines, End: end, Full: end && start == 1}
}

// one is the answer for an output that is one view.
func one(v View, only bool) Shown {
	if v.Path == "" || len(v.Lines) == 0 || v.Start < 1 {
		return Shown{}
	}
	return Shown{Views: []View{v}, OutputIsViews: only}
}
