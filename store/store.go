package store

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
)

// Store keeps sessions. It is safe for concurrent use, and a store on disk also for use by several
// processes. What a method wrote without an error survives a crash of the process.
//
// What is read equals what was written, to the byte: text that is not UTF-8, NUL, lone surrogates,
// unknown members, white space in raw JSON. Only nil and empty lists of parts are not told apart.
// Nothing that is passed in or returned is shared: a caller may change it afterwards.
//
// A context that ends stops a method with the context's error; a change is then written whole or
// not at all.
type Store interface {
	// Create adds an empty session, at revision 1. ErrExists if its id is taken; an empty id is an
	// error.
	Create(ctx context.Context, info session.Info) error
	// List returns all sessions, last updated first: by Info.Time.Updated, and if that is the same,
	// by which was created or changed last.
	List(ctx context.Context) ([]Listing, error)
	// Delete deletes a session and everything that belongs to it. ErrNotFound if there is no such
	// session.
	Delete(ctx context.Context, id string) error

	// State returns all that is known about a session except its messages. ErrNotFound if there is
	// no such session.
	State(ctx context.Context, id string) (State, error)
	// Revision returns State.Revision alone. It is cheap: a program that holds a session in memory
	// asks before each use whether another one has changed it. ErrNotFound if there is no such
	// session.
	Revision(ctx context.Context, id string) (int64, error)
	// Messages yields the log newest first, each message with its parts in order. It reads no more
	// than is consumed: a reader that stops at the pivot never touches what lies before it. An
	// error ends the sequence; ErrNotFound if there is no such session. It sees one moment of the
	// session, whatever is written meanwhile.
	Messages(ctx context.Context, id string) iter.Seq2[session.Message, error]

	// Apply writes a change in one transaction: all of it or nothing. It returns the new revision,
	// even for an empty change. ErrNotFound, ErrConflict, ErrNoBase, ErrNoMessage.
	Apply(ctx context.Context, id string, c Change) (revision int64, err error)

	// Source returns the file that a session was imported from, as it was, or nil. SetSource stores
	// it and replaces an earlier one. Neither counts as a change of the session. ErrNotFound if
	// there is no such session.
	Source(ctx context.Context, id string) (*Source, error)
	SetSource(ctx context.Context, id string, s Source) error

	Close() error
}

// Listing is one line of a list of sessions.
type Listing struct {
	Info     session.Info
	Messages int
	Origin   string // name of the format that it was imported from, "" if it was not imported
}

// State is what belongs to a session beside its log.
type State struct {
	Info     session.Info
	Revision int64 // 1 for a new session, and one more for every change that was applied
	Messages int   // how many there are
	Ledger   rule.Ledger
	Pins     []rule.Pin
	Undone   map[string]bool // ids of the markers whose pivot was undone, nil if there are none
	// Dismissed are the instructions that the user dismissed, by recall.Key, nil if there are none.
	// The key depends on the sentence alone, so a dismissal holds in whatever message the sentence
	// stands.
	Dismissed map[string]bool
	Receipts  []pivot.Receipt // oldest first
	Spent     []Spend         // oldest first
	// Prepared is the summary that is wanted or written before it is needed, nil if there is none.
	Prepared *Prepared
}

// Prepared is a summary that is written before it is needed, or the wish for one. Of several
// programs on a store whichever comes next makes it count, once: taking it away and adding what it
// becomes are one change.
type Prepared struct {
	// Pivot is the id of the marker with which the window began, "" if nothing was folded yet. With
	// the session it names the summary.
	Pivot string         `json:"pivot,omitzero"`
	Turn  string         `json:"turn,omitzero"` // id of the user's newest message when it was asked for
	Asked session.Millis `json:"asked"`
	// Failed: nobody could write it. It is not asked for again before the next turn.
	Failed bool `json:"failed,omitzero"`
	// Written is the summary with what it stands for, as the engine writes it down; "" while it is
	// wanted. What it cost is in Spent since the change that added it.
	Written string `json:"written,omitzero"`
}

// Wanted reports whether nobody has written the summary, or failed to.
func (p Prepared) Wanted() bool { return p != (Prepared{}) && p.Written == "" && !p.Failed }

