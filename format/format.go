package format

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// Format reads the session files of one product, and writes them where Write is possible.
type Format interface {
	// Name is the word for the format on the command line: "claude-code".
	Name() string
	// Title names it for people: "Claude Code session (JSONL)".
	Title() string
	// Detect reports whether a file that begins with head is of this format. It looks at content
	// alone; head holds the first 64 KiB at most, cut anywhere.
	Detect(head []byte) bool
	// Read understands the whole file. It keeps src: the caller must not change it. Damaged pieces
	// are skipped and listed in the document; an error means that nothing could be read, and is a
	// *SyntaxError where a position is known.
	Read(src []byte) (*Document, error)
	// Write writes the session of a change so that the product that owns the format opens it. from
	// is the document that the session was read from, nil when it comes from elsewhere: with it,
	// everything that the change does not touch is written byte for byte as it was read. The error
	// is ErrReadOnly for formats that are only read.
	Write(w io.Writer, from *Document, change Change) error
}

// Linked is a Format whose entries name the entry before them. What is appended to its files need
// not continue what is there: an agent that goes on from what it remembers leads the session round
// a compaction that was written in the meantime.
type Linked interface {
	// Bypassed finds out whether the session of a document that the format has read leads round the
	// newest compaction of its file.
	Bypassed(doc *Document) (Bypass, bool)
}

// Accompanied is a Format whose product keeps in a second file what it made of a session.
type Accompanied interface {
	// Beside names the file beside that of a session, "" if there can be none.
	Beside(path string) string
	// ReadWith is Read with that file. Write is given the document, and writes the session's file
	// alone.
	ReadWith(src, beside []byte) (*Document, error)
}

// Continued is a Format whose product begins a file where another one ends, or in the middle of it:
// for a fork, or for a session that the user took back to an older message.
type Continued interface {
	// Base is the pattern of the paths at which the other file may be, "" if the file begins by
	// itself.
	Base(path string, src []byte) (pattern string)
	// Before is the part of another file that comes before this one, nothing if it cannot be that
	// file. It is not sure where the other file was changed since.
	Before(src, candidate []byte) (part []byte, sure bool)
	// ReadBehind is Read with that part. Write is given the document, and writes the file alone.
	ReadBehind(src, before []byte) (*Document, error)
	// Whole is a document's file behind its base, for a place that has only one of them. Parted is
	// how many of these bytes are the base's, 0 if the file begins by itself.
	Whole(doc *Document) []byte
	Parted(whole []byte) (before int)
}

// Grafter is a Format to whose files the product only ever appends lines.
type Grafter interface {
	// Graft returns lines that were appended to one version of a file as they would be if they had
	// been appended to another one: what names the end of the one names that of the other.
	Graft(lines []byte, from, onto *Document) []byte
}

// Repairer is a Format whose product may resume a file otherwise than it was meant.
type Repairer interface {
	// Faults are the places where it would, in the order of the file, each with the edits of
	// doc.Source that mend it. Edits of different faults may be applied together.
	Faults(doc *Document) []Fault
}

// Fault is a place in a file that makes its product resume the session otherwise than it was meant.
type Fault struct {
	// "unanchored", "split-calls", "begins-with-answer" or "broken-chain": the codes of "doctor".
	Code  string      `json:"code"`
	Line  int         `json:"line"` // its line, 1-based
	What  string      `json:"what"` // what the product makes of it, a sentence
	Edits []span.Edit `json:"-"`
}

// Bypass is a compaction that does not count, because the newest entries go on from before it.
type Bypass struct {
	Line    int `json:"line"`    // line of the compaction, 1-based
	First   int `json:"first"`   // line of the first entry that bypasses it
	Entries int `json:"entries"` // how many entries bypass it
}

// ErrReadOnly is what Write returns for a format that can only be read.
var ErrReadOnly = errors.New("this format can be read but not written")

// Document is one file as it was read.
type Document struct {
	Format string // Name of the format
	// Session is the log: the active branch, in the order of the file. Marks that the product left
	// are in it as they were; Ledger has them as elisions.
	Session session.Session
	Ledger  rule.Ledger
	Counts  Counts
	Damaged []Damage
	// Theirs are the ids of markers whose compaction the product made itself, as far as its file
	// tells.
	Theirs map[string]bool
	// Beside are requests in the file that are not part of the session: of sub-agents, and of
	// branches that were left. They were paid for.
	Beside []bill.Request
	// Failed is the error with which the newest turn ended, if the product keeps it outside the
	// messages.
	Failed string
	// Source is the file as it was read, without compression. Together with the reader it gives
	// this document again.
	Source []byte
	// Native is the reader's own index into Source, for its writer.
	Native any
}

