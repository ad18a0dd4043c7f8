// Package rule answers: what may be left out? Each rule is a pure function that finds elisions in a window;
// the ledger holds those that were committed.
package rule

import (
	"slices"
	"strings"

	"github.com/winnowhq/winnow/session"
)

// Field is the piece of a part that an elision shows less of.
type Field string

const (
	Output      Field = "output"      // the result text of a tool call; its attachments go with it
	Error       Field = "error"       // the error text of a failed call
	Input       Field = "input"       // arguments of a call
	Attachments Field = "attachments" // files that a call returned, or a file part
	Text        Field = "text"        // the text of a text or reasoning part
	Whole       Field = "part"        // the part altogether
)

// Elision is the decision to show less of one part.
type Elision struct {
	Part    string         `json:"part"`    // id of the part
	Message string         `json:"message"` // id of its message
	Field   Field          `json:"field"`
	Rule    string         `json:"rule"`           // name of the rule that found it
	Because string         `json:"because"`        // why, for people
	By      string         `json:"by,omitzero"`    // ids of the parts that make this one redundant, blanks between them; they stay shown
	Shown   string         `json:"shown,omitzero"` // what stands in its place, to the byte, for as long as the elision stands
	Saves   int            `json:"saves"`          // tokens, with what is shown instead counted
	Time    session.Millis `json:"time,omitzero"`  // of the commit; 0 while it is only a candidate
}

// Key names what an elision is about: no two elisions of a ledger share it.
type Key struct {
	Part  string `json:"part"`
	Field Field  `json:"field"`
}

// Key of the elision.
func (e Elision) Key() Key { return Key{e.Part, e.Field} }

// Covers are the ids of the parts that make this one redundant; none when it went for another reason.
func (e Elision) Covers() []string { return strings.Fields(e.By) }

// Saves sums what elisions save, in tokens.
func Saves(elisions []Elision) int {
	sum := 0
	for _, e := range elisions {
		sum += e.Saves
	}
	return sum
}

// Ledger is the set of committed elisions, in the order of their commits. The zero value is empty and
// ready. A ledger is a value: With and Without return another one and leave theirs alone.
type Ledger struct {
	elisions []Elision
	index    map[string][]int // part id → positions in elisions
}

// NewLedger returns a ledger with these elisions; of two with one key the later one counts.
func NewLedger(elisions ...Elision) Ledger { return Ledger{}.With(elisions...) }

// Len is how many elisions stand.
func (l Ledger) Len() int { return len(l.elisions) }

// All returns the elisions in the order of their commits. The caller must not change them.
func (l Ledger) All() []Elision { return l.elisions }

// Of returns the elisions of one part.
func (l Ledger) Of(part string) []Elision {
	positions := l.index[part]
	if len(positions) == 0 {
		return nil
	}
	found := make([]Elision, len(positions))
	for i, at := range positions {
		found[i] = l.elisions[at]
	}
	return found
}

// Has reports whether an elision with this key stands.
func (l Ledger) Has(k Key) bool {
	for _, at := range l.index[k.Part] {
		if l.elisions[at].Field == k.Field {
			return true
		}
	}
	return false
}

// Touches reports whether any elision of the part stands.
func (l Ledger) Touches(part string) bool { return len(l.index[part]) > 0 }

// With returns the ledger with more elisions. One whose key already stands is ignored: what was
// committed stays as it was committed until it is undone, so that the same log gives the same bytes.
func (l Ledger) With(committed ...Elision) Ledger {
	if len(committed) == 0 {
		return l
	}
	next := Ledger{elisions: slices.Clip(l.elisions), index: make(map[string][]int, len(l.index)+len(committed))}
	for part, positions := range l.index {
		next.index[part] = slices.Clip(positions)
	}
	for _, e := range committed {
		if next.Has(e.Key()) {
			continue
		}
		next.index[e.Part] = append(next.index[e.Part], len(next.elisions))
		next.elisions = append(next.elisions, e)
	}
	return next
}

// Without returns the ledger without the elisions of these keys.
func (l Ledger) Without(keys ...Key) Ledger {
	if len(keys) == 0 {
		return l
	}
	gone := make(map[Key]bool, len(keys))
	for _, k := range keys {
		gone[k] = true
	}
	kept := make([]Elision, 0, len(l.elisions))
	for _, e := range l.elisions {
		if !gone[e.Key()] {
			kept = append(kept, e)
		}
	}
	return NewLedger(kept...)
}

// Pin is a part, a whole message, or a text that must survive every elision and every pivot verbatim.
type Pin struct {
	ID      string         `json:"id"`
	Part    string         `json:"part,omitzero"`    // id of a part
	Message string         `json:"message,omitzero"` // or id of a message: every part of it, also those that come to it later
	Text    string         `json:"text,omitzero"`    // or a text of its own
	Note    string         `json:"note,omitzero"`    // why, for people
	Time    session.Millis `json:"time,omitzero"`
}

// Mark is the rule name of elisions that another product committed and left as a mark in its file.
const Mark = "mark"

// Marks reads the marks that a product left in a log as committed elisions: completed tool parts with
// state.time.compacted. The output is still in the log; the ledger alone decides what is shown.
func Marks(messages []session.Message) []Elision {
	var marks []Elision
	for i := range messages {
		for j := range messages[i].Parts {
			p := &messages[i].Parts[j]
			if p.Type != session.ToolPart || p.State == nil || p.State.Time == nil || p.State.Time.Compacted == 0 {
				continue
			}
			marks = append(marks, Elision{
				Part: p.ID, Message: messages[i].ID, Field: Output, Rule: Mark, Shown: Cleared,
				Because: "it was already marked in the file that it was read from", Time: p.State.Time.Compacted,
			})
		}
	}
	return marks
}
