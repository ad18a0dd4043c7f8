// Package rule finds what may be left out. Each rule is a pure function that finds elisions in a
// window; the ledger holds those that were committed.
package rule

import (
	"maps"
	"slices"
	"strings"
	"sync/atomic"

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
	Part    string `json:"part"`    // id of the part
	Message string `json:"message"` // id of its message
	// The field of the part that is left out or shortened: "output", "error", "input",
	// "attachments", "text", "part".
	Field   Field  `json:"field"`
	Rule    string `json:"rule"`    // name of the rule that found it
	Because string `json:"because"` // the reason, a sentence
	// Ids of the parts that make this one redundant, separated by spaces; these parts stay visible.
	By string `json:"by,omitzero"`
	// For reasoning with the rule "undo": ids of the compactions and prunings that were undone, or
	// made to count again, since it was made, separated by spaces.
	Of string `json:"of,omitzero"`
	// The exact text that stands in its place, for as long as it is left out.
	Shown string `json:"shown,omitzero"`
	// Tokens, less those of the text that is shown instead. With the counter that learns from
	// reported usage each value is rounded, so their sum may differ from that of the view by a few
	// tokens.
	Saves int            `json:"saves"`
	Time  session.Millis `json:"time,omitzero"` // when it was committed; a candidate has no time
}

// Key names what an elision is about: no two elisions of a ledger share it.
type Key struct {
	Part  string `json:"part"`  // id of the part
	Field Field  `json:"field"` // the field of it, as in an elision
}

// Key of the elision.
func (e Elision) Key() Key { return Key{e.Part, e.Field} }

// Covers are the ids of the parts that make this one redundant; none when it went for another
// reason.
func (e Elision) Covers() []string { return strings.Fields(e.By) }

// Saves sums what elisions save, in tokens.
func Saves(elisions []Elision) int {
	sum := 0
	for _, e := range elisions {
		sum += e.Saves
	}
	return sum
}

// FirstOf is the position of the first message of a log that some elisions touch, 0 if they touch none.
func FirstOf(log []session.Message, elisions []Elision) int {
	parts := make(map[string]bool, len(elisions))
	for i := range elisions {
		parts[elisions[i].Part] = true
	}
	for i := range log {
		for j := range log[i].Parts {
			if parts[log[i].Parts[j].ID] {
				return i
			}
		}
	}
	return 0
}

// Ledger is the set of committed elisions, in the order of their commits. The zero value is empty
// and ready. A ledger is a value: With and Without return another one and leave theirs alone.
//
// A commit costs what it commits, not what was committed before: ledgers that were made from each
// other share their elisions, and what says where they are is made anew only now and then.
type Ledger struct {
	elisions []Elision
	// of the array that elisions lies in: how much of it belongs to a ledger. Nobody writes below
	// it
	used   *atomic.Int64
	index  map[string]place
	recent map[string]place // of the elisions that are not in index yet; it is copied by every commit
}

// place is where a part stands in a ledger.
type place struct {
	at     []int // its elisions
	covers bool  // others went because of it
}

// mergeAt is how many parts recent may hold beside an index of this size.
func mergeAt(indexed int) int { return 64 + indexed/16 }

// NewLedger returns a ledger with these elisions; of two with one key the earlier one counts.
func NewLedger(elisions ...Elision) Ledger { return Ledger{}.With(elisions...) }

// Len is how many elisions stand.
func (l Ledger) Len() int { return len(l.elisions) }

// All returns the elisions in the order of their commits. The caller must not change them.
func (l Ledger) All() []Elision { return l.elisions[:len(l.elisions):len(l.elisions)] }

// Equal reports whether two ledgers are one. It may say no of two that hold the same.
func (l Ledger) Equal(other Ledger) bool {
	return len(l.elisions) == len(other.elisions) && (len(l.elisions) == 0 || l.used == other.used)
}

// Of returns the elisions of one part. The caller must not change them.
func (l Ledger) Of(part string) []Elision {
	old, recent := l.index[part].at, l.recent[part].at
	switch {
	case len(old)+len(recent) == 0:
		return nil
	case len(old) == 0 && recent[len(recent)-1]-recent[0] == len(recent)-1:
		return l.elisions[recent[0] : recent[0]+len(recent) : recent[0]+len(recent)]
	case len(recent) == 0 && old[len(old)-1]-old[0] == len(old)-1:
		return l.elisions[old[0] : old[0]+len(old) : old[0]+len(old)]
	}
	found := make([]Elision, 0, len(old)+len(recent))
	for _, positions := range [][]int{old, recent} {
		for _, at := range positions {
			found = append(found, l.elisions[at])
		}
	}
	return found
}

// Has reports whether an elision with this key stands.
func (l Ledger) Has(k Key) bool {
	return l.has(k, l.index[k.Part].at) || len(l.recent) > 0 && l.has(k, l.recent[k.Part].at)
}

func (l Ledger) has(k Key, positions []int) bool {
	for _, at := range positions {
		if l.elisions[at].Field == k.Field {
			return true
		}
	}
	return false
}

// Partial returns those elisions that stand and are partial, of these keys.
func (l Ledger) Partial(of []Elision) (standing []Elision) {
	for i := range of {
		for _, e := range l.Of(of[i].Part) {
			if e.Key() == of[i].Key() && e.Partial() {
				standing = append(standing, e)
			}
		}
	}
	return standing
}

// Touches reports whether any elision of the part stands.
func (l Ledger) Touches(part string) bool {
	return len(l.index[part].at) > 0 || len(l.recent) > 0 && len(l.recent[part].at) > 0
}