// IsTheirs notes that the product made the compaction with this marker itself.
func (d *Document) IsTheirs(marker string) {
	if d.Theirs == nil {
		d.Theirs = map[string]bool{}
	}
	d.Theirs[marker] = true
}

// Counts says what is in a file in the product's own terms, branches that were left and sub-agents
// included.
type Counts struct {
	Entries     int `json:"entries"`     // lines, or elements of the outer list
	Messages    int `json:"messages"`    // entries that are a message of the user or the assistant
	ToolCalls   int `json:"toolCalls"`   // tool calls
	ToolResults int `json:"toolResults"` // tool results
	Aside       int `json:"aside"`       // messages in the file that are not part of the active branch
}

// Damage is a piece of a file that could not be read and was skipped. A writer keeps its bytes.
type Damage struct {
	Line   int    `json:"line"`   // its line, 1-based; 0 in a file without lines
	Offset int64  `json:"offset"` // the byte of the file at which it begins
	Bytes  int    `json:"bytes"`  // its length in bytes
	Reason string `json:"reason"` // the reason, a sentence
}

// Change is what a writer writes down: a session as it is now. Compared with the document that it
// came from, it may have more messages at its end, other elisions, and pivots that were undone;
// nothing else differs.
type Change struct {
	Session session.Session
	Ledger  rule.Ledger
	// Undone holds the ids of markers whose pivot was undone: the marker, its summary and what the
	// engine appended with them are left out of the file.
	Undone map[string]bool
}

// Same reports whether a change of the document leaves everything as it was read.
func (d *Document) Same(c Change) bool {
	return d.SameMessages(c) && slices.Equal(d.Ledger.All(), c.Ledger.All())
}

// SameMessages reports whether a change appends no message to those of the document, and undoes
// none of them.
func (d *Document) SameMessages(c Change) bool {
	known := make(map[string]bool, len(d.Session.Messages))
	for i := range d.Session.Messages {
		m := &d.Session.Messages[i]
		if known[m.ID] = true; m.IsUndone(c.Undone) {
			return false
		}
	}
	return !slices.ContainsFunc(c.Session.Messages, func(m session.Message) bool {
		return !known[m.ID] && !m.IsUndone(c.Undone)
	})
}

// Settled is the change with tails that begin with what is written. A tail may begin with a message
// that went with an earlier pivot, which was undone later: that message is in no file, and the tail
// begins with what follows it.
func (c Change) Settled() Change {
	if len(c.Undone) == 0 {
		return c
	}
	messages := c.Session.Messages
	own := false // c.Session.Messages is ours to change
	for i := range messages {
		marker := messages[i].Marker()
		if marker == nil || marker.TailStartID == "" || messages[i].IsUndone(c.Undone) {
			continue
		}
		at := session.Index(messages[:i], marker.TailStartID)
		if at < 0 || !messages[at].IsUndone(c.Undone) {
			continue
		}
		stands := ""
		for j := at; j < i && stands == ""; j++ {
			if m := &messages[j]; !m.IsUndone(c.Undone) && m.Marker() == nil && !m.IsSummary() {
				stands = m.ID
			}
		}
		if !own {
			messages, own = slices.Clone(messages), true
		}
		messages[i].Parts = slices.Clone(messages[i].Parts)
		messages[i].Marker().TailStartID = stands
	}
	c.Session.Messages = messages
	return c
}

// SyntaxError says where a file stopped being readable.
type SyntaxError struct {
	Format   string
	Line     int   // 1-based; 0 when unknown
	Offset   int64 // in bytes
	Expected string
	Err      error
}

func (e *SyntaxError) Error() string {
	at := fmt.Sprintf("byte %d", e.Offset)
	if e.Line > 0 {
		at = fmt.Sprintf("line %d (byte %d)", e.Line, e.Offset)
	}
	text := fmt.Sprintf("%s: %s: expected %s", e.Format, at, e.Expected)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

func (e *SyntaxError) Unwrap() error { return e.Err }
