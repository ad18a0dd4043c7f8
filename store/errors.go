package store

import (
	"errors"
	"strings"
)

// Errors that callers branch on. Stores wrap them in an Error, which adds the path and a hint.
var (
	// ErrNotFound: no session has this id.
	ErrNotFound = errors.New("no such session")
	// ErrExists: a session with this id exists already.
	ErrExists = errors.New("the session exists already")
	// ErrConflict: the session has changed since Change.Base was read. Nothing was written; read it
	// again.
	ErrConflict = errors.New("the session has been changed in the meantime")
	// ErrNoMessage: an update names a message that the session does not have. Nothing was written.
	ErrNoMessage = errors.New("no such message")
	// ErrNotKept: no text is kept for this part.
	ErrNotKept = errors.New("no text is kept for this part")
	// ErrNoBase: a change that depends on the log has no Change.Base. Nothing was written.
	ErrNoBase = errors.New("a change of existing messages or elisions needs the revision it is based on")

	// ErrNoWord: a search has no word in it.
	ErrNoWord = errors.New("the search has no word in it; a word is made of letters or digits")

	// ErrLocked: another process was writing and did not finish in time. Nothing was written;
	// trying again may help.
	ErrLocked = errors.New("the store is locked by another process")
	// ErrCorrupt: the file is damaged, or not a store at all. Trying again does not help.
	ErrCorrupt = errors.New("the store is damaged")
	// ErrReadOnly: the store was opened read-only, or its file or folder is not writable.
	ErrReadOnly = errors.New("the store is read-only")
	// ErrFull: the disk is full. Nothing was written.
	ErrFull = errors.New("the disk is full")
	// ErrNewer: a newer version of this program wrote the store. Nothing was changed in it.
	ErrNewer = errors.New("the store was written by a newer version of this program")
	// ErrClosed: the store has been closed.
	ErrClosed = errors.New("the store is closed")
)

// Error says what a store could not do, where, and what helps. errors.Is finds the sentinels of
// this package and of io/fs in it, and the error of a context that ended.
type Error struct {
	// Op is "open", "create", "list", "delete", "state", "revision", "messages", "apply", "source",
	// "files", "keep", "kept", "index" or "search".
	Op      string
	Path    string // file of the store, "" in memory
	Session string // id, "" if the error is not about one session
	Err     error
	Hint    string // what to do, or ""
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
