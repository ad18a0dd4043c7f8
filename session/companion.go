package session

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Note is what the engine writes into the metadata of a text part that it made itself, under the
// member "winnow".
type Note struct {
	// Pivot is the id of the marker with which the message was appended, on the messages that
	// follow a summary because of it: the synthetic "continue", the replay of a rejected turn.
	Pivot string `json:"pivot,omitzero"`
	// Replay is the id of the message that a replay repeats.
	Replay string `json:"replay,omitzero"`
	// Carry is set on the part of a summary that the engine wrote, not the summariser.
	Carry bool `json:"carry,omitzero"`
	// Kept is what a message is there for that shows something again behind a summary: the id of
	// the pin or of the receipt of the restore. When that is undone, the message goes with it, and
	// so do its copies behind later summaries.
	Kept string `json:"kept,omitzero"`
	// Pin is set where that is a pin.
	Pin bool `json:"pin,omitzero"`
	// Quotes are the ids of the parts that such a message quotes; none where it says a text of its
	// own.
	Quotes []string `json:"quotes,omitzero"`
}

// Note returns what the engine noted on a text part; ok is false when it made no note there.
func (p *Part) Note() (n Note, ok bool) {
	if p.Type != TextPart || len(p.Metadata) == 0 {
		return Note{}, false
	}
	var metadata struct {
		Winnow *Note `json:"winnow"`
	}
	if json.Unmarshal(p.Metadata, &metadata, ReadOptions()) != nil || metadata.Winnow == nil {
		return Note{}, false
	}
	return *metadata.Winnow, true
}

// Metadata is the metadata of a part that carries only this note.
func (n Note) Metadata() jsontext.Value {
	text, err := json.Marshal(struct {
		Winnow Note `json:"winnow"`
	}{n}, ReadOptions())
	if err != nil { // a struct of strings and a bool always encodes
		panic(err)
	}
	return text
}

// Companion returns the id of the marker with which the engine appended this message, "" when it
// was not. When the pivot of that marker is undone, its companions go with it.
func (m *Message) Companion() string {
	for i := range m.Parts {
		if n, ok := m.Parts[i].Note(); ok && n.Pivot != "" {
			return n.Pivot
		}
	}
	return ""
}

// Kept returns the note of a message with which the engine shows again what a summary stands for,
// or a text that is pinned; ok is false of any other message.
func (m *Message) Kept() (n Note, ok bool) {
	if m.Role != User {
		return Note{}, false
	}
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Synthetic {
			if n, ok := p.Note(); ok && n.Kept != "" {
				return n, true
			}
		}
	}
	return Note{}, false
}

// IsUndone reports whether a message came with something that was undone: a pivot of which it is
// the marker, the summary or a companion, or a pin or a restore. undone holds the ids of markers,
// and what Note.Kept names.
func (m *Message) IsUndone(undone map[string]bool) bool {
	if len(undone) == 0 {
		return false
	}
	if undone[m.ID] && m.Marker() != nil || undone[m.ParentID] && m.IsSummary() || undone[m.Companion()] {
		return true
	}
	n, kept := m.Kept()
	return kept && undone[n.Kept]
}
