package qwen

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format/internal/entries"
	"github.com/winnowhq/winnow/format/internal/gemini"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// marks is the member "winnow" of a record, which the product does not look at.
type marks struct {
	// Elisions that show in the record.
	Elisions []rule.Elision `json:"elisions,omitzero"`
	// Parts are those of the record's message as they were before the elisions, History those of
	// contents of its compressed history, all to the byte.
	Parts   jsontext.Value `json:"parts,omitzero"`
	History []was          `json:"history,omitzero"`
	// Message is the message that the record was written for, if the product's form cannot hold all
	// of it: for a compression its marker, and Summary its summary.
	Message *session.Message `json:"message,omitzero"`
	Summary *session.Message `json:"summary,omitzero"`
	// Tail holds the uuids of the records whose contents a compression ends with.
	Tail []string `json:"tail,omitzero"`
}

// was is a list of parts as it was, and its place in the compressed history.
type was struct {
	At    int            `json:"at"`
	Parts jsontext.Value `json:"parts"`
}

// readMarks reads the member; one that is not understood is as if it were not there.
func readMarks(value []byte) *marks {
	m := entries.ReadMark[marks](value)
	if m == nil || m.Message != nil && m.Message.ID == "" ||
		m.Summary != nil && (m.Message == nil || m.Message.Marker() == nil || !m.Summary.IsSummary()) {
		return nil
	}
	return m
}

// on is a line with these marks, without any if they say nothing.
func (m *marks) on(line []byte) ([]byte, error) {
	if len(m.Elisions) == 0 && m.Message == nil {
		return span.Remove(line, false, "winnow"), nil
	}
	rest := *m
	rest.Parts, rest.History = nil, nil // byte for byte: an encoder would write their strings anew
	value, err := json.Marshal(rest, session.ReadOptions())
	if err != nil {
		return nil, err
	}
	if m.Parts != nil {
		value = span.Set(value, "", m.Parts, "parts")
	}
	if m.History != nil {
		var list [][]byte
		for _, one := range m.History {
			list = append(list, span.Make("at", one.At, "parts", one.Parts))
		}
		value = span.Set(value, "", span.Array(list), "history")
	}
	return span.Set(line, "", value, "winnow"), nil
}

// unmark takes the elisions off a record: it becomes what it was without them.
func (r *record) unmark() {
	if r.Winnow.Empty() {
		return
	}
	if r.marks = readMarks(r.Winnow.Of(r.raw)); r.marks == nil || len(r.marks.Elisions) == 0 {
		return
	}
	line := r.raw
	if r.marks.Parts != nil {
		line = span.Update(line, r.marks.Parts, "message", "parts")
	}
	line = setHistory(line, r.marks.History)
	// If the original is damaged, what is shown counts.
	if before, err := parse(line); err == nil && before.silent() == "" {
		before.shown, before.marks, before.line, before.whole, before.at = r.raw, r.marks, r.line, r.whole, r.at
		*r = before
	}
}

// setHistory is a line with other parts in contents of its compressed history.
func setHistory(line []byte, contents []was) []byte {
	var edits []span.Edit
	at := 0
	for v := range span.Values(line, span.Find(line, span.All(line), "systemPayload", "compressedHistory")) {
		for _, one := range contents {
			if parts := span.Find(line, v, "parts"); one.At == at && !parts.Empty() {
				edits = append(edits, span.Edit{Span: parts, With: one.Parts})
			}
		}
		at++
	}
	return span.Splice(line, edits...)
}

// show is the line of a record under the elisions of a ledger. changed is false if the record shows
// just these already: it was read with the ledger before.
func (r *record) show(before, ledger rule.Ledger) (line []byte, changed bool, err error) {
	m := r.under(ledger)
	if sameElisions(m.Elisions, r.under(before).Elisions) {
		return nil, false, nil
	}
	line = r.raw
	var history []was
	for _, c := range r.copies {
		shown, _ := gemini.Shown(c.parts, c.slots, ledger)
		history = append(history, was{c.at, shown})
	}
	if m.Parts != nil {
		shown, _ := gemini.Shown(r.said.parts, r.said.slots, ledger)
		line = span.Update(line, shown, "message", "parts")
	}
	line, err = m.on(setHistory(line, history))
	return line, true, err
}

// under are the marks of a record under the elisions of a ledger.
func (r *record) under(ledger rule.Ledger) *marks {
	m := &marks{}
	if r.marks != nil {
		m.Message, m.Summary, m.Tail = r.marks.Message, r.marks.Summary, r.marks.Tail
	}
	note := func(found []rule.Elision) {
		for _, e := range found {
			if !slices.Contains(m.Elisions, e) {
				m.Elisions = append(m.Elisions, e)
			}
		}
	}
	for _, c := range r.copies {
		shown, found := gemini.Shown(c.parts, c.slots, ledger)
		if note(found); !bytes.Equal(shown, c.parts) {
			m.History = append(m.History, was{c.at, c.parts})
		}
	}
	if r.said != nil {
		shown, found := gemini.Shown(r.said.parts, r.said.slots, ledger)
		if note(found); !bytes.Equal(shown, r.said.parts) {
			m.Parts = r.said.parts
		}
	}
	return m
}

func sameElisions(a, b []rule.Elision) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(e rule.Elision) bool { return !slices.Contains(b, e) })
}
