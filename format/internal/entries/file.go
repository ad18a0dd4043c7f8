// Package entries is what the formats share whose files are lists of entries that Winnow writes
// too: the mark that gives a message back, the places of parts in the file, elisions in the order
// of their commits, and the list of entries that a change makes.
//
// A product's package says what an entry is: it reads entries into a File, and writes messages and
// pivots as items of a List.
package entries

import (
	"cmp"
	"maps"
	"slices"

	"github.com/winnowhq/winnow/format/internal/jsonl"
	"github.com/winnowhq/winnow/format/internal/transcript"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// File is a file as it was read: its entries, and where in them the log is.
type File struct {
	*transcript.Log
	Entries []Entry
	Parts   map[string]Location // by their ids, once the log is finished

	spots   map[transcript.Place]Spot // of parts
	results map[transcript.Place]Spot // of the results of calls
	byID    map[string]int            // message → its place in the log
	tails   map[int]int               // marker → where its tail begins, by their places in the log
	held    []held
}

// Entry is an entry of the file.
type Entry struct {
	Whole, At  span.Span // with what is around it; of its JSON, empty if it is in another file
	ID, Parent string
	Kind       string
	Mark       *Mark
	Messages   []int // of the log, that it gave or continued
}

// Spot is where a part is in the file: an entry, and a block of its content. -1 stands for none.
type Spot struct{ Entry, Block int }

// Location says where a part is, and where the result of a call.
type Location struct {
	Message      int // its place in the log
	Part, Result Spot
}

// held is a message that reading restores from a mark.
type held struct {
	message int
	as      *session.Message
	from    []int
}

// NewFile returns the empty log of a file.
func NewFile(name string, src []byte) *File {
	return &File{
		Log: transcript.New(name, src), Parts: map[string]Location{}, spots: map[transcript.Place]Spot{},
		results: map[transcript.Place]Spot{}, byID: map[string]int{}, tails: map[int]int{},
	}
}

// Continued is the answer that an entry with this mark continues, nil if it begins one of its own.
func (f *File) Continued(m *Mark) *session.Message {
	if m == nil || m.Of == "" {
		return nil
	}
	at, ok := f.byID[m.Of]
	if !ok || f.Session.Messages[at].Role != session.Assistant {
		return nil
	}
	return &f.Session.Messages[at]
}

// Took notes what an entry gave: the messages from the one at before on, or parts of the one that
// it continues.
func (f *File) Took(entry, before int) {
	e := &f.Entries[entry]
	if f.Continued(e.Mark) != nil {
		f.took(entry, f.byID[e.Mark.Of])
	}
	for i := before; i < len(f.Session.Messages); i++ {
		f.byID[f.Session.Messages[i].ID] = i
		f.took(entry, i)
	}
	hold := func(at int, m *session.Message, from []int) {
		if m != nil && at < len(f.Session.Messages) {
			f.held = append(f.held, held{at, m, from})
			f.byID[m.ID] = at
		}
	}
	if e.Mark != nil {
		hold(before, e.Mark.Message, e.Mark.From)
		hold(before+1, e.Mark.Answer, e.Mark.AnswerFrom)
	}
}

// took notes that parts of a message which have no spot yet are the blocks of this entry.
func (f *File) took(entry, message int) {
	e := &f.Entries[entry]
	e.Messages = append(e.Messages, message)
	block := 0
	for j := range f.Session.Messages[message].Parts {
		at := transcript.Place{Message: message, Part: j}
		if _, ok := f.spots[at]; !ok {
			f.spots[at] = Spot{entry, block}
			block++
		}
	}
}

// Spot notes where a part is.
func (f *File) Spot(at transcript.Place, spot Spot) { f.spots[at] = spot }

// AddAt gives the newest message, or one that is continued, a part that is at a spot.
func (f *File) AddAt(m *session.Message, p session.Part, spot Spot) *session.Part {
	at := len(f.Session.Messages) - 1
	for at > 0 && &f.Session.Messages[at] != m {
		at--
	}
	f.Spot(transcript.Place{Message: at, Part: len(m.Parts)}, spot)
	return f.Add(m, p)
}

// Has reports whether an entry has something of a message: the message itself, a part of it, or the
// result of one of its calls.
func (f *File) Has(entry int, message string) bool {
	at, ok := f.byID[message]
	if !ok {
		return false
	}
	here := func(p session.Part) bool {
		l := f.Parts[p.ID]
		return l.Part.Entry == entry || l.Result.Entry == entry
	}
	return slices.Contains(f.Entries[entry].Messages, at) || slices.ContainsFunc(f.Session.Messages[at].Parts, here)
}

// Result notes where the result of a call is.
func (f *File) Result(call transcript.Place, spot Spot) { f.results[call] = spot }

// Tail notes that the tail of a marker begins with the message at a place, or with what comes
// there, and that it has none if nothing does.
func (f *File) Tail(marker, tail int) { f.tails[marker] = tail }

// Leave takes the messages from one on out of the log.
func (f *File) Leave(from int) {
	f.Session.Messages = f.Session.Messages[:from]
	gone := func(at transcript.Place, _ Spot) bool { return at.Message >= from }
	maps.DeleteFunc(f.spots, gone)
	maps.DeleteFunc(f.results, gone)
	maps.DeleteFunc(f.byID, func(_ string, at int) bool { return at >= from })
	maps.DeleteFunc(f.tails, func(marker, _ int) bool { return marker >= from })
	f.held = slices.DeleteFunc(f.held, func(h held) bool { return h.message >= from })
	for i := range f.Entries {
		e := &f.Entries[i]
		e.Messages = slices.DeleteFunc(e.Messages, func(at int) bool { return at >= from })
	}
}

// Finish gives messages back that marks hold, finds where parts are, and reads the ledger.
func (f *File) Finish() {
	log := f.Session.Messages
	from := map[int][]int{}
	for _, h := range f.held {
		if h.as.Role == log[h.message].Role {
			log[h.message] = jsonl.Given(h.as, h.from, log[h.message].Parts)
			from[h.message] = append([]int{}, h.from...)
		}
	}
	f.named(log)
	for i := range slices.Backward(f.Entries) {
		e := &f.Entries[i]
		for _, at := range e.Messages {
			f.place(i, at, from)
		}
		if e.Mark != nil && e.Mark.Session != nil {
			f.Session = *e.Mark.Session
			f.Session.Messages = log
		}
	}
	f.ledger()
}

// named names the messages that tails begin with as they are called now.
func (f *File) named(log []session.Message) {
	for i := range log {
		marker := log[i].Marker()
		if marker == nil {
			continue
		}
		if tail, pivot := f.tails[i]; pivot {
			if marker.TailStartID = ""; tail < i {
				marker.TailStartID = log[tail].ID
			}
		} else if at, ok := f.byID[marker.TailStartID]; ok && at < i {
			marker.TailStartID = log[at].ID
		}
	}
}

// place notes where the parts of a message are that is in an entry, the first of its entries last.
func (f *File) place(entry, message int, from map[int][]int) {
	kept, was := from[message]
	for j := range f.Session.Messages[message].Parts {
		at := transcript.Place{Message: message, Part: j}
		if was {
			if at.Part = -1; j < len(kept) {
				at.Part = kept[j]
			}
		}
		l := Location{message, Spot{entry, -1}, Spot{-1, -1}}
		if spot, ok := f.spots[at]; ok {
			l.Part = spot
		}
		if spot, ok := f.results[at]; ok {
			l.Result = spot
		}
		f.Parts[f.Session.Messages[message].Parts[j].ID] = l
	}
}

// ledger reads the elisions that are noted, in the order of their commits. An elision of a call may
// be noted at its result too.
func (f *File) ledger() {
	answers := map[int]string{} // entry with the result → call
	for id, at := range f.Parts {
		answers[at.Result.Entry] = id
	}
	var all []Elided
	for i := range f.Entries {
		e := &f.Entries[i]
		if e.Mark == nil {
			continue
		}
		for _, one := range e.Mark.Elisions {
			if one.Index != nil {
				one.Part = f.indexed(e.Messages, one, answers[i])
			}
			all = append(all, one)
		}
	}
	slices.SortStableFunc(all, func(a, b Elided) int { return cmp.Compare(a.Order, b.Order) })
	seen := map[rule.Key]bool{}
	var found []rule.Elision
	for _, e := range all {
		if at, ok := f.Parts[e.Part]; ok && !seen[e.Key()] {
			seen[e.Key()], e.Message = true, f.Session.Messages[at.Message].ID
			found = append(found, e.Elision)
		}
	}
	f.Ledger = rule.NewLedger(found...)
}

// indexed is the part that an elision is of by its position in one of these messages, "" if there
// is none. call is the one whose result the entry has.
func (f *File) indexed(messages []int, e Elided, call string) string {
	if call != "" {
		return call
	}
	if e.Answer && len(messages) > 1 {
		messages = messages[1:]
	}
	if len(messages) == 0 {
		return ""
	}
	parts := f.Session.Messages[messages[0]].Parts
	if *e.Index < 0 || *e.Index >= len(parts) {
		return ""
	}
	return parts[*e.Index].ID
}
