package opencode

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// Delta is what a change does to the export that it was made from, as the product itself would be
// told of it.
type Delta struct {
	Session  string    // the id that the product has for the session
	Markings []Marking // in the order of the session
	Added    int       // messages that the export does not have
	Removed  []string  // messages that it has and the change does not, by the product's ids
	// Gone is an export of those alone: imported where the session is, they are back.
	Gone []byte
}

// Marking is a part that the change shows otherwise than the export does.
type Marking struct {
	Part          string // its id in the log
	InMessage, ID string // the product's ids of its message and of itself

	was []byte
	set func(part []byte) []byte
}

// Compare finds what a change does to the export that it was made from. The error is for documents
// that are no export of the first generation.
func Compare(from *format.Document, change format.Change) (Delta, error) {
	change = change.Settled()
	n, ok := from.Native.(*native)
	if !ok || n.shape != export {
		return Delta{}, fmt.Errorf("%s: only a session in the form of the first generation is compared", Name)
	}
	e := &editor{src: from.Source, native: n, from: from, change: change}
	appended, err := e.appended()
	if err != nil {
		return Delta{}, err
	}
	d := Delta{Session: e.inFile(from.Session.Info.ID), Added: len(appended)}
	enc := e.encoder()
	var gone [][]byte
	for i := range n.entries {
		entry := &n.entries[i]
		if entry.at < 0 {
			continue
		}
		m := &from.Session.Messages[entry.at]
		if m.IsUndone(change.Undone) {
			d.Removed, gone = append(d.Removed, e.inFile(m.ID)), append(gone, entry.Of(e.src))
			continue
		}
		for j := range entry.parts {
			piece := &entry.parts[j]
			if piece.at < 0 {
				continue
			}
			p := &m.Parts[piece.at]
			now := change.Ledger.Of(p.ID)
			if slices.Equal(from.Ledger.Of(p.ID), now) {
				continue
			}
			d.Markings = append(d.Markings, Marking{
				Part: p.ID, InMessage: e.inFile(m.ID), ID: e.inFile(p.ID), was: piece.Of(e.src),
				set: func(part []byte) []byte { return e.part(part, "", m, p, now, enc) },
			})
		}
	}
	if len(gone) > 0 {
		d.Gone = file(n.info.Of(e.src), bytes.Join(gone, []byte(",")), nil)
	}
	return d, nil
}

// On is the part as it is to be. part is what the product has now, and everything else in it stays;
// ok is false if that is another part than the one that the marking was decided on.
func (m Marking) On(part []byte) (marked []byte, ok bool) {
	if span.Kind(part) != '{' || !SameJSON(unmarked(part), unmarked(m.was)) {
		return nil, false
	}
	return m.set(part), true
}

// unmarked is a part without marks and notes. Metadata that holds nothing else may be there or not.
func unmarked(part []byte) []byte {
	for _, path := range [][]string{{"metadata"}, {"state", "metadata"}} {
		part = span.Remove(part, false, append(slices.Clone(path), noteName)...)
		if metadata := span.Get(part, path...); span.Bare(metadata) {
			part = span.Remove(part, false, path...)
		}
	}
	return span.Remove(part, false, "state", "time", "compacted")
}

// SameJSON reports whether two texts are the same value, whatever the order of their members.
func SameJSON(a, b []byte) bool {
	x, y := jsontext.Value(bytes.Clone(a)), jsontext.Value(bytes.Clone(b))
	options := session.ReadOptions()
	return x.Canonicalize(options) == nil && y.Canonicalize(options) == nil && bytes.Equal(x, y)
}

// Heeds reports whether the product leaves out what an elision does: it knows a mark on the output
// of a call that ended well, and nothing else.
func Heeds(e rule.Elision, p *session.Part) bool { return p != nil && marks(e, p) }
