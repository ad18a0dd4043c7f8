package store

import (
	"context"
	"crypto/sha256"
	"errors"
	"iter"
	"sync/atomic"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/quantity"
)

// Searcher is a store that finds words in everything it keeps, also in text that the model no
// longer sees because it was left out or folded into a summary. Not every store is one.
type Searcher interface {
	// Index adds everything new to the index. Its cost grows with the new text. tell, which may be
	// nil, is called now and then with how many of how many messages are done. If it is stopped, by
	// its context or by a crash, finished work stays. ErrLocked if another process is at it.
	Index(ctx context.Context, tell func(done, all int)) error
	// Search finds parts, the best first, and of equally good ones the newest. If the store can be
	// written, it first indexes new messages. ErrNoWord if the search has no word.
	Search(ctx context.Context, s Search) (Found, error)
}

// Unindexer is a Searcher that can do without its index, which may take more room than what it
// finds. Not every store is one.
type Unindexer interface {
	// KeepIndex says whether there is an index from now on, for everybody who opens the store.
	// Without one, what is there is dropped, Index does nothing, and Search reads the newest
	// messages (Found.Scan). With one again, Index makes it. To say the same again costs little.
	KeepIndex(ctx context.Context, keep bool) error
}

// Search is a query and its filters.
type Search struct {
	// Words must all occur in one part, in any order. Words in double quotes must stand side by
	// side; a word with a * at its end is a prefix. Case and accents do not count. Punctuation
	// separates words: src/main.go is three words side by side. Nothing else has a meaning.
	Words string

	Session string         // only in the session with this id
	Product string         // only in sessions that were imported from this format
	Tool    string         // only in calls of this tool
	Role    session.Role   // only in messages of this role
	Since   session.Millis // only in messages from this time on
	Limit   int            // how many hits at most; 0 is DefaultLimit
}

// DefaultLimit is how many hits Search returns if Search.Limit is 0.
const DefaultLimit = 20

// Found is the result of a search.
type Found struct {
	Hits  []Hit
	Total int // how many there are without a limit
	// Behind counts messages that are not in the index yet, because the store is read-only or
	// another process is writing. They were not searched.
	Behind int
	// Scan says how far was read in the place of an index; nil if there is one.
	Scan *Scan
	// Damaged has an error for each of the best hits that cannot be shown because its data is
	// damaged. It names the message and the session. Such hits are counted in Total.
	Damaged []error
}

// Scan is how far a search read that had no index.
type Scan struct {
	Messages int  // the newest, in the newest sessions that the filters allow
	All      bool // there are no more
}

// String is a sentence about it.
func (s Scan) String() string {
	read := "only the newest " + quantity.Plural(s.Messages, "message was read", "messages were read")
	if s.All {
		read = quantity.Plural(s.Messages, "message was read", "messages were read")
	}
	return "there is no search index (gateway.searchIndex is false): " + read
}

// Sketcher is a store that can read a log without its large texts. Not every store is one.
type Sketcher interface {
	// Sketch yields the log as Messages does, but without the large texts. It reads less, and a
	// damaged text does not stop it.
	Sketch(ctx context.Context, id string) iter.Seq2[session.Message, error]
}

// Hit is a part that matches.
type Hit struct {
	Session session.Info
	Origin  string // format that the session was imported from, "" if it was not imported

	Message string
	Role    session.Role
	Part    string
	Type    session.PartType
	Tool    string
	Time    session.Millis // when the message was made

	// Kept reports that the snippet is from a text kept beside the log (see Keeper), of which the
	// log has only the beginning and the end.
	Kept bool
	// Field is where the snippet is from, in the words of rule.Field: "text", "input", "output",
	// "error".
	Field   string
	Snippet string   // on one line
	Marks   [][2]int // byte offsets of the matches in the snippet, ascending
	Score   float64  // more is better; comparable only within one search
}

// Filer is a store that remembers which files were read, so that importing a folder again costs
// only what is new. Not every store is one.
type Filer interface {
	// Files returns the files that were read before, by path.
	Files(ctx context.Context) (map[string]File, error)
	// SetFiles remembers files, and replaces earlier entries of their paths.
	SetFiles(ctx context.Context, files ...File) error
}

