// Package store answers: where is it kept? It holds the interface of a store; store/sqlite and store/memory
// implement it, and store/storetest is its contract as a test suite.
package store

import (
	"context"
	"errors"
	"iter"

	"github.com/winnowhq/winnow/pivot"
	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/session"
)

var (
	// ErrNotFound: no session has this id.
	ErrNotFound = errors.New("no such session")
	// ErrExists: a session with this id is there already.
	ErrExists = errors.New("the session exists already")
	// ErrConflict: the session was changed since Change.Base was read. Nothing was written; read again and decide anew.
	ErrConflict = errors.New("the session was changed by somebody else")
)

// Store keeps sessions. It is safe for concurrent use, and by several processes where it is on disk. What a method returned
// without error is there after a crash of the process.
type Store interface {
	// Create adds an empty session. ErrExists when its id is taken.
	Create(ctx context.Context, info session.Info) error
	// List returns what is known about the sessions, last updated first.
	List(ctx context.Context) ([]Listing, error)
	// Delete forgets a session and all that belongs to it. ErrNotFound without one.
	Delete(ctx context.Context, id string) error

	// State returns all that is known about a session but for its messages. ErrNotFound without one.
	State(ctx context.Context, id string) (State, error)
	// Messages yields the log newest first, each message with its parts in order, reading no more than is
	// consumed: a reader that stops at the pivot never touches what lies before it. An error ends the sequence.
	// ErrNotFound without a session. It sees one moment of the session, whatever is written meanwhile.
	Messages(ctx context.Context, id string) iter.Seq2[session.Message, error]

	// Apply writes a change in one transaction: all of it or nothing. It returns the new revision. ErrNotFound,
	// ErrConflict.
	Apply(ctx context.Context, id string, c Change) (revision int64, err error)

	// Source returns the file that a session was imported from, as it was, nil when there is none; SetSource keeps it.
	Source(ctx context.Context, id string) (*Source, error)
	SetSource(ctx context.Context, id string, s Source) error

	Close() error
}

// Listing is one line of a list of sessions.
type Listing struct {
	Info     session.Info
	Messages int
	Origin   string // name of the format that it was imported from, "" when it was born here
}

// State is what belongs to a session beside its log.
type State struct {
	Info     session.Info
	Revision int64 // counts the changes that were applied
	Messages int   // how many there are
	Ledger   rule.Ledger
	Pins     []rule.Pin
	Undone   map[string]bool // ids of the markers whose pivot was undone
	Receipts []pivot.Receipt // oldest first
	Spent    []Spend         // oldest first
}

// Change is what one transaction writes.
type Change struct {
	// Base is the revision that the change was decided on; 0 skips the check, which only appending may do.
	Base int64

	Info   *session.Info     // replaces what is known about the session
	Append []session.Message // at the end of the log, in this order
	// Update replaces messages that have the same id, parts included: a call that ended, an answer that was streamed. An id
	// that is not there is an error.
	Update []session.Message

	Commit  []rule.Elision // into the ledger
	Restore []rule.Key     // out of it
	Undo    []string       // markers whose pivot is undone from now on
	Redo    []string       // markers whose pivot counts again
	Pin     []rule.Pin
	Unpin   []string // ids of pins
	Receipt *pivot.Receipt
	Spend   []Spend
}

// Spend is one paid request: a step of the session, or a summary call, also one that failed.
type Spend struct {
	Time    session.Millis `json:"time"`
	Kind    string         `json:"kind"` // "step", "summary"
	Message string         `json:"message,omitzero"`
	Model   string         `json:"model"`
	Usage   session.Usage  `json:"usage"`
	Cost    float64        `json:"cost"` // US dollars
	Failed  bool           `json:"failed,omitzero"`
}

// Source is the file that a session came from.
type Source struct {
	Format string // name of the format
	Path   string
	Data   []byte // as it was read, without compression
}
