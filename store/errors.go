package store

import (
	"errors"
	"strings"
)

// What callers branch on. Stores wrap them, with the path and what to do, in an Error.
var (
	// ErrNotFound: no session has this id.
	ErrNotFound = errors.New("no such session")
	// ErrExists: a session with this id is there already.
	ErrExists = errors.New("the session exists already")
	// ErrConflict: the session was changed since Change.Base was read. Nothing was written; read again and decide anew.
	ErrConflict = errors.New("the session was changed by somebody else")
	// ErrNoMessage: an update names a message that the session does not have. Nothing was written.
	ErrNoMessage = errors.New("no such message")
	// ErrNotKept: nothing is kept for this part.
	ErrNotKept = errors.New("nothing is kept for this part")
	// ErrNoBase: a change that was decided on what the log says came without Change.Base. Nothing was written.
	ErrNoBase = errors.New("a change of what is there needs the revision that it was decided on")

	// ErrNoWord: a search names nothing that can be looked for.
	ErrNoWord = errors.New("there is no word in what is looked for; a word has letters or digits")

	// ErrLocked: another process writes and did not finish in time. Nothing was written; trying again may help.
	ErrLocked = errors.New("the store is locked by another process")
	// ErrCorrupt: what is on disk is damaged, or not a store at all. Trying again does not help.
	ErrCorrupt = errors.New("the store is damaged")
	// ErrReadOnly: the store was opened for reading, or its file or folder must not be written.
	ErrReadOnly = errors.New("the store is read-only")
	// ErrFull: the disk has no room left. Nothing was written.
	ErrFull = errors.New("the disk is full")
	// ErrNewer: a newer version of this program wrote the store. Nothing was changed in it.
	ErrNewer = errors.New("the store was written by a newer version of this program")
	// ErrClosed: the store was closed before.
	ErrClosed = errors.New("the store is closed")
)

// Error says what a store could not do, where, and what helps. errors.Is finds the Err… of this package in it,
// fs.ErrNotExist and the like, and the error of a context that ended.
type Error struct {
	Op      string // "open", "create", "list", "delete", "state", "messages", "apply", "source", "files", "keep", "kept", "index", "search"
	Path    string // file of the store, "" in memory
	Session string // id, "" where none is concerned
	Err     error
	Hint    string // what to do, "" when nothing can be said
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("store: " + e.Op)
	if e.Session != "" {
		b.WriteString(" session " + e.Session)
	}
	if e.Path != "" {
		b.WriteString(" in " + e.Path)
	}
	b.WriteString(": " + e.Err.Error())
	if e.Hint != "" {
		b.WriteString(" (" + e.Hint + ")")
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }
