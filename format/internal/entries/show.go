package entries

import (
	"slices"

	"github.com/winnowhq/winnow/format/internal/jsonl"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
)

// Want is an elision that an entry is to show.
type Want struct {
	Elided
	Part   *session.Part
	Block  int  // that the part, or its result, is in, -1 for none
	Result bool // it shows in the result of the call
}

// Wants finds the entries in which the elisions of a ledger show. A call that is left out
// altogether shows in two.
func (f *File) Wants(ledger rule.Ledger) map[int][]Want {
	wants := map[int][]Want{}
	for order, e := range ledger.All() {
		at, ok := f.Parts[e.Part]
		if !ok {
			continue
		}
		_, p := session.FindPart(f.Session.Messages[at.Message:at.Message+1], e.Part)
		noted := Elided{Elision: e, Order: order}
		call, result := jsonl.Shows(e.Field, at.Result.Entry >= 0)
		if call {
			wants[at.Part.Entry] = append(wants[at.Part.Entry], Want{noted, p, at.Part.Block, false})
		}
		if result {
			wants[at.Result.Entry] = append(wants[at.Result.Entry], Want{noted, p, at.Result.Block, true})
		}
	}
	return wants
}

// Shows reports whether the entry shows exactly these elisions.
func (m *Mark) Shows(wants []Want) bool {
	var has []Elided
	if m != nil {
		has = m.Elisions
	}
	return slices.EqualFunc(has, wants, func(e Elided, w Want) bool {
		e.Message = w.Message // ids may have changed with the product's rewriting
		if e.Index != nil && w.Index != nil && (w.Result || *e.Index == *w.Index) {
			e.Elision.Part, e.Index = w.Elision.Part, w.Index
		}
		return e == w.Elided
	})
}

// Apply calls show for each of the elisions, with the part as the elisions before it left it, and
// as it is under this one; stays is false if nothing of it is shown.
func Apply(wants []Want, show func(w Want, before, after session.Part, stays bool)) {
	shown := map[string]session.Part{}
	for _, w := range wants {
		before, ok := shown[w.Part.ID]
		if !ok {
			before = *w.Part
		}
		after, stays := view.Apply(before, w.Elision)
		shown[w.Part.ID] = after
		show(w, before, after, stays)
	}
}

// WithElisions is an entry whose mark, at a path, has exactly these elisions, and beside them the value
// that they replaced.
func WithElisions(entry []byte, wants []Want, original []byte, path ...string) []byte {
	var elisions []byte
	if len(wants) > 0 {
		var all []Elided
		for _, w := range wants {
			all = append(all, w.Elided)
		}
		elisions = jsonl.Marshal(all)
	} else {
		original = nil
	}
	entry = Note(entry, elisions, append(slices.Clip(path), "elisions")...)
	return Note(entry, original, append(slices.Clip(path), "original")...)
}
