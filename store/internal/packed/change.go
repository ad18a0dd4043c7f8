package packed

import (
	"errors"
	"math"

	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/internal/exact"
)

// Change is a store.Change on its way into a database: its values are encoded by package exact.
type Change struct {
	Created, Info     any // infos of sessions, nil without one
	Appended, Updated []Message
	Decided           []Rows // in the order that store.Change promises
	Prepared          any    // nil if it stays as it is, "" if it goes
	Source            *Source
}

// Step is one of the things that a change does to what belongs to a session beside its log.
type Step int

// The steps in their order, and the columns of their rows.
const (
	Restore   Step = iota // keys of parts, fields
	Commit                // keys of parts, fields, data
	Undo                  // keys: markers
	Redo                  // keys: markers
	Dismiss               // keys: recall.Key
	Undismiss             // keys: recall.Key
	Unpin                 // keys: ids of pins
	Pin                   // keys: ids of pins, data
	Receipts              // data
	Spend                 // data, times
)

// Rows are what a step writes or deletes, in columns of equal length; those that the step does not
// have are nil.
type Rows struct {
	Step   Step
	Keys   []string
	Fields []string
	Data   []any
	Times  []*float64 // when a gateway relayed a request; nil if none did
}

// Len is the number of rows.
func (r *Rows) Len() int { return max(len(r.Keys), len(r.Data)) }

// Source is a file on its way into a store.
type Source struct {
	Format, Path string
	Size         int // in bytes
	Pieces       []Content
}

// NewSource cuts a file into pieces.
func NewSource(s store.Source) *Source {
	return &Source{s.Format, s.Path, len(s.Data), Pieces(s.Data)}
}

// Contents are the pieces.
func (s *Source) Contents() (all []*Content) {
	for i := range s.Pieces {
		all = append(all, &s.Pieces[i])
	}
	return all
}

// Contents are all large texts of the change.
func (c *Change) Contents() (all []*Content) {
	for _, messages := range [][]Message{c.Appended, c.Updated} {
		for i := range messages {
			for j := range messages[i].Parts {
				apart := messages[i].Parts[j].Apart
				for k := range apart {
					all = append(all, &apart[k].Content)
				}
			}
		}
	}
	if c.Source != nil {
		all = append(all, c.Source.Contents()...)
	}
	return all
}

// NewChange encodes a change.
func NewChange(c *store.Change) (*Change, error) {
	var failed []error
	value := func(encoded any, err error) any {
		failed = append(failed, err)
		return encoded
	}
	messages := func(packed []Message, err error) []Message {
		failed = append(failed, err)
		return packed
	}
	p := &Change{Appended: messages(Messages(c.Append)), Updated: messages(Messages(c.Update))}
	if c.Create != nil {
		p.Created = value(exact.Encode(*c.Create))
	}
	if c.Info != nil {
		p.Info = value(exact.Encode(*c.Info))
	}
	if c.Source != nil {
		p.Source = NewSource(*c.Source)
	}
	if c.Prepared != nil {
		p.Prepared = ""
		if *c.Prepared != (store.Prepared{}) {
			p.Prepared = value(exact.Encode(*c.Prepared))
		}
	}
	add := func(rows Rows) {
		if rows.Len() > 0 {
			p.Decided = append(p.Decided, rows)
		}
	}
	restored, committed, pinned := Rows{Step: Restore}, Rows{Step: Commit}, Rows{Step: Pin}
	for _, k := range c.Restore {
		restored.Keys, restored.Fields = append(restored.Keys, k.Part), append(restored.Fields, string(k.Field))
	}
	for _, e := range c.Commit {
		committed.Keys, committed.Fields = append(committed.Keys, e.Part), append(committed.Fields, string(e.Field))
		committed.Data = append(committed.Data, value(exact.Encode(e)))
	}
	for _, pin := range c.Pin {
		pinned.Keys, pinned.Data = append(pinned.Keys, pin.ID), append(pinned.Data, value(exact.Encode(pin)))
	}
	receipts, spent := Rows{Step: Receipts}, Rows{Step: Spend}
	for _, r := range c.AllReceipts() {
		receipts.Data = append(receipts.Data, value(exact.Encode(r)))
	}
	for i := range c.Spend {
		spent.Data = append(spent.Data, value(exact.Encode(c.Spend[i])))
		spent.Times = append(spent.Times, relayed(&c.Spend[i]))
	}
	add(restored)
	add(committed)
	add(Rows{Step: Undo, Keys: c.Undo})
	add(Rows{Step: Redo, Keys: c.Redo})
	add(Rows{Step: Dismiss, Keys: c.Dismiss})
	add(Rows{Step: Undismiss, Keys: c.Undismiss})
	add(Rows{Step: Unpin, Keys: c.Unpin})
	add(pinned)
	add(receipts)
	add(spent)
	return p, errors.Join(failed...)
}

// relayed is the time of a request that a gateway relayed, nil of others.
func relayed(s *store.Spend) *float64 {
	if s.Live == nil {
		return nil
	}
	at := Finite(float64(s.Time))
	return &at
}

// Finite replaces NaN, which has no place in an order, by 0.
func Finite(t float64) float64 {
	if math.IsNaN(t) {
		return 0
	}
	return t
}