// File is a file as it was when it was read. It is forgotten together with its session.
//
// A session in a database counts as a file: its path is the name under which winnow knows it, its
// size is the bytes in its rows, and it was modified when the latest of them was written.
type File struct {
	Path     string // absolute
	Size     int64  // in bytes
	Modified int64  // by the clock of the file system, nanoseconds since 1970
	Seen     int64  // when it was read, by the same clock
	Hash     [sha256.Size]byte
	Session  string // id of the session in it, "" if it holds none
	// Messages is how many messages of the file the session has. For a file without a session it is
	// how many formats were known when it was read, so that a version that knows more reads it
	// again.
	Messages int
}

// Keeper is a store that keeps whole texts beside the log: outputs that were too long to be sent,
// of which the log has only the beginning and the end. Not every store is one. A kept text belongs
// to its session and is deleted with it; keeping one does not change the session. A Searcher finds
// the text as part of the output that it is the whole of.
type Keeper interface {
	// Keep keeps a text for a part and replaces an earlier one. The session need not have the part
	// yet. ErrNotFound if there is no such session.
	Keep(ctx context.Context, id, part, text string) error
	// Kept returns the text to the byte. ErrNotKept if there is none, ErrNotFound if there is no
	// such session.
	Kept(ctx context.Context, id, part string) (text string, err error)
	// KeptParts returns the ids of the parts for which texts are kept, in ascending order.
	// ErrNotFound if there is no such session.
	KeptParts(ctx context.Context, id string) ([]string, error)
}

// Remote is a store whose server may be lost. Not every store is one.
type Remote interface {
	// Lost is why the server cannot be reached, once a wait for it has timed out and until it
	// answers again: meanwhile every call fails at once. It makes no request. nil otherwise.
	Lost() error
	// Answered is how many reads and how many writes the server has answered by now, those of other
	// tenants of the same database included. It makes no request.
	Answered() (reads, writes int64)
	// Once calls ask, unless a call under that name is running for any tenant of the server. The
	// channel is closed when the call has ended. So many tenants ask a slow server one question. The
	// context of ask ends when the store is closed.
	Once(name string, ask func(context.Context)) (ended <-chan struct{})
}

// Writer is a store that notices whether it can be written. Not every store is one.
type Writer interface {
	// Unwritable is why the newest change was not written although the store was there: ErrFull or
	// ErrReadOnly; nil once one is. It makes no request, and an empty disk is noticed by changes
	// alone.
	Unwritable() error
}

// Unwritable is that of a store that is a [Writer], nil of others.
func Unwritable(s Store) error {
	if w, ok := s.(Writer); ok {
		return w.Unwritable()
	}
	return nil
}

// Written is how the newest change of a store ended that it wrote, or should have. The zero value
// knows of none. It is safe for concurrent use.
type Written struct{ failed atomic.Pointer[error] }

// Note notes how a change ended.
func (w *Written) Note(err error) {
	switch {
	case err == nil:
		w.failed.Store(nil)
	case errors.Is(err, ErrFull), errors.Is(err, ErrReadOnly):
		w.failed.Store(&err)
	}
}

// Unwritable implements Writer.
func (w *Written) Unwritable() error {
	if err := w.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// Lost is that of a store that is [Remote], nil of others.
func Lost(s Store) error {
	if r, ok := s.(Remote); ok {
		return r.Lost()
	}
	return nil
}

// Once is that of a store that is [Remote]; others are asked each time.
func Once(s Store, name string, ask func(context.Context)) (ended <-chan struct{}) {
	if r, ok := s.(Remote); ok {
		return r.Once(name, ask)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		ask(context.Background())
	}()
	return done
}

// Answered is that of a store that is [Remote], nothing of others.
func Answered(s Store) (reads, writes int64) {
	if r, ok := s.(Remote); ok {
		return r.Answered()
	}
	return 0, 0
}