// Change is what one transaction writes. Restore is done before Commit and Unpin before Pin, so
// that one change can replace an elision or a pin by another. Undo is done before Redo, Dismiss
// before Undismiss, Append before Update, and Vain before Spend.
type Change struct {
	// Base is the revision that the change was decided on. 0 skips the check. Update, Commit,
	// Restore, Undo, Redo and Vain depend on what is there and need it.
	Base int64

	// Create adds the session with this info first, so that a session is created with its log or
	// not at all. Its id must be the session's. The change then needs no Base. ErrExists if the id
	// is taken.
	Create *session.Info
	// Aside, with Create, is a new id for a session that already has the id: it is renamed, with
	// everything that belongs to it. ErrExists if this id is taken too.
	Aside string
	// Keep, with Create, is the id of a session whose kept texts the new one gets too: those of the
	// parts in Append. ErrNotFound if there is no such session. It matters only to a Keeper.
	Keep string

	Info   *session.Info     // replaces the info of the session; its id must be the session's
	Append []session.Message // at the end of the log, in this order; ids may repeat, order is position
	// Update replaces messages that have the same id, parts included: a call that ended, an answer
	// that was streamed. An unknown or empty id is an error; if an id occurs twice, the later
	// message is replaced.
	Update []session.Message

	Commit  []rule.Elision // added to the ledger; a key that is there already is left as it is
	Restore []rule.Key     // removed from it; an unknown key is not an error
	Undo    []string       // markers whose pivot is undone from now on
	Redo    []string       // markers whose pivot counts again; one that was not undone is not an error
	Pin     []rule.Pin     // a pin whose id exists replaces that pin in its place
	Unpin   []string       // ids of pins; an unknown id is not an error
	// Dismiss are instructions that no longer count, by recall.Key, and Undismiss those that count
	// again; one that was not dismissed is not an error.
	Dismiss   []string
	Undismiss []string
	Receipts  []pivot.Receipt // that a session begins with; they come before Receipt
	Receipt   *pivot.Receipt
	Spend     []Spend
	// Vain are requests among State.Spent, by their positions, whose answers turned out not to
	// count: they are Failed from now on. It needs a Base; an unknown position is an error.
	Vain []int
	// Prepared replaces State.Prepared; one that is zero takes it away.
	Prepared *Prepared
	Source   *Source // the file that the session comes from; it replaces the previous one
	File     *File   // a file that was read; only a Filer keeps it
}

// Check returns an error for a change that no store accepts, whatever it holds: one with the Info
// of another session, or, with ErrNoBase, one that needs a Base and has none. Stores call it first.
func (c *Change) Check(id string) error {
	if c.Info != nil && c.Info.ID != id {
		return fmt.Errorf("the info is that of session %q, not %q", c.Info.ID, id)
	}
	if c.Create != nil {
		switch {
		case id == "" || c.Create.ID != id:
			return fmt.Errorf("the new session is %q, not %q", c.Create.ID, id)
		case c.Base != 0:
			return fmt.Errorf("%w: a new session has no revision to be based on", ErrConflict)
		}
		return nil
	}
	decided := len(c.Update) + len(c.Commit) + len(c.Restore) + len(c.Undo) + len(c.Redo) + len(c.Vain)
	if c.Base == 0 && decided > 0 {
		return ErrNoBase
	}
	return nil
}

// AllReceipts are Receipts and Receipt, oldest first.
func (c *Change) AllReceipts() []pivot.Receipt {
	if c.Receipt == nil {
		return c.Receipts
	}
	return append(slices.Clip(c.Receipts), *c.Receipt)
}

// Spend is one paid request, even a failed one: a step of the session or the call for a summary.
type Spend struct {
	Time    session.Millis `json:"time"`
	Kind    string         `json:"kind"` // "step", "summary", "headline", "left" (beside the log)
	Message string         `json:"message,omitzero"`
	Model   string         `json:"model"`
	Usage   session.Usage  `json:"usage"`
	Cost    float64        `json:"cost"` // US dollars
	// Failed reports that it was paid for without use: it was refused or cut off, or its answer did
	// not count.
	Failed bool `json:"failed,omitzero"`
	// Inherited reports that the session from which this one was forked paid for it. It is here
	// because its message is; a sum over several sessions leaves it out.
	Inherited bool `json:"inherited,omitzero"`
	// Live is what a gateway knows of the request; nil if it did not go through one.
	Live *Live `json:"live,omitzero"`
}

// Source is the file that a session came from.
type Source struct {
	Format string // name of the format
	Path   string
	Data   []byte // as it was read, uncompressed
}
