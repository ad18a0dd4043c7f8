// Package store answers: where is it kept? It holds the interface of a store; store/sqlite and store/memory
// implement it, and store/storetest is its contract as a test suite.
package store

import (
	"context"
	"fmt"
	"iter"

	"github.com/winnowhq/winnow/pivot"
	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/session"
)

// Store keeps sessions. It is safe for concurrent use, and by several processes where it is on disk. What a method returned
// without error is there after a crash of the process.
//
// What is read equals what was written, to the byte: text that is not UTF-8, NUL, lone surrogates, members that nobody
// knows, white space in raw JSON. Only nil and empty lists of parts are not told apart. Nothing that is handed in or out is
// shared: a caller may change it afterwards.
//
// A context that ends stops a method with the context's error; a change is then written whole or not at all.
type Store interface {
	// Create adds an empty session, at revision 1. ErrExists when its id is taken; the empty id is an error.
	Create(ctx context.Context, info session.Info) error
	// List returns what is known about the sessions, last updated first: by Info.Time.Updated, and where that is the same,
	// by what was created or changed last.
	List(ctx context.Context) ([]Listing, error)
	// Delete forgets a session and all that belongs to it. ErrNotFound without one.
	Delete(ctx context.Context, id string) error

	// State returns all that is known about a session but for its messages. ErrNotFound without one.
	State(ctx context.Context, id string) (State, error)
	// Revision returns State.Revision alone. It is cheap: a program that keeps a session at hand asks before each use whether
	// another one changed it. ErrNotFound without a session.
	Revision(ctx context.Context, id string) (int64, error)
	// Messages yields the log newest first, each message with its parts in order, reading no more than is
	// consumed: a reader that stops at the pivot never touches what lies before it. An error ends the sequence.
	// ErrNotFound without a session. It sees one moment of the session, whatever is written meanwhile.
	Messages(ctx context.Context, id string) iter.Seq2[session.Message, error]

	// Apply writes a change in one transaction: all of it or nothing. It returns the new revision, also of an empty change.
	// ErrNotFound, ErrConflict, ErrNoBase, ErrNoMessage.
	Apply(ctx context.Context, id string, c Change) (revision int64, err error)

	// Source returns the file that a session was imported from, as it was, nil when there is none; SetSource keeps it, in
	// place of the one before. Neither counts as a change of the session. ErrNotFound without one.
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
	Revision int64 // 1 for a new session, and one more for every change that was applied
	Messages int   // how many there are
	Ledger   rule.Ledger
	Pins     []rule.Pin
	Undone   map[string]bool // ids of the markers whose pivot was undone, nil when there are none
	// Dismissed are the constraints that the user said are none, by their words (recall.Key), nil when there are none. What they are keyed by
	// is of the sentence alone, so that a dismissal holds for it in whatever message it stands.
	Dismissed map[string]bool
	Receipts  []pivot.Receipt // oldest first
	Spent     []Spend         // oldest first
}

// Change is what one transaction writes. What takes away is done before what adds: Restore before Commit, Unpin before
// Pin, Undo before Redo, Dismiss before Undismiss, so that one change can replace an elision by another. Update is done after Append.
type Change struct {
	// Base is the revision that the change was decided on. 0 skips the check; Update, Commit, Restore, Undo and Redo,
	// which are decided on what the log says, need it.
	Base int64

	// Create adds the session with this info before all else, so that a session comes into being with its log or not at all; its
	// id must be the session's. The change then needs no Base. ErrExists when the id is taken.
	Create *session.Info
	// Aside, with Create, is the id under which a session that has the id already goes on, with all that belongs to it, instead of
	// ErrExists. ErrExists when this one is taken too.
	Aside string
	// Keep, with Create, is the id of the session whose kept texts the new one has too: those of the parts in Append. ErrNotFound without that session.
	// Only a Keeper has any.
	Keep string

	Info   *session.Info     // replaces what is known about the session; its id must be the session's
	Append []session.Message // at the end of the log, in this order; ids may repeat, order is position
	// Update replaces messages that have the same id, parts included: a call that ended, an answer that was streamed. An id
	// that is not there, and the empty one, is an error; where an id occurs twice, the later message is replaced.
	Update []session.Message

	Commit  []rule.Elision // into the ledger; a key that stands already is left as it is
	Restore []rule.Key     // out of it; a key that is not there is no error
	Undo    []string       // markers whose pivot is undone from now on
	Redo    []string       // markers whose pivot counts again; one that was not undone is no error
	Pin     []rule.Pin     // one with an id that is pinned already replaces it in its place
	Unpin   []string       // ids of pins; one that is not there is no error
	// Dismiss are constraints that are none from now on, by their words (recall.Key), and Undismiss those that count again; one that was
	// not dismissed is no error.
	Dismiss   []string
	Undismiss []string
	Receipts  []pivot.Receipt // that a session begins with; they come before Receipt
	Receipt   *pivot.Receipt
	Spend     []Spend
	Source    *Source // the file that the session comes from, in place of the one before
	File      *File   // a file that was looked at; only a Filer keeps it
}

// Check refuses what no store takes, whatever it holds: the Info of another session, and with ErrNoBase a decision
// without Base. Stores call it first.
func (c *Change) Check(id string) error {
	if c.Info != nil && c.Info.ID != id {
		return fmt.Errorf("the info is of session %q, not of %q", c.Info.ID, id)
	}
	if c.Create != nil {
		switch {
		case id == "" || c.Create.ID != id:
			return fmt.Errorf("the session that is created is %q, not %q", c.Create.ID, id)
		case c.Base != 0:
			return fmt.Errorf("%w: there is no revision yet that a new session could be at", ErrConflict)
		}
		return nil
	}
	decided := len(c.Update) + len(c.Commit) + len(c.Restore) + len(c.Undo) + len(c.Redo)
	if c.Base == 0 && decided > 0 {
		return ErrNoBase
	}
	return nil
}

// Spend is one paid request: a step of the session, or a summary call, also one that failed.
type Spend struct {
	Time    session.Millis `json:"time"`
	Kind    string         `json:"kind"` // "step", "summary", "headline"
	Message string         `json:"message,omitzero"`
	Model   string         `json:"model"`
	Usage   session.Usage  `json:"usage"`
	Cost    float64        `json:"cost"`            // US dollars
	Failed  bool           `json:"failed,omitzero"` // in vain: it was refused or broke off, or its answer did not count
	// Inherited: the session that this one was forked from paid for it. It is here because its message is; who sums up several sessions leaves it out.
	Inherited bool `json:"inherited,omitzero"`
}

// Source is the file that a session came from.
type Source struct {
	Format string // name of the format
	Path   string
	Data   []byte // as it was read, without compression
}