// Covers reports whether any elision stands because of the part.
func (l Ledger) Covers(part string) bool { return l.index[part].covers || l.recent[part].covers }

// With returns the ledger with more elisions. One whose key already stands is ignored: what was
// committed stays as it was committed until it is undone, so that the same log gives the same
// bytes.
func (l Ledger) With(committed ...Elision) Ledger {
	fresh := make([]Elision, 0, len(committed))
	taken := make(map[Key]bool, len(committed))
	for _, e := range committed {
		if k := e.Key(); !taken[k] && !l.Has(k) {
			taken[k] = true
			fresh = append(fresh, e)
		}
	}
	if len(fresh) == 0 {
		return l
	}
	from := len(l.elisions)
	next := l.appended(fresh)
	into := maps.Clone(l.recent)
	if len(into)+len(fresh) > mergeAt(len(l.index)) {
		into, from = make(map[string]place, len(l.index)+len(fresh)), 0
		next.index, next.recent = into, nil
	} else {
		if into == nil {
			into = make(map[string]place, len(fresh))
		}
		next.recent = into
	}
	positions := make([]int, 0, len(next.elisions)-from) // most parts have one elision
	for at := from; at < len(next.elisions); at++ {
		e := &next.elisions[at]
		p := into[e.Part]
		if p.at == nil {
			positions = append(positions, at)
			p.at = positions[len(positions)-1:]
		} else {
			p.at = append(slices.Clip(p.at), at)
		}
		into[e.Part] = p
		for _, part := range e.Covers() {
			p := into[part]
			p.covers = true
			into[part] = p
		}
	}
	return next
}

// appended is the ledger with more elisions, which no index has yet. They are written behind its
// own, unless another ledger was made from it already.
func (l Ledger) appended(fresh []Elision) Ledger {
	n := len(l.elisions) + len(fresh)
	if l.used == nil || n > cap(l.elisions) || !l.used.CompareAndSwap(int64(len(l.elisions)), int64(n)) {
		l.elisions = append(make([]Elision, 0, 2*n), l.elisions...)
		l.used = &atomic.Int64{}
		l.used.Store(int64(n))
	}
	l.elisions = append(l.elisions, fresh...)
	return l
}

// extends reports whether a ledger was made from another one by With alone. It may say no where
// that is so.
func (l Ledger) extends(other Ledger) bool {
	return len(other.elisions) == 0 || l.used == other.used && len(l.elisions) >= len(other.elisions)
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

// Pin is a part, a whole message, or a text that must survive every elision and every pivot
// verbatim.
type Pin struct {
	ID   string `json:"id"`            // its id
	Part string `json:"part,omitzero"` // id of the part that is pinned
	// Id of the message that is pinned, with all its parts, even those that are added later.
	Message string         `json:"message,omitzero"`
	Text    string         `json:"text,omitzero"` // the text that is pinned
	Note    string         `json:"note,omitzero"` // a note by the user
	Time    session.Millis `json:"time,omitzero"` // when it was pinned
	// "agent" if an agent pinned it by itself, through MCP.
	By string `json:"by,omitzero"`
}

// ByAgent is the value of Pin.By for pins that an agent made by itself.
const ByAgent = "agent"

// Mark is the rule name of elisions that another product committed and left as a mark in its file.
const Mark = "mark"

// Marks reads the marks that a product left in a log as committed elisions: completed tool parts
// with state.time.compacted. The output is still in the log; the ledger alone decides what is
// shown.
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

// boundRule is the rule that elisions of reasoning name that its model would refuse.
const boundRule = "bound"

// Unbound leaves out a reasoning part of which the model would say that it was made for another
// prompt; ok is false for any other part, and for one that is left out already.
func Unbound(m *session.Message, p *session.Part, ledger Ledger, facts *Facts) (e Elision, ok bool) {
	if p.Type != session.ReasoningPart || ledger.Has(Key{p.ID, Text}) || ledger.Has(Key{p.ID, Whole}) {
		return e, false
	}
	return Elision{
		Part: p.ID, Message: m.ID, Field: Text, Rule: boundRule, Saves: facts.Size(p).Total(),
		Because: "its model takes reasoning only behind the exact prompt that it was made for, " +
			"and something before it was left out",
	}, true
}

// Rebound is the rule that elisions of reasoning name that was made behind a pivot or a pruning
// that was undone since, or before one that counts again: its model would refuse it. The log keeps
// it, and so does the entry of a file that is written, in its member "winnow"; it is shown again
// when what was undone counts again.
const Rebound = "undo"

// Turned says what becomes of a reasoning part that was made since a pivot or a pruning, by its id,
// when that is undone or counts again: what is shown is left out, and what was left out because of
// that alone is shown again. before is the elision that stands and is to be taken back, after the
// one to be committed; each may be the zero value.
func Turned(m *session.Message, p *session.Part, ledger Ledger, facts *Facts, id string) (before, after Elision) {
	for _, e := range ledger.Of(p.ID) {
		if e.Rule == Rebound {
			before = e
		}
	}
	if before == (Elision{}) {
		after, _ = Unbound(m, p, ledger, facts)
	} else {
		after = before
	}
	if after == (Elision{}) {
		return before, after
	}
	of := strings.Fields(after.Of)
	if at := slices.Index(of, id); at >= 0 {
		of = slices.Delete(of, at, at+1)
	} else {
		of = append(of, id)
	}
	after.Rule, after.Of = Rebound, strings.Join(of, " ")
	after.Because = "its model takes reasoning only behind the exact prompt that it was made for, " +
		"and something before it was undone"
	if len(of) == 0 {
		after = Elision{}
	}
	return before, after
}
